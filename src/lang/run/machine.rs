//! Runs steps until the world is needed. Reads are `machine/read.rs`, writes `machine/write.rs`, waits
//! `machine/waits.rs`, the arms of waits `machine/fibers.rs`, addresses `machine/address.rs`.
//!
//! INVARIANT: a step that asks for an effect stays the current one until it is settled; nothing here recurses over
//! calls, loops or data.

mod address;
mod fibers;
mod read;
mod waits;
mod write;

use std::sync::Arc;

use jiff::Timestamp;
use lf_module::value::Value;
use smol_str::SmolStr;

use super::{
    eval::{Eval, damaged, failure, journal, program},
    io::{Address, Effect, Failure, FailureKind, Finish, Fired, Input, Settlement, Test},
    limits,
    state::{Each, Frame, Join, Open, RunState, Stands},
};
use crate::plan::ir::{BlockId, ExprId, FunctionIndex, Op, PlaceId, Plan, Slot, Step};

/// Takes an input in.
pub(super) fn take(plan: &Plan, state: &mut RunState, input: Input) -> Result<(), Failure> {
    if state.over {
        return Err(journal("the run is over, and was told that something happened".to_owned()));
    }
    match input {
        Input::Fired(fired) => start(plan, state, fired),
        Input::Settled { address, settlement } => {
            let Some(asker) = fibers::asker(state, &address) else {
                let wants = wanted(state);
                return Err(journal(format!("the run waits for {wants}, and was told that `{address}` is settled")));
            };
            match fibers::take_up(state, asker)? {
                Stands::Asks(_, waiting) => {
                    state.served = asker;
                    let unsent = waiting.map(|waiting| waiting.unsent).unwrap_or_default();
                    settle(plan, state, &address, &unsent, settlement)
                }
                Stands::Awaits(_) => wake(plan, state, &address, settlement),
                Stands::Ready | Stands::Joins(_) => Err(damaged("an effect is not wanted")),
            }
        }
    }
}

fn wanted(state: &RunState) -> String {
    let wants: Vec<_> = fibers::wants(state).iter().filter_map(Effect::address).map(|at| format!("`{at}`")).collect();
    if wants.is_empty() { "nothing".to_owned() } else { wants.join(", ") }
}

/// A call is settled.
fn settle(
    plan: &Plan,
    state: &mut RunState,
    address: &Address,
    unsent: &[SmolStr],
    settlement: Settlement,
) -> Result<(), Failure> {
    let step = current(plan, state)?;
    let place = step.place;
    let went = match (&step.op, settlement) {
        (_, Settlement::Refused(refused)) => Err(Failure { place: refused.place.or(Some(place)), ..refused }),
        (Op::Read(read), Settlement::Records(records)) => read::settle(plan, state, read, unsent, records),
        (Op::Write(write), Settlement::Written { handle, created, unchanged: _ }) => {
            write::settle(state, write, &handle, created)
        }
        (Op::Write(write), Settlement::Declined { text, status }) => {
            let Some(refused) = &write.refused else {
                return Err(journal(format!("`{address}` was declined, and the text has no way for that")));
            };
            advance(state);
            return write::declined(state, write, refused, text, status);
        }
        (Op::Delete { .. }, Settlement::Deleted) | (Op::Link { .. }, Settlement::Linked) => Ok(()),
        (_, found) => Err(journal(format!("`{address}` was answered with {}", kind_of(&found)))),
    };
    went.map_err(|failure| at(failure, place))?;
    advance(state);
    Ok(())
}

/// A wait is over.
fn wake(plan: &Plan, state: &mut RunState, address: &Address, settlement: Settlement) -> Result<(), Failure> {
    let step = current(plan, state)?;
    match (&step.op, settlement) {
        (Op::Await { slot, .. }, Settlement::Woken { value, at }) => {
            if let Some(slot) = slot {
                set(state, *slot, value)?;
            }
            state.now = fibers::moved(state.now, at);
            advance(state);
            Ok(())
        }
        (_, found) => Err(journal(format!("`{address}` was answered with {}", kind_of(&found)))),
    }
}

fn start(plan: &Plan, state: &mut RunState, fired: Fired) -> Result<(), Failure> {
    if state.now.is_some() || !state.others.is_empty() {
        return Err(journal("the run began twice".to_owned()));
    }
    let Fired { function, args, now } = fired;
    state.now = Some(now);
    let name = plan.function(function).map(|function| function.name.clone()).unwrap_or_default();
    let prefix = format!("{}/", crate::plan::escape(&name));
    enter(plan, state, function, args, prefix.into(), None)
}

/// Begins a part of a function by itself, as a run of its own: a test of what is waited for.
pub(super) fn ask(
    plan: &Plan,
    state: &mut RunState,
    test: &Test,
    record: Option<Value>,
    now: Timestamp,
) -> Result<(), Failure> {
    state.now = Some(now);
    let mut frame = fibers::part(plan, test.function, test.slots.clone(), "".into())?;
    let param = plan.function(test.function).and_then(|function| function.params.first());
    if let (Some(record), Some(param)) = (record, param) {
        *frame.slots.get_mut(param.slot.0 as usize).ok_or_else(|| damaged("a slot is missing"))? = record;
    }
    state.frames.push(frame);
    Ok(())
}

/// Goes on to the next effects or the end.
pub(super) fn go(plan: &Plan, state: &mut RunState) -> Result<Vec<Effect>, Failure> {
    loop {
        // An arm that ended leaves nothing behind that could move.
        if !state.frames.is_empty() {
            match run_on(plan, state)? {
                Moved::Blocked(blocked) => fibers::lay_down(state, blocked),
                Moved::Ended(value) => match state.parent.take() {
                    None => return Ok(vec![done(state, value)?]),
                    Some((parent, arm)) => fibers::join(state, parent, arm, value)?,
                },
            }
        }
        match fibers::ready(state) {
            Some(id) => {
                fibers::take_up(state, id)?;
            }
            None => {
                let wants = fibers::wants(state);
                return if wants.is_empty() { Err(damaged("no call is open")) } else { Ok(wants) };
            }
        }
    }
}

/// How far a fiber came.
enum Moved {
    Blocked(Blocked),
    Ended(Value),
}

/// What a fiber waits for.
enum Blocked {
    Asks(Box<Effect>),
    Awaits(Box<Effect>),
    Joins(Join),
}

fn run_on(plan: &Plan, state: &mut RunState) -> Result<Moved, Failure> {
    loop {
        state.scratch.spend(1)?;
        let Some(frame) = state.frames.last_mut() else { return Err(damaged("no call is open")) };
        let Some(open) = frame.open.last_mut() else {
            if let Some(value) = leave(state, Value::Absent) {
                return Ok(Moved::Ended(value));
            }
            continue;
        };
        let function = plan.function(frame.function).ok_or_else(|| damaged("a function is missing"))?;
        let block = function.blocks.get(open.block.0 as usize).ok_or_else(|| damaged("a block is missing"))?;
        let Some(step) = block.0.get(open.at) else {
            next_iteration(frame);
            continue;
        };
        state.scratch.visit(step.place);
        match perform(plan, state, step).map_err(|failure| at(failure, step.place))? {
            Flow::On => advance(state),
            Flow::Moved => {}
            Flow::Effect(effect) => return Ok(Moved::Blocked(Blocked::Asks(effect))),
            Flow::Wait(blocked) => return Ok(Moved::Blocked(blocked)),
            Flow::Return(value) => {
                if let Some(value) = leave(state, value) {
                    return Ok(Moved::Ended(value));
                }
            }
        }
    }
}

/// Where the effect under way was given this field.
pub(super) fn given(plan: &Plan, state: &RunState, effect: &Address, field: &str) -> Option<PlaceId> {
    let asker = state.others.get(&fibers::asker(state, effect)?)?;
    match &step_of(plan, &asker.frames)?.op {
        Op::Write(write) => write.entries.iter().find(|entry| entry.field == field).map(|entry| entry.place),
        Op::Read(read) => read.pins.iter().find(|pin| pin.field == field).map(|pin| pin.place),
        Op::Set { .. }
        | Op::Append { .. }
        | Op::Arrange { .. }
        | Op::Each { .. }
        | Op::If { .. }
        | Op::Enter { .. }
        | Op::Leave { .. }
        | Op::Delete { .. }
        | Op::Link { .. }
        | Op::Call { .. }
        | Op::Return(_)
        | Op::Await { .. }
        | Op::Fail(_) => None,
    }
}

/// What a step did.
enum Flow {
    /// The next step follows.
    On,
    /// It set the position itself.
    Moved,
    Effect(Box<Effect>),
    Wait(Blocked),
    Return(Value),
}

fn perform(plan: &Plan, state: &mut RunState, step: &Step) -> Result<Flow, Failure> {
    match &step.op {
        Op::Set { slot, value } => {
            let value = evaluate(plan, state, *value)?;
            set(state, *slot, value)?;
            Ok(Flow::On)
        }
        Op::Append { slot, value, all } => {
            let value = evaluate(plan, state, *value)?;
            append(state, *slot, value, *all)?;
            Ok(Flow::On)
        }
        Op::Arrange { slot, keys, descending, limit } => {
            read::arrange(state, *slot, *keys, descending, *limit)?;
            Ok(Flow::On)
        }
        Op::Each { list, item, body } => each(state, *list, *item, *body),
        Op::If { condition, then, otherwise } => {
            let Value::Bool(holds) = evaluate(plan, state, *condition)? else {
                return Err(damaged("a condition is not a boolean"));
            };
            advance(state);
            if let Some(block) = if holds { Some(*then) } else { *otherwise } {
                open(state, block, None);
            }
            Ok(Flow::Moved)
        }
        Op::Enter { block } => {
            advance(state);
            open(state, *block, None);
            Ok(Flow::Moved)
        }
        Op::Leave { block } => {
            leave_block(state, *block)?;
            Ok(Flow::Moved)
        }
        Op::Read(read) => read::ask(plan, state, step.place, read).map(Box::new).map(Flow::Effect),
        Op::Write(write) => write::ask(plan, state, step.place, write).map(Box::new).map(Flow::Effect),
        Op::Link { label, on, edge, join, from, to } => {
            write::link(plan, state, step.place, (label, on, edge, *join), (*from, *to)).map(Box::new).map(Flow::Effect)
        }
        Op::Delete { label, on, target } => {
            write::delete(plan, state, step.place, label, on, *target).map(Box::new).map(Flow::Effect)
        }
        Op::Call { label, slot, function, args } => {
            let args = args.iter().map(|arg| evaluate(plan, state, *arg)).collect::<Result<_, _>>()?;
            let prefix = format!("{}/", address::of(state, label)?.0);
            advance(state);
            enter(plan, state, *function, args, prefix.into(), *slot)?;
            Ok(Flow::Moved)
        }
        Op::Return(value) => {
            let value = value.map(|value| evaluate(plan, state, value)).transpose()?;
            Ok(Flow::Return(value.unwrap_or_default()))
        }
        Op::Await { label, slot, wait } => {
            let address = address::of(state, label)?;
            waits::ask(plan, state, step.place, address, *slot, wait).map(Flow::Wait)
        }
        Op::Fail(why) => {
            let why = evaluate(plan, state, *why)?;
            Err(program(why.as_text().unwrap_or("ERROR").to_owned()))
        }
    }
}

fn evaluate(plan: &Plan, state: &mut RunState, id: ExprId) -> Result<Value, Failure> {
    let slots = state.frames.last().map(|frame| frame.slots.as_slice()).unwrap_or_default();
    Eval {
        exprs: &plan.exprs,
        constants: &plan.constants,
        plan: Some(plan),
        slots,
        now: state.now,
        scratch: &mut state.scratch,
    }
    .eval(id)
}

fn set(state: &mut RunState, slot: Slot, value: Value) -> Result<(), Failure> {
    let place = state.frames.last_mut().and_then(|frame| frame.slots.get_mut(slot.0 as usize));
    *place.ok_or_else(|| damaged("a slot is missing"))? = value;
    Ok(())
}

/// Adds to a list in place: the slot's own list is not shared, so nothing is copied.
fn append(state: &mut RunState, slot: Slot, value: Value, all: bool) -> Result<(), Failure> {
    let place = state.frames.last_mut().and_then(|frame| frame.slots.get_mut(slot.0 as usize));
    let Some(Value::List(list)) = place else { return Err(damaged("a list is missing")) };
    let list = Arc::make_mut(list);
    match value {
        Value::List(more) if all => list.extend(more.iter().cloned()),
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::Record(_)
        | Value::Position(_)
        | Value::File(_) => list.push(value),
    }
    limits::members(list.len())
}

fn each(state: &mut RunState, list: Slot, item: Slot, body: BlockId) -> Result<Flow, Failure> {
    let Some(frame) = state.frames.last_mut() else { return Err(damaged("no call is open")) };
    let Some(Value::List(items)) = frame.slots.get(list.0 as usize) else { return Err(damaged("a list is missing")) };
    let items = Arc::clone(items);
    advance(state);
    if let Some(first) = items.first().cloned() {
        set(state, item, first)?;
        open(state, body, Some(Each { items, index: 0, item, names: Vec::new() }));
    }
    Ok(Flow::Moved)
}

/// The end of a block: the next iteration of its loop, or the block that opened it.
fn next_iteration(frame: &mut Frame) {
    let Some(open) = frame.open.last_mut() else { return };
    if let Some(each) = &mut open.each {
        each.index += 1;
        if let Some(next) = each.items.get(each.index) {
            if let Some(slot) = frame.slots.get_mut(each.item.0 as usize) {
                *slot = next.clone();
            }
            open.at = 0;
            return;
        }
    }
    let _closed = frame.open.pop();
}

fn advance(state: &mut RunState) {
    if let Some(open) = state.frames.last_mut().and_then(|frame| frame.open.last_mut()) {
        open.at += 1;
    }
}

fn open(state: &mut RunState, block: BlockId, each: Option<Each>) {
    if let Some(frame) = state.frames.last_mut() {
        frame.open.push(Open { block, at: 0, each });
    }
}

/// Closes a block and everything that is open in it.
fn leave_block(state: &mut RunState, block: BlockId) -> Result<(), Failure> {
    let open = state.frames.last_mut().map(|frame| &mut frame.open);
    let found = open.and_then(|open| {
        let place = open.iter().rposition(|open| open.block == block)?;
        open.truncate(place);
        Some(())
    });
    found.ok_or_else(|| damaged("a block is not open"))
}

fn enter(
    plan: &Plan,
    state: &mut RunState,
    index: FunctionIndex,
    args: Vec<Value>,
    prefix: smol_str::SmolStr,
    result: Option<Slot>,
) -> Result<(), Failure> {
    let function = plan.function(index).ok_or_else(|| journal(format!("the plan has no function {}", index.0)))?;
    if args.len() != function.params.len() {
        let (name, wanted, found) = (&function.name, function.params.len(), args.len());
        return Err(journal(format!("`{name}` takes {wanted} arguments and was given {found}")));
    }
    if state.depth + state.frames.len() >= limits::CALLS {
        let chain = chain(plan, state, &function.name);
        return Err(program(format!("calls nest deeper than {}: {chain}", limits::CALLS)));
    }
    let mut slots = vec![Value::Absent; function.slots as usize];
    for (param, arg) in function.params.iter().zip(args) {
        *slots.get_mut(param.slot.0 as usize).ok_or_else(|| damaged("a slot is missing"))? = arg;
    }
    let open = vec![Open { block: BlockId(0), at: 0, each: None }];
    state.frames.push(Frame { function: index, slots, open, prefix, result });
    Ok(())
}

/// The names of the open calls, the middle left out.
fn chain(plan: &Plan, state: &RunState, last: &str) -> String {
    let names = state.frames.iter().filter_map(|frame| plan.function(frame.function));
    let mut names: Vec<_> = names.map(|function| function.name.as_str()).collect();
    names.push(last);
    let (head, tail) = (names.iter().take(4), names.iter().skip(names.len().saturating_sub(2)));
    let head: Vec<_> = head.copied().collect();
    let tail: Vec<_> = tail.copied().collect();
    format!("{} → … → {}", head.join(" → "), tail.join(" → "))
}

/// Ends the innermost call; gives the value back if it was the outermost.
fn leave(state: &mut RunState, value: Value) -> Option<Value> {
    let result = state.frames.pop().and_then(|frame| frame.result);
    let Some(caller) = state.frames.last_mut() else { return Some(value) };
    if let Some(slot) = result.and_then(|slot| caller.slots.get_mut(slot.0 as usize)) {
        *slot = value;
    }
    None
}

fn done(state: &mut RunState, value: Value) -> Result<Effect, Failure> {
    limits::whole(&value)?;
    state.end();
    Ok(Effect::Finish(Finish::Done(value)))
}

fn current<'p>(plan: &'p Plan, state: &RunState) -> Result<&'p Step, Failure> {
    step_of(plan, &state.frames).ok_or_else(|| damaged("a step is missing"))
}

/// The step that a stack of calls stands at.
fn step_of<'p>(plan: &'p Plan, frames: &[Frame]) -> Option<&'p Step> {
    let frame = frames.last()?;
    let open = frame.open.last()?;
    plan.function(frame.function)?.blocks.get(open.block.0 as usize)?.0.get(open.at)
}

fn at(failure: Failure, place: PlaceId) -> Failure {
    Failure { place: failure.place.or(Some(place)), ..failure }
}

fn kind_of(settlement: &Settlement) -> &'static str {
    match settlement {
        Settlement::Records(_) => "records",
        Settlement::Written { .. } => "a write's answer",
        Settlement::Deleted => "a delete's answer",
        Settlement::Linked => "a link's answer",
        Settlement::Refused(_) | Settlement::Declined { .. } => "a refusal",
        Settlement::Woken { .. } => "the end of a wait",
    }
}

/// A record that is to be walked from, changed or deleted.
fn position(value: &Value, verb: &str) -> Result<Arc<lf_module::Position>, Failure> {
    let Value::Position(position) = value else {
        return Err(failure(
            FailureKind::Call(lf_module::Kind::Drift),
            format!("only a record of a connection can be {verb}; what is there is not one"),
        ));
    };
    Ok(Arc::clone(position))
}
