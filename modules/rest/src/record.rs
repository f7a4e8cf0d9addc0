//! A JSON value of an answer to a record of a described type, and back to JSON.
//!
//! Validation comes first; what does not fit is drift, named by its pointer. Messages never show the
//! value itself: it is other people's data.

use lf_module::{CallError, FieldType, Key, Kind, Landed, Record, Value};
use serde_json::Value as Json;

use crate::{files::Owner, model::Type, pointer::Pointer, schema::Property, template::scalar};

/// Why a value is not a record of the type: where, and how.
#[derive(Debug)]
pub(crate) struct Unfit {
    pub(crate) at: String,
    pub(crate) why: String,
}

impl Unfit {
    /// As the failure of a call.
    pub(crate) fn drift(&self, what: &str, ty: &Type) -> CallError {
        let Self { at, why } = self;
        let at = if at.is_empty() { "the answer".to_owned() } else { format!("`{at}`") };
        CallError::new(Kind::Drift, format!("{what}: {at} is not a `{}` as described: {why}", ty.name))
    }
}

/// Reads a whole record of `connection` that stands at `at` of an answer.
pub(crate) fn land(connection: &str, ty: &Type, value: &Value, at: &Pointer) -> Result<Landed, Unfit> {
    if let Some((below, why)) = ty.schema.broken(&to_json(value)) {
        return Err(Unfit { at: format!("{at}{below}"), why });
    }
    let key = match &ty.key {
        None => None,
        Some(name) => Some(value.field(name).and_then(key_of).ok_or_else(|| Unfit {
            at: at.join(name).to_string(),
            why: "the key is missing, or neither text nor a number".to_owned(),
        })?),
    };
    let owner = key.as_ref().map(|key| Owner { connection, ty: &ty.name, key });
    let fields = fields(ty, owner, value, at)?;
    let version = ty.version.as_ref().and_then(|pointer| scalar(pointer.of(value)?)).map(Into::into);
    Ok(Landed { key, version, fields })
}

/// What an answer to a write tells of the record: every described field that is there and fits, and what does not.
pub(crate) fn glean(connection: &str, ty: &Type, value: &Value, at: &Pointer) -> (Record, Option<Unfit>) {
    let mut unfit = ty.schema.broken(&to_json(value)).map(|(below, why)| Unfit { at: format!("{at}{below}"), why });
    let key = ty.key.as_ref().and_then(|name| value.field(name)).and_then(key_of);
    let owner = key.as_ref().map(|key| Owner { connection, ty: &ty.name, key });
    let mut record = Record::new();
    for property in ty.schema.properties.iter().filter(|property| !property.write_only) {
        match value.field(&property.name).map(|found| field(owner, property, found, at)) {
            Some(Ok(found)) if !found.is_absent() => record.set(property.name.clone(), found),
            Some(Err(error)) => unfit = unfit.or(Some(error)),
            Some(Ok(_)) | None => {}
        }
    }
    (record, unfit)
}

/// The canonical text of a key.
pub(crate) fn key_of(value: &Value) -> Option<Key> {
    match value {
        Value::Text(text) if !text.is_empty() => Some(Key(text.clone())),
        Value::Number(number) => Some(Key(number.to_string().into())),
        Value::Text(_)
        | Value::Absent
        | Value::Bool(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::Record(_)
        | Value::Position(_)
        | Value::File(_) => None,
    }
}

fn fields(ty: &Type, owner: Option<Owner<'_>>, value: &Value, at: &Pointer) -> Result<Record, Unfit> {
    let mut record = Record::new();
    for property in ty.schema.properties.iter().filter(|property| !property.write_only) {
        let Some(found) = value.field(&property.name).filter(|found| !found.is_absent()) else { continue };
        record.set(property.name.clone(), field(owner, property, found, at)?);
    }
    Ok(record)
}

/// One field of the record that stands at `at`. Without a key nothing could follow a file, so it has none.
fn field(owner: Option<Owner<'_>>, property: &Property, found: &Value, at: &Pointer) -> Result<Value, Unfit> {
    let at = at.join(&property.name);
    match owner {
        _ if !property.holds_file() => convert(found, &property.ty, &at),
        Some(owner) => owner.read(property, found, &at),
        None => Ok(Value::Absent),
    }
}

/// JSON has no dates; the other types are as they were read.
pub(crate) fn convert(value: &Value, ty: &FieldType, at: &Pointer) -> Result<Value, Unfit> {
    let unfit = |expected: &str| Unfit { at: at.to_string(), why: format!("expected {expected}") };
    match (ty, value) {
        (_, Value::Absent) => Ok(Value::Absent),
        (FieldType::Date, Value::Text(text)) => {
            text.parse().map(Value::Date).map_err(|_| unfit("a date like `2026-01-31`"))
        }
        (FieldType::Datetime, Value::Text(text)) => {
            text.parse().map(Value::DateTime).map_err(|_| unfit("an instant like `2026-01-31T09:00:00Z`"))
        }
        (FieldType::List(item), Value::List(items)) => {
            let item = |(index, value): (usize, &Value)| convert(value, item, &at.join(&index.to_string()));
            items.iter().enumerate().map(item).collect::<Result<Vec<_>, _>>().map(Value::list)
        }
        (FieldType::Text | FieldType::Choice(_), Value::Text(_))
        | (FieldType::Number, Value::Number(_))
        | (FieldType::Boolean, Value::Bool(_))
        | (FieldType::Json, _) => Ok(value.clone()),
        (FieldType::Text, _) => Err(unfit("text")),
        (FieldType::Choice(_), _) => Err(unfit("one of the described texts")),
        (FieldType::Number, _) => Err(unfit("a number")),
        (FieldType::Boolean, _) => Err(unfit("`true` or `false`")),
        (FieldType::Date, _) => Err(unfit("a date")),
        (FieldType::Datetime, _) => Err(unfit("an instant")),
        (FieldType::List(_), _) => Err(unfit("a list")),
        (FieldType::Duration, _) => Err(unfit("a length of time")),
        (FieldType::File, _) => Err(unfit("base64")),
    }
}

/// For the validator alone: its numbers are rounded, ours are not.
fn to_json(value: &Value) -> Json {
    match value {
        Value::Absent => Json::Null,
        Value::Bool(flag) => Json::from(*flag),
        Value::Number(number) => number.as_i64().map(Json::from).unwrap_or_else(|| {
            let wide = number.to_string().parse::<f64>().unwrap_or_default().clamp(f64::MIN, f64::MAX);
            let whole = number.to_string().parse::<u64>().map(Json::from).ok();
            whole.unwrap_or_else(|| Json::from(wide))
        }),
        Value::Text(text) => Json::from(text.as_str()),
        Value::Date(_) | Value::DateTime(_) | Value::Duration(_) => scalar(value).map_or(Json::Null, Json::from),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Record(record) => object(record),
        Value::Position(position) => object(&position.fields),
        // What comes from JSON holds none.
        Value::File(_) => Json::Null,
    }
}

fn object(record: &Record) -> Json {
    Json::Object(record.iter().map(|(name, value)| (name.to_string(), to_json(value))).collect())
}
