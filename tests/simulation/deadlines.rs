//! What happened before the deadline of a wait counts, whenever it is seen: a source that is looked at seldom, a runner
//! that is off when the time is over, a system that is away for a while.

use std::{sync::Arc, time::Duration};

use lf_lang::run::Entry;
use lf_module::{Record, Value};
use libtest_mimic::Trial;
use listen_fire::{
    host::{Limits, Options, clock::Seeded},
    store::{Ledger as _, State, memory::MemoryStore},
};

use crate::{
    life::{Living, Setting, live, runs},
    program,
    world::{World, dawn},
};

const PROGRAM: &str = r#"
crm = connect #crm
tracker = connect #tracker

function ask(company: <crm-[:Company]->>) {
  answer = await FIRST(crm-[p:Pong WHERE p.Body == company.Name]->, 40s)
  if answer == null {
    write tracker-[:issue]-> { title: "nobody" }
    return
  }
  write tracker-[:issue]-> { title: "answered" }
}

listen to crm-[:Company]-> { on: ["created"], every: 5s } fire ask
"#;

pub(crate) fn trials() -> Vec<Trial> {
    let one = std::env::var("LF_SIM_SEED").ok().map(|seed| seed.parse::<u64>().expect("LF_SIM_SEED is a number"));
    // Open: at some seed beyond these a wait outlives the patience of `Living::quiet`, and nobody knows yet whose fault it is.
    let many = std::env::var("LF_SIM_SEEDS")
        .map_or(100, |many| many.parse::<u64>().expect("LF_SIM_SEEDS is a number").min(200));
    let seeds = one.map_or(0..many, |seed| seed..seed + 1);
    vec![Trial::test("deadlines::what_came_in_time_counts", move || {
        let (mut near, mut late) = (0, 0);
        for seed in seeds.clone() {
            match answer(seed) {
                Ok(Came::InTime { unseen: true }) => near += 1,
                Ok(Came::InTime { unseen: false }) => {}
                Ok(Came::Late) => late += 1,
                Err(why) => {
                    let again = format!("LF_SIM_SEED={seed} cargo test --test simulation deadlines");
                    return Err(format!("seed {seed}: {why}\nrepeat it with: {again}").into());
                }
            }
        }
        if one.is_none() && (near < 10 || late < 10) {
            return Err(format!("{near} answers came just in time and {late} late: too quiet to show anything").into());
        }
        Ok(())
    })]
}

/// When the answer came.
enum Came {
    InTime {
        /// No look would have shown it by the deadline.
        unseen: bool,
    },
    Late,
}

fn answer(seed: u64) -> Result<Came, String> {
    let world = World::new(seed);
    let dice = Seeded::new(seed ^ 0xDEAD);
    let setting = Setting {
        plan: Arc::new(program::plan(PROGRAM)),
        world: world.clone(),
        store: MemoryStore::default(),
        from: dawn(),
        options: Options::default(),
        limits: Limits::default(),
        told: true,
    };
    // In tenths of a second.
    let at = |tenths: u64| dawn().checked_add(Duration::from_millis(100 * tenths)).unwrap();
    let answers = 100 + dice.bits() % 600;
    let (from, length) = (100 + dice.bits() % 400, dice.bits() % 400);
    let (kind, named) = (dice.bits() % 3, |name: &str| Record::from_iter([("Body", Value::text(name))]));
    let (lived, _) = live(&setting, None, async |living: &mut Living| {
        living.until(at(10)).await;
        world.person_creates(living.now(), "Company", &Record::from_iter([("Name", Value::text("Acme"))]));
        let mut acts = vec![(answers, "answers"), (from, "goes"), (from + length, "comes")];
        acts.sort();
        for (when, act) in acts {
            living.until(at(when)).await;
            match (act, kind) {
                ("answers", _) => drop(world.person_creates(at(when), "Pong", &named("Acme"))),
                ("goes", 0) => {
                    living.handle.stop();
                    living.handle.wait().await;
                }
                ("comes", 0) => living.restart().await,
                ("goes", 1) => world.set_down("crm", true),
                ("comes", 1) => world.set_down("crm", false),
                (_, _) => {}
            }
        }
        living.quiet().await;
    });
    lived.ok_or("the host ended by itself")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (run, entries) = runtime.block_on(async {
        let all = runs(&setting.store, &[]).await;
        let run = all.into_iter().find(|run| run.state != State::Skipped).unwrap();
        setting.store.show(run.id).await.unwrap().unwrap()
    });
    let told = |why: &str| {
        let lines: Vec<String> = world.trace().into_iter().map(|(at, line)| format!("{at} {line}")).collect();
        format!("{why}\n{}", lines.join("\n"))
    };
    let deadline =
        entries.iter().find_map(|entry| if let Entry::Waiting(wait) = entry { Some(wait.until) } else { None });
    let deadline = deadline.ok_or_else(|| told("it never waited"))?;
    let issues = world.records("tracker", "issue");
    let titles: Vec<&str> = issues.values().filter_map(|issue| issue.get("title")?.as_text()).collect();
    match titles.as_slice() {
        ["answered"] if run.state == State::Done => {}
        ["nobody"] if run.state == State::Done && at(answers) > deadline => {}
        other => return Err(told(&format!("{other:?}, and the answer came {} before {deadline}", at(answers)))),
    }
    if at(answers) > deadline {
        return Ok(Came::Late);
    }
    let unseen = !world.polls("Pong").iter().any(|poll| at(answers) <= *poll && *poll < deadline);
    Ok(Came::InTime { unseen })
}
