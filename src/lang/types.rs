//! The types of the language: a closed set.
//!
//! A described [`lf_module::FieldType`] becomes one of these; how they relate is `types/relation.rs`, how they are
//! written to a person `types/display.rs`.

pub mod display;
pub mod relation;

use lf_module::FieldType;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// One connection of a movement: an index into [`crate::check::typed::Movement::connections`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConnectionId(pub u32);

/// A described type of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TypeRef {
    pub connection: ConnectionId,
    pub ty: SmolStr,
}

/// The type of an expression. There is no unknown: an expression without a type does not leave the checker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ty {
    Text,
    Number,
    Boolean,
    Date,
    Datetime,
    Duration,
    Json,
    /// A file: name, media type, size; its bytes are read when it is written somewhere.
    File,
    /// One of these texts; never empty, in the order of declaration.
    Choice(Vec<SmolStr>),
    List(Box<Ty>),
    /// Fields by name, structural.
    Record(Vec<(SmolStr, Ty)>),
    /// One record of a described type.
    Position(TypeRef),
    /// What a write gives back: answer, written fields, `created`, the type's edges.
    Handle(TypeRef),
    /// What happened: `kind`, `fields`, `before`, `at`, `by`.
    Change,
    /// `T | absent`; never nested, never of `Absent`.
    Optional(Box<Ty>),
    /// The type of `null`.
    Absent,
    /// The type of `[]`: fits every list.
    EmptyList,
}

/// The most parts of one type.
pub const MOST_PARTS: usize = 4096;
/// How deep one type nests.
pub const MOST_DEPTH: usize = 64;

/// What sort of value a type has, when its parts do not matter: what a comparison asks of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Boolean,
    Date,
    Datetime,
    Duration,
    Json,
    File,
    List,
    /// A record, a position, a handle or a change.
    Record,
    Absent,
}

impl Kind {
    /// The word for it in messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::Duration => "duration",
            Self::Json => "json",
            Self::File => "file",
            Self::List => "list",
            Self::Record => "record",
            Self::Absent => "absent",
        }
    }

    /// A value that has a text form: what an interpolation and `TEXT` take.
    #[must_use]
    pub fn is_scalar(self) -> bool {
        match self {
            Self::Text | Self::Number | Self::Boolean | Self::Date | Self::Datetime | Self::Duration => true,
            Self::Json | Self::File | Self::List | Self::Record | Self::Absent => false,
        }
    }

    /// Has an order: `<`, `SORT`, `MIN`, `ORDER BY`.
    #[must_use]
    pub fn is_ordered(self) -> bool {
        match self {
            Self::Text | Self::Number | Self::Date | Self::Datetime | Self::Duration => true,
            Self::Boolean | Self::Json | Self::File | Self::List | Self::Record | Self::Absent => false,
        }
    }
}

impl From<&FieldType> for Ty {
    fn from(field: &FieldType) -> Self {
        match field {
            FieldType::Text => Self::Text,
            FieldType::Number => Self::Number,
            FieldType::Boolean => Self::Boolean,
            FieldType::Date => Self::Date,
            FieldType::Datetime => Self::Datetime,
            FieldType::Duration => Self::Duration,
            FieldType::Json => Self::Json,
            FieldType::File => Self::File,
            FieldType::Choice(members) if members.is_empty() => Self::Text,
            FieldType::Choice(members) => Self::Choice(members.clone()),
            FieldType::List(item) => Self::List(Box::new(Self::from(item.as_ref()))),
        }
    }
}

impl Ty {
    /// The sort of value, looking through `| absent`.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Text | Self::Choice(_) => Kind::Text,
            Self::Number => Kind::Number,
            Self::Boolean => Kind::Boolean,
            Self::Date => Kind::Date,
            Self::Datetime => Kind::Datetime,
            Self::Duration => Kind::Duration,
            Self::Json => Kind::Json,
            Self::File => Kind::File,
            Self::List(_) | Self::EmptyList => Kind::List,
            Self::Record(_) | Self::Position(_) | Self::Handle(_) | Self::Change => Kind::Record,
            Self::Optional(inner) => inner.kind(),
            Self::Absent => Kind::Absent,
        }
    }

    /// Whether a value of this type may be absent.
    #[must_use]
    pub fn may_be_absent(&self) -> bool {
        matches!(self, Self::Optional(_) | Self::Absent)
    }

    /// The described type of a position or a handle.
    #[must_use]
    pub fn described(&self) -> Option<&TypeRef> {
        if let Self::Position(of) | Self::Handle(of) = self { Some(of) } else { None }
    }

    /// The one text that a value of this type can be: a literal, or a name bound to one.
    #[must_use]
    pub fn known_text(&self) -> Option<&SmolStr> {
        let Self::Choice(members) = self else { return None };
        if let [only] = members.as_slice() { Some(only) } else { None }
    }

    /// Whether it is small enough to be carried around: at most so many parts, nesting at most so deep.
    #[must_use]
    pub fn is_small(&self) -> bool {
        let mut open = vec![(self, 0)];
        let mut parts = 0;
        while let Some((ty, depth)) = open.pop() {
            parts += 1;
            if parts > MOST_PARTS || depth > MOST_DEPTH {
                return false;
            }
            match ty {
                Self::List(inner) | Self::Optional(inner) => open.push((inner, depth + 1)),
                Self::Record(fields) => open.extend(fields.iter().map(|(_, ty)| (ty, depth + 1))),
                Self::Text
                | Self::Number
                | Self::Boolean
                | Self::Date
                | Self::Datetime
                | Self::Duration
                | Self::Json
                | Self::File
                | Self::Choice(_)
                | Self::Position(_)
                | Self::Handle(_)
                | Self::Change
                | Self::Absent
                | Self::EmptyList => {}
            }
        }
        true
    }

    /// `T | absent`, without nesting.
    #[must_use]
    pub fn optional(self) -> Self {
        match self {
            Self::Optional(_) | Self::Absent => self,
            Self::Text
            | Self::Number
            | Self::Boolean
            | Self::Date
            | Self::Datetime
            | Self::Duration
            | Self::Json
            | Self::File
            | Self::Choice(_)
            | Self::List(_)
            | Self::Record(_)
            | Self::Position(_)
            | Self::Handle(_)
            | Self::Change
            | Self::EmptyList => Self::Optional(Box::new(self)),
        }
    }

    /// The type without `| absent`; `None` for `absent` alone.
    #[must_use]
    pub fn present(&self) -> Option<&Self> {
        match self {
            Self::Optional(inner) => Some(inner),
            Self::Absent => None,
            Self::Text
            | Self::Number
            | Self::Boolean
            | Self::Date
            | Self::Datetime
            | Self::Duration
            | Self::Json
            | Self::File
            | Self::Choice(_)
            | Self::List(_)
            | Self::Record(_)
            | Self::Position(_)
            | Self::Handle(_)
            | Self::Change
            | Self::EmptyList => Some(self),
        }
    }
}
