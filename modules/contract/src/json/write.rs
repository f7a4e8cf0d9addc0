//! [`Value`] to plain JSON.

use std::fmt::Write as _;

use crate::value::{Record, Value};

/// Plain JSON, keys in their order: dates as ISO 8601, instants as RFC 3339, durations as ISO 8601,
/// a position as its fields.
#[must_use]
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, false);
    out
}

/// Plain JSON with sorted keys and numbers without needless zeros: equal values give equal bytes, for hashes
/// and comparison.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, true);
    out
}

fn write(out: &mut String, value: &Value, sorted: bool) {
    match value {
        Value::Absent => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match number.as_decimal().filter(|_| sorted) {
            // `1.0` and `1` are one number.
            Some(decimal) => put(out, format_args!("{}", decimal.normalize())),
            None => put(out, format_args!("{number}")),
        },
        Value::Text(text) => string(out, text),
        Value::Date(date) => put(out, format_args!("\"{date}\"")),
        Value::DateTime(instant) => put(out, format_args!("\"{instant}\"")),
        Value::Duration(length) => put(out, format_args!("\"{length}\"")),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item, sorted);
            }
            out.push(']');
        }
        Value::Record(record) => object(out, record, sorted),
        Value::Position(position) => object(out, &position.fields, sorted),
    }
}

fn object(out: &mut String, record: &Record, sorted: bool) {
    let mut fields: Vec<_> = record.iter().collect();
    if sorted {
        fields.sort_by(|left, right| left.0.cmp(right.0));
    }
    out.push('{');
    for (index, (name, value)) in fields.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, name);
        out.push(':');
        write(out, value, sorted);
    }
    out.push('}');
}

/// Writing to a `String` cannot fail.
pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _never_fails = out.write_fmt(text);
}

/// A JSON string literal.
pub(super) fn string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => put(out, format_args!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}
