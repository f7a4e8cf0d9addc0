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
    /// The system said no to this effect.
    Refused(Failure),
    /// The run is over.
    Failed(Failure),
    /// The journal could not be written.
    Store(StoreError),
    /// The runner stops.
    Stopping,
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
