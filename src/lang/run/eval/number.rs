//! Arithmetic: exact decimals of 28 digits, checked. Overflow, division by zero and numbers too wide to calculate with
//! fail and name the operation; nothing becomes NaN or infinity.

use jiff::SignedDuration;
use lf_module::{number::Number, value::Value};
use rust_decimal::{Decimal, RoundingStrategy};

use super::{drift, program, scalar, time};
use crate::{check::typed::Op, plan::operator, run::io::Failure};

/// The number as one that can be calculated with.
pub(in crate::run) fn decimal(number: &Number, doing: &str) -> Result<Decimal, Failure> {
    number.as_decimal().ok_or_else(|| {
        let mut digits = number.to_string();
        if digits.len() > 40 {
            digits.truncate(40);
            digits.push('…');
        }
        program(format!("`{doing}` cannot calculate with {digits}: it has more than 28 digits"))
    })
}

pub(in crate::run) fn value(decimal: Decimal) -> Value {
    Value::Number(scalar::canonical(&Number::from(decimal)))
}

pub(super) fn negate(operand: &Value) -> Result<Value, Failure> {
    if let Value::Duration(length) = operand {
        return length.checked_neg().map(Value::Duration).ok_or_else(|| overflow("-"));
    }
    let Value::Number(number) = operand else { return Err(misfit("-", operand)) };
    Ok(value(-decimal(number, "-")?))
}

pub(super) fn add(left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Duration(left), Value::Duration(right)) => {
            left.checked_add(*right).map(Value::Duration).ok_or_else(|| overflow("+"))
        }
        (Value::DateTime(_) | Value::Date(_), Value::Duration(length)) => time::shift(left, *length, "+"),
        (Value::Duration(length), Value::DateTime(_) | Value::Date(_)) => time::shift(right, *length, "+"),
        _ => calculate(Op::Add, left, right),
    }
}

pub(super) fn subtract(left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Duration(left), Value::Duration(right)) => {
            left.checked_sub(*right).map(Value::Duration).ok_or_else(|| overflow("-"))
        }
        (Value::DateTime(_) | Value::Date(_), Value::Duration(length)) => {
            let back = length.checked_neg().ok_or_else(|| overflow("-"))?;
            time::shift(left, back, "-")
        }
        (Value::DateTime(left), Value::DateTime(right)) => Ok(Value::Duration(left.duration_since(*right))),
        (Value::Date(left), Value::Date(right)) => Ok(Value::Duration(left.duration_since(*right))),
        _ => calculate(Op::Subtract, left, right),
    }
}

pub(super) fn calculate(op: Op, left: &Value, right: &Value) -> Result<Value, Failure> {
    let sign = operator(op);
    let operand = |value: &Value| {
        let Value::Number(number) = value else { return Err(misfit(sign, value)) };
        decimal(number, sign)
    };
    let (left, right) = (operand(left)?, operand(right)?);
    if matches!(op, Op::Divide | Op::Remainder) && right.is_zero() {
        return Err(program(format!("`{sign}` by zero")));
    }
    let result = match op {
        Op::Add => left.checked_add(right),
        Op::Subtract => left.checked_sub(right),
        Op::Multiply => multiply(left, right),
        Op::Divide => left.checked_div(right),
        Op::Remainder => left.checked_rem(right),
        Op::Or
        | Op::And
        | Op::Equal
        | Op::NotEqual
        | Op::Less
        | Op::LessEqual
        | Op::Greater
        | Op::GreaterEqual
        | Op::In
        | Op::Contains
        | Op::Within => None,
    };
    result.map(value).ok_or_else(|| overflow(sign))
}

/// A product that is too small to be told from nothing is an overflow too, not zero.
fn multiply(left: Decimal, right: Decimal) -> Option<Decimal> {
    let product = left.checked_mul(right)?;
    let vanished = product.is_zero() && !left.is_zero() && !right.is_zero();
    if vanished { None } else { Some(product) }
}

pub(super) fn overflow(sign: &str) -> Failure {
    program(format!("the result of `{sign}` is outside the range of numbers"))
}

fn misfit(sign: &str, found: &Value) -> Failure {
    drift(format!("`{sign}` cannot calculate with {}", scalar::kind(found)))
}

/// A function of one number.
pub(super) fn apply(operand: &Value, name: &str, function: fn(&Decimal) -> Decimal) -> Result<Value, Failure> {
    let Value::Number(number) = operand else { return Err(misfit(name, operand)) };
    Ok(value(function(&decimal(number, name)?)))
}

/// Half to even; negative places round to tens, hundreds and so on.
pub(super) fn round(operand: &Value, places: Option<&Value>) -> Result<Value, Failure> {
    let Value::Number(number) = operand else { return Err(misfit("ROUND", operand)) };
    let number = decimal(number, "ROUND")?;
    let places = places.map_or(Ok(0), |places| whole(places, "ROUND"))?;
    let strategy = RoundingStrategy::MidpointNearestEven;
    if let Ok(places) = u32::try_from(places) {
        return Ok(value(number.round_dp_with_strategy(places.min(28), strategy)));
    }
    let Some(unit) = u32::try_from(places.unsigned_abs()).ok().and_then(|power| 10_i128.checked_pow(power)) else {
        return Ok(value(Decimal::ZERO));
    };
    let Ok(unit) = Decimal::try_from_i128_with_scale(unit, 0) else { return Ok(value(Decimal::ZERO)) };
    let parts = number.checked_div(unit).ok_or_else(|| overflow("ROUND"))?;
    let rounded = parts.round_dp_with_strategy(0, strategy).checked_mul(unit);
    rounded.map(value).ok_or_else(|| overflow("ROUND"))
}

/// A whole number, as positions and counts are.
pub(super) fn whole(value: &Value, name: &str) -> Result<i64, Failure> {
    let Value::Number(number) = value else { return Err(misfit(name, value)) };
    number.as_i64().ok_or_else(|| program(format!("`{name}` needs a whole number; it is {number}")))
}

/// The sum of a list of numbers or durations; of an empty one 0.
pub(super) fn sum(items: &[Value]) -> Result<Value, Failure> {
    if let Some(Value::Duration(_)) = items.first() {
        let mut total = Value::Duration(SignedDuration::ZERO);
        for item in items {
            total = add(&total, item)?;
        }
        return Ok(total);
    }
    let mut total = Decimal::ZERO;
    for item in items {
        let Value::Number(number) = item else { return Err(misfit("SUM", item)) };
        total = total.checked_add(decimal(number, "SUM")?).ok_or_else(|| overflow("SUM"))?;
    }
    Ok(value(total))
}

/// `NUMBER("12.50")`: what the language reads as a number, else absent.
pub(super) fn parse(text: &str) -> Value {
    let text = text.trim();
    Number::parse(text.strip_prefix('+').unwrap_or(text)).map_or(Value::Absent, Value::Number)
}
