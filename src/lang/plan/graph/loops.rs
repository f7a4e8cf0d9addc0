//! Circles of listens, by the rule of the checker's `MOV_LISTEN_CYCLE`.

use indexmap::IndexSet;

use super::{Function, Listen, Loop};
use crate::check::{order, typed::Movement};

pub(super) fn of(movement: &Movement, listens: &[Listen], functions: &[Function]) -> Vec<Loop> {
    let written = written(functions);
    // Listens first, then the types: a listen leads to what its function writes, a type to the listens on it.
    let types = listens.iter().map(|listen| listen.on).max().map_or(0, |last| last + 1);
    let mut edges: Vec<Vec<usize>> = listens
        .iter()
        .map(|listen| {
            let row = written.get(listen.fires);
            row.into_iter().flatten().filter(|on| **on < types).map(|on| listens.len() + on).collect()
        })
        .collect();
    edges.resize(listens.len() + types, Vec::new());
    for (index, listen) in listens.iter().enumerate() {
        if let Some(fires) = edges.get_mut(listens.len() + listen.on) {
            fires.push(index);
        }
    }
    let mut found = Vec::new();
    for mut group in order::groups(&edges) {
        if !order::is_cycle(&group, &edges) {
            continue;
        }
        group.sort_unstable();
        let (members, through): (Vec<_>, Vec<_>) = group.into_iter().partition(|node| *node < listens.len());
        let echo = |index: &usize| movement.listens.get(*index).is_some_and(|listen| listen.settings.echo);
        let ends = members.len() == 1 && !members.iter().any(echo);
        let types = through.into_iter().map(|node| node - listens.len()).collect();
        found.push(Loop { listens: members, types, ends });
    }
    found.sort_by(|one, other| one.listens.cmp(&other.listens));
    found
}

/// For each function the types that it, or what it calls, can change.
fn written(functions: &[Function]) -> Vec<IndexSet<usize>> {
    let calls: Vec<Vec<usize>> = functions.iter().map(|function| function.calls.clone()).collect();
    let mut written: Vec<IndexSet<usize>> = functions.iter().map(|_| IndexSet::new()).collect();
    for group in order::groups(&calls) {
        let mut all = IndexSet::new();
        for function in group.iter().filter_map(|index| functions.get(*index)) {
            let own = function.effects.iter().filter(|effect| effect.verb.changes());
            all.extend(own.map(|effect| effect.on));
            for called in &function.calls {
                all.extend(written.get(*called).into_iter().flatten().copied());
            }
        }
        for index in group {
            if let Some(row) = written.get_mut(index) {
                row.clone_from(&all);
            }
        }
    }
    written
}
