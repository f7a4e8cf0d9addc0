//! Text scenarios: a movement, what happens when, and the trace that it leaves.

use std::{fmt::Write as _, fs, path::Path, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use lf_module::{Key, Record, Value, json};
use libtest_mimic::{Failed, Trial};
use listen_fire::{
    host::{Limits, Options},
    store::{
        Inbox as _, Ledger as _, Order, RunId, State,
        memory::{Faultless, MemoryStore},
    },
};

use crate::{
    life::{Living, Setting, live, runs},
    program,
    world::{Fault, Weather, World, dawn},
};

/// One for each file.
pub(crate) fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulation/scenarios");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            Trial::test(format!("scenario::{name}"), move || check(&path))
        })
        .collect()
}

fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let (given, expected) = text.split_once("=== trace\n").unwrap_or((&text, ""));
    let (head, script) = given.split_once("=== script\n").ok_or("a scenario needs `=== script`")?;
    let (_, movement) = head.split_once("=== movement\n").ok_or("a scenario needs `=== movement`")?;
    let trace = run(movement, script)?;
    if trace == expected {
        return Ok(());
    }
    if std::env::var("LF_BLESS").is_ok() {
        fs::write(path, format!("{given}=== trace\n{trace}"))?;
        return Ok(());
    }
    Err(format!("the trace is another.\n--- expected\n{expected}\n--- found\n{trace}").into())
}

/// One line of a script.
struct Act {
    at: Timestamp,
    words: String,
}

fn acts(script: &str) -> Result<Vec<Act>, Failed> {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (at, words) = line.split_once(' ').ok_or("a line is a time and an act")?;
            let seconds: f64 = at.trim_end_matches('s').parse()?;
            let at = dawn().checked_add(SignedDuration::from_secs_f64(seconds))?;
            Ok(Act { at, words: words.trim().to_owned() })
        })
        .collect()
}

fn run(movement: &str, script: &str) -> Result<String, Failed> {
    let plan = Arc::new(program::plan(movement));
    let world = World::new(1);
    let mut setting = Setting {
        plan,
        world: world.clone(),
        store: MemoryStore::default(),
        from: dawn(),
        options: Options::default(),
        limits: Limits::default(),
        told: true,
    };
    let acts = acts(script)?;
    let mut left = acts.as_slice();
    // What was there before the host.
    while let Some((act, rest)) = left.split_first()
        && act.at < dawn()
    {
        assert!(outside(&world, act.at, &act.words), "`{}` needs a host", act.words);
        left = rest;
    }
    while !left.is_empty() {
        let (done, end) = live(&setting, None, async |living: &mut Living| {
            let mut done = 0;
            for act in left {
                living.until(act.at).await;
                done += 1;
                if act.words == "crash" {
                    living.setting.world.note(act.at, "the host dies");
                    break;
                }
                if !outside(&living.setting.world, living.now(), &act.words) {
                    inside(living, &act.words).await;
                }
            }
            done
        });
        left = &left[done.ok_or("the host died by itself")?..];
        setting.from = end;
        setting.store = setting.store.reopen(Arc::new(Faultless));
    }
    let ledger = tokio::runtime::Builder::new_current_thread().build()?.block_on(runs(&setting.store, &[]));
    let mut trace = String::new();
    let mut lines = world.trace();
    lines.sort_by_key(|(at, _)| *at);
    for (at, line) in lines {
        let passed = at.duration_since(dawn()).as_secs_f64();
        writeln!(trace, "{passed:>7.1}s {line}")?;
    }
    trace.push_str("---\n");
    for run in ledger {
        writeln!(trace, "run {} {} {}: {}", run.id, run.key, format!("{:?}", run.kind).to_lowercase(), run.state)?;
    }
    Ok(trace)
}

/// What happens in the world; answers whether it is that.
fn outside(world: &World, now: Timestamp, words: &str) -> bool {
    let mut parts = words.splitn(3, ' ');
    let (who, what, rest) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match (who, what, rest) {
        ("person", "creates", rest) => {
            let (ty, fields) = rest.split_once(' ').unwrap();
            world.person_creates(now, ty, &record(fields));
        }
        ("person", "updates", rest) => {
            let (ty, rest) = rest.split_once(' ').unwrap();
            let (key, fields) = rest.split_once(' ').unwrap();
            world.person_updates(now, ty, &Key(key.into()), &record(fields));
        }
        ("person", "deletes", rest) => {
            let (ty, key) = rest.split_once(' ').unwrap();
            world.person_deletes(now, ty, &Key(key.into()));
        }
        (system, "is", "down") => noted(world, now, words, |world| world.set_down(system, true)),
        (system, "is", "up") => noted(world, now, words, |world| world.set_down(system, false)),
        (system, "is", "silent") => noted(world, now, words, |world| world.set_silent(system, true)),
        (system, "is", "heard") => noted(world, now, words, |world| world.set_silent(system, false)),
        (system, "locks", _) => noted(world, now, words, |world| world.set_locked(system, true)),
        (system, "unlocks", _) => noted(world, now, words, |world| world.set_locked(system, false)),
        (system, "next", fault) => {
            let fault = match fault {
                "works" => Fault::None,
                "refuses" => Fault::Refuse,
                "is away" => Fault::Away,
                "loses the request" => Fault::LoseRequest,
                "loses the answer" => Fault::LoseAnswer,
                other => panic!("a call does not `{other}`"),
            };
            world.next_fault(system, fault);
        }
        ("everything", "takes", seconds) => {
            let delay = Duration::from_secs_f64(seconds.trim_end_matches('s').parse().unwrap());
            world.set_weather(Weather { delay, ..Weather::default() });
        }
        ("polls", "of", ty) => {
            let (ty, last) = ty.split_once(" in the last ").unwrap();
            let since = now.checked_sub(Duration::from_secs(last.trim_end_matches('s').parse().unwrap())).unwrap();
            let polls: Vec<Timestamp> = world.polls(ty).into_iter().filter(|at| *at >= since).collect();
            let apart = polls.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs_f64());
            let least = apart.fold(f64::INFINITY, f64::min);
            let apart = if polls.len() > 1 { format!(", at least {least:.1}s apart") } else { String::new() };
            world.note(now, format!("{} polls of {ty} in the last {last}{apart}", polls.len()));
        }
        ("busiest", _, _) => world.note(now, format!("at most {} calls at once", world.busiest())),
        _ => return false,
    }
    true
}

/// What is done to the host.
async fn inside(living: &mut Living, words: &str) {
    let (world, now) = (living.setting.world.clone(), living.now());
    let parts: Vec<&str> = words.split(' ').collect();
    match parts.as_slice() {
        ["end"] => {}
        ["restart"] => {
            world.note(now, "the host is started anew");
            living.restart().await;
        }
        ["operator", what, id] => {
            let order = match *what {
                "settles-done" => Order::SettleDone,
                "settles-again" => Order::SettleAgain,
                "retries" => Order::Retry,
                "retries-current" => Order::RetryCurrent,
                "cancels" => Order::Cancel,
                other => panic!("an operator does not `{other}`"),
            };
            world.note(now, format!("operator {what} run {id}"));
            living.setting.store.order(RunId(id.parse().unwrap()), order, now).await.unwrap();
            living.handle.wake();
        }
        ["off", "for", seconds] => {
            world.note(now, format!("the host is off for {seconds}"));
            let length = seconds.trim_end_matches('s').parse().unwrap();
            living.off(Duration::from_secs_f64(length)).await;
        }
        ["operator", "switches", way @ ("off" | "on"), listen @ ..] => {
            let listen = listen.join(" ");
            world.note(now, format!("operator switches {way} {listen}"));
            assert!(living.setting.store.switch(&listen, *way == "off", now).await.unwrap());
            living.handle.wake();
        }
        ["state", "of", id] => {
            let (run, _) = living.setting.store.show(RunId(id.parse().unwrap())).await.unwrap().unwrap();
            let waits = if run.state == State::Retry { " (waits for its time)" } else { "" };
            world.note(now, format!("run {} is {}{waits}", run.id, run.state));
        }
        other => panic!("a scenario cannot `{other:?}`"),
    }
}

fn noted(world: &World, now: Timestamp, words: &str, act: impl FnOnce(&World)) {
    act(world);
    world.note(now, words);
}

fn record(text: &str) -> Record {
    let Value::Record(record) = json::read(text.as_bytes()).unwrap() else { panic!("`{text}` is no record") };
    record.as_ref().clone()
}
