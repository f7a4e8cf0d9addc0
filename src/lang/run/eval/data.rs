//! The built-ins of json and of what texts stand for: `KEYS`, `JSON`, `PARSE`, `PRINT`, `HASH`, `URL`, `ENCODE`.

use std::fmt::Write as _;

use lf_module::{
    json,
    value::{Record, Value},
};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{limits, program};
use crate::run::io::Failure;

/// The names of an object's fields; what is no object has none.
pub(super) fn keys(value: &Value) -> Result<Value, Failure> {
    let fields = match value {
        Value::Record(record) => Some(record.as_ref()),
        Value::Position(position) => Some(&position.fields),
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::File(_) => None,
    };
    limits::list(fields.into_iter().flat_map(Record::iter).map(|(name, _)| Value::text(name.clone())).collect())
}

/// A value as the JSON that another system would see: times are texts, a record of a system is its fields.
pub(super) fn to_json(value: &Value) -> Result<Value, Failure> {
    limits::whole(value)?;
    let read = json::read_with(json::plain(value).as_bytes(), bounds());
    read.map_err(|wrong| program(format!("`JSON` cannot hold this value: {wrong}")))
}

/// Text as JSON; absent if it is none.
pub(super) fn parse(text: &str) -> Value {
    json::read_with(text.as_bytes(), bounds()).unwrap_or_default()
}

/// Canonical JSON text: equal values give equal texts.
pub(super) fn print(value: &Value) -> Result<Value, Failure> {
    limits::whole(value)?;
    limits::text(json::canonical(value))
}

fn bounds() -> json::Limits {
    json::Limits { bytes: 2 * limits::BYTES, depth: limits::DEPTH - 1 }
}

/// SHA-256 in hex.
pub(super) fn hash(text: &str) -> Value {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()).iter() {
        let _never_fails = write!(hex, "{byte:02x}");
    }
    Value::from(hex)
}

/// The parts of an address; absent if it is none, or names no host. A name that comes twice in the query is a list.
pub(super) fn url(text: &str) -> Value {
    let Ok(url) = Url::parse(text.trim()) else { return Value::Absent };
    let Some(host) = url.host_str() else { return Value::Absent };
    let mut query = Record::new();
    for (name, value) in url.query_pairs() {
        let value = Value::from(value.as_ref());
        let value = match query.get(&name) {
            None => value,
            Some(Value::List(before)) => Value::list(before.iter().cloned().chain([value]).collect()),
            Some(before) => Value::list(vec![before.clone(), value]),
        };
        query.set(name.as_ref(), value);
    }
    let parts = [
        ("scheme", Value::from(url.scheme())),
        ("host", Value::from(host)),
        ("path", Value::from(url.path())),
        ("query", Value::record(query)),
    ];
    Value::record(parts.into_iter().collect())
}

/// Percent-encoding of everything but letters, digits and `-._~`.
pub(super) fn encode(text: &str) -> Result<Value, Failure> {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _never_fails = write!(out, "%{byte:02X}");
        }
    }
    limits::text(out)
}
