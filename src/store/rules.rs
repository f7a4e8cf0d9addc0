//! What a run's standing allows: the pure part that every store shares, so that all of them mean the same.
//!
//! No storage here and no clock: instants are microseconds since 1970, as they are kept.

use std::time::Duration;

use jiff::Timestamp;
use lf_lang::{
    plan::PlanId,
    run::{Address, Entry},
};
use lf_module::call::ChangeKind;
use smol_str::SmolStr;

use super::{Fence, Order, Park, Release, RunId, State, StoreError};

/// An instant as it is kept.
pub(super) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// An instant as it was kept; one outside the calendar becomes its nearest end.
pub(super) fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(if micros < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// `at` and some time.
pub(super) fn later(at: i64, by: Duration) -> i64 {
    at.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX))
}

/// `at` less some time.
pub(super) fn earlier(at: i64, by: Duration) -> i64 {
    at.saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX))
}

/// The part of a run that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) state: State,
    pub(super) reason: Option<String>,
    pub(super) attempts: u32,
    pub(super) not_before: Option<i64>,
    pub(super) fence: i64,
    pub(super) owner: Option<SmolStr>,
    pub(super) plan: Option<PlanId>,
    pub(super) finished: Option<i64>,
    /// From when on it may be claimed; 0: at once. `None`: it is not its turn, or only a person moves it.
    /// INVARIANT: of the open runs of one listen and key at most one has it.
    /// A parked run that does not keep the turn has it as well.
    pub(super) due: Option<i64>,
    /// The listens whose next run wakes it: each between two newlines.
    pub(super) awaits: Option<String>,
    /// It is parked, and later changes of its record do not wait for it.
    pub(super) aside: bool,
}

/// What an order changes besides the standing.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// To append to the journal.
    pub(super) entry: Option<Entry>,
    /// The record's next run may not be claimed before.
    pub(super) floor: Option<i64>,
}

impl Standing {
    /// Of a run that comes in; its turn is given afterwards.
    pub(super) fn taken_in(state: State, reason: Option<String>, now: i64) -> Result<Self, StoreError> {
        let finished = match state {
            State::Ready | State::Held => None,
            State::Skipped => Some(now),
            State::Running
            | State::Retry
            | State::Waiting
            | State::Done
            | State::Dead
            | State::Unsure
            | State::Cancelled => {
                return Err(StoreError::State(format!("a change cannot be taken in as `{state}`")));
            }
        };
        Ok(Self {
            state,
            reason,
            attempts: 0,
            not_before: None,
            fence: 0,
            owner: None,
            plan: None,
            finished,
            due: None,
            awaits: None,
            aside: false,
        })
    }

    /// Whether another change of its record may still become one with it.
    pub(super) fn is_gathering(&self) -> bool {
        self.state == State::Ready && self.fence == 0 && self.not_before.is_some()
    }

    /// From when on it may be claimed if it has the turn; `None` where it cannot.
    pub(super) fn claimable_from(&self) -> Option<i64> {
        match self.state {
            State::Ready | State::Retry | State::Waiting => Some(self.not_before.unwrap_or(0)),
            State::Running
            | State::Done
            | State::Dead
            | State::Unsure
            | State::Held
            | State::Skipped
            | State::Cancelled => None,
        }
    }

    /// Gives it to an owner until then.
    pub(super) fn claim(&mut self, owner: &str, until: i64) -> Fence {
        self.state = State::Running;
        self.owner = Some(owner.into());
        self.fence += 1;
        self.due = Some(until);
        (self.awaits, self.aside) = (None, false);
        Fence(self.fence)
    }

    /// Whether later changes of its record wait for it.
    pub(super) fn keeps_turn(&self) -> bool {
        self.state.keeps_turn() && !self.aside
    }

    /// It looks again at once at what it waits for.
    pub(super) fn wake(&mut self) {
        self.not_before = None;
        self.due = self.due.map(|_| 0);
    }

    /// Whether it waits for this listen.
    pub(super) fn waits_for(&self, listen: &str) -> bool {
        self.awaits.as_ref().is_some_and(|awaits| awaits.contains(&awaited(listen)))
    }

    /// Whether the claim with this fence still stands. One whose lease ran out does until somebody else takes it.
    pub(super) fn is_held_by(&self, fence: Fence) -> bool {
        self.state == State::Running && self.fence == fence.0
    }

    /// Refuses a claim that no longer stands.
    pub(super) fn check(&self, fence: Fence) -> Result<(), StoreError> {
        if self.is_held_by(fence) { Ok(()) } else { Err(StoreError::Fenced) }
    }

    /// Ends a claim; the turn is given afterwards. On an error nothing has changed.
    pub(super) fn release(&mut self, fence: Fence, release: Release, now: i64) -> Result<Vec<Entry>, StoreError> {
        self.check(fence)?;
        let entries = match release {
            Release::End { state, reason, entries } => {
                self.finished = match state {
                    State::Done | State::Dead => Some(now),
                    State::Unsure => None,
                    State::Ready
                    | State::Running
                    | State::Retry
                    | State::Waiting
                    | State::Held
                    | State::Skipped
                    | State::Cancelled => {
                        return Err(StoreError::State(format!("a run under way cannot end as `{state}`")));
                    }
                };
                self.state = state;
                self.reason = reason;
                self.not_before = None;
                self.attempts += 1;
                entries
            }
            Release::Retry { at, reason, entries } => {
                self.state = State::Retry;
                self.reason = Some(reason);
                self.not_before = Some(micros(at));
                self.attempts += 1;
                entries
            }
            Release::Back { at, reason, entries } => {
                self.state = State::Ready;
                self.reason = reason;
                self.not_before = at.map(micros);
                entries
            }
            Release::Park(Park { at, awaits, after: _, go, reason, entries }) => {
                self.state = State::Waiting;
                self.reason = Some(reason);
                self.not_before = Some(micros(at));
                self.attempts = 0;
                self.owner = None;
                self.aside = go;
                self.due = go.then(|| micros(at));
                self.awaits = (!awaits.is_empty()).then(|| awaits.iter().map(|listen| awaited(listen)).collect());
                return Ok(entries);
            }
        };
        self.owner = None;
        self.due = None;
        Ok(entries)
    }

    /// Carries out what a person wants; the turn is given afterwards. On an error nothing has changed.
    pub(super) fn order(
        &mut self,
        run: RunId,
        order: &Order,
        now: Timestamp,
        entries: &[Entry],
    ) -> Result<Ordered, StoreError> {
        let state = self.state;
        let mut ordered = Ordered::default();
        match order {
            Order::Retry | Order::RetryCurrent => match state {
                State::Retry | State::Dead | State::Unsure | State::Held => {
                    self.make_ready();
                    if *order == Order::RetryCurrent {
                        self.plan = None;
                    }
                }
                State::Ready | State::Running | State::Waiting | State::Done | State::Skipped | State::Cancelled => {
                    return Err(StoreError::State(format!(
                        "run {run} is `{state}`; only a `retry`, `dead`, `unsure` or `held` run can be tried again"
                    )));
                }
            },
            Order::SettleDone | Order::SettleAgain => {
                if state != State::Unsure {
                    return Err(StoreError::State(format!(
                        "run {run} is `{state}`; only an `unsure` run has a write to settle"
                    )));
                }
                let Some(address) = open_intent(entries) else {
                    return Err(StoreError::State(format!(
                        "run {run} has no write in flight; retry or cancel it instead"
                    )));
                };
                let done = *order == Order::SettleDone;
                let why = if done { "a person saw it done" } else { "a person saw it not done" };
                ordered.entry = Some(Entry::Decided { address: address.clone(), done, why: why.to_owned(), at: now });
                self.make_ready();
            }
            Order::Cancel => match state {
                State::Ready
                | State::Running
                | State::Retry
                | State::Waiting
                | State::Dead
                | State::Unsure
                | State::Held => {
                    if state == State::Running {
                        // The runner notices at its next write or renewal; until its lease is over it may still act.
                        ordered.floor = self.due;
                    }
                    self.cancel(micros(now));
                }
                State::Done | State::Skipped | State::Cancelled => {
                    return Err(StoreError::State(format!("run {run} is `{state}`; there is nothing to cancel")));
                }
            },
        }
        Ok(ordered)
    }

    /// Ends it, whoever has it.
    pub(super) fn cancel(&mut self, now: i64) {
        if self.state == State::Running {
            self.fence += 1;
        }
        self.state = State::Cancelled;
        self.owner = None;
        self.not_before = None;
        self.due = None;
        (self.awaits, self.aside) = (None, false);
        self.finished = Some(now);
    }

    fn make_ready(&mut self) {
        self.state = State::Ready;
        self.reason = None;
        self.attempts = 0;
        self.not_before = None;
        self.finished = None;
        self.due = None;
    }
}

/// A change that waited and the one after it, as one.
pub(super) struct United {
    pub(super) kind: ChangeKind,
    pub(super) fields: Option<Vec<SmolStr>>,
}

/// Created and updated is created; otherwise the later says what it is. Of updates, the fields are those of both.
pub(super) fn united(
    (kind, fields): (ChangeKind, Option<&[SmolStr]>),
    (then, more): (ChangeKind, Option<&[SmolStr]>),
) -> United {
    let kind = match (kind, then) {
        (ChangeKind::Created, ChangeKind::Updated) => ChangeKind::Created,
        (ChangeKind::Created | ChangeKind::Updated | ChangeKind::Deleted, then) => then,
    };
    let fields = fields.zip(more).map(|(fields, more)| {
        let mut all = fields.to_vec();
        all.extend(more.iter().filter(|name| !fields.contains(name)).cloned());
        all
    });
    United { kind, fields }
}

/// Until when a change waits for another one that it is one with.
pub(super) fn debounced(first: i64, now: i64, length: Duration) -> i64 {
    later(now, length).min(later(first, length.saturating_mul(10)))
}

/// How a listen stands among those that a run waits for.
pub(super) fn awaited(listen: &str) -> String {
    format!("\n{listen}\n")
}

/// The plan that these entries begin with, if they begin.
pub(super) fn plan_of(entries: &[Entry]) -> Option<&PlanId> {
    entries.iter().rev().find_map(|entry| match entry {
        Entry::Started { plan, fired: _ } => Some(plan),
        Entry::Intent(_)
        | Entry::Waiting(_)
        | Entry::Settled { .. }
        | Entry::Decided { .. }
        | Entry::Attempt { .. }
        | Entry::Finished { .. } => None,
    })
}

/// Whether something is about to be sent.
pub(super) fn intends(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry, Entry::Intent(_)))
}

/// The last write that was about to be sent and of which nothing is known.
fn open_intent(entries: &[Entry]) -> Option<&Address> {
    let mut open: Vec<&Address> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Intent(intent) => {
                open.retain(|address| **address != intent.address);
                open.push(&intent.address);
            }
            Entry::Settled { address: answered, .. } | Entry::Decided { address: answered, .. } => {
                open.retain(|address| *address != answered);
            }
            Entry::Started { .. } | Entry::Waiting(_) | Entry::Attempt { .. } | Entry::Finished { .. } => {}
        }
    }
    open.pop()
}
