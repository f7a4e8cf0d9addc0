//! The types of the language: a closed set.
//!
//! A described [`lf_module::FieldType`] becomes one of these; how they relate is `types/relation.rs`, how they are
//! written to a person `types/display.rs`.

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

impl Ty {
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
