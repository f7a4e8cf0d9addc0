//! The ways to run: once, dry, and stopped in the middle of a write.

use std::{sync::Arc, time::Duration};

use lf_module::{Clock, Record, Value};
use libtest_mimic::{Failed, Trial};
use listen_fire::{
    host::{
        Holds, Host, Limits, News, Options, Parts,
        clock::{Dice, System},
    },
    store::{
        State, Store,
        memory::MemoryStore,
        sqlite::{Durability, SqliteStore},
    },
};

use crate::{
    life::{Living, Setting, live, runs},
    program,
    world::{Fault, Weather, World, dawn},
};

const TRIAGE: &str = r#"
crm = connect #crm
tracker = connect #tracker

function triage(company: <crm-[:Company]->>) {
  write tracker-[:issue]-> { title: company.Name }
}

listen to crm-[:Company]-> { every: 5s, start: "all", retry: 2 } fire triage
"#;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("modes::once_does_what_is_there_and_ends", once_does_what_is_there_and_ends),
        Trial::test("modes::once_waits_for_a_retry_and_says_what_died", once_waits_for_a_retry_and_says_what_died),
        Trial::test("modes::once_leaves_a_parked_run_parked", once_leaves_a_parked_run_parked),
        Trial::test("modes::once_says_what_waits_for_a_held_connection", once_says_what_waits_for_a_held_connection),
        Trial::test(
            "modes::once_gives_a_source_that_is_down_three_tries",
            once_gives_a_source_that_is_down_three_tries,
        ),
        Trial::test("modes::a_dry_run_reads_and_sends_nothing", a_dry_run_reads_and_sends_nothing),
        Trial::test(
            "modes::five_hundred_runs_wait_together_for_a_system_that_is_down",
            five_hundred_runs_wait_together_for_a_system_that_is_down,
        ),
        Trial::test(
            "modes::one_run_alone_waits_for_a_system_that_is_away_only_so_long",
            one_run_alone_waits_for_a_system_that_is_away_only_so_long,
        ),
        Trial::test("modes::once_does_not_wait_for_a_credential", once_does_not_wait_for_a_credential),
        Trial::test("modes::on_sqlite_in_real_time_each_company_gets_one_issue", on_sqlite_in_real_time),
        Trial::test("modes::a_stop_lets_a_write_under_way_end", a_stop_lets_a_write_under_way_end),
    ]
}

fn setting(options: Options) -> Setting {
    let world = World::new(3);
    for name in ["Acme", "Birch"] {
        world.person_creates(dawn(), "Company", &Record::from_iter([("Name", Value::text(name))]));
    }
    Setting {
        plan: Arc::new(program::plan(TRIAGE)),
        world,
        store: MemoryStore::default(),
        from: dawn(),
        options,
        limits: Limits::default(),
        told: true,
    }
}

fn once() -> Options {
    Options { once: true, ..Options::default() }
}

fn issues(setting: &Setting) -> usize {
    setting.world.records("tracker", "issue").len()
}

fn once_does_what_is_there_and_ends() -> Result<(), Failed> {
    let setting = setting(once());
    let (summary, end) = live(&setting, None, async |living: &mut Living| living.handle.wait().await);
    let summary = summary.ok_or("it ends by itself")?;
    assert_eq!((summary.taken_in, summary.done, issues(&setting)), (2, 2, 2));
    assert!(summary.problems.is_empty(), "{summary:?}");
    assert!(end.duration_since(dawn()).as_secs() < 5, "it ended at {end}");
    Ok(())
}

fn once_waits_for_a_retry_and_says_what_died() -> Result<(), Failed> {
    let setting = setting(once());
    // One passes at its second attempt, the other never does.
    for _ in 0..3 {
        setting.world.next_fault("tracker", Fault::Away);
    }
    let (summary, _) = live(&setting, None, async |living: &mut Living| living.handle.wait().await);
    let summary = summary.ok_or("it ends by itself")?;
    assert_eq!((summary.done, summary.dead, summary.retried), (1, 1, 2));
    let [problem] = summary.problems.as_slice() else { panic!("{:?}", summary.problems) };
    assert!(problem.contains("movement.mvt:6") && problem.contains("500"), "{problem}");
    Ok(())
}

fn once_leaves_a_parked_run_parked() -> Result<(), Failed> {
    let text = TRIAGE.replace("  write tracker", "  await sleep(2h)\n  write tracker");
    let setting = Setting { plan: Arc::new(program::plan(&text)), ..setting(once()) };
    let (summary, end) = live(&setting, None, async |living: &mut Living| living.handle.wait().await);
    let summary = summary.ok_or("it ends by itself")?;
    assert_eq!((summary.taken_in, summary.done, issues(&setting)), (2, 0, 0));
    assert!(summary.problems.is_empty(), "{summary:?}");
    assert!(end.duration_since(dawn()).as_secs() < 5, "it ended at {end}");
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    assert_eq!(runtime.block_on(runs(&setting.store, &[State::Waiting])).len(), 2);
    Ok(())
}

fn once_says_what_waits_for_a_held_connection() -> Result<(), Failed> {
    let setting = setting(once());
    setting.world.set_locked("tracker", true);
    let (summary, end) = live(&setting, None, async |living: &mut Living| living.handle.wait().await);
    let summary = summary.ok_or("it ends by itself")?;
    assert_eq!((summary.done, summary.dead), (0, 0));
    assert!(summary.problems.iter().any(|problem| problem.contains("2 changes wait")), "{:?}", summary.problems);
    assert!(end.duration_since(dawn()).as_secs() < 60, "it ended at {end}");
    Ok(())
}

fn once_gives_a_source_that_is_down_three_tries() -> Result<(), Failed> {
    let setting = setting(once());
    setting.world.set_down("crm", true);
    let (summary, end) = live(&setting, None, async |living: &mut Living| living.handle.wait().await);
    let summary = summary.ok_or("it ends by itself")?;
    assert!(summary.problems.iter().any(|problem| problem.contains("could not be looked at")), "{summary:?}");
    assert!(end.duration_since(dawn()).as_secs() < 30, "it ended at {end}");
    Ok(())
}

fn a_dry_run_reads_and_sends_nothing() -> Result<(), Failed> {
    let setting = setting(Options { dry_run: true, ..once() });
    let (summary, _) = live(&setting, None, async |living: &mut Living| living.handle.wait().await);
    assert_eq!(summary.ok_or("it ends by itself")?.done, 2);
    assert_eq!(issues(&setting), 0);
    let trace = setting.world.trace();
    let would = trace.iter().filter(|(_, line)| line.contains("would write issue {\"title\"")).count();
    assert_eq!(would, 2, "{trace:#?}");
    Ok(())
}

fn a_stop_lets_a_write_under_way_end() -> Result<(), Failed> {
    let setting = setting(Options::default());
    setting.world.set_weather(Weather { delay: Duration::from_secs(8), ..Weather::default() });
    let (took, _) = live(&setting, None, async |living: &mut Living| {
        living.clock.sleep(Duration::from_millis(100)).await;
        let before = living.clock.monotonic();
        living.handle.stop();
        living.handle.wait().await;
        living.clock.monotonic() - before
    });
    let took = took.ok_or("it ends by itself")?;
    assert!(took < Duration::from_secs(20), "it took {took:?}");
    assert_eq!(issues(&setting), 2, "both were under way");
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let left = runtime.block_on(runs(&setting.store, &[State::Running, State::Unsure]));
    assert!(left.is_empty(), "{left:#?}");
    Ok(())
}

/// The same runner on the store that people have, on threads, without any of the simulation's time.
fn on_sqlite_in_real_time() -> Result<(), Failed> {
    const MANY: usize = 300;
    let folder = tempfile::tempdir()?;
    let world = World::new(4);
    for number in 1..=MANY {
        let fields = Record::from_iter([("Name", Value::text(format!("Company {number}")))]);
        world.person_creates(dawn(), "Company", &fields);
    }
    let plan = Arc::new(program::plan(TRIAGE));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let summary = runtime.block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(System::new());
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&folder.path().join("state.db"), Durability::Full).await?);
        let connections = plan.connections.iter();
        let connections = connections.map(|at| (at.key.clone(), world.connect(&at.module, clock.clone()))).collect();
        let parts = Parts {
            plan_id: plan.id(),
            plan: plan.clone(),
            store: store.clone(),
            connections,
            reconnect: None,
            random: Arc::new(Dice),
            holds: Holds::new(store, clock.clone()),
            clock,
            limits: Limits::default(),
            options: once(),
            news: News::new(),
        };
        Ok::<_, Failed>(Host::start(parts).wait().await)
    })?;
    assert_eq!(summary.fatal, None);
    assert_eq!(summary.done, MANY as u64, "{:?}", summary.problems);
    assert_eq!(world.records("tracker", "issue").len(), MANY);
    Ok(())
}

/// Field case 21: what waits for a system does not knock each by itself, and uses up no attempts.
fn five_hundred_runs_wait_together_for_a_system_that_is_down() -> Result<(), Failed> {
    let setting = setting(Options::default());
    for number in 2..500 {
        let name = Value::text(format!("Company {number}"));
        setting.world.person_creates(dawn(), "Company", &Record::from_iter([("Name", name)]));
    }
    setting.world.set_down("tracker", true);
    let (ended, _) = live(&setting, None, async |living: &mut Living| {
        living.until(dawn().checked_add(Duration::from_secs(60)).unwrap()).await;
        living.setting.world.set_down("tracker", false);
        living.until(dawn().checked_add(Duration::from_secs(120)).unwrap()).await;
        (living.quiet().await, living.handle.stop(), living.handle.wait().await.done)
    });
    let ((), (), done) = ended.ok_or("it ends")?;
    assert_eq!((done, issues(&setting)), (500, 500));
    assert!(setting.world.in_vain() < 20, "{} calls in vain", setting.world.in_vain());
    let told = setting.world.trace().iter().filter(|(_, line)| line.contains("refused the connection")).count();
    assert!(told < 50, "{told} lines about it");
    Ok(())
}

/// An outage is the system's trouble, not the run's: it waits uncounted, asks seldom, and not for ever.
fn one_run_alone_waits_for_a_system_that_is_away_only_so_long() -> Result<(), Failed> {
    let alone = || {
        let world = World::new(3);
        world.person_creates(dawn(), "Company", &Record::from_iter([("Name", Value::text("Acme"))]));
        world.set_down("tracker", true);
        Setting { world, ..setting(Options::default()) }
    };
    let setting = alone();
    let (run, _) = live(&setting, None, async |living: &mut Living| {
        living.until(dawn().checked_add(Duration::from_mins(1)).unwrap()).await;
        living.setting.world.set_down("tracker", false);
        living.quiet().await;
        runs(&living.setting.store, &[State::Done]).await.pop()
    });
    assert_eq!(run.flatten().ok_or("it is done")?.attempts, 1);
    assert!((3..10).contains(&setting.world.in_vain()), "{} calls in vain", setting.world.in_vain());

    let setting = Setting { limits: Limits { away: Duration::from_mins(10), ..Limits::default() }, ..alone() };
    let (run, _) = live(&setting, None, async |living: &mut Living| {
        let minute = |minute| dawn().checked_add(Duration::from_mins(minute)).unwrap();
        living.until(minute(9)).await;
        assert_eq!(runs(&living.setting.store, &[State::Dead]).await.len(), 0);
        living.until(minute(12)).await;
        runs(&living.setting.store, &[State::Dead]).await.pop()
    });
    let run = run.flatten().ok_or("it is dead")?;
    assert_eq!(run.attempts, 2);
    assert!(run.reason.is_some_and(|reason| reason.contains("refused the connection")), "{:?}", setting.world.trace());
    assert!(setting.world.in_vain() < 40, "{} calls in vain", setting.world.in_vain());
    Ok(())
}

fn once_does_not_wait_for_a_credential() -> Result<(), Failed> {
    let setting = setting(once());
    setting.world.set_locked("crm", true);
    let (summary, end) = live(&setting, None, async |living: &mut Living| living.handle.wait().await);
    let summary = summary.ok_or("it ends by itself")?;
    assert_eq!(summary.problems.len(), 1, "{summary:?}");
    assert!(summary.problems[0].contains("who are you?"), "{summary:?}");
    assert!(end.duration_since(dawn()).as_secs() < 5, "it ended at {end}");
    Ok(())
}
