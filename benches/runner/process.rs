//! The runner's process: started on a project, looked at from outside.

use std::{
    fmt, fs,
    fs::File,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use listen_fire::demo::TOKEN;

use super::project::Project;

/// `listen-fire run`; killed when dropped.
pub(super) struct Runner {
    child: Child,
    told: Option<PathBuf>,
}

impl Runner {
    /// Without a ledger on its output.
    pub(super) fn start(project: &Project, crm: &str, tracker: &str) -> Self {
        let child = command(project, crm, tracker).arg("--quiet").stdout(Stdio::null()).spawn().unwrap();
        Self { child, told: None }
    }

    /// With its ledger as JSON lines in a file.
    pub(super) fn telling(project: &Project, crm: &str, tracker: &str) -> Self {
        let told = project.path().join("told.jsonl");
        let output = File::create(&told).unwrap();
        let child = command(project, crm, tracker).arg("--json").stdout(output).spawn().unwrap();
        Self { child, told: Some(told) }
    }

    pub(super) fn cpu(&self) -> f64 {
        cpu_of(&self.child.id().to_string())
    }

    pub(super) fn memory(&self) -> Memory {
        Memory::of(self.child.id())
    }

    pub(super) fn stop(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it told.
    pub(super) fn stop_and_read(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        fs::read_to_string(self.told.as_ref().unwrap()).unwrap()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Already gone is fine.
        let _gone = self.child.kill().is_err();
        let _reaped = self.child.wait().is_ok();
    }
}

fn command(project: &Project, crm: &str, tracker: &str) -> Command {
    let acme = format!(r#"{{"kind":"api","url":"{crm}","client":"benchmark"}}"#);
    let linear = format!(r#"{{"kind":"mcp_token","url":"{tracker}","token":"{TOKEN}"}}"#);
    let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
    command
        .arg("run")
        .current_dir(project.path())
        .env("LISTEN_FIRE_CREDENTIAL_ACME", acme)
        .env("LISTEN_FIRE_CREDENTIAL_LINEAR", linear)
        .env("LISTEN_FIRE_LOG", "warn")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    command
}

/// Processor seconds of this process so far.
pub(super) fn own_cpu() -> f64 {
    cpu_of("self")
}

/// Processor seconds of a process so far; 0 where the system does not tell.
fn cpu_of(process: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// Of a process, in MB (10^6 bytes).
pub(super) struct Memory {
    own: f64,
    resident: f64,
    most: f64,
}

impl Memory {
    fn of(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            let number = line.split_whitespace().find_map(|word| word.parse::<f64>().ok());
            number.unwrap_or(f64::NAN) * 1024.0 / 1e6
        };
        Self { own: field("RssAnon:"), resident: field("VmRSS:"), most: field("VmHWM:") }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.1} MB of its own, {:.1} MB resident, {:.1} MB at most", self.own, self.resident, self.most)
    }
}
