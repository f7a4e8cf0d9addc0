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

/// A record of a listing. `fires`: whether one that was never seen is a change (after the baseline, or `start: "all"`).
/// `mark` tells this look from every other: a record that changes from A to B and back to A has changed twice.
pub(super) fn listed(landed: Landed, seen: &BTreeMap<Key, Seen>, fires: bool, mark: &str) -> Sight {
    let hash = content(&landed.fields);
    let key = landed.key.unwrap_or_else(|| Key(hash.clone()));
    let version = landed.version.unwrap_or(hash);
    let known = seen.get(&key);
    if known.is_some_and(|known| known.version == version) {
        return Sight::Same(key);
    }
    if known.is_none() && !fires {
        return Sight::Known(Seen { key, version, record: landed.fields });
    }
    let before = known.map(|known| known.record.clone());
    let kind = if before.is_some() { ChangeKind::Updated } else { ChangeKind::Created };
    let delivery = format!("{key}@{version}#{mark}").into();
    Sight::Change(Box::new(Delta { key, kind, record: landed.fields, before, version, delivery, at: None, by: None }))
}

/// A change that the source reports. The same version, or without versions the same content, is no change.
pub(super) fn changed(changed: Changed, seen: &BTreeMap<Key, Seen>) -> Sight {
    let Changed { delivery, key, kind, record, version, at, by } = changed;
    let version = version.unwrap_or_else(|| content(&record));
    let known = seen.get(&key);
    if kind != ChangeKind::Deleted && known.is_some_and(|known| known.version == version) {
        return Sight::Same(key);
    }
    let before = known.map(|known| known.record.clone());
    Sight::Change(Box::new(Delta { key, kind, record, before, version, delivery, at, by }))
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
