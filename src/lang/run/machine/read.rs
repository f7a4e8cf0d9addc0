//! Reading a hop: asking for it, and what is done here with what it landed on.

use std::cmp::Ordering;

use lf_module::{
    call::Origin,
    schema::Count,
    value::{Record, Value},
};
use smol_str::SmolStr;

use super::{address, evaluate, position, set};
use crate::{
    plan::ir::{Pin, PlaceId, Plan, Read, ReadOrigin, Sift, Slot},
    run::{
        eval::{damaged, drift, program, sort::SortKey},
        io::{Effect, Failure, Request},
        limits,
        state::{RunState, Waiting},
    },
};

pub(super) fn ask(plan: &Plan, state: &mut RunState, place: PlaceId, read: &Read) -> Result<Effect, Failure> {
    let origin = match &read.origin {
        ReadOrigin::Root => Origin::Root,
        ReadOrigin::Record { from, ty, edge } => {
            let from = position(&evaluate(plan, state, *from)?, "walked from")?;
            let Some(key) = from.key.clone() else {
                return Err(program(format!("a record of `{ty}` has no key, so it cannot be walked from")));
            };
            Origin::Record { ty: ty.clone(), key, edge: edge.clone() }
        }
    };
    let mut pins = Record::new();
    let mut unsent = Vec::new();
    for Pin { field, place: _, value } in &read.pins {
        let value = evaluate(plan, state, *value)?;
        limits::whole(&value)?;
        if value.is_absent() { unsent.push(field.clone()) } else { pins.set(field.clone(), value) }
    }
    let by = lookup(plan, state, read)?;
    let address = address::of(state, &read.label)?;
    state.waiting = Some(Waiting { unsent });
    let request = Request::Read { ty: read.on.ty.clone(), origin, pins, by };
    Ok(Effect::Call { address, place, connection: read.on.connection, request, declines: false })
}

/// What the source looks up, if it can: no source knows a record by what is absent or blank.
fn lookup(plan: &Plan, state: &mut RunState, read: &Read) -> Result<Record, Failure> {
    let mut by = Record::new();
    for Pin { field, place: _, value } in &read.by {
        let value = evaluate(plan, state, *value)?;
        if value.is_absent() || value.as_text().is_some_and(|text| text.trim().is_empty()) {
            return Ok(Record::new());
        }
        limits::whole(&value)?;
        by.set(field.clone(), value);
    }
    Ok(by)
}

pub(super) fn settle(
    plan: &Plan,
    state: &mut RunState,
    read: &Read,
    unsent: &[SmolStr],
    mut records: Vec<Value>,
) -> Result<(), Failure> {
    let found = records.len();
    match read.count {
        Count::One if found != 1 => {
            return Err(drift(format!("`{}` was described as one record; there are {found}", plan.path_of(&read.on))));
        }
        Count::Optional if found > 1 => {
            return Err(drift(format!(
                "`{}` was described as at most one record; there are {found}",
                plan.path_of(&read.on)
            )));
        }
        Count::One | Count::Optional | Count::Many => {}
    }
    if !unsent.is_empty() {
        records.retain(|record| unsent.iter().all(|name| record.field(name).is_none_or(Value::is_absent)));
    }
    if let Some(sift) = &read.sift {
        records = self::sift(plan, state, sift, records)?;
    }
    let list = limits::list(records)?;
    set(state, read.slot, list)
}

fn sift(plan: &Plan, state: &mut RunState, sift: &Sift, records: Vec<Value>) -> Result<Vec<Value>, Failure> {
    let mut kept = Vec::with_capacity(records.len());
    for record in records {
        set(state, sift.item, record.clone())?;
        if let Some(filter) = sift.filter {
            match evaluate(plan, state, filter)? {
                Value::Bool(true) => {}
                Value::Bool(false) => continue,
                Value::Absent
                | Value::Number(_)
                | Value::Text(_)
                | Value::Date(_)
                | Value::DateTime(_)
                | Value::Duration(_)
                | Value::List(_)
                | Value::Record(_)
                | Value::Position(_)
                | Value::File(_) => return Err(damaged("a WHERE is not a boolean")),
            }
        }
        let mut keys = Vec::with_capacity(sift.order.len());
        for (key, _) in &sift.order {
            keys.push(SortKey::of(&evaluate(plan, state, *key)?)?);
        }
        kept.push((keys, record));
    }
    let descending: Vec<_> = sift.order.iter().map(|(_, descending)| *descending).collect();
    state.scratch.spend(kept.len())?;
    let mut kept = ordered(kept, &descending)?;
    cut(&mut kept, sift.limit);
    Ok(kept)
}

/// Sorts a list by the keys that were appended beside it, and cuts it.
pub(super) fn arrange(
    state: &mut RunState,
    slot: Slot,
    keys: Option<Slot>,
    descending: &[bool],
    limit: Option<u64>,
) -> Result<(), Failure> {
    let take = |slot: Slot| {
        let value = state.frames.last().and_then(|frame| frame.slots.get(slot.0 as usize));
        let Some(Value::List(list)) = value else { return Err(damaged("a list is missing")) };
        Ok(list.as_ref().clone())
    };
    let mut records = take(slot)?;
    if let Some(keys) = keys {
        let mut pairs = Vec::with_capacity(records.len());
        for (record, keys) in records.into_iter().zip(take(keys)?) {
            let Value::List(keys) = keys else { return Err(damaged("a list is missing")) };
            pairs.push((keys.iter().map(SortKey::of).collect::<Result<Vec<_>, _>>()?, record));
        }
        state.scratch.spend(pairs.len())?;
        records = ordered(pairs, descending)?;
    }
    cut(&mut records, limit);
    set(state, slot, Value::list(records))
}

fn cut(records: &mut Vec<Value>, limit: Option<u64>) {
    if let Some(limit) = limit {
        records.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
}

/// By keys, absent last, ties by the record's own key; without keys in the source's order.
fn ordered(mut pairs: Vec<(Vec<SortKey>, Value)>, descending: &[bool]) -> Result<Vec<Value>, Failure> {
    if !descending.is_empty() {
        for index in 0..descending.len() {
            SortKey::same_kind(pairs.iter().filter_map(|(keys, _)| keys.get(index)))?;
        }
        pairs.sort_by(|(left, left_record), (right, right_record)| {
            let by_keys = left.iter().zip(right).zip(descending);
            let by_keys = by_keys.map(|((left, right), descending)| left.order(right, *descending));
            by_keys
                .fold(Ordering::Equal, Ordering::then)
                .then_with(|| record_key(left_record).cmp(&record_key(right_record)))
        });
    }
    Ok(pairs.into_iter().map(|(_, record)| record).collect())
}

fn record_key(record: &Value) -> Option<&lf_module::Key> {
    if let Value::Position(position) = record { position.key.as_ref() } else { None }
}
