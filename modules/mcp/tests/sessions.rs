//! Sessions: opening, headers, loss.

use lf_harness::{Received, Reply, Server, World, mcp::Offer};
use lf_module::call::Settings;
use serde_json::json;

use crate::stage::{Stage, connect, credential, tools};

fn gone() -> Reply {
    Reply::status(404).body(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#)
}

#[tokio::test]
async fn what_is_sent_with_each_request() {
    let mut offer = Offer::of(tools());
    offer.version = "2025-06-18".to_owned();
    let stage = Stage::good(offer);
    stage.describe().await.unwrap();
    assert_eq!(stage.methods(), ["server/discover", "initialize", "notifications/initialized", "tools/list"]);
    let all = stage.server.as_ref().unwrap().received().split_off(1);
    let first = all[0].json();
    assert_eq!(first["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(first["params"]["capabilities"], json!({}));
    assert_eq!(all[0].header("mcp-session-id"), None);
    assert_eq!(all[0].header("mcp-protocol-version"), None);
    for request in &all {
        assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    }
    for request in &all[1..] {
        assert_eq!(request.header("mcp-session-id"), Some("session-1"));
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-06-18"), "the negotiated one");
    }
}

#[tokio::test]
async fn servers_are_kept_apart() {
    let serve = |id: &str| {
        let mut offer = Offer::of(tools());
        offer.session = Some(id.to_owned());
        Server::start(World::new(0.0), move |received| offer.reply(received)).unwrap()
    };
    let servers = [(serve("s-one"), "t-one", "s-one"), (serve("s-two"), "t-two", "s-two")];
    let world = World::new(0.0);
    for (server, token, _) in &servers {
        let fields = [("url", server.url("/mcp")), ("token", (*token).to_owned())];
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        let connection = connect(world.ports(), credential(&fields), Settings::new()).unwrap();
        Stage { world: world.clone(), server: None, connection }.search().await.unwrap();
    }
    for (server, token, session) in servers {
        let received = server.received();
        assert_eq!(received.len(), 5);
        assert!(received.iter().all(|request| request.header("authorization") == Some(&format!("Bearer {token}"))));
        assert!(received[2..].iter().all(|request| request.header("mcp-session-id") == Some(session)));
    }
}

#[tokio::test]
async fn one_session_serves_many_calls_at_once() {
    let stage = Stage::good(Offer::of(tools()));
    let (one, two, three) = tokio::join!(stage.search(), stage.create(), stage.search());
    one.unwrap();
    two.unwrap();
    three.unwrap();
    assert_eq!(stage.received("initialize").len(), 1);
    assert_eq!(stage.received("tools/list").len(), 1);
}

#[tokio::test]
async fn a_session_that_is_lost_again_at_once_ends_the_call() {
    let stage =
        Stage::new(|received| if received.rpc() == "tools/list" { gone() } else { Offer::of(tools()).reply(received) });
    let error = stage.describe().await.unwrap_err();
    assert_eq!(stage.received("tools/list").len(), 2);
    assert_eq!(error.status, Some(404));
}

#[tokio::test]
async fn a_revision_that_is_not_spoken_is_named() {
    let mut offer = Offer::of(tools());
    offer.version = "2099-01-01".to_owned();
    let error = Stage::good(offer).describe().await.unwrap_err();
    assert!(error.message.contains("`2099-01-01`"), "{error}");
}

#[tokio::test]
async fn every_spoken_revision_is_taken() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let mut offer = Offer::of(tools());
        offer.version = version.to_owned();
        let description = Stage::good(offer).describe().await.unwrap();
        assert!(description.facts.contains(&("protocol".to_owned(), version.to_owned())));
    }
}

#[tokio::test]
async fn a_session_id_never_shows_in_debug() {
    let stage = Stage::good(Offer::of(tools()));
    stage.describe().await.unwrap();
    let shown = format!("{:?}", stage.connection);
    assert!(!shown.contains("session-1") && !shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn the_id_that_the_server_writes_in_any_case_is_taken() {
    let stage = Stage::new(|received: &Received| {
        let mut offer = Offer::of(tools());
        offer.session = None;
        offer.reply(received).header("MCP-SESSION-ID", "shouted")
    });
    stage.describe().await.unwrap();
    assert_eq!(stage.received("tools/list")[0].header("mcp-session-id"), Some("shouted"));
}
