//! Calls through the module beside the same request sent by a bare HTTP client, and beside the official clients; and
//! how long a very large list of tools takes to describe. By hand: `cargo bench -p lf-mcp --bench calls`; with
//! `LF_PEERS` (the folder that `tests/peers/setup` made) the official clients are measured too.
//!
//! One server, in this process, for all of them. Rows of calls of each client take turns, so that what else the
//! machine does falls on each alike; the median row counts.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark ends where it fails, and prints")]
#![expect(clippy::disallowed_methods, reason = "what is measured is real time")]

use std::{
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use lf_harness::{Received, Reply, Server, World, mcp::Offer};
use lf_mcp::Mcp;
use lf_module::{
    Call, Clock as _, Connection, Credential, Module as _, Read, Record, Secret, Target, Value, Write,
    call::{Origin, Settings},
};
use serde_json::{Value as Json, json};

const ROWS: usize = 15;
const CALLS: usize = 400;

#[tokio::main]
async fn main() {
    let offer = Offer::of(tools());
    let server = serve(move |received| offer.reply(received));
    let url = server.url("/mcp");
    for (what, write) in [("read", false), ("write", true)] {
        compare(what, &url, write).await;
    }
    match std::env::var("LF_PEERS") {
        Ok(peers) => official(Path::new(&peers), &url).await,
        Err(_) => println!("the official clients are not measured: LF_PEERS is not set"),
    }
    large().await;
}

fn serve(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(World::new(0.5), script).unwrap()
}

fn tools() -> Json {
    let properties = json!({"query": {"type": "string"}, "limit": {"type": "integer"}});
    let output = json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let tool = |name: &str, reads: bool| {
        json!({"name": name, "annotations": {"readOnlyHint": reads}, "outputSchema": output,
            "inputSchema": {"type": "object", "properties": properties, "required": ["query"]}})
    };
    json!([tool("search", true), tool("act", false)])
}

fn connect(url: &str) -> (Arc<dyn Connection>, Arc<World>) {
    let world = World::new(0.5);
    let credential = Credential {
        name: "bench".into(),
        kind: "mcp_token".into(),
        fields: [("url", url), ("token", "t")].map(|(name, value)| (name.into(), Secret::new(value))).into(),
    };
    let target =
        Target { id: "bench".into(), settings: Settings::new(), credential: Some(credential), ports: world.ports() };
    (Mcp::default().connect(target).unwrap(), world)
}

fn fields() -> Record {
    Record::from_iter([("query", Value::text("Acme"))])
}

async fn ours(connection: &dyn Connection, world: &World, write: bool) {
    let call = Call { deadline: world.monotonic() + Duration::from_secs(60), idempotency: None };
    if write {
        let write = Write::Create { origin: Origin::Root, ty: "act".into(), fields: fields() };
        assert!(connection.write(&write, &call).await.unwrap().created);
    } else {
        let read = Read { ty: "search".into(), origin: Origin::Root, pins: fields(), page: None };
        assert_eq!(connection.read(&read, &call).await.unwrap().records.len(), 1);
    }
}

/// The same request as the module's, with the same headers; the answer is read to its end.
async fn bare(client: &reqwest::Client, url: &str, write: bool, id: usize) {
    let tool = if write { "act" } else { "search" };
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"query":"Acme"}}}}}}"#
    );
    let request = client.post(url).header("authorization", "Bearer t").header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request.header("mcp-protocol-version", "2025-11-25").header("mcp-session-id", "session-1");
    let answer = request.body(body).send().await.unwrap();
    assert!(answer.status().is_success());
    assert!(!answer.bytes().await.unwrap().is_empty());
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

async fn compare(what: &str, url: &str, write: bool) {
    let (connection, world) = connect(url);
    ours(&*connection, &world, write).await;
    let builder = reqwest::Client::builder().tls_certs_only([]).retry(reqwest::retry::never());
    // A write goes over a connection of its own here too: the module's promise costs that, whoever keeps it.
    let builder = if write { builder.pool_max_idle_per_host(0) } else { builder };
    let client = builder.http1_only().build().unwrap();
    let (mut by_module, mut by_bare) = (Vec::new(), Vec::new());
    for row in 0..ROWS {
        let start = Instant::now();
        for _ in 0..CALLS {
            ours(&*connection, &world, write).await;
        }
        by_module.push(start.elapsed());
        let start = Instant::now();
        for call in 0..CALLS {
            bare(&client, url, write, 1_000_000 + row * CALLS + call).await;
        }
        by_bare.push(start.elapsed());
    }
    let each = |rows: Vec<Duration>| median(rows).as_secs_f64() / CALLS as f64;
    let (by_module, by_bare) = (each(by_module), each(by_bare));
    println!(
        "a {what}, one after the other: {:.0} µs through the module, {:.0} µs by a bare client: {:+.1} %; {:.0} calls/s",
        by_module * 1e6,
        by_bare * 1e6,
        (by_module / by_bare - 1.0) * 100.0,
        1.0 / by_module
    );
}

/// The official clients, each in a process of its own, which prints how many calls it made a second.
async fn official(peers: &Path, url: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let clients = [
        ("TypeScript", Path::new("node").to_path_buf(), "client.mjs"),
        ("Python", peers.join("venv/bin/python"), "client.py"),
    ];
    for (language, program, script) in clients {
        let script = here.join(script);
        let (url, calls, peers) = (url.to_owned(), (CALLS * 5).to_string(), peers.to_path_buf());
        let run =
            move || Command::new(program).arg(script).args([&url, &calls]).current_dir(&peers).arg(&peers).output();
        match tokio::task::spawn_blocking(run).await.unwrap() {
            Ok(output) if output.status.success() => {
                println!("the official {language} client: {} calls/s", String::from_utf8_lossy(&output.stdout).trim());
            }
            Ok(output) => println!("the official {language} client: {}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => println!("the official {language} client: {error}"),
        }
    }
}

/// The most memory that this process has had, in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or_default() / 1000
}

/// 2,000 tools, 20 MB of schemas, in one answer.
async fn large() {
    let property = |tool: usize, at: usize| {
        let doc = format!("property {at} of tool {tool}: {}", "what it is for, at some length. ".repeat(5));
        (format!("property_{at}"), json!({"type": ["string", "null"], "description": doc, "maxLength": 100}))
    };
    let tool = |number: usize| {
        let properties: serde_json::Map<_, _> = (0..42).map(|at| property(number, at)).collect();
        json!({"name": format!("tool_{number}"), "inputSchema": {"type": "object", "properties": properties}})
    };
    let body = Json::Array((0..2000).map(tool).collect()).to_string();
    let length = body.len();
    let offer = Offer::of(json!([]));
    let server = serve(move |received| match received.rpc().as_str() {
        "tools/list" => {
            let id = received.rpc_id();
            Reply::raw_json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{body}}}}}"#))
        }
        _ => offer.reply(received),
    });
    let url = server.url("/mcp");
    let client = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    let fetch = || async {
        let start = Instant::now();
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        let read = client.post(&url).body(body).send().await.unwrap().bytes().await.unwrap().len();
        assert!(read > length);
        start.elapsed()
    };
    fetch().await;
    let fetched = fetch().await;
    let before = peak();
    let (connection, world) = connect(&url);
    let call = Call { deadline: world.monotonic() + Duration::from_secs(600), idempotency: None };
    let start = Instant::now();
    let described = connection.describe(&call).await.unwrap();
    let taken = start.elapsed();
    assert_eq!((described.types.len(), described.warnings.len()), (2000, 0));
    println!(
        "{length} bytes of 2,000 tools: described in {:.2} s, of which {:.2} s is fetching them; {} MB more at the peak",
        taken.as_secs_f64(),
        fetched.as_secs_f64(),
        peak().saturating_sub(before)
    );
}
