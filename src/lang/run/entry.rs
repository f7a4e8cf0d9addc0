//! The journal's entries: what is worth remembering of a run.
//!
//! Versioned by [`VERSION`]; the encoding is JSON with the journal's tagged values. What an entry *is* stands here;
//! where it is kept is the store's.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::io::{Address, Finish, Fired, Request, Settlement};
use crate::{
    plan::ir::{PlaceId, PlanId},
    types::ConnectionId,
};

/// The version of the encoding.
pub const VERSION: u32 = 1;

/// One thing that happened in a run, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It began; the plan is kept, so a run ends with the text it began with.
    Started { plan: PlanId, fired: Fired },
    /// An effect that may change the world is about to be performed. Written before it is.
    Intent(Box<Intent>),
    /// A wait began.
    Waiting(Box<Waiting>),
    /// An effect is settled.
    Settled { address: Address, place: PlaceId, settlement: Settlement, at: Timestamp },
    /// An intent without an answer was decided: the system certainly did not act (`done: false`), or a person says
    /// which. It answers no replay; a runner turns `done: true` into a [`Entry::Settled`].
    Decided { address: Address, done: bool, why: String, at: Timestamp },
    /// An attempt ended without an end of the run; another follows.
    Attempt { number: u32, why: String, at: Timestamp },
    /// The run is over.
    Finished { finish: Finish, at: Timestamp },
}

/// An effect that may change the world, before it is performed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub address: Address,
    pub place: PlaceId,
    pub connection: ConnectionId,
    /// What is asked for, before identity is resolved.
    pub request: Request,
    /// What will be sent exactly, once resolved.
    pub sending: Sending,
    pub at: Timestamp,
    /// The wall-clock instant after which this intent is certainly not being sent any more.
    pub until: Timestamp,
}

/// A wait that began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub address: Address,
    pub place: PlaceId,
    /// What is heard since then counts: the run's last write, else the change that it is about.
    pub since: Timestamp,
    pub at: Timestamp,
    /// When it is over at the latest.
    pub until: Timestamp,
}

/// The resolved write of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sending {
    Create { origin: lf_module::call::Origin, fields: lf_module::Record, idempotency: SmolStr },
    Update { key: lf_module::Key, fields: lf_module::Record, idempotency: SmolStr },
    Delete { key: lf_module::Key, idempotency: SmolStr },
    Link { tie: lf_module::Tie, join: bool, idempotency: SmolStr },
}

impl Sending {
    /// The key under which the system would know it again.
    #[must_use]
    pub fn idempotency(&self) -> &SmolStr {
        match self {
            Self::Create { origin: _, fields: _, idempotency }
            | Self::Update { key: _, fields: _, idempotency }
            | Self::Delete { key: _, idempotency }
            | Self::Link { tie: _, join: _, idempotency } => idempotency,
        }
    }
}
