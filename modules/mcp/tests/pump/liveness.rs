//! Liveness: silence, comments, pings, deadlines, a machine that slept.

use std::time::Duration;

use lf_harness::{Reply, watched::Habits};
use serde_json::json;

use super::stage::{A, Setting};

#[tokio::test]
async fn a38_it_says_that_it_is_still_watching_every_two_minutes() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    for _ in 0..24 {
        stage.pass(25).await;
        stage.watched.say(": alive\n\n");
    }
    assert_eq!(stage.count("still_watching"), 5, "ta17: {:?}", stage.happened());
    assert_eq!(stage.got("GET").len(), 1, "ta17: comments keep the stream");
    let lines = stage.asides();
    let ts: Vec<jiff::Timestamp> = lines
        .iter()
        .filter(|line| line["event"] == "still_watching")
        .map(|line| line["ts"].as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(ts[1].duration_since(ts[0]).as_millis(), 120_000);
}

#[tokio::test]
async fn a38_it_does_not_say_so_of_a_server_that_is_away() {
    for habits in [Habits::LEGACY, Habits::MODERN] {
        let mut stage = Setting::new(habits).listening().await;
        stage.kill();
        stage.pass(600).await;
        assert_eq!(stage.count("still_watching"), 0, "{habits:?}");
        stage.revive();
        while stage.watched.streams() == 0 {
            stage.pass(1).await;
        }
        for _ in 0..6 {
            stage.pass(25).await;
            stage.watched.say(": alive\n\n");
        }
        assert_eq!(stage.count("still_watching"), 1, "{habits:?}: {:?}", stage.happened());
    }
}

#[tokio::test]
async fn a38_it_does_not_say_so_before_the_subscriptions_stand() {
    let setting = Setting::new(Habits::LEGACY);
    setting.watched.fault(|received| (received.rpc() == "resources/subscribe").then(|| Reply::status(500)));
    let stage = setting.start();
    stage.pass(600).await;
    assert!(stage.count("stream_open") > 10);
    assert_eq!(stage.count("still_watching"), 0);
}

#[tokio::test]
async fn a39_a_stream_without_a_byte_for_a_minute_is_dead() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.pass(58).await;
    assert_eq!(stage.got("GET").len(), 1);
    stage.pass(3).await;
    let gets = stage.got("GET");
    assert_eq!(gets.len(), 2, "ta16");
    assert_eq!(stage.reasons(), ["idle"]);
    let between = gets[1].at - gets[0].at;
    assert_eq!(between, Duration::from_secs(60));
    assert_eq!(gets[1].header("mcp-session-id"), Some("session-1"));
    assert_eq!((stage.got("initialize").len(), stage.got("resources/subscribe").len()), (1, 2));
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
}

#[tokio::test]
async fn a40_every_request_of_the_opening_has_a_deadline() {
    for method in ["initialize", "notifications/initialized", "resources/subscribe", "GET"] {
        let setting = Setting::new(Habits::LEGACY).with(|options| options.resync = false);
        let mut first = true;
        setting.watched.fault(move |received| {
            let hit = received.rpc() == method || (received.rpc().is_empty() && received.method == method);
            (hit && std::mem::take(&mut first)).then(Reply::silence)
        });
        let stage = setting.start();
        stage.pass(29).await;
        assert_eq!(stage.count("error"), 0, "{method}");
        stage.pass(5).await;
        assert_eq!(stage.count("error"), 1, "{method}");
        assert!(stage.messages("error")[0].contains("in time"), "{method}");
        assert_eq!(stage.count("subscribed"), 2, "{method}: and then it works: {:?}", stage.asides());
    }
}

#[tokio::test]
async fn a40_the_deadline_covers_the_whole_answer() {
    for method in ["initialize", "resources/subscribe"] {
        let setting = Setting::new(Habits::LEGACY).with(|options| options.resync = false);
        let mut first = true;
        setting.watched.fault(move |received| {
            let hit = received.rpc() == method && std::mem::take(&mut first);
            hit.then(|| Reply::raw_json(" ".repeat(3600)).trickle(Duration::from_secs(1)))
        });
        let stage = setting.start();
        stage.pass(29).await;
        assert_eq!(stage.count("error"), 0, "{method}");
        stage.pass(5).await;
        assert_eq!(stage.count("error"), 1, "{method}: {:?}", stage.messages("error"));
        assert_eq!(stage.count("subscribed"), 2, "{method}");
    }
}

#[tokio::test]
async fn a40_the_body_of_the_stream_has_no_deadline_of_its_own() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    for _ in 0..400 {
        stage.pass(25).await;
        stage.watched.say(": alive\n\n");
    }
    assert_eq!(stage.got("GET").len(), 1);
}

#[tokio::test]
async fn a41_pings_are_answered_and_nothing_else_is_offered() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    for request in [
        r#"{"jsonrpc":"2.0","id":"p-1","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#,
    ] {
        stage.watched.say(&format!("data: {request}\n\n"));
        stage.pass(1).await;
    }
    let replies: Vec<_> = stage.got("POST");
    let bodies: Vec<_> = replies.iter().map(lf_harness::Received::json).collect();
    assert_eq!(bodies[0], json!({"jsonrpc": "2.0", "id": "p-1", "result": {}}), "ta20");
    assert_eq!(bodies[1], json!({"jsonrpc": "2.0", "id": 42, "result": {}}), "ta20");
    assert_eq!((&bodies[2]["id"], &bodies[2]["error"]["code"]), (&json!(7), &json!(-32601)));
    assert!(replies.iter().all(|one| one.header("mcp-session-id") == Some("session-1")), "ta20");
}

#[tokio::test]
async fn a41_pings_on_the_answer_to_a_request_are_answered_too() {
    let setting = Setting::new(Habits::LEGACY).one();
    setting.watched.fault(|received| {
        (received.rpc() == "resources/subscribe").then(|| {
            let answer = json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": {}});
            Reply::events(format!("data: {{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}}\n\ndata: {answer}\n\n"))
        })
    });
    let stage = setting.listening().await;
    assert_eq!(stage.got("POST")[0].json(), json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
}

#[tokio::test]
async fn a51_a_machine_that_slept_does_not_wait_for_the_silence_to_be_long_enough() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.pass(5).await;
    stage.clock.sleep_over(Duration::from_secs(3600));
    stage.pass(10).await;
    assert_eq!(stage.got("GET").len(), 2);
    assert_eq!(stage.reasons(), ["idle"]);
    // A clock that is set a little, or back, is no sleep.
    stage.clock.sleep_over(Duration::from_secs(40));
    stage.pass(20).await;
    assert_eq!(stage.got("GET").len(), 2);
}
