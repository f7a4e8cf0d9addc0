//! A scratch project, the executable in it, and the demo's two systems beside it.

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use listen_fire::demo::{self, Systems, TOKEN};
use tempfile::TempDir;

/// What a command came to.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Ran {
    /// The exit code, with what was printed where it is another.
    #[track_caller]
    pub(super) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "out: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Standard error holds it.
    #[track_caller]
    pub(super) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "not said: {text}\nout: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Standard output holds it.
    #[track_caller]
    pub(super) fn shows(self, text: &str) -> Self {
        assert!(self.out.contains(text), "not shown: {text}\nout: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Nothing on standard output.
    #[track_caller]
    pub(super) fn shows_nothing(self) -> Self {
        assert_eq!(self.out, "", "err: {}", self.err);
        self
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}\nout: {}\nerr: {}", self.out, self.err))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A folder, and the executable started in it.
#[derive(Debug)]
pub(super) struct Place {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

impl Place {
    /// An empty folder.
    pub(super) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    /// A project with nothing in it but its file.
    pub(super) fn bare(file: &str) -> Self {
        let place = Self::empty();
        place.write("listen-fire.toml", file);
        place
    }

    /// The triage example without credentials.
    pub(super) fn triage() -> Self {
        let place = Self::empty();
        demo::write_project(place.path()).unwrap();
        place
    }

    /// The triage example, connected to the systems.
    pub(super) fn connected(systems: &Systems) -> Self {
        let place = Self::triage();
        let url = format!("url={}", systems.crm_url());
        place.run(["credential", "add", "--module", "#acme_crm", "acme", "--set", &url, "--set", "client=tests"]).code(0);
        let url = format!("url={}", systems.tracker_url());
        let token = format!("token={TOKEN}");
        place
            .run([
                "credential", "add", "--module", "@lf/mcp", "linear", "--credential", "mcp_token", "--set", &url, "--set",
                &token,
            ])
            .code(0);
        place
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a piece of a file.
    #[track_caller]
    pub(super) fn change(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from}");
        self.write(name, &text.replace(from, to));
    }

    /// Sets a variable for every later command.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    /// The executable, with an environment of its own and nothing on standard input.
    pub(super) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars() {
            if name.starts_with("LISTEN_FIRE_") || name == "NO_COLOR" || name.ends_with("_PROXY") || name.ends_with("_proxy") {
                command.env_remove(name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub(super) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// The same, with a text on standard input.
    pub(super) fn run_with<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &str) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read it is fine.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        child.wait_with_output().unwrap().into()
    }

    /// Starts a command that goes on.
    pub(super) fn start<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Running {
        let mut command = self.command(arguments);
        Running(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// Every byte of every file that the project keeps for itself.
    pub(super) fn kept(&self) -> Vec<u8> {
        let state = self.file(".listen-fire");
        let mut bytes = Vec::new();
        for entry in fs::read_dir(state).unwrap() {
            bytes.extend(fs::read(entry.unwrap().path()).unwrap());
        }
        bytes
    }
}

/// A command that goes on; ended with this.
#[derive(Debug)]
pub(super) struct Running(Option<Child>);

impl Running {
    /// Sends a signal, by its name.
    pub(super) fn signal(&self, name: &str) {
        let id = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> Ran {
        self.0.take().unwrap().wait_with_output().unwrap().into()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Waits until it is so; a test that waits in vain fails.
#[track_caller]
pub(super) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the bytes hold the text.
pub(super) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
