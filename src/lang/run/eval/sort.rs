//! Keys to sort by: text by code point, absent last whichever way the order goes.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp, civil::Date};
use lf_module::value::Value;
use rust_decimal::Decimal;
use smol_str::SmolStr;

use super::{drift, number, scalar};
use crate::run::io::Failure;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::run) enum SortKey {
    Bool(bool),
    Number(Decimal),
    Text(SmolStr),
    Date(Date),
    DateTime(Timestamp),
    Duration(SignedDuration),
    Absent,
}

impl SortKey {
    pub(in crate::run) fn of(value: &Value) -> Result<Self, Failure> {
        Ok(match value {
            Value::Absent => Self::Absent,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(number::decimal(number, "ORDER BY")?),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Date(date) => Self::Date(*date),
            Value::DateTime(instant) => Self::DateTime(*instant),
            Value::Duration(length) => Self::Duration(*length),
            Value::List(_) | Value::Record(_) | Value::Position(_) | Value::File(_) => {
                return Err(drift(format!("nothing is sorted by {}", scalar::kind(value))));
            }
        })
    }

    /// Refuses keys of different kinds.
    pub(in crate::run) fn same_kind<'k>(keys: impl Iterator<Item = &'k Self>) -> Result<(), Failure> {
        let mut keys = keys.filter(|key| **key != Self::Absent);
        let Some(first) = keys.next() else { return Ok(()) };
        if keys.all(|key| std::mem::discriminant(key) == std::mem::discriminant(first)) {
            Ok(())
        } else {
            Err(drift("values of different kinds have no order between them".to_owned()))
        }
    }

    pub(in crate::run) fn order(&self, other: &Self, descending: bool) -> Ordering {
        let present = *self != Self::Absent && *other != Self::Absent;
        if descending && present { other.cmp(self) } else { self.cmp(other) }
    }
}
