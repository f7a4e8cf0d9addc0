//! Files in a test: stated in its records, and compared by what is stated. Their bytes stand in their tokens, so that a
//! system of a test gives them like any other.

use lf_lang::stated;
use lf_module::{Field, FieldType, File, Record, Value};

/// The value of a field, with the files that it states.
pub(super) fn stated(connection: &str, field: Option<&Field>, value: Value) -> Result<Value, String> {
    let holds = field.is_some_and(|field| match &field.ty {
        FieldType::File => true,
        FieldType::List(item) => **item == FieldType::File,
        FieldType::Text => field.takes_file,
        FieldType::Number
        | FieldType::Boolean
        | FieldType::Date
        | FieldType::Datetime
        | FieldType::Duration
        | FieldType::Json
        | FieldType::Choice(_) => false,
    });
    if holds { stated::with_files(connection, value) } else { Ok(value) }
}

/// Whether what was written is what a line expects: equal, and of a file all that the line states.
pub(super) fn meets(expected: &Value, actual: &Value) -> bool {
    let says = |expected: &Option<_>, actual: &Option<_>| expected.is_none() || expected == actual;
    match (expected, actual) {
        (Value::File(expected), Value::File(actual)) => {
            expected.size == actual.size
                && expected.digest == actual.digest
                && says(&expected.name, &actual.name)
                && says(&expected.media_type, &actual.media_type)
        }
        (Value::List(expected), Value::List(actual)) => {
            expected.len() == actual.len()
                && expected.iter().zip(actual.iter()).all(|(expected, actual)| meets(expected, actual))
        }
        (expected, actual) => expected == actual,
    }
}

/// A file as a test would state it.
pub(super) fn shown(file: &File) -> Record {
    let mut record = Record::new();
    for (name, text) in [("name", &file.name), ("media_type", &file.media_type)] {
        if let Some(text) = text {
            record.set(name, Value::Text(text.clone()));
        }
    }
    match stated::bytes(file).map(String::from_utf8) {
        Some(Ok(text)) => record.set("text", Value::from(text)),
        Some(Err(_)) | None => record.set("base64", Value::Text(file.token.clone())),
    }
    record
}
