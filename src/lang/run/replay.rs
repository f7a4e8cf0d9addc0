//! The journal back into a run: settlements are fed by address, in the order in which the run asks for them.
//!
//! INVARIANT: a journal that does not fit the plan is an error that shows both sides, never a guess.

use super::{
    entry::Entry,
    eval::journal,
    io::{Effect, Failure, FailureKind, Finish, Input},
    past::{Open, Past, asked},
    state::RunState,
    step,
};
use crate::plan::ir::Plan;

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

/// Brings a run back to where its journal leaves it.
///
/// # Errors
/// A journal [`Failure`] if the entries are not a run's, or not one of this plan.
pub fn replay(plan: &Plan, entries: &[Entry]) -> Result<Replayed, Failure> {
    let mut past = Past::of(entries)?;
    let Some((_, fired)) = past.started.clone() else {
        return Err(journal("the journal does not begin with the start of a run".to_owned()));
    };
    let mut state = RunState::new();
    let mut answered = 0;
    let mut effects = step(plan, &mut state, Input::Fired(fired));
    while let Some((address, settlement)) = past.next(&effects)? {
        answered += 1;
        effects = step(plan, &mut state, Input::Settled { address, settlement });
    }
    if let Some(Effect::Finish(Finish::Failed(failure))) = effects.first()
        && failure.kind == FailureKind::Journal
    {
        return Err(failure.clone());
    }
    past.fits(&effects)?;
    if let Some(Finish::Done(value)) = &past.finished
        && effects != [Effect::Finish(Finish::Done(value.clone()))]
    {
        let asked = asked(&effects);
        return Err(journal(format!("the journal says that the run is done; the run asks for {asked}")));
    }
    Ok(Replayed { state, effects, answered, open: past.open() })
}
