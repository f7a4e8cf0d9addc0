//! [`Value`] to the journal's JSON and back, without loss.
//!
//! What plain JSON holds is written plainly; the rest is an object with one key that starts with `$`:
//! `{"$date":"2026-01-05"}`, `{"$at":…}`, `{"$for":…}`, `{"$pos":[…]}` and `{"$file":[…]}`, of a file never its bytes. A record whose first key starts
//! with `$` is wrapped as `{"$rec":{…}}`, so that no data can pass for a tag.

use std::sync::Arc;

use smol_str::SmolStr;

use super::{
    JsonError, Limits, read_with,
    write::{put, string},
};
use crate::{
    call::Key,
    file::File,
    value::{Position, Record, Value},
};

/// The journal's form of a value.
#[must_use]
pub fn encode(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

/// Reads the journal's form.
///
/// # Errors
/// [`JsonError`] if the text is not what [`encode`] writes.
pub fn decode(text: &str) -> Result<Value, JsonError> {
    // Our own journal nests a little deeper than the values that came from outside.
    let limits = Limits { bytes: usize::MAX, depth: 512 };
    untag(read_with(text.as_bytes(), limits)?)
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Absent => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => put(out, format_args!("{number}")),
        Value::Text(text) => string(out, text),
        Value::Date(date) => put(out, format_args!("{{\"$date\":\"{date}\"}}")),
        Value::DateTime(instant) => put(out, format_args!("{{\"$at\":\"{instant}\"}}")),
        Value::Duration(length) => put(out, format_args!("{{\"$for\":\"{length}\"}}")),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Record(record) => {
            let wrapped = record.iter().next().is_some_and(|(name, _)| name.starts_with('$'));
            out.push_str(if wrapped { "{\"$rec\":" } else { "" });
            object(out, record);
            out.push_str(if wrapped { "}" } else { "" });
        }
        Value::Position(position) => {
            out.push_str("{\"$pos\":[");
            string(out, &position.connection);
            out.push(',');
            string(out, &position.ty);
            out.push(',');
            match &position.key {
                Some(key) => string(out, &key.0),
                None => out.push_str("null"),
            }
            out.push(',');
            object(out, &position.fields);
            out.push_str("]}");
        }
        Value::File(file) => {
            out.push_str("{\"$file\":[");
            string(out, &file.connection);
            out.push(',');
            string(out, &file.token);
            for text in [&file.name, &file.media_type, &file.digest] {
                out.push(',');
                match text {
                    Some(text) => string(out, text),
                    None => out.push_str("null"),
                }
            }
            put(out, format_args!(",{}]}}", file.size));
        }
    }
}

fn object(out: &mut String, record: &Record) {
    out.push('{');
    for (index, (name, value)) in record.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, name);
        out.push(':');
        write(out, value);
    }
    out.push('}');
}

fn untag(value: Value) -> Result<Value, JsonError> {
    match value {
        Value::List(items) => {
            Arc::unwrap_or_clone(items).into_iter().map(untag).collect::<Result<Vec<_>, _>>().map(Value::list)
        }
        Value::Record(record) => {
            let record = Arc::unwrap_or_clone(record);
            let Some((name, _)) = record.iter().next().filter(|(name, _)| name.starts_with('$')) else {
                return fields(record).map(Value::record);
            };
            let tag = name.clone();
            let inner = record.0.into_iter().next().map(|(_, value)| value).unwrap_or_default();
            tagged(&tag, inner)
        }
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Position(_)
        | Value::File(_) => Ok(value),
    }
}

fn fields(record: Record) -> Result<Record, JsonError> {
    record.0.into_iter().map(|(name, value)| Ok((name, untag(value)?))).collect()
}

fn tagged(tag: &SmolStr, inner: Value) -> Result<Value, JsonError> {
    let text = inner.as_text();
    match tag.as_str() {
        "$date" => text.and_then(|text| text.parse().ok()).map(Value::Date).ok_or(JsonError::Tag("a bad date")),
        "$at" => text.and_then(|text| text.parse().ok()).map(Value::DateTime).ok_or(JsonError::Tag("a bad instant")),
        "$for" => text.and_then(|text| text.parse().ok()).map(Value::Duration).ok_or(JsonError::Tag("a bad duration")),
        "$rec" => {
            let Value::Record(record) = inner else { return Err(JsonError::Tag("a bad record")) };
            fields(Arc::unwrap_or_clone(record)).map(Value::record)
        }
        "$pos" => position(&inner),
        "$file" => file(&inner).ok_or(JsonError::Tag("a bad file")),
        _ => Err(JsonError::Tag("an unknown tag")),
    }
}

fn position(inner: &Value) -> Result<Value, JsonError> {
    let bad = || JsonError::Tag("a bad position");
    let Value::List(parts) = inner else { return Err(bad()) };
    let [Value::Text(connection), Value::Text(ty), key, Value::Record(record)] = parts.as_slice() else {
        return Err(bad());
    };
    let key = key.as_text().map(|key| Key(key.into()));
    let fields = fields(Record::clone(record))?;
    Ok(Value::Position(Arc::new(Position { connection: connection.clone(), ty: ty.clone(), key, fields })))
}

fn file(inner: &Value) -> Option<Value> {
    let Value::List(parts) = inner else { return None };
    let [Value::Text(connection), Value::Text(token), name, media_type, digest, Value::Number(size)] = parts.as_slice()
    else {
        return None;
    };
    let text = |value: &Value| value.as_text().map(SmolStr::from);
    Some(Value::file(File {
        connection: connection.clone(),
        token: token.clone(),
        name: text(name),
        media_type: text(media_type),
        size: size.to_string().parse().ok()?,
        digest: text(digest),
        bytes: None,
    }))
}
