//! The pump and whoever started it: what it needs of them, how many there may be, and how each kind of standard output
//! that a host lends behaves when the host is slow, or gone.

use std::{
    io::Read as _,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use lf_harness::{Watched, World, watched::Habits};
use serde_json::Value as Json;

use super::{A, B, LONG, Pump, command, lines, serve};

/// A pump of which nothing is read.
fn unread(child: Child) -> Pump {
    Pump { child, results: mpsc::channel().1, asides: mpsc::channel().1 }
}

/// Tells its subscribers of `uri`, once there are any.
async fn push(watched: &Watched, uri: &str) {
    let end = Instant::now() + LONG;
    while watched.push(uri) == 0 {
        assert!(Instant::now() < end, "nobody listens");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Pushes until no more is taken, as far as can be seen from the server; how often.
async fn fill(watched: &Watched) -> usize {
    push(watched, A).await;
    for pushed in 1.. {
        let before = watched.reads();
        let end = Instant::now() + Duration::from_millis(500);
        push(watched, A).await;
        while watched.reads() == before {
            if Instant::now() > end {
                return pushed + 1;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(pushed < 20_000, "everything is taken");
    }
    0
}

/// Only whole lines of updates; how many.
fn updates(all: &[u8]) -> usize {
    assert!(all.is_empty() || all.ends_with(b"\n"), "the last line is whole");
    let lines = std::str::from_utf8(all).unwrap().lines();
    let update = |line: &str| {
        let line: Json = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        assert_eq!(line["event"], "resource_updated");
    };
    lines.map(update).count()
}

#[tokio::test]
async fn a1_the_executable_is_all_that_is_needed() {
    let (watched, _server, url) = serve(Habits::LEGACY);
    let folder = tempfile::tempdir().unwrap();
    let executable = folder.path().join("pump");
    std::fs::copy(env!("CARGO_BIN_EXE_listen-fire"), &executable).unwrap();
    let mut command = std::process::Command::new(&executable);
    command.env_clear().current_dir(folder.path()).args(["listen", &url, A]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (results, asides) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    let mut pump = Pump { child, results, asides };
    pump.until("subscribed").await;
    push(&watched, A).await;
    assert_eq!(pump.result().await["uri"], A);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[tokio::test]
async fn a12_a_process_serves_one_server_and_what_stands_after_it_are_resources() {
    let (watched, _server, url) = serve(Habits::LEGACY);
    let (other_watched, other, other_url) = serve(Habits::MODERN);
    // A second URL is a resource of the first server, and nobody is asked there.
    let mut one = Pump::start(&[&url, A, &other_url]);
    assert_eq!(one.until("subscribed").await.pop().unwrap()["uri"], A);
    assert_eq!(one.until("subscribed").await.pop().unwrap()["uri"], other_url);
    assert_eq!(other.connections(), 0);
    // Two at one server, and one at another: each is told what it asked for.
    let mut two = Pump::start(&[&url, B]);
    let mut three = Pump::start(&[&other_url, A, B]);
    for (pump, resources) in [(&mut two, 1), (&mut three, 2)] {
        for _ in 0..resources {
            pump.until("subscribed").await;
        }
    }
    for uri in [B, A] {
        assert_eq!(watched.push(uri), 1);
    }
    other_watched.push(B);
    assert_eq!(one.result().await["uri"], A);
    assert_eq!(two.result().await["uri"], B);
    assert_eq!(three.result().await["uri"], B);
    for pump in [&mut one, &mut two, &mut three] {
        pump.signal("-TERM");
        assert_eq!(pump.ended().await, Some(0));
        assert_eq!(pump.results.iter().count(), 0);
    }
}

#[tokio::test]
async fn a12_five_hundred_resources_are_watched_by_one() {
    let uris: Vec<_> = (0..500).map(|number| format!("board://{number}/state.json")).collect();
    let names: Vec<_> = uris.iter().map(String::as_str).collect();
    let watched = Watched::new(Habits::LEGACY, &names);
    let server = watched.serve(0, World::new(0.5)).unwrap();
    let url = server.url("/mcp");
    let mut pump = Pump::start(&[&[url.as_str()][..], &names].concat());
    for name in &names {
        assert_eq!(pump.until("subscribed").await.pop().unwrap()["uri"], *name);
    }
    for name in &names {
        assert_eq!(watched.push(name), 1);
    }
    let mut told: Vec<String> = Vec::new();
    for _ in &names {
        told.push(pump.result().await["uri"].as_str().unwrap().to_owned());
    }
    told.sort();
    let mut expected = uris.clone();
    expected.sort();
    assert_eq!(told, expected);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a19_a54_a_host_that_lent_a_socket_is_noticed_too_when_it_goes_away() {
    let (watched, server, url) = serve(Habits::LEGACY);
    let (ours, theirs) = UnixStream::pair().unwrap();
    // It only reads, as hosts do.
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let child = command().args([&url, A]).stdout(OwnedFd::from(theirs)).stderr(Stdio::null()).spawn().unwrap();
    let mut pump = unread(child);
    push(&watched, A).await;
    let ours = tokio::task::spawn_blocking(move || {
        let mut first = [0; 8];
        (&ours).read_exact(&mut first).unwrap();
        assert_eq!(&first, b"{\"ts\":\"2");
        ours
    });
    let ours = ours.await.unwrap();
    assert!(pump.child.try_wait().unwrap().is_none());
    drop(ours);
    assert_eq!(pump.ended().await, Some(0));
    assert!(server.received().iter().any(|one| one.method == "DELETE"));
}

#[tokio::test]
async fn a15_a_pipe_that_does_not_wait_loses_nothing_and_splits_nothing() {
    let (watched, _server, url) = serve(Habits::LEGACY);
    // Whoever shares the pipe has set it so: a write to a full one fails where it would wait.
    let (sender, receiver) = tokio::net::unix::pipe::pipe().unwrap();
    let out = sender.into_nonblocking_fd().unwrap();
    let child = command().args([&url, A]).stdout(out).stderr(Stdio::null()).spawn().unwrap();
    let mut pump = unread(child);
    let pushed = fill(&watched).await;
    let mut from = std::fs::File::from(receiver.into_blocking_fd().unwrap());
    let reader = std::thread::spawn(move || {
        let (mut all, mut piece) = (Vec::new(), [0; 4096]);
        while all.iter().filter(|byte| **byte == b'\n').count() < pushed {
            let read = from.read(&mut piece).unwrap();
            assert!(read > 0, "it ended after {} bytes", all.len());
            all.extend_from_slice(&piece[..read]);
        }
        all
    });
    let all = tokio::task::spawn_blocking(move || reader.join().unwrap()).await.unwrap();
    assert_eq!(updates(&all), pushed);
    pump.signal("-TERM");
    assert_eq!(pump.ended().await, Some(0));
}

#[tokio::test]
async fn a53_a_pipe_that_nobody_reads_does_not_keep_it_from_ending() {
    let (watched, server, url) = serve(Habits::LEGACY);
    let mut child = command().args([&url, A]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut pump = unread(child);
    let pushed = fill(&watched).await;
    pump.signal("-TERM");
    assert_eq!(pump.ended().await, Some(0));
    assert!(server.received().iter().any(|one| one.method == "DELETE"));
    let mut all = Vec::new();
    out.read_to_end(&mut all).unwrap();
    assert!((1..=pushed).contains(&updates(&all)), "what fitted is whole");
}

#[tokio::test]
async fn a54_killed_it_leaves_nothing_that_disturbs_the_next() {
    let (watched, server, url) = serve(Habits::LEGACY);
    let mut first = Pump::start(&[&url, A]);
    first.until("subscribed").await;
    first.signal("-KILL");
    assert_eq!(first.ended().await, None);
    let mut second = Pump::start(&[&url, A]);
    second.until("subscribed").await;
    let end = Instant::now() + LONG;
    while watched.streams() > 1 {
        assert!(Instant::now() < end, "the stream of the first is still open");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    watched.push(A);
    assert_eq!(second.result().await["uri"], A);
    assert!(server.received().iter().all(|one| one.method != "DELETE"), "it had no time for a good-bye");
}

#[tokio::test]
async fn a11_a_user_in_the_url_is_in_no_line_whatever_goes_wrong() {
    let gone = {
        let (_watched, _server, url) = serve(Habits::LEGACY);
        url
    };
    for url in [gone.replace("http://", "http://me:s3cret@"), "http://me:s3cret@name.invalid/mcp".to_owned()] {
        let mut pump = Pump::start(&[&url, A]);
        let said = format!("{:?}", pump.until("error").await);
        assert!(!said.contains("s3cret") && !said.contains("me:"), "{said}");
    }
}

#[tokio::test]
async fn a15_a_line_longer_than_a_pipe_takes_at_once_is_whole() {
    let long = format!("board://{}", "x".repeat(100_000));
    let watched = Watched::new(Habits::LEGACY, &[&long]);
    let server = watched.serve(0, World::new(0.5)).unwrap();
    let mut pump = Pump::start(&[&server.url("/mcp"), &long]);
    pump.until("subscribed").await;
    for _ in 0..5 {
        watched.push(&long);
        assert_eq!(pump.result().await["uri"], long);
    }
}
