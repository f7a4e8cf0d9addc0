//! A run that dies again and again, and a person who tries it again each time: with the text that it has, with the
//! present one, settled or not, in any order, while texts change and the host dies. At last the weather clears and it
//! is done, with each write done once; unless something was done on account of a refusal, which then stays.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use lf_lang::{
    plan::Plan,
    run::{Entry, entry::Sending},
};
use lf_module::{Record, Value, Write};
use libtest_mimic::Trial;
use listen_fire::{
    host::{Limits, Options, clock::Seeded},
    store::{
        Ledger as _, Order, Run, State,
        memory::{Faultless, MemoryStore},
    },
};

use crate::{
    life::{Living, Setting, live, runs},
    program,
    schedules::Chance,
    world::{Weather, World, dawn},
};

/// One text of the movement: all of them do the same at the same addresses, each writes its own number.
/// Only what was sent is read of an answer: one that was settled by hand has no more.
fn text(version: u64) -> String {
    format!(
        r#"
crm = connect #crm
tracker = connect #tracker

function triage(company: <crm-[:Company]->>) {{
  first = write tracker-[:issue]-> {{ title: "first of ${{company.id}} v{version}" }}
  search = tracker-[s:search WHERE s.query == first.title]->
  await sleep(3s)
  write crm-[:Ping]-> {{ Body: "v{version} ${{search.count}}" }} else (_why) {{ }}
  gave = await parallel([
    () => {{
      pong = write crm-[:Pong]-> {{ Body: "of ${{company.id}}" }} else (why) {{ ERROR(why.text) }}
      return pong.Body
    }},
    () => {{
      await sleep(5s)
      return "v{version}"
    }},
  ])
  write tracker-[:issue]-> {{ title: "second of ${{company.id}} ${{JOIN(gave, " ")}}" }} else (why) {{
    write crm-[:Note]-> {{ Topic: company.id  Text: "v{version} ${{why.text}}" }} else (_still) {{ }}
    ERROR("v{version}: ${{why.text}}")
  }}
  write company {{ Status: "seen v{version}" }}
}}

listen to crm-[:Company]-> {{ on: ["created"], every: 5s, retry: 2 }} fire triage
"#
    )
    .replace("  Text:", "\n    Text:")
}

pub(crate) fn trials() -> Vec<Trial> {
    let one = std::env::var("LF_SIM_SEED").ok().map(|seed| seed.parse::<u64>().expect("LF_SIM_SEED is a number"));
    // Each is a story of several lives: 300 take as long as 2,000 schedules.
    let many = std::env::var("LF_SIM_SEEDS")
        .map_or(40, |many| many.parse::<u64>().expect("LF_SIM_SEEDS is a number").min(300));
    let seeds = one.map_or(0..many, |seed| seed..seed + 1);
    vec![Trial::test("retries::in_any_order_and_number", move || {
        let plans: Vec<Arc<Plan>> = (0..3).map(|version| Arc::new(program::plan(&text(version)))).collect();
        let mut ordered: BTreeMap<&'static str, u32> = BTreeMap::new();
        for seed in seeds.clone() {
            story(&plans, seed, &mut ordered).map_err(|why| {
                format!("seed {seed}: {why}\nrepeat it with: LF_SIM_SEED={seed} cargo test --test simulation retries")
            })?;
        }
        if one.is_none() && ordered.len() < 4 {
            return Err(format!("only {ordered:?} were ordered: too quiet to show anything").into());
        }
        Ok(())
    })]
}

fn story(plans: &[Arc<Plan>], seed: u64, ordered: &mut BTreeMap<&'static str, u32>) -> Result<(), String> {
    let world = World::new(seed);
    let dice = Seeded::new(seed ^ 0x0DD5);
    let pick = |most: u64| dice.bits() % most;
    let any = || plans[usize::try_from(pick(plans.len() as u64)).unwrap()].clone();
    let mut setting = Setting {
        plan: any(),
        world: world.clone(),
        store: MemoryStore::default(),
        from: dawn(),
        options: Options::default(),
        limits: Limits::default(),
        told: std::env::var("LF_SIM_SEED").is_ok(),
    };
    let (ready, end) =
        live(&setting, None, async |living: &mut Living| living.clock.sleep(Duration::from_secs(9)).await);
    ready.ok_or("the first life ended by itself")?;
    setting.from = end;
    let company = world.person_creates(end, "Company", &Record::from_iter([("Name", Value::text("Acme"))]));
    let lives = 2 + pick(8);
    for life in 0..lives {
        let clear = life + 1 == lives;
        let faults = Chance {
            seeded: Seeded::new(dice.bits()),
            away: 0,
            kill_in: AtomicU64::new(if pick(3) == 0 { 1 + pick(20) } else { u64::MAX }),
        };
        setting.store = setting.store.reopen(if clear { Arc::new(Faultless) } else { Arc::new(faults) });
        setting.plan = any();
        let weather = Weather {
            refuse: pick(400),
            away: pick(300),
            lose_request: pick(100),
            lose_answer: pick(100),
            delay: Duration::from_millis(pick(3000)),
        };
        world.set_weather(if clear { Weather::default() } else { weather });
        let orders = if clear { 8 } else { 1 + pick(4) };
        let mut gave = Vec::new();
        let (lived, end) = live(&setting, None, async |living: &mut Living| {
            living.quiet().await;
            for _ in 0..orders {
                let Some(run) = about(&living.setting.store, &company).await else { break };
                let current = clear || dice.bits().is_multiple_of(2);
                let Some((name, order)) = choose(living, &run, current).await else { break };
                living.setting.world.note(living.now(), format!("a person orders {name}"));
                // Of a run that is unsure of nothing there is nothing to settle: judged below.
                if living.setting.store.order(run.id, order, living.now()).await.is_err() {
                    break;
                }
                gave.push(name);
                living.handle.wake();
                living.quiet().await;
            }
        });
        for name in gave {
            *ordered.entry(name).or_default() += 1;
        }
        setting.from = end;
        if clear && lived.is_none() {
            return Err("the last life ended by itself".to_owned());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let run = runtime.block_on(about(&setting.store.reopen(Arc::new(Faultless)), &company));
        if let Some(reason) = run.and_then(|run| run.reason)
            && reason.contains("journal")
        {
            return Err(told(&setting, &reason));
        }
    }
    judge(&setting, &company)
}

/// The run about the new company, if it is not over.
async fn about(store: &MemoryStore, company: &lf_module::Key) -> Option<Run> {
    runs(store, &[]).await.into_iter().find(|run| run.key == *company && run.state != State::Skipped)
}

/// What a person orders who looks first.
async fn choose(living: &Living, run: &Run, current: bool) -> Option<(&'static str, Order)> {
    let (_, entries) = living.setting.store.show(run.id).await.unwrap().unwrap();
    match run.state {
        State::Dead if current => Some(("retry --current", Order::RetryCurrent)),
        State::Dead => Some(("retry", Order::Retry)),
        State::Unsure => {
            let last = entries.iter().rev().find_map(|entry| match entry {
                Entry::Intent(intent) => Some(intent),
                Entry::Started { .. }
                | Entry::Waiting(_)
                | Entry::Settled { .. }
                | Entry::Decided { .. }
                | Entry::Attempt { .. }
                | Entry::Finished { .. } => None,
            });
            let there = match &last?.sending {
                Sending::Create { origin: _, fields, idempotency: _ } => {
                    let sent = |write: &Write| matches!(write, Write::Create { fields: done, .. } if done == fields);
                    living.setting.world.done().iter().any(|done| sent(&done.write))
                }
                // Harmless in any case.
                Sending::Update { .. } | Sending::Delete { .. } | Sending::Link { .. } => false,
            };
            Some(if there { ("settle --done", Order::SettleDone) } else { ("settle --again", Order::SettleAgain) })
        }
        State::Ready
        | State::Running
        | State::Retry
        | State::Waiting
        | State::Done
        | State::Held
        | State::Skipped
        | State::Cancelled => None,
    }
}

fn judge(setting: &Setting, company: &lf_module::Key) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let run = runtime.block_on(about(&setting.store, company)).ok_or("there is no run")?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for done in setting.world.done() {
        let Write::Create { ty, origin: _, fields } = &done.write else { continue };
        let text = ["title", "Body", "Topic"].iter().find_map(|name| fields.get(name)).and_then(Value::as_text);
        let first = text.unwrap_or_default().split(' ').next().unwrap_or_default();
        let what = if ty == "issue" { format!("{ty} {first}") } else { ty.to_string() };
        *counts.entry(what).or_default() += 1;
    }
    let once = |what: &str| counts.get(what) == Some(&1);
    // What was done on account of a refusal keeps the refusal.
    let (end, last) = if once("Note") { (State::Dead, "Note") } else { (State::Done, "issue second") };
    if run.state != end {
        return Err(told(setting, &format!("the run is {} in the end: {:?}", run.state, run.reason)));
    }
    if !["issue first", "Pong", last].into_iter().all(once) || counts.values().any(|count| *count > 1) {
        return Err(told(setting, &format!("not each was done once: {counts:?}")));
    }
    Ok(())
}

fn told(setting: &Setting, why: &str) -> String {
    let lines: Vec<String> = setting.world.trace().into_iter().map(|(at, line)| format!("{at} {line}")).collect();
    format!("{why}\n{}", lines.join("\n"))
}
