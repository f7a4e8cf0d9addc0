//! Drives one run: step, append, perform, append, step. What a failure leads to is decided here and nowhere else.

use std::time::Duration;

use super::{
    attempt::Attempt,
    clock::{later, until},
    fired::fired,
    journal::Journal,
    news::{Subject, What},
    perform::{self, Asked},
    service::Service,
    trouble::Trouble,
    waits::Waits,
};
use crate::store::{Claimed, Fence, Park, Release, Run, State, StoreError};
use jiff::Timestamp;
use lf_lang::{
    plan::{Plan, ir::Listen},
    run::{
        self, Effect, Entry, Failure, Finish, Input, Past, Request, RunState, Settlement, entry::Intent,
        io::FailureKind,
    },
};
use lf_module::{Kind, Read};

/// The longest wait before each further attempt; the last serves for all that follow. The wait is at least half of it.
const BACKOFF: [Duration; 4] =
    [Duration::from_secs(4), Duration::from_secs(20), Duration::from_secs(100), Duration::from_secs(300)];
/// How often a run looks whether its connection is still held.
const LOOK: Duration = Duration::from_secs(10);

/// How the reason of a run begins that waits for a held connection.
const WAITS: &str = "waits for ";

/// Whether the run only looks again whether its connection is still held: that is no news.
fn has_waited(run: &Run) -> bool {
    run.reason.as_ref().is_some_and(|reason| reason.starts_with(WAITS))
}

/// Whether a run came back because its connection is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) held_back: bool,
}

/// How far a claim brought a run.
enum End {
    Finished(Finish),
    Parked(Park),
}

/// Drives a claimed run until its claim ends.
pub(super) async fn drive(service: &Service, claimed: Claimed) -> Ended {
    let Claimed { run, fence, entries } = claimed;
    let Some(listen) = service.listen(&run.listen) else { return Ended { held_back: false } };
    let subject = Subject { id: run.id, key: run.key.clone(), function: listen.function.clone() };
    let mut journal = Journal::new(service, run.id, fence, &entries);
    let older = match older_plan(service, &run).await {
        Ok(older) => older,
        Err(error) => {
            let reason = format!("the program that the run began with cannot be read: {error}");
            let release = Release::End { state: State::Unsure, reason: Some(reason), entries: Vec::new() };
            return finish(service, &run, &subject, fence, release, true).await;
        }
    };
    let plan = older.as_ref().unwrap_or(&service.plan);
    let attempt = Attempt::new(service, plan, listen, &run, subject);
    let went = tokio::select! {
        biased;
        went = work(&attempt, &mut journal, &entries) => went,
        () = service.abandon.cancelled() => Err(Trouble::Stopping),
    };
    // That a whole system is away was told once, for all runs.
    let told = !matches!(went, Err(Trouble::Away { .. }));
    let release = match went {
        Ok(End::Finished(finish)) => ended(&attempt, &mut journal, finish),
        Ok(End::Parked(park)) => Release::Park(park),
        Err(Trouble::Store(error)) => {
            // Taken over, or the store is gone: this claim's word does not count any more.
            tracing::info!("run {} is left to others: {error}", run.id);
            attempt.tell(What::TakenOver);
            return Ended { held_back: false };
        }
        Err(trouble) => troubled(&attempt, &mut journal, trouble),
    };
    let subject = attempt.subject.clone();
    finish(service, &run, &subject, fence, release, told).await
}

/// The plan that the run began with, if it is not the present one.
async fn older_plan(service: &Service, run: &Run) -> Result<Option<std::sync::Arc<Plan>>, StoreError> {
    let Some(id) = run.plan.as_ref().filter(|id| **id != service.plan_id) else { return Ok(None) };
    let plan = service.patiently(|| service.store.plan(id)).await?;
    match plan {
        Some(plan) => Ok(Some(std::sync::Arc::new(plan))),
        None => Err(StoreError::Missing(format!("there is no program {}", id.0))),
    }
}

async fn work(attempt: &Attempt<'_>, journal: &mut Journal<'_>, entries: &[Entry]) -> Result<End, Trouble> {
    let (service, run) = (attempt.service, attempt.run);
    // A run that ended and is here all the same is tried again.
    let mut past = Past::of(entries).map_err(Trouble::Failed)?;
    if past.finished.is_some() {
        past = past.again();
    }
    let mut open = None;
    match past.open() {
        Some(run::Open { intent, done: true }) => {
            let link = attempt.link(intent.connection, intent.place).await?;
            let settlement = perform::settled_unanswered(&link, &intent);
            journal.note(Entry::Settled {
                address: intent.address.clone(),
                place: intent.place,
                settlement: settlement.clone(),
                at: service.clock.now(),
            });
            past.answer(&intent.address, settlement);
        }
        Some(run::Open { intent, done: false }) => {
            decide(attempt, &intent).await?;
            open = Some(intent);
        }
        None => {}
    }
    if !has_waited(run) && past.waits.is_empty() {
        attempt.tell(What::Began { attempt: run.attempts + 1 });
    }
    let fired = match &past.started {
        Some((plan, fired)) if run.plan.as_ref() == Some(plan) => fired.clone(),
        Some(_) | None => {
            let fired = fired(&service.plan, attempt.listen, run);
            past.begin(service.plan_id.clone(), fired.clone());
            journal.note(Entry::Started { plan: service.plan_id.clone(), fired: fired.clone() });
            fired
        }
    };
    let mut waits = Waits::new(attempt, &past);
    let mut state = RunState::new();
    let mut input = Input::Fired(fired);
    loop {
        // One call at a time: the machine waits for its settlement before it asks for the next.
        let effects = run::step(attempt.plan, &mut state, input);
        if let Some((address, settlement)) = past.next(&effects).map_err(Trouble::Failed)? {
            input = Input::Settled { address, settlement };
            continue;
        }
        // INVARIANT: the first call that the journal does not answer is the write in flight, if there is one.
        past.fits(&effects).map_err(Trouble::Failed)?;
        let idle = !effects.iter().any(|effect| matches!(effect, Effect::Call { .. } | Effect::Finish(_)));
        if let Some((address, settlement)) = waits.over(journal, &effects, idle).await? {
            input = Input::Settled { address, settlement };
            continue;
        }
        let asked = match effects.first() {
            None => return Err(defect("the run machine asked for nothing and did not end")),
            Some(Effect::Finish(finish)) => {
                return Ok(End::Finished(unanswered(attempt, &past, finish.clone())));
            }
            Some(Effect::Await { .. }) => return Ok(End::Parked(waits.park(&effects, journal.take()))),
            Some(Effect::Call { address, place, connection, request, declines }) => Asked {
                address: address.clone(),
                place: *place,
                connection: *connection,
                request: request.clone(),
                declines: *declines,
                refusals: past.refusals(address),
                state: &state,
            },
        };
        let settlement = perform(attempt, journal, &asked, open.take().as_deref()).await?;
        let address = asked.address;
        past.performed(&address);
        input = Input::Settled { address, settlement };
    }
}

/// A run that ended for want of a field, and a write of it was settled by a person: its answer never came, and what it
/// lacks may be a field of that.
fn unanswered(attempt: &Attempt<'_>, past: &Past, finish: Finish) -> Finish {
    match (finish, &past.unanswered) {
        (Finish::Failed(failure), Some(done)) if failure.kind == FailureKind::Call(Kind::Drift) => {
            let place = attempt.plan.place(done.place);
            let of = place.map_or_else(String::new, |at| format!(" to `{}` (line {})", at.says, at.line));
            let message = format!("{}; the answer{of} never came: a person said that it was done", failure.message);
            Finish::Failed(Failure { message, ..failure })
        }
        (finish, _) => finish,
    }
}

/// Performs a call that the journal does not answer.
async fn perform(
    attempt: &Attempt<'_>,
    journal: &mut Journal<'_>,
    asked: &Asked<'_>,
    open: Option<&Intent>,
) -> Result<Settlement, Trouble> {
    let service = attempt.service;
    if service.stopping.is_cancelled() {
        return Err(Trouble::Stopping);
    }
    if service.is_off(&attempt.run.listen) {
        return Err(Trouble::Off);
    }
    if journal.is_over() {
        let message =
            format!("the run's journal is larger than {} bytes, the limit for one run", service.limits.journal);
        return Err(super::attempt::limit(asked.place, message));
    }
    let went = match &asked.request {
        Request::Read { ty, origin, pins, by } => {
            let read = Read { ty: ty.clone(), origin: origin.clone(), pins: pins.clone(), page: None };
            perform::read(attempt, journal, asked, read, by).await
        }
        Request::Write(_) | Request::Delete { .. } | Request::Link { .. } => {
            perform::write(attempt, journal, asked, open).await
        }
    };
    match went {
        Ok(settlement) => Ok(settlement),
        Err(Trouble::Refused { failure, said, status }) => {
            attempt.tell(What::Refused {
                spot: attempt.spot(failure.place.unwrap_or(asked.place)),
                connection: attempt.plan.connection(asked.connection).map(|at| at.name.clone()).unwrap_or_default(),
                why: failure.message.clone(),
            });
            // Only a no of the system itself: what this runner does not allow has no way in the text.
            let declined = asked.declines && failure.kind == FailureKind::Call(Kind::Refused);
            let settlement =
                if declined { Settlement::Declined { text: said, status } } else { Settlement::Refused(failure) };
            journal.note(perform::settled(attempt, asked, settlement.clone()));
            Ok(settlement)
        }
        Err(trouble) => Err(trouble),
    }
}

/// Whether a write of unknown outcome may be gone on with (R4): never before its deadline is past.
async fn decide(attempt: &Attempt<'_>, open: &Intent) -> Result<(), Trouble> {
    let link = attempt.link(open.connection, open.place).await?;
    if !perform::may_repeat(&link, open) {
        let message =
            "the runner ended after this was sent and before an answer came; whether it was done is not known";
        let failure = Failure { kind: FailureKind::Unknown, message: message.to_owned(), place: Some(open.place) };
        return Err(Trouble::Unknown { failure, again: false, until: open.until });
    }
    let wait = until(attempt.service.clock.now(), open.until);
    if wait.is_zero() {
        return Ok(());
    }
    let why = "a write of an earlier attempt may still be under way".to_owned();
    Err(Trouble::Held { connection: link.name, until: open.until, why })
}

/// How a finished run is released.
fn ended(attempt: &Attempt<'_>, journal: &mut Journal<'_>, finish: Finish) -> Release {
    let (state, reason) = match &finish {
        Finish::Done(_) => (State::Done, None),
        Finish::Failed(failure) => match failure.kind {
            FailureKind::Program | FailureKind::Call(_) => (State::Dead, Some(epitaph(attempt, journal, failure))),
            FailureKind::Unknown | FailureKind::Journal => (State::Unsure, Some(told(attempt, failure))),
        },
    };
    let mut entries = journal.take();
    entries.push(Entry::Finished { finish, at: attempt.service.clock.now() });
    Release::End { state, reason, entries }
}

/// How a run that could not go on is released.
fn troubled(attempt: &Attempt<'_>, journal: &mut Journal<'_>, trouble: Trouble) -> Release {
    let now = attempt.service.clock.now();
    match trouble {
        Trouble::Later { failure, wait } => retry(attempt, journal, &failure, wait, None),
        Trouble::Unknown { failure, again: true, until } => retry(attempt, journal, &failure, None, Some(until)),
        // No entry ends the attempt: the write in flight stays what the run is about.
        Trouble::Unknown { failure, again: false, until: _ } => {
            let reason = Some(unsure(attempt, &failure));
            Release::End { state: State::Unsure, reason, entries: journal.take() }
        }
        Trouble::Held { connection, until, why } => {
            let reason = format!("{WAITS}`{connection}`: {why}");
            Release::Back { at: Some(until.min(later(now, LOOK))), reason: Some(reason), entries: journal.take() }
        }
        Trouble::Away { connection, until, why } => {
            let reason = format!("{WAITS}`{connection}`, which is away: {why}");
            Release::Back { at: Some(until), reason: Some(reason), entries: journal.take() }
        }
        Trouble::Off => {
            Release::Back { at: None, reason: Some("its listen is switched off".to_owned()), entries: journal.take() }
        }
        Trouble::Stopping => Release::Back { at: None, reason: None, entries: journal.take() },
        Trouble::Refused { failure, .. } | Trouble::Failed(failure) => ended(attempt, journal, Finish::Failed(failure)),
        Trouble::Store(error) => Release::Back { at: None, reason: Some(error.to_string()), entries: journal.take() },
    }
}

/// Another attempt, or the end if there is none left. `in_flight`: until when a write of unknown outcome may be under
/// way; such a run never becomes a dead letter.
fn retry(
    attempt: &Attempt<'_>,
    journal: &mut Journal<'_>,
    failure: &Failure,
    wait: Option<Duration>,
    in_flight: Option<Timestamp>,
) -> Release {
    let (service, run, most) = (attempt.service, attempt.run, attempt.listen.retry.max(1));
    let (now, number) = (service.clock.now(), run.attempts.saturating_add(1));
    let why = told(attempt, failure);
    let mut entries = journal.take();
    if number >= most {
        let state = if in_flight.is_some() { State::Unsure } else { State::Dead };
        if state == State::Dead {
            entries.push(Entry::Finished { finish: Finish::Failed(failure.clone()), at: now });
        }
        let why = if in_flight.is_some() { unsure(attempt, failure) } else { epitaph(attempt, journal, failure) };
        let reason = if most == 1 { why } else { format!("{why} (attempt {number} of {most})") };
        return Release::End { state, reason: Some(reason), entries };
    }
    let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let ceiling = BACKOFF.get(index).or(BACKOFF.last()).copied().unwrap_or_default();
    let delay =
        (ceiling / 2 + (ceiling / 2).mul_f64(service.random.unit().clamp(0.0, 1.0))).max(wait.unwrap_or_default());
    let at = later(now, delay).max(in_flight.unwrap_or(Timestamp::MIN));
    entries.push(Entry::Attempt { number, why: why.clone(), at: now });
    Release::Retry { at, reason: why, entries }
}

/// A failure for people: where, what.
fn told(attempt: &Attempt<'_>, failure: &Failure) -> String {
    let place = failure.place.and_then(|place| attempt.plan.place(place));
    match place {
        Some(at) if at.says.is_empty() => format!("{}:{}: {}", at.file, at.line, failure.message),
        Some(at) if !at.field.is_empty() => {
            format!("{}:{}:{}: `{}` of `{}`: {}", at.file, at.line, at.column, at.field, at.says, failure.message)
        }
        Some(at) => format!("{}:{}: `{}`: {}", at.file, at.line, at.says, failure.message),
        None => failure.message.clone(),
    }
}

/// The same for a run that is over, with what it did before.
fn epitaph(attempt: &Attempt<'_>, journal: &Journal<'_>, failure: &Failure) -> String {
    const SHOWN: usize = 5;
    let why = told(attempt, failure);
    let wrote = journal.wrote();
    if wrote.is_empty() {
        return why;
    }
    let places = wrote.iter().take(SHOWN).filter_map(|place| attempt.plan.place(*place));
    let mut done: Vec<String> = places.map(|at| format!("`{}` (line {})", at.says, at.line)).collect();
    if wrote.len() > SHOWN {
        done.push(format!("{} more", wrote.len() - SHOWN));
    }
    format!("{why}; done before, and kept: {}", done.join(", "))
}

/// The same for a run whose write may have been done, with the way out.
fn unsure(attempt: &Attempt<'_>, failure: &Failure) -> String {
    let id = attempt.run.id;
    let why = told(attempt, failure);
    format!("{why}; look whether it is there, then `listen-fire runs settle {id} --done` or `--again`")
}

fn defect(message: &str) -> Trouble {
    Trouble::Failed(Failure { kind: FailureKind::Journal, message: message.to_owned(), place: None })
}

/// Ends the claim, and tells how.
async fn finish(service: &Service, run: &Run, subject: &Subject, fence: Fence, release: Release, told: bool) -> Ended {
    let held_back = matches!(&release, Release::Back { at: Some(_), .. });
    let released =
        service.patiently(|| service.store.release(run.id, fence, release.clone(), service.clock.now())).await;
    service.settled.notify_waiters();
    if let Err(error) = released {
        tracing::info!("run {} is left to others: {error}", run.id);
        service.tell(&run.listen, Some(subject), What::TakenOver);
        return Ended { held_back: false };
    }
    let what = match release {
        Release::End { state, reason, entries: _ } => {
            count(service, run, state, reason.as_deref());
            What::Ended { state, reason }
        }
        Release::Retry { at, reason, entries: _ } => {
            service.tally().retried += 1;
            let of = service.listen(&run.listen).map_or(1, |listen: &Listen| listen.retry);
            What::Retry { attempt: run.attempts + 1, of, next: at, why: reason }
        }
        Release::Back { at: Some(_), .. } if !told || has_waited(run) => return Ended { held_back },
        Release::Park(Park { at, reason, .. }) => {
            // One that only looked again is no news.
            if run.reason.as_ref() == Some(&reason) {
                return Ended { held_back };
            }
            What::Parked { until: at, why: reason }
        }
        Release::Back { at: _, reason, entries: _ } => {
            What::Back { why: reason.unwrap_or_else(|| "the runner stops".to_owned()) }
        }
    };
    service.tell(&run.listen, Some(subject), what);
    Ended { held_back }
}

fn count(service: &Service, run: &Run, state: State, reason: Option<&str>) {
    let mut tally = service.tally();
    match state {
        State::Done => tally.done += 1,
        State::Dead => tally.dead += 1,
        State::Unsure => tally.unsure += 1,
        State::Ready
        | State::Running
        | State::Retry
        | State::Waiting
        | State::Held
        | State::Skipped
        | State::Cancelled => {}
    }
    if let Some(reason) = reason {
        tally.problem(format!("run {} of `{}` for `{}`: {reason}", run.id, run.listen, run.key));
    }
}
