//! What a write comes to against what is there: the fields to send, or that nothing differs. Pure.

use lf_lang::{check::typed::EntryMode, run::io::Entry};
use lf_module::{Landed, Record, Value, json};

use super::compare::alike;

/// The fields of a new record.
pub(super) fn created(entries: &[Entry]) -> Record {
    entries
        .iter()
        .filter(|entry| !entry.value.is_absent())
        .map(|entry| (entry.field.clone(), entry.value.clone()))
        .collect()
}

/// Whether the entries can be written without knowing the record as it is.
pub(super) fn is_blind(entries: &[Entry]) -> bool {
    entries.iter().all(|entry| match entry.mode {
        EntryMode::Set | EntryMode::SetOrSkip | EntryMode::SetOrClear => true,
        EntryMode::Fill | EntryMode::Add => false,
    })
}

/// The fields to change of a record that is there; empty if nothing differs. Without `current`, all that are set.
pub(super) fn changed(entries: &[Entry], current: Option<&Record>) -> Record {
    let mut fields = Record::new();
    for entry in entries {
        let there = current.and_then(|record| record.get(&entry.field)).unwrap_or(&Value::Absent);
        let wanted = match entry.mode {
            EntryMode::Set | EntryMode::SetOrSkip if entry.value.is_absent() => continue,
            EntryMode::Set | EntryMode::SetOrSkip | EntryMode::SetOrClear => entry.value.clone(),
            EntryMode::Fill if entry.value.is_absent() || !is_empty(there) => continue,
            EntryMode::Fill => entry.value.clone(),
            EntryMode::Add => with_members(there, &entry.value),
        };
        if current.is_none() || !alike(&wanted, there) {
            fields.set(entry.field.clone(), wanted);
        }
    }
    fields
}

/// How an identity is written, for its lock and for the store.
pub(super) fn identity(by: &Record) -> String {
    json::canonical(&Value::record(by.clone()))
}

/// The different records among those found, by key, in order; those without a key cannot be told apart.
pub(super) fn distinct(found: Vec<Landed>) -> Vec<Landed> {
    let mut records: Vec<Landed> = Vec::new();
    for landed in found {
        if landed.key.is_none() || !records.iter().any(|known| known.key == landed.key) {
            records.push(landed);
        }
    }
    records
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Absent => true,
        Value::List(items) => items.is_empty(),
        Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Record(_)
        | Value::Position(_)
        | Value::File(_) => false,
    }
}

/// The members that are there and, after them, those that are not yet.
fn with_members(there: &Value, added: &Value) -> Value {
    let mut members: Vec<Value> = if let Value::List(items) = there { items.as_ref().clone() } else { Vec::new() };
    let new: Vec<Value> = match added {
        Value::List(items) => items.as_ref().clone(),
        Value::Absent => Vec::new(),
        one @ (Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Record(_)
        | Value::Position(_)
        | Value::File(_)) => vec![one.clone()],
    };
    for member in new {
        if !members.iter().any(|known| alike(known, &member)) {
            members.push(member);
        }
    }
    if members.is_empty() { there.clone() } else { Value::list(members) }
}

#[cfg(test)]
mod tests;
