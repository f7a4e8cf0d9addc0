//! `kill -9` of the runner at random moments, while companies appear: every company has exactly one issue, except those
//! whose run the ledger names as unsure, each of which was sending when the kill came; and what a person says of those
//! is done. `LF_KILLS` says how often (CI 30, the long form 200).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;
use lf_harness::{Reply, Server};
use lf_lang::run::{
    Entry, Request,
    entry::{Intent, Sending},
};
use listen_fire::{
    demo::{self, Systems, TOKEN},
    store::{
        Filter, Ledger as _, Run, RunId, State,
        sqlite::{Durability, SqliteStore},
    },
};

use crate::cli::{
    mcp,
    place::{self, Mortal},
};

/// Companies that appear between two kills.
const BETWEEN: usize = 10;
/// How long the last runner may take to deal with all that is left.
const PATIENCE: Duration = Duration::from_secs(240);

fn kills() -> usize {
    std::env::var("LF_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(4)
}

/// A xorshift: the moments differ from run to run of the test and can be repeated with `LF_SEED`.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A runner from its start to its end by `kill -9`.
#[derive(Debug)]
struct Life {
    from: Timestamp,
    to: Timestamp,
}

fn kill(child: Mortal, from: Timestamp) -> Life {
    drop(child);
    Life { from, to: Timestamp::now() }
}

fn command(project: &Path, systems: &Systems) -> Command {
    let acme = format!(r#"{{"kind":"api","url":"{}","client":"kill test"}}"#, systems.crm_url());
    let linear = format!(r#"{{"kind":"mcp_token","url":"{}","token":"{TOKEN}"}}"#, systems.tracker_url());
    let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
    command
        .current_dir(project)
        .env("LISTEN_FIRE_CREDENTIAL_ACME", acme)
        .env("LISTEN_FIRE_CREDENTIAL_LINEAR", linear)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    command
}

fn runner(project: &Path, systems: &Systems) -> Mortal {
    Mortal(command(project, systems).args(["run", "--quiet"]).spawn().unwrap())
}

async fn journal(project: &Path, run: RunId) -> Vec<Entry> {
    let store = SqliteStore::open(&project.join(".listen-fire/state.db"), Durability::Full).await.unwrap();
    store.show(run).await.unwrap().unwrap().1
}

/// The write that a run was sending when its runner was killed: its journal ends in the intent, which lies within one
/// life, whose end came before the time of the write was over.
#[track_caller]
fn in_flight<'j>(entries: &'j [Entry], lives: &[Life]) -> &'j Intent {
    let Some(Entry::Intent(intent)) = entries.last() else { panic!("the journal ends in no intent: {entries:?}") };
    let Request::Write(_) = intent.request else { panic!("the intent is no write: {intent:?}") };
    let began = lives.iter().find(|life| life.from <= intent.at && intent.at <= life.to);
    let Some(life) = began else { panic!("no life of a runner holds it: {intent:?}") };
    assert!(life.to < intent.until, "the write was over before the kill: {intent:?}, {life:?}");
    intent
}

fn name(run: &Run) -> &str {
    run.record.get("Name").and_then(|name| name.as_text()).unwrap()
}

fn issues(systems: &Systems) -> BTreeMap<String, usize> {
    let mut issues: BTreeMap<String, usize> = BTreeMap::new();
    for issue in systems.tracker.issues() {
        *issues.entry(issue.title).or_default() += 1;
    }
    issues
}

async fn runs(project: &Path, states: &[State]) -> Vec<Run> {
    let store = SqliteStore::open(&project.join(".listen-fire/state.db"), Durability::Full).await.unwrap();
    let filter = Filter { states: states.to_vec(), limit: 100_000, ..Filter::default() };
    store.list(&filter).await.unwrap()
}

/// Waits until the store shows `enough`; the child must live meanwhile.
async fn until(what: &str, child: &mut Mortal, mut enough: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !enough().await {
        assert!(child.0.try_wait().unwrap().is_none(), "the runner ended before {what}");
        assert!(Instant::now() < end, "{what} did not come within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_every_company_has_one_issue_or_a_named_doubt() {
    let seed = std::env::var("LF_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| u64::from(std::process::id()));
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let systems = Systems::start().await.unwrap();
    let project = tempfile::tempdir().unwrap();
    demo::write_project(project.path()).unwrap();
    // A write whose answer never came has none: what comes after it must not ask for one.
    let movement = project.path().join("movements/triage.mvt");
    let text = std::fs::read_to_string(&movement).unwrap();
    std::fs::write(&movement, text.replace("; ${issue.text}", "")).unwrap();
    let (mut companies, mut lives) = (Vec::new(), Vec::new());

    // The first runner takes the baseline of an empty CRM; what appears later fires.
    let mut first = runner(project.path(), &systems);
    until("the baseline", &mut first, async || {
        let store = SqliteStore::open(&project.path().join(".listen-fire/state.db"), Durability::Full).await;
        let Ok(store) = store else { return false };
        baseline_is_done(&store).await
    })
    .await;
    drop(first);

    for round in 0..kills() {
        let from = Timestamp::now();
        let child = runner(project.path(), &systems);
        let pause = dice.below(1500);
        for number in 0..BETWEEN {
            let name = format!("Company {round:04}-{number:02}.");
            systems.crm.add(&name);
            companies.push(name);
            tokio::time::sleep(Duration::from_millis(pause / BETWEEN as u64)).await;
        }
        tokio::time::sleep(Duration::from_millis(dice.below(300))).await;
        lives.push(kill(child, from));
    }

    let mut last = runner(project.path(), &systems);
    let open = [State::Ready, State::Running, State::Retry];
    until("the end of all runs", &mut last, async || {
        let done = runs(project.path(), &[State::Done, State::Unsure]).await;
        done.len() >= companies.len() && runs(project.path(), &open).await.is_empty()
    })
    .await;

    let unsure = runs(project.path(), &[State::Unsure]).await;
    let doubtful: BTreeSet<&str> = unsure.iter().map(name).collect();
    let before = issues(&systems);
    let count = |issues: &BTreeMap<String, usize>, name: &str| {
        issues.get(&format!("Follow up {name}")).copied().unwrap_or_default()
    };
    for name in &companies {
        let count = count(&before, name);
        let doubtful = doubtful.contains(name.as_str());
        assert!(count == 1 || doubtful, "seed {seed}: {name} has {count} issues and its run is not unsure");
        assert!(count <= 1, "seed {seed}: {name} has {count} issues");
    }
    let known: BTreeSet<String> = companies.iter().map(|name| format!("Follow up {name}")).collect();
    let others: Vec<_> = before.keys().filter(|title| !known.contains(*title)).collect();
    assert!(others.is_empty(), "seed {seed}: issues for what nobody added: {others:?}");
    assert!(runs(project.path(), &[State::Dead, State::Held]).await.is_empty(), "seed {seed}: dead or held runs");
    for run in &unsure {
        let entries = journal(project.path(), run.id).await;
        let intent = in_flight(&entries, &lives);
        let Sending::Create { fields, .. } = &intent.sending else { panic!("seed {seed}: {intent:?}") };
        let title = fields.get("title").and_then(|title| title.as_text());
        assert_eq!(title, Some(format!("Follow up {}", name(run)).as_str()), "seed {seed}");
    }

    // What a person says of them is done, whatever it is.
    for (number, run) in unsure.iter().enumerate() {
        let word = if number % 2 == 0 { "--done" } else { "--again" };
        let settle = ["runs", "settle", &run.id.to_string(), word];
        assert!(command(project.path(), &systems).args(settle).status().unwrap().success(), "seed {seed}");
    }
    until("the end of what was settled", &mut last, async || {
        runs(project.path(), &[State::Done]).await.iter().filter(|run| doubtful.contains(name(run))).count()
            == unsure.len()
    })
    .await;
    drop(last);
    let after = issues(&systems);
    for (number, run) in unsure.iter().enumerate() {
        let sent = count(&after, name(run)) - count(&before, name(run));
        assert_eq!(sent, number % 2, "seed {seed}: sent after it was settled: {}", name(run));
    }
    eprintln!("{} kills, {} companies, {} unsure", kills(), companies.len(), unsure.len());
}

/// How often an issue with this title was asked for.
fn asked_for(server: &Server, title: &str) -> usize {
    let is_it = |body: serde_json::Value| body["params"]["arguments"]["title"] == title;
    server.received().iter().filter(|received| is_it(received.json())).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubt_goes_on_as_a_person_says() {
    let systems = Systems::start().await.unwrap();
    let mute = Arc::new(AtomicBool::new(true));
    let muted = mute.clone();
    let (place, server) = mcp::place(&systems, move |received| {
        let create = received.json()["params"]["name"] == "create_issue";
        if create && muted.load(Ordering::SeqCst) { Reply::silence() } else { mcp::offer().reply(received) }
    });
    place.change("movements/triage.mvt", "; ${issue.text}", "");
    systems.crm.add("Done");
    systems.crm.add("Again");
    let from = Timestamp::now();
    let running = place.start(["run"]);
    place::until("both are sent", || {
        ["Follow up Done", "Follow up Again"].iter().all(|title| asked_for(&server, title) == 1)
    });
    running.end("KILL");
    let life = Life { from, to: Timestamp::now() };
    mute.store(false, Ordering::SeqCst);

    let running = place.start(["run"]);
    let list = |state: &str| {
        let listed = place.run(["--json", "runs", "list", "--state", state]).out;
        listed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).collect::<Vec<_>>()
    };
    place::until("both are unsure", || list("unsure").len() == 2);
    let unsure = runs(place.path(), &[State::Unsure]).await;
    for run in &unsure {
        in_flight(&journal(place.path(), run.id).await, std::slice::from_ref(&life));
        let word = if name(run) == "Done" { "--done" } else { "--again" };
        place.run(["runs", "settle", &run.id.to_string(), word]).code(0).shows("ready");
    }
    let companies = || systems.crm.companies().len();
    place::until("both went on to their second write", || companies() == 4);
    place::until("both are done", || list("done").len() >= 2);
    for run in &unsure {
        let said = if name(run) == "Done" { "was done" } else { "was not done" };
        place.run(["runs", "show", &run.id.to_string()]).code(0).shows(said).shows("a person saw it");
    }
    running.end("TERM").code(0);
    assert_eq!(asked_for(&server, "Follow up Done"), 1, "what was done is not sent again");
    assert_eq!(asked_for(&server, "Follow up Again"), 2, "what was not done is sent once more");
}

async fn baseline_is_done(store: &SqliteStore) -> bool {
    use listen_fire::store::Inbox as _;
    for listen in store.listens().await.unwrap_or_default() {
        if store.position(&listen).await.unwrap_or_default().is_some_and(|position| position.baseline_done) {
            return true;
        }
    }
    false
}
