//! The list built-ins.

use std::collections::HashSet;

use indexmap::IndexMap;
use lf_module::{json, value::Value};
use rust_decimal::Decimal;

use super::{builtins::Args, drift, limits, number, program, scalar, sort::SortKey};
use crate::run::io::Failure;

/// The members of a list.
pub(in crate::run) fn items<'v>(value: &'v Value, name: &str) -> Result<&'v [Value], Failure> {
    let Value::List(items) = value else {
        return Err(drift(format!("`{name}` needs a list; it is {}", scalar::kind(value))));
    };
    Ok(items)
}

/// From 0; a negative index counts from the end, as `at` does in JavaScript.
pub(super) fn at(items: &[Value], index: i64) -> Value {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let index = if index < 0 { index.saturating_add(length) } else { index };
    usize::try_from(index).ok().and_then(|index| items.get(index)).cloned().unwrap_or_default()
}

pub(super) fn average(items: &[Value]) -> Result<Value, Failure> {
    if items.is_empty() {
        return Ok(Value::Absent);
    }
    let Value::Number(total) = number::sum(items)? else {
        return Err(drift("`AVG` needs a list of numbers".to_owned()));
    };
    let total = number::decimal(&total, "AVG")?;
    let average = total.checked_div(Decimal::from(items.len()));
    average.map(number::value).ok_or_else(|| number::overflow("AVG"))
}

/// The least or the greatest; absent if there is none.
pub(super) fn extreme(items: &[Value], greatest: bool) -> Result<Value, Failure> {
    let mut best: Option<(SortKey, &Value)> = None;
    for item in items {
        let key = SortKey::of(item)?;
        if let Some((known, _)) = &best {
            SortKey::same_kind([known, &key].into_iter())?;
        }
        let better = match &best {
            None => true,
            Some((known, _)) if greatest => key > *known,
            Some((known, _)) => key < *known,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map(|(_, item)| item.clone()).unwrap_or_default())
}

/// `SORT(list)`, `SORT(list, "desc")`, `SORT(list, "field")`, `SORT(list, "field", "desc")`. Stable.
pub(super) fn sort(args: Args<'_>) -> Result<Value, Failure> {
    let list = args.items(0)?;
    let records = list.iter().any(|item| matches!(item, Value::Record(_) | Value::Position(_)));
    let (field, way) = match (args.get(1), args.get(2)) {
        (Some(_), Some(_)) => (Some(args.text(1)?), Some(args.text(2)?)),
        (Some(_), None) if records => (Some(args.text(1)?), None),
        (Some(_), None) => (None, Some(args.text(1)?)),
        (None, _) => (None, None),
    };
    let descending = match way {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(other) => return Err(program(format!("`SORT` goes \"asc\" or \"desc\", not \"{other}\""))),
    };
    let mut pairs = Vec::with_capacity(list.len());
    for item in list {
        let key = field.map_or(item, |field| item.field(field).unwrap_or(&Value::Absent));
        pairs.push((SortKey::of(key)?, item.clone()));
    }
    SortKey::same_kind(pairs.iter().map(|(key, _)| key))?;
    pairs.sort_by(|(left, _), (right, _)| left.order(right, descending));
    limits::list(pairs.into_iter().map(|(_, item)| item).collect())
}

/// A list by the list of its keys, the other way round if the third is true. Stable.
pub(super) fn sort_by(args: Args<'_>) -> Result<Value, Failure> {
    let mut pairs = Vec::with_capacity(args.items(0)?.len());
    for (item, key) in args.items(0)?.iter().zip(args.items(1)?) {
        pairs.push((SortKey::of(key)?, item.clone()));
    }
    let descending = matches!(args.get(2), Some(Value::Bool(true)));
    SortKey::same_kind(pairs.iter().map(|(key, _)| key))?;
    pairs.sort_by(|(left, _), (right, _)| left.order(right, descending));
    limits::list(pairs.into_iter().map(|(_, item)| item).collect())
}

/// `{ key, items }` for each distinct key of the list of keys, in the order in which they first come.
pub(super) fn group_by(args: Args<'_>) -> Result<Value, Failure> {
    let mut groups: IndexMap<&str, Vec<Value>> = IndexMap::new();
    for (item, key) in args.items(0)?.iter().zip(args.items(1)?) {
        let Some(text) = key.as_text() else { return Err(args.misfit("text", key)) };
        groups.entry(text).or_default().push(item.clone());
    }
    let group = |(key, items): (&str, Vec<Value>)| {
        Value::record([("key", Value::from(key)), ("items", Value::list(items))].into_iter().collect())
    };
    limits::list(groups.into_iter().map(group).collect())
}

/// The first of each; equal as `==` says.
pub(super) fn distinct(items: &[Value]) -> Result<Value, Failure> {
    let mut seen = HashSet::with_capacity(items.len());
    let mut kept = Vec::new();
    for item in items {
        limits::whole(item)?;
        if seen.insert(identity(item)) {
            kept.push(item.clone());
        }
    }
    limits::list(kept)
}

/// A text that two values share exactly if they are equal.
fn identity(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("n{}", scalar::canonical(number)),
        Value::Text(text) => format!("t{text}"),
        Value::Date(date) => format!("d{date}"),
        Value::DateTime(instant) => format!("i{instant}"),
        Value::Duration(length) => format!("l{}", length.as_nanos()),
        Value::Position(position) if position.key.is_some() => {
            let key = position.key.as_ref().map(|key| key.0.as_str()).unwrap_or_default();
            json::canonical(&Value::list(vec![
                Value::text(position.connection.clone()),
                Value::text(position.ty.clone()),
                Value::text(key),
            ]))
        }
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| Value::from(identity(item))).collect();
            json::canonical(&Value::list(items))
        }
        Value::Record(record) => fields(record),
        Value::Position(position) => fields(&position.fields),
        Value::File(file) => match &file.digest {
            Some(_) => json::canonical(value),
            None => json::encode(value),
        },
        Value::Absent | Value::Bool(_) => json::canonical(value),
    }
}

fn fields(record: &lf_module::Record) -> String {
    let present = record.iter().filter(|(_, value)| !value.is_absent());
    let named = present.map(|(name, value)| (name.clone(), Value::from(identity(value)))).collect();
    json::canonical(&Value::record(named))
}

pub(super) fn flat(items: &[Value]) -> Result<Value, Failure> {
    let mut all = Vec::new();
    for item in items {
        let more = self::items(item, "FLAT")?;
        limits::members(all.len() + more.len())?;
        all.extend_from_slice(more);
    }
    limits::list(all)
}

/// From `from` up to, not with, `to`, as SLICE counts.
pub(super) fn range(from: i64, to: i64) -> Result<Value, Failure> {
    let count = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
    limits::members(count)?;
    limits::list((from..to).map(Value::from).collect())
}
