//! One life of a host: a runtime of its own with paused time, dropped with everything in it when the life ends.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use lf_lang::plan::Plan;
use lf_module::{Clock, Connection};
use listen_fire::{
    host::{
        Handle, Holds, Host, Limits, News, Options, Parts,
        clock::{Scripted, Seeded},
        news::{Told, What},
    },
    store::{Facts as _, Filter, Ledger as _, Run, State, memory::MemoryStore},
};

use crate::world::{World, description};

/// What a life is made of.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) plan: Arc<Plan>,
    pub(crate) world: Arc<World>,
    pub(crate) store: MemoryStore,
    /// When it begins.
    pub(crate) from: Timestamp,
    pub(crate) options: Options,
    pub(crate) limits: Limits,
    /// Whether news go into the world's trace.
    pub(crate) told: bool,
}

/// A host that lives, for the script to act on.
pub(crate) struct Living {
    pub(crate) setting: Setting,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) handle: Handle,
    news: News,
}

impl Living {
    async fn start(setting: Setting) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(Scripted::new(setting.from));
        let news = News::new();
        if setting.told {
            tell(&setting.world, &news);
        }
        let handle = start(&setting, clock.clone(), news.clone()).await;
        Self { setting, clock, handle, news }
    }

    /// Ends the host and starts the next on the same store, as a redeployment does.
    pub(crate) async fn restart(&mut self) {
        self.off(Duration::ZERO).await;
    }

    /// The same, with nobody there for that long.
    pub(crate) async fn off(&mut self, length: Duration) {
        self.handle.stop();
        self.handle.wait().await;
        self.clock.sleep(length).await;
        self.handle = start(&self.setting, self.clock.clone(), self.news.clone()).await;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until that long after the world's dawn.
    pub(crate) async fn until(&self, at: Timestamp) {
        let wait = Duration::try_from(at.duration_since(self.now())).unwrap_or_default();
        self.clock.sleep(wait).await;
    }

    /// Waits until nothing is left to do, and fails if that takes longer than it ever may.
    pub(crate) async fn quiet(&self) {
        let limit = self.now().checked_add(Duration::from_hours(4)).unwrap();
        let mut still = 0;
        // Longer than a write may be under way: a source waits so long to learn whether a change is its own.
        while still < 12 {
            self.clock.sleep(Duration::from_secs(10)).await;
            let open = [State::Ready, State::Running, State::Retry, State::Waiting];
            let open = runs(&self.setting.store, &open).await;
            // What waits behind a run that a person has to decide on is quiet too.
            let blocked = runs(&self.setting.store, &[State::Unsure, State::Held]).await;
            let waits = |run: &Run| {
                run.state == State::Ready
                    && blocked.iter().any(|first| first.key == run.key && first.listen == run.listen)
            };
            // What a connection that is left alone has to show is still to come.
            let held = !self.setting.store.holds(self.now()).await.unwrap().is_empty();
            still = if !held && open.iter().all(waits) { still + 1 } else { 0 };
            assert!(self.now() < limit, "these runs never end: {open:#?}");
        }
    }
}

async fn start(setting: &Setting, clock: Arc<dyn Clock>, news: News) -> Handle {
    let store: Arc<MemoryStore> = Arc::new(setting.store.clone());
    let mut connections: BTreeMap<_, Arc<dyn Connection>> = BTreeMap::new();
    for connection in &setting.plan.connections {
        let described = description(&connection.module);
        store.save_description(connection.key.as_str(), &described, clock.now()).await.unwrap();
        connections.insert(connection.key.clone(), setting.world.connect(&connection.module, clock.clone()));
    }
    let seed = setting.world.seeded.bits();
    Host::start(Parts {
        plan: setting.plan.clone(),
        plan_id: setting.plan.id(),
        store: store.clone(),
        connections,
        reconnect: None,
        holds: Holds::new(store, clock.clone()),
        clock,
        random: Arc::new(Seeded::new(seed)),
        limits: setting.limits.clone(),
        options: setting.options.clone(),
        news,
    })
}

/// Puts what is told, as far as the systems cannot see it, into the trace.
fn tell(world: &Arc<World>, news: &News) {
    let (world, mut reader) = (world.clone(), news.subscribe());
    let _ends_with_the_runtime = tokio::spawn(async move {
        while let Some(told) = reader.next().await {
            let Told::Item(item) = told else { continue };
            let run = item.run.as_ref().map(|run| format!("run {} ({})", run.id, run.key)).unwrap_or_default();
            let line = match &item.what {
                What::Baseline { records } => format!("{}: {records} known from before", item.listen),
                What::TakenIn { kind, state, reason, .. } => {
                    let kind = format!("{kind:?}").to_lowercase();
                    let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                    format!("{run}: {kind}, {state}{reason}")
                }
                What::Wrote { unchanged: true, ty, .. } => format!("{run}: {ty} unchanged"),
                What::Retry { attempt, of, why, .. } => format!("{run}: attempt {attempt} of {of} failed: {why}"),
                What::Parked { until, why } => {
                    let wait = until.duration_since(item.at).as_secs_f64();
                    format!("{run}: waits {wait:.1}s: {why}")
                }
                What::Back { why } => format!("{run}: back: {why}"),
                What::Ended { state, reason } => {
                    let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                    format!("{run}: {state}{reason}")
                }
                What::Held { connection, why, .. } => format!("{connection} is held: {why}"),
                What::Unhealthy { why, .. } => format!("{}: unhealthy: {why}", item.listen),
                What::SwitchedOff { .. } => format!("{}: switched off", item.listen),
                What::SwitchedOn => format!("{}: switched on", item.listen),
                What::Healthy => format!("{}: healthy", item.listen),
                What::WouldWrite { ty, sent, .. } => format!("{run}: would write {ty} {sent}"),
                What::Warning { message } => format!("{run}: warning: {message}"),
                What::Fatal { why } => format!("the store failed: {why}"),
                What::Began { .. }
                | What::Read { .. }
                | What::Sending { .. }
                | What::Wrote { .. }
                | What::Refused { .. }
                | What::TakenOver => continue,
            };
            world.note(item.at, line);
        }
    });
}

/// The runs in these states, oldest first.
pub(crate) async fn runs(store: &MemoryStore, states: &[State]) -> Vec<Run> {
    let filter = Filter { states: states.to_vec(), oldest_first: true, limit: 100_000, ..Filter::default() };
    store.list(&filter).await.unwrap()
}

/// Lives until the script ends, a fault kills the host, or `most` is over. Everything that runs then is dropped where
/// it stands. Answers what the script gave, and when it ended.
pub(crate) fn live<T>(
    setting: &Setting,
    most: Option<Duration>,
    script: impl AsyncFnOnce(&mut Living) -> T,
) -> (Option<T>, Timestamp) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let ended = runtime.block_on(async {
        let mut living = tokio::select! {
            living = Living::start(setting.clone()) => living,
            () = setting.store.crashed() => return (None, setting.from),
        };
        let clock = living.clock.clone();
        let gave = tokio::select! {
            biased;
            () = setting.store.crashed() => None,
            gave = script(&mut living) => Some(gave),
            () = clock.sleep(most.unwrap_or(Duration::from_hours(24))) => None,
        };
        (gave, clock.now())
    });
    drop(runtime);
    ended
}
