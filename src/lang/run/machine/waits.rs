//! What a wait asks for, in values.

use jiff::SignedDuration;
use lf_module::value::Value;

use super::{Blocked, evaluate, fibers};
use crate::{
    plan::ir::{self, ExprId, PlaceId, Plan, Slot},
    run::{
        eval::damaged,
        io::{Address, Effect, Failure, Test, Wait},
        state::RunState,
    },
};

pub(super) fn ask(
    plan: &Plan,
    state: &mut RunState,
    place: PlaceId,
    address: Address,
    slot: Option<Slot>,
    wait: &ir::Wait,
) -> Result<Blocked, Failure> {
    let wait = match wait {
        ir::Wait::Sleep { length } => Wait::Sleep { length: self::length(plan, state, *length)? },
        ir::Wait::First { watch, test, most } => {
            let most = length(plan, state, *most)?;
            Wait::First { watch: *watch, test: part(state, *test)?, most }
        }
        ir::Wait::Until { test, every, most } => {
            let (every, most) = (length(plan, state, *every)?, length(plan, state, *most)?);
            Wait::Until { test: part(state, *test)?, every, most }
        }
        ir::Wait::Arms { race, arms } => {
            return fibers::fork(plan, state, &address, *race, arms, slot).map(Blocked::Joins);
        }
    };
    Ok(Blocked::Awaits(Box::new(Effect::Await { address, place, wait })))
}

fn length(plan: &Plan, state: &mut RunState, id: ExprId) -> Result<SignedDuration, Failure> {
    let Value::Duration(length) = evaluate(plan, state, id)? else {
        return Err(damaged("the length of a wait is no duration"));
    };
    Ok(length)
}

/// A part with the slots as they are.
fn part(state: &mut RunState, function: ir::FunctionIndex) -> Result<Test, Failure> {
    let slots = state.frames.last().map(|frame| frame.slots.clone()).unwrap_or_default();
    state.scratch.spend(slots.len())?;
    Ok(Test { function, slots })
}
