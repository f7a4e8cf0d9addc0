//! Reconnecting: what is reopened, what is renewed, and how fast.

use std::time::Duration;

use lf_harness::{Reply, Step, watched::Habits};

use super::stage::{A, Setting};

#[tokio::test]
async fn a43_a_stream_that_ends_is_reopened_on_the_same_session() {
    for (end, reason) in [(Step::Close, "ended"), (Step::Abort, "dropped")] {
        let stage = Setting::new(Habits::LEGACY).listening().await;
        stage.pass(2).await;
        stage.watched.end_streams(&end);
        stage.pass(1).await;
        let gets = stage.got("GET");
        assert_eq!(gets.len(), 2, "ta13: within a second");
        assert_eq!(gets[1].header("mcp-session-id"), Some("session-1"));
        assert_eq!((stage.got("initialize").len(), stage.got("resources/subscribe").len()), (1, 2), "ta13");
        assert_eq!(stage.happened()[4..], ["stream_closed", "stream_open"]);
        assert_eq!(stage.reasons(), [reason]);
        let open = stage.asides().pop().unwrap();
        assert_eq!(open["reopened"], true);
        stage.watched.push(A);
        stage.pass(1).await;
        assert_eq!(stage.results().len(), 1, "ta13");
    }
}

#[tokio::test]
async fn a47_an_old_stream_is_reopened_at_once() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.pass(35).await;
    stage.watched.end_streams(&Step::Close);
    stage.pass_millis(10).await;
    assert_eq!(stage.got("GET").len(), 2);
}

#[tokio::test]
async fn a44_a_lost_session_is_renewed_whole() {
    for status in [404, 400, 405, 410] {
        let stage = Setting::new(Habits::LEGACY).listening().await;
        stage.pass(40).await;
        let mut refuse = true;
        stage.watched.fault(move |received| {
            (received.method == "GET" && std::mem::take(&mut refuse)).then(|| Reply::status(status))
        });
        stage.watched.end_streams(&Step::Close);
        stage.pass(2).await;
        let order = stage.order();
        let lost = order.iter().rposition(|one| one == "DELETE").unwrap();
        let renewed = ["DELETE", "initialize", "notifications/initialized", "GET", "resources/subscribe"];
        assert_eq!(order[lost..lost + 5], renewed, "ta14: {status}");
        assert_eq!(stage.got("DELETE")[0].header("mcp-session-id"), Some("session-1"));
        assert_eq!(stage.got("initialize")[1].header("mcp-session-id"), None, "without the old id");
        assert_eq!((stage.count("connected"), stage.count("subscribed")), (2, 4), "ta14: {status}");
        stage.watched.push(A);
        stage.pass(1).await;
        assert_eq!(stage.results().len(), 1, "ta14: {status}");
    }
}

#[tokio::test]
async fn a44_a_request_that_finds_the_session_gone_renews_it() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    let mut refuse = true;
    stage.watched.fault(move |received| {
        (received.rpc() == "resources/read" && std::mem::take(&mut refuse)).then(|| Reply::status(404))
    });
    stage.watched.push(A);
    stage.pass(3).await;
    assert_eq!(stage.results().len(), 1, "the update is told all the same");
    assert_eq!(stage.reasons(), ["lost_session"]);
    assert_eq!((stage.count("connected"), stage.count("subscribed")), (2, 4));
}

#[tokio::test]
async fn a44_an_answer_to_a_ping_that_finds_the_session_gone_renews_it() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    let mut refuse = true;
    stage.watched.fault(move |received| {
        let answer = received.method == "POST" && received.rpc().is_empty();
        (answer && std::mem::take(&mut refuse)).then(|| Reply::status(404))
    });
    stage.watched.say("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n");
    stage.pass(3).await;
    assert_eq!(stage.reasons(), ["lost_session"]);
    assert_eq!((stage.count("connected"), stage.count("subscribed")), (2, 4));
}

#[tokio::test]
async fn a44_five_times_busy_is_lost() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.pass(40).await;
    let mut busy = 5;
    stage.watched.fault(move |received| {
        let hit = received.method == "GET" && busy > 0;
        busy -= i32::from(hit);
        hit.then(|| Reply::status(409))
    });
    stage.watched.end_streams(&Step::Close);
    stage.pass(30).await;
    assert_eq!(stage.got("initialize").len(), 2);
    assert_eq!(stage.got("GET").len(), 1 + 5 + 1);
    assert_eq!(stage.count("subscribed"), 4);
}

#[tokio::test]
async fn a44_a_server_without_a_stream_is_told_of_and_asked_seldom() {
    for refusal in [|| Reply::status(405), || Reply::raw_json("{}")] {
        let setting = Setting::new(Habits::LEGACY);
        setting.watched.fault(move |received| (received.method == "GET").then(refusal));
        let stage = setting.start();
        stage.pass(300).await;
        assert!(stage.messages("error").iter().any(|message| message.contains("no stream offered")));
        let sessions = stage.got("initialize").len();
        assert!((10..=14).contains(&sessions), "at the cap: {sessions}");
        assert_eq!(stage.got("DELETE").len(), sessions - usize::from(sessions > stage.got("DELETE").len()));
    }
}

#[tokio::test]
async fn a44_a_session_that_is_lost_as_soon_as_it_is_made_is_not_made_in_a_row() {
    let setting = Setting::new(Habits::LEGACY);
    setting.watched.fault(|received| (received.rpc() == "resources/subscribe").then(|| Reply::status(404)));
    let stage = setting.start();
    stage.pass(120).await;
    let sessions = stage.got("initialize").len();
    assert!((5..=10).contains(&sessions), "{sessions}");
}

#[tokio::test]
async fn a45_a50_failures_back_off_up_to_thirty_seconds_and_never_end() {
    let mut stage = Setting::new(Habits::LEGACY).listening().await;
    stage.pass(40).await;
    stage.kill();
    stage.watched.forget();
    stage.pass(3600).await;
    let errors = stage.count("error");
    assert!((120..=150).contains(&errors), "{errors}");
    stage.revive();
    stage.pass(60).await;
    stage.watched.push(A);
    stage.pass(1).await;
    assert!(stage.results().iter().any(|line| line["resync"].is_null()));
    assert!(!stage.ended());
}

#[tokio::test]
async fn a46_a_mere_opening_does_not_reset_the_delay() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    for _ in 0..120 {
        stage.pass(1).await;
        stage.watched.end_streams(&Step::Close);
    }
    let gets: Vec<_> = stage.got("GET").iter().map(|one| one.at).collect();
    let waits: Vec<_> = gets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.len() < 12, "{waits:?}");
    assert!(waits.last().unwrap() > &Duration::from_secs(20), "{waits:?}");
    stage.watched.say("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
    stage.pass(40).await;
    stage.watched.say("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
    stage.pass(2).await;
    let before = stage.got("GET").len();
    stage.watched.end_streams(&Step::Close);
    stage.pass(1).await;
    assert_eq!(stage.got("GET").len(), before + 1, "a message came");
}

#[tokio::test]
async fn a46_a_stream_that_lived_half_a_minute_resets_the_delay() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    for _ in 0..30 {
        stage.pass(1).await;
        stage.watched.end_streams(&Step::Close);
    }
    while stage.watched.streams() == 0 {
        stage.pass(1).await;
    }
    stage.pass(31).await;
    let times = |stage: &super::stage::Stage| stage.got("GET").iter().map(|one| one.at).collect::<Vec<_>>();
    let before = times(&stage).len();
    for _ in 0..2 {
        stage.watched.end_streams(&Step::Close);
        stage.pass(1).await;
    }
    let gets = times(&stage);
    assert_eq!(gets.len(), before + 2, "at once, and then after a second");
    assert_eq!(gets[before + 1] - gets[before], Duration::from_millis(1900), "90 % by the die, after one second");
}

#[tokio::test]
async fn a48_retry_after_is_honoured() {
    let setting = Setting::new(Habits::LEGACY);
    let mut first = true;
    setting.watched.fault(move |received| {
        (received.rpc() == "initialize" && std::mem::take(&mut first))
            .then(|| Reply::status(503).header("Retry-After", "90"))
    });
    let stage = setting.start();
    stage.pass(89).await;
    assert_eq!(stage.got("initialize").len(), 1);
    stage.pass(2).await;
    assert_eq!(stage.got("initialize").len(), 2);
}

#[tokio::test]
async fn a50_a_refused_credential_keeps_being_tried_at_the_cap() {
    for status in [401, 403] {
        let setting = Setting::new(Habits::LEGACY);
        setting.watched.fault(move |_| Some(Reply::status(status)));
        let stage = setting.start();
        stage.pass(3600).await;
        let errors = stage.count("error");
        assert!((120..=140).contains(&errors), "a64: {errors}");
        stage.watched.heal();
        stage.pass(31).await;
        assert_eq!(stage.count("subscribed"), 2);
    }
}

#[tokio::test]
async fn a50_an_alert_tells_the_reader_of_results_that_it_is_deaf() {
    let setting = Setting::new(Habits::LEGACY).with(|options| options.alert_after = Some(Duration::from_secs(300)));
    let mut stage = setting.listening().await;
    stage.pass(40).await;
    stage.kill();
    stage.watched.forget();
    stage.pass(290).await;
    assert!(stage.results().is_empty());
    stage.pass(3600).await;
    let lines = stage.results();
    assert_eq!(lines.len(), 1, "once for each time");
    assert_eq!((&lines[0]["event"], &lines[0]["seconds"]), (&"listener_down".into(), &300.into()));
    stage.revive();
    stage.pass(70).await;
    stage.kill();
    stage.watched.forget();
    stage.pass(400).await;
    assert_eq!(stage.results().iter().filter(|line| line["event"] == "listener_down").count(), 2);
}

#[tokio::test]
async fn a50_a_stream_that_is_opened_in_vain_again_and_again_is_no_stream() {
    let refusals: [fn(&lf_harness::Received) -> Option<Reply>; 2] = [
        // Subscribing is refused each time.
        |received| (received.rpc() == "resources/subscribe").then(|| Reply::status(500)),
        // The stream ends as soon as it is open.
        |received| (received.method == "GET").then(|| Reply::events(": bye\n\n")),
    ];
    for refusal in refusals {
        let setting = Setting::new(Habits::LEGACY).with(|options| options.alert_after = Some(Duration::from_secs(300)));
        setting.watched.fault(refusal);
        let stage = setting.start();
        stage.pass(290).await;
        assert!(stage.count("stream_open") > 5);
        assert!(stage.results().is_empty());
        stage.pass(3600).await;
        assert_eq!(stage.results().len(), 1, "told, and once");
        stage.watched.heal();
        stage.pass(100).await;
        stage.watched.fault(refusal);
        stage.watched.forget();
        stage.pass(400).await;
        assert_eq!(stage.results().len(), 2, "told again after it was well");
    }
}
