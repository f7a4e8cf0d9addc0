//! What all tasks of one runner share: the program, the store, the ports, and the two signals that end it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, atomic::AtomicBool},
    time::Duration,
};

use jiff::Timestamp;
use lf_lang::{
    check::catalog::ConnectionKey,
    plan::{
        Plan, PlanId,
        ir::{Listen, PlaceId},
    },
};
use lf_module::{Clock, Connection, Random, TypeShape};
use smol_str::SmolStr;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{
    Limits, Options, Parts, Reconnect, Summary,
    breaker::Breakers,
    clock::later,
    identities::Identities,
    limiter::Holds,
    looks::Looks,
    news::{Item, News, Spot, Subject, What},
};
use crate::store::{Store, StoreError};

/// How long a task waits before it asks a store that is away again, at least and at most.
const AWAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How long a connection is held whose credential was refused, the first time and at most.
const LOCKED: (Duration, Duration) = (Duration::from_secs(30), Duration::from_mins(10));

#[derive(Debug)]
pub(super) struct Service {
    pub(super) plan: Arc<Plan>,
    pub(super) plan_id: PlanId,
    pub(super) store: Arc<dyn Store>,
    connections: RwLock<BTreeMap<ConnectionKey, Arc<dyn Connection>>>,
    reconnect: Option<Arc<dyn Reconnect>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) holds: Holds,
    pub(super) limits: Limits,
    pub(super) options: Options,
    pub(super) news: News,
    pub(super) identities: Identities,
    /// Something may be claimable.
    pub(super) work: Notify,
    /// A person may have changed the store.
    pub(super) asked: AtomicBool,
    /// A write was settled, or a run ended.
    pub(super) settled: Notify,
    /// Nothing new is begun.
    pub(super) stopping: CancellationToken,
    /// What still runs is dropped where it stands.
    pub(super) abandon: CancellationToken,
    pub(super) breakers: Breakers,
    pub(super) looks: Looks,
    /// Listens that a person switched off, as the store last said.
    off: watch::Sender<BTreeMap<SmolStr, Timestamp>>,
    /// Connections whose credential was refused, and how often in a row.
    locked_out: Mutex<BTreeMap<SmolStr, u32>>,
    tally: Mutex<Summary>,
}

impl Service {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { plan, plan_id, store, connections, reconnect, clock, random, holds, limits, options, news } = parts;
        Self {
            plan,
            plan_id,
            store,
            connections: RwLock::new(connections),
            reconnect,
            clock,
            random,
            holds,
            limits,
            options,
            news,
            identities: Identities::default(),
            work: Notify::new(),
            asked: AtomicBool::new(false),
            settled: Notify::new(),
            stopping: CancellationToken::new(),
            abandon: CancellationToken::new(),
            breakers: Breakers::default(),
            looks: Looks::default(),
            off: watch::Sender::default(),
            locked_out: Mutex::default(),
            tally: Mutex::default(),
        }
    }

    pub(super) fn listen(&self, name: &str) -> Option<&Listen> {
        self.plan.listens.iter().find(|listen| listen.name == name)
    }

    /// Whether a person switched the listen off.
    pub(super) fn is_off(&self, listen: &str) -> bool {
        self.off.borrow().contains_key(listen)
    }

    /// The same, to be told of changes.
    pub(super) fn switches(&self) -> watch::Receiver<BTreeMap<SmolStr, Timestamp>> {
        self.off.subscribe()
    }

    /// Asks the store which listens are switched off, and tells what changed.
    pub(super) async fn look_at_switches(&self) {
        let off = match self.store.switched_off().await {
            Ok(off) => off,
            // Whoever is at work meets the store itself before it sends anything.
            Err(error) => return tracing::warn!("the store did not say what is switched off: {error}"),
        };
        let before = self.off.borrow().clone();
        if off == before {
            return;
        }
        for listen in &self.plan.listens {
            match (before.contains_key(&listen.name), off.get(&listen.name)) {
                (false, Some(since)) => self.tell(&listen.name, None, What::SwitchedOff { since: *since }),
                (true, None) => self.tell(&listen.name, None, What::SwitchedOn),
                (true, Some(_)) | (false, None) => {}
            }
        }
        self.off.send_replace(off);
    }

    pub(super) fn connection(&self, key: &ConnectionKey) -> Option<Arc<dyn Connection>> {
        self.connections.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// A call worked: whatever was wrong with the credential is mended, and the system is there.
    pub(super) async fn works(&self, connection: &str) {
        self.locked_out().remove(connection);
        if self.breakers.worked(connection) {
            tracing::info!("{connection} answers again");
            self.holds.back(connection).await;
            self.work.notify_one();
        }
    }

    /// The credential was refused: holds the connection, longer each time, until a person mends it or the time has come
    /// to try again. Answers until when.
    pub(super) async fn lock_out(&self, connection: &SmolStr, why: &str) -> Timestamp {
        if let Some((until, _)) = self.holds.held(connection).await {
            return until;
        }
        let length = {
            let mut locked_out = self.locked_out();
            let times = locked_out.entry(connection.clone()).or_default();
            *times = times.saturating_add(1);
            LOCKED.0.saturating_mul(1 << (*times - 1).min(8)).min(LOCKED.1)
        };
        let until = later(self.clock.now(), length);
        self.holds.lock_out(connection, length, why).await;
        self.tell("", None, What::Held { connection: connection.clone(), until, why: why.to_owned() });
        until
    }

    /// Makes a connection anew whose credential was refused and may have been mended since, if this runner can.
    pub(super) async fn mend(&self, key: &ConnectionKey) {
        if !self.locked_out().contains_key(key.as_str()) {
            return;
        }
        let Some(reconnect) = &self.reconnect else { return };
        match reconnect.reconnect(key).await {
            Ok(connection) => {
                self.connections.write().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), connection);
            }
            Err(error) => tracing::warn!("{key} could not be connected anew: {error}"),
        }
    }

    fn locked_out(&self) -> MutexGuard<'_, BTreeMap<SmolStr, u32>> {
        self.locked_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the store knows of a type; `None` where it was never described.
    pub(super) async fn shape(&self, connection: &str, ty: &str) -> Option<TypeShape> {
        match self.store.description(connection).await {
            Ok(described) => described.and_then(|(description, _)| description.get(ty).cloned()),
            Err(error) => {
                tracing::warn!("the description of {connection} could not be read: {error}");
                None
            }
        }
    }

    pub(super) fn tell(&self, listen: &str, run: Option<&Subject>, what: What) {
        self.news.tell(Item { at: self.clock.now(), listen: listen.into(), run: run.cloned(), what });
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Summary> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store cannot be used any more: nothing can be promised, so everything ends.
    pub(super) fn fatal(&self, error: &StoreError) {
        let why = error.to_string();
        self.tell("", None, What::Fatal { why: why.clone() });
        self.tally().fatal.get_or_insert(why);
        self.stopping.cancel();
        self.abandon.cancel();
    }

    /// Repeats `ask` for as long as the store is away, until the runner is abandoned. Any other failure is the caller's.
    pub(super) async fn patiently<T, F, R>(&self, mut ask: F) -> Result<T, StoreError>
    where
        F: FnMut() -> R,
        R: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = AWAY.0;
        loop {
            let why = match ask().await {
                Err(StoreError::Away(why)) => why,
                Err(error @ StoreError::Unusable(_)) => {
                    self.fatal(&error);
                    return Err(error);
                }
                other => return other,
            };
            tracing::warn!("the store is away: {why}");
            tokio::select! {
                () = self.clock.sleep(wait) => {}
                () = self.abandon.cancelled() => return Err(StoreError::Away(why)),
            }
            wait = (wait * 2).min(AWAY.1);
        }
    }
}

/// The line that a place stands for.
pub(super) fn spot(plan: &Plan, place: PlaceId) -> Option<Spot> {
    plan.place(place).map(|place| Spot { file: place.file.clone(), line: place.line, text: place.text.clone() })
}
