//! What a connection says of itself: its types, their fields, and what may be done with them.
//!
//! A promise that is not made is a promise not kept: every capability here defaults to "no". The
//! checker proves movements against this and nothing else, so it must be complete and plain data.
//! It is stored in the lock file: keep it stable and ordered.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// Everything a connection says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    /// The types, in the system's order. Names are unique.
    pub types: Vec<TypeShape>,
    /// What could not be understood and what was done instead; one sentence each, naming the type.
    pub warnings: Vec<String>,
    /// Facts for people (`describe`, `doctor`): protocol, server name, version.
    pub facts: Vec<(String, String)>,
}

impl Description {
    /// The type called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&TypeShape> {
        self.types.iter().find(|shape| shape.name == name)
    }
}

/// How many records an edge or a root hop lands on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Exactly one (the answer of a tool).
    One,
    /// None or one.
    Optional,
    /// Any number.
    #[default]
    Many,
}

/// One type of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TypeShape {
    /// The name that a movement writes in a hop.
    pub name: SmolStr,
    /// What the system says about it; untrusted text.
    pub doc: Option<String>,
    /// Every field, readable or writable.
    pub fields: Vec<Field>,
    /// The field that identifies a record, if there is one.
    pub key: Option<SmolStr>,
    /// How many records a hop from the root lands on.
    pub count: Count,
    /// Whether the root hop gives its records in an order of its own (so `LIMIT` needs no `ORDER BY`).
    pub ordered: bool,
    /// Fields that a read fixes with `==`.
    pub pins: Vec<Pin>,
    /// Ways to other types.
    pub edges: Vec<Edge>,
    /// A movement may read it.
    pub readable: bool,
    /// A movement may create it (or act, for a tool) with `write`.
    pub writable: bool,
    /// A record of it may be changed in place.
    pub updatable: bool,
    /// A record of it may be deleted.
    pub deletable: bool,
    /// How it can be listened to; `None` if it cannot.
    pub listenable: Option<Listening>,
    /// The sets of fields by which `find` can look records up, for `unique by` and for a WHERE that fixes them.
    pub find_by: Vec<Vec<SmolStr>>,
    /// Why it can be neither read nor written, where that needs saying (a tool that needs tasks).
    pub unusable: Option<String>,
    /// Whether sending a create again is harmless, for the person who reads `describe`.
    pub create_repeat: crate::call::Repeat,
}

impl TypeShape {
    /// The field called `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The pin on `name`.
    #[must_use]
    pub fn pin(&self, name: &str) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.field == name)
    }

    /// The edge called `name`.
    #[must_use]
    pub fn edge(&self, name: &str) -> Option<&Edge> {
        self.edges.iter().find(|edge| edge.name == name)
    }
}

/// One field of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name, as a movement writes it.
    pub name: SmolStr,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: FieldType,
    /// What the system says about it; untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// A read or an answer holds it.
    #[serde(default)]
    pub readable: bool,
    /// A write may set it.
    #[serde(default)]
    pub writable: bool,
    /// A create must set it.
    #[serde(default)]
    pub required: bool,
    /// It may be missing or null when read, so its type is `T | absent`.
    #[serde(default)]
    pub optional: bool,
    /// Absence may be tested without a warning although the type says present (a tool's answer field
    /// that its schema does not require).
    #[serde(default)]
    pub doubtful: bool,
    /// A write may empty it (`ELSE CLEAR`).
    #[serde(default)]
    pub clearable: bool,
    /// A text that is bytes in a form of its own (base64): a write may give a file instead, and the module sends its
    /// bytes in that form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_file: bool,
}

impl Field {
    /// A field that a read or an answer always holds and that no write sets: the start of every other field.
    #[must_use]
    pub fn readable(name: impl Into<SmolStr>, ty: FieldType) -> Self {
        Self {
            name: name.into(),
            ty,
            doc: None,
            readable: true,
            writable: false,
            required: false,
            optional: false,
            doubtful: false,
            clearable: false,
            takes_file: false,
        }
    }
}

/// A field that a read may, or must, fix with `==`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The field's name; its type is that field's.
    pub field: SmolStr,
    /// A read without it is refused.
    pub required: bool,
}

/// A way from a record to records of another type of the same connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Its name, as a movement writes it.
    pub name: SmolStr,
    /// The type it lands on.
    pub target: SmolStr,
    /// How many records it lands on.
    pub count: Count,
    /// Whether they come in an order of their own.
    pub ordered: bool,
    /// A movement may create a record of the target under one of this type: `write company-[:People]-> { … }`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub creatable: bool,
    /// A movement may `link` a record to one that is there, and `unlink` it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub linkable: bool,
    /// What the system says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
}

impl Edge {
    /// An edge that can be walked and no more: the start of every other one.
    #[must_use]
    pub fn to(name: impl Into<SmolStr>, target: impl Into<SmolStr>, count: Count) -> Self {
        Self {
            name: name.into(),
            target: target.into(),
            count,
            ordered: false,
            creatable: false,
            linkable: false,
            doc: None,
        }
    }
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// Unicode text.
    Text,
    /// An exact number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A calendar day.
    Date,
    /// An instant.
    Datetime,
    /// A length of time.
    Duration,
    /// Any JSON value, opaque.
    Json,
    /// One of these texts.
    Choice(Vec<SmolStr>),
    /// Values of one type, in order.
    List(Box<FieldType>),
    /// A file: its bytes are asked for when they are written somewhere.
    File,
}

/// How changes of a type reach a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The way.
    pub how: How,
    /// Whether deletions are seen.
    pub deletions: bool,
    /// How often a polled system may well be asked, in seconds, where a listen does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// Fields that a `WHERE` of the listen must or may pin, by name.
    #[serde(default)]
    pub pins: Vec<Pin>,
}

/// The four ways in which a source hands over changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A stream from the system.
    Push,
    /// Asking again and again.
    Poll,
    /// The system calls this project.
    Webhook,
    /// Time.
    Clock,
}
