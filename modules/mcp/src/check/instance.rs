//! A [`Value`] as the JSON Schema library reads it, without a copy of it.
//!
//! What JSON has no word for (a date, a length of time, a record that can be walked from) reads as it is sent.

use std::borrow::Cow;

use indexmap::map;
use jsonschema::{
    JsonType,
    json::{Array, Json, Node, NodeIdentity, Object},
};
use lf_module::{Number, Record, Value, json};
use smol_str::SmolStr;

/// The representation of [`Value`].
pub(super) struct Values;

/// Up to here the fields of a record are gone through; beyond they are looked up.
const FEW: usize = 16;

impl Json for Values {
    type Node<'a> = &'a Value;
    type PreparedKey = String;
    type StringBuffer = Value;

    // Values are counted references to what is there before them.
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(&Value) -> T) -> T {
        *buffer = Value::text(string);
        f(buffer)
    }
}

impl<'a> Node<'a, Values> for &'a Value {
    type Object = &'a Record;
    type Array = &'a [Value];
    type Number = serde_json::Number;

    fn as_object(&self) -> Option<&'a Record> {
        match self {
            Value::Record(record) => Some(record),
            Value::Position(position) => Some(&position.fields),
            Value::Absent
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::List(_)
            | Value::File(_) => None,
        }
    }

    fn as_array(&self) -> Option<&'a [Value]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Date(date) => Some(Cow::Owned(date.to_string())),
            Value::DateTime(instant) => Some(Cow::Owned(instant.to_string())),
            Value::Duration(length) => Some(Cow::Owned(length.to_string())),
            // None comes here: an argument holds the bytes of a file as text.
            Value::File(file) => Some(Cow::Owned(file.called())),
            Value::Absent
            | Value::Bool(_)
            | Value::Number(_)
            | Value::List(_)
            | Value::Record(_)
            | Value::Position(_) => None,
        }
    }

    fn as_number(&self) -> Option<serde_json::Number> {
        if let Value::Number(number) = self { of_number(number) } else { None }
    }

    fn as_boolean(&self) -> Option<bool> {
        if let Value::Bool(flag) = self { Some(*flag) } else { None }
    }

    fn is_null(&self) -> bool {
        self.is_absent()
    }

    fn is_number(&self) -> bool {
        matches!(self, Value::Number(_))
    }

    fn json_type(&self) -> JsonType {
        match self {
            Value::Absent => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::Text(_) | Value::Date(_) | Value::DateTime(_) | Value::Duration(_) | Value::File(_) => {
                JsonType::String
            }
            Value::List(_) => JsonType::Array,
            Value::Record(_) | Value::Position(_) => JsonType::Object,
        }
    }

    fn to_value(&self) -> Cow<'a, serde_json::Value> {
        Cow::Owned(general(self).unwrap_or_default())
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self) as usize))
    }
}

/// The fields of a record in order.
#[derive(Debug)]
pub(super) struct Members<'a>(map::Iter<'a, SmolStr, Value>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str(), value))
    }
}

impl<'a> Object<'a, Values> for &'a Record {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Record::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Value> {
        if Record::len(self) <= FEW {
            return self.0.iter().find(|(name, _)| *name == key.as_str()).map(|(_, value)| value);
        }
        Record::get(self, key)
    }

    fn members(&self) -> Members<'a> {
        Members(self.0.iter())
    }
}

impl<'a> Array<'a, Values> for &'a [Value] {
    type Node = &'a Value;
    type ElementsIter = std::slice::Iter<'a, Value>;

    fn len(&self) -> usize {
        <[Value]>::len(self)
    }

    fn elements(&self) -> std::slice::Iter<'a, Value> {
        self.iter()
    }
}

/// Whether every number is within the library's range. One beyond it cannot be checked; its digits are sent as they are.
pub(super) fn in_range(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_decimal().is_some() || of_number(number).is_some(),
        Value::List(items) => items.iter().all(in_range),
        Value::Record(record) => record.iter().all(|(_, value)| in_range(value)),
        Value::Position(position) => position.fields.iter().all(|(_, value)| in_range(value)),
        Value::Absent
        | Value::Bool(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::File(_) => true,
    }
}

fn of_number(number: &Number) -> Option<serde_json::Number> {
    // `1.0` stays a number with a fraction: an older dialect takes it for no integer.
    match number.as_decimal().filter(|decimal| decimal.scale() == 0).and_then(|_| number.as_i64()) {
        Some(whole) => Some(whole.into()),
        None => serde_json::from_str(&number.to_string()).ok(),
    }
}

/// The value as the library's own type, which schemas and the texts of errors are made of.
pub(super) fn general(value: &Value) -> Option<serde_json::Value> {
    serde_json::from_str(&json::plain(value)).ok()
}
