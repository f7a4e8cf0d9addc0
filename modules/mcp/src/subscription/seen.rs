//! The event ids that were seen in a session, so that what a server replays is not told twice.
//!
//! Bounded: the oldest are forgotten. Kept as hashes, since a server may give ids of any length.

use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

const MOST: usize = 8192;

/// The ids of one session.
#[derive(Debug, Default)]
pub(crate) struct SeenIds {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl SeenIds {
    /// Notes an id; whether it was new.
    pub(crate) fn note(&mut self, id: &str) -> bool {
        let hash = hash(id.as_bytes());
        if !self.known.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

/// The hash of some bytes, the same in every process.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_id_is_new_once_and_the_oldest_are_forgotten() {
        let mut seen = SeenIds::default();
        assert!(seen.note("a"));
        assert!(!seen.note("a"));
        for number in 0..MOST {
            assert!(seen.note(&number.to_string()));
        }
        assert!(seen.note("a"), "forgotten by now");
        assert_eq!(seen.known.len(), MOST);
    }
}
