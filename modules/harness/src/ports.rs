//! The ports of a test: a clock that skips every sleep and writes it down, a die that always shows
//! the same, a hold that writes down what was reported. Real time still passes for sockets, so the
//! clock is the real one plus all that was skipped.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_module::{CallError, Clock, Ports, Random, Throttle};

/// One test's time, chance and hold.
pub struct World {
    started: Instant,
    epoch: Timestamp,
    unit: f64,
    /// Sleeps are slept, not skipped.
    slow: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    skipped: Duration,
    sleeps: Vec<Duration>,
    reports: Vec<(Duration, String)>,
    during: Option<Box<dyn FnMut(usize) + Send>>,
}

impl fmt::Debug for World {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("World").field("unit", &self.unit).finish_non_exhaustive()
    }
}

impl World {
    /// A world whose die always shows `unit` (in `0.0 .. 1.0`).
    #[must_use]
    pub fn new(unit: f64) -> Arc<Self> {
        Self::with(unit, false)
    }

    /// The same, but sleeps take their time: for what waits on another party.
    #[must_use]
    pub fn in_real_time(unit: f64) -> Arc<Self> {
        Self::with(unit, true)
    }

    fn with(unit: f64, slow: bool) -> Arc<Self> {
        Arc::new(Self { started: Instant::now(), epoch: Timestamp::now(), unit, slow, state: Mutex::default() })
    }

    /// The ports of this world.
    #[must_use]
    pub fn ports(self: &Arc<Self>) -> Ports {
        Ports { clock: self.clone(), random: self.clone(), throttle: self.clone(), notes: None, keeper: None }
    }

    /// Every sleep so far.
    #[must_use]
    pub fn sleeps(&self) -> Vec<Duration> {
        self.state().sleeps.clone()
    }

    /// Every throttle that was reported so far: how long, and why.
    #[must_use]
    pub fn reports(&self) -> Vec<(Duration, String)> {
        self.state().reports.clone()
    }

    /// Does `act` during each sleep; it gets the sleep's number, from 1.
    pub fn during_sleeps(&self, act: impl FnMut(usize) + Send + 'static) {
        self.state().during = Some(Box::new(act));
    }

    /// Lets time pass.
    pub fn skip(&self, length: Duration) {
        self.state().skipped += length;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Clock for World {
    fn now(&self) -> Timestamp {
        self.epoch.checked_add(self.monotonic()).unwrap_or(self.epoch)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed() + self.state().skipped
    }

    async fn sleep(&self, length: Duration) {
        if self.slow {
            tokio::time::sleep(length).await;
        }
        {
            let mut state = self.state();
            state.skipped += if self.slow { Duration::ZERO } else { length };
            state.sleeps.push(length);
            let number = state.sleeps.len();
            if let Some(act) = state.during.as_mut() {
                act(number);
            }
        }
        tokio::task::yield_now().await;
    }
}

impl Random for World {
    fn unit(&self) -> f64 {
        self.unit
    }
}

#[async_trait]
impl Throttle for World {
    async fn pass(&self, _deadline: Duration) -> Result<(), CallError> {
        Ok(())
    }

    async fn report(&self, length: Duration, why: &str) {
        self.state().reports.push((length, why.to_owned()));
    }
}
