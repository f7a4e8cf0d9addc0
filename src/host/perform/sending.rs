//! A write in its three forms: as asked for, as journalled, as sent. Pure.

use std::sync::Arc;

use lf_lang::run::{Request, entry::Sending};
use lf_module::{Key, Position, Record, Value, Write};
use smol_str::SmolStr;

use crate::host::{
    attempt::Link,
    news::{Action, show},
};

pub(super) fn is_looked_up(request: &Request) -> bool {
    match request {
        Request::Write(write) => !write.unique.is_empty(),
        Request::Read { .. } | Request::Delete { .. } => false,
    }
}

pub(super) fn written_type(request: &Request) -> &SmolStr {
    match request {
        Request::Read { ty, .. } | Request::Delete { ty, key: _ } => ty,
        Request::Write(write) => &write.ty,
    }
}

pub(super) fn idempotency_of(sending: &Sending) -> &SmolStr {
    match sending {
        Sending::Create { fields: _, idempotency }
        | Sending::Update { key: _, fields: _, idempotency }
        | Sending::Delete { key: _, idempotency } => idempotency,
    }
}

pub(super) fn as_write(ty: &SmolStr, sending: &Sending) -> Write {
    let ty = ty.clone();
    match sending {
        Sending::Create { fields, idempotency: _ } => Write::Create { ty, fields: fields.clone() },
        Sending::Update { key, fields, idempotency: _ } => {
            Write::Update { ty, key: key.clone(), fields: fields.clone() }
        }
        Sending::Delete { key, idempotency: _ } => Write::Delete { ty, key: key.clone() },
    }
}

pub(super) fn shape(write: &Write) -> (Action, Option<Key>) {
    match write {
        Write::Create { .. } => (Action::Create, None),
        Write::Update { ty: _, key, fields: _ } => (Action::Update, Some(key.clone())),
        Write::Delete { ty: _, key } => (Action::Delete, Some(key.clone())),
    }
}

/// What was sent, for people.
pub(super) fn sent(write: &Write) -> String {
    match write {
        Write::Create { ty: _, fields } | Write::Update { ty: _, key: _, fields } => show(fields),
        Write::Delete { ty: _, key } => format!("delete `{key}`"),
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
