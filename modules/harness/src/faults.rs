//! The faults of the retry table, each by its name: what a server does to one request. Which of them
//! may be sent again is not known here; that is what the tests of the modules say.

use std::time::Duration;

use crate::server::{Reply, Step};

/// One way in which a request goes wrong at a server that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// An error status with nothing else to say.
    Status(u16),
    /// A status with `Retry-After` in seconds.
    AskedSeconds(u16, u64),
    /// A status with `Retry-After` as a date so many seconds after the response's own `Date`.
    AskedDate(u16, u64),
    /// A status with a `Retry-After` that cannot be read.
    AskedRubbish(u16),
    /// The request is read, then the connection is reset.
    ResetBeforeHead,
    /// The request is read, then the connection is closed.
    ClosedBeforeHead,
    /// A good head and half a body, then a reset.
    ResetMidBody,
    /// A good head and half a body, then an orderly end.
    CutBody,
    /// Nothing is ever answered.
    Silence,
    /// The answer comes a byte at a time, and takes longer than anyone waits.
    Trickle,
}

impl Fault {
    /// The reply that does it. Half a body is half of `good`.
    #[must_use]
    pub fn reply(self, good: &[u8]) -> Reply {
        let cut = |step| Reply::raw_json(good).cut(good.len() / 2, step);
        match self {
            Self::Status(status) => Reply::status(status).body("out of order"),
            Self::AskedSeconds(status, seconds) => {
                Reply::status(status).header("Retry-After", &seconds.to_string()).body("later")
            }
            Self::AskedDate(status, seconds) => {
                // Dates of a fixed day: only their difference counts, as the response says its own date.
                let (minutes, seconds) = (seconds / 60, seconds % 60);
                Reply::status(status)
                    .header("Date", "Mon, 05 Jan 2026 10:00:00 GMT")
                    .header("Retry-After", &format!("Mon, 05 Jan 2026 10:{minutes:02}:{seconds:02} GMT"))
                    .body("later")
            }
            Self::AskedRubbish(status) => Reply::status(status).header("Retry-After", "1.5").body("later"),
            Self::ResetBeforeHead => Reply::reset(),
            Self::ClosedBeforeHead => Reply::steps(vec![Step::Close]),
            Self::ResetMidBody => cut(Step::Reset),
            Self::CutBody => cut(Step::Close),
            Self::Silence => Reply::silence(),
            Self::Trickle => Reply::raw_json(good).trickle(Duration::from_millis(100)),
        }
    }
}
