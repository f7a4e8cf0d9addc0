//! JSON Pointers (RFC 6901) into answers, and into a schema to see whether they can lead anywhere.

use std::fmt;

use lf_module::Value;

/// A JSON Pointer. The empty one is the whole document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pointer(Vec<String>);

impl Pointer {
    /// Reads `/a/b~1c`. `None` if the text is no pointer.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let rest = text.strip_prefix('/')?;
        Some(Self(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// A pointer to one field, whatever is in its name.
    pub(crate) fn field(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    pub(crate) fn tokens(&self) -> &[String] {
        &self.0
    }

    /// What it points to; `None` if there is nothing.
    pub(crate) fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, token| match value {
            Value::List(items) => items.get(token.parse::<usize>().ok()?),
            Value::Record(record) => record.get(token),
            Value::Position(_)
            | Value::Absent
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::File(_) => None,
        })
    }

    /// The pointer to `token` below this one.
    pub(crate) fn join(&self, token: &str) -> Self {
        let mut tokens = self.0.clone();
        tokens.push(token.to_owned());
        Self(tokens)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| write!(out, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}
