//! What a dry run takes for the answer of a write that it does not send: of each type that can be written, a
//! placeholder for every field that the system would fill in, so that what is read off the write has a value.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, civil::Date};
use lf_lang::check::{Catalog, catalog::Described};
use lf_module::{FieldType, File, Record, TypeShape, Value};
use smol_str::{SmolStr, format_smolstr};

/// By the connection's key and the type.
pub(super) fn answers(catalog: &Catalog) -> BTreeMap<(SmolStr, SmolStr), Record> {
    let mut answers = BTreeMap::new();
    for (key, described) in &catalog.connections {
        let Described::Yes(description) = described else { continue };
        for shape in description.types.iter().filter(|shape| shape.writable || shape.updatable) {
            answers.insert((key.as_str().into(), shape.name.clone()), answer(shape));
        }
    }
    answers
}

fn answer(shape: &TypeShape) -> Record {
    let filled = shape.fields.iter().filter(|field| field.readable && !field.optional);
    filled.map(|field| (field.name.clone(), placeholder(&field.name, &field.ty))).collect()
}

fn placeholder(name: &SmolStr, ty: &FieldType) -> Value {
    match ty {
        FieldType::Text => Value::Text(format_smolstr!("‹{name}›")),
        FieldType::Number => Value::from(0),
        FieldType::Boolean => Value::Bool(false),
        FieldType::Date => Value::Date(Date::ZERO),
        FieldType::Datetime => Value::DateTime(Timestamp::UNIX_EPOCH),
        FieldType::Duration => Value::Duration(SignedDuration::ZERO),
        FieldType::Json => Value::record(Record::new()),
        FieldType::File => Value::file(File::seen("", "", &[])),
        FieldType::Choice(choices) => choices.first().map_or(Value::Absent, |choice| Value::Text(choice.clone())),
        FieldType::List(_) => Value::list(Vec::new()),
    }
}
