//! The arms of `parallel` and `race`: several stacks of calls in one run, of which one moves at a time.
//!
//! INVARIANT: which one moves is decided by the state and the order of what is settled alone, never by a clock; so a
//! replay in the journal's order moves them alike. Calls are made one after another, the fibers taking turns.

use std::sync::Arc;

use jiff::Timestamp;
use lf_module::value::Value;
use smol_str::SmolStr;

use super::{Blocked, advance, set};
use crate::{
    plan::ir::{BlockId, FunctionIndex, Plan, Slot},
    run::{
        eval::{damaged, program},
        io::{Address, Effect, Failure},
        limits,
        state::{Fiber, Frame, Join, Open, RunState, Stands},
    },
};

/// Begins an arm for each of these parts; the fiber that runs now waits for them.
pub(super) fn fork(
    plan: &Plan,
    state: &mut RunState,
    address: &Address,
    race: bool,
    arms: &[FunctionIndex],
    slot: Option<Slot>,
) -> Result<Join, Failure> {
    let depth = state.depth + state.frames.len();
    if depth >= limits::CALLS {
        return Err(program(format!("calls and arms nest deeper than {}", limits::CALLS)));
    }
    let around = state.frames.last().map(|frame| frame.slots.clone()).unwrap_or_default();
    let (now, parent) = (state.now, state.current);
    let mut ids = Vec::with_capacity(arms.len());
    for (index, arm) in arms.iter().enumerate() {
        let prefix = format!("{address}/{}/", index + 1);
        let frame = part(plan, *arm, around.clone(), prefix.into())?;
        state.scratch.spend(frame.slots.len())?;
        state.last_fiber += 1;
        let id = state.last_fiber;
        let parent = Some((parent, index));
        state.others.insert(id, Fiber { now, frames: vec![frame], stands: Stands::Ready, parent, depth });
        ids.push(id);
    }
    Ok(Join { race, slot, gave: vec![None; arms.len()], at: None })
}

/// A call of a part: it begins with the slots around it.
pub(super) fn part(
    plan: &Plan,
    function: FunctionIndex,
    mut slots: Vec<Value>,
    prefix: SmolStr,
) -> Result<Frame, Failure> {
    let called = plan.function(function).ok_or_else(|| damaged("a part of a function is missing"))?;
    slots.resize(called.slots as usize, Value::Absent);
    let open = vec![Open { block: BlockId(0), at: 0, each: None }];
    Ok(Frame { function, slots, open, prefix, result: None })
}

/// Lays the fiber that runs now aside.
pub(super) fn lay_down(state: &mut RunState, blocked: Blocked) {
    let stands = match blocked {
        Blocked::Asks(effect) => Stands::Asks(effect, state.waiting.take()),
        Blocked::Awaits(effect) => Stands::Awaits(effect),
        Blocked::Joins(join) => Stands::Joins(join),
    };
    let fiber = Fiber {
        now: state.now,
        frames: std::mem::take(&mut state.frames),
        stands,
        parent: state.parent.take(),
        depth: state.depth,
    };
    state.others.insert(state.current, fiber);
}

/// Takes a fiber up; answers how it stood.
pub(super) fn take_up(state: &mut RunState, id: u32) -> Result<Stands, Failure> {
    let fiber = state.others.remove(&id).ok_or_else(|| damaged("an arm is missing"))?;
    let Fiber { now, frames, stands, parent, depth } = fiber;
    (state.now, state.frames, state.parent, state.depth, state.current) = (now, frames, parent, depth, id);
    Ok(stands)
}

/// The fiber that runs now has ended with a value: whoever waits for it may go on.
pub(super) fn join(state: &mut RunState, parent: u32, arm: usize, value: Value) -> Result<(), Failure> {
    let ended = state.now;
    let Some(Fiber { stands: Stands::Joins(join), .. }) = state.others.get_mut(&parent) else {
        return Err(damaged("nothing waits for an arm"));
    };
    *join.gave.get_mut(arm).ok_or_else(|| damaged("an arm is not known"))? = Some(value.clone());
    join.at = join.at.max(ended);
    if !join.race && join.gave.iter().any(Option::is_none) {
        return Ok(());
    }
    // What the others would do next is not done any more.
    let mut gone = vec![parent];
    while let Some(of) = gone.pop() {
        let children = state.others.iter().filter(|(_, fiber)| fiber.parent.is_some_and(|(parent, _)| parent == of));
        let children: Vec<u32> = children.map(|(id, _)| *id).collect();
        for child in children {
            state.others.remove(&child);
            gone.push(child);
        }
    }
    let Stands::Joins(Join { race, slot, gave, at }) = take_up(state, parent)? else {
        return Err(damaged("nothing waits for an arm"));
    };
    let value = if race { value } else { Value::List(Arc::new(gave.into_iter().flatten().collect())) };
    if let Some(slot) = slot {
        limits::whole(&value)?;
        set(state, slot, value)?;
    }
    state.now = state.now.max(at);
    advance(state);
    let fiber = Fiber {
        now: state.now,
        frames: std::mem::take(&mut state.frames),
        stands: Stands::Ready,
        parent: state.parent.take(),
        depth: state.depth,
    };
    state.others.insert(parent, fiber);
    Ok(())
}

/// The fiber to move next.
pub(super) fn ready(state: &RunState) -> Option<u32> {
    state.others.iter().find(|(_, fiber)| matches!(fiber.stands, Stands::Ready)).map(|(id, _)| *id)
}

/// What all of them want: one call, of whoever's turn it is, and every wait.
pub(super) fn wants(state: &RunState) -> Vec<Effect> {
    let mut effects = Vec::new();
    let asks = |(id, fiber): (&u32, &Fiber)| match &fiber.stands {
        Stands::Asks(effect, _) => Some((*id, effect.as_ref().clone())),
        Stands::Ready | Stands::Awaits(_) | Stands::Joins(_) => None,
    };
    let mut calls = state.others.iter().filter_map(asks);
    let first = calls.next();
    let next = first.as_ref().filter(|(id, _)| *id > state.served).cloned();
    let next = next.or_else(|| calls.find(|(id, _)| *id > state.served)).or(first);
    effects.extend(next.map(|(_, effect)| effect));
    effects.extend(state.others.values().filter_map(|fiber| match &fiber.stands {
        Stands::Awaits(effect) => Some(effect.as_ref().clone()),
        Stands::Ready | Stands::Asks(..) | Stands::Joins(_) => None,
    }));
    effects
}

/// Who wants this effect.
pub(super) fn asker(state: &RunState, address: &Address) -> Option<u32> {
    let wants = |fiber: &Fiber| match &fiber.stands {
        Stands::Asks(effect, _) | Stands::Awaits(effect) => effect.address() == Some(address),
        Stands::Ready | Stands::Joins(_) => false,
    };
    state.others.iter().find(|(_, fiber)| wants(fiber)).map(|(id, _)| *id)
}

/// The instant of a fiber moves when its wait ends, and never back.
pub(super) fn moved(now: Option<Timestamp>, at: Timestamp) -> Option<Timestamp> {
    Some(now.map_or(at, |now| now.max(at)))
}
