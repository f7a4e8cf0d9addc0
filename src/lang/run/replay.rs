//! The journal back into a run: settlements are fed by address, in the order in which the run asks for them.
//!
//! INVARIANT: only successes answer a replay, a refused call is made again; and a journal that does not fit the plan is
//! an error that shows both sides, never a guess.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::{
    entry::{Entry, Intent},
    eval::journal,
    io::{Effect, Failure, Finish, Fired, Input, Settlement},
    state::RunState,
    step,
};
use crate::plan::ir::{Plan, PlanId};

/// Where a journal leaves a run.
#[derive(Debug, Clone)]
pub struct Replayed {
    pub state: RunState,
    /// What the run asks for next: a call that is not settled, or its end.
    pub effects: Vec<Effect>,
    /// How many settlements of the journal were used.
    pub answered: usize,
    /// The intent of the call that the run asks for, if it was written before and has no answer.
    pub open: Option<Open>,
}

/// An intent without an answer.
#[derive(Debug, Clone)]
pub struct Open {
    pub intent: Box<Intent>,
    /// Somebody decided that it was done; else the outcome is unknown.
    pub done: bool,
}

/// Brings a run back to where its journal leaves it.
///
/// # Errors
/// A journal [`Failure`] if the entries are not a run's, or not one of this plan.
pub fn replay(plan: &Plan, entries: &[Entry]) -> Result<Replayed, Failure> {
    let Kept { plan: _, fired, mut settled, intents, finished } = Kept::of(entries)?;
    let mut state = RunState::new();
    let mut answered = 0;
    let mut effects = step(plan, &mut state, Input::Fired(fired));
    while let Some((address, settlement)) = next_answer(&effects, &mut settled, &intents)? {
        answered += 1;
        effects = step(plan, &mut state, Input::Settled { address, settlement });
    }
    let asked = asked(&effects);
    if let Some(Effect::Finish(Finish::Failed(failure))) = effects.first()
        && failure.kind == super::io::FailureKind::Journal
    {
        return Err(failure.clone());
    }
    if let Some(address) = settled.keys().next() {
        return Err(journal(format!("the journal holds an answer for `{address}`; the run asks for {asked}")));
    }
    if let Some(Finish::Done(value)) = finished
        && effects != [Effect::Finish(Finish::Done(value.clone()))]
    {
        return Err(journal(format!("the journal says that the run is done; the run asks for {asked}")));
    }
    let mut open = None;
    for (address, Written { intent, settled, done }) in intents {
        match effects.first() {
            _ if settled => {}
            Some(Effect::Call { address: wanted, .. }) if wanted.0 == address => open = Some(Open { intent, done }),
            Some(Effect::Call { .. } | Effect::Finish(_)) | None => {
                return Err(journal(format!("the journal was about to do `{address}`; the run asks for {asked}")));
            }
        }
    }
    Ok(Replayed { state, effects, answered, open })
}

fn next_answer(
    effects: &[Effect],
    settled: &mut BTreeMap<SmolStr, Settlement>,
    intents: &BTreeMap<SmolStr, Written>,
) -> Result<Option<(super::Address, Settlement)>, Failure> {
    let Some(Effect::Call { address, connection, request, place: _ }) = effects.first() else { return Ok(None) };
    if let Some(Written { intent, settled: _, done: _ }) = intents.get(&address.0)
        && (intent.request != *request || intent.connection != *connection)
    {
        let (was, is) = (&intent.request, request);
        return Err(journal(format!("the journal sent {was:?} for `{address}`; the run asks for {is:?}")));
    }
    // Order in the journal is not the order asked for only where an attempt read anew; the address decides.
    Ok(settled.remove(&address.0).map(|settlement| (address.clone(), settlement)))
}

fn asked(effects: &[Effect]) -> String {
    match effects.first() {
        Some(Effect::Call { address, .. }) => format!("`{}`", address.0),
        Some(Effect::Finish(Finish::Done(_))) => "nothing: it is done".to_owned(),
        Some(Effect::Finish(Finish::Failed(failure))) => format!("nothing: it failed ({})", failure.message),
        None => "nothing".to_owned(),
    }
}

/// What of a journal answers a *retry*: settled writes, and the reads before the last of them. Later reads are done
/// anew, refused calls too. But while a write is in flight everything answers, since another reading could lead past
/// it. An [`Entry::Attempt`] does the same in place, so that the journal itself may stay whole.
#[must_use]
pub fn retained(entries: &[Entry]) -> Vec<Entry> {
    let mut flying = BTreeSet::new();
    let mut written = BTreeSet::new();
    let mut last = None;
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Intent(intent) => {
                flying.insert(&intent.address);
            }
            Entry::Settled { address, settlement, .. } => {
                flying.remove(address);
                if is_write(settlement) {
                    last = Some(index);
                    written.insert(address);
                }
            }
            // What was done stays in flight until it has an answer.
            Entry::Decided { address, done, .. } if !done => {
                flying.remove(address);
            }
            Entry::Started { .. } | Entry::Decided { .. } | Entry::Attempt { .. } | Entry::Finished { .. } => {}
        }
    }
    let keep = |(index, entry): &(usize, &Entry)| match entry {
        Entry::Started { .. } => true,
        Entry::Settled { settlement, .. } => {
            !refused(settlement)
                && (is_write(settlement) || !flying.is_empty() || last.is_some_and(|last| *index < last))
        }
        Entry::Intent(intent) => written.contains(&intent.address) || flying.contains(&intent.address),
        Entry::Decided { done, .. } => *done,
        Entry::Attempt { .. } | Entry::Finished { .. } => false,
    };
    entries.iter().enumerate().filter(keep).map(|(_, entry)| entry.clone()).collect()
}

fn is_write(settlement: &Settlement) -> bool {
    match settlement {
        Settlement::Written { .. } | Settlement::Deleted | Settlement::Linked => true,
        Settlement::Records(_) | Settlement::Refused(_) => false,
    }
}

fn refused(settlement: &Settlement) -> bool {
    matches!(settlement, Settlement::Refused(_))
}

/// A journal after its attempts: what answers.
struct Kept {
    plan: PlanId,
    fired: Fired,
    settled: BTreeMap<SmolStr, Settlement>,
    intents: BTreeMap<SmolStr, Written>,
    finished: Option<Finish>,
}

struct Written {
    intent: Box<Intent>,
    settled: bool,
    /// Decided to be done, without an answer.
    done: bool,
}

impl Kept {
    fn of(entries: &[Entry]) -> Result<Self, Failure> {
        let Some(Entry::Started { plan, fired }) = entries.first() else {
            return Err(journal("the journal does not begin with the start of a run".to_owned()));
        };
        let mut kept = Self {
            plan: plan.clone(),
            fired: fired.clone(),
            settled: BTreeMap::new(),
            intents: BTreeMap::new(),
            finished: None,
        };
        for entry in effective(entries).iter().skip(1) {
            kept.add(entry)?;
        }
        Ok(kept)
    }

    fn add(&mut self, entry: &Entry) -> Result<(), Failure> {
        match entry {
            // A run that was moved to another text begins there.
            Entry::Started { plan, fired } if self.plan != *plan => {
                self.plan = plan.clone();
                self.fired = fired.clone();
            }
            Entry::Started { .. } => return Err(journal("the journal begins twice".to_owned())),
            Entry::Attempt { .. } => {}
            Entry::Finished { finish, .. } => self.finished = Some(finish.clone()),
            // A second intent at one address is the same call sent again; the first one's answer is not awaited any more.
            Entry::Intent(intent) => {
                let written = Written { intent: intent.clone(), settled: false, done: false };
                self.intents.insert(intent.address.0.clone(), written);
            }
            Entry::Decided { address, done: false, .. } => {
                self.intents.remove(&address.0);
            }
            Entry::Decided { address, done: true, .. } => {
                if let Some(written) = self.intents.get_mut(&address.0) {
                    written.done = true;
                }
            }
            Entry::Settled { address, settlement, .. } => {
                if let Some(written) = self.intents.get_mut(&address.0) {
                    written.settled = true;
                }
                if refused(settlement) {
                    self.intents.remove(&address.0);
                } else if self.settled.insert(address.0.clone(), settlement.clone()).is_some() {
                    return Err(journal(format!("the journal settles `{}` twice", address.0)));
                }
            }
        }
        Ok(())
    }
}

/// The entries as each attempt left them; an end that something follows was the end of an attempt.
fn effective(entries: &[Entry]) -> Vec<Entry> {
    let mut kept = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Attempt { .. } => kept = retained(&kept),
            Entry::Finished { .. } if index + 1 < entries.len() => kept = retained(&kept),
            Entry::Started { .. }
            | Entry::Intent(_)
            | Entry::Settled { .. }
            | Entry::Decided { .. }
            | Entry::Finished { .. } => kept.push(entry.clone()),
        }
    }
    kept
}
