//! The store in memory: the same promises, for simulations. Nothing survives the process.
//!
//! A simulation hands in [`Faults`], which may let any change fail or kill the host directly before or after it is
//! durable. After a crash, drop the host and go on with [`MemoryStore::reopen`].

mod data;
mod faults;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_lang::{
    plan::{Plan, PlanId},
    run::Entry,
};
use lf_module::{Description, Key};
use smol_str::SmolStr;
use tokio::sync::watch;

use self::data::Data;
pub use self::faults::{Faultless, Faults, Step, Verdict, When};
use super::{
    Claimed, Credentials, Expectation, Facts, Fence, Filter, Inbox, Ledger, Met, Order, Position, Pruned, Release,
    Retention, Room, Run, RunId, Runs, Sealed, Seen, State, StoreError, TakeIn, Upkeep, Watched,
    rules::{instant, micros},
};

/// One life of a store in memory.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    data: Arc<Mutex<Data>>,
    faults: Arc<dyn Faults>,
    crashed: Arc<watch::Sender<bool>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(Faultless))
    }
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(faults: Arc<dyn Faults>) -> Self {
        Self { data: Arc::default(), faults, crashed: Arc::new(watch::Sender::new(false)) }
    }

    /// The next life over the same content: what a restarted host opens.
    #[must_use]
    pub fn reopen(&self, faults: Arc<dyn Faults>) -> Self {
        Self { data: self.data.clone(), faults, crashed: Arc::new(watch::Sender::new(false)) }
    }

    /// Waits until a fault killed the host.
    pub async fn crashed(&self) {
        let mut crashed = self.crashed.subscribe();
        // The sender lives as long as `self`, so the wait cannot fail.
        drop(crashed.wait_for(|crashed| *crashed).await);
    }

    /// Reads; a dead host reads nothing.
    async fn read<T>(&self, read: impl FnOnce(&Data) -> T + Send) -> Result<T, StoreError> {
        self.alive().await;
        Ok(read(&self.data.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Makes a change with its two fault points.
    async fn write<T: Send>(
        &self,
        step: Step,
        change: impl FnOnce(&mut Data) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        self.alive().await;
        self.fault(step, When::Before).await?;
        let answer = change(&mut self.data.lock().unwrap_or_else(PoisonError::into_inner))?;
        self.fault(step, When::After).await?;
        Ok(answer)
    }

    async fn fault(&self, step: Step, when: When) -> Result<(), StoreError> {
        match self.faults.at(step, when) {
            Verdict::Continue => Ok(()),
            Verdict::Fail(why) => Err(why),
            Verdict::Crash => {
                self.crashed.send_replace(true);
                std::future::pending().await
            }
        }
    }

    async fn alive(&self) {
        if *self.crashed.borrow() {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Inbox for MemoryStore {
    async fn position(&self, listen: &str) -> Result<Option<Position>, StoreError> {
        self.read(|data| data.position(listen)).await
    }

    async fn listens(&self) -> Result<Vec<SmolStr>, StoreError> {
        self.read(Data::listens).await
    }

    async fn drop_listen(&self, listen: &str, now: Timestamp) -> Result<(), StoreError> {
        self.write(Step::DropListen, |data| {
            data.drop_listen(listen, micros(now));
            Ok(())
        })
        .await
    }

    async fn seen(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, Seen>, StoreError> {
        self.read(|data| data.seen(listen, keys)).await
    }

    async fn versions(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, SmolStr>, StoreError> {
        self.read(|data| data.versions(listen, keys)).await
    }

    async fn unmet(&self, listen: &str, met: &Met, limit: u32) -> Result<Vec<Seen>, StoreError> {
        self.read(|data| data.unmet(listen, met, limit)).await
    }

    async fn take_in(&self, listen: &str, batch: TakeIn, now: Timestamp) -> Result<Vec<RunId>, StoreError> {
        self.write(Step::TakeIn, |data| data.take_in(listen, batch, micros(now))).await
    }

    async fn expectations(&self, watcher: &str, after: i64) -> Result<Watched, StoreError> {
        self.read(|data| data.expectations(watcher, after)).await
    }

    async fn open(&self, listen: &str) -> Result<u64, StoreError> {
        self.read(|data| data.open(listen)).await
    }

    async fn switch(&self, listen: &str, off: bool, now: Timestamp) -> Result<bool, StoreError> {
        self.write(Step::Order, |data| Ok(data.switch(listen, off, micros(now)))).await
    }

    async fn switched_off(&self) -> Result<BTreeMap<SmolStr, Timestamp>, StoreError> {
        self.read(Data::switched_off).await
    }
}

#[async_trait]
impl Runs for MemoryStore {
    async fn claim(
        &self,
        owner: &str,
        room: &Room,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.write(Step::Claim, |data| Ok(data.claim(owner, room, micros(now), lease))).await
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.read(|data| data.next_due(micros(now)).map(instant)).await
    }

    async fn renew(&self, claims: &[(RunId, Fence)], until: Timestamp) -> Result<Vec<RunId>, StoreError> {
        self.write(Step::Renew, |data| Ok(data.renew(claims, micros(until)))).await
    }

    async fn append(
        &self,
        run: RunId,
        fence: Fence,
        entries: Vec<Entry>,
        expect: Vec<Expectation>,
    ) -> Result<(), StoreError> {
        self.write(Step::Append, |data| data.append(run, fence, entries, expect)).await
    }

    async fn unexpect(&self, run: RunId, refused: &Expectation) -> Result<(), StoreError> {
        self.write(Step::Expect, |data| {
            data.unexpect(run, refused);
            Ok(())
        })
        .await
    }

    async fn release(&self, run: RunId, fence: Fence, release: Release, now: Timestamp) -> Result<(), StoreError> {
        self.write(Step::Release, |data| data.release(run, fence, release, micros(now))).await
    }

    async fn identity(&self, connection: &str, ty: &str, identity: &str) -> Result<Option<Key>, StoreError> {
        self.read(|data| data.identity(connection, ty, identity)).await
    }

    async fn remember_identity(
        &self,
        connection: &str,
        ty: &str,
        identity: &str,
        key: &Key,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(Step::Identity, |data| {
            data.remember_identity((connection.into(), ty.into(), identity.into()), key.clone(), micros(now));
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl Ledger for MemoryStore {
    async fn list(&self, filter: &Filter) -> Result<Vec<Run>, StoreError> {
        self.read(|data| data.list(filter)).await
    }

    async fn show(&self, run: RunId) -> Result<Option<(Run, Vec<Entry>)>, StoreError> {
        self.read(|data| data.show(run)).await
    }

    async fn journals(&self, runs: &[RunId]) -> Result<BTreeMap<RunId, Vec<Entry>>, StoreError> {
        self.read(|data| {
            let kept = runs.iter().filter_map(|run| data.show(*run).map(|(_, entries)| (*run, entries)));
            kept.filter(|(_, entries)| !entries.is_empty()).collect()
        })
        .await
    }

    async fn counts(&self) -> Result<BTreeMap<(SmolStr, State), u64>, StoreError> {
        self.read(Data::counts).await
    }

    async fn order(&self, run: RunId, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.write(Step::Order, |data| data.order(run, &order, now)).await
    }
}

#[async_trait]
impl Facts for MemoryStore {
    async fn save_plan(&self, id: &PlanId, plan: &Plan, _: Timestamp) -> Result<(), StoreError> {
        self.write(Step::Fact, |data| {
            data.save_plan(id, plan);
            Ok(())
        })
        .await
    }

    async fn plan(&self, id: &PlanId) -> Result<Option<Plan>, StoreError> {
        self.read(|data| data.plan(id)).await
    }

    async fn save_description(
        &self,
        connection: &str,
        description: &Description,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(Step::Fact, |data| {
            data.save_description(connection, description, micros(now));
            Ok(())
        })
        .await
    }

    async fn description(&self, connection: &str) -> Result<Option<(Description, Timestamp)>, StoreError> {
        self.read(|data| data.description(connection)).await
    }

    async fn hold(&self, connection: &str, until: Timestamp, why: &str) -> Result<(), StoreError> {
        self.write(Step::Fact, |data| {
            data.hold(connection, micros(until), why);
            Ok(())
        })
        .await
    }

    async fn held(&self, connection: &str) -> Result<Option<(Timestamp, String)>, StoreError> {
        self.read(|data| data.holds.get(connection).map(|(until, why)| (instant(*until), why.clone()))).await
    }

    async fn lift(&self, connection: &str) -> Result<(), StoreError> {
        self.write(Step::Fact, |data| {
            data.holds.remove(connection);
            Ok(())
        })
        .await
    }

    async fn holds(&self, now: Timestamp) -> Result<Vec<(SmolStr, Timestamp, String)>, StoreError> {
        let now = micros(now);
        self.read(|data| {
            let held = data.holds.iter().filter(|(_, (until, _))| *until > now);
            held.map(|(name, (until, why))| (name.clone(), instant(*until), why.clone())).collect()
        })
        .await
    }

    async fn note(&self, name: &str, text: &str, _: Timestamp) -> Result<(), StoreError> {
        self.write(Step::Fact, |data| {
            data.notes.insert(name.into(), text.to_owned());
            Ok(())
        })
        .await
    }

    async fn noted(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.read(|data| data.notes.get(name).cloned()).await
    }
}

#[async_trait]
impl Credentials for MemoryStore {
    async fn put(&self, credential: &Sealed) -> Result<(), StoreError> {
        self.write(Step::Credential, |data| {
            let mut kept = credential.clone();
            kept.last_used = kept.last_used.map(|at| instant(micros(at)));
            data.locks.remove(&kept.name);
            data.credentials.insert(kept.name.clone(), kept);
            Ok(())
        })
        .await
    }

    async fn get(&self, name: &str) -> Result<Option<Sealed>, StoreError> {
        self.read(|data| data.credentials.get(name).cloned()).await
    }

    async fn all(&self) -> Result<Vec<Sealed>, StoreError> {
        self.read(|data| data.credentials.values().cloned().collect()).await
    }

    async fn remove(&self, name: &str) -> Result<bool, StoreError> {
        self.write(Step::Credential, |data| Ok(data.credentials.remove(name).is_some())).await
    }

    async fn used(&self, name: &str, at: Timestamp, works: bool) -> Result<(), StoreError> {
        self.write(Step::Credential, |data| {
            let kept = data
                .credentials
                .get_mut(name)
                .ok_or_else(|| StoreError::Missing(format!("there is no credential `{name}`")))?;
            kept.last_used = Some(instant(micros(at)));
            kept.works = Some(works);
            Ok(())
        })
        .await
    }

    async fn lock(&self, name: &str, owner: &str, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
        let (now, until) = (micros(now), micros(until));
        self.write(Step::Credential, |data| {
            let free = data.locks.get(name).is_none_or(|(by, end)| by == owner || *end <= now);
            let taken = free && data.credentials.contains_key(name);
            if taken {
                data.locks.insert(name.into(), (owner.into(), until));
            }
            Ok(taken)
        })
        .await
    }

    async fn unlock(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        self.write(Step::Credential, |data| {
            if data.locks.get(name).is_some_and(|(by, _)| by == owner) {
                data.locks.remove(name);
            }
            Ok(())
        })
        .await
    }

    async fn reseal(&self, credential: &Sealed, owner: &str) -> Result<bool, StoreError> {
        self.write(Step::Credential, |data| {
            if data.locks.get(&credential.name).is_none_or(|(by, _)| by != owner) {
                return Ok(false);
            }
            data.locks.remove(&credential.name);
            let Some(kept) = data.credentials.get_mut(&credential.name) else { return Ok(false) };
            kept.key_id = credential.key_id.clone();
            kept.sealed = credential.sealed.clone();
            Ok(true)
        })
        .await
    }
}

#[async_trait]
impl Upkeep for MemoryStore {
    async fn prune(&self, retention: &Retention, now: Timestamp) -> Result<Pruned, StoreError> {
        self.write(Step::Upkeep, |data| Ok(data.prune(retention, micros(now)))).await
    }
}
