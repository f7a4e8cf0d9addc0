//! The clock of one test: it stands still until nothing moves any more, then goes to the next who sleeps. A day passes
//! in as long as what happens in it takes. For a runtime of one thread that has nothing but itself to wait for.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_module::{Clock, Random};
use tokio::sync::oneshot;

use crate::host::clock::later;

#[derive(Debug)]
pub(super) struct Standing {
    epoch: Timestamp,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    now: Duration,
    sleepers: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
    number: u64,
}

impl Standing {
    pub(super) fn at(epoch: Timestamp) -> Arc<Self> {
        Arc::new(Self { epoch, state: Mutex::default() })
    }

    /// Time passes while nobody sleeps.
    pub(super) fn pass(&self, length: Duration) {
        let mut state = self.state();
        state.now = state.now.saturating_add(length);
    }

    /// Nothing moves: the next who sleeps is woken, at its time.
    pub(super) fn wake_next(&self) {
        let mut state = self.state();
        while let Some(((at, _), sleeper)) = state.sleepers.pop_first() {
            // One who is gone is no sleeper.
            if sleeper.is_closed() {
                continue;
            }
            state.now = state.now.max(at);
            drop(state);
            let _gone = sleeper.send(());
            return;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Clock for Standing {
    fn now(&self) -> Timestamp {
        later(self.epoch, self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.state().now
    }

    async fn sleep(&self, length: Duration) {
        let woken = {
            let mut state = self.state();
            let (wake, woken) = oneshot::channel();
            state.number += 1;
            let place = (state.now.saturating_add(length), state.number);
            state.sleepers.insert(place, wake);
            woken
        };
        // A clock that is gone wakes nobody, and nobody is left who could notice.
        let _woken = woken.await;
    }
}

/// Chance without surprise.
#[derive(Debug)]
pub(super) struct Half;

impl Random for Half {
    fn unit(&self) -> f64 {
        0.5
    }
}
