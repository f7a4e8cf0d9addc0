//! Scalars as text: what interpolation and TEXT write. Numbers canonical, dates ISO 8601, instants RFC 3339 in UTC,
//! durations as the language writes them.

use std::fmt::Write as _;

use jiff::SignedDuration;
use lf_module::{number::Number, value::Value};

use crate::run::{eval::drift, io::Failure};

/// What a value is, to a person.
pub(in crate::run) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Absent => "absent",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::Text(_) => "text",
        Value::Date(_) => "a date",
        Value::DateTime(_) => "a datetime",
        Value::Duration(_) => "a duration",
        Value::List(_) => "a list",
        Value::Record(_) | Value::Position(_) => "a record",
        Value::File(_) => "a file",
    }
}

/// Appends a scalar's text.
pub(in crate::run) fn write(out: &mut String, value: &Value) -> Result<(), Failure> {
    let _never_fails = match value {
        Value::Text(text) => out.write_str(text),
        Value::Number(number) => write!(out, "{}", canonical(number)),
        Value::Bool(flag) => write!(out, "{flag}"),
        Value::Date(date) => write!(out, "{date}"),
        Value::DateTime(instant) => write!(out, "{instant}"),
        Value::Duration(length) => out.write_str(&duration(*length)),
        Value::Absent | Value::List(_) | Value::Record(_) | Value::Position(_) | Value::File(_) => {
            return Err(drift(format!("only a scalar can become text; it is {}", kind(value))));
        }
    };
    Ok(())
}

/// Without zeros that say nothing: `1.50` is `1.5`, `-0` is `0`.
pub(in crate::run) fn canonical(number: &Number) -> Number {
    match number.as_decimal() {
        Some(decimal) if decimal.is_zero() => Number::from(0_i64),
        Some(decimal) => Number::from(decimal.normalize()),
        None => number.clone(),
    }
}

/// `1d2h30m`; what is finer than a millisecond in ISO 8601.
pub(crate) fn duration(length: SignedDuration) -> String {
    let nanos = length.as_nanos();
    if nanos % 1_000_000 != 0 {
        return length.to_string();
    }
    let mut left = nanos / 1_000_000;
    if left == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    if left < 0 {
        out.push('-');
        left = -left;
    }
    for (unit, millis) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if left >= millis {
            let _never_fails = write!(out, "{}{unit}", left / millis);
            left %= millis;
        }
    }
    out
}
