//! The hold of a connection: what one call learned ("leave me alone for a minute", "who are you?") binds every runner.
//!
//! The truth is in the store. What was asked there a moment ago is answered from memory, so that calls one after the other
//! cost no query each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_module::{CallError, Clock, Throttle};
use smol_str::SmolStr;
use tokio::sync::Notify;

use super::clock::{later, spoken, until};
use crate::store::Store;

/// How long it serves that a connection is held: it may be lifted earlier.
const FRESH: Duration = Duration::from_secs(1);
/// How long it serves that it is not: what one process is told binds the others from then on, and a call is not made
/// dearer where many come one after the other.
const FREE: Duration = Duration::from_millis(50);
/// How the reason of a hold begins that ends when the credential is mended.
const REFUSED: &str = "the credential was refused: ";
/// How the reason of a hold begins that ends when the system answers.
const AWAY: &str = "it is away: ";

/// The holds of all connections of one store. Clones share what they know.
#[derive(Debug, Clone)]
pub struct Holds {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    known: Mutex<BTreeMap<SmolStr, Known>>,
    changed: Notify,
}

#[derive(Debug, Clone)]
struct Known {
    hold: Option<(Timestamp, String)>,
    asked: Duration,
}

impl Known {
    fn serves(&self) -> Duration {
        if self.hold.is_some() { FRESH } else { FREE }
    }
}

impl Holds {
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::new(Shared { store, clock, known: Mutex::default(), changed: Notify::new() }) }
    }

    /// The port of one connection, lent to its module.
    #[must_use]
    pub fn throttle(&self, connection: &str) -> Arc<dyn Throttle> {
        Arc::new(Port { holds: self.clone(), connection: connection.into() })
    }

    /// Until when the connection is held, and why.
    pub async fn held(&self, connection: &str) -> Option<(Timestamp, String)> {
        let (now, moment) = (self.shared.clock.now(), self.shared.clock.monotonic());
        let known = self.known().get(connection).cloned();
        let hold = match known {
            Some(known) if moment.saturating_sub(known.asked) < known.serves() => known.hold,
            Some(_) | None => match self.shared.store.held(connection).await {
                Ok(hold) => {
                    self.remember(connection, hold.clone(), moment);
                    hold
                }
                // A store that is away holds nobody up by itself: the next write to it will wait or fail.
                Err(error) => {
                    tracing::warn!("the hold of {connection} could not be read: {error}");
                    known.and_then(|known| known.hold)
                }
            },
        };
        hold.filter(|(at, _)| *at > now)
    }

    /// Holds the connection because the system refused its credential. Calls do not wait for its end: what they would
    /// send was refused.
    pub(super) async fn lock_out(&self, connection: &str, length: Duration, why: &str) {
        self.hold(connection, length, &format!("{REFUSED}{why}")).await;
    }

    /// The credential may have been mended: it is tried again at once. A hold that the system asked for stays.
    pub async fn mended(&self, connection: &str) {
        self.lift_if(connection, REFUSED).await;
    }

    async fn lift_if(&self, connection: &str, reason: &str) {
        match self.shared.store.held(connection).await {
            Ok(Some((_, why))) if why.starts_with(reason) => self.lift(connection).await,
            Ok(_) => {}
            Err(error) => tracing::warn!("the hold of {connection} could not be read: {error}"),
        }
    }

    /// Holds the connection because its system is away.
    pub(super) async fn away(&self, connection: &str, length: Duration, why: &str) {
        self.hold(connection, length, &format!("{AWAY}{why}")).await;
    }

    /// The system answered. A hold that it asked for stays.
    pub async fn back(&self, connection: &str) {
        self.lift_if(connection, AWAY).await;
    }

    /// Holds the connection for `length` from now on.
    pub async fn hold(&self, connection: &str, length: Duration, why: &str) {
        let at = later(self.shared.clock.now(), length);
        self.remember(connection, Some((at, why.to_owned())), self.shared.clock.monotonic());
        if let Err(error) = self.shared.store.hold(connection, at, why).await {
            tracing::warn!("the hold of {connection} could not be stored: {error}");
        }
        self.shared.changed.notify_waiters();
    }

    /// Ends a hold.
    pub async fn lift(&self, connection: &str) {
        self.remember(connection, None, self.shared.clock.monotonic());
        if let Err(error) = self.shared.store.lift(connection).await {
            tracing::warn!("the hold of {connection} could not be lifted in the store: {error}");
        }
        self.shared.changed.notify_waiters();
    }

    fn remember(&self, connection: &str, hold: Option<(Timestamp, String)>, asked: Duration) {
        self.known().insert(connection.into(), Known { hold, asked });
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SmolStr, Known>> {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Port {
    holds: Holds,
    connection: SmolStr,
}

#[async_trait]
impl Throttle for Port {
    async fn pass(&self, deadline: Duration) -> Result<(), CallError> {
        let clock = &self.holds.shared.clock;
        loop {
            let Some((at, why)) = self.holds.held(&self.connection).await else { return Ok(()) };
            let wait = until(clock.now(), at);
            let left = deadline.saturating_sub(clock.monotonic());
            if wait > left || why.starts_with(REFUSED) {
                let message =
                    format!("`{}` is held for another {} ({why}); nothing was sent", self.connection, spoken(wait));
                return Err(CallError { retry_after: Some(wait), ..CallError::passing(message) });
            }
            // A hold can be lifted or lengthened by others: look again within a second.
            let changed = self.holds.shared.changed.notified();
            tokio::select! {
                () = clock.sleep(wait.min(FRESH)) => {}
                () = changed => {}
            }
        }
    }

    async fn report(&self, length: Duration, why: &str) {
        self.holds.hold(&self.connection, length, why).await;
    }
}
