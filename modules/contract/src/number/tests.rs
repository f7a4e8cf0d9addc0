//! What [`Number`] promises: no digit is lost, and what is calculated with is exact.

use proptest::prelude::*;

use super::Number;

/// A JSON number as sign, significant digits and power of ten: two literals of one number give the same.
fn exact(literal: &str) -> (bool, String, i64) {
    let (body, negative) = literal.strip_prefix('-').map_or((literal, false), |rest| (rest, true));
    let (mantissa, power) = body.split_once(['e', 'E']).unwrap_or((body, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - kept.len()).unwrap();
    let scale = i64::try_from(fraction.len()).unwrap();
    let significant = kept.trim_start_matches('0').to_owned();
    if significant.is_empty() {
        return (false, significant, 0);
    }
    (negative, significant, power.trim_start_matches('+').parse::<i64>().unwrap().saturating_sub(scale) + dropped)
}

fn parse(literal: &str) -> Number {
    Number::parse(literal).unwrap_or_else(|| panic!("{literal} is a number"))
}

#[test]
fn digits_come_out_as_they_went_in() {
    let forty = "1234567890123456789012345678901234567890";
    for literal in [
        "0",
        "-1",
        "0.1",
        "0.10",
        "9223372036854775807",
        "18446744073709551616",
        "9007199254740993",
        "79228162514264337593543950335",
        "79228162514264337593543950336",
        "1e400",
        "-1e-400",
        forty,
    ] {
        assert_eq!(parse(literal).to_string(), literal);
    }
}

#[test]
fn what_is_not_a_json_number_is_refused() {
    for text in ["", "-", "01", "+1", "1.", ".5", "1e", "1e+", "0x10", "1_000", "NaN", "Infinity", " 1", "1 ", "١"] {
        assert_eq!(Number::parse(text), None, "{text:?}");
    }
}

#[test]
fn whole_numbers_in_range_are_i64() {
    assert_eq!(parse("9223372036854775807").as_i64(), Some(i64::MAX));
    assert_eq!(parse("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(parse("2.0").as_i64(), Some(2));
    assert_eq!(parse("1e3").as_i64(), Some(1000));
    assert_eq!(parse("9223372036854775808").as_i64(), None);
    assert_eq!(parse("2.5").as_i64(), None);
    assert_eq!(parse("1e400").as_i64(), None);
}

#[test]
fn wide_numbers_take_part_in_no_arithmetic() {
    assert_eq!(parse("1e400").as_decimal(), None);
    assert_eq!(parse("1234567890123456789012345678901234567890").as_decimal(), None);
    assert_ne!(parse("1e400"), parse("1e401"));
}

#[test]
fn a_scientific_literal_is_never_rounded_into_a_decimal() {
    for literal in [
        "1.5e-28",
        "1e-29",
        "1.23456789e-25",
        "4.9e-28",
        "1e-30",
        "123e-30",
        "0.5e-28",
        "7e28",
        "8e28",
        "1e29",
        "0.00000000000000000000000000005e0",
        "0e99",
        "0e-99",
        "1e-9223372036854775808",
    ] {
        assert_eq!(exact(&parse(literal).to_string()), exact(literal), "{literal}");
    }
}

#[test]
fn one_number_written_twice_is_equal() {
    assert_eq!(parse("1"), parse("1.0"));
    assert_eq!(parse("1e2"), parse("100"));
    assert_eq!(parse("-0"), parse("0"));
}

proptest! {
    #[test]
    fn every_literal_keeps_its_value(literal in "-?(0|[1-9][0-9]{0,34})(\\.[0-9]{1,34})?([eE][+-]?[0-9]{1,2})?") {
        let number = parse(&literal);
        prop_assert_eq!(exact(&number.to_string()), exact(&literal));
        if let Some(decimal) = number.as_decimal() {
            prop_assert_eq!(exact(&decimal.to_string()), exact(&literal));
        }
    }

    #[test]
    fn what_is_shown_is_read_back(literal in "-?(0|[1-9][0-9]{0,34})(\\.[0-9]{1,34})?([eE][+-]?[0-9]{1,3})?") {
        let number = parse(&literal);
        prop_assert_eq!(parse(&number.to_string()), number);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+.eE0-9x ]{0,12}") {
        prop_assert_eq!(Number::parse(&text).is_some(), serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok_and(|raw| raw.get() == text));
    }
}
