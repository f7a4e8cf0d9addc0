//! Locks on identities (R12): two writes with the same `unique by` are done one after the other.
//!
//! Always taken in sorted order, so that two writes with two identities each cannot wait for each other.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

/// All identities that are being written now.
#[derive(Debug, Default)]
pub(super) struct Identities {
    locks: Mutex<BTreeMap<String, Arc<Lock<()>>>>,
}

/// Held until the write is settled.
#[derive(Debug)]
pub(super) struct Held {
    _guards: Vec<OwnedMutexGuard<()>>,
}

impl Identities {
    /// Waits until none of these is being written by another run.
    pub(super) async fn lock(&self, mut identities: Vec<String>) -> Held {
        identities.sort();
        identities.dedup();
        let mut guards = Vec::with_capacity(identities.len());
        for identity in identities {
            let lock = self.of(identity);
            guards.push(lock.lock_owned().await);
        }
        Held { _guards: guards }
    }

    fn of(&self, identity: String) -> Arc<Lock<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody holds or waits for a lock that only this map knows.
        if locks.len() >= 1024 {
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        locks.entry(identity).or_default().clone()
    }
}
