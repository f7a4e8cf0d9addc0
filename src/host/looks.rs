//! When the sources of waits were last looked at: a deadline takes effect only after a look that began at it or later.
//! Said by the listeners, asked by the waits; it is about this runner alone, and nothing of it is stored.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use smol_str::SmolStr;
use tokio::sync::watch;

use super::clock::until;

/// How long a look is waited for.
const BOUND: Duration = Duration::from_mins(1);

/// How a source stands for a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Whatever happened before the deadline is stored.
    Done,
    /// One is asked for.
    Wanted,
    /// The listener looked and ended before the deadline: the next runner looks again.
    Later,
    /// It was asked for in vain.
    InVain,
}

/// A look that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    /// It begins then, or later.
    from: Timestamp,
    /// When it was first asked for.
    since: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listener {
    /// When the last look began that is stored whole.
    Looks(Option<Timestamp>),
    Ended(Option<Timestamp>),
}

#[derive(Debug, Default)]
pub(super) struct Looks {
    listeners: Mutex<BTreeMap<SmolStr, Listener>>,
    wanted: watch::Sender<BTreeMap<SmolStr, Wanted>>,
    /// Counts what the listeners said.
    news: watch::Sender<u64>,
}

impl Looks {
    /// How the source stands for a deadline that is over; asks for a look if there was none.
    pub(super) fn since(&self, watch: &SmolStr, deadline: Timestamp, now: Timestamp) -> Look {
        let looked = self.listeners().get(watch).copied();
        match looked {
            Some(Listener::Looks(Some(began)) | Listener::Ended(Some(began))) if began >= deadline => {
                return Look::Done;
            }
            Some(Listener::Ended(Some(_))) => return Look::Later,
            Some(Listener::Ended(None)) => return Look::InVain,
            Some(Listener::Looks(_)) | None => {}
        }
        let mut since = now;
        self.wanted.send_if_modified(|wanted| {
            if let Some(known) = wanted.get_mut(watch) {
                since = known.since;
                let later = deadline > known.from;
                known.from = known.from.max(deadline);
                return later;
            }
            wanted.insert(watch.clone(), Wanted { from: deadline, since: now });
            true
        });
        if until(since, now) >= BOUND { Look::InVain } else { Look::Wanted }
    }

    /// What the listeners say from here on.
    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// The looks that are wanted, to be told of new ones.
    pub(super) fn wants(&self) -> Wants {
        Wants(self.wanted.subscribe())
    }

    /// A listener begins.
    pub(super) fn begin(&self, watch: &SmolStr) {
        self.listeners().insert(watch.clone(), Listener::Looks(None));
    }

    /// A look that began then is stored whole.
    pub(super) fn looked(&self, watch: &SmolStr, began: Timestamp) {
        self.listeners().insert(watch.clone(), Listener::Looks(Some(began)));
        self.wanted.send_if_modified(|wanted| {
            let over = wanted.get(watch).is_some_and(|wanted| began >= wanted.from);
            if over {
                wanted.remove(watch);
            }
            over
        });
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A listener ends: there will be no further look.
    pub(super) fn end(&self, watch: &SmolStr) {
        let mut listeners = self.listeners();
        if let Some(Listener::Looks(last)) = listeners.get(watch).copied() {
            listeners.insert(watch.clone(), Listener::Ended(last));
        }
        drop(listeners);
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn listeners(&self) -> MutexGuard<'_, BTreeMap<SmolStr, Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The looks that are wanted, as a listener sees them.
#[derive(Debug)]
pub(super) struct Wants(watch::Receiver<BTreeMap<SmolStr, Wanted>>);

impl Wants {
    /// Whether one is wanted of this source.
    pub(super) fn has(&self, watch: &SmolStr) -> bool {
        self.0.borrow().contains_key(watch)
    }

    /// Waits until one is wanted that begins later than this.
    pub(super) async fn later(&mut self, watch: &SmolStr, began: Timestamp) {
        if self.0.wait_for(|wanted| wanted.get(watch).is_some_and(|wanted| wanted.from > began)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
