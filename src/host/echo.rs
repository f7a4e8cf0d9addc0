//! Whether a change is one that we made: causes, echoes and depth. Pure.
//!
//! A change is ours if every field that changed, and that a write can set, has the value we wrote or were answered. Of
//! a record that we created what we neither wrote nor were told was filled in by the system: ours too. A change that
//! mixes ours and another's fires, and still counts as caused.

use jiff::Timestamp;
use lf_lang::run::{
    Address, Entry, Request, Settlement,
    entry::{Intent, Sending},
};
use lf_module::{Key, Record, Value, call::ChangeKind};

use super::compare::{Delta, alike, differing};
use crate::store::{Expectation, RunId};

/// An expectation, and how the write behind it ended.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) id: i64,
    pub(super) expectation: Expectation,
    pub(super) standing: Standing,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Standing {
    /// In flight.
    Open,
    /// Done: the records it went to (several where a run wrote the same more than once), as they were answered.
    Settled(Vec<(Option<Key>, Record)>),
    /// It may have been done.
    Unknown,
    /// It was not done.
    Void,
}

/// What a change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Somebody else's.
    Foreign,
    /// Perhaps ours: the write that it fits is still in flight.
    Wait,
    Caused(Cause),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    /// The expectations that it fulfils.
    pub(super) fulfils: Vec<i64>,
    /// Nothing of it is another's.
    pub(super) whole: bool,
    /// All of it was written by runs of the listen that sees it.
    pub(super) own: bool,
    pub(super) run: RunId,
    /// Of the run that wrote.
    pub(super) depth: u32,
}

/// Judges one change. `counts`: whether a field is one that a write can set.
pub(super) fn judge<'e>(
    delta: &Delta,
    expected: impl IntoIterator<Item = &'e Expected>,
    counts: impl Fn(&str) -> bool,
) -> Verdict {
    let ours: Vec<&Expected> = expected.into_iter().filter(|expected| fits(delta, expected)).collect();
    if ours.is_empty() {
        return Verdict::Foreign;
    }
    if delta.kind == ChangeKind::Deleted {
        return caused(&ours, true);
    }
    let mut written = Record::new();
    let mut created = false;
    for expected in &ours {
        let answered = answered(expected, &delta.key);
        created |= expected.expectation.key.is_none();
        for (name, value) in answered.into_iter().flat_map(Record::iter).chain(expected.expectation.fields.iter()) {
            written.set(name.clone(), value.clone());
        }
    }
    let is_written = |name: &str| written.get(name).is_some_and(|value| Some(value) == delta.record.get(name));
    let changed: Vec<_> = match (&delta.before, delta.kind) {
        (Some(before), _) => differing(before, &delta.record),
        (None, ChangeKind::Created) => differing(&Record::new(), &delta.record),
        // The source does not say what it was: what we wrote is compared.
        (None, ChangeKind::Updated | ChangeKind::Deleted) => {
            ours.iter().flat_map(|expected| expected.expectation.fields.iter()).map(|(name, _)| name.clone()).collect()
        }
    };
    let mut changed: Vec<_> = changed.into_iter().filter(|name| counts(name)).collect();
    if created && delta.kind == ChangeKind::Created {
        changed.retain(|name| written.get(name).is_some());
    }
    let whole = changed.iter().all(|name| is_written(name));
    // What is in flight counts only where it shows.
    let shows = |expected: &&Expected| {
        expected.expectation.fields.iter().any(|(name, value)| {
            delta.record.get(name).unwrap_or(&Value::Absent) == value
                && (delta.kind == ChangeKind::Created || changed.contains(name))
        })
    };
    let contributing: Vec<&Expected> = ours.iter().copied().filter(shows).collect();
    if contributing.iter().any(|expected| expected.standing == Standing::Open) {
        return Verdict::Wait;
    }
    // Only what the system maintains moved (a time of change, a counter), and we wrote to this record.
    if changed.is_empty() && delta.before.is_some() {
        return if ours.iter().any(|expected| expected.standing == Standing::Open) {
            Verdict::Wait
        } else {
            caused(&ours, true)
        };
    }
    match (whole, contributing.is_empty()) {
        (true, true) if created => caused(&ours, true),
        (_, true) if created => caused(&ours, false),
        (_, true) => Verdict::Foreign,
        (whole, false) => caused(&contributing, whole),
    }
}

fn caused(ours: &[&Expected], whole: bool) -> Verdict {
    // What was sent twice, or made twice with the same values, shows twice: one change fulfils one expectation.
    let mut first: Vec<&Expected> = Vec::with_capacity(ours.len());
    for expected in ours {
        let same = |earlier: &&Expected| {
            let (one, other) = (&earlier.expectation, &expected.expectation);
            one.run == other.run && one.key == other.key && one.fields == other.fields
        };
        if !first.iter().any(same) {
            first.push(expected);
        }
    }
    let Some(deepest) = ours.iter().max_by_key(|expected| expected.expectation.depth) else { return Verdict::Foreign };
    Verdict::Caused(Cause {
        fulfils: first.iter().map(|expected| expected.id).collect(),
        whole,
        own: ours.iter().all(|expected| expected.expectation.listen == expected.expectation.watcher),
        run: deepest.expectation.run,
        depth: deepest.expectation.depth,
    })
}

/// Whether the change is of the record that the write went to.
fn fits(delta: &Delta, expected: &Expected) -> bool {
    let expectation = &expected.expectation;
    let deletes = expectation.key.is_some() && expectation.fields.is_empty();
    if deletes != (delta.kind == ChangeKind::Deleted) {
        return false;
    }
    let same_values = || {
        delta.kind == ChangeKind::Created
            && expectation
                .fields
                .iter()
                .all(|(name, value)| delta.record.get(name).is_none_or(|there| alike(there, value)))
    };
    match (&expected.standing, &expectation.key) {
        (Standing::Void, _) => false,
        (_, Some(key)) => *key == delta.key,
        (Standing::Settled(records), None) => records.iter().any(|(key, _)| match key {
            Some(key) => *key == delta.key,
            None => same_values(),
        }),
        (Standing::Open | Standing::Unknown, None) => same_values(),
    }
}

/// The answer to the write that went to this record.
fn answered<'e>(expected: &'e Expected, key: &Key) -> Option<&'e Record> {
    let Standing::Settled(records) = &expected.standing else { return None };
    records.iter().find(|(of, _)| of.as_ref() == Some(key)).map(|(_, fields)| fields)
}

/// How the write ended, as its run's journal says.
pub(super) fn standing(expectation: &Expectation, entries: &[Entry], now: Timestamp) -> Standing {
    let mut intents: Vec<(&Address, &Intent, Option<Standing>)> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Intent(intent) if is_of(intent, expectation) => {
                intents.retain(|(address, _, _)| **address != intent.address);
                intents.push((&intent.address, intent.as_ref(), None));
            }
            Entry::Settled { address, place: _, settlement, at: _ } => {
                let standing = match settlement {
                    Settlement::Written { handle, .. } => Standing::Settled(vec![landed(handle)]),
                    Settlement::Deleted => Standing::Settled(vec![(expectation.key.clone(), Record::new())]),
                    Settlement::Refused(_) | Settlement::Declined { .. } => Standing::Void,
                    Settlement::Records(_) | Settlement::Linked | Settlement::Woken { .. } => continue,
                };
                end(&mut intents, address, &standing);
            }
            Entry::Decided { address, done, why: _, at: _ } => {
                end(&mut intents, address, if *done { &Standing::Unknown } else { &Standing::Void });
            }
            Entry::Intent(_)
            | Entry::Started { .. }
            | Entry::Waiting(_)
            | Entry::Attempt { .. }
            | Entry::Finished { .. } => {}
        }
    }
    let mut records = Vec::new();
    // Of a run that is no longer kept nothing is known.
    let mut others = if intents.is_empty() { Standing::Unknown } else { Standing::Void };
    for (_, intent, ended) in intents {
        match ended {
            Some(Standing::Settled(settled)) => records.extend(settled),
            Some(Standing::Void) => {}
            Some(Standing::Open | Standing::Unknown) => others = Standing::Unknown,
            None if now < intent.until => return Standing::Open,
            None => others = Standing::Unknown,
        }
    }
    if records.is_empty() { others } else { Standing::Settled(records) }
}

fn end(intents: &mut [(&Address, &Intent, Option<Standing>)], at: &Address, standing: &Standing) {
    for (address, _, ended) in intents {
        if *address == at {
            *ended = Some(standing.clone());
        }
    }
}

fn is_of(intent: &Intent, expectation: &Expectation) -> bool {
    let ty = match &intent.request {
        Request::Read { .. } | Request::Link { .. } => return false,
        Request::Write(write) => &write.ty,
        Request::Delete { ty, key: _ } => ty,
    };
    *ty == expectation.ty
        && match &intent.sending {
            Sending::Create { origin: _, fields, idempotency: _ } => {
                expectation.key.is_none() && *fields == expectation.fields
            }
            Sending::Update { key, fields, idempotency: _ } => {
                expectation.key.as_ref() == Some(key) && *fields == expectation.fields
            }
            Sending::Delete { key, idempotency: _ } => {
                expectation.key.as_ref() == Some(key) && expectation.fields.is_empty()
            }
            Sending::Link { .. } => false,
        }
}

fn landed(handle: &Value) -> (Option<Key>, Record) {
    match handle {
        Value::Position(position) => (position.key.clone(), position.fields.clone()),
        Value::Record(record) => (None, record.as_ref().clone()),
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::File(_) => (None, Record::new()),
    }
}

#[cfg(test)]
mod tests;
