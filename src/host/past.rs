//! What a run's journal says about how to go on: pure.
//!
//! After a crash the whole journal answers. After an attempt that ended, settled writes and the reads before the last
//! of them answer; later reads are done anew. Only successes answer: a refused call is made again.

use std::collections::BTreeMap;

use lf_lang::{
    plan::PlanId,
    run::{Address, Entry, Fired, Settlement, entry::Intent},
};

#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) started: Option<(PlanId, Fired)>,
    pub(super) answers: BTreeMap<Address, Settlement>,
    /// A write that was about to be sent and of which nothing is known.
    pub(super) open: Option<Intent>,
    /// A write without an answer of which a person says that it was done.
    pub(super) done: Option<Intent>,
}

impl Past {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut past = Self::default();
        let mut intents: BTreeMap<&Address, &Intent> = BTreeMap::new();
        // In the order of the journal: (address, whether it is a write).
        let mut order: Vec<(&Address, bool)> = Vec::new();
        for entry in entries {
            match entry {
                Entry::Started { plan, fired } => past.started = Some((plan.clone(), fired.clone())),
                Entry::Intent(intent) => {
                    intents.insert(&intent.address, intent.as_ref());
                }
                Entry::Settled { address, place: _, settlement, at: _ } => {
                    intents.remove(address);
                    match settlement {
                        Settlement::Records(_)
                        | Settlement::Written { .. }
                        | Settlement::Deleted
                        | Settlement::Linked => {
                            order.push((address, !matches!(settlement, Settlement::Records(_))));
                            past.answers.insert(address.clone(), settlement.clone());
                        }
                        Settlement::Refused(_) => {}
                    }
                }
                Entry::Decided { address, done, why: _, at: _ } => {
                    let intent = intents.remove(address);
                    past.done = if *done { intent.cloned() } else { None };
                }
                // An attempt that leaves a write in flight goes on where it was, as after a crash: another reading
                // could lead past that write.
                Entry::Attempt { .. } | Entry::Finished { .. } if intents.is_empty() => {
                    let kept = order.iter().rposition(|(_, writes)| *writes).map_or(0, |last| last + 1);
                    for (address, _) in order.drain(kept..) {
                        past.answers.remove(address);
                    }
                }
                Entry::Attempt { .. } | Entry::Finished { .. } => {}
            }
        }
        past.open = intents.into_values().next_back().cloned();
        past
    }
}
