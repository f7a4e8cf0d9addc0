//! What the store in memory holds, and each change of it as one plain function. No faults, no locks, no futures.

mod facts;
mod inbox;
mod runs;

use std::collections::{BTreeMap, BTreeSet};

use lf_lang::{
    plan::{Plan, PlanId},
    run::Entry,
};
use lf_module::{Description, Key};
use smol_str::SmolStr;

use crate::store::{
    Expectation, NewRun, Position, Run, RunId, Sealed, Seen, State,
    rules::{Standing, instant, micros},
};

type Identity = (SmolStr, SmolStr, SmolStr);

#[derive(Debug, Default)]
pub(super) struct Data {
    last_run: i64,
    last_expectation: i64,
    listens: BTreeMap<SmolStr, Option<Position>>,
    /// Those that are switched off, since when.
    off: BTreeMap<SmolStr, i64>,
    seen: BTreeMap<(SmolStr, Key), Seen>,
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
    pub(super) notes: BTreeMap<SmolStr, String>,
    pub(super) credentials: BTreeMap<SmolStr, Sealed>,
    /// Who renews a credential, and until when.
    pub(super) locks: BTreeMap<SmolStr, (SmolStr, i64)>,
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
            fields: new.fields,
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

/// Turns.
impl Data {
    /// Changes a run's standing and keeps the indexes true.
    fn change<T>(&mut self, id: RunId, change: impl FnOnce(&mut Standing) -> T) -> Option<T> {
        let kept = self.runs.get_mut(&id)?;
        let due = kept.standing.due;
        let answer = change(&mut kept.standing);
        let (now_due, opens) = (kept.standing.due, kept.standing.keeps_turn());
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
