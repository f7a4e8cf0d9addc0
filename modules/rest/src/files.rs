//! Fields whose JSON is base64: files when they are read, base64 again when they are written. A file is found again by
//! its record's key and the place in it, so its bytes are those that the record has then.

use lf_module::{
    Call, CallError, File, Key, Kind, Record, Value,
    file::{LONGEST_TOKEN, from_base64, to_base64},
    json,
};
use smol_str::SmolStr;

use crate::{
    connection::{Rest, key_value, undeclared},
    pointer::Pointer,
    record::Unfit,
    schema::Property,
};

/// The record that holds a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) connection: &'a str,
    pub(crate) ty: &'a str,
    pub(crate) key: &'a Key,
}

impl Owner<'_> {
    /// The file, or the files, that stand as base64 in `property` of it; `at` is where that is in the answer.
    pub(crate) fn read(self, property: &Property, value: &Value, at: &Pointer) -> Result<Value, Unfit> {
        self.at(property, value, at, &Pointer::field(&property.name))
    }

    fn at(self, property: &Property, value: &Value, at: &Pointer, inside: &Pointer) -> Result<Value, Unfit> {
        let unfit = |why: &str| Unfit { at: at.to_string(), why: why.to_owned() };
        match value {
            Value::Absent => Ok(Value::Absent),
            Value::Text(text) => {
                let bytes = from_base64(text).ok_or_else(|| unfit("expected base64"))?;
                let token = self.token(inside).ok_or_else(|| unfit("its key is too long for a file"))?;
                let media_type = property.media_type.clone();
                Ok(Value::file(File { media_type, ..File::seen(self.connection, token, &bytes) }))
            }
            Value::List(items) if matches!(property.ty, lf_module::FieldType::List(_)) => {
                let item = |(index, value): (usize, &Value)| {
                    let index = index.to_string();
                    self.at(property, value, &at.join(&index), &inside.join(&index))
                };
                items.iter().enumerate().map(item).collect::<Result<Vec<_>, _>>().map(Value::list)
            }
            Value::Bool(_)
            | Value::Number(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::List(_)
            | Value::Record(_)
            | Value::Position(_)
            | Value::File(_) => Err(unfit("expected base64")),
        }
    }

    fn token(self, inside: &Pointer) -> Option<SmolStr> {
        let parts = [self.ty, self.key.0.as_str(), &inside.to_string()].map(Value::from);
        let token = json::plain(&Value::list(parts.to_vec()));
        (token.len() <= LONGEST_TOKEN).then(|| token.into())
    }
}

/// The fields as they stand in a body: each file as its bytes in base64.
pub(crate) fn sendable(fields: &Record) -> Result<Record, CallError> {
    fields.iter().map(|(name, value)| Ok((name.clone(), in_base64(name, value)?))).collect()
}

fn in_base64(name: &str, value: &Value) -> Result<Value, CallError> {
    match value {
        Value::File(file) => {
            let without = || {
                let why = format!("{} came without its bytes", file.called());
                CallError { field: Some(name.to_owned()), ..CallError::new(Kind::Limit, why) }
            };
            file.bytes.as_ref().map(|bytes| Value::from(to_base64(bytes))).ok_or_else(without)
        }
        Value::List(items) if !value.files().is_empty() => {
            items.iter().map(|item| in_base64(name, item)).collect::<Result<Vec<_>, _>>().map(Value::list)
        }
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::Record(_)
        | Value::Position(_) => Ok(value.clone()),
    }
}

impl Rest {
    /// Reads the record again and gives what stands where the file was.
    pub(crate) async fn contents(&self, file: &File, most: usize, call: &Call) -> Result<Option<Vec<u8>>, CallError> {
        let strange = || CallError::new(Kind::Limit, format!("{} is none of this module's", file.called()));
        let Ok(Value::List(parts)) = json::read(file.token.as_bytes()) else { return Err(strange()) };
        let [Value::Text(ty), Value::Text(key), Value::Text(inside)] = parts.as_slice() else { return Err(strange()) };
        let inside = Pointer::parse(inside).ok_or_else(strange)?;
        let ty = self.system.ty(ty)?;
        let get = ty.get.as_ref().ok_or_else(|| undeclared(ty, "got one by one", "get"))?;
        let key = key_value(ty, &Key(key.clone()));
        let Some((_, record)) = self.fetch(ty, get, &key, call.deadline).await? else { return Ok(None) };
        let Some(Value::Text(text)) = inside.of(&record) else { return Ok(None) };
        // The record was read, so that is base64.
        let bytes = from_base64(text).unwrap_or_default();
        if bytes.len() > most {
            let why = format!("it has {} bytes by now, and {most} are allowed", bytes.len());
            return Err(CallError::new(Kind::Limit, why));
        }
        Ok(Some(bytes))
    }
}
