//! The one fold of a journal: what of it answers when its run goes on. Pure.
//!
//! After a crash the whole journal answers. After an attempt that ended, what was done answers (writes, waits that are
//! over), and what came before the last of it; what came later is asked anew: reads, and refusals that the text has a
//! way for. So a refusal stays only if something was done after it, which may have been on its account. A refusal that
//! the text has no way for never answers. While a write is in flight everything answers, since another reading could
//! lead past it.

use std::collections::{BTreeMap, btree_map::Entry as Slot};

use super::{
    Address, Entry,
    entry::{Intent, Waiting},
    eval::journal,
    io::{Effect, Failure, Finish, Fired, Settlement},
};
use crate::plan::ir::PlanId;

/// What is known of a run.
#[derive(Debug, Clone, Default)]
pub struct Past {
    /// The text that it goes by and what it was fired with; `None` if it never began.
    pub started: Option<(PlanId, Fired)>,
    /// How it ended, if nothing followed.
    pub finished: Option<Finish>,
    /// The last write of which a person says that it was done: its answer never came.
    pub unanswered: Option<Box<Intent>>,
    /// The waits that began, by address; some may be over.
    pub waits: BTreeMap<Address, Waiting>,
    /// What is settled, with its place in the order in which it was.
    answers: BTreeMap<Address, (usize, Settlement)>,
    /// What was about to be sent.
    intents: BTreeMap<Address, Sent>,
    /// How often each call was refused.
    refusals: BTreeMap<Address, u32>,
}

#[derive(Debug, Clone)]
struct Sent {
    intent: Box<Intent>,
    settled: bool,
    /// It was sent before and nobody knows what came of that.
    again: bool,
    /// Somebody decided that it was done, without an answer.
    done: bool,
}

/// An intent without an answer.
#[derive(Debug, Clone)]
pub struct Open {
    pub intent: Box<Intent>,
    /// Somebody decided that it was done; else the outcome is unknown.
    pub done: bool,
}

impl Past {
    /// Of these entries, the oldest first.
    ///
    /// # Errors
    /// A journal [`Failure`] if they are not a run's.
    pub fn of(entries: &[Entry]) -> Result<Self, Failure> {
        let mut past = Self::default();
        for (order, entry) in entries.iter().enumerate() {
            // An end that something follows was the end of an attempt.
            if past.finished.is_some() {
                past = past.again();
            }
            past.add(order, entry)?;
        }
        Ok(past)
    }

    fn add(&mut self, order: usize, entry: &Entry) -> Result<(), Failure> {
        if self.started.is_none() && !matches!(entry, Entry::Started { .. }) {
            return Err(journal("the journal does not begin with the start of a run".to_owned()));
        }
        match entry {
            Entry::Started { plan, fired } => {
                self.begin(plan.clone(), fired.clone());
            }
            Entry::Attempt { .. } => self.keep(),
            // A wait that is begun again goes on from where it was.
            Entry::Waiting(waiting) => {
                self.waits.entry(waiting.address.clone()).or_insert_with(|| waiting.as_ref().clone());
            }
            Entry::Finished { finish, .. } => self.finished = Some(finish.clone()),
            // A second intent at one address is the same call sent again; the first one's answer is not awaited.
            Entry::Intent(intent) => {
                let again = self.intents.get(&intent.address).is_some_and(|sent| !sent.settled);
                let sent = Sent { intent: intent.clone(), settled: false, again, done: false };
                self.intents.insert(intent.address.clone(), sent);
            }
            Entry::Decided { address, done: false, .. } => {
                self.intents.remove(address);
            }
            Entry::Decided { address, done: true, .. } => {
                if let Some(sent) = self.intents.get_mut(address) {
                    sent.done = true;
                    self.unanswered = Some(sent.intent.clone());
                }
            }
            Entry::Settled { address, settlement: Settlement::Refused(_), .. } => {
                self.refused(address);
                self.intents.remove(address);
            }
            Entry::Settled { address, settlement: settlement @ Settlement::Declined { .. }, .. } => {
                self.refused(address);
                self.settle(order, address, settlement)?;
            }
            Entry::Settled { address, settlement, .. } => self.settle(order, address, settlement)?,
        }
        Ok(())
    }

    /// It begins, or is moved to another text, which may be the one that it had: what it wrote need not be what that text
    /// writes, as long as it asks for it.
    pub fn begin(&mut self, plan: PlanId, fired: Fired) {
        self.intents.retain(|_, sent| !sent.settled);
        self.started = Some((plan, fired));
    }

    fn refused(&mut self, address: &Address) {
        // That a write was refused when it was sent again says nothing of the first time: its key must still know it.
        if self.intents.get(address).is_some_and(|sent| sent.again) {
            return;
        }
        let times = self.refusals.entry(address.clone()).or_default();
        *times = times.saturating_add(1);
    }

    /// How often this call was refused: asked anew, it is another one to a system that knows calls again.
    #[must_use]
    pub fn refusals(&self, address: &Address) -> u32 {
        self.refusals.get(address).copied().unwrap_or_default()
    }

    fn settle(&mut self, order: usize, address: &Address, settlement: &Settlement) -> Result<(), Failure> {
        if let Some(sent) = self.intents.get_mut(address) {
            sent.settled = true;
        }
        match self.answers.entry(address.clone()) {
            Slot::Vacant(slot) => {
                slot.insert((order, settlement.clone()));
                Ok(())
            }
            Slot::Occupied(_) => Err(journal(format!("the journal settles `{address}` twice"))),
        }
    }

    /// As another attempt finds it.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.finished = None;
        self.keep();
        self
    }

    fn keep(&mut self) {
        if self.in_flight().is_some() {
            return;
        }
        let kept = self.answers.values().filter(|(_, settlement)| keeps(settlement)).map(|(order, _)| *order).max();
        let (answers, intents) = (&mut self.answers, &mut self.intents);
        answers.retain(|address, (order, _)| {
            let keeps = kept.is_some_and(|kept| *order <= kept);
            // What is asked anew need not be asked in the same words.
            if !keeps {
                intents.remove(address);
            }
            keeps
        });
    }

    fn in_flight(&self) -> Option<&Sent> {
        self.intents.values().find(|sent| !sent.settled)
    }

    /// The write that was about to be sent and has no answer.
    #[must_use]
    pub fn open(&self) -> Option<Open> {
        self.in_flight().map(|sent| Open { intent: sent.intent.clone(), done: sent.done })
    }

    /// This effect was performed just now; its settlement is fed by who performed it.
    pub fn performed(&mut self, address: &Address) {
        self.intents.remove(address);
    }

    /// Answers the write in flight.
    pub fn answer(&mut self, address: &Address, settlement: Settlement) {
        if let Some(sent) = self.intents.get_mut(address) {
            sent.settled = true;
        }
        self.answers.insert(address.clone(), (usize::MAX, settlement));
    }

    /// What settles one of these effects: of several, what was settled first.
    ///
    /// # Errors
    /// A journal [`Failure`] if something else was sent under that address.
    pub fn next(&mut self, effects: &[Effect]) -> Result<Option<(Address, Settlement)>, Failure> {
        let mut first: Option<(usize, &Address)> = None;
        for effect in effects {
            let Some(address) = effect.address() else { continue };
            if let Effect::Call { connection, request, .. } = effect
                && let Some(Sent { intent, .. }) = self.intents.get(address)
                && (intent.request != *request || intent.connection != *connection)
            {
                let (was, is) = (&intent.request, request);
                return Err(journal(format!("the journal sent {was:?} for `{address}`; the run asks for {is:?}")));
            }
            if let Some((order, _)) = self.answers.get(address)
                && first.is_none_or(|(earlier, _)| *order < earlier)
            {
                first = Some((*order, address));
            }
        }
        Ok(first.and_then(|(_, address)| Some((address.clone(), self.answers.remove(address)?.1))))
    }

    /// Once nothing of the journal answers these effects: it must all have been asked for, and a write in flight must be
    /// among them.
    ///
    /// # Errors
    /// A journal [`Failure`] that shows both sides.
    pub fn fits(&self, effects: &[Effect]) -> Result<(), Failure> {
        let asked = || asked(effects);
        if let Some(address) = self.answers.keys().next() {
            return Err(journal(format!("the journal holds an answer for `{address}`; the run asks for {}", asked())));
        }
        for sent in self.intents.values().filter(|sent| !sent.settled) {
            let wanted = &sent.intent.address;
            if !effects.iter().any(|effect| matches!(effect, Effect::Call { address, .. } if address == wanted)) {
                let message = format!("the journal was about to do `{wanted}`; the run asks for {}", asked());
                return Err(Failure { place: Some(sent.intent.place), ..journal(message) });
            }
        }
        Ok(())
    }
}

/// Whether it was done: a retry keeps it, and what led to it.
fn keeps(settlement: &Settlement) -> bool {
    match settlement {
        Settlement::Written { .. } | Settlement::Deleted | Settlement::Linked | Settlement::Woken { .. } => true,
        Settlement::Records(_) | Settlement::Refused(_) | Settlement::Declined { .. } => false,
    }
}

/// What a run asks for, in words.
pub(super) fn asked(effects: &[Effect]) -> String {
    match effects.first() {
        Some(Effect::Call { address, .. } | Effect::Await { address, .. }) => format!("`{address}`"),
        Some(Effect::Finish(Finish::Done(_))) => "nothing: it is done".to_owned(),
        Some(Effect::Finish(Finish::Failed(failure))) => format!("nothing: it failed ({})", failure.message),
        None => "nothing".to_owned(),
    }
}
