//! What goes into the run machine and what comes out: the border between the pure part and the shell.
//!
//! Plain data. Matches on these are exhaustive everywhere: a new variant is a list of work made by the compiler.

use jiff::{SignedDuration, Timestamp};
use lf_module::{
    call::{Key, Origin, Tie},
    error::Kind,
    value::{Record, Value},
};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::{
    check::typed::EntryMode,
    plan::ir::{FunctionIndex, PlaceId},
    types::ConnectionId,
};

/// Which effect of a run: its place in the plan, the iterations around it (record keys; indexes where a list has
/// none) and its occurrence. Stable over a replay; a journal is looked up by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(pub SmolStr);

impl std::fmt::Display for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// What starts a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    pub function: FunctionIndex,
    /// One for each parameter.
    pub args: Vec<Value>,
    /// The instant of the change; `NOW()` all through the run.
    pub now: Timestamp,
}

/// What the machine is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Start.
    Fired(Fired),
    /// The effect at this address is settled.
    Settled { address: Address, settlement: Settlement },
}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// A read landed on these: positions, in the order asked for by the source.
    Records(Vec<Value>),
    /// A write was done; the handle (a position: answer over written fields, `created`).
    Written { handle: Value, created: bool, unchanged: bool },
    /// A delete was done.
    Deleted,
    /// Two records are joined, or apart, as was asked.
    Linked,
    /// The system said no, for good. Other failures end the attempt in the shell and never reach the machine.
    Refused(Failure),
    /// The same of a call whose refusal the text has a way for: that way is taken, now and in every replay.
    Declined { text: String, status: Option<i64> },
    /// A wait is over: what it gives, and the instant, which is `NOW()` from there on.
    Woken { value: Value, at: Timestamp },
}

/// What the machine wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Ask or change a system, then settle this address.
    Call {
        address: Address,
        place: PlaceId,
        connection: ConnectionId,
        request: Request,
        /// The text has a way for a refusal: it is settled as [`Settlement::Declined`].
        declines: bool,
    },
    /// Wait, then settle this address as [`Settlement::Woken`]. Several may be wanted at once, beside a call: what is
    /// settled first moves the run on.
    Await { address: Address, place: PlaceId, wait: Wait },
    /// The run is over.
    Finish(Finish),
}

impl Effect {
    /// What settles it.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Call { address, .. } | Self::Await { address, .. } => Some(address),
            Self::Finish(_) => None,
        }
    }
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Gives nothing.
    Sleep { length: SignedDuration },
    /// Gives the first record that [`crate::plan::Plan`]'s watch shows and for which the test is true; absent when the
    /// time is over.
    First { watch: u32, test: Test, most: SignedDuration },
    /// Gives whether the test came true.
    Until { test: Test, every: SignedDuration, most: SignedDuration },
}

/// A part of a function that is asked while it waits; see [`crate::run::ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    pub function: FunctionIndex,
    pub slots: Vec<Value>,
}

/// One call to a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Every record of one hop, whole, within the limits.
    Read {
        ty: SmolStr,
        origin: Origin,
        pins: Record,
        /// If not empty: only those records are needed that equal it, and others do no harm.
        #[serde(default, skip_serializing_if = "Record::is_empty")]
        by: Record,
    },
    Write(WriteRequest),
    Delete {
        ty: SmolStr,
        key: Key,
    },
    /// Joins two records, or takes them apart.
    Link {
        tie: Tie,
        join: bool,
    },
}

impl Request {
    /// Whether it only asks.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read { .. })
    }
}

/// A write before it is resolved against what is there (identity, `?:`, `+:`): the shell does that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRequest {
    pub ty: SmolStr,
    pub target: Target,
    pub entries: Vec<Entry>,
    /// Each line of `unique by` whose values are all there and not blank. Non-empty only on a create.
    pub unique: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Create { origin: Origin },
    Update { key: Key },
}

/// One field to write. `Set` is present; of the other modes see [`EntryMode`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub field: SmolStr,
    pub mode: EntryMode,
    pub value: Value,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Done(Value),
    Failed(Failure),
}

/// Why a run failed, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
    pub place: Option<PlaceId>,
}

/// What sort of failure: it decides about retry (runtime: kinds of error).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// ERROR, a limit of the language, division by zero. Not retried.
    Program,
    /// A system failed in one of the module's ways.
    Call(Kind),
    /// A write whose outcome is unknown.
    Unknown,
    /// The replay does not fit the journal: both sides are shown.
    Journal,
}
