//! The pump as people start it: arguments, channels, signals, and what a slow or absent reader does to it. What it does
//! over a long time is tested on a moved clock, beside its code.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use lf_harness::{Reply, Server, Watched, World, watched::Habits};
use serde_json::Value as Json;

mod hosts;
pub(crate) mod peers;

const A: &str = "board://a/state.json";
const B: &str = "board://b/state.json";
/// Nothing here takes so long.
const LONG: Duration = Duration::from_secs(30);

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
    command.arg("listen").stdin(Stdio::null()).current_dir(std::env::temp_dir());
    command
}

fn output(arguments: &[&str]) -> Output {
    command().args(arguments).output().unwrap()
}

/// A server with two resources, and its URL.
fn serve(habits: Habits) -> (Watched, Server, String) {
    let watched = Watched::new(habits, &[A, B]);
    let server = watched.serve(0, World::new(0.5)).unwrap();
    let url = server.url("/mcp");
    (watched, server, url)
}

/// A pump that runs, with a reader on each of its channels.
struct Pump {
    child: Child,
    results: mpsc::Receiver<String>,
    asides: mpsc::Receiver<String>,
}

impl Drop for Pump {
    fn drop(&mut self) {
        let _gone = self.child.kill().and_then(|()| self.child.wait());
    }
}

fn lines(from: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    receiver
}

impl Pump {
    fn start(arguments: &[&str]) -> Self {
        let mut child = command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let results = lines(child.stdout.take().unwrap());
        let asides = lines(child.stderr.take().unwrap());
        Self { child, results, asides }
    }

    /// The next line on standard output.
    async fn result(&mut self) -> Json {
        next(&mut self.results).await
    }

    /// The next line on standard error.
    async fn aside(&mut self) -> Json {
        next(&mut self.asides).await
    }

    /// Everything on standard error up to this event, which is the last of what is given.
    async fn until(&mut self, event: &str) -> Vec<Json> {
        let mut all = Vec::new();
        loop {
            all.push(self.aside().await);
            if all.last().unwrap()["event"] == event {
                return all;
            }
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Its exit code, once it ends.
    async fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + LONG;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < end, "it does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn next(lines: &mut mpsc::Receiver<String>) -> Json {
    let end = Instant::now() + LONG;
    loop {
        match lines.try_recv() {
            Ok(line) => return serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}")),
            Err(mpsc::TryRecvError::Empty) => assert!(Instant::now() < end, "no line comes"),
            Err(mpsc::TryRecvError::Disconnected) => panic!("it ended"),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[test]
fn a2_the_version_alone_is_one_line_of_standard_output() {
    for arguments in [&["--version"][..], &["--version", "--verbose"]] {
        let ran = output(arguments);
        assert_eq!(ran.status.code(), Some(0), "ta1");
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), concat!(env!("CARGO_PKG_VERSION"), "\n"));
        assert!(ran.stderr.is_empty());
    }
    let whole = Command::new(env!("CARGO_BIN_EXE_listen-fire")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(whole.stdout).unwrap(), concat!("listen-fire ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[tokio::test]
async fn a2_asked_for_its_version_it_asks_nobody() {
    let (_watched, server, url) = serve(Habits::LEGACY);
    let ran = output(&[&url, A, "--version"]);
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), concat!(env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a5_a6_the_flags_name_who_is_not_told_of() {
    let text = |author: &str, at: &str| {
        let text = serde_json::json!({"id": at, "author": author, "last_updated": at});
        serde_json::json!({"texts": [text], "lines": [], "images": []}).to_string()
    };
    let (watched, _server, url) = serve(Habits::LEGACY);
    let flags = ["--ignore-author", "x", "--ignore-author", "user:me", "--ignore-author-prefix", "ai:"];
    let again = ["--ignore-author-prefix", "bot:"];
    let mut pump = Pump::start(&[&[&url, A][..], &flags, &again].concat());
    let connected = pump.until("connected").await.pop().unwrap();
    assert_eq!(connected["ignoreAuthors"], serde_json::json!(["x", "user:me"]));
    assert_eq!(connected["ignorePrefixes"], serde_json::json!(["ai:", "bot:"]));
    pump.until("subscribed").await;
    let authors = ["user:me", "ai:any", "bot:any", "user:me2", "x-ray", "my-ai:"];
    for (number, author) in (0..).zip(authors) {
        watched.change(A, text(author, &number.to_string()));
        // One read each, so that none is judged by what the next one wrote.
        let end = Instant::now() + LONG;
        while watched.reads() < number + 2 {
            assert!(Instant::now() < end, "it is not read");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    for author in &authors[3..] {
        assert_eq!(pump.result().await["trigger"]["author"], *author);
    }
}

#[tokio::test]
async fn a4_a8_a10_a11_a60_wrong_usage_is_said_before_anything_is_sent() {
    let (_watched, server, url) = serve(Habits::LEGACY);
    let cases: [(&[&str], &str); 15] = [
        (&[], "usage: listen-fire listen"),
        (&[&url], "usage: listen-fire listen"),
        (&["--verbose"], "usage: listen-fire listen"),
        (&[&url, A, "--ignore-author"], "--ignore-author"),
        (&[&url, A, "--ignore-author-prefix"], "--ignore-author-prefix"),
        (&[&url, A, "--ignore-auther", "x"], "--ignore-auther"),
        (&["--nonsense", &url, A], "--nonsense"),
        (&["not a url", A], "MCP URL"),
        (&["ftp://127.0.0.1/mcp", A], "MCP URL"),
        (&["file:///etc/passwd", A], "MCP URL"),
        (&[&url, ""], "empty"),
        (&[&url, A, "--quiet", "--verbose"], "--quiet"),
        (&[&url, A, "--header", "no colon"], "Name: value"),
        (&[&url, A, "--header", "X-Key: @env:LISTEN_FIRE_NOT_SET"], "LISTEN_FIRE_NOT_SET"),
        (&[&url, A, "--alert-after", "soon"], "--alert-after"),
    ];
    for (arguments, said) in cases {
        let ran = output(arguments);
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "ta2, a64: {arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        assert!(ran.stdout.is_empty(), "{arguments:?}");
    }
    let usage = String::from_utf8(output(&[]).stderr).unwrap();
    assert_eq!(usage.trim_end().lines().count(), 1, "a4: one line: {usage}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a3_a7_a11_flags_stand_anywhere_empty_values_count_for_nothing_and_uris_once() {
    let (watched, server, url) = serve(Habits::LEGACY);
    let with_user = url.replace("http://", "http://me:pass@");
    let arguments =
        ["--ignore-author", "", &with_user, "--ignore-author", "ai:x", A, "--ignore-author-prefix", "", B, A];
    let mut pump = Pump::start(&arguments);
    let connected = pump.until("connected").await.pop().unwrap();
    assert_eq!(connected["mcpUrl"], url, "a user in the URL is not shown");
    assert_eq!(connected["ignoreAuthors"], serde_json::json!(["ai:x"]));
    assert_eq!(connected["ignorePrefixes"], serde_json::json!([]), "ta12");
    assert_eq!(pump.until("subscribed").await.pop().unwrap()["uri"], A);
    assert_eq!(pump.until("subscribed").await.pop().unwrap()["uri"], B);
    watched.push(B);
    assert_eq!(pump.result().await["uri"], B);
    let subscribes = server.received().iter().filter(|one| one.rpc() == "resources/subscribe").count();
    assert_eq!(subscribes, 2);
    assert!(server.received().iter().all(|one| one.header("authorization").is_some()), "the user signs in");
}

#[tokio::test]
async fn a9_a13_a14_a60_which_channel_carries_what() {
    for (flag, results, asides) in [
        (None, vec!["resource_updated"], vec!["connected", "stream_open", "subscribed"]),
        (Some("--verbose"), vec!["connected", "stream_open", "subscribed", "resource_updated"], vec![]),
        (Some("-v"), vec!["connected", "stream_open", "subscribed", "resource_updated"], vec![]),
        (Some("--quiet"), vec!["resource_updated"], vec![]),
    ] {
        let (watched, _server, url) = serve(Habits::LEGACY);
        let mut arguments = vec![url.as_str(), A];
        arguments.extend(flag);
        let mut pump = Pump::start(&arguments);
        while watched.push(A) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut found = Vec::new();
        while found.len() < results.len() {
            found.push(pump.result().await["event"].as_str().unwrap().to_owned());
        }
        assert_eq!(found, results, "{flag:?}");
        pump.signal("-TERM");
        assert_eq!(pump.ended().await, Some(0));
        let said: Vec<_> = pump.asides.iter().collect();
        let said: Vec<Json> = said.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let said: Vec<_> = said.iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(said, asides, "{flag:?}");
    }
}

#[tokio::test]
async fn a52_a53_a64_signals_end_it_in_order_and_with_0() {
    for signal in ["-TERM", "-INT"] {
        let (_watched, server, url) = serve(Habits::LEGACY);
        let mut pump = Pump::start(&[&url, A]);
        pump.until("subscribed").await;
        let at = Instant::now();
        pump.signal(signal);
        assert_eq!(pump.ended().await, Some(0), "ta23");
        assert!(at.elapsed() < Duration::from_millis(2500));
        let delete = server.received().into_iter().find(|one| one.method == "DELETE").unwrap();
        assert_eq!(delete.header("mcp-session-id"), Some("session-1"));
        assert_eq!(pump.results.iter().count(), 0, "nothing is written on the way out");
    }
}

#[tokio::test]
async fn a53_a_second_signal_ends_it_at_once_and_a_good_bye_without_an_answer_is_cut() {
    for twice in [true, false] {
        let (watched, _server, url) = serve(Habits::LEGACY);
        watched.fault(|received| (received.method == "DELETE").then(Reply::silence));
        let mut pump = Pump::start(&[&url, A]);
        pump.until("subscribed").await;
        let at = Instant::now();
        pump.signal("-TERM");
        if twice {
            pump.signal("-INT");
        }
        assert_eq!(pump.ended().await, Some(0));
        let took = at.elapsed();
        assert!(took < Duration::from_secs(10), "{took:?}");
        assert!(twice || took >= Duration::from_millis(1900), "{took:?}");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a19_a54_a_host_that_goes_away_is_noticed_without_an_update() {
    let (watched, server, url) = serve(Habits::LEGACY);
    let mut child = command().args([&url, A]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let mut pump = Pump { child, results: mpsc::channel().1, asides: mpsc::channel().1 };
    while watched.push(B) + watched.push(A) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(pump.child.try_wait().unwrap().is_none());
    drop(out);
    assert_eq!(pump.ended().await, Some(0));
    assert!(server.received().iter().any(|one| one.method == "DELETE"));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_host_that_wakes_at_the_end_of_a_command_waits_for_one_line() {
    let (watched, _server, url) = serve(Habits::LEGACY);
    let line = format!("{} listen --quiet {url} {A} | head -n 1", env!("CARGO_BIN_EXE_listen-fire"));
    let waiting = tokio::task::spawn_blocking(move || Command::new("sh").args(["-c", &line]).output().unwrap());
    while watched.push(A) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let ran = tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(out.lines().count(), 1);
    assert!(out.contains("resource_updated"), "{out}");
}

/// Bounded memory, whatever is pushed: counted without what is shared with the executable on disk.
#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn memory_stays_under_12_mb_with_ten_resources() {
    let uris: Vec<_> = (0..10).map(|number| format!("board://{number}/state.json")).collect();
    let names: Vec<_> = uris.iter().map(String::as_str).collect();
    let watched = Watched::new(Habits { replays: true, ..Habits::LEGACY }, &names);
    let server = watched.serve(0, World::new(0.5)).unwrap();
    let url = server.url("/mcp");
    let mut arguments = vec![url.as_str(), "--ignore-author", "nobody", "--strict-echo"];
    arguments.extend(&names);
    let mut pump = Pump::start(&arguments);
    for _ in &names {
        pump.until("subscribed").await;
    }
    for round in 0..200 {
        for name in &names {
            let texts: Vec<_> = (0..100)
                .map(|text| serde_json::json!({"id": text, "author": "user:1", "last_updated": round.to_string()}))
                .collect();
            watched.change(name, serde_json::json!({"texts": texts, "lines": [], "images": []}).to_string());
        }
        for _ in &names {
            pump.result().await;
        }
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", pump.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 12 << 10, "{kilobytes} kB");
}

#[tokio::test]
async fn a19_nobody_on_standard_error_is_no_reason_to_end() {
    let (watched, _server, url) = serve(Habits::LEGACY);
    let mut child = command().args([&url, A]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let results = lines(child.stdout.take().unwrap());
    let mut pump = Pump { child, results, asides: mpsc::channel().1 };
    while watched.push(A) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for _ in 0..3 {
        assert_eq!(pump.result().await["uri"], A);
        watched.push(A);
    }
}

#[tokio::test]
async fn a61_headers_come_from_the_environment_or_a_file_and_are_never_shown() {
    let (_watched, server, url) = serve(Habits::LEGACY);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "s3cret-of-file").unwrap();
    let of_file = format!("X-File: @file:{}", file.path().display());
    let mut child = command()
        .args([&url, A, "--header", "X-Env: @env:PUMP_KEY", "--header", &of_file, "--header", "X-Plain: yes"])
        .env("PUMP_KEY", "s3cret-of-env")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (results, asides) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    let mut pump = Pump { child, results, asides };
    let said = pump.until("subscribed").await;
    assert!(!format!("{said:?}").contains("s3cret"));
    for one in server.received() {
        assert_eq!(one.header("x-env"), Some("s3cret-of-env"));
        assert_eq!(one.header("x-file"), Some("s3cret-of-file"));
        assert_eq!(one.header("x-plain"), Some("yes"));
    }
}

#[tokio::test]
async fn a62_a_credential_of_the_project_signs_in() {
    let (_watched, server, url) = serve(Habits::LEGACY);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("listen-fire.toml"), "name = \"x\"\n").unwrap();
    let credential = format!(r#"{{"kind":"mcp_token","url":"{url}","token":"s3cret"}}"#);
    let start = |name: &str, url: &str| {
        let mut command = command();
        command.args([url, A, "--using", name]).current_dir(folder.path());
        command.env("LISTEN_FIRE_CREDENTIAL_BOARD", &credential).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut child = start("board", &url).spawn().unwrap();
    let (results, asides) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    let mut pump = Pump { child, results, asides };
    pump.until("subscribed").await;
    assert!(server.received().iter().all(|one| one.header("authorization") == Some("Bearer s3cret")));

    let (_elsewhere, other, away) = serve(Habits::LEGACY);
    for (name, url, said) in [("nobody", &url, "no credential `nobody`"), ("board", &away, "does not go elsewhere")] {
        let ran = start(name, url).output().unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said) && !stderr.contains("s3cret"), "{stderr}");
    }
    assert_eq!(other.connections(), 0);
}

/// Reads bytes, slowly until `hurry`; counts the lines and gives all bytes.
fn slowly(mut from: ChildStdout, hurry: &AtomicBool, count: &AtomicUsize) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 512]);
    loop {
        let read = from.read(&mut piece).unwrap();
        if read == 0 {
            return all;
        }
        all.extend_from_slice(&piece[..read]);
        count.fetch_add(piece[..read].iter().filter(|byte| **byte == b'\n').count(), Ordering::SeqCst);
        if !hurry.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a15_a36_every_byte_is_a_line_of_json_at_a_thousand_updates_a_second_and_a_slow_reader() {
    let (watched, _server, url) = serve(Habits::LEGACY);
    let mut child = command().args([&url, A, B]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let mut pump = Pump { child, results: mpsc::channel().1, asides: mpsc::channel().1 };
    let (hurry, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (hurries, counts) = (hurry.clone(), count.clone());
    let reader = std::thread::spawn(move || slowly(out, &hurries, &counts));
    while watched.push(B) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut pushed = 1;
    let started = Instant::now();
    for tick in 1..=3000_u32 {
        let name = if tick % 3 == 0 { B } else { A };
        while watched.push(name) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        pushed += 1;
        let due = started + Duration::from_millis(u64::from(tick));
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
    }
    assert!(count.load(Ordering::SeqCst) < pushed, "the reader is slower than that");
    hurry.store(true, Ordering::SeqCst);
    let end = Instant::now() + LONG;
    while count.load(Ordering::SeqCst) < pushed {
        assert!(Instant::now() < end, "lines are lost: {} of {pushed}", count.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    pump.signal("-TERM");
    assert_eq!(pump.ended().await, Some(0));
    let all = String::from_utf8(reader.join().unwrap()).unwrap();
    assert!(all.ends_with('\n'));
    let lines: Vec<_> = all.lines().collect();
    for line in &lines {
        let line: Json = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        assert_eq!(line["event"], "resource_updated");
    }
    assert_eq!(lines.len(), pushed, "none is lost and none is doubled");
}
