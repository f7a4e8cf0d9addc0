//! JSON in and out, against the general JSON library and against itself.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, civil::Date};
use proptest::prelude::*;
use serde_json::value::RawValue;
use smol_str::SmolStr;

use super::{JsonError, Limits, canonical, decode, encode, plain, read, read_with};
use crate::{
    call::Key,
    file::File,
    number::Number,
    value::{Position, Record, Value},
};

/// The same tree as the general library reads it. Its numbers are rounded, so only those that it keeps compare.
fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Value::Absent, serde_json::Value::Null) => true,
        (Value::Bool(ours), serde_json::Value::Bool(theirs)) => ours == theirs,
        (Value::Text(ours), serde_json::Value::String(theirs)) => ours == theirs,
        (Value::Number(ours), serde_json::Value::Number(theirs)) => {
            if theirs.is_f64() {
                ours.to_string().parse::<f64>().ok() == theirs.as_f64()
            } else {
                ours.to_string() == theirs.to_string()
            }
        }
        (Value::List(ours), serde_json::Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
        }
        (Value::Record(ours), serde_json::Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|((name, ours), (key, theirs))| name == key && same(ours, theirs))
        }
        _ => false,
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Names that a tag could be mistaken for are likely.
fn name() -> impl Strategy<Value = SmolStr> {
    prop_oneof![
        Just("$date".into()),
        Just("$at".into()),
        Just("$for".into()),
        Just("$rec".into()),
        Just("$pos".into()),
        Just("$".into()),
        any::<String>().prop_map(SmolStr::from),
    ]
}

fn number() -> impl Strategy<Value = Number> {
    "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?"
        .prop_map(|literal| Number::parse(&literal).expect("the pattern is a JSON number"))
}

fn value() -> impl Strategy<Value = Value> {
    let days = Date::MIN.to_datetime(jiff::civil::time(0, 0, 0, 0));
    let leaf = prop_oneof![
        Just(Value::Absent),
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        any::<String>().prop_map(Value::from),
        (0_i64..7_304_483)
            .prop_map(move |day| Value::Date(days.saturating_add(SignedDuration::from_hours(day * 24)).date())),
        (Timestamp::MIN.as_second()..=Timestamp::MAX.as_second(), 0_i32..1_000_000_000)
            .prop_filter_map("in range", |(second, nano)| Timestamp::new(second, nano).ok().map(Value::DateTime)),
        (any::<i64>(), 0_i32..1_000_000_000).prop_map(|(second, nano)| Value::Duration(
            SignedDuration::from_secs(second).saturating_add(SignedDuration::from_nanos(nano.into()))
        )),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let record = prop::collection::vec((name(), inner.clone()), 0..5)
            .prop_map(|fields| fields.into_iter().collect::<Record>())
            .boxed();
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::list),
            record.clone().prop_map(Value::record),
            (name(), name(), prop::option::of(name()), record).prop_map(|(connection, ty, key, fields)| {
                Value::Position(Arc::new(Position { connection, ty, key: key.map(Key), fields }))
            }),
            (name(), name(), prop::option::of(name()), prop::option::of(name()), any::<Vec<u8>>()).prop_map(
                |(connection, token, name, media_type, bytes)| {
                    Value::file(File { name, media_type, ..File::seen(connection, token, &bytes) })
                }
            ),
        ]
    })
}

proptest! {
    #[test]
    fn what_the_general_library_writes_is_read_the_same(tree in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&tree) } else { serde_json::to_string(&tree) }.unwrap();
        prop_assert!(same(&read(text.as_bytes()).unwrap(), &tree), "{}", text);
    }

    #[test]
    fn what_we_write_the_general_library_reads_the_same(tree in json()) {
        let ours = read(tree.to_string().as_bytes()).unwrap();
        for text in [plain(&ours), encode(&ours)] {
            let back = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert!(back.is_ok(), "{}", text);
        }
        prop_assert_eq!(read(plain(&ours).as_bytes()).unwrap(), ours);
    }

    #[test]
    fn a_damaged_text_is_accepted_by_both_or_by_none(tree in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut text = tree.to_string().into_bytes();
        let at = at.index(text.len());
        if cut { text.truncate(at); } else { text[at] = byte; }
        let theirs = serde_json::from_slice::<&RawValue>(&text).is_ok();
        prop_assert_eq!(read(&text).is_ok(), theirs, "{:?}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn json_like_noise_is_accepted_by_both_or_by_none(text in "[\\[\\]{},:\"\\\\ntrufalse0-9.eE+u \n\t-]{0,24}") {
        let theirs = serde_json::from_str::<&RawValue>(&text).is_ok();
        prop_assert_eq!(read(text.as_bytes()).is_ok(), theirs, "{:?}", text);
    }

    #[test]
    fn any_value_survives_the_journal(value in value()) {
        let text = encode(&value);
        prop_assert_eq!(decode(&text).map_err(|error| format!("{error}: {text}")), Ok(value.clone()));
        let through_serde: Value = serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap();
        prop_assert_eq!(through_serde, value);
    }

    #[test]
    fn the_canonical_form_does_not_depend_on_the_order_of_fields(mut fields in prop::collection::btree_map(any::<String>(), number(), 0..8).prop_map(|map| map.into_iter().collect::<Vec<_>>())) {
        let record = |fields: &[(String, Number)]| Value::record(fields.iter().map(|(name, number)| (name.clone(), Value::Number(number.clone()))).collect());
        let forward = record(&fields);
        fields.reverse();
        prop_assert_eq!(canonical(&forward), canonical(&record(&fields)));
    }
}

#[test]
fn numbers_keep_their_digits() {
    let digits = [
        "9223372036854775807",
        "18446744073709551616",
        "9007199254740993",
        "0.1",
        "1e400",
        "1234567890123456789012345678901234567890",
        "0.0000000000000000000000000000000000000001",
    ];
    for literal in digits {
        let text = format!("{{\"n\":[{literal}]}}");
        let value = read(text.as_bytes()).unwrap();
        assert_eq!(plain(&value), text);
        assert_eq!(decode(&encode(&value)).unwrap(), value);
    }
}

#[test]
fn equal_numbers_have_one_canonical_form() {
    for (left, right) in [("1", "1.0"), ("0.10", "0.1"), ("1e2", "100"), ("-0", "0"), ("0.00", "0")] {
        let (left, right) = (read(left.as_bytes()).unwrap(), read(right.as_bytes()).unwrap());
        assert_eq!(left, right);
        assert_eq!(canonical(&left), canonical(&right));
    }
    assert_eq!(plain(&read(b"1.0").unwrap()), "1.0", "what another system reads keeps its digits");
}

#[test]
fn depth_is_bounded_and_the_bound_is_exact() {
    let limits = Limits { depth: 3, ..Limits::default() };
    assert!(read_with(b"[[[1]]]", limits).is_ok());
    assert_eq!(read_with(b"[[[[1]]]]", limits), Err(JsonError::TooDeep(3)));
    assert_eq!(read_with(b"[{\"a\":[{}]}]", limits), Err(JsonError::TooDeep(3)));
    assert!(read_with(b"[[[1]],[[2]]]", limits).is_ok(), "side by side is not deeper");
    let bomb = "[".repeat(1 << 20);
    assert_eq!(read(bomb.as_bytes()), Err(JsonError::TooDeep(128)));
}

#[test]
fn size_is_bounded_and_the_bound_is_exact() {
    let limits = Limits { bytes: 4, ..Limits::default() };
    assert!(read_with(b"1234", limits).is_ok());
    assert_eq!(read_with(b"12345", limits), Err(JsonError::TooLarge(4)));
}

#[test]
fn the_deepest_value_from_outside_survives_the_journal() {
    // `$` as the first key makes the journal wrap each level: the worst case.
    let text = format!("{}1{}", "{\"$a\":".repeat(128), "}".repeat(128));
    let value = read(text.as_bytes()).unwrap();
    assert_eq!(decode(&encode(&value)).unwrap(), value);
}

#[test]
fn a_syntax_error_names_its_byte_and_what_would_fit() {
    let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error("{\"a\" 1}"), "not JSON at byte 5: expected `:`");
    assert_eq!(error("[1 2]"), "not JSON at byte 3: expected `,` or `]`");
    assert_eq!(error("{\"a\":1 \"b\"}"), "not JSON at byte 7: expected `,` or `}`");
    assert_eq!(error("01"), "not JSON at byte 0: expected a number");
    assert_eq!(error("\"\\x\""), "not JSON at byte 2: expected an escape");
    assert_eq!(error("1 2"), "not JSON at byte 2: expected the end");
    assert_eq!(error(""), "not JSON at byte 0: expected a value");
    assert_eq!(read(b"\"\xff\"").unwrap_err().to_string(), "not JSON at byte 1: expected UTF-8");
}

#[test]
fn a_byte_order_mark_and_half_a_surrogate_do_not_cost_the_answer() {
    assert_eq!(read(b"\xef\xbb\xbf{}").unwrap(), Value::record(Record::new()));
    assert_eq!(read(br#""\ud83d\ude00""#).unwrap(), Value::text("😀"));
    assert_eq!(read(br#""a\ud800b""#).unwrap(), Value::text("a\u{fffd}b"));
    assert_eq!(read(br#""\ud800\u0041""#).unwrap(), Value::text("\u{fffd}A"));
}

#[test]
fn of_equal_keys_the_last_counts_in_the_place_of_the_first() {
    assert_eq!(plain(&read(br#"{"a":1,"b":2,"a":3}"#).unwrap()), r#"{"a":3,"b":2}"#);
}

#[test]
fn data_never_passes_for_a_tag() {
    let value = read(br#"{"$date":"2026-01-05"}"#).unwrap();
    assert_eq!(encode(&value), r#"{"$rec":{"$date":"2026-01-05"}}"#);
    assert_eq!(decode(&encode(&value)).unwrap(), value);
}

#[test]
fn a_tag_that_is_not_ours_is_refused() {
    for text in [r#"{"$new":1}"#, r#"{"$date":"someday"}"#, r#"{"$pos":[1]}"#, r#"{"$rec":1}"#, r#"{"$at":1,"x":2}"#] {
        assert!(decode(text).is_err(), "{text}");
    }
}

#[test]
fn of_a_file_the_journal_keeps_the_handle_and_never_the_bytes() {
    let bytes = Some(Arc::new(b"hello".to_vec()));
    let file = File { name: Some("a.txt".into()), ..File::seen("crm", "7", b"hello") };
    let sent = Value::file(File { bytes, ..file.clone() });
    let text = encode(&Value::list(vec![sent.clone()]));
    assert_eq!(decode(&text).unwrap(), Value::list(vec![Value::file(file)]));
    for text in [text, plain(&sent), canonical(&sent)] {
        assert!(!text.contains("hello") && !text.contains("aGVsbG8"), "{text}");
    }
    for bad in ["{\"$file\":[]}", "{\"$file\":[\"crm\",\"7\",null,null,null,-1]}"] {
        assert_eq!(decode(bad), Err(JsonError::Tag("a bad file")), "{bad}");
    }
}
