//! Names of fields in a type: its key, its pins, what it is found by, and pointers into it.

use lf_module::{FieldType, schema::Pin};
use smol_str::SmolStr;

use super::table::{self, At, Table};
use crate::{
    model::{Body, List, Request},
    pointer::Pointer,
    problem::Problems,
    schema::{Lead, Property, Schema},
};

/// The field that identifies a record.
pub(super) fn key(schema: &Schema, name: &At<String>, problems: &mut Problems) -> Option<SmolStr> {
    let Some(property) = schema.property(&name.value) else {
        let known = schema.properties.iter().map(|property| property.name.as_str());
        problems.unknown(
            &name.span,
            format!("the key `{}` is no property of the schema", name.value),
            &name.value,
            known,
        );
        return None;
    };
    match property.ty {
        FieldType::Text | FieldType::Number | FieldType::Choice(_) => {}
        FieldType::Boolean
        | FieldType::Date
        | FieldType::Datetime
        | FieldType::Duration
        | FieldType::Json
        | FieldType::File
        | FieldType::List(_) => {
            problems.error(&name.span, format!("the key `{}` has to be text or a number", name.value));
        }
    }
    if !property.required || property.nullable {
        let help = format!("add `{}` to the schema's `required`", name.value);
        problems.error_with(&name.span, format!("the key `{}` may be missing", name.value), help);
    }
    Some(property.name.clone())
}

/// The fields that a list's request places: a movement has to fix them.
pub(super) fn pins(list: &List, fields: &[&str]) -> Vec<Pin> {
    let Request { method: _, path, query, headers, body } = &list.request;
    let placed = path
        .names()
        .chain(query.iter().flat_map(|(_, template)| template.names()))
        .chain(headers.iter().flat_map(|(_, template)| template.names()))
        .map(str::to_owned)
        .chain(body.iter().flat_map(Body::names));
    let mut pins: Vec<Pin> = Vec::new();
    for name in placed {
        if fields.contains(&name.as_str()) && !pins.iter().any(|pin| pin.field == name) {
            pins.push(Pin { field: name.into(), required: true });
        }
    }
    pins
}

/// A field's name or a pointer into the record.
pub(super) fn place(schema: &Schema, at: &At<String>, problems: &mut Problems) -> Option<(Pointer, Option<FieldType>)> {
    let pointer = if at.value.starts_with('/') { Pointer::parse(&at.value)? } else { Pointer::field(&at.value) };
    match schema.lead(&pointer) {
        Lead::Described(ty) => Some((pointer, Some(ty))),
        Lead::Open => Some((pointer, None)),
        Lead::Nowhere { token, known } => {
            let message = format!("`{}` leads nowhere: the schema has no `{token}` there", at.value);
            problems.unknown(&at.span, message, &token, known.iter().map(String::as_str));
            None
        }
    }
}

/// The sets of fields by which records can be looked up, with the parameters of `list`.
pub(super) fn find_by(
    table: &mut Table<'_>,
    schema: &Schema,
    list: Option<&List>,
    pins: &[Pin],
    problems: &mut Problems,
) -> Vec<Vec<(SmolStr, String)>> {
    let Some(node) = table.node("find_by") else { return Vec::new() };
    let Some(sets) = node.get_ref().as_array() else {
        table::wrong(node, "`find_by`", "a list of tables", problems);
        return Vec::new();
    };
    if list.is_none() && !problems.has_errors() {
        problems.error_with(&node.span(), "`find_by` needs `list`, whose request it filters", "declare `list`");
    }
    let mut found = Vec::new();
    for set in sets.iter() {
        let Some(inner) = table::table(set, "a set of `find_by`", problems) else { continue };
        let mut fields = Vec::new();
        for (name, node) in inner.all() {
            if schema.property(name.value).is_none_or(|property| property.write_only) {
                let known = schema.properties.iter().map(|property| property.name.as_str());
                problems.unknown(
                    &name.span,
                    format!("`{}` is no field that can be found by", name.value),
                    name.value,
                    known,
                );
            }
            if schema.property(name.value).is_some_and(Property::holds_file) {
                let message = format!("`{}` is a file, and nothing is found by what a file holds", name.value);
                problems.error_with(&name.span, message, "take it out");
            }
            if let Some(parameter) = table::text(node, "a parameter of `find_by`", problems) {
                fields.push((name.value.into(), parameter.value));
            }
        }
        if fields.is_empty() {
            problems.error(&set.span(), "a set of `find_by` names at least one field");
        }
        if let Some(pin) = pins.iter().find(|pin| !fields.iter().any(|(name, _)| *name == pin.field)) {
            let help = format!("add `{}` to the set", pin.field);
            problems.error_with(
                &set.span(),
                format!("`list` places `{{{}}}`, which this set does not give", pin.field),
                help,
            );
        }
        found.push(fields);
    }
    found
}
