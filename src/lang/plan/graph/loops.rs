//! Circles of listens, by the rule of the checker's `MOV_LISTEN_CYCLE`.

use indexmap::IndexSet;

use super::Loop;
use crate::{
    check::{
        circles::{self, Acts},
        effects::Effects,
        order,
        typed::{FunctionId, Listen, Movement},
    },
    types::TypeRef,
};

pub(super) fn of(movement: &Movement, types: &IndexSet<TypeRef>) -> Vec<Loop> {
    let acts = acts(movement);
    let of = |listen: &Listen| {
        let FunctionId(function) = listen.fire;
        acts.get(function as usize)
    };
    let circles = circles::circles(&movement.listens, &movement.constants, of);
    let shown = |circle: circles::Circle| {
        let mut types: Vec<_> = circle.types.iter().filter_map(|on| types.get_index_of(on)).collect();
        types.sort_unstable();
        Loop { listens: circle.listens, types, ends: circle.ends, depth: circle.depth }
    };
    circles.into_iter().map(shown).collect()
}

/// For each function what it, or what it calls, does.
fn acts(movement: &Movement) -> Vec<Acts> {
    let own: Vec<Effects> = movement.functions.iter().map(Effects::of).collect();
    let calls: Vec<Vec<usize>> = own.iter().map(|effects| effects.calls.iter().copied().collect()).collect();
    let mut acts: Vec<Acts> = own.iter().map(|_| Acts::default()).collect();
    for group in order::groups(&calls) {
        let mut all = Acts::default();
        for effects in group.iter().filter_map(|index| own.get(*index)) {
            all.extend(&effects.writes);
            for called in effects.calls.iter().filter_map(|called| acts.get(*called)) {
                all.extend(called);
            }
        }
        for index in group {
            if let Some(row) = acts.get_mut(index) {
                row.clone_from(&all);
            }
        }
    }
    acts
}
