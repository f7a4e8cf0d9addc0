//! A process that writes is killed at random moments, again and again, over one file: the store opens each time, and
//! everything that was acknowledged is there.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use lf_lang::run::Entry;
use listen_fire::store::{
    Claimed, Filter, Inbox as _, Ledger as _, Release, Room, RunId, Runs as _, State,
    sqlite::{Durability, SqliteStore},
};
use rand::RngExt as _;

use crate::store_sample::*;

/// Names the file in the process that writes.
const FILE: &str = "LISTEN_FIRE_TEST_CRASH_STORE";
const ROUNDS: u32 = 25;

/// What the writing process was told, one line each.
#[derive(Debug, Default)]
struct Acknowledged {
    taken: BTreeSet<String>,
    noted: Vec<(RunId, String)>,
    done: Vec<RunId>,
}

/// One line in one write, so that a kill cannot tear it in the middle of others.
fn say(line: &str) {
    std::io::stdout().lock().write_all(format!("\n@{line}\n").as_bytes()).unwrap();
}

/// Does nothing unless [`FILE`] is set: then it writes until it is killed.
#[test]
fn writer_process() {
    let Ok(path) = std::env::var(FILE) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(Path::new(&path), Durability::Full).await.unwrap());
        let takers = (0..4).map(|taker| tokio::spawn(take_in_for_ever(store.clone(), taker)));
        let takers: Vec<_> = takers.collect();
        run_for_ever(store).await;
        drop(takers);
    });
}

async fn take_in_for_ever(store: Arc<SqliteStore>, taker: u32) {
    for number in 0_u64.. {
        let delivery = |n: u64| format!("{}-{taker}-{number}-{n}", std::process::id());
        let runs = (0..3).map(|n| change("l", &format!("k{}", (number + n) % 50), &delivery(n)));
        let batch = batch(runs);
        store.take_in("l", batch, Timestamp::now()).await.unwrap();
        for n in 0..3 {
            say(&format!("taken {}", delivery(n)));
        }
        while store.open("l").await.unwrap() > 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn run_for_ever(store: Arc<SqliteStore>) {
    let owner = std::process::id().to_string();
    let room = Room { listens: [("l".into(), 16)].into(), total: 16 };
    loop {
        // A lease that is over soon: the next process takes over what this one had.
        let claimed = store.claim(&owner, &room, Timestamp::now(), Duration::from_secs(1)).await.unwrap();
        if claimed.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        futures::future::join_all(claimed.into_iter().map(|claim| run(&store, claim))).await;
    }
}

async fn run(store: &SqliteStore, claim: Claimed) {
    let id = claim.run.id;
    let text = format!("{}-{}", std::process::id(), claim.fence.0);
    // A claim whose second ran out is taken over by the next loop of this very process: then there is no answer.
    if store.append(id, claim.fence, vec![note(&text)], Vec::new()).await.is_err() {
        return;
    }
    say(&format!("noted {id} {text}"));
    let end = Release::End { state: State::Done, reason: None, entries: Vec::new() };
    if store.release(id, claim.fence, end, Timestamp::now()).await.is_ok() {
        say(&format!("done {id}"));
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let mut told = Acknowledged::default();
    for round in 0..ROUNDS {
        let lines = rand::rng().random_range(1..400);
        write_until_killed(&path, lines, &mut told);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(&path, &told, round));
    }
    assert!(told.done.len() > 100, "too little was done to show anything: {}", told.done.len());
}

/// Kills the process directly after it said so many lines; then reads what it had said besides.
fn write_until_killed(path: &Path, lines: usize, told: &mut Acknowledged) {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store_crash::writer_process", "--nocapture"])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = 0;
    for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["@taken", delivery] => {
                told.taken.insert(delivery.to_owned());
            }
            ["@noted", run, text] => told.noted.push((RunId(run.parse().unwrap()), text.to_owned())),
            ["@done", run] => told.done.push(RunId(run.parse().unwrap())),
            _ => continue,
        }
        said += 1;
        if said == lines {
            writer.kill().unwrap();
        }
    }
    writer.wait().unwrap();
    assert!(said >= lines, "the writing process ended by itself after {said} lines");
}

async fn check(path: &Path, told: &Acknowledged, round: u32) {
    let store = SqliteStore::open(path, Durability::Full).await.unwrap();
    let runs = store.list(&Filter::default()).await.unwrap();
    let deliveries: BTreeSet<&str> = runs.iter().map(|run| run.delivery.as_str()).collect();
    assert_eq!(deliveries.len(), runs.len(), "round {round}: a delivery was taken in twice");
    for delivery in &told.taken {
        assert!(deliveries.contains(delivery.as_str()), "round {round}: {delivery} is lost");
    }
    let done: BTreeSet<RunId> = runs.iter().filter(|run| run.state == State::Done).map(|run| run.id).collect();
    for run in &told.done {
        assert!(done.contains(run), "round {round}: the end of {run} is lost");
    }
    // Journals only of what this round may have touched: all of them would be read again each time.
    for (run, text) in told.noted.iter().rev().take(300) {
        let entries = store.show(*run).await.unwrap().unwrap().1;
        let is_it = |entry: &Entry| matches!(entry, Entry::Attempt { why, .. } if why == text);
        assert!(entries.iter().any(is_it), "round {round}: an entry of {run} is lost");
    }
}
