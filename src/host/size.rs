//! How large a value is, without writing it out: for the limits of a run.

use lf_module::{Record, Value};

/// About as many bytes as the value's journal form has.
pub(super) fn of(value: &Value) -> usize {
    match value {
        Value::Absent | Value::Bool(_) => 5,
        Value::Number(_) => 16,
        Value::Date(_) | Value::DateTime(_) | Value::Duration(_) => 32,
        Value::Text(text) => text.len().saturating_add(2),
        Value::List(items) => items.iter().map(|item| of(item).saturating_add(1)).fold(2, usize::saturating_add),
        Value::Record(record) => of_record(record),
        Value::File(file) => file.token.len().saturating_add(file.connection.len()).saturating_add(256),
        Value::Position(position) => {
            of_record(&position.fields).saturating_add(position.connection.len()).saturating_add(64)
        }
    }
}

/// The same for a record. No recursion past what its reader allowed in.
pub(super) fn of_record(record: &Record) -> usize {
    record
        .iter()
        .map(|(name, value)| of(value).saturating_add(name.len()).saturating_add(4))
        .fold(2, usize::saturating_add)
}
