//! The pump at real servers: pushes on a beat, a restart, and a server that pushes for each write, in both generations.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use lf_harness::World;
use lf_transport::{Bounds, Client, Options, Request, Sends};
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value as Json, json};

use super::{LONG, Pump};
use crate::peers::{Peer, free_port, memory, peers, start_with};

const FEATURES: &str = "demo://resource/static/document/features.md";
const TEXT: &str = "demo://resource/dynamic/text/1";
const GRAPH: &str = "memory://knowledge-graph";

/// Sends a message with these headers beside those of every message.
async fn post(url: &str, headers: &[(&'static str, &str)], message: Json) {
    let clock = World::new(0.5);
    let client = Client::new(Options { plain: true, ..Options::default() }, clock);
    let mut all = HeaderMap::new();
    all.insert("accept", "application/json, text/event-stream".parse().unwrap());
    all.insert("content-type", "application/json".parse().unwrap());
    for (name, value) in headers {
        all.insert(*name, value.parse().unwrap());
    }
    let body = Some(message.to_string().into());
    let request = Request { method: Method::POST, url: url.parse().unwrap(), headers: all, body, sends: Sends::Write };
    let bounds = Bounds { first_byte: LONG, gap: LONG, until: None };
    let answer = client.exchange(request, &bounds).await.unwrap();
    assert!(answer.status.is_success(), "{answer:?}");
}

/// Calls a tool inside a session of the older generation.
pub(crate) async fn call(url: &str, session: &str, tool: &str) {
    let params = json!({"name": tool, "arguments": {}});
    let message = json!({"jsonrpc": "2.0", "id": "other", "method": "tools/call", "params": params});
    post(url, &[("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")], message).await;
}

pub(crate) fn everything(folder: &Path, log: &Path, port: u16) -> Peer {
    let script = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let log = std::fs::File::create(log).unwrap();
    start_with(folder, "node", &["--import", "./bind-loopback.mjs", script, "streamableHttp"], port, log.into())
}

/// The session that the server opened last, as it says itself: its pushes are switched on inside it.
pub(crate) fn session(log: &Path) -> String {
    let said = std::fs::read_to_string(log).unwrap();
    let last = said.lines().filter_map(|line| line.strip_prefix("Session initialized with ID: ")).next_back();
    last.unwrap().trim().to_owned()
}

#[tokio::test]
async fn server_everything_pushes_on_its_beat_and_again_after_a_restart() {
    let Some(folder) = peers("listen::server_everything") else { return };
    let log = tempfile::NamedTempFile::new().unwrap();
    let port = free_port();
    let peer = everything(&folder, log.path(), port);
    let url = peer.url.clone();
    let mut pump = Pump::start(&[&url, FEATURES, TEXT]);
    pump.until("subscribed").await;
    pump.until("subscribed").await;
    call(&url, &session(log.path()), "toggle-subscriber-updates").await;
    let started = Instant::now();
    let mut beats = [0, 0];
    for _ in 0..6 {
        let line = pump.result().await;
        assert_eq!(line["event"], "resource_updated");
        beats[usize::from(line["uri"] == TEXT)] += 1;
    }
    assert_eq!(beats, [3, 3], "each resource on each beat");
    assert!(started.elapsed() > Duration::from_secs(9), "a beat is five seconds");
    call(&url, &session(log.path()), "toggle-subscriber-updates").await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(pump.results.try_recv().is_err(), "it was switched off");

    drop(peer);
    pump.until("stream_closed").await;
    let _peer = everything(&folder, log.path(), port);
    pump.until("connected").await;
    pump.until("subscribed").await;
    pump.until("subscribed").await;
    call(&url, &session(log.path()), "toggle-subscriber-updates").await;
    // One of the resources is another at each read, so the gap is told too, once.
    let mut resyncs = 0;
    while pump.result().await["resync"] == true {
        resyncs += 1;
    }
    assert!(resyncs <= 1, "{resyncs}");
    pump.signal("-TERM");
    assert_eq!(pump.ended().await, Some(0));
}

/// Writes to the graph, by the newer generation, which needs no session.
pub(crate) async fn write(url: &str, name: &str) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "writer", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let entities = json!([{"name": name, "entityType": "test", "observations": []}]);
    let params = json!({"name": "create_entities", "arguments": {"entities": entities}, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "create_entities")];
    post(url, &headers, message).await;
}

#[tokio::test]
async fn server_memory_gives_one_line_for_each_write_in_both_generations() {
    let Some(folder) = peers("listen::server_memory") else { return };
    for era in ["legacy", "modern", "auto"] {
        let peer = memory(&folder);
        let mut pump = Pump::start(&["--era", era, &peer.url, GRAPH]);
        pump.until("subscribed").await;
        for number in 0..10 {
            write(&peer.url, &format!("{era} {number} {}", std::process::id())).await;
            let line = pump.result().await;
            assert_eq!((&line["uri"], &line["trigger"]), (&json!(GRAPH), &Json::Null), "{era}");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(pump.results.try_recv().is_err(), "{era}: one line for each");
    }
}
