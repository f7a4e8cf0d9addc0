//! Servers that send too much, too deep or too tangled: each ends in a clear error, or costs only itself, within
//! bounds of memory that the *server* counts and of time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lf_harness::{Reply, World, mcp::Offer};
use lf_module::{Call, CallError, Clock as _, Description, Kind, Value, call::Settings};
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::stage::{Stage, connect, credential, era, tools};

/// Longer than any of this takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const MEGABYTE: usize = 1 << 20;

/// Listens on loopback and answers every request with `head`, then with what `piece` gives, a gigabyte in all.
/// Gives the port, and how much was taken.
async fn gigabyte(head: &'static str, piece: Vec<u8>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    drop(tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (counted, piece) = (counted.clone(), piece.clone());
            drop(tokio::spawn(async move {
                let mut request = vec![0; 64 << 10];
                let mut open =
                    stream.read(&mut request).await.is_ok() && stream.write_all(head.as_bytes()).await.is_ok();
                let mut total = 0;
                while open && total < 1024 * MEGABYTE {
                    open = stream.write_all(&piece).await.is_ok();
                    total += piece.len();
                    counted.fetch_add(piece.len(), Ordering::SeqCst);
                }
            }));
        }
    }));
    (port, sent)
}

async fn describe(port: u16, settings: Settings) -> Result<Description, CallError> {
    let world = World::new(0.5);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let connection = connect(world.ports(), credential(&[("url", &url), ("token", "t")]), settings).unwrap();
    let call = Call { deadline: world.monotonic() + PATIENCE, idempotency: None };
    tokio::time::timeout(PATIENCE, connection.describe(&call)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_is_not_taken() {
    let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[";
    let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: ";
    let refusal = "HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n";
    let cases = [(json, "larger than"), (events, "larger than"), (refusal, "400")];
    for (head, expected) in cases {
        for generation in ["legacy", "modern"] {
            let (port, sent) = gigabyte(head, vec![b'1'; 64 << 10]).await;
            let error = describe(port, era(generation)).await.unwrap_err();
            assert!(error.message.contains(expected), "{head}: {error}");
            let sent = sent.load(Ordering::SeqCst);
            assert!(sent < 64 * MEGABYTE, "{head}: {sent} bytes were taken");
        }
    }
    // Small events without end are no answer either.
    let (port, sent) = gigabyte(events, b"{}\n\ndata: ".repeat(4 << 10)).await;
    let error = describe(port, era("legacy")).await.unwrap_err();
    let sent = sent.load(Ordering::SeqCst);
    assert!(error.message.contains("larger than") && sent < 128 * MEGABYTE, "{error} after {sent} bytes");
}

async fn listed(tools: Json) -> Result<Description, CallError> {
    let stage = Stage::good(Offer::of(tools));
    tokio::time::timeout(PATIENCE, stage.describe()).await.unwrap()
}

#[tokio::test]
async fn a_schema_that_is_nested_too_deeply_is_named() {
    let mut list = json!([{"name": "deep", "inputSchema": {}}, {"name": "plain", "inputSchema": {"type": "object"}}]);
    // Written by hand: libraries do not nest so deeply either.
    let deep = format!("{}{}{}", r#"{"type":"object","properties":{"a":"#.repeat(20_000), "{}", "}}".repeat(20_000));
    list[0]["inputSchema"] = json!("HERE");
    let body = list.to_string().replace("\"HERE\"", &deep);
    let offer = Offer::of(json!([]));
    let stage = Stage::new(move |received| match received.rpc().as_str() {
        "tools/list" => {
            let id = received.rpc_id();
            Reply::raw_json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{body}}}}}"#))
        }
        _ => offer.reply(received),
    });
    let error = tokio::time::timeout(PATIENCE, stage.describe()).await.unwrap().unwrap_err();
    assert!(error.message.contains("tools/list") && error.message.contains("nested"), "{error}");

    // As deep as is read: it costs only its own depth.
    let mut schema = json!({"type": "string"});
    for _ in 0..50 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    list[0]["inputSchema"] = schema;
    let described = listed(list).await.unwrap();
    assert_eq!(described.types.len(), 2);
    assert!(described.types[0].writable);
}

/// References that double at each step: followed naively, 2^40 schemas.
fn bomb(keyword: &str) -> Json {
    let mut definitions = serde_json::Map::new();
    for number in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        let inner = match keyword {
            "properties" => json!({"type": "object", "properties": {"a": next, "b": next}}),
            "items" => json!({"type": "array", "prefixItems": [next, next]}),
            _ => json!({keyword: [next, next]}),
        };
        definitions.insert(format!("d{number}"), inner);
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "allOf": [{"$ref": "#/$defs/d0"}],
        "$defs": definitions})
}

#[tokio::test]
async fn references_that_double_cost_only_their_tool() {
    for keyword in ["allOf", "anyOf", "oneOf", "properties", "items"] {
        let list = json!([
            {"name": "bomb", "inputSchema": bomb(keyword), "outputSchema": bomb(keyword)},
            {"name": "plain", "inputSchema": {"type": "object"}},
        ]);
        let stage = Stage::good(Offer::of(list));
        let described = tokio::time::timeout(PATIENCE, stage.describe()).await.unwrap().unwrap();
        let names: Vec<_> = described.types.iter().map(|ty| ty.name.as_str()).collect();
        assert_eq!(names, ["bomb", "plain"], "{keyword}");
        // Checking a value against it must not blow up either.
        let given = [("x", Value::list(vec![Value::text("a"), Value::text("b")]))];
        let called = tokio::time::timeout(PATIENCE, stage.write("bomb", &given)).await.unwrap();
        assert!(called.is_ok() || called.as_ref().is_err_and(|error| error.kind != Kind::Passing), "{called:?}");
        stage.write("plain", &[]).await.unwrap();
    }
}

#[tokio::test]
async fn references_in_a_circle_end() {
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    let own = json!({"type": "object", "properties": {"x": {"$ref": "#"}}, "allOf": [{"$ref": "#"}]});
    for schema in [circle, own] {
        let mut list = tools();
        list[0]["inputSchema"] = schema.clone();
        list[1]["outputSchema"] = schema;
        let described = listed(list).await.unwrap();
        assert_eq!(described.types.len(), 2);
    }
}
