//! The crash matrix: one undisturbed day counts the durable changes; then the same day once for each side of each of
//! them, with the host killed there and started again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lf_lang::run::Entry;
use lf_module::{Record, Value, Write};
use libtest_mimic::{Failed, Trial};
use listen_fire::{
    host::{Limits, Options},
    store::{
        Ledger as _, Run, State,
        memory::{Faultless, Faults, MemoryStore, Step, Verdict, When},
    },
};

use crate::{
    life::{Living, Setting, live, runs},
    program,
    world::{Done, Weather, World, dawn},
};

pub(crate) const TRIAGE: &str = r#"
crm = connect #crm
tracker = connect #tracker

function triage(company: <crm-[:Company]->>) {
  issue = write tracker-[:issue]-> { title: "Follow up ${company.Name}" }
  tracker-[r:search WHERE r.query == company.Name]-> {
    write crm-[:Note]-> {
      unique by (Topic)
      Topic: company.Name
      Text: "${r.count} open; ${issue.text}"
    }
  }
  write company { Status: "seen" }
}

listen to crm-[:Company]-> { every: 5s } fire triage
"#;

/// The same, parked in every way on its way.
const WAITING: &str = r#"
crm = connect #crm
tracker = connect #tracker

function triage(company: <crm-[:Company]->>) {
  issue = write tracker-[:issue]-> { title: "Follow up ${company.Name}" } else (why) {
    ERROR(why.text)
  }
  await sleep(2s)
  counts = await parallel([
    () => {
      await sleep(1s)
      return 0
    },
    () => search(company.Name),
  ])
  shown = await race([
    () => {
      await FIRST(crm-[n:Note WHERE n.Topic == "nobody writes this"]->, 9s)
      return false
    },
    () => {
      there = await until(search(company.Name) > 0, every: 2s, most: 1m)
      return there
    },
  ])
  if NOT shown { ERROR("the issue is not to be found") }
  write crm-[:Note]-> {
    unique by (Topic)
    Topic: company.Name
    Text: "${SUM(counts)} open; ${issue.text}"
  }
  write company { Status: "seen" }
}

function search(name: <text>): <number> {
  found = tracker-[r:search WHERE r.query == name]->
  return found.count
}

listen to crm-[:Company]-> { every: 5s } fire triage
"#;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("matrix::a_host_killed_at_any_durable_change_sends_nothing_twice", || matrix(TRIAGE)),
        Trial::test("matrix::a_host_killed_while_runs_are_parked_goes_on_where_they_were", || matrix(WAITING)),
    ]
}

/// Kills the host at one point.
#[derive(Debug)]
struct KillAt {
    passed: AtomicUsize,
    at: usize,
}

impl KillAt {
    fn new(at: usize) -> Arc<Self> {
        Arc::new(Self { passed: AtomicUsize::new(0), at })
    }
}

impl Faults for KillAt {
    fn at(&self, step: Step, _: When) -> Verdict {
        match step {
            // Not of the day: whoever acts for people and the harness.
            Step::Renew | Step::Fact | Step::Order | Step::Credential | Step::Upkeep | Step::DropListen => {
                Verdict::Continue
            }
            Step::TakeIn | Step::Claim | Step::Append | Step::Release | Step::Expect | Step::Identity => {
                if self.passed.fetch_add(1, Ordering::Relaxed) == self.at { Verdict::Crash } else { Verdict::Continue }
            }
        }
    }
}

/// What a day came to.
struct Day {
    done: Vec<Done>,
    runs: Vec<Run>,
    journals: BTreeMap<i64, Vec<Entry>>,
    points: usize,
}

fn day(text: &str, kill_at: usize) -> Day {
    let faults = KillAt::new(kill_at);
    let world = World::new(7);
    // A fixed pace, so that every day is the same until the kill.
    world.set_weather(Weather { delay: Duration::from_millis(200), ..Weather::default() });
    let mut setting = Setting {
        plan: Arc::new(program::plan(text)),
        world: world.clone(),
        store: MemoryStore::new(faults.clone()),
        from: dawn(),
        options: Options::default(),
        limits: Limits::default(),
        told: false,
    };
    let script = async |living: &mut Living| {
        for (second, name) in [(6, "Acme"), (7, "Birch"), (13, "Cedar")] {
            let at = dawn().checked_add(Duration::from_secs(second)).unwrap();
            if at >= living.now() {
                living.until(at).await;
                let fields = Record::from_iter([("Name", Value::text(name))]);
                living.setting.world.person_creates(at, "Company", &fields);
            }
        }
        living.until(dawn().checked_add(Duration::from_secs(30)).unwrap()).await;
        living.quiet().await;
    };
    let (gave, end) = live(&setting, None, script);
    if gave.is_none() {
        setting.from = end;
        setting.store = setting.store.reopen(Arc::new(Faultless));
        let (gave, _) = live(&setting, None, script);
        gave.expect("nothing kills the second life");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = setting.store.reopen(Arc::new(Faultless));
    let (runs, journals) = runtime.block_on(async {
        let all = runs(&store, &[]).await;
        let mut journals = BTreeMap::new();
        for run in &all {
            journals.insert(run.id.0, store.show(run.id).await.unwrap().unwrap().1);
        }
        (all, journals)
    });
    Day { done: world.done(), runs, journals, points: faults.passed.load(Ordering::Relaxed) }
}

/// What was written about one company, in order.
fn written(day: &Day, key: &str, name: &str) -> Vec<String> {
    day.done
        .iter()
        .filter_map(|done| match &done.write {
            Write::Create { ty, origin: _, fields } => {
                let named = fields.iter().any(|(_, value)| value.as_text().is_some_and(|text| text.contains(name)));
                named.then(|| format!("create {ty}"))
            }
            Write::Update { ty, key: of, fields: _ } if ty == "Company" => {
                (of.0 == key).then(|| format!("update {ty}"))
            }
            Write::Update { ty, key: of, fields: _ } => Some(format!("update {ty} {of}")),
            Write::Delete { ty, key: of } => Some(format!("delete {ty} {of}")),
            Write::Link(tie) | Write::Unlink(tie) => Some(format!("tie {} {}", tie.ty, tie.key)),
        })
        .collect()
}

fn matrix(text: &str) -> Result<(), Failed> {
    let undisturbed = day(text, usize::MAX);
    let points = undisturbed.points;
    assert!(points > 20, "the day has only {points} durable changes");
    for run in &undisturbed.runs {
        assert!(matches!(run.state, State::Done | State::Skipped), "undisturbed: {run:#?}");
    }
    let (mut all_done, mut unsure) = (0, 0);
    for kill_at in 0..points {
        let day = day(text, kill_at);
        let fired: Vec<&Run> = day.runs.iter().filter(|run| run.state != State::Skipped).collect();
        assert_eq!(fired.len(), 3, "killed at {kill_at} of {points}: a change was lost or ran twice: {:#?}", day.runs);
        for run in fired {
            let name = run.record.get("Name").and_then(Value::as_text).unwrap().to_owned();
            let mut wrote = written(&day, &run.key.0, &name);
            // An update whose answer was lost is sent again: it says the same.
            wrote.dedup_by(|later, earlier| later == earlier && later.starts_with("update"));
            let wanted = ["create issue", "create Note", "update Company"];
            match run.state {
                State::Done => {
                    assert_eq!(wrote, wanted, "killed at {kill_at} of {points}: run {} for {name}", run.id);
                    all_done += 1;
                }
                State::Unsure => {
                    // Only the create that the tracker cannot recognise may be unsure, and it stays where it was.
                    assert!(
                        wrote.is_empty() || wrote == wanted[..1],
                        "killed at {kill_at} of {points}: unsure run {} for {name} went on: {wrote:?}",
                        run.id
                    );
                    let journal = &day.journals[&run.id.0];
                    assert!(
                        matches!(journal.last(), Some(Entry::Intent(_))),
                        "killed at {kill_at} of {points}: the write in flight is not the last entry: {journal:#?}"
                    );
                    unsure += 1;
                }
                State::Ready
                | State::Running
                | State::Retry
                | State::Waiting
                | State::Dead
                | State::Held
                | State::Skipped
                | State::Cancelled => {
                    return Err(format!("killed at {kill_at} of {points}: {run:#?}").into());
                }
            }
        }
    }
    assert!(unsure > 0, "no kill met a write in flight, so the matrix shows nothing");
    assert!(all_done > unsure, "{unsure} unsure and only {all_done} done");
    Ok(())
}
