//! The plain data of a call: what the host asks of a connection, and what it answers.

use std::time::Duration;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::value::{Record, Value};

/// What identifies a record in its system, in one canonical text form (a number key is its digits).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub SmolStr);

impl std::fmt::Display for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// A place in a source or a listing. Only the module that made it can read it. At most 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub String);

/// What goes with every call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Nothing may be sent or awaited past this point of [`crate::Clock::monotonic`].
    pub deadline: Duration,
    /// The key under which a repeated write is recognised by a system that honours one. The same
    /// for every attempt at one effect, before and after a crash.
    pub idempotency: Option<SmolStr>,
}

/// Where a read starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// At the connection's root: `crm-[:Company]->`.
    Root,
    /// At one record: `company-[:People]->`.
    Record {
        /// The record's type.
        ty: SmolStr,
        /// The record's key.
        key: Key,
        /// The edge that is walked.
        edge: SmolStr,
    },
}

/// One read of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The type that is landed on.
    pub ty: SmolStr,
    /// Where the hop starts.
    pub origin: Origin,
    /// The pinned fields, by name.
    pub pins: Record,
    /// Where the last page ended; `None` for the first.
    pub page: Option<Cursor>,
}

/// One record that a read, a find or a listing landed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// Its key; `None` where the type has none.
    pub key: Option<Key>,
    /// The system's own version of it, if it has one (an ETag, a sequence, a timestamp).
    pub version: Option<SmolStr>,
    /// Its fields. Every readable field that is not optional must be there.
    pub fields: Record,
}

/// A page of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The records, in the source's order.
    pub records: Vec<Landed>,
    /// Where the next page starts; `None` after the last.
    pub next: Option<Cursor>,
}

/// One change of the outside world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Create a record, or act (call a tool).
    Create {
        /// The type.
        ty: SmolStr,
        /// At the root, or the record and the edge under which the new one is to stand.
        origin: Origin,
        /// The fields to set; an absent value never occurs here.
        fields: Record,
    },
    /// Change fields of one record.
    Update {
        /// The type.
        ty: SmolStr,
        /// The record.
        key: Key,
        /// The fields that change. [`Value::Absent`] empties a field.
        fields: Record,
    },
    /// Delete one record. One that is already gone is not an error.
    Delete {
        /// The type.
        ty: SmolStr,
        /// The record.
        key: Key,
    },
    /// Join two records by an edge. Two that are joined already stay so, and that is no error.
    Link(Tie),
    /// Take two records apart. Two that are not joined stay so, and that is no error.
    Unlink(Tie),
}

impl Write {
    /// The type that is written: of a tie, the type that its edge starts at.
    #[must_use]
    pub fn ty(&self) -> &SmolStr {
        match self {
            Self::Create { ty, origin: _, fields: _ }
            | Self::Update { ty, key: _, fields: _ }
            | Self::Delete { ty, key: _ }
            | Self::Link(Tie { ty, key: _, edge: _, to: _ })
            | Self::Unlink(Tie { ty, key: _, edge: _, to: _ }) => ty,
        }
    }
}

/// Two records and the edge between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tie {
    /// The type that the edge starts at.
    pub ty: SmolStr,
    /// The record that it starts at.
    pub key: Key,
    /// The edge.
    pub edge: SmolStr,
    /// The record that it leads to, of the edge's target type.
    pub to: Key,
}

/// What a system answered to a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The record's key, if it has one.
    pub key: Option<Key>,
    /// Whether the record is new.
    pub created: bool,
    /// The system's version of the record after the write, if it told.
    pub version: Option<SmolStr>,
    /// The answer's fields (for a record: as it stands now, as far as the system told).
    pub fields: Record,
    /// What the author should hear although the write succeeded (an answer that breaks its schema).
    pub warnings: Vec<String>,
}

/// Whether sending the same write again, after an unknown outcome, is harmless.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Yes: the second does nothing new (a PUT of the same value, a DELETE).
    Harmless,
    /// Yes, with the same idempotency key.
    ByKey,
    /// No: it could be done twice.
    #[default]
    Never,
}

/// Which records fire when a listen is started for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Only what changes from now on.
    #[default]
    Now,
    /// What exists too, as created, once.
    All,
}

/// A request to listen to a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// The type.
    pub ty: SmolStr,
    /// The pinned fields of the listen's WHERE.
    pub pins: Record,
    /// How often a polled source is asked.
    pub every: Duration,
    /// The position after the last batch that was stored; `None` at the very first start.
    pub from: Option<Cursor>,
}

/// What a source hands over at once. The host stores events and cursor in one transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The events in order.
    pub events: Vec<Event>,
    /// The position after them; `None` leaves the stored one.
    pub cursor: Option<Cursor>,
}

/// What a source can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The source knows that a record changed, and how.
    Changed(Changed),
    /// A polled source saw a record. The *host* compares it with what it last saw under this key (by
    /// version, else by content) and decides whether it was created, updated or is unchanged.
    Listed(Landed),
    /// A whole listing is through: keys seen before it and not in it are gone. At a first start this also
    /// ends the baseline, the part that fires only under `start: "all"`.
    ListingEnded {
        /// Whether the listing was of every record, so that missing keys mean deletion.
        complete: bool,
    },
}

/// One change that a source reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The source's id of this delivery; the same id is delivered once.
    pub delivery: SmolStr,
    /// The record's key.
    pub key: Key,
    /// What happened.
    pub kind: ChangeKind,
    /// The record after the change (before it, for a deletion, as far as known).
    pub record: Record,
    /// The system's version of it.
    pub version: Option<SmolStr>,
    /// When, if the source tells.
    pub at: Option<Timestamp>,
    /// Who, if the source tells.
    pub by: Option<SmolStr>,
}

/// What happened to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Fields of it differ.
    Updated,
    /// It is gone.
    Deleted,
}

/// Settings and arguments as data: names to literal values.
pub type Settings = IndexMap<SmolStr, Value>;
