//! Answers as event streams: other messages first, broken and resumed streams, the server's own requests.

use std::time::Duration;

use lf_harness::{Received, Reply, Step, mcp::Offer};
use lf_module::{Acted, Value};

use crate::stage::{Stage, tools};

fn offer() -> Offer {
    Offer::of(tools())
}

/// A server whose answer to `tools/call` is `reply`.
fn calls(reply: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Stage {
    Stage::new(move |received| match (received.method.as_str(), received.rpc().as_str()) {
        ("GET", _) | (_, "tools/call") => reply(received),
        _ => offer().reply(received),
    })
}

fn data(text: &str) -> String {
    format!("event: message\ndata: {text}\n\n")
}

#[tokio::test]
async fn every_method_may_answer_as_a_stream() {
    let stage = Stage::new(|received| {
        if received.rpc_id().is_null() {
            return Reply::status(202);
        }
        let noise = data(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#);
        Reply::events(format!("{noise}: alive\n\n{}", data(&offer().body(received))))
            .header("Mcp-Session-Id", "from-stream")
    });
    assert_eq!(stage.search().await.unwrap().records[0].fields.get("text"), Some(&Value::text("done")));
    assert_eq!(stage.received("tools/call")[0].header("mcp-session-id"), Some("from-stream"));
}

#[tokio::test]
async fn answers_to_others_and_nonsense_are_passed_over() {
    let stage = calls(|received| {
        let others = [
            data("{}"),
            data("not json"),
            data(r#"{"jsonrpc":"2.0","id":999,"result":{"content":[{"type":"text","text":"wrong"}]}}"#),
            data(r#"{"jsonrpc":"2.0","id":"1","result":{"content":[{"type":"text","text":"wrong"}]}}"#),
        ];
        Reply::events(format!("{}{}", others.concat(), data(&offer().body(received))))
    });
    assert_eq!(stage.search().await.unwrap().records[0].fields.get("text"), Some(&Value::text("done")));
}

#[tokio::test]
async fn a_stream_that_ends_without_an_answer_or_an_id_is_a_lost_connection() {
    let stage = calls(|_| Reply::events(": nothing\n\n"));
    let error = stage.create().await.unwrap_err();
    assert_eq!(error.acted, Acted::Maybe, "{error}");
    assert_eq!(stage.received("tools/call").len(), 1);
    stage.search().await.unwrap_err();
    assert_eq!(stage.received("tools/call").len(), 5, "a read is sent four times");
}

#[tokio::test]
async fn a_stream_that_gave_an_id_is_resumed_where_it_broke_for_writes_too() {
    for broken in [Step::Close, Step::Reset] {
        let stage = calls(move |received| match received.method.as_str() {
            "GET" => {
                // The request's id is not known from this one; it was the one before.
                assert_eq!(received.header("last-event-id"), Some("e7"));
                assert_eq!(received.header("accept"), Some("text/event-stream"));
                let answer = r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"late"}]}}"#;
                Reply::events(format!("data: {{}}\n\nid: e8\n{}", data(answer)))
            }
            _ => Reply::events("id: e7\nretry: 700\ndata:\n\n").then(broken.clone()),
        });
        let written = stage.create().await.unwrap();
        assert_eq!(written.fields.get("text"), Some(&Value::text("late")));
        assert_eq!(stage.received("tools/call").len(), 1);
        assert_eq!(stage.received("GET").len(), 1);
        assert_eq!(stage.world.sleeps(), [Duration::from_millis(700)], "as long as the server said");
    }
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_is_lost() {
    let stage = calls(|received| match received.method.as_str() {
        "GET" => Reply::status(405),
        _ => Reply::events("id: e7\ndata:\n\n"),
    });
    let error = stage.create().await.unwrap_err();
    assert_eq!(error.acted, Acted::Maybe);
    assert_eq!((stage.received("tools/call").len(), stage.received("GET").len()), (1, 1));
}

#[tokio::test]
async fn a_good_status_without_an_answer_is_named_and_not_repeated() {
    type Case = (fn() -> Reply, &'static str);
    let cases: [Case; 4] = [
        (|| Reply::status(200).header("Content-Type", "application/json"), "without a body"),
        (|| Reply::status(202), "without a body"),
        (|| Reply::status(200).header("Content-Type", "text/html").body("<html>"), "text/html"),
        (|| Reply::raw_json("{\"jsonrpc\":"), "not JSON"),
    ];
    for (reply, expected) in cases {
        let stage = calls(move |_| reply());
        for _ in 0..2 {
            let error = stage.search().await.unwrap_err();
            assert!(error.message.contains(expected), "{error}");
        }
        assert_eq!(stage.received("tools/call").len(), 2);
        assert_eq!(stage.create().await.unwrap_err().acted, Acted::Maybe);
    }
}
