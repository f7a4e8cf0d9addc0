//! What came of a step, as the lines of a case.

use lf_harness::World;
use lf_module::{
    Acted, Batch, CallError, Description, Event, FieldType, Kind, Page, Record, TypeShape, Value, Written,
    call::ChangeKind, json,
};

use super::log::seconds;

fn plain(record: &Record) -> String {
    json::plain(&Value::record(record.clone()))
}

pub(crate) fn error(error: &CallError) -> Vec<String> {
    let kind = match error.kind {
        Kind::Refused => "refused",
        Kind::Passing => "may pass",
        Kind::Credential => "the credential was refused",
        Kind::Drift => "not as described",
        Kind::Limit => "not sent",
    };
    let acted = match error.acted {
        Acted::No => "nothing was done",
        Acted::Maybe => "outcome unknown",
    };
    let field = error.field.as_ref().map(|field| format!(" (argument `{field}`)")).unwrap_or_default();
    let asked = error.retry_after.map(|length| format!(" (asked for {})", seconds(length))).unwrap_or_default();
    vec![format!("= fails: {kind}, {acted}{field}{asked}: {}", error.message)]
}

pub(crate) fn result<T>(result: Result<T, CallError>, lines: impl FnOnce(T) -> Vec<String>) -> Vec<String> {
    match result {
        Ok(value) => lines(value),
        Err(failed) => error(&failed),
    }
}

pub(crate) fn page(page: &Page) -> Vec<String> {
    if page.records.is_empty() {
        return vec!["= no record".to_owned()];
    }
    page.records.iter().map(|landed| format!("= record: {}", plain(&landed.fields))).collect()
}

pub(crate) fn written(written: &Written) -> Vec<String> {
    vec![format!("= done: {}", plain(&written.fields))]
}

pub(crate) fn batch(batch: &Batch) -> Vec<String> {
    let one = |event: &Event| match event {
        Event::Listed(landed) => format!("= heard: is there: {}", plain(&landed.fields)),
        Event::ListingEnded { complete: false } => "= heard: that is what is there".to_owned(),
        Event::ListingEnded { complete: true } => "= heard: that is all there is".to_owned(),
        Event::Changed(changed) => {
            let kind = match changed.kind {
                ChangeKind::Created => "created",
                ChangeKind::Updated => "updated",
                ChangeKind::Deleted => "deleted",
            };
            format!("= heard: {kind}: {}", plain(&changed.record))
        }
    };
    batch.events.iter().map(one).collect()
}

/// A type is a line, its fields are others: `in` is an argument, `out` is of the answer. `text` and `content`, which
/// every answer of a tool has, are named only where they are left out.
pub(crate) fn description(description: &Description) -> Vec<String> {
    let mut lines: Vec<_> = description.types.iter().flat_map(shape).collect();
    lines.extend(description.warnings.iter().map(|warning| format!("= warning: {warning}")));
    lines
}

fn shape(shape: &TypeShape) -> Vec<String> {
    let use_of = match (shape.readable, shape.writable, &shape.unusable) {
        (_, _, Some(why)) => format!("cannot be used: {why}"),
        (true, false, None) if shape.listenable.is_some() => "is read and listened to".to_owned(),
        (true, false, None) => "is read".to_owned(),
        (false, true, None) => "is written".to_owned(),
        (readable, writable, None) => format!("readable {readable}, writable {writable}"),
    };
    let mut lines = vec![format!("= {} {use_of}", shape.name)];
    let argument = |name: &str| shape.pin(name).is_some() || shape.field(name).is_some_and(|field| field.writable);
    for field in &shape.fields {
        let (name, ty) = (&field.name, written_type(&field.ty));
        if argument(name) {
            let required = field.required || shape.pin(name).is_some_and(|pin| pin.required);
            let file = if field.takes_file { " or file" } else { "" };
            lines.push(format!("=   in {name}: {ty}{file}{}", if required { ", required" } else { "" }));
        } else if name != "text" && name != "content" {
            lines.push(format!("=   out {name}: {ty}{}", if field.doubtful { ", may be missing" } else { "" }));
        }
    }
    for left_out in ["text", "content"].into_iter().filter(|name| argument(name)) {
        lines.push(format!("=   without the answer's {left_out}"));
    }
    lines
}

fn written_type(ty: &FieldType) -> String {
    match ty {
        FieldType::Text => "text".to_owned(),
        FieldType::Number => "number".to_owned(),
        FieldType::Boolean => "boolean".to_owned(),
        FieldType::Date => "date".to_owned(),
        FieldType::Json => "json".to_owned(),
        FieldType::File => "file".to_owned(),
        FieldType::Choice(values) => format!("choice {}", values.join("|")),
        FieldType::List(inner) => format!("list of {}", written_type(inner)),
        FieldType::Datetime | FieldType::Duration => "a type that the page does not have".to_owned(),
    }
}

/// What was told to every instance meanwhile.
pub(crate) fn holds(world: &World, before: usize) -> Vec<String> {
    let told = world.reports();
    told.iter().skip(before).map(|(length, _)| format!("= held for {} everywhere", seconds(*length))).collect()
}
