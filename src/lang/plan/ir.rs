//! The plan: what a runner stores, sends between processes and runs. Serialisable, stable order, content-hashed.
//!
//! Spans are gone; places (file, line, column, the line's text) stay for the ledger. No secrets, no handles: a
//! connection is its key.

use std::{collections::BTreeMap, time::Duration};

use lf_module::{
    call::{ChangeKind, Start},
    value::Value,
};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::{check::catalog::ConnectionKey, types::ConnectionId};

/// SHA-256 of the plan's canonical encoding, in hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(pub SmolStr);

/// An index into [`Plan::places`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlaceId(pub u32);

/// An index into [`Plan::functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FunctionIndex(pub u32);

/// A whole program, ready to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this encoding; a runner refuses one it does not know.
    pub format: u32,
    pub connections: Vec<Connection>,
    pub listens: Vec<Listen>,
    /// Where in the text things stand, for people.
    pub places: Vec<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    pub key: ConnectionKey,
    /// The author's name for it, for messages.
    pub name: SmolStr,
    pub module: SmolStr,
    pub using: Option<SmolStr>,
    pub settings: BTreeMap<SmolStr, Value>,
}

/// A place in the text, as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub file: SmolStr,
    pub line: u32,
    pub column: u32,
    /// The source line, trimmed, at most 120 characters.
    pub text: SmolStr,
}

/// What starts work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listen {
    /// The identity that a position belongs to: the label if there is one, else path and function:
    /// `crm-[:Company]-> fire triage`.
    pub name: SmolStr,
    pub place: PlaceId,
    pub connection: ConnectionId,
    pub ty: SmolStr,
    /// Evaluated pins, sent to the source.
    pub pins: BTreeMap<SmolStr, Value>,
    pub fire: FunctionIndex,
    /// The fired function's name, for messages.
    pub function: SmolStr,
    pub with_change: bool,
    pub kinds: Vec<ChangeKind>,
    pub every: Duration,
    pub start: Start,
    pub concurrency: u32,
    /// Attempts in all for a failed run.
    pub retry: u32,
    pub echo: bool,
    pub timeout: Duration,
}

impl Plan {
    #[must_use]
    pub fn place(&self, id: PlaceId) -> Option<&Place> {
        self.places.get(id.0 as usize)
    }

    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.0 as usize)
    }
}
