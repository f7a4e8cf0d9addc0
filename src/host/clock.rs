//! Time and chance: the only place of the shell that asks the process for either.
//!
//! [`System`] follows the machine's clock; [`Scripted`] starts at a given instant and moves with tokio's, so that a
//! paused runtime runs a day in milliseconds and gets the same result every time.
#![expect(clippy::disallowed_methods, reason = "these are the ports that everything else is told to use")]

use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_module::{Clock, Random};
use tokio::time::Instant;

/// The machine's clock.
#[derive(Debug)]
pub struct System {
    started: Instant,
}

impl System {
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for System {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, length: Duration) {
        tokio::time::sleep(length).await;
    }
}

/// A clock that starts at `epoch` and moves only with tokio's.
#[derive(Debug)]
pub struct Scripted {
    epoch: Timestamp,
    started: Instant,
}

impl Scripted {
    #[must_use]
    pub fn new(epoch: Timestamp) -> Self {
        Self { epoch, started: Instant::now() }
    }
}

#[async_trait]
impl Clock for Scripted {
    fn now(&self) -> Timestamp {
        later(self.epoch, self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, length: Duration) {
        tokio::time::sleep(length).await;
    }
}

/// The machine's dice.
#[derive(Debug, Default)]
pub struct Dice;

impl Random for Dice {
    fn unit(&self) -> f64 {
        rand::random()
    }
}

/// Dice that fall the same way for the same seed (`SplitMix64`).
#[derive(Debug)]
pub struct Seeded {
    state: AtomicU64,
}

impl Seeded {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    /// The next 64 bits.
    pub fn bits(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let state = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Random for Seeded {
    fn unit(&self) -> f64 {
        // 32 bits are exact in an f64; more are not needed for a wait.
        f64::from(u32::try_from(self.bits() >> 32).unwrap_or(u32::MAX)) / (f64::from(u32::MAX) + 1.0)
    }
}

/// What `work` gives, or `None` once `length` is over.
pub(crate) async fn within<T>(clock: &dyn Clock, length: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep(length) => None,
    }
}

/// `at` and `length` more; as late as can be written, where that is later still.
#[must_use]
pub(crate) fn later(at: Timestamp, length: Duration) -> Timestamp {
    at.checked_add(length).unwrap_or(Timestamp::MAX)
}

/// From `now` to `at`; nothing if that is past.
#[must_use]
pub(crate) fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

/// A length for people: `0.8 s`, `90 s`.
#[must_use]
pub(crate) fn spoken(length: Duration) -> String {
    if length.subsec_millis() == 0 || length.as_secs() >= 10 {
        format!("{} s", length.as_secs())
    } else {
        format!("{:.1} s", length.as_secs_f64().max(0.1))
    }
}
