//! What our own writes are still expected to show one listen, by the record that they went to: kept between looks, so
//! that each is read once and a change is compared with those of its own record alone.

use std::collections::{BTreeMap, BTreeSet};

use lf_module::Key;

use crate::host::echo::{Expected, Standing};

#[derive(Debug, Default)]
pub(super) struct Awaited {
    all: BTreeMap<i64, Expected>,
    by_key: BTreeMap<Key, BTreeSet<i64>>,
    /// Those of which it is not known where they will show.
    loose: BTreeSet<i64>,
    last: i64,
}

impl Awaited {
    /// The newest id that was ever put in.
    pub(super) fn last(&self) -> i64 {
        self.last
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn has(&self, id: i64) -> bool {
        self.all.contains_key(&id)
    }

    /// Puts one in, in the place of what was known of it.
    pub(super) fn put(&mut self, expected: Expected) {
        let id = expected.id;
        self.remove(id);
        self.last = self.last.max(id);
        match keys(&expected) {
            Some(keys) => {
                for key in keys {
                    self.by_key.entry(key).or_default().insert(id);
                }
            }
            None => drop(self.loose.insert(id)),
        }
        self.all.insert(id, expected);
    }

    pub(super) fn remove(&mut self, id: i64) {
        let Some(expected) = self.all.remove(&id) else { return };
        self.loose.remove(&id);
        for key in keys(&expected).unwrap_or_default() {
            if let Some(ids) = self.by_key.get_mut(&key) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }

    /// Forgets those that are no more.
    pub(super) fn keep(&mut self, there: &BTreeSet<i64>) {
        let gone: Vec<i64> = self.all.keys().filter(|id| !there.contains(id)).copied().collect();
        gone.into_iter().for_each(|id| self.remove(id));
    }

    /// Those that a change of this record may fulfil, oldest first.
    pub(super) fn of(&self, key: &Key) -> impl Iterator<Item = &Expected> {
        let ids: BTreeSet<i64> = self.by_key.get(key).into_iter().flatten().chain(&self.loose).copied().collect();
        ids.into_iter().filter_map(|id| self.all.get(&id))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Expected> {
        self.all.values()
    }
}

/// The records that it will show on; `None` where that is not known.
fn keys(expected: &Expected) -> Option<Vec<Key>> {
    match (&expected.expectation.key, &expected.standing) {
        (Some(key), _) => Some(vec![key.clone()]),
        (None, Standing::Settled(records)) => records.iter().map(|(key, _)| key.clone()).collect(),
        (None, Standing::Open | Standing::Unknown | Standing::Void) => None,
    }
}
