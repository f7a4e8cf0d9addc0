//! A clock that stands still until a test moves it, and then goes from one sleeper to the next: a day passes
//! in as long as what happens in it takes. Sockets are real, so before each step it waits until nothing
//! moves any more. For runtimes of one thread, where client and server share that thread.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_module::{CallError, Clock, Ports, Random, Throttle};
use tokio::sync::oneshot;

/// One test's time and chance.
pub struct Fast {
    epoch: Timestamp,
    unit: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    now: Duration,
    /// How far the wall clock is ahead: the machine slept.
    slept: Duration,
    sleepers: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
    number: u64,
}

impl fmt::Debug for Fast {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Fast").field("now", &self.monotonic()).finish_non_exhaustive()
    }
}

impl Fast {
    /// A clock at noon, with a die that always shows `unit` (in `0.0 .. 1.0`).
    #[must_use]
    pub fn new(unit: f64) -> Arc<Self> {
        let epoch = Timestamp::from_second(1_780_000_000).unwrap_or_default();
        Arc::new(Self { epoch, unit, state: Mutex::default() })
    }

    /// The ports of this clock.
    #[must_use]
    pub fn ports(self: &Arc<Self>) -> Ports {
        Ports { clock: self.clone(), random: self.clone(), throttle: self.clone(), notes: None, keeper: None }
    }

    /// Lets time pass, and everything happen that happens in it.
    pub async fn pass(&self, length: Duration) {
        let end = self.monotonic() + length;
        loop {
            settle().await;
            let Some(sleeper) = self.next(end) else { break };
            // A sleeper that is gone is no sleeper.
            let _gone = sleeper.send(());
        }
        self.state().now = end;
        settle().await;
    }

    /// The machine sleeps: the wall clock moves, nothing else does.
    pub fn sleep_over(&self, length: Duration) {
        self.state().slept += length;
    }

    fn next(&self, end: Duration) -> Option<oneshot::Sender<()>> {
        let mut state = self.state();
        while let Some(first) = state.sleepers.first_entry() {
            let at = first.key().0;
            if first.get().is_closed() {
                drop(first.remove());
                continue;
            }
            if at > end {
                return None;
            }
            let sleeper = first.remove();
            state.now = state.now.max(at);
            return Some(sleeper);
        }
        None
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Until nothing moves: every task had its turn many times, and so had the sockets. What is sent on loopback
/// is there at once, unless the machine is busy with something else, for which there is a short real pause.
async fn settle() {
    for round in 0..3 {
        for _ in 0..24 {
            tokio::task::yield_now().await;
        }
        if round < 2 {
            std::thread::sleep(Duration::from_micros(30));
        }
    }
}

#[async_trait]
impl Clock for Fast {
    fn now(&self) -> Timestamp {
        let state = self.state();
        self.epoch.checked_add(state.now + state.slept).unwrap_or(self.epoch)
    }

    fn monotonic(&self) -> Duration {
        self.state().now
    }

    async fn sleep(&self, length: Duration) {
        let awake = {
            let mut state = self.state();
            let (sender, awake) = oneshot::channel();
            let at = state.now.saturating_add(length);
            state.number += 1;
            let number = state.number;
            state.sleepers.insert((at, number), sender);
            awake
        };
        // The clock goes away with the test.
        drop(awake.await);
    }
}

impl Random for Fast {
    fn unit(&self) -> f64 {
        self.unit
    }
}

#[async_trait]
impl Throttle for Fast {
    async fn pass(&self, _deadline: Duration) -> Result<(), CallError> {
        Ok(())
    }

    async fn report(&self, _length: Duration, _why: &str) {}
}
