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
use serde_json::Value as Json;

mod faults;
mod listening;
mod servers;

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
    /// Under which header the token is sent.
    header: &'static str,
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
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdout(says);
    started(command, port)
}

/// Starts what listens on `port`.
fn started(mut command: Command, port: u16) -> Peer {
    let child = command.env("PORT", port.to_string()).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut peer = Peer { child, url: format!("http://127.0.0.1:{port}/mcp"), header: "" };
    let end = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_secs(1)).is_err() {
        assert!(peer.child.try_wait().unwrap().is_none(), "{command:?} ended");
        assert!(Instant::now() < end, "{command:?} does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    peer
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
        let mut command = self.prepared(arguments);
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    fn prepared(&self, arguments: &[&str]) -> Command {
        let acme = format!(r#"{{"kind":"api","url":"{}","client":"live test"}}"#, self.systems.crm_url());
        let Peer { url, header, .. } = &self.peer;
        let peer = format!(r#"{{"kind":"mcp_token","url":"{url}","token":"t0ken","header":"{header}"}}"#);
        let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("LISTEN_FIRE_CREDENTIAL_ACME", acme)
            .env("LISTEN_FIRE_CREDENTIAL_PEER", peer)
            .stdin(Stdio::null());
        command
    }

    async fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).await;
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{arguments:?}: {}\n{out}\n{err}", output.status);
        out
    }

    /// The story of each run, as a person reads it, the newest first.
    async fn stories(&self) -> Vec<String> {
        let list = self.succeeds(&["--json", "runs", "list"]).await;
        let ids = list.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()["run"].to_string());
        let mut stories = Vec::new();
        for id in ids {
            stories.push(self.succeeds(&["runs", "show", &id]).await);
        }
        stories
    }
}
