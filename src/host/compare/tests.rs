//! What a listing says against what was last seen.

use lf_module::{
    Key, Landed, Record, Value,
    call::{ChangeKind, Changed},
};

use super::{Known, Shown, Sight, differing, gone, sight};
use crate::store::Seen;

fn record(fields: &[(&str, &str)]) -> Record {
    fields.iter().map(|(name, value)| (*name, Value::text(*value))).collect()
}

fn landed(version: Option<&str>, name: &str) -> Landed {
    Landed { key: Some(Key("1".into())), version: version.map(Into::into), fields: record(&[("Name", name)]) }
}

fn listed(landed: Landed, known: &Known, fires: bool, mark: &str) -> Sight {
    sight(Shown::listed(landed), known, fires, mark)
}

fn seen(sight: &Sight) -> Known {
    let mut known = Known::default();
    known.set(match sight {
        Sight::Known(known) => known.clone(),
        Sight::Change(delta) => delta.seen().unwrap(),
        Sight::Same(_) => panic!("nothing new was seen"),
    });
    known
}

#[test]
fn a_record_of_the_baseline_is_known_and_the_same_again_is_nothing() {
    let first = listed(landed(None, "A"), &Known::default(), false, "1");
    assert!(matches!(first, Sight::Known(_)));
    assert_eq!(listed(landed(None, "A"), &seen(&first), true, "2"), Sight::Same(Key("1".into())));
}

#[test]
fn without_versions_content_decides_and_going_back_is_a_change_of_its_own() {
    let mut deliveries = Vec::new();
    let mut known = Known::default();
    for (name, mark) in [("A", "1"), ("B", "2"), ("A", "3")] {
        let sight = listed(landed(None, name), &known, true, mark);
        known = seen(&sight);
        let Sight::Change(delta) = sight else { panic!("{name} is a change") };
        deliveries.push(delta.delivery);
    }
    deliveries.dedup();
    assert_eq!(deliveries.len(), 3, "{deliveries:?}");
}

#[test]
fn with_versions_the_version_decides() {
    let first = listed(landed(Some("v1"), "A"), &Known::default(), true, "1");
    assert_eq!(listed(landed(Some("v1"), "B"), &seen(&first), true, "2"), Sight::Same(Key("1".into())));
    let second = listed(landed(Some("v2"), "A"), &seen(&first), true, "3");
    assert!(matches!(second, Sight::Change(delta) if delta.kind == ChangeKind::Updated));
}

#[test]
fn a_reported_change_of_the_version_last_seen_is_nothing_but_a_deletion_always_counts() {
    let told = |kind| Changed {
        delivery: "d".into(),
        key: Key("1".into()),
        kind,
        record: record(&[("Name", "A")]),
        version: Some("v1".into()),
        at: None,
        by: None,
    };
    let changed = |kind, known: &Known| sight(Shown::changed(told(kind)), known, true, "1");
    let first = changed(ChangeKind::Created, &Known::default());
    assert_eq!(changed(ChangeKind::Updated, &seen(&first)), Sight::Same(Key("1".into())));
    let last = changed(ChangeKind::Deleted, &seen(&first));
    assert!(matches!(last, Sight::Change(delta) if delta.seen().is_none()));
}

#[test]
fn what_is_gone_keeps_what_was_known_of_it() {
    let known = Seen { key: Key("1".into()), version: "v1".into(), record: record(&[("Name", "A")]) };
    let delta = gone(known, "9");
    assert_eq!(delta.record, record(&[("Name", "A")]));
    assert_eq!(delta.kind, ChangeKind::Deleted);
}

#[test]
fn a_missing_field_and_an_empty_one_do_not_differ() {
    let mut before = record(&[("Name", "A"), ("Site", "x")]);
    before.set("Note", Value::Absent);
    let mut after = record(&[("Name", "B")]);
    after.set("Size", Value::Absent);
    assert_eq!(differing(&before, &after), ["Name", "Site"]);
}
