//! What goes into the run machine and what comes out: the border between the pure part and the shell.
//!
//! Plain data. Matches on these are exhaustive everywhere: a new variant is a list of work made by the compiler.

use jiff::Timestamp;
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
}

/// What the machine wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Ask or change a system, then settle this address.
    Call { address: Address, place: PlaceId, connection: ConnectionId, request: Request },
    /// The run is over.
    Finish(Finish),
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
