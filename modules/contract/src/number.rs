//! Exact numbers: what a system wrote is what another system reads, digit for digit.
//!
//! A number within 28 significant digits is a decimal and can be calculated with. A JSON number
//! beyond that (`1e400`, forty digits) keeps its digits as text: it can be passed on and compared for
//! being the same text, and any arithmetic on it is refused by name. Nothing is ever rounded on reading.

use std::fmt;

use rust_decimal::Decimal;
use smol_str::SmolStr;

/// An exact number; see the module's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(Repr);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Repr {
    Exact(Decimal),
    Wide(SmolStr),
}

impl Number {
    /// Reads a JSON number literal. `None` if `digits` is not one.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        if !is_json_number(digits) {
            return None;
        }
        let exact = match digits.split_once(['e', 'E']) {
            Some((mantissa, power)) => shifted(mantissa, power),
            None => Decimal::from_str_exact(digits).ok(),
        };
        Some(Self(exact.map_or_else(|| Repr::Wide(digits.into()), Repr::Exact)))
    }

    /// The decimal, or `None` if the number is wider than 28 significant digits.
    #[must_use]
    pub fn as_decimal(&self) -> Option<Decimal> {
        match &self.0 {
            Repr::Exact(decimal) => Some(*decimal),
            Repr::Wide(_) => None,
        }
    }

    /// The number as `i64`, if it is a whole number in that range.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        let decimal = self.as_decimal()?;
        if decimal.fract().is_zero() { i64::try_from(decimal.trunc()).ok() } else { None }
    }
}

/// `mantissa` times ten to the `power`, if no digit is lost. The library's own reading of scientific literals
/// rounds what lies below its smallest decimal.
fn shifted(mantissa: &str, power: &str) -> Option<Decimal> {
    let mut decimal = Decimal::from_str_exact(mantissa).ok()?;
    if decimal.is_zero() {
        return Some(decimal);
    }
    let power: i64 = power.parse().ok()?;
    let scale = i64::from(decimal.scale()).checked_sub(power)?;
    let Ok(shift) = u32::try_from(-scale) else {
        decimal.set_scale(u32::try_from(scale).ok()?).ok()?;
        return Some(decimal);
    };
    decimal.set_scale(0).ok()?;
    decimal.checked_mul(Decimal::from(10_i128.checked_pow(shift).filter(|_| shift <= 28)?))
}

fn is_json_number(text: &str) -> bool {
    let mut rest = text.strip_prefix('-').unwrap_or(text).bytes().peekable();
    match rest.next() {
        Some(b'0') => {}
        Some(b'1'..=b'9') => while rest.next_if(u8::is_ascii_digit).is_some() {},
        _ => return false,
    }
    if rest.next_if_eq(&b'.').is_some() {
        if rest.next_if(u8::is_ascii_digit).is_none() {
            return false;
        }
        while rest.next_if(u8::is_ascii_digit).is_some() {}
    }
    if rest.next_if(|byte| matches!(byte, b'e' | b'E')).is_some() {
        let _sign = rest.next_if(|byte| matches!(byte, b'+' | b'-'));
        if rest.next_if(u8::is_ascii_digit).is_none() {
            return false;
        }
        while rest.next_if(u8::is_ascii_digit).is_some() {}
    }
    rest.next().is_none()
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Exact(decimal) => decimal.fmt(out),
            Repr::Wide(digits) => out.write_str(digits),
        }
    }
}

impl From<Decimal> for Number {
    fn from(decimal: Decimal) -> Self {
        Self(Repr::Exact(decimal))
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(Repr::Exact(Decimal::from(number)))
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self(Repr::Exact(Decimal::from(number)))
    }
}

impl std::str::FromStr for Number {
    type Err = NotANumber;

    fn from_str(digits: &str) -> Result<Self, NotANumber> {
        Self::parse(digits).ok_or(NotANumber)
    }
}

/// The text is not a JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a number")]
pub struct NotANumber;

#[cfg(test)]
mod tests;
