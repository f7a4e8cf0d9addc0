//! Real servers on loopback, in the versions that `tests/peers` pins: described, with the number of their types and
//! fields, and called. A new version that is seen otherwise is a finding.
//!
//! Those of the first group come with the live peers (`LF_PEERS`); the others too where `tests/peers/setup` was told
//! to install `all`, and `LF_PEERS_ALL=1` says so. One of them that did not install is named, and is no failure.

use std::{
    io::Write as _,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use lf_harness::World;
use lf_module::{Call, CallError, Clock as _, Read, Record, Value, Write, call::Origin, json};

use crate::stage::{connect, credential};

/// How a server is started: what it needs installed, how, and where it answers.
struct Peer {
    /// The folder of its package.
    package: &'static str,
    /// `PORT` and `DIR` stand for what is chosen at the start; a script of Node is kept on loopback.
    command: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    host: &'static str,
    /// How many types a movement sees, and how many fields in all.
    types: usize,
    fields: usize,
    /// A call: the type, its arguments, and a piece of what comes of it, be it an answer or a refusal.
    call: (&'static str, &'static str, &'static str),
}

const MODULES: &str = "node_modules";

/// In `.ci/run`.
const FIRST: [Peer; 4] = [
    Peer {
        package: "@modelcontextprotocol/server-everything",
        command: &["@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp"],
        environment: &[],
        host: "127.0.0.1",
        types: 16,
        fields: 63,
        call: ("echo", r#"{"message":"hello"}"#, "Echo: hello"),
    },
    Peer {
        package: "supergateway",
        command: &[
            "supergateway/dist/index.js",
            "--stdio",
            "node node_modules/@modelcontextprotocol/server-filesystem/dist/index.js DIR",
            "--outputTransport",
            "streamableHttp",
            "--stateful",
            "--port",
            "PORT",
        ],
        environment: &[],
        host: "127.0.0.1",
        types: 14,
        fields: 66,
        call: ("list_allowed_directories", "{}", "Allowed directories"),
    },
    Peer {
        package: "mcp-proxy",
        command: &[
            "mcp-proxy/dist/bin/mcp-proxy.mjs",
            "--port",
            "PORT",
            "--host",
            "127.0.0.1",
            "--",
            "node",
            "node_modules/@modelcontextprotocol/server-memory/dist/index.js",
        ],
        environment: &[("MEMORY_FILE_PATH", "DIR/memory.jsonl")],
        host: "127.0.0.1",
        types: 10,
        fields: 53,
        call: (
            "create_entities",
            r#"{"entities":[{"name":"a","entityType":"b","observations":["c"]}]}"#,
            "observations",
        ),
    },
    Peer {
        package: "@modelcontextprotocol/server-system-monitor",
        command: &["@modelcontextprotocol/server-system-monitor/dist/index.js"],
        environment: &[],
        host: "127.0.0.1",
        types: 3,
        fields: 20,
        call: ("get-system-info", "{}", "hostname"),
    },
];

/// In `.ci/long`.
const OTHERS: [Peer; 6] = [
    Peer {
        package: "@modelcontextprotocol/server-budget-allocator",
        command: &["@modelcontextprotocol/server-budget-allocator/dist/index.js"],
        environment: &[],
        host: "127.0.0.1",
        types: 2,
        fields: 10,
        call: ("get-budget-data", "{}", "Budget"),
    },
    Peer {
        package: "@playwright/mcp",
        command: &["@playwright/mcp/cli.js", "--port", "PORT", "--host", "127.0.0.1", "--headless"],
        environment: &[],
        host: "localhost",
        types: 25,
        fields: 117,
        call: ("browser_close", "{}", "###"),
    },
    Peer {
        package: "@notionhq/notion-mcp-server",
        command: &["@notionhq/notion-mcp-server/bin/cli.mjs", "--transport", "http", "--port", "PORT"],
        environment: &[("AUTH_TOKEN", "t0ken"), ("NOTION_TOKEN", "x")],
        host: "127.0.0.1",
        types: 24,
        fields: 119,
        call: ("API-get-self", "{}", "refused it"),
    },
    Peer {
        package: "@antv/mcp-server-chart",
        command: &["@antv/mcp-server-chart/build/index.js", "-t", "streamable", "-p", "PORT"],
        environment: &[],
        host: "127.0.0.1",
        types: 27,
        fields: 237,
        call: ("generate_pie_chart", r#"{"data":[{"category":"a","value":"many"}]}"#, "is not of type"),
    },
    Peer {
        package: "@upstash/context7-mcp",
        command: &["@upstash/context7-mcp/dist/index.js", "--transport", "http", "--port", "PORT"],
        environment: &[],
        host: "127.0.0.1",
        types: 3,
        fields: 13,
        call: ("resolve-library-id", r#"{"query":"a","libraryName":"b"}"#, "librar"),
    },
    Peer {
        package: "kubernetes-mcp-server",
        command: &[
            "BINARY",
            "node_modules/kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64",
            "--port",
            "PORT",
            "--bind-address",
            "127.0.0.1",
            "--kubeconfig",
            "DIR/kubeconfig",
        ],
        environment: &[],
        host: "127.0.0.1",
        types: 21,
        fields: 101,
        call: ("configuration_view", "{}", "fake"),
    },
];

const KUBECONFIG: &str = r#"{"apiVersion":"v1","kind":"Config","current-context":"fake",
"clusters":[{"name":"fake","cluster":{"server":"https://127.0.0.1:9"}}],
"contexts":[{"name":"fake","context":{"cluster":"fake","user":"fake"}}],"users":[{"name":"fake","user":{"token":"x"}}]}"#;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill().and_then(|()| self.0.wait());
    }
}

impl Peer {
    fn installed(&self, folder: &Path) -> bool {
        folder.join(MODULES).join(self.package).is_dir()
    }

    /// Starts it and waits until its port answers.
    fn start(&self, folder: &Path, own: &Path) -> (Running, String) {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let own = own.to_str().unwrap();
        let filled = |text: &&str| text.replace("PORT", &port.to_string()).replace("DIR", own);
        let arguments: Vec<String> = self.command.iter().map(filled).collect();
        let mut command = match arguments.as_slice() {
            [binary, program, rest @ ..] if binary == "BINARY" => {
                let mut command = Command::new(folder.join(program));
                command.args(rest);
                command
            }
            [script, rest @ ..] => {
                let mut command = Command::new("node");
                command.args(["--import", "./bind-loopback.mjs"]).arg(format!("{MODULES}/{script}")).args(rest);
                command
            }
            [] => Command::new("node"),
        };
        let environment = self.environment.iter().map(|(name, value)| (*name, filled(value)));
        command.current_dir(folder).env("PORT", port.to_string()).envs(environment);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut running = Running(child);
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_secs(1)).is_err() {
            assert!(running.0.try_wait().unwrap().is_none(), "{} ended", self.package);
            assert!(Instant::now() < end, "{} does not answer", self.package);
            std::thread::sleep(Duration::from_millis(50));
        }
        (running, format!("http://{}:{port}/mcp", self.host))
    }

    /// What a movement sees of it and what comes of the call, and how that differs from what is expected.
    async fn judge(&self, folder: &Path) -> Option<String> {
        let own = tempfile::tempdir().unwrap();
        std::fs::write(own.path().join("kubeconfig"), KUBECONFIG).unwrap();
        let (_running, url) = self.start(folder, own.path());
        let world = World::new(0.5);
        let fields = [("url", url.as_str()), ("token", "t0ken")];
        let connection = connect(world.ports(), credential(&fields), Default::default()).unwrap();
        let call = || Call { deadline: world.monotonic() + Duration::from_secs(60), idempotency: None };
        let described = match connection.describe(&call()).await {
            Ok(described) => described,
            Err(error) => return Some(format!("{}: {error}", self.package)),
        };
        let found = (described.types.len(), described.types.iter().map(|ty| ty.fields.len()).sum::<usize>());
        let (ty, arguments, expected) = self.call;
        let Value::Record(arguments) = json::read(arguments.as_bytes()).unwrap() else {
            return Some("no record".into());
        };
        let given: Record = arguments.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let Some(shape) = described.get(ty) else {
            let names: Vec<_> = described.types.iter().map(|ty| ty.name.as_str()).collect();
            return Some(format!("{}: there is no `{ty}` among {names:?}, {found:?}", self.package));
        };
        let answered: Result<Vec<Record>, CallError> = if shape.readable {
            let read = Read { ty: ty.into(), origin: Origin::Root, pins: given, page: None };
            let page = connection.read(&read, &call()).await;
            page.map(|page| page.records.into_iter().map(|landed| landed.fields).collect())
        } else {
            let write = Write::Create { ty: ty.into(), origin: Origin::Root, fields: given };
            connection.write(&write, &call()).await.map(|written| vec![written.fields])
        };
        let said = match answered {
            Ok(records) => records.iter().map(|record| format!("{:?}", record.get("text"))).collect::<String>(),
            Err(error) => error.message,
        };
        let fits = found == (self.types, self.fields) && !expected.is_empty() && said.contains(expected);
        (!fits).then(|| format!("{}: {found:?} types and fields; `{ty}` said {said:.300}", self.package))
    }
}

#[expect(clippy::explicit_write, reason = "`eprintln!` would be captured: a case that was not tried must say so")]
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").unwrap();
}

async fn all(peers: &[Peer], folder: &Path, must: bool) {
    let mut wrong = Vec::new();
    for peer in peers {
        if peer.installed(folder) {
            wrong.extend(peer.judge(folder).await);
        } else if must {
            wrong.push(format!("{} is not installed", peer.package));
        } else {
            say(&format!("skipped: servers: {} did not install", peer.package));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn folder() -> Option<PathBuf> {
    if let Ok(folder) = std::env::var("LF_PEERS") {
        return Some(folder.into());
    }
    assert!(std::env::var("LF_LIVE").is_err(), "LF_LIVE promises live peers, but LF_PEERS is not set");
    say("skipped: servers: they need the live peers (LF_PEERS)");
    None
}

#[tokio::test]
async fn four_real_servers_are_seen_as_they_are_and_called() {
    let Some(folder) = folder() else { return };
    all(&FIRST, &folder, true).await;
}

#[tokio::test]
async fn more_real_servers_are_seen_as_they_are_and_called() {
    let Some(folder) = folder().filter(|_| std::env::var("LF_PEERS_ALL").is_ok()) else {
        say("skipped: servers: the others (LF_PEERS_ALL)");
        return;
    };
    all(&OTHERS, &folder, false).await;
}
