//! What an event of a source means against what was last seen: new, changed, gone, or nothing. Pure.

use std::{collections::BTreeMap, fmt::Write as _};

use jiff::Timestamp;
use lf_module::{
    Key, Landed, Record, Value,
    call::{ChangeKind, Changed},
    json,
};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use crate::store::Seen;

/// What was seen of one record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sight {
    /// As it was.
    Same(Key),
    /// To be remembered; it does not fire.
    Known(Seen),
    Change(Box<Delta>),
}

/// A change of one record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Delta {
    pub(super) key: Key,
    pub(super) kind: ChangeKind,
    pub(super) record: Record,
    pub(super) before: Option<Record>,
    pub(super) version: SmolStr,
    /// The same change has the same delivery, also when it is handed over again.
    pub(super) delivery: SmolStr,
    pub(super) at: Option<Timestamp>,
    pub(super) by: Option<SmolStr>,
}

impl Delta {
    /// What to remember of the record; `None` for one that is gone.
    pub(super) fn seen(&self) -> Option<Seen> {
        (self.kind != ChangeKind::Deleted).then(|| Seen {
            key: self.key.clone(),
            version: self.version.clone(),
            record: self.record.clone(),
        })
    }
}

/// A record as a source shows it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) key: Key,
    /// The system's own, else the content's hash.
    version: SmolStr,
    how: How,
}

#[derive(Debug)]
enum How {
    Listed(Record),
    Changed(Changed),
}

impl Shown {
    /// By a listing.
    pub(super) fn listed(landed: Landed) -> Self {
        let Landed { key, version, fields } = landed;
        let (key, version) = match (key, version) {
            (Some(key), Some(version)) => (key, version),
            (key, version) => {
                let hash = content(&fields);
                (key.unwrap_or_else(|| Key(hash.clone())), version.unwrap_or(hash))
            }
        };
        Self { key, version, how: How::Listed(fields) }
    }

    /// As a change that the source reports.
    pub(super) fn changed(changed: Changed) -> Self {
        let version = changed.version.clone().unwrap_or_else(|| content(&changed.record));
        Self { key: changed.key.clone(), version, how: How::Changed(changed) }
    }
}

/// What is known of the records that a source shows at once: the version of each, and the whole of those that are not
/// as they were.
#[derive(Debug, Default)]
pub(super) struct Known {
    versions: BTreeMap<Key, SmolStr>,
    whole: BTreeMap<Key, Seen>,
}

impl Known {
    pub(super) fn new(versions: BTreeMap<Key, SmolStr>) -> Self {
        Self { versions, whole: BTreeMap::new() }
    }

    /// The whole of some.
    pub(super) fn learn(&mut self, whole: BTreeMap<Key, Seen>) {
        self.whole = whole;
    }

    /// It was shown.
    pub(super) fn set(&mut self, seen: Seen) {
        self.versions.insert(seen.key.clone(), seen.version.clone());
        self.whole.insert(seen.key.clone(), seen);
    }

    /// It is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.versions.remove(key);
        self.whole.remove(key);
    }

    /// Whether this is how the record was last seen: the same version, or without versions the same content. A deletion
    /// always counts.
    pub(super) fn is_same(&self, shown: &Shown) -> bool {
        let deleted = matches!(&shown.how, How::Changed(changed) if changed.kind == ChangeKind::Deleted);
        !deleted && self.versions.get(&shown.key) == Some(&shown.version)
    }
}

/// Judges what was shown. `fires`: whether a record of a listing that was never seen is a change (after the baseline, or
/// `start: "all"`). `mark` tells this look from every other: a record that changes from A to B and back to A has changed
/// twice. INVARIANT: the whole of a record that is not the same is known, if anything is known of it.
pub(super) fn sight(shown: Shown, known: &Known, fires: bool, mark: &str) -> Sight {
    if known.is_same(&shown) {
        return Sight::Same(shown.key);
    }
    let Shown { key, version, how } = shown;
    let before = known.whole.get(&key).map(|known| known.record.clone());
    let delta = match how {
        How::Listed(record) => {
            if before.is_none() && !fires {
                return Sight::Known(Seen { key, version, record });
            }
            let kind = if before.is_some() { ChangeKind::Updated } else { ChangeKind::Created };
            let delivery = format!("{key}@{version}#{mark}").into();
            Delta { key, kind, record, before, version, delivery, at: None, by: None }
        }
        How::Changed(changed) => {
            let Changed { delivery, key, kind, record, version: _, at, by } = changed;
            Delta { key, kind, record, before, version, delivery, at, by }
        }
    };
    Sight::Change(Box::new(delta))
}

/// A record that a whole listing no longer has.
pub(super) fn gone(seen: Seen, mark: &str) -> Delta {
    let Seen { key, version, record } = seen;
    Delta {
        delivery: format!("{key}@{version}-gone#{mark}").into(),
        key,
        kind: ChangeKind::Deleted,
        before: Some(record.clone()),
        record,
        version,
        at: None,
        by: None,
    }
}

/// The fields that differ, by name; a missing one and an empty one are the same.
pub(super) fn differing(before: &Record, after: &Record) -> Vec<SmolStr> {
    let of = |record: &Record, name: &str| record.get(name).cloned().unwrap_or(Value::Absent);
    let changed = after.iter().filter(|(name, value)| of(before, name) != **value).map(|(name, _)| name.clone());
    let lost = before.iter().filter(|(name, value)| after.get(name).is_none() && !value.is_absent());
    changed.chain(lost.map(|(name, _)| name.clone())).collect()
}

/// Whether a value holds what another one does: equal, and files by their bytes.
pub(super) fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::File(one), Value::File(other)) => one == other || one.is_like(other),
        (Value::List(ones), Value::List(others)) => {
            ones.len() == others.len() && ones.iter().zip(others.iter()).all(|(one, other)| alike(one, other))
        }
        (one, other) => one == other,
    }
}

/// SHA-256 of the canonical text, in hex.
fn content(record: &Record) -> SmolStr {
    let digest = Sha256::digest(json::canonical(&Value::record(record.clone())).as_bytes());
    let mut text = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}").is_ok();
    }
    text.into()
}

#[cfg(test)]
mod tests;
