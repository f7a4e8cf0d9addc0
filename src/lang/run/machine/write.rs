//! Building a write, a delete or a link, and reading the handle that comes back.

use std::sync::Arc;

use lf_module::{
    call::{Key, Origin, Tie},
    value::{Record, Value},
};

use smol_str::SmolStr;

use super::{address, evaluate, open, position, set};
use crate::{
    check::typed::EntryMode,
    plan::ir::{ExprId, PlaceId, Plan, Refused, Write, WriteTarget},
    run::{
        eval::{drift, journal, program},
        io::{Effect, Entry, Failure, Request, Target, WriteRequest},
        limits,
        state::{RunState, Waiting},
    },
    types::TypeRef,
};

pub(super) fn ask(plan: &Plan, state: &mut RunState, place: PlaceId, write: &Write) -> Result<Effect, Failure> {
    let target = match &write.target {
        WriteTarget::Create => Target::Create { origin: Origin::Root },
        WriteTarget::Under { record, ty, edge } => {
            let record = evaluate(plan, state, *record)?;
            let key = key_of(&record, ty, "written under")?;
            Target::Create { origin: Origin::Record { ty: ty.clone(), key, edge: edge.clone() } }
        }
        WriteTarget::Update(record) => {
            let record = evaluate(plan, state, *record)?;
            Target::Update { key: key_of(&record, &write.on.ty, "changed")? }
        }
    };
    let mut entries = Vec::with_capacity(write.entries.len());
    for entry in &write.entries {
        let value = evaluate(plan, state, entry.value)?;
        limits::whole(&value)?;
        if value.is_absent() {
            match entry.mode {
                EntryMode::Set => {
                    let path = plan.path_of(&write.on);
                    return Err(drift(format!("`{}` of `{path}` needs a value; there is none", entry.field)));
                }
                EntryMode::SetOrSkip | EntryMode::Fill | EntryMode::Add => continue,
                EntryMode::SetOrClear => {}
            }
        }
        entries.push(Entry { field: entry.field.clone(), mode: entry.mode, value });
    }
    let unique = match target {
        Target::Create { .. } => write.unique.iter().filter_map(|fields| identity(fields, &entries)).collect(),
        Target::Update { .. } => Vec::new(),
    };
    let address = address::of(state, &write.label)?;
    state.waiting = Some(Waiting { unsent: Vec::new() });
    let request = Request::Write(WriteRequest { ty: write.on.ty.clone(), target, entries, unique });
    Ok(Effect::Call { address, place, connection: write.on.connection, request, declines: write.refused.is_some() })
}

/// One line of `unique by`; `None` if a value is absent or blank, since that identifies nothing.
fn identity(fields: &[SmolStr], entries: &[Entry]) -> Option<Record> {
    let mut record = Record::new();
    for field in fields {
        let value = &entries.iter().find(|entry| entry.field == *field)?.value;
        if value.is_absent() || value.as_text().is_some_and(|text| text.trim().is_empty()) {
            return None;
        }
        record.set(field.clone(), value.clone());
    }
    Some(record)
}

pub(super) fn delete(
    plan: &Plan,
    state: &mut RunState,
    place: PlaceId,
    label: &str,
    on: &TypeRef,
    target: ExprId,
) -> Result<Effect, Failure> {
    let record = evaluate(plan, state, target)?;
    let key = key_of(&record, &on.ty, "deleted")?;
    let address = address::of(state, label)?;
    state.waiting = Some(Waiting { unsent: Vec::new() });
    let request = Request::Delete { ty: on.ty.clone(), key };
    Ok(Effect::Call { address, place, connection: on.connection, request, declines: false })
}

pub(super) fn link(
    plan: &Plan,
    state: &mut RunState,
    place: PlaceId,
    (label, on, edge, join): (&str, &TypeRef, &SmolStr, bool),
    (from, to): (ExprId, ExprId),
) -> Result<Effect, Failure> {
    let verb = if join { "linked" } else { "unlinked" };
    let from = evaluate(plan, state, from)?;
    let key = key_of(&from, &on.ty, verb)?;
    let to = evaluate(plan, state, to)?;
    let to = key_of(&to, &position(&to, verb)?.ty, verb)?;
    let address = address::of(state, label)?;
    state.waiting = Some(Waiting { unsent: Vec::new() });
    let request = Request::Link { tie: Tie { ty: on.ty.clone(), key, edge: edge.clone(), to }, join };
    Ok(Effect::Call { address, place, connection: on.connection, request, declines: false })
}

fn key_of(record: &Value, ty: &SmolStr, verb: &str) -> Result<Key, Failure> {
    let position = position(record, verb)?;
    position.key.clone().ok_or_else(|| program(format!("a record of `{ty}` has no key, so it cannot be {verb}")))
}

/// The handle: what the system answered over what was written, and `created`.
pub(super) fn settle(state: &mut RunState, write: &Write, handle: &Value, created: bool) -> Result<(), Failure> {
    let Value::Position(position) = handle else {
        return Err(journal(format!("the answer to `{}` is not a record", write.label)));
    };
    let Some(slot) = write.slot else { return Ok(()) };
    let mut handle = position.as_ref().clone();
    if handle.fields.get("created").is_none() {
        handle.fields.set("created", Value::Bool(created));
    }
    set(state, slot, Value::Position(Arc::new(handle)))
}

/// The system refused: its way is taken, and what the write would have bound is absent.
pub(super) fn declined(
    state: &mut RunState,
    write: &Write,
    refused: &Refused,
    text: String,
    status: Option<i64>,
) -> Result<(), Failure> {
    if let Some(slot) = write.slot {
        set(state, slot, Value::Absent)?;
    }
    let status = status.map_or(Value::Absent, |status| Value::Number(status.into()));
    set(state, refused.why, Value::record(Record::from_iter([("text", Value::text(text)), ("status", status)])))?;
    open(state, refused.body, None);
    Ok(())
}
