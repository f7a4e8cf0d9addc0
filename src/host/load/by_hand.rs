//! A change made by hand: a record as JSON, proved against the described type, for the listen that fires a function.

use jiff::Timestamp;
use lf_lang::{check::catalog::Described, plan::ir::Listen};
use lf_module::{FieldType, Key, Record, TypeShape, Value, call::ChangeKind, json};
use smol_str::{SmolStr, ToSmolStr as _};

use super::{Ready, Unfit};
use crate::{
    host::fired,
    store::{NewRun, State},
};

/// What a person fires.
#[derive(Debug)]
pub struct ByHand<'h> {
    pub function: &'h str,
    /// As JSON.
    pub record: &'h str,
    /// As it was before, if it is to be an update.
    pub before: Option<&'h str>,
    /// The listen, if several fire the function.
    pub listen: Option<&'h str>,
}

impl Ready {
    /// The change that fires `function` with the record; with `before`, one that was updated. And what a real change of
    /// that kind would not have fired.
    ///
    /// # Errors
    /// No listen fires it, or the record is none of the type that it takes.
    pub fn by_hand(&self, hand: &ByHand<'_>, now: Timestamp) -> Result<(NewRun, Option<String>), Unfit> {
        let listen = self.firing(hand.function, hand.listen)?;
        let key = self.plan.connection(listen.connection).map(|connection| &connection.key);
        let described = key.and_then(|key| self.loaded.catalog.connections.get(key));
        let Some(shape) = described.and_then(|described| shape(described, &listen.ty)) else {
            return Err(Unfit::new(format!("the type `{}` is not described", listen.ty)));
        };
        let record = record(shape, hand.record)?;
        let before = hand.before.map(|text| self::record(shape, text)).transpose()?;
        let kind = if before.is_some() { ChangeKind::Updated } else { ChangeKind::Created };
        let delivery = format!("by hand {}", now.as_nanosecond()).to_smolstr();
        let key = match &shape.key {
            Some(field) => key_of(field, record.get(field))?,
            None => Key(delivery.clone()),
        };
        let unlike = self.unlike(listen, kind, before.as_ref(), &key, &record, now);
        let fields = fired::changed(kind, before.as_ref(), &record).filter(|_| listen.with_change);
        let run = NewRun {
            listen: listen.name.clone(),
            key,
            delivery,
            kind,
            record,
            before,
            fields,
            debounce: None,
            at: now,
            by: Some("hand".into()),
            depth: 0,
            cause: None,
            state: State::Ready,
            reason: None,
        };
        Ok((run, unlike))
    }

    /// Why a real change of this kind would not fire the listen.
    fn unlike(
        &self,
        listen: &Listen,
        kind: ChangeKind,
        before: Option<&Record>,
        key: &Key,
        record: &Record,
        now: Timestamp,
    ) -> Option<String> {
        let name = &listen.name;
        if !listen.kinds.contains(&kind) {
            let (is, way) = match kind {
                ChangeKind::Created => ("created", "; with `--before JSON` it is an update"),
                ChangeKind::Updated | ChangeKind::Deleted => ("updated", ""),
            };
            return Some(format!("`{name}` does not fire for what is {is}; by hand it is fired all the same{way}"));
        }
        if !fired::touches(listen, kind, before, record) {
            return Some(format!(
                "`{name}` does not fire for a change of these fields; by hand it is fired all the same"
            ));
        }
        let shown = fired::record(&self.plan, listen, kind, key, record);
        match lf_lang::run::matches(&self.plan, listen, &shown, now) {
            Ok(true) => None,
            Ok(false) => {
                Some(format!("the WHERE of `{name}` leaves this record out; by hand it is fired all the same"))
            }
            Err(failure) => Some(format!("the WHERE of `{name}` failed on it: {}", failure.message)),
        }
    }

    fn firing(&self, function: &str, named: Option<&str>) -> Result<&Listen, Unfit> {
        let listens = &self.plan.listens;
        let firing: Vec<_> = listens.iter().filter(|listen| listen.function == function).collect();
        let chosen: Vec<_> =
            firing.iter().copied().filter(|listen| named.is_none_or(|named| listen.name == named)).collect();
        match (chosen.as_slice(), firing.as_slice()) {
            ([one], _) => Ok(one),
            ([], []) => {
                let wrong = Unfit::new(format!("no listen fires a function `{function}`"));
                Err(wrong.near(function, listens.iter().map(|listen| listen.function.as_str())))
            }
            (_, firing) => {
                let names: Vec<_> = firing.iter().map(|listen| format!("`{}`", listen.name)).collect();
                let why = format!("`{function}` is fired by {}", names.join(" and "));
                Err(Unfit::new(why).help("say which with `--listen`"))
            }
        }
    }
}

fn shape<'d>(described: &'d Described, ty: &str) -> Option<&'d TypeShape> {
    match described {
        Described::Yes(description) => description.get(ty),
        Described::No { refused: _, why: _, offline: _ } => None,
    }
}

/// A record of the type: every field known and of its type, none missing that a real one has.
fn record(shape: &TypeShape, text: &str) -> Result<Record, Unfit> {
    let parsed = json::read(text.as_bytes()).map_err(|why| Unfit::new(format!("the record is no JSON: {why}")))?;
    let Value::Record(given) = parsed else { return Err(Unfit::new("the record is a JSON object")) };
    let readable = || shape.fields.iter().filter(|field| field.readable);
    for (name, _) in given.iter() {
        if !readable().any(|field| field.name == *name) {
            let wrong = Unfit::new(format!("`{}` has no field `{name}`", shape.name));
            return Err(wrong.near(name, readable().map(|field| field.name.as_str())));
        }
    }
    let mut record = Record::new();
    for field in readable() {
        match given.get(&field.name) {
            None | Some(Value::Absent) if field.optional || field.doubtful => {}
            None | Some(Value::Absent) => {
                return Err(Unfit::new(format!(
                    "the record lacks `{}`, which a `{}` always has",
                    field.name, shape.name
                )));
            }
            Some(value) => {
                let fitted = fit(&field.ty, value);
                let wrong =
                    || Unfit::new(format!("`{}` is {}, found {}", field.name, words(&field.ty), json::plain(value)));
                record.set(field.name.clone(), fitted.ok_or_else(wrong)?);
            }
        }
    }
    Ok(record)
}

/// A JSON value as the field's type.
fn fit(ty: &FieldType, value: &Value) -> Option<Value> {
    match (ty, value) {
        (FieldType::Json, value)
        | (FieldType::Text, value @ Value::Text(_))
        | (FieldType::Number, value @ Value::Number(_))
        | (FieldType::Boolean, value @ Value::Bool(_)) => Some(value.clone()),
        (FieldType::Choice(choices), Value::Text(text)) => choices.contains(text).then(|| value.clone()),
        (FieldType::Date, Value::Text(text)) => text.parse().ok().map(Value::Date),
        (FieldType::Datetime, Value::Text(text)) => text.parse().ok().map(Value::DateTime),
        (FieldType::Duration, Value::Text(text)) => text.parse().ok().map(Value::Duration),
        (FieldType::List(of), Value::List(items)) => {
            items.iter().map(|item| fit(of, item)).collect::<Option<Vec<_>>>().map(Value::list)
        }
        (
            FieldType::Text
            | FieldType::Number
            | FieldType::Boolean
            | FieldType::Choice(_)
            | FieldType::Date
            | FieldType::Datetime
            | FieldType::Duration
            | FieldType::File
            | FieldType::List(_),
            _,
        ) => None,
    }
}

fn words(ty: &FieldType) -> String {
    match ty {
        FieldType::Text => "a text".to_owned(),
        FieldType::Number => "a number".to_owned(),
        FieldType::Boolean => "`true` or `false`".to_owned(),
        FieldType::Date => "a date such as `\"2026-01-05\"`".to_owned(),
        FieldType::Datetime => "a time such as `\"2026-01-05T09:00:00Z\"`".to_owned(),
        FieldType::Duration => "a duration such as `\"PT1H30M\"`".to_owned(),
        FieldType::Json => "any JSON".to_owned(),
        FieldType::File => "a file, which cannot be given by hand".to_owned(),
        FieldType::Choice(choices) => {
            let choices: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
            format!("one of {}", choices.join(", "))
        }
        FieldType::List(of) => format!("a list, each {}", words(of)),
    }
}

fn key_of(field: &SmolStr, value: Option<&Value>) -> Result<Key, Unfit> {
    match value {
        Some(Value::Text(text)) => Ok(Key(text.clone())),
        Some(Value::Number(number)) => Ok(Key(number.to_smolstr())),
        Some(_) | None => Err(Unfit::new(format!("the record needs its key `{field}`"))),
    }
}
