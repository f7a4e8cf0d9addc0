//! Equality, order and membership.

use std::cmp::Ordering;

use lf_module::{
    number::Number,
    value::{Position, Record, Value},
};

use super::{drift, program, scalar};
use crate::run::{io::Failure, limits, state::Scratch};

/// Whether two values are the same: numbers by what they are worth, a missing field as absent, records of a
/// connection by key where they have one.
pub(in crate::run) fn equal(scratch: &mut Scratch, left: &Value, right: &Value) -> Result<bool, Failure> {
    same(scratch, left, right, limits::DEPTH)
}

fn same(scratch: &mut Scratch, left: &Value, right: &Value, depth: usize) -> Result<bool, Failure> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(program(format!("a value can nest at most {} deep", limits::DEPTH)));
    };
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            scratch.spend(left.len())?;
            for (left, right) in left.iter().zip(right.iter()) {
                if !same(scratch, left, right, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Position(left), Value::Position(right)) => match (&left.key, &right.key) {
            (Some(left_key), Some(right_key)) => Ok(left_key == right_key && same_type(left, right)),
            _ => Ok(same_type(left, right) && same_fields(scratch, &left.fields, &right.fields, depth)?),
        },
        (Value::Record(left), Value::Record(right)) => same_fields(scratch, left, right, depth),
        (Value::Record(record), Value::Position(position)) | (Value::Position(position), Value::Record(record)) => {
            same_fields(scratch, record, &position.fields, depth)
        }
        (Value::Number(left), Value::Number(right)) => Ok(same_number(left, right)),
        (Value::Text(left), Value::Text(right)) => {
            scratch.spend(left.len().min(right.len()) / 64)?;
            Ok(left == right)
        }
        (Value::Absent, Value::Absent) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Date(left), Value::Date(right)) => Ok(left == right),
        (Value::DateTime(left), Value::DateTime(right)) => Ok(left == right),
        (Value::Duration(left), Value::Duration(right)) => Ok(left == right),
        (Value::File(left), Value::File(right)) => Ok(left == right || left.is_like(right)),
        _ => Ok(false),
    }
}

fn same_type(left: &Position, right: &Position) -> bool {
    left.connection == right.connection && left.ty == right.ty
}

fn same_fields(scratch: &mut Scratch, left: &Record, right: &Record, depth: usize) -> Result<bool, Failure> {
    for (name, value) in left.iter() {
        let other = right.get(name).unwrap_or(&Value::Absent);
        if !same(scratch, value, other, depth)? {
            return Ok(false);
        }
    }
    scratch.spend(left.len() + right.len())?;
    Ok(right.iter().all(|(name, value)| value.is_absent() || left.get(name).is_some()))
}

fn same_number(left: &Number, right: &Number) -> bool {
    match (left.as_decimal(), right.as_decimal()) {
        (Some(left), Some(right)) => left == right,
        // Two numbers beyond 28 digits are the same if they are written the same.
        (None, None) => left == right,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Which of two present values of one kind comes first.
pub(in crate::run) fn order(left: &Value, right: &Value) -> Result<Ordering, Failure> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            Ok(super::number::decimal(left, "<")?.cmp(&super::number::decimal(right, "<")?))
        }
        (Value::Text(left), Value::Text(right)) => Ok(left.as_str().cmp(right.as_str())),
        (Value::Date(left), Value::Date(right)) => Ok(left.cmp(right)),
        (Value::DateTime(left), Value::DateTime(right)) => Ok(left.cmp(right)),
        (Value::Duration(left), Value::Duration(right)) => Ok(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        _ => {
            let (left, right) = (scalar::kind(left), scalar::kind(right));
            Err(drift(format!("{left} and {right} have no order between them")))
        }
    }
}

/// Whether a list has the value as a member.
pub(in crate::run) fn member(scratch: &mut Scratch, value: &Value, list: &Value) -> Result<bool, Failure> {
    let items = super::lists::items(list, "IN")?;
    scratch.spend(items.len() / 16)?;
    for item in items {
        if equal(scratch, value, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}
