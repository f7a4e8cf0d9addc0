//! Bytes in MCP: what a resource itself holds, as a file that is read again when it is written somewhere; and a file
//! given for an argument that is base64.

use lf_module::{
    CallError, File, Kind, Record, Value,
    file::{LONGEST_TOKEN, from_base64, to_base64},
};

use crate::text::clean;

/// The part of a resource that is the resource itself: the one at its own URI, else the only one.
fn own<'c>(uri: &str, contents: &'c Value) -> Option<&'c Value> {
    let Value::List(parts) = contents else { return None };
    let at = |part: &&Value| part.field("uri").and_then(Value::as_text) == Some(uri);
    match parts.as_slice() {
        [only] => Some(only),
        parts => parts.iter().find(at),
    }
}

/// What a part holds; `None` if that is neither text nor base64.
fn held(part: &Value) -> Option<Vec<u8>> {
    match (part.field("blob"), part.field("text")) {
        (Some(Value::Text(blob)), _) => from_base64(blob),
        (_, Some(Value::Text(text))) => Some(text.as_bytes().to_vec()),
        (_, _) => None,
    }
}

/// What is at `uri` as a file of `connection`, if it is one.
pub(crate) fn of(connection: &str, uri: &str, contents: &Value) -> Option<File> {
    let part = own(uri, contents)?;
    let Some(bytes) = held(part) else {
        tracing::warn!("{}: what `{}` holds is neither text nor base64", crate::NAME, clean(uri, 128));
        return None;
    };
    if uri.len() > LONGEST_TOKEN {
        return None;
    }
    let text = |key: &str| part.field(key).and_then(Value::as_text).filter(|text| !text.is_empty());
    let (name, media_type) = (text("name").or_else(|| last_step(uri)), text("mimeType"));
    let (name, media_type) = (name.map(Into::into), media_type.map(Into::into));
    Some(File { name, media_type, ..File::seen(connection, uri, &bytes) })
}

/// The last step of a URI's path, as far as it is written without escapes.
fn last_step(uri: &str) -> Option<&str> {
    let path = uri.split(['?', '#']).next()?;
    let (_, path) = path.split_once(':')?;
    let last = path.rsplit('/').next()?;
    (!last.is_empty() && !last.contains('%')).then_some(last)
}

/// The bytes of what is at `uri`, at most `most`; `None` if nothing is.
pub(crate) fn bytes(uri: &str, contents: &Value, most: usize) -> Result<Option<Vec<u8>>, CallError> {
    let Some(part) = own(uri, contents) else { return Ok(None) };
    let broken = || CallError::refused("the server broke the protocol: what it gave is neither text nor base64");
    let bytes = held(part).ok_or_else(broken)?;
    if bytes.len() > most {
        let why = format!("it has {} bytes by now, and {most} are allowed", bytes.len());
        return Err(CallError::new(Kind::Limit, why));
    }
    Ok(Some(bytes))
}

/// The parts without the bytes of any: those are the file's, and are read when they are written.
pub(crate) fn without_bytes(contents: &Value) -> Value {
    let Value::List(parts) = contents else { return contents.clone() };
    let part = |part: &Value| match part {
        Value::Record(fields) => Value::record(
            fields.iter().filter(|(name, _)| *name != "blob").map(|(n, v)| (n.clone(), v.clone())).collect(),
        ),
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::Position(_)
        | Value::File(_) => part.clone(),
    };
    Value::list(parts.iter().map(part).collect())
}

/// The arguments with each file as its bytes in base64, as its argument wants them.
pub(crate) fn in_base64(arguments: Record) -> Result<Record, CallError> {
    let argument = |(name, value): (_, Value)| {
        let Value::File(file) = &value else { return Ok((name, value)) };
        match &file.bytes {
            Some(bytes) => Ok((name, Value::from(to_base64(bytes)))),
            None => Err(CallError::new(Kind::Limit, format!("{} came without its bytes", file.called()))),
        }
    };
    arguments.0.into_iter().map(argument).collect()
}
