//! What a field holds: the plain values that modules, the language and the journal share.
//!
//! Values are immutable and cheap to clone (text, lists and records are reference-counted). There is
//! one empty value, [`Value::Absent`]: a field that is missing and a JSON `null` are the same thing
//! to a movement. No arithmetic and no comparison lives here; that is the language's.

use std::sync::Arc;

use indexmap::IndexMap;
use jiff::{SignedDuration, Timestamp, civil::Date};
use smol_str::SmolStr;

use crate::{call::Key, file::File, number::Number};

/// Fields by name, in the order in which the system gave them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record(pub IndexMap<SmolStr, Value>);

impl Record {
    /// A record without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `name`; `None` if there is no such field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Sets `name`, keeping its place if it was there.
    pub fn set(&mut self, name: impl Into<SmolStr>, value: Value) {
        self.0.insert(name.into(), value);
    }

    /// The fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&SmolStr, &Value)> {
        self.0.iter()
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no field at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<SmolStr>> FromIterator<(N, Value)> for Record {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(fields: I) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// One record of one type of one connection, as it was when it was read, written or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The connection's identity within the project (module, credential and settings).
    pub connection: SmolStr,
    /// The described type's name.
    pub ty: SmolStr,
    /// What identifies the record in its system; `None` where the type has no key (a tool's answer).
    pub key: Option<Key>,
    /// The fields known of it.
    pub fields: Record,
}

/// A value of a movement, a field or an argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Value {
    /// Nothing: a missing field, or JSON `null`.
    #[default]
    Absent,
    /// `true` or `false`.
    Bool(bool),
    /// An exact number.
    Number(Number),
    /// Unicode text.
    Text(SmolStr),
    /// A calendar day.
    Date(Date),
    /// An instant in UTC.
    DateTime(Timestamp),
    /// A length of time.
    Duration(SignedDuration),
    /// Values in order.
    List(Arc<Vec<Value>>),
    /// Named fields; also any JSON object.
    Record(Arc<Record>),
    /// A record that can be walked from, updated or deleted.
    Position(Arc<Position>),
    /// A file: where its bytes are.
    File(Arc<File>),
}

impl Value {
    /// Text of anything that reads as text.
    #[must_use]
    pub fn text(text: impl Into<SmolStr>) -> Self {
        Self::Text(text.into())
    }

    /// A list.
    #[must_use]
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Arc::new(items))
    }

    /// A record.
    #[must_use]
    pub fn record(record: Record) -> Self {
        Self::Record(Arc::new(record))
    }

    /// A file.
    #[must_use]
    pub fn file(file: File) -> Self {
        Self::File(Arc::new(file))
    }

    /// Whether this is [`Value::Absent`].
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// The text, if this is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Every file in it, in order, however deep: what has bytes of its own.
    #[must_use]
    pub fn files(&self) -> Vec<&Arc<File>> {
        match self {
            Self::File(file) => vec![file],
            Self::List(items) => items.iter().flat_map(Self::files).collect(),
            Self::Record(record) => record.iter().flat_map(|(_, value)| value.files()).collect(),
            // Those of another record are that record's.
            Self::Position(_)
            | Self::Absent
            | Self::Bool(_)
            | Self::Number(_)
            | Self::Text(_)
            | Self::Date(_)
            | Self::DateTime(_)
            | Self::Duration(_) => Vec::new(),
        }
    }

    /// The same with each file as `change` gives it.
    ///
    /// # Errors
    /// That of `change`.
    pub fn with_files<E>(self, change: &mut impl FnMut(Arc<File>) -> Result<Arc<File>, E>) -> Result<Self, E> {
        Ok(match self {
            Self::File(file) => Self::File(change(file)?),
            Self::List(items) => {
                let items = Arc::unwrap_or_clone(items).into_iter();
                Self::list(items.map(|item| item.with_files(change)).collect::<Result<_, _>>()?)
            }
            Self::Record(record) => {
                let fields = Arc::unwrap_or_clone(record).0.into_iter();
                let fields = fields.map(|(name, value)| Ok((name, value.with_files(change)?)));
                Self::record(fields.collect::<Result<_, E>>()?)
            }
            Self::Position(_)
            | Self::Absent
            | Self::Bool(_)
            | Self::Number(_)
            | Self::Text(_)
            | Self::Date(_)
            | Self::DateTime(_)
            | Self::Duration(_) => self,
        })
    }

    /// The field `name` of a record or a position; `None` where there is none.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Record(record) => record.get(name),
            Self::Position(position) => position.fields.get(name),
            Self::Absent
            | Self::Bool(_)
            | Self::Number(_)
            | Self::Text(_)
            | Self::Date(_)
            | Self::DateTime(_)
            | Self::Duration(_)
            | Self::List(_)
            | Self::File(_) => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Number::from(number))
    }
}
