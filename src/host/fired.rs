//! What a function is fired with: the changed record, and the change if it takes it. Pure.

use std::sync::Arc;

use lf_lang::{
    plan::{Plan, ir::Listen},
    run::Fired,
};
use lf_module::{Key, Position, Record, Value, call::ChangeKind};
use smol_str::SmolStr;

use super::compare::differing;
use crate::store::Run;

/// The start of a run.
pub(super) fn fired(plan: &Plan, listen: &Listen, run: &Run) -> Fired {
    let mut args = vec![record(plan, listen, run.kind, &run.key, &run.record)];
    if listen.with_change {
        args.push(change(run));
    }
    Fired { function: listen.fire, args, now: run.taken_in }
}

/// The record that changed. One that is gone can be neither walked nor written, so it is its fields alone.
pub(super) fn record(plan: &Plan, listen: &Listen, kind: ChangeKind, key: &Key, fields: &Record) -> Value {
    match kind {
        ChangeKind::Deleted => Value::record(fields.clone()),
        ChangeKind::Created | ChangeKind::Updated => Value::Position(Arc::new(Position {
            connection: plan.connection(listen.connection).map(|at| at.key.as_str().into()).unwrap_or_default(),
            ty: listen.ty.clone(),
            key: Some(key.clone()),
            fields: fields.clone(),
        })),
    }
}

/// Whether a change touches a field that the listen asks about. Where the source cannot tell what an update changed, it
/// may have been one of them.
pub(super) fn touches(listen: &Listen, kind: ChangeKind, before: Option<&Record>, record: &Record) -> bool {
    match (kind, before) {
        (ChangeKind::Updated, Some(before)) if !listen.fields.is_empty() => {
            differing(before, record).iter().any(|changed| listen.fields.contains(changed))
        }
        (ChangeKind::Created | ChangeKind::Updated | ChangeKind::Deleted, _) => true,
    }
}

/// The names of the fields that an update changed: only of an update that shows what was before can anybody tell.
pub(super) fn changed(kind: ChangeKind, before: Option<&Record>, record: &Record) -> Option<Vec<SmolStr>> {
    match (before, kind) {
        (Some(before), ChangeKind::Updated) => Some(differing(before, record)),
        (_, ChangeKind::Created | ChangeKind::Updated | ChangeKind::Deleted) => None,
    }
}

/// `<change>`: `kind`, `fields`, `before`, `at`, `by`.
fn change(run: &Run) -> Value {
    let kind = match run.kind {
        ChangeKind::Created => "created",
        ChangeKind::Updated => "updated",
        ChangeKind::Deleted => "deleted",
    };
    let fields = match run.kind {
        ChangeKind::Updated => run.fields.clone().unwrap_or_default(),
        ChangeKind::Created | ChangeKind::Deleted => Vec::new(),
    };
    Value::record(Record::from_iter([
        ("kind", Value::text(kind)),
        ("fields", Value::list(fields.into_iter().map(Value::Text).collect())),
        ("before", run.before.clone().map_or(Value::Absent, Value::record)),
        ("at", Value::DateTime(run.at)),
        ("by", run.by.clone().map_or(Value::Absent, Value::Text)),
    ]))
}
