//! Updates: which are told, with what, and which are not.

use std::time::Duration;

use lf_harness::{Feed, Reply, Step, watched::Habits};
use serde_json::json;

use super::stage::{A, B, Setting, board};

#[tokio::test]
async fn a17_an_update_of_a_watched_resource_is_one_line() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.watched.push(B);
    stage.pass(1).await;
    let lines = stage.results();
    assert_eq!(lines.len(), 1, "ta6");
    assert_eq!(lines[0]["event"], "resource_updated");
    assert_eq!(lines[0]["uri"], B);
    let fields: Vec<_> = lines[0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["ts", "event", "uri", "trigger"]);
}

#[tokio::test]
async fn a27_only_watched_uris_are_emitted() {
    let stage = Setting::new(Habits::LEGACY).one().with(|options| options.verbose = true).listening().await;
    let before = stage.results().len();
    for other in [B, "board://a/state.jso", "board://a/state.json/1", "board://a/tasks.json", ""] {
        stage.watched.push_as(A, other);
    }
    stage.watched.say("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\"}\n\n");
    stage.pass(5).await;
    assert_eq!(stage.results().len(), before, "ta7: {:?}", stage.results());
    assert!(stage.asides().is_empty());
}

#[tokio::test]
async fn a28_every_update_is_told_there_is_no_debounce() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    for _ in 0..10 {
        stage.watched.push(A);
    }
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 10);
}

#[tokio::test]
async fn a29_each_update_is_read_and_carries_who_touched_it_last() {
    let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]).with(|options| options.resync = false);
    let stage = setting.listening().await;
    stage.watched.change(A, board(&[("1", "ai:claude", "2026-01-01"), ("2", "user:1", "2026-01-02")]));
    stage.pass(1).await;
    let trigger = json!({"id": "2", "author": "user:1", "kind": "text", "last_updated": "2026-01-02"});
    assert_eq!(stage.results().len(), 1);
    assert_eq!(stage.results()[0]["trigger"], trigger, "ta8");
    assert_eq!(stage.got("resources/read").len(), 1, "ta8");
}

#[tokio::test]
async fn a29_without_a_rule_the_trigger_is_read_too_and_a_failed_read_is_silent() {
    let stage = Setting::new(Habits::LEGACY).one().listening().await;
    stage.watched.change(A, board(&[("1", "ai:claude", "2026-01-01")]));
    stage.pass(1).await;
    assert_eq!(stage.results()[0]["trigger"]["author"], "ai:claude");
    stage.watched.fault(|received| (received.rpc() == "resources/read").then(|| Reply::status(500)));
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 2);
    assert_eq!(stage.results()[1]["trigger"], json!(null));
    assert_eq!(stage.count("filter_error"), 0);
}

#[tokio::test]
async fn a33_updates_of_ignored_authors_are_told_on_neither_channel() {
    let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]);
    let stage = setting.listening().await;
    let asides = stage.asides().len();
    stage.watched.change(A, board(&[("1", "ai:claude", "2026-01-01")]));
    stage.pass(1).await;
    assert!(stage.results().is_empty(), "ta9");

    let setting = Setting::new(Habits::LEGACY).one().with(|options| options.rules.prefixes = vec!["ai:".into()]);
    let prefix = setting.listening().await;
    prefix.watched.change(A, board(&[("1", "ai:gpt", "2026-01-01")]));
    prefix.pass(1).await;
    assert!(prefix.results().is_empty(), "ta9");
    assert_eq!((stage.asides().len(), prefix.asides().len()), (asides, asides));
    stage.watched.change(A, board(&[("1", "ai:claude", "2026-01-01"), ("2", "user:1", "2026-01-02")]));
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
}

#[tokio::test]
async fn a34_a35_what_cannot_be_judged_is_told() {
    let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]);
    let stage = setting.listening().await;
    stage.watched.change(A, r#"{"something": "else", "author": "ai:claude"}"#);
    stage.pass(1).await;
    assert_eq!((stage.results().len(), stage.count("filter_error")), (1, 0), "another shape");
    stage.watched.change(A, "not json");
    stage.pass(1).await;
    assert_eq!((stage.results().len(), stage.count("filter_error")), (2, 1), "no json");
    stage.watched.fault(|received| {
        let error = json!({"jsonrpc": "2.0", "id": received.rpc_id(), "error": {"code": -32603, "message": "broken"}});
        (received.rpc() == "resources/read").then(|| Reply::json(&error))
    });
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!((stage.results().len(), stage.count("filter_error")), (3, 2), "ta11: an error");
    assert!(stage.messages("filter_error")[1].contains("broken"));
    assert!(stage.results().iter().all(|line| line["trigger"].is_null()));
}

#[tokio::test]
async fn a36_updates_that_come_while_a_read_runs_share_the_next_one_a_line_each() {
    let stage = Setting::new(Habits::LEGACY).with(|options| options.resync = false).listening().await;
    let (answer, feed) = Feed::new();
    let mut feed = Some(feed);
    stage.watched.fault(move |received| {
        let first = received.rpc() == "resources/read" && received.json()["params"]["uri"] == A;
        first.then(|| feed.take().map(|feed| Reply::steps(vec![Step::Feed(feed)]))).flatten()
    });
    stage.watched.push(A);
    stage.pass(1).await;
    for _ in 0..5 {
        stage.watched.push(A);
    }
    stage.watched.push(B);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1, "one resource does not wait for another");
    assert_eq!(stage.results()[0]["uri"], B);
    drop(answer);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 7);
    assert_eq!(stage.got("resources/read").len(), 3, "one for the first, one for the five, one for the other");
}

#[tokio::test]
async fn a36_updates_of_one_resource_are_told_in_the_order_in_which_they_came() {
    let stage = Setting::new(Habits::LEGACY).one().listening().await;
    let (answer, feed) = Feed::new();
    let mut feed = Some(feed);
    // The first is read late; the second would be there before it.
    stage.watched.fault(move |received| {
        let first = received.rpc() == "resources/read";
        first.then(|| feed.take().map(|feed| Reply::steps(vec![Step::Feed(feed)]))).flatten()
    });
    stage.watched.change(A, "first");
    stage.pass(1).await;
    stage.watched.change(A, board(&[("2", "user:2", "2")]));
    stage.pass(1).await;
    assert!(stage.results().is_empty());
    let id = stage.got("resources/read").pop().unwrap().rpc_id();
    let contents = json!([{"uri": A, "text": board(&[("1", "user:1", "1")])}]);
    let body = json!({"jsonrpc": "2.0", "id": id, "result": {"contents": contents}}).to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    answer.send(Step::Send((head + &body).into_bytes())).unwrap();
    drop(answer);
    stage.pass(1).await;
    let lines = stage.results();
    let ids: Vec<_> = lines.iter().map(|line| line["trigger"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["1", "2"]);
}

#[tokio::test]
async fn a36_a_reader_that_takes_nothing_loses_nothing_and_the_stream_stays_open() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.room(0);
    for _ in 0..50 {
        stage.watched.push(A);
    }
    stage.pass(600).await;
    assert!(stage.results().is_empty());
    assert_eq!(stage.got("GET").len(), 1, "a39 pauses");
    stage.room(1 << 20);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 50);
    let reads = stage.got("resources/read").len();
    assert!(reads <= 5, "what waited shares a read: {reads}");
}

#[tokio::test]
async fn a37_updates_on_the_answer_to_a_request_are_told() {
    let setting = Setting::new(Habits::LEGACY).one().with(|options| options.resync = false);
    let mut first = true;
    setting.watched.fault(move |received| {
        let hit = received.rpc() == "resources/subscribe" && std::mem::take(&mut first);
        let update = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": A}});
        let answer = json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": {}});
        hit.then(|| Reply::events(format!("data: {update}\n\ndata: {answer}\n\n")))
    });
    let stage = setting.listening().await;
    assert_eq!(stage.results().len(), 1);
}

#[tokio::test]
async fn a63_what_lies_below_a_watched_resource_is_told_where_that_is_asked_for() {
    let setting = Setting::new(Habits::LEGACY).with(|options| {
        options.parts = true;
        options.uris = vec!["file:///a".into(), "file:///a/b".into()];
    });
    let stage = setting.listening().await;
    for uri in ["file:///a/c", "file:///a/b/c", "file:///ab", "file:///a"] {
        stage.watched.push_as("file:///a", uri);
    }
    stage.pass(1).await;
    let mut uris: Vec<_> = stage.results().iter().map(|line| line["uri"].as_str().unwrap().to_owned()).collect();
    uris.sort();
    assert_eq!(uris, ["file:///a", "file:///a/b/c", "file:///a/c"]);
}

#[tokio::test]
async fn strict_echo_tells_what_a_burst_would_hide() {
    for (strict, expected) in [(false, 0), (true, 1)] {
        let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]);
        let setting = setting.with(|options| options.rules.strict = strict);
        setting.watched.write(A, board(&[("1", "user:1", "1"), ("2", "ai:claude", "1")]));
        let stage = setting.listening().await;
        // A person's edit first, one's own last.
        stage.watched.change(A, board(&[("1", "user:1", "2"), ("2", "ai:claude", "3")]));
        stage.pass(1).await;
        assert_eq!(stage.results().len(), expected, "strict: {strict}");
        // Only one's own.
        stage.watched.change(A, board(&[("1", "user:1", "2"), ("2", "ai:claude", "4")]));
        stage.pass(1).await;
        assert_eq!(stage.results().len(), expected, "strict: {strict}");
        // A person deletes, and one's own item is the latest.
        stage.watched.change(A, board(&[("2", "ai:claude", "4")]));
        stage.pass(1).await;
        assert_eq!(stage.results().len(), expected * 2, "strict: {strict}");
    }
}

#[tokio::test]
async fn strict_echo_tells_a_push_of_what_the_first_look_saw_already() {
    let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]);
    let setting = setting.with(|options| options.rules.strict = true);
    setting.watched.write(A, board(&[("1", "user:1", "1")]));
    let stage = setting.listening().await;
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1, "it may have been changed just before the look");
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1, "nothing changed since it was told");
}

#[tokio::test]
async fn a40_a_read_that_hangs_delays_its_own_line_only_and_not_for_ever() {
    let stage = Setting::new(Habits::LEGACY).ignoring(&["ai:x"]).listening().await;
    stage.watched.fault(|received| {
        let hangs = received.rpc() == "resources/read" && received.json()["params"]["uri"] == A;
        hangs.then(Reply::silence)
    });
    stage.watched.push(A);
    stage.watched.push(B);
    stage.pass(29).await;
    assert_eq!(stage.results().len(), 1);
    stage.pass(2).await;
    assert_eq!(stage.results().len(), 2);
    assert!(stage.messages("filter_error").iter().any(|message| message.contains("in time")));
}

#[tokio::test]
async fn a15_lines_stay_whole_whatever_a_server_writes() {
    let stage = Setting::new(Habits::LEGACY).one().listening().await;
    stage.watched.change(A, board(&[("1\n{\"event\":\"x\"}", "user:\r\n\u{2028}\u{0}", "2026")]));
    stage.clock.pass(Duration::from_secs(1)).await;
    assert_eq!(stage.results()[0]["trigger"]["id"], "1\n{\"event\":\"x\"}");
}
