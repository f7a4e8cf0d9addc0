//! How a description is laid out for a person.

use lf_module::{
    Description, Field, FieldType, Repeat, TypeShape,
    schema::{Count, How},
};

use crate::cli::output::{Output, Style};

/// A connection: its facts, what was not understood, and a line for each type.
pub(super) fn connection(output: &Output, key: &str, description: &Description) {
    output.parts(&[(Some(Style::Bold), key)]);
    for (name, fact) in &description.facts {
        output.line(&format!("  {name}: {fact}"));
    }
    for warning in &description.warnings {
        output.parts(&[(Some(Style::Yellow), "  warning: "), (None, warning)]);
    }
    output.line("");
    let rows = description.types.iter().map(|shape| {
        let needed = shape.fields.iter().filter(|field| field.required).map(|field| field.name.as_str());
        let pins = shape.pins.iter().filter(|pin| pin.required).map(|pin| pin.field.as_str());
        let needed: Vec<_> = if shape.writable { needed.collect() } else { pins.collect() };
        vec![shape.name.to_string(), promises(shape), needed.join(", "), first_line(shape.doc.as_deref())]
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        output.line("it has no types");
    } else {
        output.table(&["type", "can be", "needs", "what it is"], rows);
    }
}

/// One type with every field.
pub(super) fn whole_type(output: &Output, shape: &TypeShape) {
    output.parts(&[(Some(Style::Bold), &shape.name), (None, "  "), (Some(Style::Dim), &promises(shape))]);
    if let Some(doc) = &shape.doc {
        output.line(doc);
    }
    output.line("");
    let rows: Vec<_> = shape.fields.iter().map(|field| row(shape, field)).collect();
    if !rows.is_empty() {
        output.table(&["field", "type", "is", "what it is"], rows);
    }
    for edge in &shape.edges {
        let count = match edge.count {
            Count::One => "one",
            Count::Optional => "none or one",
            Count::Many => "many",
        };
        output.line(&format!("-[:{}]-> {count} `{}`", edge.name, edge.target));
    }
    // Only a write that may create takes `unique by`.
    if !shape.find_by.is_empty() && shape.writable && shape.updatable {
        let sets: Vec<_> = shape.find_by.iter().map(|set| format!("({})", set.join(", "))).collect();
        output.line(&format!("unique by {}", sets.join(" or ")));
    }
    if shape.writable {
        output.line(match shape.create_repeat {
            Repeat::Harmless => "a write of unknown outcome is sent again: the second does nothing new",
            Repeat::ByKey => "a write of unknown outcome is sent again under its idempotency key",
            Repeat::Never => "a write of unknown outcome is never sent again by itself",
        });
    }
}

fn promises(shape: &TypeShape) -> String {
    let mut words = Vec::new();
    for (promised, word) in [
        (shape.readable, "read"),
        (shape.writable, "written"),
        (shape.updatable, "updated"),
        (shape.deletable, "deleted"),
    ] {
        if promised {
            words.push(word.to_owned());
        }
    }
    if let Some(listening) = &shape.listenable {
        let how = match listening.how {
            How::Push => "pushed",
            How::Poll => "polled",
            How::Webhook => "by webhook",
            How::Clock => "by time",
        };
        words.push(format!("listened to ({how})"));
    }
    match (&shape.unusable, words.as_slice()) {
        (Some(why), _) => format!("nothing: {why}"),
        (None, []) => "nothing".to_owned(),
        (None, words) => words.join(", "),
    }
}

fn row(shape: &TypeShape, field: &Field) -> Vec<String> {
    let mut is = Vec::new();
    if shape.key.as_ref() == Some(&field.name) {
        is.push("key");
    }
    match (shape.pin(&field.name), field.required && field.writable) {
        (Some(pin), _) if pin.required => is.push("pinned, required"),
        (Some(_), _) => is.push("may be pinned"),
        (None, true) => is.push("written, required"),
        (None, false) if field.writable => is.push("written"),
        (None, false) => {}
    }
    if field.readable {
        is.push(if field.optional { "read, may be absent" } else { "read" });
    }
    vec![field.name.to_string(), ty(&field.ty), is.join("; "), first_line(field.doc.as_deref())]
}

fn ty(field: &FieldType) -> String {
    match field {
        FieldType::Text => "text".to_owned(),
        FieldType::Number => "number".to_owned(),
        FieldType::Boolean => "boolean".to_owned(),
        FieldType::Date => "date".to_owned(),
        FieldType::Datetime => "datetime".to_owned(),
        FieldType::Duration => "duration".to_owned(),
        FieldType::Json => "json".to_owned(),
        FieldType::File => "file".to_owned(),
        FieldType::Choice(values) => values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(" | "),
        FieldType::List(of) if matches!(**of, FieldType::Choice(_)) => format!("({})[]", ty(of)),
        FieldType::List(of) => format!("{}[]", ty(of)),
    }
}

/// What a system says about itself can be long: its first line, cut.
fn first_line(doc: Option<&str>) -> String {
    let line = doc.unwrap_or_default().trim().lines().next().unwrap_or_default();
    if line.chars().count() <= 80 { line.to_owned() } else { line.chars().take(79).chain(['…']).collect() }
}
