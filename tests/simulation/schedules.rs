//! Random days: people, weather and deaths by seed; afterwards what the outside saw is compared with R1 to R6 and R12.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use lf_lang::run::Entry;
use lf_module::{Key, Random as _, Record, Value, Write, call::ChangeKind, json};
use libtest_mimic::{Failed, Trial};
use listen_fire::{
    host::{Limits, Options, clock::Seeded},
    store::{
        Inbox as _, Ledger as _, Run, State, StoreError,
        memory::{Faultless, Faults, MemoryStore, Step, Verdict, When},
    },
};

use crate::{
    life::{Living, Setting, live, runs},
    program,
    world::{Weather, World, dawn},
};

/// Two functions on one type: what one writes must not fire it again, and both must keep their order. Two companies may
/// share a name, so that two runs race for one note.
const PROGRAM: &str = r#"
crm = connect #crm
tracker = connect #tracker

function triage(company: <crm-[:Company]->>) {
  issue = write tracker-[:issue]-> { title: "${company.id}/${TEXT(company.Changes)} ${company.Name}" }
  write crm-[:Note]-> {
    unique by (Topic)
    Topic: company.Name
    Text: issue.text
  }
  write company { Status: "seen" }
}

listen to crm-[:Company]-> { every: 5s, concurrency: 3, retry: 4 } fire triage
"#;

/// The same with every kind of wait on the way, and a way for each refusal.
const WAITING: &str = r#"
crm = connect #crm
tracker = connect #tracker

function triage(company: <crm-[:Company]->>) {
  await sleep(7s)
  issue = write tracker-[:issue]-> { title: "${company.id}/${TEXT(company.Changes)} ${company.Name}" } else (why) {
    ERROR(why.text)
  }
  texts = await parallel([
    () => {
      await sleep(3s)
      return issue.text
    },
    () => renamed(company),
  ])
  first = await race([
    () => {
      await sleep(9s)
      return "slept"
    },
    () => {
      there = await until(search(company.Name) > 0, every: 2s, most: 20s)
      return IF there THEN "found" ELSE "not found" END
    },
    () => renamed(company),
  ])
  write crm-[:Note]-> {
    unique by (Topic)
    Topic: company.Name
    Text: "${JOIN(texts, ", ")}: ${first}"
  } else (why) {
    write tracker-[:issue]-> { title: "refused: ${why.text}" } else (_why) { }
  }
  write company { Status: "seen" }
}

function renamed(company: <crm-[:Company]->>): <text> {
  other = await FIRST(crm-[c:Company WHERE c.id == company.id AND c.Name != company.Name]->, 25s)
  if other == null { return "kept its name" }
  return other.Name
}

function search(name: <text>): <number> {
  found = tracker-[r:search WHERE r.query == name]->
  return found.count
}

listen to crm-[:Company]-> { every: 5s, concurrency: 3, retry: 4, debounce: 4s } fire triage
"#;

pub(crate) fn trials() -> Vec<Trial> {
    [("schedules", PROGRAM), ("schedules::waiting", WAITING)]
        .into_iter()
        .flat_map(|(name, text)| many(name, text))
        .collect()
}

fn many(name: &'static str, text: &'static str) -> Vec<Trial> {
    let one = std::env::var("LF_SIM_SEED").ok().map(|seed| seed.parse::<u64>().expect("LF_SIM_SEED is a number"));
    let many = std::env::var("LF_SIM_SEEDS").map_or(200, |many| many.parse().expect("LF_SIM_SEEDS is a number"));
    let seeds: Vec<u64> = one.map_or_else(|| (0..many).collect(), |seed| vec![seed]);
    // In tenths, so that cores share them.
    let share = seeds.len().div_ceil(10).max(1);
    seeds
        .chunks(share)
        .enumerate()
        .map(|(index, seeds)| {
            let seeds = seeds.to_vec();
            Trial::test(format!("{name}::{index}"), move || {
                let mut ends: BTreeSet<State> = BTreeSet::new();
                let all = seeds.len();
                for seed in seeds {
                    let went = std::panic::catch_unwind(|| day(text, seed));
                    let why = match went {
                        Ok(Ok(states)) => {
                            ends.extend(states);
                            continue;
                        }
                        Ok(Err(why)) => why,
                        Err(panic) => panic
                            .downcast_ref::<String>()
                            .cloned()
                            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                            .unwrap_or_else(|| "a panic".to_owned()),
                    };
                    let again = format!("LF_SIM_SEED={seed} cargo test -p listen-fire --test simulation {name}");
                    return Err(Failed::from(format!("seed {seed}: {why}\nrepeat it with: {again}")));
                }
                let rough = ends.contains(&State::Dead) || ends.contains(&State::Unsure);
                // Days on which nothing goes wrong would show nothing.
                if all >= 20 && !(rough && ends.contains(&State::Done) && ends.contains(&State::Skipped)) {
                    return Err(format!("{all} days ended only as {ends:?}: too quiet to show anything").into());
                }
                Ok(())
            })
        })
        .collect()
}

/// Lets the store be away now and then, and kills the host at one of its durable changes.
#[derive(Debug)]
pub(crate) struct Chance {
    pub(crate) seeded: Seeded,
    /// In thousandths.
    pub(crate) away: u64,
    pub(crate) kill_in: AtomicU64,
}

impl Faults for Chance {
    fn at(&self, step: Step, when: When) -> Verdict {
        if matches!(step, Step::Fact | Step::Order | Step::Credential | Step::Upkeep | Step::DropListen) {
            return Verdict::Continue;
        }
        let left = self.kill_in.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1)));
        if left == Ok(1) {
            return Verdict::Crash;
        }
        if when == When::Before && self.seeded.bits() % 1000 < self.away {
            return Verdict::Fail(StoreError::Away("the disk is full".to_owned()));
        }
        Verdict::Continue
    }
}

/// How its runs ended.
fn day(text: &str, seed: u64) -> Result<BTreeSet<State>, String> {
    let world = World::new(seed);
    let dice = Seeded::new(seed ^ 0x5EED);
    let pick = |most: u64| dice.bits() % most;
    let rough = pick(4) > 0;
    let weather = Weather {
        refuse: if rough { pick(30) } else { 0 },
        away: if rough { pick(120) } else { 0 },
        lose_request: if rough { pick(40) } else { 0 },
        lose_answer: if rough { pick(60) } else { 0 },
        delay: Duration::from_millis(pick(6000)),
    };
    world.set_weather(weather);
    let mut setting = Setting {
        plan: Arc::new(program::plan(text)),
        world: world.clone(),
        store: MemoryStore::default(),
        from: dawn(),
        options: Options { concurrency: 1 + u32::try_from(pick(6)).unwrap(), ..Options::default() },
        limits: Limits::default(),
        told: false,
    };
    // The first look: what is there from before does not fire.
    let baseline = world.person_creates(dawn(), "Company", &named("Old"));
    let (ready, end) = live(&setting, None, async |living: &mut Living| {
        living.until(dawn().checked_add(Duration::from_secs(20)).unwrap()).await;
    });
    ready.ok_or("the first life ended by itself")?;
    setting.from = end;

    let mut schedule = people(&dice, end);
    let mut switched = Vec::new();
    let deaths = pick(4);
    for _ in 0..deaths {
        let faults = Chance {
            seeded: Seeded::new(dice.bits()),
            away: if rough { dice.bits() % 50 } else { 0 },
            kill_in: AtomicU64::new(if dice.bits().is_multiple_of(2) { 1 + dice.bits() % 120 } else { u64::MAX }),
        };
        setting.store = setting.store.reopen(Arc::new(faults));
        let most = Duration::from_secs_f64(90.0 * dice.unit());
        let (_, end) = live(&setting, Some(most), async |living: &mut Living| {
            act(living, &mut schedule, &mut switched).await;
            living.quiet().await;
        });
        setting.from = end;
    }
    // The weather clears, and everything that was taken in comes to its end.
    setting.store = setting.store.reopen(Arc::new(Faultless));
    let (quiet, _) = live(&setting, None, async |living: &mut Living| {
        act(living, &mut schedule, &mut switched).await;
        living.setting.world.set_weather(Weather { delay: weather.delay, ..Weather::default() });
        living.quiet().await;
    });
    quiet.ok_or("the last life never came to rest")?;
    judge(&setting, &baseline, &switched)
}

fn named(name: &str) -> Record {
    Record::from_iter([("Name", Value::text(name))])
}

/// What people do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    Create(String),
    /// One of those that are there.
    Rename(u64, String),
    /// The listen.
    Switch {
        off: bool,
    },
}

/// When its listen was switched, and which way.
type Switched = Vec<(Timestamp, bool)>;

/// What people do, in order of time.
fn people(dice: &Seeded, from: Timestamp) -> Vec<(Timestamp, Deed)> {
    let names = ["Acme", "Birch", "Cedar", "Dale", "Acme"];
    let mut acts: Vec<(Timestamp, Deed)> = (0..3 + dice.bits() % 8)
        .map(|_| {
            let at = from.checked_add(Duration::from_secs(dice.bits() % 120)).unwrap();
            let name = names[usize::try_from(dice.bits() % 5).unwrap()].to_owned();
            let deed = if dice.bits().is_multiple_of(3) { Deed::Rename(dice.bits(), name) } else { Deed::Create(name) };
            (at, deed)
        })
        .collect();
    if dice.bits().is_multiple_of(2) {
        let off = from.checked_add(Duration::from_secs(dice.bits() % 90)).unwrap();
        acts.push((off, Deed::Switch { off: true }));
        let on = off.checked_add(Duration::from_secs(1 + dice.bits() % 60)).unwrap();
        acts.push((on, Deed::Switch { off: false }));
    }
    acts.sort();
    acts
}

/// Does what people do, as long as the host lives; what they did is done.
async fn act(living: &mut Living, schedule: &mut Vec<(Timestamp, Deed)>, switched: &mut Switched) {
    while let Some((at, deed)) = schedule.first().cloned() {
        living.until(at).await;
        schedule.remove(0);
        let (world, now) = (&living.setting.world, living.now());
        let known: Vec<Key> = world.records("crm", "Company").into_keys().collect();
        match deed {
            Deed::Rename(of, name) if !known.is_empty() => {
                let key = &known[usize::try_from(of % known.len() as u64).unwrap()];
                world.person_updates(now, "Company", key, &named(&name));
            }
            Deed::Rename(_, name) | Deed::Create(name) => drop(world.person_creates(now, "Company", &named(&name))),
            Deed::Switch { off } => {
                switched.push((now, off));
                let listen = &living.setting.plan.listens[0].name;
                assert!(living.setting.store.switch(listen, off, now).await.unwrap());
            }
        }
    }
}

fn judge(setting: &Setting, baseline: &Key, switched: &Switched) -> Result<BTreeSet<State>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (all, journals) = runtime.block_on(async {
        let all = runs(&setting.store, &[]).await;
        let mut journals = BTreeMap::new();
        for run in &all {
            journals.insert(run.id, setting.store.show(run.id).await.unwrap().unwrap().1);
        }
        (all, journals)
    });
    let world = &setting.world;
    let done = world.done();

    // R1, R2: every company that people made fired once as created; the baseline never did.
    let companies = world.records("crm", "Company");
    for key in companies.keys() {
        let created = all.iter().filter(|run| run.key == *key && run.kind == ChangeKind::Created).count();
        let wanted = usize::from(key != baseline);
        if created != wanted {
            return Err(format!("company {key} fired {created} times as created, not {wanted}"));
        }
        // The last state that people left was seen: no run is about an older name than the newest run's.
        let name = companies[key].get("Name");
        // Changes that were gathered belong to the run that the first of them began, so the newest run is not always the
        // one that saw the newest state.
        let last = all.iter().filter(|run| run.key == *key).max_by_key(|run| changes(run));
        if let Some(last) = last
            && last.record.get("Name") != name
        {
            return Err(format!(
                "company {key} is called {name:?}, and the last run saw {:?}",
                last.record.get("Name")
            ));
        }
    }

    // R3, R4: no issue twice. A title names the company and its state, which one run alone is about.
    let mut issues: BTreeMap<String, usize> = BTreeMap::new();
    for write in &done {
        if let Write::Create { ty, origin: _, fields } = &write.write
            && ty == "issue"
            && !fields.get("title").and_then(Value::as_text).is_some_and(|title| title.starts_with("refused: "))
        {
            let title = fields.get("title").and_then(Value::as_text).unwrap().to_owned();
            *issues.entry(title).or_default() += 1;
        }
    }
    if let Some((title, times)) = issues.iter().find(|(_, times)| **times > 1) {
        return Err(format!("the issue `{title}` was opened {times} times"));
    }
    for run in &all {
        let title = title(run);
        let opened = issues.contains_key(&title);
        let asked = journals[&run.id].iter().any(|entry| matches!(entry, Entry::Intent(_)));
        match run.state {
            State::Done if !opened => return Err(format!("run {} is done without its issue `{title}`", run.id)),
            State::Unsure if !asked => return Err(format!("run {} is unsure of nothing: {:?}", run.id, run.reason)),
            State::Skipped if opened => return Err(format!("run {} was skipped, and `{title}` opened", run.id)),
            State::Done | State::Dead | State::Unsure | State::Skipped => {}
            // It waits behind an unsure one of its record.
            State::Ready if all.iter().any(|first| first.key == run.key && first.state == State::Unsure) => {}
            State::Ready | State::Running | State::Retry | State::Waiting | State::Held | State::Cancelled => {
                return Err(format!("run {} is left as {}: {:?}", run.id, run.state, run.reason));
            }
        }
    }
    // Off means off: nothing is about to be sent between the two.
    if let [(off, true), (on, false)] = switched.as_slice() {
        let intents = journals
            .values()
            .flatten()
            .filter_map(|entry| if let Entry::Intent(intent) = entry { Some(intent) } else { None });
        if let Some(intent) = intents.into_iter().find(|intent| *off < intent.at && intent.at < *on) {
            return Err(format!("off from {off} to {on}, and a write was begun: {intent:?}"));
        }
    }
    // An issue that nobody's run opened was not asked for.
    let known: BTreeSet<String> = all.iter().map(title).collect();
    if let Some(title) = issues.keys().find(|title| !known.contains(*title)) {
        return Err(format!("the issue `{title}` belongs to no run"));
    }

    // R5: of one company the issues come in the order of its runs.
    for key in companies.keys() {
        let prefix = format!("{key}/");
        let opened: Vec<u64> = done
            .iter()
            .filter_map(|write| match &write.write {
                Write::Create { ty, origin: _, fields } if ty == "issue" => {
                    let title = fields.get("title")?.as_text()?.strip_prefix(&prefix)?;
                    title.split_once(' ')?.0.parse().ok()
                }
                Write::Create { .. }
                | Write::Update { .. }
                | Write::Delete { .. }
                | Write::Link(_)
                | Write::Unlink(_) => None,
            })
            .collect();
        if !opened.is_sorted() {
            return Err(format!("company {key} fired out of order: {opened:?}"));
        }
    }

    // R6: never more runs at once than the listen, and the runner, allow; a run makes one call at a time.
    let most = usize::try_from(setting.options.concurrency.min(3)).unwrap();
    if world.busiest() > most {
        return Err(format!("{} calls at once, and {most} are allowed", world.busiest()));
    }

    // R12: one note for each topic.
    let mut topics: BTreeMap<String, Vec<Key>> = BTreeMap::new();
    for (key, note) in world.records("crm", "Note") {
        topics.entry(note.get("Topic").and_then(Value::as_text).unwrap().to_owned()).or_default().push(key);
    }
    if let Some((topic, keys)) = topics.iter().find(|(_, keys)| keys.len() > 1) {
        return Err(format!("the topic `{topic}` has the notes {keys:?}"));
    }
    Ok(all.iter().map(|run| run.state).collect())
}

/// How often the system had changed the record that a run saw.
fn changes(run: &Run) -> i64 {
    run.record.get("Changes").map(json::plain).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn title(run: &Run) -> String {
    let text = |name: &str| {
        let value = run.record.get(name).cloned().unwrap_or_default();
        value.as_text().map_or_else(|| json::plain(&value), str::to_owned)
    };
    format!("{}/{} {}", text("id"), text("Changes"), text("Name"))
}
