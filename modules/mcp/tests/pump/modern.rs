//! The generation without sessions, and which generation a server speaks.

use std::time::Duration;

use lf_harness::{Reply, Step, watched::Habits};
use lf_mcp::pump::Era;
use serde_json::json;

use super::stage::{A, B, Setting, board};

#[tokio::test]
async fn one_request_subscribes_to_everything_and_the_lines_are_the_same() {
    let stage = Setting::new(Habits::MODERN).listening().await;
    assert_eq!(stage.order()[..2], ["server/discover", "subscriptions/listen"]);
    let listen = &stage.got("subscriptions/listen")[0];
    assert_eq!(listen.json()["params"]["notifications"], json!({"resourceSubscriptions": [A, B]}));
    assert_eq!(listen.json()["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(listen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(listen.header("mcp-method"), Some("subscriptions/listen"));
    assert_eq!(listen.header("accept-encoding"), Some("identity"), "nothing keeps events back");
    assert_eq!(stage.happened(), ["connected", "stream_open", "subscribed", "subscribed"]);
    stage.watched.change(A, board(&[("1", "user:1", "1")]));
    stage.pass(1).await;
    let lines = stage.results();
    assert_eq!(lines.len(), 1);
    assert_eq!((&lines[0]["uri"], &lines[0]["trigger"]["author"]), (&A.into(), &"user:1".into()));
    let read = stage.got("resources/read").pop().unwrap();
    assert_eq!((read.header("mcp-method"), read.header("mcp-name")), (Some("resources/read"), Some(A)));
    assert!(stage.received().iter().all(|one| one.header("mcp-session-id").is_none() && one.method == "POST"));
}

#[tokio::test]
async fn what_is_not_honoured_is_named() {
    let setting = Setting::new(Habits::MODERN);
    setting.watched.honour(&[B]);
    let stage = setting.listening().await;
    assert_eq!(stage.count("subscribed"), 1);
    assert!(stage.messages("error")[0].contains(A), "{:?}", stage.asides());
    stage.watched.push(B);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);

    let setting = Setting::new(Habits::MODERN);
    setting.watched.honour(&[]);
    let stage = setting.start();
    stage.pass(100).await;
    let listens = stage.got("subscriptions/listen").len();
    assert!((5..10).contains(&listens), "tried again, ever more seldom: {listens}");
}

#[tokio::test]
async fn messages_of_other_subscriptions_are_dropped() {
    let stage = Setting::new(Habits::MODERN).listening().await;
    for meta in [json!({}), json!({"io.modelcontextprotocol/subscriptionId": 999})] {
        let message = json!({
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": A, "_meta": meta},
        });
        stage.watched.say(&format!("data: {message}\n\n"));
    }
    stage.pass(1).await;
    assert!(stage.results().is_empty());
    let id = stage.got("subscriptions/listen")[0].rpc_id();
    for id in [id.clone(), json!(id.to_string())] {
        let message = json!({
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": A, "_meta": {"io.modelcontextprotocol/subscriptionId": id}},
        });
        stage.watched.say(&format!("data: {message}\n\n"));
    }
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 2);
}

#[tokio::test]
async fn a_result_or_a_cancellation_is_an_orderly_end_and_a_bare_close_is_looked_after_alike() {
    let ends = [
        |id: &serde_json::Value| json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        |id: &serde_json::Value| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
    ];
    for end in ends {
        let stage = Setting::new(Habits::MODERN).listening().await;
        stage.pass(35).await;
        stage.watched.write(A, "changed at the end");
        let id = stage.got("subscriptions/listen")[0].rpc_id();
        stage.watched.say(&format!("data: {}\n\n", end(&id)));
        stage.pass(2).await;
        assert_eq!(stage.reasons(), ["ended"]);
        let again = stage.got("subscriptions/listen");
        assert_eq!(again.len(), 2);
        assert_ne!(again[1].rpc_id(), id, "an id is used once");
        let lines = stage.results();
        assert_eq!(lines.len(), 1, "nothing is replayed, so everything is read");
        assert_eq!(lines[0]["resync"], true);
        assert_eq!(stage.count("connected"), 1);
    }
}

#[tokio::test]
async fn a39_silence_is_borne_longer_here() {
    let stage = Setting::new(Habits::MODERN).listening().await;
    stage.pass(118).await;
    assert_eq!(stage.got("subscriptions/listen").len(), 1);
    stage.pass(3).await;
    assert_eq!(stage.got("subscriptions/listen").len(), 2);
    assert_eq!(stage.reasons(), ["idle"]);
}

#[tokio::test]
async fn a45_a_server_that_is_away_is_asked_ever_more_seldom() {
    let mut stage = Setting::new(Habits::MODERN).listening().await;
    stage.pass(35).await;
    stage.kill();
    stage.watched.forget();
    stage.pass(3600).await;
    let errors = stage.count("error");
    assert!((120..=150).contains(&errors), "{errors}");
    stage.revive();
    stage.pass(60).await;
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
}

#[tokio::test]
async fn a44_a_server_that_changes_its_generation_is_asked_again() {
    let setting = Setting::new(Habits { modern: true, ..Habits::LEGACY });
    let mut stage = setting.listening().await;
    assert_eq!(stage.got("subscriptions/listen").len(), 1, "the newer one is taken");
    stage.kill();
    stage
        .watched
        .fault(|received| (received.header("mcp-protocol-version") == Some("2026-07-28")).then(|| Reply::status(400)));
    stage.pass(10).await;
    stage.revive();
    stage.pass(60).await;
    assert_eq!(stage.got("initialize").len(), 1);
    assert_eq!(stage.got("resources/subscribe").len(), 2);
}

#[tokio::test]
async fn a44_the_generation_is_asked_for_once() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    for _ in 0..3 {
        stage.pass(40).await;
        stage.watched.forget();
    }
    stage.pass(40).await;
    assert_eq!(stage.got("initialize").len(), 4);
    assert_eq!(stage.got("server/discover").len(), 1);
}

#[tokio::test]
async fn a44_a_server_that_never_answers_the_question_is_initialized_after_ten_seconds() {
    let setting = Setting::new(Habits::LEGACY);
    setting.watched.fault(|received| (received.rpc() == "server/discover").then(Reply::silence));
    let stage = setting.start();
    stage.pass(12).await;
    assert_eq!(stage.count("subscribed"), 2);
    assert_eq!(stage.got("initialize")[0].at, Duration::from_secs(10));
}

#[tokio::test]
async fn a_chosen_generation_is_not_asked_for() {
    let both = Habits { modern: true, ..Habits::LEGACY };
    let stage = Setting::new(both).with(|options| options.era = Some(Era::Legacy)).listening().await;
    assert_eq!(stage.order()[0], "initialize");
    let stage = Setting::new(both).with(|options| options.era = Some(Era::Modern)).listening().await;
    assert_eq!(stage.order()[0], "subscriptions/listen");
}

#[tokio::test]
async fn a_dropped_stream_is_made_again() {
    let stage = Setting::new(Habits::MODERN).listening().await;
    stage.pass(35).await;
    stage.watched.end_streams(&Step::Abort);
    stage.pass(2).await;
    assert_eq!(stage.reasons(), ["dropped"]);
    stage.watched.push(B);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
}
