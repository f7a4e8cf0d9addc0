//! Which steps a run came to and what its expressions were, read off its journal: the machine goes the same way again,
//! with every answer it got.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Entry, Input, RunState, state::Came, step};
use crate::plan::ir::{PlaceId, Plan};

/// The places of the steps that a run with this journal came to, refusals and the last attempt included.
#[must_use]
pub fn trace(plan: &Plan, entries: &[Entry]) -> BTreeSet<PlaceId> {
    again(plan, entries, RunState::watched()).visited()
}

/// What the expressions of a run with this journal came to, in the order of their evaluation and at most so many, and
/// how many more there were.
#[must_use]
pub fn values(plan: &Plan, entries: &[Entry], most: usize) -> (Vec<Came>, usize) {
    again(plan, entries, RunState::noting(most)).noted()
}

fn again(plan: &Plan, entries: &[Entry], mut state: RunState) -> RunState {
    let (mut fired, mut answers) = (None, BTreeMap::new());
    for (order, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Started { plan: _, fired: with } => fired = Some(with.clone()),
            Entry::Settled { address, place: _, settlement, at: _ } => {
                answers.insert(address.clone(), (order, settlement.clone()));
            }
            Entry::Intent(_)
            | Entry::Waiting(_)
            | Entry::Decided { .. }
            | Entry::Attempt { .. }
            | Entry::Finished { .. } => {}
        }
    }
    let Some(fired) = fired else { return state };
    let mut effects = step(plan, &mut state, Input::Fired(fired));
    loop {
        // Of several that are wanted, what was settled first.
        let wanted = effects.iter().filter_map(Effect::address);
        let first = wanted.filter_map(|address| Some((answers.get(address)?.0, address.clone()))).min();
        let Some((_, address)) = first else { break };
        let Some((_, settlement)) = answers.remove(&address) else { break };
        effects = step(plan, &mut state, Input::Settled { address, settlement });
    }
    state
}
