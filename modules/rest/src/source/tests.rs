//! The value from which the next look asks.

use lf_module::Value;

use super::{Grows, Seen, earlier, later};

fn greatest(grows: Grows, values: &[Value]) -> String {
    let top = values.iter().try_fold(None, |top, value| later(top, Some(value), grows)).unwrap();
    later(top, None, grows).unwrap().unwrap()
}

#[test]
fn the_greatest_value_is_found_whatever_the_order() {
    let number = |digits: &str| Value::Number(digits.parse().unwrap());
    assert_eq!(greatest(Grows::Number, &[number("9"), number("10"), number("10.0"), number("-3")]), "10");
    assert_eq!(greatest(Grows::Number, &[number("9007199254740993"), number("9007199254740992")]), "9007199254740993");
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::text(*text)).collect::<Vec<_>>();
    assert_eq!(greatest(Grows::Date, &texts(&["2026-01-31", "2026-02-01", "2025-12-31"])), "2026-02-01");
    let instants = texts(&["2026-01-05T10:00:00+02:00", "2026-01-05T09:00:00Z", "2026-01-05T09:00:00.5+00:00"]);
    assert_eq!(greatest(Grows::Datetime, &instants), "2026-01-05T09:00:00.5+00:00");
}

#[test]
fn what_does_not_grow_is_drift() {
    for (grows, value) in [
        (Grows::Number, Value::text("soon")),
        (Grows::Date, Value::text("05.01.2026")),
        (Grows::Datetime, Value::text("2026-01-05")),
        (Grows::Datetime, Value::from(5)),
        (Grows::Number, Value::Number("1e400".parse().unwrap())),
    ] {
        assert!(later(None, Some(&value), grows).is_err(), "{value:?}");
    }
}

#[test]
fn a_look_goes_back_by_the_overlap_and_by_how_long_the_last_one_took() {
    assert_eq!(
        earlier("2026-01-05T10:00:00.123456789012+01:00", Grows::Datetime, 0, 0),
        "2026-01-05T10:00:00.123456789012+01:00"
    );
    assert_eq!(earlier("2026-01-05T10:00:00+01:00", Grows::Datetime, 3, 60), "2026-01-05T08:58:57Z");
    assert_eq!(earlier("2026-03-01", Grows::Date, 0, 2), "2026-02-27");
    assert_eq!(earlier("2026-03-01", Grows::Date, 5, 0), "2026-02-28", "the day may have changed in between");
    assert_eq!(earlier("100", Grows::Number, 5, 10), "90");
    assert_eq!(earlier("100", Grows::Number, 5, 0), "100", "time says nothing about a number");
    assert_eq!(earlier("-009999-01-01", Grows::Date, 1, u64::MAX), "-009999-01-01", "there is no day before");
}

#[test]
fn only_what_two_looks_in_a_row_miss_is_gone() {
    let look = |seen: &mut Seen, keys: &[u64], pages: u64, first: bool| {
        seen.now = keys.to_vec();
        seen.end(pages, first)
    };
    let mut seen = Seen { whole: true, ..Seen::default() };
    assert!(look(&mut seen, &[1, 2, 3], 2, true), "at first nothing can be missing");
    assert!(look(&mut seen, &[3, 1, 2, 4], 2, false));
    assert!(!look(&mut seen, &[1, 3, 4], 2, false), "2 may have slipped");
    assert!(look(&mut seen, &[4, 3, 1, 5], 2, false), "2 was missed twice");
    assert!(look(&mut seen, &[1], 1, false), "a single page is one moment");
    let mut resumed = Seen::default();
    assert!(!look(&mut resumed, &[1], 1, false), "its beginning was not seen");
    assert!(!look(&mut resumed, &[1], 2, false), "there is none before it");
    assert!(look(&mut resumed, &[1], 2, false));
}
