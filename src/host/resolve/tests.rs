//! What a write comes to, against what is there.

use lf_lang::{check::typed::EntryMode, run::io::Entry};
use lf_module::{Key, Landed, Record, Value};

use super::{changed, created, distinct, is_blind};

fn entry(field: &str, mode: EntryMode, value: Value) -> Entry {
    Entry { field: field.into(), mode, value }
}

fn list(items: &[&str]) -> Value {
    Value::list(items.iter().map(|item| Value::text(*item)).collect())
}

fn record(fields: &[(&str, Value)]) -> Record {
    fields.iter().map(|(name, value)| (*name, value.clone())).collect()
}

#[test]
fn a_create_leaves_out_what_is_absent() {
    let entries = [entry("Name", EntryMode::Set, "A".into()), entry("Site", EntryMode::SetOrSkip, Value::Absent)];
    assert_eq!(created(&entries), record(&[("Name", "A".into())]));
}

#[test]
fn an_update_sends_only_what_differs() {
    let current = record(&[("Name", "A".into()), ("Site", "x".into())]);
    let entries = [entry("Name", EntryMode::Set, "A".into()), entry("Site", EntryMode::Set, "y".into())];
    assert_eq!(changed(&entries, Some(&current)), record(&[("Site", "y".into())]));
    assert_eq!(changed(&entries, None).len(), 2);
}

#[test]
fn skip_leaves_clear_empties_and_clearing_what_is_empty_changes_nothing() {
    let current = record(&[("Site", "x".into())]);
    let skip = [entry("Site", EntryMode::SetOrSkip, Value::Absent)];
    let clear = [entry("Site", EntryMode::SetOrClear, Value::Absent)];
    assert!(changed(&skip, Some(&current)).is_empty());
    assert_eq!(changed(&clear, Some(&current)), record(&[("Site", Value::Absent)]));
    assert!(changed(&clear, Some(&Record::new())).is_empty());
}

#[test]
fn fill_writes_only_where_nothing_is() {
    let fill = [entry("Tags", EntryMode::Fill, list(&["a"]))];
    assert!(!is_blind(&fill));
    for empty in [Record::new(), record(&[("Tags", list(&[]))])] {
        assert_eq!(changed(&fill, Some(&empty)), record(&[("Tags", list(&["a"]))]));
    }
    assert!(changed(&fill, Some(&record(&[("Tags", list(&["b"]))]))).is_empty());
}

#[test]
fn add_appends_the_members_that_are_not_there_yet() {
    let add = [entry("Tags", EntryMode::Add, list(&["a", "b", "b"]))];
    let current = record(&[("Tags", list(&["c", "a"]))]);
    assert_eq!(changed(&add, Some(&current)), record(&[("Tags", list(&["c", "a", "b"]))]));
    assert!(changed(&add, Some(&record(&[("Tags", list(&["b", "a"]))]))).is_empty());
}

#[test]
fn the_same_record_found_twice_is_one() {
    let landed = |key: &str| Landed { key: Some(Key(key.into())), version: None, fields: Record::new() };
    assert_eq!(distinct(vec![landed("1"), landed("2"), landed("1")]).len(), 2);
}
