//! Why an effect did not settle: what the executor decides by. Policy is the executor's, facts are here.

use std::time::Duration;

use jiff::Timestamp;
use lf_lang::run::Failure;
use smol_str::SmolStr;

use crate::store::StoreError;

#[derive(Debug)]
pub(super) enum Trouble {
    /// It may pass: another attempt. `wait`: how long the system asked for.
    Later { failure: Failure, wait: Option<Duration> },
    /// A write was sent, or may have been, and nothing is known of it before `until`. `again`: sending it again is
    /// harmless.
    Unknown { failure: Failure, again: bool, until: Timestamp },
    /// The connection is held; the run waits for that, uncounted.
    Held { connection: SmolStr, until: Timestamp, why: String },
    /// The system behind the connection is away, for others too; the same, and it was told already.
    Away { connection: SmolStr, until: Timestamp, why: String },
    /// The system said no to this effect: in its own words, and with its code for that.
    Refused { failure: Failure, said: String, status: Option<i64> },
    /// The run is over.
    Failed(Failure),
    /// The journal could not be written.
    Store(StoreError),
    /// A person switched the listen off.
    Off,
    /// The runner stops.
    Stopping,
}

impl Trouble {
    /// The trouble of a run, with what it sent; that of a connection concerns all runs.
    pub(super) fn of(mut self, sent: &str) -> Self {
        if let Self::Later { failure, .. } | Self::Refused { failure, .. } | Self::Failed(failure) = &mut self {
            failure.message.push_str("; sent ");
            failure.message.push_str(sent);
        }
        self
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Off => Self::Off,
            StoreError::Fenced
            | StoreError::Missing(_)
            | StoreError::State(_)
            | StoreError::Unusable(_)
            | StoreError::Away(_) => Self::Store(error),
        }
    }
}
