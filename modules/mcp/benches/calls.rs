//! What a call through the module costs beside the same request sent by a bare HTTP client, and beside the official
//! clients. By hand: `cargo bench -p lf-mcp --bench calls`; with `LF_PEERS` (the folder that `tests/peers/setup` made) the
//! official clients are measured too.
//!
//! One server for all of them, on a thread of its own, that answers in microseconds (`loopback.rs`); and with the peers a real
//! one, the official server-everything, beside whose own time the same difference is a smaller part. The bare client is the same HTTP library with nothing around it: it sends the same
//! bytes (that is checked), with its URL and headers made once, and reads the answer to its end. *bare* does nothing with
//! what it read; *reading* parses it with serde_json, as any client has to that wants to know what was answered. The module
//! also checks the arguments and the answer against the tool's schemas, and gives typed fields.
//!
//! Rows of calls of each take turns, so that what else the machine does falls on each alike: the median of the rows' ratios
//! counts. *processor* is how long the client's threads ran, without the server's: it says what a busy machine hides.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a benchmark ends where it fails, and prints"
)]
#![expect(clippy::disallowed_methods, reason = "what is measured is real time")]

mod loopback;

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use lf_harness::{World, mcp::Offer};
use lf_mcp::Mcp;
use lf_module::{
    Call, Clock as _, Connection, Credential, Module as _, Read, Record, Secret, Target, Value, Write,
    call::{Origin, Settings},
    json::read,
};
use loopback::Loopback;
use reqwest::Url;
use serde_json::{Value as Json, json};

/// Rows for each client, and calls in a row.
const ROWS: usize = 61;
const CALLS: usize = 200;
/// Calls of each official client.
const OFFICIAL: usize = 4000;

#[tokio::main]
async fn main() {
    let filter: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with("--")).collect();
    for case in cases() {
        if filter.is_empty() || filter.iter().any(|part| case.name.contains(part.as_str())) {
            // As the program does it: on a thread of the runtime.
            tokio::spawn(compare(case)).await.unwrap();
        }
    }
    match std::env::var("LF_PEERS") {
        Ok(peers) => {
            let peers = Path::new(&peers).to_path_buf();
            tokio::spawn(real(peers.clone())).await.unwrap();
            official(&peers).await;
        }
        Err(_) => println!("the official clients are not measured: LF_PEERS is not set"),
    }
}

/// One kind of call.
struct Case {
    name: &'static str,
    modern: bool,
    write: bool,
    arguments: Json,
    answer: Json,
}

fn small() -> Json {
    json!({"content": [{"type": "text", "text": "done"}], "structuredContent": {"count": 2}})
}

fn cases() -> Vec<Case> {
    let arguments = json!({"query": "Acme"});
    let issue = |number: usize| {
        json!({"id": format!("ENG-{number}"), "title": format!("Follow up with customer {number}"), "priority": number % 4,
            "labels": ["bug", "customer"], "assignee": {"name": "Ann", "email": "ann@example.com"}, "closed": false,
            "description": "The export of the report stops half way; it worked before the last release."})
    };
    let issues: Vec<Json> = (0..50).map(issue).collect();
    let structured = json!({"count": 50, "issues": issues});
    let large = json!({"content": [{"type": "text", "text": structured.to_string()}], "structuredContent": structured});
    let full = json!({"query": "Acme", "limit": 20, "title": "Follow up with the customer", "team": "ENG", "due": "2026-12-01",
        "labels": ["bug", "customer"], "body": "The export of the report stops half way. ".repeat(40)});
    let case = |name, modern, write, arguments: &Json, answer| Case {
        name,
        modern,
        write,
        arguments: arguments.clone(),
        answer,
    };
    vec![
        case("read", false, false, &arguments, small()),
        case("read, newer generation", true, false, &arguments, small()),
        case("read, 7 arguments", false, false, &full, small()),
        case("read, large answer", false, false, &arguments, large),
        case("write", false, true, &arguments, small()),
    ]
}

fn tools() -> Json {
    let properties = json!({
        "query": {"type": "string"}, "limit": {"type": "integer"}, "title": {"type": "string", "maxLength": 200},
        "team": {"type": "string", "enum": ["ENG", "OPS"]}, "due": {"type": "string", "format": "date"},
        "labels": {"type": "array", "items": {"type": "string"}}, "body": {"type": "string"},
    });
    let issue = json!({
        "type": "object", "required": ["id", "title"],
        "properties": {"id": {"type": "string"}, "title": {"type": "string"}, "priority": {"type": "integer"},
            "labels": {"type": "array", "items": {"type": "string"}}, "closed": {"type": "boolean"},
            "assignee": {"type": "object", "properties": {"name": {"type": "string"}, "email": {"type": "string"}}}},
    });
    let output = json!({"type": "object", "required": ["count"],
        "properties": {"count": {"type": "integer"}, "issues": {"type": "array", "items": issue}}});
    let tool = |name: &str, reads: bool| {
        json!({"name": name, "annotations": {"readOnlyHint": reads}, "outputSchema": output,
            "inputSchema": {"type": "object", "properties": properties, "required": ["query"]}})
    };
    json!([tool("search", true), tool("act", false)])
}

/// The module's side.
struct Ours {
    connection: Arc<dyn Connection>,
    world: Arc<World>,
    fields: Record,
    tool: &'static str,
    write: bool,
}

impl Ours {
    fn connect(url: &str, arguments: &Json, write: bool) -> Self {
        let world = World::new(0.5);
        let credential = Credential {
            name: "bench".into(),
            kind: "mcp_token".into(),
            fields: [("url", url), ("token", "t")].map(|(name, value)| (name.into(), Secret::new(value))).into(),
        };
        let ports = world.ports();
        let target = Target { id: "bench".into(), settings: Settings::new(), credential: Some(credential), ports };
        let Value::Record(fields) = read(arguments.to_string().as_bytes()).unwrap() else {
            panic!("arguments are a record")
        };
        let fields = Record::clone(&fields);
        Self { connection: Mcp::default().connect(target).unwrap(), world, fields, tool: "search", write }
    }

    async fn call(&self) {
        let call = Call { deadline: self.world.monotonic() + Duration::from_secs(60), idempotency: None };
        let fields = self.fields.clone();
        if self.write {
            let write = Write::Create { origin: Origin::Root, ty: "act".into(), fields };
            let written = self.connection.write(&write, &call).await.unwrap();
            assert!(written.created && written.warnings.is_empty());
        } else {
            let read = Read { ty: self.tool.into(), origin: Origin::Root, pins: fields, page: None };
            assert_eq!(self.connection.read(&read, &call).await.unwrap().records.len(), 1);
        }
    }
}

/// The other side.
struct Bare {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    /// What stands around the message's id.
    body: (String, String),
    next: usize,
}

impl Bare {
    /// A client that sends what `request`, one of the module's, is made of.
    fn like(request: &[u8], url: &str, write: bool) -> Self {
        let text = String::from_utf8(request.to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        // What the library writes by itself.
        let own = ["host", "content-length", "accept-encoding"];
        let headers =
            head.lines().skip(1).filter_map(|line| line.split_once(": ")).filter(|(name, _)| !own.contains(name));
        let headers = headers
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect();
        let (before, rest) = body.split_once(r#""id":"#).unwrap();
        let after = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let body = (format!(r#"{before}"id":"#), after.to_owned());
        let builder = reqwest::Client::builder().tls_certs_only([]).http1_only();
        // A write goes over a connection of its own here too: the module's promise costs that, whoever keeps it.
        let builder = if write { builder.pool_max_idle_per_host(0) } else { builder };
        Self { client: builder.build().unwrap(), url: url.parse().unwrap(), headers, body, next: 1_000_000 }
    }

    async fn call(&mut self, reads: bool) {
        self.next += 1;
        let body = format!("{}{}{}", self.body.0, self.next, self.body.1);
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success());
        let answer = answer.bytes().await.unwrap();
        if reads {
            let answer: Json = serde_json::from_slice(&answer).unwrap();
            assert_eq!(answer["id"], self.next);
        } else {
            assert!(!answer.is_empty());
        }
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}

/// One call of the real server's `echo`, by a client with nothing around it, in a session of its own.
struct Echo {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    next: usize,
}

impl Echo {
    async fn connect(url: &str) -> Self {
        let headers = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
        let headers = headers
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .into_iter()
            .collect();
        let client = reqwest::Client::builder().tls_certs_only([]).http1_only().build().unwrap();
        let mut echo = Self { client, url: url.parse().unwrap(), headers, next: 1 };
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}});
        let answer = echo.post(hello.to_string()).await;
        let session = answer.headers()["mcp-session-id"].clone();
        drop(answer.bytes().await.unwrap());
        echo.headers.insert("mcp-session-id", session);
        echo.headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-11-25"));
        drop(echo.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()).await);
        echo
    }

    async fn post(&self, body: String) -> reqwest::Response {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success());
        answer
    }

    async fn call(&mut self) {
        self.next += 1;
        let next = self.next;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{next},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"Acme"}}}}}}"#
        );
        let answer = self.post(body).await.bytes().await.unwrap();
        assert!(String::from_utf8_lossy(&answer).contains("Echo: Acme"));
    }
}

/// A process that ends with what asked for it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _gone = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// A call of the official server-everything, through the module and by a bare client.
async fn real(peers: PathBuf) {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let server = Command::new("node")
        .args(["--import", "./bind-loopback.mjs"])
        .args(["node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp"])
        .current_dir(peers)
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut server = Killed(server.unwrap());
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(server.0.try_wait().unwrap().is_none(), "server-everything ended");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let url = format!("http://127.0.0.1:{port}/mcp");
    let ours = Ours { tool: "echo", ..Ours::connect(&url, &json!({"message": "Acme"}), false) };
    let mut bare = Echo::connect(&url).await;
    let mut rows: [Vec<f64>; 2] = Default::default();
    for row in 0..ROWS {
        for turn in 0..2 {
            let who = (turn + row) % 2;
            let start = Instant::now();
            for _ in 0..CALLS / 4 {
                if who == 0 {
                    ours.call().await;
                } else {
                    bare.call().await;
                }
            }
            rows[who].push(start.elapsed().as_secs_f64() * 4e6 / CALLS as f64);
        }
    }
    let [ours, bare] = rows;
    let more = (median(ours.iter().zip(&bare).map(|(our, bare)| our / bare).collect()) - 1.0) * 100.0;
    println!("echo of server-everything: {:.0} µs; bare {:.0} µs: {more:+.1} %", median(ours), median(bare));
}

async fn compare(case: Case) {
    let Case { name, modern, write, arguments, answer } = case;
    let offer = if modern { Offer::modern(tools()) } else { Offer::of(tools()) };
    let server = Loopback::start(Offer { answer, ..offer }, Vec::new());
    let ours = Ours::connect(&server.url, &arguments, write);
    ours.call().await;
    let ((), of_ours) = server.kept(ours.call()).await;
    let mut bare = Bare::like(&of_ours[0], &server.url, write);
    let ((), of_bare) = server.kept(bare.call(true)).await;
    assert_eq!(sorted(&of_ours[0]), sorted(&of_bare[0]), "both send the same");
    let mut rows: [Vec<f64>; 3] = Default::default();
    let mut busy = [0.0; 3];
    for row in 0..ROWS {
        // No client comes always after the same other.
        for turn in 0..3 {
            let who = (turn + row) % 3;
            let (start, before) = (Instant::now(), processor());
            for _ in 0..CALLS {
                match who {
                    0 => ours.call().await,
                    1 => bare.call(false).await,
                    _ => bare.call(true).await,
                }
            }
            rows[who].push(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
            busy[who] += (processor() - before) as f64 / 1e3 / (CALLS * ROWS) as f64;
        }
    }
    let [ours, bare, reading] = rows;
    let more = |than: &[f64]| (median(ours.iter().zip(than).map(|(our, other)| our / other).collect()) - 1.0) * 100.0;
    let (to_bare, to_reading) = (more(&bare), more(&reading));
    let [ours, bare, reading] = [ours, bare, reading].map(median);
    println!("{name}: {ours:.1} µs, {:.0} calls/s", 1e6 / ours);
    println!("  bare {bare:.1} µs: {to_bare:+.1} %; reading {reading:.1} µs: {to_reading:+.1} %");
    let [ours, bare, reading] = busy;
    let more = |than: f64| (ours / than - 1.0) * 100.0;
    println!(
        "  processor: {ours:.1} µs; bare {bare:.1} µs: {:+.1} %; reading {reading:.1} µs: {:+.1} %",
        more(bare),
        more(reading)
    );
}

/// How long the threads of this process have run, but for the server's, in nanoseconds.
fn processor() -> u64 {
    let mut all = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let task = task.unwrap().path();
        // A thread may be gone by now.
        let name = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        let Ok(text) = std::fs::read_to_string(task.join("schedstat")) else { continue };
        if name.trim() != loopback::THREAD {
            all += text.split(' ').next().unwrap().parse::<u64>().unwrap();
        }
    }
    all
}

/// A request without what differs from one to the next (its id), its headers in one order.
fn sorted(request: &[u8]) -> Vec<String> {
    let text = String::from_utf8(request.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<String> =
        head.lines().filter(|line| !line.starts_with("content-length")).map(str::to_owned).collect();
    lines.sort();
    let (before, rest) = body.split_once(r#""id":"#).unwrap();
    lines.extend([before.to_owned(), rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).to_owned()]);
    lines
}

/// The official clients, each in a process of its own, which prints how many calls it made a second.
async fn official(peers: &Path) {
    let server = Loopback::start(Offer::of(tools()), Vec::new());
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let clients = [
        ("TypeScript", Path::new("node").to_path_buf(), "client.mjs"),
        ("Python", peers.join("venv/bin/python"), "client.py"),
    ];
    let ours = Ours::connect(&server.url, &json!({"query": "Acme"}), false);
    for (language, program, script) in clients {
        ours.call().await;
        let start = Instant::now();
        for _ in 0..OFFICIAL {
            ours.call().await;
        }
        let rate = OFFICIAL as f64 / start.elapsed().as_secs_f64();
        let script = here.join(script);
        let (url, calls, peers) = (server.url.clone(), OFFICIAL.to_string(), peers.to_path_buf());
        let run =
            move || Command::new(program).arg(script).args([&url, &calls]).current_dir(&peers).arg(&peers).output();
        let output = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
        assert!(output.status.success(), "{language}: {}", String::from_utf8_lossy(&output.stderr));
        let theirs: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        println!(
            "the official {language} client: {theirs:.0} calls/s; the module {rate:.0}: {:.1} times",
            rate / theirs
        );
    }
}
