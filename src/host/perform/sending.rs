//! A write in its three forms: as asked for, as journalled, as sent. Pure.

use std::sync::Arc;

use lf_lang::run::{Request, entry::Sending};
use lf_module::{Key, Position, Record, Value, Write, call::Origin};
use smol_str::SmolStr;

use crate::host::{
    attempt::Link,
    news::{Action, show},
};

pub(super) fn is_looked_up(request: &Request) -> bool {
    match request {
        Request::Write(write) => !write.unique.is_empty(),
        Request::Read { .. } | Request::Delete { .. } | Request::Link { .. } => false,
    }
}

pub(super) fn written_type(request: &Request) -> &SmolStr {
    match request {
        Request::Read { ty, .. } | Request::Delete { ty, key: _ } => ty,
        Request::Write(write) => &write.ty,
        Request::Link { tie, join: _ } => &tie.ty,
    }
}

pub(super) fn as_write(ty: &SmolStr, sending: &Sending) -> Write {
    let ty = ty.clone();
    match sending {
        Sending::Create { origin, fields, idempotency: _ } => {
            Write::Create { ty, origin: origin.clone(), fields: fields.clone() }
        }
        Sending::Update { key, fields, idempotency: _ } => {
            Write::Update { ty, key: key.clone(), fields: fields.clone() }
        }
        Sending::Delete { key, idempotency: _ } => Write::Delete { ty, key: key.clone() },
        Sending::Link { tie, join: true, idempotency: _ } => Write::Link(tie.clone()),
        Sending::Link { tie, join: false, idempotency: _ } => Write::Unlink(tie.clone()),
    }
}

pub(super) fn shape(write: &Write) -> (Action, Option<Key>) {
    match write {
        Write::Create { .. } => (Action::Create, None),
        Write::Update { ty: _, key, fields: _ } => (Action::Update, Some(key.clone())),
        Write::Delete { ty: _, key } => (Action::Delete, Some(key.clone())),
        Write::Link(tie) => (Action::Link, Some(tie.key.clone())),
        Write::Unlink(tie) => (Action::Unlink, Some(tie.key.clone())),
    }
}

/// What was sent, for people.
pub(super) fn sent(write: &Write) -> String {
    match write {
        Write::Create { ty: _, origin: Origin::Root, fields } | Write::Update { ty: _, key: _, fields } => show(fields),
        Write::Create { ty: _, origin: Origin::Record { ty, key, edge }, fields } => {
            format!("under {ty} `{key}` by `{edge}`: {}", show(fields))
        }
        Write::Delete { ty: _, key } => format!("delete `{key}`"),
        Write::Link(tie) => format!("link `{}` by `{}` to `{}`", tie.key, tie.edge, tie.to),
        Write::Unlink(tie) => format!("unlink `{}` by `{}` from `{}`", tie.key, tie.edge, tie.to),
    }
}

pub(super) fn over(mut base: Record, more: &Record) -> Record {
    for (name, value) in more.iter() {
        base.set(name.clone(), value.clone());
    }
    base
}

pub(super) fn position(link: &Link, ty: &SmolStr, key: Option<Key>, fields: Record) -> Value {
    Value::Position(Arc::new(Position { connection: link.id.clone(), ty: ty.clone(), key, fields }))
}
