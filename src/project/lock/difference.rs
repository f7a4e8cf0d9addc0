//! What changed between two descriptions of a connection, line by line, for a person.

use lf_module::{Field, TypeShape};
use serde_json::Value;

use super::Locked;

/// One line for each difference; empty if there is none.
#[must_use]
pub fn differences(before: &Locked, now: &Locked) -> Vec<String> {
    let mut lines = Vec::new();
    for shape in &before.types {
        match now.types.iter().find(|other| other.name == shape.name) {
            Some(other) => of_type(shape, other, &mut lines),
            None => lines.push(format!("- type `{}`", shape.name)),
        }
    }
    for shape in &now.types {
        if !before.types.iter().any(|other| other.name == shape.name) {
            lines.push(format!("+ type `{}`", shape.name));
        }
    }
    for warning in &now.warnings {
        if !before.warnings.contains(warning) {
            lines.push(format!("+ warning: {warning}"));
        }
    }
    for warning in &before.warnings {
        if !now.warnings.contains(warning) {
            lines.push(format!("- warning: {warning}"));
        }
    }
    lines
}

fn of_type(before: &TypeShape, now: &TypeShape, lines: &mut Vec<String>) {
    let name = &before.name;
    for field in &before.fields {
        match now.field(&field.name) {
            Some(other) => of_parts(&format!("`{name}.{}`", field.name), &value(field), &value(other), lines),
            None => lines.push(format!("- `{name}.{}`", field.name)),
        }
    }
    for field in &now.fields {
        if before.field(&field.name).is_none() {
            lines.push(format!("+ `{name}.{}`: {}", field.name, ty(field)));
        }
    }
    let whole = |shape: &TypeShape| {
        let mut whole = serde_json::to_value(shape).unwrap_or_default();
        if let Some(object) = whole.as_object_mut() {
            object.shift_remove("fields");
        }
        whole
    };
    of_parts(&format!("`{name}`"), &whole(before), &whole(now), lines);
    let names = |shape: &TypeShape| shape.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    let (mut one, mut other) = (names(before), names(now));
    if one != other {
        one.sort();
        other.sort();
        if one == other {
            lines.push(format!("~ `{name}`: its fields come in another order"));
        }
    }
}

/// Each part of `what` that differs: was, is.
fn of_parts(what: &str, before: &Value, now: &Value, lines: &mut Vec<String>) {
    let (Some(before), Some(now)) = (before.as_object(), now.as_object()) else { return };
    let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
    for name in names {
        let (was, is) = (before.get(name), now.get(name));
        if was != is {
            lines.push(format!("~ {what}: {name} was {}, is {}", short(was), short(is)));
        }
    }
}

fn value(field: &Field) -> Value {
    serde_json::to_value(field).unwrap_or_default()
}

fn ty(field: &Field) -> String {
    short(value(field).get("type"))
}

fn short(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    if text.chars().count() <= 80 { text } else { text.chars().take(79).chain(['…']).collect() }
}
