//! What the store in memory holds, and each change of it as one plain function. No faults, no locks, no futures.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use lf_lang::{
    plan::{Plan, PlanId},
    run::Entry,
};
use lf_module::{Description, Key};
use smol_str::SmolStr;

use crate::store::{
    Claimed, Expectation, Fence, Filter, NewRun, Order, Position, Pruned, Release, Retention, Room, Run, RunId, Sealed,
    Seen, State, StoreError, TakeIn,
    rules::{self, Standing, earlier, instant, later, micros},
};

type Identity = (SmolStr, SmolStr, SmolStr);

#[derive(Debug, Default)]
pub(super) struct Data {
    last_run: i64,
    last_expectation: i64,
    listens: BTreeMap<SmolStr, Option<Position>>,
    seen: BTreeMap<(SmolStr, Key), (Seen, i64)>,
    deliveries: BTreeMap<(SmolStr, SmolStr), i64>,
    runs: BTreeMap<RunId, Kept>,
    /// The runs that keep their record's turn, or wait for it.
    open: BTreeMap<(SmolStr, Key), BTreeSet<RunId>>,
    /// The runs that have the turn, by the time from which they may be claimed.
    due: BTreeMap<SmolStr, BTreeSet<(i64, RunId)>>,
    expectations: BTreeMap<i64, Expectation>,
    identities: BTreeMap<Identity, (Key, i64)>,
    plans: BTreeMap<PlanId, Plan>,
    descriptions: BTreeMap<SmolStr, (Description, i64)>,
    pub(super) holds: BTreeMap<SmolStr, (i64, String)>,
    pub(super) credentials: BTreeMap<SmolStr, Sealed>,
}

#[derive(Debug)]
struct Kept {
    new: NewRun,
    taken_in: i64,
    standing: Standing,
    entries: Vec<Entry>,
}

impl Kept {
    fn run(&self, id: RunId) -> Run {
        let (new, standing) = (self.new.clone(), self.standing.clone());
        Run {
            id,
            listen: new.listen,
            key: new.key,
            delivery: new.delivery,
            kind: new.kind,
            record: new.record,
            before: new.before,
            at: instant(micros(new.at)),
            by: new.by,
            depth: new.depth,
            cause: new.cause,
            state: standing.state,
            reason: standing.reason,
            attempts: standing.attempts,
            not_before: standing.not_before.map(instant),
            plan: standing.plan,
            owner: standing.owner,
            taken_in: instant(self.taken_in),
            finished: standing.finished.map(instant),
        }
    }
}

fn missing(run: RunId) -> StoreError {
    StoreError::Missing(format!("there is no run {run}"))
}

/// Changes on their way in.
impl Data {
    pub(super) fn position(&self, listen: &str) -> Option<Position> {
        self.listens.get(listen).cloned().flatten()
    }

    pub(super) fn listens(&self) -> Vec<SmolStr> {
        let placed = self.listens.iter().filter(|(_, position)| position.is_some()).map(|(name, _)| name.clone());
        let open = self.open.iter().filter(|(_, runs)| !runs.is_empty()).map(|((name, _), _)| name.clone());
        placed.chain(open).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn drop_listen(&mut self, listen: &str, now: i64) {
        self.listens.insert(listen.into(), None);
        self.seen.retain(|(name, _), _| name != listen);
        let open: Vec<RunId> =
            self.open.iter().filter(|((name, _), _)| name == listen).flat_map(|(_, runs)| runs).copied().collect();
        for id in open {
            self.change(id, |standing| standing.cancel(now));
        }
    }

    pub(super) fn seen(&self, listen: &str, keys: &[Key]) -> BTreeMap<Key, Seen> {
        let known =
            |key: &Key| self.seen.get(&(listen.into(), key.clone())).map(|(seen, _)| (key.clone(), seen.clone()));
        keys.iter().filter_map(known).collect()
    }

    pub(super) fn unseen(&self, listen: &str, round: i64, limit: u32) -> Vec<Seen> {
        let gone = self.seen.iter().filter(|((name, _), (_, marked))| name == listen && *marked < round);
        gone.take(limit as usize).map(|(_, (seen, _))| seen.clone()).collect()
    }

    pub(super) fn take_in(&mut self, listen: &str, batch: TakeIn, now: i64) -> Result<Vec<RunId>, StoreError> {
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
        let round = kept.as_ref().map_or(0, |position| position.round);
        for seen in batch.seen {
            self.seen.insert((name.clone(), seen.key.clone()), (seen, round));
        }
        for key in batch.touched {
            if let Some((_, marked)) = self.seen.get_mut(&(name.clone(), key)) {
                *marked = round;
            }
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
        Ok(new)
    }

    pub(super) fn expectations(&self, watcher: &str) -> Vec<(i64, Expectation)> {
        let watched = self.expectations.iter().filter(|(_, expectation)| expectation.watcher == watcher);
        watched.map(|(id, expectation)| (*id, expectation.clone())).collect()
    }

    pub(super) fn open(&self, listen: &str) -> u64 {
        let waits = |id: &&RunId| {
            self.runs
                .get(id)
                .is_some_and(|kept| matches!(kept.standing.state, State::Ready | State::Running | State::Retry))
        };
        let runs = self.open.iter().filter(|((name, _), _)| name == listen).flat_map(|(_, runs)| runs);
        runs.filter(waits).count() as u64
    }
}

/// Runs under way.
impl Data {
    pub(super) fn claim(&mut self, owner: &str, room: &Room, now: i64, lease: Duration) -> Vec<Claimed> {
        let mut chosen: Vec<RunId> = Vec::new();
        for (listen, places) in &room.listens {
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

    pub(super) fn next_due(&self, now: i64) -> Option<i64> {
        let after =
            |due: &BTreeSet<(i64, RunId)>| due.range((now.saturating_add(1), RunId(i64::MIN))..).next().copied();
        self.due.values().filter_map(after).map(|(at, _)| at).min()
    }

    pub(super) fn renew(&mut self, claims: &[(RunId, Fence)], until: i64) -> Vec<RunId> {
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

    pub(super) fn append(
        &mut self,
        run: RunId,
        fence: Fence,
        entries: Vec<Entry>,
        expect: Vec<Expectation>,
    ) -> Result<(), StoreError> {
        let kept = self.runs.get_mut(&run).ok_or_else(|| missing(run))?;
        kept.standing.check(fence)?;
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

    pub(super) fn expect_key(&mut self, run: RunId, pending: &Expectation, key: &Key) {
        for expectation in self.expectations.values_mut() {
            if is_of(expectation, run, pending) && expectation.key.is_none() {
                expectation.key = Some(key.clone());
            }
        }
    }

    pub(super) fn unexpect(&mut self, run: RunId, refused: &Expectation) {
        self.expectations.retain(|_, expectation| !is_of(expectation, run, refused));
    }

    pub(super) fn release(&mut self, run: RunId, fence: Fence, release: Release, now: i64) -> Result<(), StoreError> {
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
        Ok(())
    }

    pub(super) fn identity(&self, connection: &str, ty: &str, identity: &str) -> Option<Key> {
        self.identities.get(&(connection.into(), ty.into(), identity.into())).map(|(key, _)| key.clone())
    }

    pub(super) fn remember_identity(&mut self, identity: Identity, key: Key, now: i64) {
        self.identities.insert(identity, (key, now));
    }
}

/// For people.
impl Data {
    pub(super) fn list(&self, filter: &Filter) -> Vec<Run> {
        let fits = |(id, kept): &(&RunId, &Kept)| {
            filter.listen.as_deref().is_none_or(|listen| kept.new.listen == listen)
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

    pub(super) fn show(&self, run: RunId) -> Option<(Run, Vec<Entry>)> {
        self.runs.get(&run).map(|kept| (kept.run(run), kept.entries.clone()))
    }

    pub(super) fn counts(&self) -> BTreeMap<(SmolStr, State), u64> {
        let mut counts = BTreeMap::new();
        for kept in self.runs.values() {
            *counts.entry((kept.new.listen.clone(), kept.standing.state)).or_default() += 1;
        }
        counts
    }

    pub(super) fn order(&mut self, run: RunId, order: &Order, now: Timestamp) -> Result<(), StoreError> {
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

/// Small things by name.
impl Data {
    pub(super) fn save_plan(&mut self, id: &PlanId, plan: &Plan) {
        self.plans.entry(id.clone()).or_insert_with(|| plan.clone());
    }

    pub(super) fn plan(&self, id: &PlanId) -> Option<Plan> {
        self.plans.get(id).cloned()
    }

    pub(super) fn save_description(&mut self, connection: &str, description: &Description, now: i64) {
        self.descriptions.insert(connection.into(), (description.clone(), now));
    }

    pub(super) fn description(&self, connection: &str) -> Option<(Description, Timestamp)> {
        self.descriptions.get(connection).map(|(description, at)| (description.clone(), instant(*at)))
    }

    pub(super) fn hold(&mut self, connection: &str, until: i64, why: &str) {
        let held = self.holds.entry(connection.into()).or_insert((i64::MIN, String::new()));
        if until > held.0 {
            *held = (until, why.to_owned());
        }
    }

    pub(super) fn prune(&mut self, retention: &Retention, now: i64) -> Pruned {
        let prunable: Vec<(RunId, i64)> = self
            .runs
            .iter()
            .filter(|(_, kept)| matches!(kept.standing.state, State::Done | State::Skipped | State::Cancelled))
            .map(|(id, kept)| (*id, kept.standing.finished.unwrap_or(kept.taken_in)))
            .collect();
        let before = earlier(now, retention.runs);
        let spare =
            retention.most.map_or(0, |most| prunable.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX)));
        let mut pruned = Pruned::default();
        for (place, (id, finished)) in prunable.into_iter().enumerate() {
            if finished < before || place < spare {
                self.runs.remove(&id);
                pruned.runs += 1;
            }
        }
        let before = earlier(now, retention.deliveries);
        pruned.deliveries = drop_where(&mut self.deliveries, |_, at| *at < before);
        pruned.identities = drop_where(&mut self.identities, |_, (_, at)| *at < before);
        let before = earlier(now, retention.expectations);
        pruned.expectations = drop_where(&mut self.expectations, |_, expectation| micros(expectation.at) < before);
        pruned
    }
}

/// Turns.
impl Data {
    /// Changes a run's standing and keeps the indexes true.
    fn change<T>(&mut self, id: RunId, change: impl FnOnce(&mut Standing) -> T) -> Option<T> {
        let kept = self.runs.get_mut(&id)?;
        let due = kept.standing.due;
        let answer = change(&mut kept.standing);
        let (now_due, opens) = (kept.standing.due, kept.standing.state.keeps_turn());
        let (listen, key) = (kept.new.listen.clone(), kept.new.key.clone());
        if due != now_due {
            let index = self.due.entry(listen.clone()).or_default();
            if let Some(due) = due {
                index.remove(&(due, id));
            }
            if let Some(due) = now_due {
                index.insert((due, id));
            }
        }
        let open = self.open.entry((listen.clone(), key.clone())).or_default();
        if opens {
            open.insert(id);
        } else {
            open.remove(&id);
            if open.is_empty() {
                self.open.remove(&(listen, key));
            }
        }
        Some(answer)
    }

    /// Gives the turn to the oldest open run of a record of which none has it.
    fn pass_turn(&mut self, record: &(SmolStr, Key), floor: Option<i64>) {
        let Some(oldest) = self.open.get(record).and_then(|runs| runs.first().copied()) else { return };
        self.change(oldest, |standing| {
            standing.due = standing.claimable_from().map(|from| from.max(floor.unwrap_or(0)));
        });
    }

    /// The same where another may have it: a person reopened an older run, or ended the one that had it.
    fn reseat_turn(&mut self, record: &(SmolStr, Key), floor: Option<i64>) {
        let open: Vec<RunId> = self.open.get(record).into_iter().flatten().copied().collect();
        let is_running = |id: &RunId| self.runs.get(id).is_some_and(|kept| kept.standing.state == State::Running);
        if open.iter().any(is_running) {
            return;
        }
        for id in open {
            self.change(id, |standing| standing.due = None);
        }
        self.pass_turn(record, floor);
    }
}

/// Whether an expectation is of this write.
fn is_of(expectation: &Expectation, run: RunId, write: &Expectation) -> bool {
    expectation.run == run
        && expectation.connection == write.connection
        && expectation.ty == write.ty
        && expectation.fields == write.fields
}

fn drop_where<K: Ord, V>(map: &mut BTreeMap<K, V>, drops: impl Fn(&K, &V) -> bool) -> u64 {
    let before = map.len();
    map.retain(|key, value| !drops(key, value));
    (before - map.len()) as u64
}
