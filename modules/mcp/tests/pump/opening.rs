//! Opening: the order, the headers, what is said.

use std::time::Duration;

use lf_harness::{
    Feed, Reply, Step,
    watched::{Habits, stream_of},
};
use serde_json::json;

use super::stage::{A, B, Setting};

#[tokio::test]
async fn a20_the_stream_is_open_before_anything_is_subscribed_to() {
    let setting = Setting::new(Habits::LEGACY);
    let (head, feed) = Feed::new();
    let mut feed = Some(feed);
    setting.watched.fault(move |received| {
        let feed = (received.method == "GET").then(|| feed.take()).flatten()?;
        Some(Reply::steps(vec![Step::Feed(feed)]))
    });
    let stage = setting.start();
    stage.pass(2).await;
    let opening = ["server/discover", "initialize", "notifications/initialized", "GET"];
    assert_eq!(stage.order(), opening, "ta3: the head of the stream is late");
    head.send(Step::Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_vec())).unwrap();
    stage.pass(1).await;
    let subscribes = stage.got("resources/subscribe");
    let uris: Vec<_> = subscribes.iter().map(|one| one.json()["params"]["uri"].clone()).collect();
    assert_eq!(uris, [A, B], "in the order of the command line");
    assert_eq!(stage.order()[4..6], ["resources/subscribe", "resources/subscribe"]);
}

#[tokio::test]
async fn a13_a17_what_is_said_of_a_start_without_updates() {
    let stage = Setting::new(Habits::LEGACY).ignoring(&["ai:claude"]).listening().await;
    stage.pass(5).await;
    assert!(stage.results().is_empty(), "ta4");
    assert_eq!(stage.happened(), ["connected", "stream_open", "subscribed", "subscribed"]);
    let asides = stage.asides();
    let url = stage.server.as_ref().unwrap().url("/mcp");
    assert_eq!(asides[0]["mcpUrl"], url);
    assert_eq!(asides[0]["ignoreAuthors"], json!(["ai:claude"]));
    assert_eq!(asides[0]["ignorePrefixes"], json!([]));
    assert_eq!(asides[1]["reopened"], false);
    assert_eq!((&asides[2]["uri"], &asides[3]["uri"]), (&json!(A), &json!(B)));
    for line in &asides {
        let ts = line["ts"].as_str().unwrap();
        assert!(ts.len() == 24 && ts.ends_with('Z'), "a16: {ts}");
    }
}

#[tokio::test]
async fn a17_each_event_has_its_fields_and_no_others() {
    let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]);
    let mut stage = setting.with(|options| options.alert_after = Some(Duration::from_secs(60))).listening().await;
    stage.watched.change(A, "no json");
    stage.pass(130).await;
    stage.watched.end_streams(&Step::Close);
    stage.watched.write(A, "no json either");
    stage.pass(40).await;
    stage.kill();
    stage.pass(100).await;
    let table = [
        ("connected", vec!["mcpUrl", "ignoreAuthors", "ignorePrefixes"]),
        ("stream_open", vec!["reopened"]),
        ("subscribed", vec!["uri"]),
        ("resource_updated", vec!["uri", "trigger"]),
        ("stream_closed", vec!["reason"]),
        ("still_watching", vec![]),
        ("error", vec!["message"]),
        ("filter_error", vec!["uri", "message"]),
        ("listener_down", vec!["seconds"]),
    ];
    let lines = [stage.results(), stage.asides()].concat();
    for (event, fields) in table {
        let found: Vec<_> = lines.iter().filter(|line| line["event"] == event).collect();
        assert!(!found.is_empty(), "no `{event}` in {lines:#?}");
        for line in found {
            let mut names: Vec<_> = line.as_object().unwrap().keys().skip(2).map(String::as_str).collect();
            if line["resync"] == true {
                assert_eq!(names.pop(), Some("resync"));
            }
            assert_eq!(names, fields, "{line}");
        }
    }
    assert!(stage.results().iter().any(|line| line["resync"] == true));
}

#[tokio::test]
async fn a14_verbose_says_everything_to_the_reader_of_results() {
    let stage = Setting::new(Habits::LEGACY).with(|options| options.verbose = true).listening().await;
    stage.watched.push(A);
    stage.pass(1).await;
    assert!(stage.asides().is_empty());
    let events: Vec<_> = stage.results().iter().map(|line| line["event"].clone()).collect();
    assert_eq!(events, ["connected", "stream_open", "subscribed", "subscribed", "resource_updated"]);
}

#[tokio::test]
async fn a21_a22_a24_what_is_sent_with_each_request() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    let all = stage.received();
    let initialize = &all[1];
    assert_eq!(initialize.json()["params"]["clientInfo"]["name"], "listen-fire");
    assert_eq!(initialize.json()["params"]["clientInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(initialize.json()["params"]["capabilities"], json!({}));
    assert_eq!(initialize.header("mcp-session-id"), None);
    for one in &all[2..] {
        assert_eq!(one.header("mcp-session-id"), Some("session-1"), "{one:?}");
        assert_eq!(one.header("mcp-protocol-version"), Some("2025-11-25"));
    }
    for one in all.iter().filter(|one| one.method == "POST") {
        assert_eq!(one.header("content-type"), Some("application/json"));
        assert_eq!(one.header("accept"), Some("application/json, text/event-stream"));
    }
    assert_eq!(stage.got("GET")[0].header("accept"), Some("text/event-stream"));
    assert_eq!(stage.got("GET")[0].header("accept-encoding"), Some("identity"), "nothing keeps events back");
}

#[tokio::test]
async fn a22_the_revision_that_the_server_chose_goes_on_every_later_request() {
    let setting = Setting::new(Habits::LEGACY);
    setting.watched.fault(|received| match (received.method.as_str(), received.rpc().as_str()) {
        (_, "initialize") => {
            let result = json!({
                "protocolVersion": "2025-03-26",
                "capabilities": {"resources": {"subscribe": true}},
                "serverInfo": {"name": "older", "version": "1"},
            });
            let answer = json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": result});
            Some(Reply::json(&answer).header("Mcp-Session-Id", "older-1"))
        }
        ("GET", _) => Some(stream_of(Feed::new().1)),
        (_, "notifications/initialized" | "resources/subscribe") => {
            Some(Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": {}})))
        }
        _ => None,
    });
    let stage = setting.start();
    stage.pass(5).await;
    let later: Vec<_> = stage.received().into_iter().skip(2).collect();
    assert!(later.len() >= 4, "{later:?}");
    for one in later {
        assert_eq!(one.header("mcp-protocol-version"), Some("2025-03-26"), "{one:?}");
        assert_eq!(one.header("mcp-session-id"), Some("older-1"), "{one:?}");
    }
}

#[tokio::test]
async fn a21_answers_may_be_streams() {
    let setting = Setting::new(Habits::LEGACY);
    setting.watched.fault(|received| {
        (received.rpc() == "resources/subscribe").then(|| {
            let id = received.rpc_id();
            Reply::events(format!(": x\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"))
        })
    });
    let stage = setting.listening().await;
    assert_eq!(stage.count("subscribed"), 2);
}

#[tokio::test]
async fn a22_a_server_without_session_ids_gets_none() {
    let stage = Setting::new(Habits { sessions: false, ..Habits::LEGACY }).listening().await;
    assert!(stage.received().iter().all(|one| one.header("mcp-session-id").is_none()));
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
}

#[tokio::test]
async fn a23_any_good_status_is_an_answer_to_a_notification() {
    for status in [200, 202, 204] {
        let setting = Setting::new(Habits::LEGACY);
        setting
            .watched
            .fault(move |received| (received.rpc() == "notifications/initialized").then(|| Reply::status(status)));
        let stage = setting.listening().await;
        stage.watched.push(A);
        stage.pass(1).await;
        assert_eq!(stage.results().len(), 1, "ta21: {status}");
    }
}

#[tokio::test]
async fn a25_a_server_that_does_not_say_that_it_can_is_tried_all_the_same() {
    let stage = Setting::new(Habits { says_so: false, ..Habits::LEGACY }).listening().await;
    assert_eq!(stage.count("error"), 1);
    assert!(stage.messages("error")[0].contains("capabilities.resources.subscribe"));
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
}

#[tokio::test]
async fn a26_a_refused_subscription_names_its_uri_and_is_tried_again_from_the_start() {
    let setting = Setting::new(Habits::LEGACY);
    let mut refusals = 2;
    setting.watched.fault(move |received| {
        let refused = received.rpc() == "resources/subscribe" && received.json()["params"]["uri"] == B && refusals > 0;
        refusals -= i32::from(refused);
        let error =
            json!({"jsonrpc": "2.0", "id": received.rpc_id(), "error": {"code": -32002, "message": "no board"}});
        refused.then(|| Reply::json(&error))
    });
    let stage = setting.start();
    stage.pass(10).await;
    let errors = stage.messages("error");
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains(B) && errors[0].contains("no board"), "{errors:?}");
    assert_eq!(stage.got("initialize").len(), 3);
    assert_eq!(stage.got("DELETE").len(), 2, "the sessions before are ended");
    let at: Vec<_> = stage.got("initialize").iter().map(|one| one.at.as_millis()).collect();
    assert_eq!((at[1] - at[0], at[2] - at[1]), (900, 1800), "a45, a48: 1 s and 2 s, at 90 % by the die");
}

#[tokio::test]
async fn a59_redirects_are_followed_within_the_origin_only() {
    let setting = Setting::new(Habits::LEGACY).with(|options| {
        options.target.header("X-Key", &lf_module::Secret::new("s3cret")).unwrap();
    });
    setting.watched.fault(|received| {
        let moved = received.path == "/mcp";
        moved.then(|| Reply::status(if received.method == "GET" { 308 } else { 307 }).header("Location", "/moved"))
    });
    let stage = setting.listening().await;
    stage.watched.push(A);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
    let moved: Vec<_> = stage.received().into_iter().filter(|one| one.path == "/moved").collect();
    assert!(moved.iter().all(|one| one.header("x-key") == Some("s3cret")), "a61");

    let elsewhere = Setting::new(Habits::LEGACY);
    let away = elsewhere.server.url("/mcp");
    for status in [301, 302, 303, 307, 308] {
        let setting = Setting::new(Habits::LEGACY).with(|options| {
            options.target.header("X-Key", &lf_module::Secret::new("s3cret")).unwrap();
        });
        let away = away.clone();
        setting.watched.fault(move |_| Some(Reply::status(status).header("Location", &away)));
        let stage = setting.start();
        stage.pass(5).await;
        assert!(elsewhere.server.received().is_empty(), "{status} left the origin");
        assert!(stage.count("error") > 0, "{status}");
    }
    // One that leads to itself is not followed for ever.
    let setting = Setting::new(Habits::LEGACY);
    setting.watched.fault(|_| Some(Reply::status(307).header("Location", "/mcp")));
    let stage = setting.start();
    stage.pass(5).await;
    assert!(stage.messages("error")[0].contains("307"), "{:?}", stage.messages("error"));
    assert!(stage.received().len() < 40, "{}", stage.received().len());
    for status in [301, 302, 303] {
        let setting = Setting::new(Habits::LEGACY);
        setting.watched.fault(move |received| {
            (received.path == "/mcp").then(|| Reply::status(status).header("Location", "/moved"))
        });
        let stage = setting.start();
        stage.pass(5).await;
        assert!(stage.received().iter().all(|one| one.path == "/mcp"), "{status} may change the request");
    }
}

#[tokio::test]
async fn a61_what_headers_hold_is_in_no_line() {
    let setting = Setting::new(Habits::LEGACY).with(|options| {
        options.target.header("Authorization", &lf_module::Secret::new("Bearer s3cret")).unwrap();
    });
    setting.watched.fault(|received| (received.rpc() == "initialize").then(|| Reply::status(401)));
    let stage = setting.start();
    stage.pass(100).await;
    assert!(stage.count("error") > 1);
    assert!(!format!("{:?}", stage.asides()).contains("s3cret"));
}

#[tokio::test]
async fn a42_what_is_no_json_is_one_error_and_the_stream_stays_open() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.watched.say("data: not json\n\n");
    stage.watched.say("event: nothing\n\n: comment\n\n");
    let update = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\ndata: \"params\":{{\"uri\":\"{A}\"}}}}"
    );
    for end in ["\n", "\r\n", "\r"] {
        let text = format!("data: {update}\n\n").replace('\n', end);
        stage.watched.say(&text);
        stage.pass(1).await;
    }
    assert_eq!(stage.messages("error").len(), 1, "{:?}", stage.asides());
    assert_eq!(stage.results().len(), 3);
    assert_eq!(stage.got("GET").len(), 1);
}

#[tokio::test]
async fn a42_a_character_split_over_two_chunks_survives() {
    let uri = "board://é/";
    let setting = Setting::new(Habits::LEGACY).with(|options| options.uris = vec![uri.into()]);
    let (stream, feed) = Feed::new();
    let mut feed = Some(feed);
    setting.watched.fault(move |received| (received.method == "GET").then(|| feed.take().map(stream_of)).flatten());
    let stage = setting.start();
    stage.pass(1).await;
    let text = format!(
        "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{{\"uri\":\"{uri}\"}}}}\n\n"
    );
    for byte in text.as_bytes() {
        stream.send(Step::Send(vec![*byte])).unwrap();
        stage.pass_millis(1).await;
    }
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1, "{:?}", stage.asides());
    assert_eq!(stage.results()[0]["uri"], uri);
}
