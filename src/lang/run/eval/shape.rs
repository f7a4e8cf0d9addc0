//! `IS` and `AS`: whether a value is of a type, and json as one.

use lf_module::value::{Record, Value};

use super::{program, time};
use crate::{
    plan::ir::Plan,
    run::{io::Failure, limits},
    types::Ty,
};

/// Whether a value is of the kind that a field was described with. Looks at no member of a list or record: the cost of a
/// field is constant.
pub(super) fn is_kind(value: &Value, ty: &Ty) -> bool {
    match ty {
        Ty::Text => matches!(value, Value::Text(_)),
        Ty::Choice(members) => value.as_text().is_some_and(|text| members.iter().any(|member| member == text)),
        Ty::Number => matches!(value, Value::Number(_)),
        Ty::Boolean => matches!(value, Value::Bool(_)),
        Ty::Date => matches!(value, Value::Date(_)),
        Ty::Datetime => matches!(value, Value::DateTime(_)),
        Ty::Duration => matches!(value, Value::Duration(_)),
        Ty::List(_) | Ty::EmptyList => matches!(value, Value::List(_)),
        Ty::Record(_) | Ty::Change => matches!(value, Value::Record(_) | Value::Position(_)),
        Ty::Position(_) | Ty::Handle(_) => matches!(value, Value::Position(_)),
        Ty::File => matches!(value, Value::File(_)),
        Ty::Json => true,
        Ty::Optional(inner) => value.is_absent() || is_kind(value, inner),
        Ty::Absent => value.is_absent(),
    }
}

/// Whether a value is of a type, as far down as the type goes.
pub(super) fn fits(plan: Option<&Plan>, value: &Value, ty: &Ty, depth: usize) -> Result<bool, Failure> {
    let Some(depth) = depth.checked_sub(1) else { return Err(too_deep()) };
    match ty {
        Ty::List(inner) => {
            let Value::List(items) = value else { return Ok(false) };
            for item in items.iter() {
                if !fits(plan, item, inner, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Ty::EmptyList => Ok(matches!(value, Value::List(items) if items.is_empty())),
        Ty::Record(fields) => {
            if !matches!(value, Value::Record(_) | Value::Position(_)) {
                return Ok(false);
            }
            for (name, ty) in fields {
                if !fits(plan, value.field(name).unwrap_or(&Value::Absent), ty, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Ty::Position(on) | Ty::Handle(on) => {
            let Value::Position(position) = value else { return Ok(false) };
            let connection = plan.and_then(|plan| plan.connection(on.connection));
            Ok(position.ty == on.ty && connection.is_some_and(|found| found.key.as_str() == position.connection))
        }
        Ty::Optional(inner) => Ok(value.is_absent() || fits(plan, value, inner, depth)?),
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::File
        | Ty::Choice(_)
        | Ty::Change
        | Ty::Absent => Ok(is_kind(value, ty)),
    }
}

/// Json as a value of a type, exactly: no text becomes a number. Dates and datetimes are read from ISO 8601 text.
pub(in crate::run) fn convert(value: &Value, ty: &Ty, depth: usize) -> Result<Option<Value>, Failure> {
    let Some(depth) = depth.checked_sub(1) else { return Err(too_deep()) };
    Ok(match ty {
        Ty::Date => scalar(value, ty, time::date),
        Ty::Datetime => scalar(value, ty, time::datetime),
        Ty::List(inner) => {
            let Value::List(items) = value else { return Ok(None) };
            let mut list = Vec::with_capacity(items.len());
            for item in items.iter() {
                let Some(item) = convert(item, inner, depth)? else { return Ok(None) };
                list.push(item);
            }
            Some(Value::list(list))
        }
        Ty::Record(fields) => {
            if !matches!(value, Value::Record(_) | Value::Position(_)) {
                return Ok(None);
            }
            let mut record = Record::new();
            for (name, ty) in fields {
                let found = value.field(name).unwrap_or(&Value::Absent);
                let Some(converted) = convert(found, ty, depth)? else { return Ok(None) };
                record.set(name.clone(), converted);
            }
            Some(Value::record(record))
        }
        Ty::Optional(inner) => {
            if value.is_absent() {
                Some(Value::Absent)
            } else {
                convert(value, inner, depth)?
            }
        }
        Ty::Text | Ty::Number | Ty::Boolean | Ty::Duration | Ty::Json | Ty::Choice(_) | Ty::Absent | Ty::EmptyList => {
            fits(None, value, ty, depth)?.then(|| value.clone())
        }
        Ty::Position(_) | Ty::Handle(_) | Ty::Change | Ty::File => None,
    })
}

/// A value of the type, or what its text reads as.
fn scalar(value: &Value, ty: &Ty, parse: fn(&str) -> Value) -> Option<Value> {
    if is_kind(value, ty) {
        return Some(value.clone());
    }
    value.as_text().map(parse).filter(|parsed| !parsed.is_absent())
}

fn too_deep() -> Failure {
    program(format!("a value can nest at most {} deep", limits::DEPTH))
}
