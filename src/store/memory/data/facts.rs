//! Small things by name, and upkeep.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lf_lang::plan::{Plan, PlanId};
use lf_module::Description;

use super::Data;
use crate::store::{
    Pruned, Retention, RunId, State,
    rules::{earlier, instant, micros},
};

impl Data {
    pub(in crate::store::memory) fn save_plan(&mut self, id: &PlanId, plan: &Plan) {
        self.plans.entry(id.clone()).or_insert_with(|| plan.clone());
    }

    pub(in crate::store::memory) fn plan(&self, id: &PlanId) -> Option<Plan> {
        self.plans.get(id).cloned()
    }

    pub(in crate::store::memory) fn save_description(&mut self, connection: &str, description: &Description, now: i64) {
        self.descriptions.insert(connection.into(), (description.clone(), now));
    }

    pub(in crate::store::memory) fn description(&self, connection: &str) -> Option<(Description, Timestamp)> {
        self.descriptions.get(connection).map(|(description, at)| (description.clone(), instant(*at)))
    }

    pub(in crate::store::memory) fn hold(&mut self, connection: &str, until: i64, why: &str) {
        let held = self.holds.entry(connection.into()).or_insert((i64::MIN, String::new()));
        if until > held.0 {
            *held = (until, why.to_owned());
        }
    }

    pub(in crate::store::memory) fn prune(&mut self, retention: &Retention, now: i64) -> Pruned {
        let prunable: Vec<(RunId, i64)> = self
            .runs
            .iter()
            .filter(|(_, kept)| matches!(kept.standing.state, State::Done | State::Skipped | State::Cancelled))
            .map(|(id, kept)| (*id, kept.standing.finished.unwrap_or(kept.taken_in)))
            .collect();
        let before = earlier(now, retention.runs);
        let spare =
            retention.most.map_or(0, |most| prunable.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX)));
        let mut pruned = Pruned::default();
        for (place, (id, finished)) in prunable.into_iter().enumerate() {
            if finished < before || place < spare {
                self.runs.remove(&id);
                pruned.runs += 1;
            }
        }
        let before = earlier(now, retention.deliveries);
        pruned.deliveries = drop_where(&mut self.deliveries, |_, at| *at < before);
        pruned.identities = drop_where(&mut self.identities, |_, (_, at)| *at < before);
        let before = earlier(now, retention.expectations);
        pruned.expectations = drop_where(&mut self.expectations, |_, expectation| micros(expectation.at) < before);
        pruned
    }
}

fn drop_where<K: Ord, V>(map: &mut BTreeMap<K, V>, drops: impl Fn(&K, &V) -> bool) -> u64 {
    let before = map.len();
    map.retain(|key, value| !drops(key, value));
    (before - map.len()) as u64
}
