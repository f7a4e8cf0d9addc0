//! The bounds in time of one exchange. The only file here that waits.
//!
//! These are timers of the network, so they run on the runtime's time; the [`Clock`] port says what is
//! left of the call. A clock that skips sleeps would let every request time out at once.
#![expect(clippy::disallowed_methods, reason = "sockets live in real time; deadlines still come from the Clock port")]

use std::{future::Future, time::Duration};

use lf_module::Clock;
use tokio::time::Instant;

use crate::failure::{Failure, Phase};

/// How long an exchange may take. The time to connect is the client's.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Until the head of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub gap: Duration,
    /// The whole ends at this point of [`Clock::monotonic`]; `None` only for a stream that
    /// is listened to.
    pub until: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    first_byte: Duration,
    gap: Duration,
    end: Option<Instant>,
}

impl Timer {
    pub(crate) fn start(clock: &dyn Clock, bounds: &Bounds) -> Self {
        let end = bounds.until.map(|until| Instant::now() + until.saturating_sub(clock.monotonic()));
        Self { first_byte: bounds.first_byte, gap: bounds.gap, end }
    }

    /// `work`, unless its phase or the whole takes too long.
    pub(crate) async fn within<F: Future + Send>(&self, phase: Phase, work: F) -> Result<F::Output, Failure> {
        let length = match phase {
            Phase::Gap => self.gap,
            Phase::Connect | Phase::FirstByte | Phase::Whole => self.first_byte,
        };
        let end = Instant::now() + length;
        let (end, phase) = match self.end {
            Some(whole) if whole <= end => (whole, Phase::Whole),
            Some(_) | None => (end, phase),
        };
        tokio::time::timeout_at(end, work).await.map_err(|_| Failure::Timeout(phase))
    }
}

/// `work`, unless `until` (of [`Clock::monotonic`]) comes first: for waiting on other calls of this process.
///
/// # Errors
/// [`Failure::Timeout`] of the whole.
pub async fn by<F: Future + Send>(clock: &dyn Clock, until: Duration, work: F) -> Result<F::Output, Failure> {
    let left = until.saturating_sub(clock.monotonic());
    tokio::time::timeout(left, work).await.map_err(|_| Failure::Timeout(Phase::Whole))
}
