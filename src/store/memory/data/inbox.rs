//! Changes on their way in.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use lf_module::Key;
use smol_str::SmolStr;

use super::{Data, Kept};
use crate::store::{
    Met, NewRun, Position, RunId, Seen, State, StoreError, TakeIn, Watched,
    rules::{Standing, United, debounced, instant, united},
};

impl Data {
    pub(in crate::store::memory) fn position(&self, listen: &str) -> Option<Position> {
        self.listens.get(listen).cloned().flatten()
    }

    pub(in crate::store::memory) fn listens(&self) -> Vec<SmolStr> {
        let placed = self.listens.iter().filter(|(_, position)| position.is_some()).map(|(name, _)| name.clone());
        let open = self.open.iter().filter(|(_, runs)| !runs.is_empty()).map(|((name, _), _)| name.clone());
        let aside = self.runs.values().filter(|kept| kept.standing.aside).map(|kept| kept.new.listen.clone());
        placed.chain(open).chain(aside).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(in crate::store::memory) fn drop_listen(&mut self, listen: &str, now: i64) {
        self.listens.insert(listen.into(), None);
        self.off.remove(listen);
        self.seen.retain(|(name, _), _| name != listen);
        let ours = |kept: &Kept| kept.new.listen == listen && (kept.standing.keeps_turn() || kept.standing.aside);
        let open: Vec<RunId> = self.runs.iter().filter(|(_, kept)| ours(kept)).map(|(id, _)| *id).collect();
        for id in open {
            self.change(id, |standing| standing.cancel(now));
        }
    }

    pub(in crate::store::memory) fn switch(&mut self, listen: &str, off: bool, now: i64) -> bool {
        if off == self.off.contains_key(listen) {
            return false;
        }
        if off {
            self.off.insert(listen.into(), now);
        } else {
            self.off.remove(listen);
        }
        true
    }

    pub(in crate::store::memory) fn switched_off(&self) -> BTreeMap<SmolStr, Timestamp> {
        self.off.iter().map(|(listen, since)| (listen.clone(), instant(*since))).collect()
    }

    pub(in crate::store::memory) fn seen(&self, listen: &str, keys: &[Key]) -> BTreeMap<Key, Seen> {
        let known = |key: &Key| self.seen.get(&(listen.into(), key.clone())).map(|seen| (key.clone(), seen.clone()));
        keys.iter().filter_map(known).collect()
    }

    pub(in crate::store::memory) fn versions(&self, listen: &str, keys: &[Key]) -> BTreeMap<Key, SmolStr> {
        self.seen(listen, keys).into_iter().map(|(key, seen)| (key, seen.version)).collect()
    }

    pub(in crate::store::memory) fn unmet(&self, listen: &str, met: &Met, limit: u32) -> Vec<Seen> {
        let gone = self.seen.iter().filter(|((name, key), _)| name == listen && !met.has(key));
        gone.take(limit as usize).map(|(_, seen)| seen.clone()).collect()
    }

    pub(in crate::store::memory) fn take_in(
        &mut self,
        listen: &str,
        batch: TakeIn,
        now: i64,
    ) -> Result<Vec<RunId>, StoreError> {
        let standings = batch
            .runs
            .iter()
            .map(|run| Standing::taken_in(run.state, run.reason.clone(), now))
            .collect::<Result<Vec<_>, _>>()?;
        let name = SmolStr::from(listen);
        let kept = self.listens.entry(name.clone()).or_default();
        if batch.position.is_some() {
            kept.clone_from(&batch.position);
        }
        for seen in batch.seen {
            self.seen.insert((name.clone(), seen.key.clone()), seen);
        }
        for key in batch.forget {
            self.seen.remove(&(name.clone(), key));
        }
        for id in batch.fulfilled {
            self.expectations.remove(&id);
        }
        let mut new = Vec::new();
        for (run, standing) in batch.runs.into_iter().zip(standings) {
            let delivery = (run.listen.clone(), run.delivery.clone());
            if self.deliveries.contains_key(&delivery) {
                continue;
            }
            self.deliveries.insert(delivery, now);
            let mut standing = standing;
            if let Some(length) = run.debounce.filter(|_| standing.state == State::Ready) {
                if self.gather(&run, length, now) {
                    continue;
                }
                standing.not_before = Some(debounced(now, now, length));
            }
            self.last_run += 1;
            let id = RunId(self.last_run);
            let record = (run.listen.clone(), run.key.clone());
            self.listens.entry(run.listen.clone()).or_default();
            let opens = standing.state.keeps_turn();
            self.runs.insert(id, Kept { new: run, taken_in: now, standing, entries: Vec::new() });
            if opens {
                self.open.entry(record.clone()).or_default().insert(id);
                if self.open.get(&record).is_some_and(|runs| runs.len() == 1) {
                    self.pass_turn(&record, None);
                }
            }
            new.push(id);
        }
        if batch.wakes && !new.is_empty() {
            self.wake(listen);
        }
        Ok(new)
    }

    /// Makes a change one with its record's last run, if that still waits for one.
    fn gather(&mut self, run: &NewRun, length: Duration, now: i64) -> bool {
        let record = (run.listen.clone(), run.key.clone());
        let Some(last) = self.open.get(&record).and_then(|runs| runs.last().copied()) else { return false };
        let Some(kept) = self.runs.get_mut(&last).filter(|kept| kept.standing.is_gathering()) else { return false };
        let new = &mut kept.new;
        let United { kind, fields } = united((new.kind, new.fields.as_deref()), (run.kind, run.fields.as_deref()));
        (new.kind, new.fields) = (kind, fields);
        (new.record, new.at, new.by) = (run.record.clone(), run.at, run.by.clone());
        (new.depth, new.cause) = (new.depth.max(run.depth), run.cause.or(new.cause));
        let until = debounced(kept.taken_in, now, length);
        self.change(last, |standing| {
            standing.not_before = Some(until);
            standing.due = standing.due.map(|_| until);
        });
        true
    }

    /// Lets the runs look again that wait for this listen.
    fn wake(&mut self, listen: &str) {
        let waits = |kept: &Kept| kept.standing.state == State::Waiting && kept.standing.waits_for(listen);
        let woken: Vec<RunId> = self.runs.iter().filter(|(_, kept)| waits(kept)).map(|(id, _)| *id).collect();
        for id in woken {
            self.change(id, Standing::wake);
        }
    }

    pub(in crate::store::memory) fn expectations(&self, watcher: &str, after: i64) -> Watched {
        let watched = || self.expectations.iter().filter(|(_, expectation)| expectation.watcher == watcher);
        let new = watched().filter(|(id, _)| **id > after).map(|(id, expectation)| (*id, expectation.clone()));
        Watched { total: watched().count() as u64, after: new.collect() }
    }

    pub(in crate::store::memory) fn open(&self, listen: &str) -> u64 {
        let waits = |id: &&RunId| {
            self.runs
                .get(id)
                .is_some_and(|kept| matches!(kept.standing.state, State::Ready | State::Running | State::Retry))
        };
        let runs = self.open.iter().filter(|((name, _), _)| name == listen).flat_map(|(_, runs)| runs);
        runs.filter(waits).count() as u64
    }
}
