//! What a run waits for: when it began, whether it is over, and how the run is parked. Nothing here is held while the run
//! is parked.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use lf_lang::{
    plan::ir::PlaceId,
    run::{
        self, Address, Effect, Entry, Failure, Finish, Input, Past, RunState, Settlement, Test, Wait, entry::Waiting,
        io::FailureKind,
    },
};
use lf_module::Value;
use smol_str::SmolStr;

use super::{
    attempt::Attempt,
    fired,
    journal::Journal,
    looks::Look,
    news::What,
    perform::{self, Asked},
    trouble::Trouble,
};
use crate::store::{Filter, Park, RunId};

/// How many heard changes are looked at with one question to the store.
const PAGE: u32 = 200;
/// A condition is not looked at more often.
const LEAST_EVERY: Duration = Duration::from_secs(1);
/// How long a run waits with everything it has for a look at a source.
const MOMENT: Duration = Duration::from_secs(2);

/// A wait that the machine wants.
struct Open<'e> {
    address: &'e Address,
    place: PlaceId,
    wait: &'e Wait,
}

/// The waits of one run.
pub(super) struct Waits<'a> {
    attempt: &'a Attempt<'a>,
    began: BTreeMap<Address, Waiting>,
    /// The last heard change that was looked at, of each wait.
    heard: BTreeMap<Address, RunId>,
}

impl<'a> Waits<'a> {
    pub(super) fn new(attempt: &'a Attempt<'a>, past: &Past) -> Self {
        Self { attempt, began: past.waits.clone(), heard: BTreeMap::new() }
    }

    /// Notes the waits that begin now, and answers one that is over. Without a call to make (`idle`) every wait is
    /// looked at; beside one, only the clock is.
    pub(super) async fn over(
        &mut self,
        journal: &mut Journal<'_>,
        effects: &[Effect],
        idle: bool,
    ) -> Result<Option<(Address, Settlement)>, Trouble> {
        let now = self.attempt.service.clock.now();
        let open: Vec<Open<'_>> = effects.iter().filter_map(wanted).collect();
        for open in &open {
            self.begin(journal, open, now);
        }
        let mut sleeps: Vec<(Timestamp, &Open<'_>)> = open
            .iter()
            .filter(|open| matches!(open.wait, Wait::Sleep { .. }))
            .map(|open| (self.until(open), open))
            .collect();
        sleeps.sort_by_key(|(until, _)| *until);
        if let Some((_, open)) = sleeps.first().filter(|(until, _)| *until <= now) {
            return Ok(Some(self.end(journal, open, Value::Absent)));
        }
        if !idle {
            return Ok(None);
        }
        for open in &open {
            let came = match open.wait {
                Wait::Sleep { .. } => None,
                Wait::First { watch, test, most: _ } => {
                    // The look comes first, so that what it stored is among what is tested.
                    let look = if self.until(open) <= now { self.look(open, *watch).await? } else { Look::Later };
                    match (self.first(open, *watch, test).await?, look) {
                        (Some(record), _) => Some(record),
                        (None, Look::Done) => Some(Value::Absent),
                        (None, Look::InVain) => {
                            self.tell_unseen(open);
                            Some(Value::Absent)
                        }
                        (None, Look::Wanted | Look::Later) => None,
                    }
                }
                Wait::Until { test, every: _, most: _ } => {
                    let holds = self.holds(open, test).await?;
                    (holds || self.until(open) <= now).then_some(Value::Bool(holds))
                }
            };
            if let Some(value) = came {
                return Ok(Some(self.end(journal, open, value)));
            }
        }
        Ok(None)
    }

    fn begin(&mut self, journal: &mut Journal<'_>, open: &Open<'_>, now: Timestamp) {
        if self.began.contains_key(open.address) {
            return;
        }
        let most = match open.wait {
            Wait::Sleep { length: most } | Wait::First { most, .. } | Wait::Until { most, .. } => *most,
        };
        let waiting = Waiting {
            address: open.address.clone(),
            place: open.place,
            since: journal.last_sent().unwrap_or(self.attempt.run.taken_in),
            at: now,
            until: after(now, most),
        };
        journal.note(Entry::Waiting(Box::new(waiting.clone())));
        self.began.insert(open.address.clone(), waiting);
    }

    fn until(&self, open: &Open<'_>) -> Timestamp {
        self.began.get(open.address).map_or(Timestamp::MIN, |began| began.until)
    }

    fn end(&self, journal: &mut Journal<'_>, open: &Open<'_>, value: Value) -> (Address, Settlement) {
        let at = self.attempt.service.clock.now();
        let settlement = Settlement::Woken { value, at };
        let (address, place) = (open.address.clone(), open.place);
        journal.note(Entry::Settled { address: address.clone(), place, settlement: settlement.clone(), at });
        (address, settlement)
    }

    /// Whether the source was looked at since the deadline, which is over. A source that answers does so in a moment;
    /// where the runner ends by itself it is waited for until it is known.
    async fn look(&self, open: &Open<'_>, watch: u32) -> Result<Look, Trouble> {
        let service = self.attempt.service;
        let Some(watch) = self.attempt.plan.watches.get(watch as usize) else { return Ok(Look::Done) };
        if !service.options.listen {
            return Ok(Look::Later);
        }
        let mut news = service.looks.news();
        let patience = service.clock.monotonic() + MOMENT;
        loop {
            let look = service.looks.since(&watch.name, self.until(open), service.clock.now());
            let left = patience.saturating_sub(service.clock.monotonic());
            if look != Look::Wanted || (left.is_zero() && !service.options.once) {
                return Ok(look);
            }
            tokio::select! {
                biased;
                () = service.stopping.cancelled() => return Err(Trouble::Stopping),
                Ok(()) = news.changed() => {}
                () = service.clock.sleep(left.max(LEAST_EVERY)) => {}
            }
        }
    }

    fn tell_unseen(&self, open: &Open<'_>) {
        let says = self.attempt.plan.place(open.place).map_or("await", |place| place.says.as_str());
        let message = format!(
            "the time of `{says}` is over and its source could not be looked at: what came last may have been missed"
        );
        tracing::warn!("run {}: {message}", self.attempt.run.id);
        self.attempt.tell(What::Warning { message });
    }

    /// The first heard record that is so.
    async fn first(&mut self, open: &Open<'_>, watch: u32, test: &Test) -> Result<Option<Value>, Trouble> {
        let attempt = self.attempt;
        let Some(watch) = attempt.plan.watches.get(watch as usize) else {
            return Err(Trouble::Failed(failure(open.place, "a source that is waited for is not in the plan")));
        };
        let since = self.began.get(open.address).map_or(attempt.run.taken_in, |began| began.since);
        // Whatever came before this run has a smaller number.
        let mut after = self.heard.get(open.address).copied().unwrap_or(attempt.run.id);
        loop {
            let filter = Filter {
                listen: Some(watch.name.to_string()),
                after: Some(after),
                oldest_first: true,
                limit: PAGE,
                ..Filter::default()
            };
            let heard = attempt.service.patiently(|| attempt.service.store.list(&filter)).await?;
            for change in &heard {
                after = change.id;
                self.heard.insert(open.address.clone(), after);
                if change.taken_in < since {
                    continue;
                }
                let record = fired::record(attempt.plan, watch, change.kind, &change.key, &change.record);
                if self.ask(open, test, Some(record.clone())).await? {
                    return Ok(Some(record));
                }
            }
            if heard.len() < PAGE as usize {
                return Ok(None);
            }
        }
    }

    async fn holds(&self, open: &Open<'_>, test: &Test) -> Result<bool, Trouble> {
        self.ask(open, test, None).await
    }

    /// Asks a test. What it reads is not journalled: only its outcome counts.
    async fn ask(&self, open: &Open<'_>, test: &Test, record: Option<Value>) -> Result<bool, Trouble> {
        let attempt = self.attempt;
        let mut state = RunState::new();
        let mut effects = run::ask(attempt.plan, &mut state, test, record, attempt.service.clock.now());
        loop {
            let (address, place, connection, request) = match effects.into_iter().next() {
                Some(Effect::Finish(Finish::Done(Value::Bool(holds)))) => return Ok(holds),
                Some(Effect::Finish(Finish::Failed(failed))) => {
                    return Err(Trouble::Failed(Failure { place: failed.place.or(Some(open.place)), ..failed }));
                }
                Some(Effect::Call { address, place, connection, request, declines: _ }) if request.is_read() => {
                    (address, place, connection, request)
                }
                Some(Effect::Call { .. } | Effect::Await { .. } | Effect::Finish(Finish::Done(_))) | None => {
                    return Err(Trouble::Failed(failure(open.place, "a condition that is waited for only reads")));
                }
            };
            let asked = Asked { address, place, connection, request, declines: false, refusals: 0, state: &state };
            let settlement = perform::look(attempt, &asked).await?;
            let address = asked.address;
            effects = run::step(attempt.plan, &mut state, Input::Settled { address, settlement });
        }
    }

    /// How the run is parked while it waits for these.
    pub(super) fn park(&self, effects: &[Effect], entries: Vec<Entry>) -> Park {
        let attempt = self.attempt;
        let now = attempt.service.clock.now();
        let (mut at, mut awaits, mut says): (Option<Timestamp>, Vec<SmolStr>, Vec<String>) =
            (None, Vec::new(), Vec::new());
        let mut after: Option<RunId> = None;
        for open in effects.iter().filter_map(wanted) {
            let until = self.until(&open);
            let next = match open.wait {
                Wait::Sleep { .. } => until,
                Wait::First { watch, .. } => {
                    awaits.extend(attempt.plan.watches.get(*watch as usize).map(|watch| watch.name.clone()));
                    let looked = self.heard.get(open.address).copied().unwrap_or(attempt.run.id);
                    after = Some(after.map_or(looked, |after| after.min(looked)));
                    // Its source is looked at once more before the time is over for the run.
                    if until <= now { super::clock::later(now, LEAST_EVERY) } else { until }
                }
                Wait::Until { every, .. } => {
                    let every = Duration::try_from(*every).unwrap_or_default().max(LEAST_EVERY);
                    super::clock::later(now, every).min(until)
                }
            };
            at = Some(at.map_or(next, |at| at.min(next)));
            let place = attempt.plan.place(open.place);
            let what = place
                .map_or_else(|| "await".to_owned(), |place| format!("{}:{}: `{}`", place.file, place.line, place.says));
            says.push(format!("{what} until {}", spoken(until)));
        }
        awaits.sort();
        awaits.dedup();
        Park {
            at: at.unwrap_or(now),
            awaits,
            after: after.unwrap_or(attempt.run.id),
            go: attempt.listen.go,
            reason: says.join("; "),
            entries,
        }
    }
}

fn wanted(effect: &Effect) -> Option<Open<'_>> {
    match effect {
        Effect::Await { address, place, wait } => Some(Open { address, place: *place, wait }),
        Effect::Call { .. } | Effect::Finish(_) => None,
    }
}

fn after(now: Timestamp, length: SignedDuration) -> Timestamp {
    now.checked_add(length).unwrap_or(if length.is_negative() { Timestamp::MIN } else { Timestamp::MAX })
}

/// To the second: what is shown to people.
fn spoken(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn failure(place: PlaceId, message: &str) -> Failure {
    Failure { kind: FailureKind::Journal, message: message.to_owned(), place: Some(place) }
}
