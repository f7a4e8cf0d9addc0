//! Files as a test states them: a record of what a file is known by and what it holds. No system is there to have one,
//! so the bytes stand where else a module's token stands. Pure.

use lf_module::{
    Record, Value,
    file::{File, LONGEST_TOKEN, from_base64, to_base64},
};
use smol_str::SmolStr;

/// What may be stated; one of the last two must.
pub const FIELDS: [&str; 4] = ["name", "media_type", "text", "base64"];
/// The most bytes that a stated file holds.
pub const MOST: usize = LONGEST_TOKEN / 2;

/// The file that a record states.
///
/// # Errors
/// One sentence: what is wrong with it.
pub fn file(connection: &str, stated: &Record) -> Result<File, String> {
    let text = |name: &str| stated.get(name).and_then(Value::as_text);
    let bytes = match (text("text"), text("base64")) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(text)) => from_base64(text).ok_or("the `base64` of a file is none")?,
        (None, None) | (Some(_), Some(_)) => return Err("a file holds either a `text` or a `base64`".to_owned()),
    };
    if bytes.len() > MOST {
        return Err(format!("a file of a test holds at most {MOST} bytes; this holds {}", bytes.len()));
    }
    let named = |name: &str| text(name).map(SmolStr::from);
    let (name, media_type) = (named("name"), named("media_type"));
    Ok(File { name, media_type, ..File::seen(connection, to_base64(&bytes), &bytes) })
}

/// A value in which each record that states a file, as the type wants one, is that file.
///
/// # Errors
/// As [`file`].
pub fn with_files(connection: &str, value: Value) -> Result<Value, String> {
    match value {
        Value::Record(record) => file(connection, &record).map(Value::file),
        Value::List(items) => {
            let items = items.iter().map(|item| with_files(connection, item.clone()));
            items.collect::<Result<_, _>>().map(Value::list)
        }
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Position(_)
        | Value::File(_) => Ok(value),
    }
}

/// What a stated file holds.
#[must_use]
pub fn bytes(file: &File) -> Option<Vec<u8>> {
    from_base64(&file.token)
}
