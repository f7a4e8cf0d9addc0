//! [`Value`] to plain JSON.

use std::fmt::Write as _;

use smol_str::SmolStr;

use super::special;
use crate::{
    file::File,
    value::{Record, Value},
};

/// Plain JSON, keys in their order: dates as ISO 8601, instants as RFC 3339, durations as ISO 8601,
/// a position as its fields, a file as what is known of it.
#[must_use]
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

/// The same, at the end of a text that is there.
pub fn write_plain(out: &mut String, value: &Value) {
    write(out, value, false);
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
        Value::File(file) => self::file(out, file, sorted),
    }
}

/// What is known of a file, in the order of the alphabet; where two are compared, also what tells their bytes apart.
fn file(out: &mut String, file: &File, sorted: bool) {
    out.push('{');
    let digest = file.digest.as_ref().filter(|_| sorted);
    let known = [("digest", digest), ("media_type", file.media_type.as_ref()), ("name", file.name.as_ref())];
    for (name, text) in known {
        if let Some(text) = text {
            string(out, name);
            out.push(':');
            string(out, text);
            out.push(',');
        }
    }
    put(out, format_args!("\"size\":{}}}", file.size));
}

fn object(out: &mut String, record: &Record, sorted: bool) {
    if !sorted {
        return members(out, record.iter(), sorted);
    }
    let mut fields: Vec<_> = record.iter().collect();
    fields.sort_by(|left, right| left.0.cmp(right.0));
    members(out, fields.into_iter(), sorted);
}

fn members<'a>(out: &mut String, fields: impl Iterator<Item = (&'a SmolStr, &'a Value)>, sorted: bool) {
    out.push('{');
    for (index, (name, value)) in fields.enumerate() {
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

/// A JSON string literal. Most text needs no escape, so runs without one are copied whole.
pub(super) fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = special(rest.as_bytes()) {
        // What is looked for is one byte long in UTF-8, so both ends lie between characters.
        let (run, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(run);
        let mut after = after.chars();
        match after.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => put(out, format_args!("\\u{:04x}", u32::from(control))),
            None => {}
        }
        rest = after.as_str();
    }
    out.push_str(rest);
    out.push('"');
}
