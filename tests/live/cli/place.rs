//! A scratch project, the executable in it, and the demo's two systems beside it.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader, Read, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use listen_fire::demo::{self, Systems, TOKEN};
use tempfile::TempDir;

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The exit code, with what was printed where it is another.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "out: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Standard error holds it.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "not said: {text}\nout: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Standard output holds it.
    #[track_caller]
    pub(crate) fn shows(self, text: &str) -> Self {
        assert!(self.out.contains(text), "not shown: {text}\nout: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Nothing on standard output.
    #[track_caller]
    pub(crate) fn shows_nothing(self) -> Self {
        assert_eq!(self.out, "", "err: {}", self.err);
        self
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
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
pub(crate) struct Place {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

impl Place {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    /// A project with nothing in it but its file.
    pub(crate) fn bare(file: &str) -> Self {
        let place = Self::empty();
        place.write("listen-fire.toml", file);
        place
    }

    /// The triage example without credentials.
    pub(crate) fn triage() -> Self {
        let place = Self::empty();
        demo::write_project(place.path()).unwrap();
        place
    }

    /// An example as it is in the repository.
    pub(crate) fn example(name: &str) -> Self {
        let place = Self::empty();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        let mut open = vec![from.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(&from).unwrap().to_str().unwrap().to_owned();
                    place.write(&name, &fs::read_to_string(&path).unwrap());
                }
            }
        }
        place
    }

    /// The triage example, connected to the systems.
    pub(crate) fn connected(systems: &Systems) -> Self {
        let place = Self::triage();
        let url = format!("url={}", systems.crm_url());
        place
            .run(["credential", "add", "--module", "#acme_crm", "acme", "--set", &url, "--set", "client=tests"])
            .code(0);
        let url = format!("url={}", systems.tracker_url());
        let token = format!("token={TOKEN}");
        place
            .run([
                "credential",
                "add",
                "--module",
                "@lf/mcp",
                "linear",
                "--credential",
                "mcp_token",
                "--set",
                &url,
                "--set",
                &token,
            ])
            .code(0);
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a piece of a file.
    #[track_caller]
    pub(crate) fn change(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from}");
        self.write(name, &text.replace(from, to));
    }

    /// Sets a variable for every later command.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    /// The executable, with an environment of its own and nothing on standard input.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars() {
            if name.starts_with("LISTEN_FIRE_")
                || name == "NO_COLOR"
                || name.ends_with("_PROXY")
                || name.ends_with("_proxy")
            {
                command.env_remove(name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// The same, with a text on standard input.
    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &str) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read it is fine.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        child.wait_with_output().unwrap().into()
    }

    /// Starts a command that goes on.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Running {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = Said::read(child.stdout.take().unwrap());
        let err = Said::read(child.stderr.take().unwrap());
        Running { child: Mortal(child), out, err }
    }

    /// Every byte of every file that the project keeps for itself.
    pub(crate) fn kept(&self) -> Vec<u8> {
        let state = self.file(".listen-fire");
        let mut bytes = Vec::new();
        for entry in fs::read_dir(state).unwrap() {
            bytes.extend(fs::read(entry.unwrap().path()).unwrap());
        }
        bytes
    }
}

/// What a command has printed so far.
#[derive(Debug)]
struct Said {
    text: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Said {
    fn read(pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::<Mutex<String>>::default();
        let kept = text.clone();
        let reader = thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line.unwrap());
                kept.push('\n');
            }
        });
        Self { text, reader }
    }

    fn holds(&self, text: &str) -> bool {
        self.text.lock().unwrap().contains(text)
    }

    fn all(self) -> String {
        self.reader.join().unwrap();
        std::mem::take(&mut *self.text.lock().unwrap())
    }
}

/// A process that does not outlive the test.
#[derive(Debug)]
pub(crate) struct Mortal(pub(crate) Child);

impl Drop for Mortal {
    fn drop(&mut self) {
        // One that has ended already is fine.
        drop((self.0.kill(), self.0.wait()));
    }
}

/// A command that goes on.
#[derive(Debug)]
pub(crate) struct Running {
    child: Mortal,
    out: Said,
    err: Said,
}

impl Running {
    /// Waits until it has said it.
    #[track_caller]
    pub(crate) fn until_says(&self, text: &str) {
        until(text, || self.err.holds(text) || self.out.holds(text));
    }

    /// What it has said beside its results so far.
    pub(crate) fn aside(&self) -> String {
        self.err.text.lock().unwrap().clone()
    }

    /// Waits for its end.
    pub(crate) fn done(mut self) -> Ran {
        let code = self.child.0.wait().unwrap().code();
        Ran { code, out: self.out.all(), err: self.err.all() }
    }

    /// Sends a signal, by its name, and waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self, signal: &str) -> Ran {
        let id = self.child.0.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
        let code = self.child.0.wait().unwrap().code();
        Ran { code, out: self.out.all(), err: self.err.all() }
    }
}

/// Waits until it is so; a test that waits in vain fails.
#[track_caller]
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the bytes hold the text.
pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
