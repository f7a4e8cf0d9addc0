//! What a listen does with changes: judges their causes, decides which fire, and stores them in one transaction.

use std::{collections::BTreeSet, time::Duration};

use super::{Listener, PAGE, Stop};
use crate::{
    host::{
        clock::until,
        compare::Delta,
        echo::{self, Expected, Standing, Verdict},
        fired,
        news::{self, What},
        watches,
    },
    store::{NewRun, RunId, State, TakeIn},
};

/// How long to wait before a write in flight is looked at again, if nothing is heard.
const LOOK: Duration = Duration::from_millis(200);
/// An expectation that never came is given up when it is older than this and so many looks have passed it by.
const GIVEN_UP: (Duration, u32) = (Duration::from_mins(10), 3);
/// The window of the burst guard.
const MINUTE: Duration = Duration::from_mins(1);

impl Listener<'_> {
    /// Stores what was seen with the runs that it starts, in one transaction (R1).
    pub(super) async fn store(&mut self, mut batch: TakeIn, mut deltas: Vec<Delta>) -> Result<(), Stop> {
        let service = self.service;
        batch.wakes = watches::is_watch(&self.listen.name);
        if batch.wakes && !deltas.is_empty() && !watches::anybody(service).await? {
            deltas.clear();
        }
        if !deltas.is_empty() {
            self.look_at_awaited().await?;
            let mut fulfilled = BTreeSet::new();
            for delta in deltas {
                let verdict = self.judge(&delta, &fulfilled).await?;
                if let Verdict::Caused(cause) = &verdict {
                    fulfilled.extend(&cause.fulfils);
                }
                batch.runs.extend(self.fire(delta, &verdict));
            }
            fulfilled.extend(self.given_up(&fulfilled));
            batch.fulfilled.extend(fulfilled);
        }
        let empty = TakeIn { wakes: batch.wakes, ..TakeIn::default() };
        if batch == empty {
            return Ok(());
        }
        let name = &self.listen.name;
        let ids = service.patiently(|| service.store.take_in(name, batch.clone(), service.clock.now())).await?;
        for id in &batch.fulfilled {
            self.awaited.remove(*id);
            self.passed_by.remove(id);
        }
        if let Some(position) = batch.position {
            self.position = position;
        }
        if !batch.wakes {
            self.tell(&ids, &batch.runs);
        }
        if !ids.is_empty() {
            service.work.notify_one();
        }
        Ok(())
    }

    /// Brings what is awaited up to date: what is new, and how the writes behind it stand.
    async fn look_at_awaited(&mut self) -> Result<(), Stop> {
        let (service, name) = (self.service, &self.listen.name);
        let last = self.awaited.last();
        let mut watched = service.patiently(|| service.store.expectations(name, last)).await?;
        let known = self.awaited.len().saturating_add(watched.after.len());
        if usize::try_from(watched.total).is_ok_and(|total| total != known) {
            // Some were taken back, or given up by upkeep.
            watched = service.patiently(|| service.store.expectations(name, 0)).await?;
            let there = watched.after.iter().map(|(id, _)| *id).collect();
            self.awaited.keep(&there);
        }
        let new = watched.after.into_iter().filter(|(id, _)| !self.awaited.has(*id));
        let new = new.map(|(id, expectation)| Expected { id, expectation, standing: Standing::Open });
        let undecided = self.awaited.iter().filter(|expected| match expected.standing {
            Standing::Open | Standing::Unknown => true,
            Standing::Settled(_) | Standing::Void => false,
        });
        let undecided: Vec<Expected> = undecided.cloned().chain(new).collect();
        let runs: BTreeSet<RunId> = undecided.iter().map(|expected| expected.expectation.run).collect();
        let runs: Vec<RunId> = runs.into_iter().collect();
        for page in runs.chunks(PAGE) {
            let journals = service.patiently(|| service.store.journals(page)).await?;
            let of_page = undecided.iter().filter(|expected| page.binary_search(&expected.expectation.run).is_ok());
            for expected in of_page {
                let entries = journals.get(&expected.expectation.run).map(Vec::as_slice).unwrap_or_default();
                let standing = echo::standing(&expected.expectation, entries, service.clock.now());
                self.awaited.put(Expected { standing, ..expected.clone() });
            }
        }
        Ok(())
    }

    /// Judges a change, waiting for a write in flight that it may be. `fulfilled`: what earlier changes of the batch
    /// did; the store still has it until the batch is stored.
    async fn judge(&mut self, delta: &Delta, fulfilled: &BTreeSet<i64>) -> Result<Verdict, Stop> {
        loop {
            let counts =
                |name: &str| self.writable.as_ref().is_none_or(|writable| writable.iter().any(|field| field == name));
            let settled = self.service.settled.notified();
            let awaited = self.awaited.of(&delta.key).filter(|expected| !fulfilled.contains(&expected.id));
            let verdict = echo::judge(delta, awaited, counts);
            if verdict != Verdict::Wait {
                return Ok(verdict);
            }
            tokio::select! {
                biased;
                () = self.service.stopping.cancelled() => return Err(Stop::Stopping),
                () = settled => {}
                () = self.service.clock.sleep(LOOK) => {}
            }
            self.look_at_awaited().await?;
        }
    }

    /// The run that a change starts; `None` if this listen does not fire for it.
    fn fire(&mut self, delta: Delta, verdict: &Verdict) -> Option<NewRun> {
        let (service, listen) = (self.service, self.listen);
        if !listen.kinds.contains(&delta.kind)
            || !fired::touches(listen, delta.kind, delta.before.as_ref(), &delta.record)
        {
            return None;
        }
        let now = service.clock.now();
        let record = fired::record(&service.plan, listen, delta.kind, &delta.key, &delta.record);
        let (mut state, mut reason) = (State::Ready, None);
        match lf_lang::run::matches(&service.plan, listen, &record, now) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(failure) => {
                state = State::Held;
                reason = Some(format!("the WHERE of `{}` failed on it: {}", listen.name, failure.message));
            }
        }
        if watches::is_watch(&listen.name) {
            (state, reason) = (State::Skipped, Some("heard for the runs that wait for it".to_owned()));
        }
        let (mut depth, mut cause) = (0, None);
        if let Verdict::Caused(caused) = verdict {
            depth = caused.depth.saturating_add(1);
            cause = Some(caused.run);
            if caused.whole && caused.own && !listen.echo {
                state = State::Skipped;
                reason = Some(format!("echo: run {} of this listen wrote it", caused.run));
            } else if depth >= listen.depth.unwrap_or(u32::MAX).min(service.limits.depth) {
                state = State::Held;
                reason = Some(format!(
                    "a chain of {depth} changes that cause each other, the last by run {}; end the loop between the \
                     listens, then retry or cancel this run",
                    caused.run
                ));
            }
        }
        if state == State::Ready
            && let Some(times) = self.burst(&delta.key)
        {
            state = State::Held;
            reason = Some(format!("`{}` fired {times} times within a minute for this record", listen.name));
        }
        Some(NewRun {
            listen: listen.name.clone(),
            key: delta.key,
            delivery: delta.delivery,
            kind: delta.kind,
            fields: if listen.with_change {
                fired::changed(delta.kind, delta.before.as_ref(), &delta.record)
            } else {
                None
            },
            debounce: listen.debounce,
            record: delta.record,
            before: delta.before,
            at: delta.at.unwrap_or(now),
            by: delta.by,
            depth,
            cause,
            state,
            reason,
        })
    }

    /// Counts one more firing of a record; answers how many there were if they are too many for a minute.
    fn burst(&mut self, key: &lf_module::Key) -> Option<u32> {
        let now = self.service.clock.monotonic();
        if self.bursts.len() >= 10_000 {
            self.bursts.retain(|_, (began, _)| now.saturating_sub(*began) < MINUTE);
        }
        let (began, times) = self.bursts.entry(key.clone()).or_insert((now, 0));
        if now.saturating_sub(*began) >= MINUTE {
            (*began, *times) = (now, 0);
        }
        *times = times.saturating_add(1);
        (*times > self.service.limits.burst).then_some(*times)
    }

    /// Expectations that several looks passed by and that are old, or that will not come.
    fn given_up(&mut self, fulfilled: &BTreeSet<i64>) -> Vec<i64> {
        let now = self.service.clock.now();
        let mut over = Vec::new();
        for expected in self.awaited.iter().filter(|expected| !fulfilled.contains(&expected.id)) {
            let looks = self.passed_by.entry(expected.id).or_default();
            *looks = looks.saturating_add(1);
            let age = until(expected.expectation.at, now);
            if expected.standing == Standing::Void || (*looks >= GIVEN_UP.1 && age >= GIVEN_UP.0) {
                over.push(expected.id);
            }
        }
        self.passed_by.retain(|id, _| self.awaited.has(*id));
        over
    }

    fn tell(&self, ids: &[RunId], runs: &[NewRun]) {
        let service = self.service;
        {
            let mut tally = service.tally();
            tally.taken_in += ids.len() as u64;
            tally.skipped += runs.iter().filter(|run| run.state == State::Skipped).count() as u64;
            tally.held += runs.iter().filter(|run| run.state == State::Held).count() as u64;
        }
        // A delivery that was known already is not new: then the ids say nothing about which run is which.
        let ids = (ids.len() == runs.len()).then_some(ids);
        for (index, run) in runs.iter().enumerate() {
            let subject = ids.and_then(|ids| ids.get(index)).map(|id| news::Subject {
                id: *id,
                key: run.key.clone(),
                function: self.listen.function.clone(),
            });
            let what = What::TakenIn {
                kind: run.kind,
                record: news::show(&run.record),
                state: run.state,
                reason: run.reason.clone(),
            };
            service.tell(&self.listen.name, subject.as_ref(), what);
        }
    }
}
