//! Runs under way, and what people order.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use lf_lang::{plan::ir::WATCH, run::Entry};
use lf_module::Key;
use smol_str::SmolStr;

use super::{Data, Identity, Kept};
use crate::store::{
    Claimed, Expectation, Fence, Filter, Order, Park, Release, Room, Run, RunId, State, StoreError,
    rules::{self, Standing, instant, later, micros},
};

fn missing(run: RunId) -> StoreError {
    StoreError::Missing(format!("there is no run {run}"))
}

/// Runs under way.
impl Data {
    pub(in crate::store::memory) fn claim(
        &mut self,
        owner: &str,
        room: &Room,
        now: i64,
        lease: Duration,
    ) -> Vec<Claimed> {
        let mut chosen: Vec<RunId> = Vec::new();
        for (listen, places) in &room.listens {
            if self.off.contains_key(listen) {
                continue;
            }
            let Some(due) = self.due.get(listen) else { continue };
            let room = (*places).min(room.total) as usize;
            let ready = due.range(..=(0, RunId(i64::MAX))).take(room);
            let past = due.range((1, RunId(i64::MIN))..=(now, RunId(i64::MAX))).take(room);
            let mut of_listen: Vec<RunId> = if now < 1 {
                ready.map(|(_, id)| *id).collect()
            } else {
                ready.chain(past).map(|(_, id)| *id).collect()
            };
            of_listen.sort_unstable();
            of_listen.truncate(room);
            chosen.extend(of_listen);
        }
        chosen.sort_unstable();
        chosen.truncate(room.total as usize);
        self.take_back(&mut chosen);
        let until = later(now, lease);
        chosen
            .into_iter()
            .filter_map(|id| {
                let fence = self.change(id, |standing| standing.claim(owner, until))?;
                let kept = self.runs.get(&id)?;
                Some(Claimed { run: kept.run(id), fence, entries: kept.entries.clone() })
            })
            .collect()
    }

    /// Parked runs that did not keep their record's turn take it back; one whose record is worked on waits.
    fn take_back(&mut self, chosen: &mut Vec<RunId>) {
        let record = |data: &Self, id: RunId| {
            let kept = data.runs.get(&id)?;
            kept.standing.aside.then(|| (kept.new.listen.clone(), kept.new.key.clone()))
        };
        for id in chosen.clone() {
            let Some(record) = record(self, id).filter(|_| chosen.contains(&id)) else { continue };
            let open: Vec<RunId> = self.open.get(&record).into_iter().flatten().copied().collect();
            let runs = |id: &RunId| self.runs.get(id).is_some_and(|kept| kept.standing.state == State::Running);
            if open.iter().any(runs) {
                chosen.retain(|other| *other != id);
                continue;
            }
            let same = |other: &RunId| {
                self.runs.get(other).is_some_and(|kept| (&kept.new.listen, &kept.new.key) == (&record.0, &record.1))
            };
            chosen.retain(|other| *other == id || !same(other));
            for other in open {
                self.change(other, |standing| standing.due = None);
            }
        }
    }

    pub(in crate::store::memory) fn next_due(&self, now: i64) -> Option<i64> {
        let after =
            |due: &BTreeSet<(i64, RunId)>| due.range((now.saturating_add(1), RunId(i64::MIN))..).next().copied();
        let on = self.due.iter().filter(|(listen, _)| !self.off.contains_key(*listen));
        on.filter_map(|(_, due)| after(due)).map(|(at, _)| at).min()
    }

    pub(in crate::store::memory) fn renew(&mut self, claims: &[(RunId, Fence)], until: i64) -> Vec<RunId> {
        let mut lost = Vec::new();
        for (id, fence) in claims {
            if self.runs.get(id).is_some_and(|kept| kept.standing.is_held_by(*fence)) {
                self.change(*id, |standing| standing.due = Some(until));
            } else {
                lost.push(*id);
            }
        }
        lost
    }

    pub(in crate::store::memory) fn append(
        &mut self,
        run: RunId,
        fence: Fence,
        entries: Vec<Entry>,
        expect: Vec<Expectation>,
    ) -> Result<(), StoreError> {
        let kept = self.runs.get_mut(&run).ok_or_else(|| missing(run))?;
        kept.standing.check(fence)?;
        if rules::intends(&entries) && self.off.contains_key(&kept.new.listen) {
            return Err(StoreError::Off);
        }
        if let Some(plan) = rules::plan_of(&entries) {
            kept.standing.plan = Some(plan.clone());
        }
        kept.entries.extend(entries);
        for mut expectation in expect {
            expectation.at = instant(micros(expectation.at));
            self.last_expectation += 1;
            self.expectations.insert(self.last_expectation, expectation);
        }
        Ok(())
    }

    pub(in crate::store::memory) fn unexpect(&mut self, run: RunId, refused: &Expectation) {
        self.expectations.retain(|_, expectation| !is_of(expectation, run, refused));
    }

    pub(in crate::store::memory) fn release(
        &mut self,
        run: RunId,
        fence: Fence,
        release: Release,
        now: i64,
    ) -> Result<(), StoreError> {
        let heard = if let Release::Park(park) = &release { self.heard(park) } else { false };
        let entries = self
            .change(run, |standing| {
                let entries = standing.release(fence, release, now)?;
                if let Some(plan) = rules::plan_of(&entries) {
                    standing.plan = Some(plan.clone());
                }
                Ok::<_, StoreError>(entries)
            })
            .ok_or_else(|| missing(run))??;
        if let Some(kept) = self.runs.get_mut(&run) {
            kept.entries.extend(entries);
            let record = (kept.new.listen.clone(), kept.new.key.clone());
            self.pass_turn(&record, None);
        }
        if heard {
            self.change(run, Standing::wake);
        }
        Ok(())
    }

    /// Whether what it waits for has come since it last looked.
    fn heard(&self, park: &Park) -> bool {
        let after = RunId(park.after.0.saturating_add(1));
        self.runs.range(after..).any(|(_, kept)| park.awaits.contains(&kept.new.listen))
    }

    pub(in crate::store::memory) fn identity(&self, connection: &str, ty: &str, identity: &str) -> Option<Key> {
        self.identities.get(&(connection.into(), ty.into(), identity.into())).map(|(key, _)| key.clone())
    }

    pub(in crate::store::memory) fn remember_identity(&mut self, identity: Identity, key: Key, now: i64) {
        self.identities.insert(identity, (key, now));
    }
}

/// For people.
impl Data {
    pub(in crate::store::memory) fn list(&self, filter: &Filter) -> Vec<Run> {
        let fits = |(id, kept): &(&RunId, &Kept)| {
            let named = match filter.listen.as_deref() {
                Some(listen) => kept.new.listen == listen,
                None => !kept.new.listen.starts_with(WATCH) || filter.states.contains(&State::Skipped),
            };
            named
                && (filter.states.is_empty() || filter.states.contains(&kept.standing.state))
                && filter.key.as_deref().is_none_or(|key| kept.new.key.0 == key)
                && filter.since.is_none_or(|since| kept.taken_in >= micros(since))
                && filter.after.is_none_or(|after| **id > after)
        };
        let limit = if filter.limit == 0 { usize::MAX } else { filter.limit as usize };
        let read = |(id, kept): (&RunId, &Kept)| kept.run(*id);
        if filter.oldest_first {
            self.runs.iter().filter(fits).take(limit).map(read).collect()
        } else {
            self.runs.iter().rev().filter(fits).take(limit).map(read).collect()
        }
    }

    pub(in crate::store::memory) fn show(&self, run: RunId) -> Option<(Run, Vec<Entry>)> {
        self.runs.get(&run).map(|kept| (kept.run(run), kept.entries.clone()))
    }

    pub(in crate::store::memory) fn counts(&self) -> BTreeMap<(SmolStr, State), u64> {
        let mut counts = BTreeMap::new();
        for kept in self.runs.values() {
            *counts.entry((kept.new.listen.clone(), kept.standing.state)).or_default() += 1;
        }
        counts
    }

    pub(in crate::store::memory) fn order(
        &mut self,
        run: RunId,
        order: &Order,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let entries = self.runs.get(&run).ok_or_else(|| missing(run))?.entries.clone();
        let ordered =
            self.change(run, |standing| standing.order(run, order, now, &entries)).ok_or_else(|| missing(run))??;
        if let Some(kept) = self.runs.get_mut(&run) {
            kept.entries.extend(ordered.entry);
            let record = (kept.new.listen.clone(), kept.new.key.clone());
            self.reseat_turn(&record, ordered.floor);
        }
        Ok(())
    }
}

/// Whether an expectation is of this write.
fn is_of(expectation: &Expectation, run: RunId, write: &Expectation) -> bool {
    expectation.run == run
        && expectation.connection == write.connection
        && expectation.ty == write.ty
        && expectation.fields == write.fields
}
