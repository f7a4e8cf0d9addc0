//! Real MCP servers on loopback: described, checked and called by the real executable.
//!
//! The peers come from `tests/peers/setup`, into the folder that `LF_PEERS` names. Without it each case says what it
//! lacked, and fails where `LF_LIVE=1` promises that nothing is lacking.

use std::{
    io::Write as _,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use listen_fire::demo::{self, Systems};

/// The folder of the peers; `None`, and a line that says so, where there are none.
#[expect(clippy::explicit_write, reason = "`eprintln!` would be captured: a case that was not tried must say so")]
pub(crate) fn peers(case: &str) -> Option<PathBuf> {
    if let Ok(folder) = std::env::var("LF_PEERS") {
        return Some(folder.into());
    }
    assert!(std::env::var("LF_LIVE").is_err(), "LF_LIVE promises live peers, but LF_PEERS is not set");
    writeln!(std::io::stderr(), "skipped: peers::{case}: needs the live peers (LF_PEERS)").unwrap();
    None
}

pub(crate) struct Peer {
    child: Child,
    pub(crate) url: String,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _gone = self.child.kill().and_then(|()| self.child.wait());
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Starts a peer and waits until its port answers.
fn start(folder: &Path, program: &str, arguments: &[&str], port: u16) -> Peer {
    start_with(folder, program, arguments, port, Stdio::null())
}

/// The same, with a place for what it says.
pub(crate) fn start_with(folder: &Path, program: &str, arguments: &[&str], port: u16, says: Stdio) -> Peer {
    let child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(says)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peer = Peer { child, url: format!("http://127.0.0.1:{port}/mcp") };
    let end = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_secs(1)).is_err() {
        assert!(peer.child.try_wait().unwrap().is_none(), "{program} {arguments:?} ended");
        assert!(Instant::now() < end, "{program} {arguments:?} does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    peer
}

fn everything(folder: &Path) -> Peer {
    let script = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    start(folder, "node", &["--import", "./bind-loopback.mjs", script, "streamableHttp"], free_port())
}

pub(crate) fn memory(folder: &Path) -> Peer {
    let port = free_port();
    let proxy = "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs";
    let server = "node_modules/@modelcontextprotocol/server-memory/dist/index.js";
    let listen = port.to_string();
    let arguments =
        ["--import", "./bind-loopback.mjs", proxy, "--port", &listen, "--host", "127.0.0.1", "--", "node", server];
    start(folder, "node", &arguments, port)
}

fn many_tools(folder: &Path) -> Peer {
    let port = free_port();
    start(folder, "venv/bin/python", &["many_tools.py", &port.to_string()], port)
}

/// A project with the demo's CRM and one peer.
struct Project {
    folder: tempfile::TempDir,
    systems: Systems,
    peer: Peer,
}

impl Project {
    async fn new(peer: Peer, movement: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        demo::write_project(folder.path()).unwrap();
        std::fs::write(folder.path().join("movements/triage.mvt"), movement).unwrap();
        Self { folder, systems: Systems::start().await.unwrap(), peer }
    }

    async fn command(&self, arguments: &[&str]) -> Output {
        let acme = format!(r#"{{"kind":"api","url":"{}","client":"live test"}}"#, self.systems.crm_url());
        let peer = format!(r#"{{"kind":"mcp_token","url":"{}","token":"unused"}}"#, self.peer.url);
        let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("LISTEN_FIRE_CREDENTIAL_ACME", acme)
            .env("LISTEN_FIRE_CREDENTIAL_PEER", peer)
            .stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    async fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).await;
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{arguments:?}: {}\n{out}\n{err}", output.status);
        out
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_everything_is_described_checked_and_called() {
    let Some(folder) = peers("server_everything") else { return };
    let movement = r#"
crm = connect #acme_crm using acme
all = connect `@lf/mcp` using peer

function look(company: <crm-[:Company]->>) {
  all-[e:echo WHERE e.message == company.Name]-> {
    all-[w:`get-structured-content` WHERE w.location == "Chicago"]-> {
      logging = write all-[:`toggle-simulated-logging`]-> {}
      write company { Name: "${e.text}; ${w.conditions}; ${logging.text}" }
    }
  }
}

listen to crm-[:Company]-> { start: "all" } fire look
"#;
    let project = Project::new(everything(&folder), movement).await;
    let described = project.succeeds(&["describe", "all"]).await;
    for tool in ["echo", "get-structured-content", "toggle-simulated-logging", "simulate-research-query"] {
        assert!(described.contains(tool), "`{tool}` is missing in\n{described}");
    }
    project.succeeds(&["check"]).await;
    project.systems.crm.add("Juniper");
    project.succeeds(&["run", "--once"]).await;
    let name = project.systems.crm.companies()[0].name.clone();
    assert!(name.starts_with("Echo: Juniper; ") && name.contains("logging"), "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_memory_behind_a_proxy_is_described_checked_and_called() {
    let Some(folder) = peers("server_memory") else { return };
    let movement = r#"
crm = connect #acme_crm using acme
memory = connect `@lf/mcp` using peer

function remember(company: <crm-[:Company]->>) {
  write memory-[:create_entities]-> {
    entities: [{ name: company.Name, entityType: "company", observations: ["number ${company.id}"] }]
  }
  memory-[s:search_nodes WHERE s.query == company.Name]-> {
    write company { Name: s.text }
  }
}

listen to crm-[:Company]-> { start: "all" } fire remember
"#;
    let project = Project::new(memory(&folder), movement).await;
    project.succeeds(&["describe", "memory", "create_entities"]).await;
    project.succeeds(&["check"]).await;
    project.systems.crm.add("Juniper");
    project.succeeds(&["run", "--once"]).await;
    let name = project.systems.crm.companies()[0].name.clone();
    assert!(name.contains("Juniper") && name.contains("number 1"), "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_tools_in_pages_are_described_checked_and_called() {
    let Some(folder) = peers("many_tools") else { return };
    let movement = r#"
crm = connect #acme_crm using acme
many = connect `@lf/mcp` using peer

function act(company: <crm-[:Company]->>) {
  done = write many-[:act_0007]-> { value: 7, note: company.Name }
  many-[c:calls WHERE c.prefix == "act_0007"]-> {
    write company { Name: "${c.made} call; ${done.text}" }
  }
}

listen to crm-[:Company]-> { start: "all" } fire act
"#;
    let project = Project::new(many_tools(&folder), movement).await;
    let described = project.succeeds(&["describe", "many"]).await;
    for number in 0..620 {
        assert!(described.contains(&format!("act_{number:04}")), "act_{number:04} is missing");
    }
    project.succeeds(&["check"]).await;
    project.systems.crm.add("Juniper");
    project.succeeds(&["run", "--once"]).await;
    let name = project.systems.crm.companies()[0].name.clone();
    assert_eq!(name, "1 call; act_0007 got 7 (Juniper)");
}
