//! Which changes are our own.

use lf_module::{Key, Record, Value, call::ChangeKind};

use super::{Cause, Expected, Standing, Verdict, judge};
use crate::{
    host::compare::Delta,
    store::{Expectation, RunId},
};

fn record(fields: &[(&str, &str)]) -> Record {
    fields.iter().map(|(name, value)| (*name, Value::text(*value))).collect()
}

/// A write of run 7, which `writer` fired, watched by `a`.
fn expected(id: i64, writer: &str, key: Option<&str>, fields: &[(&str, &str)], standing: Standing) -> Expected {
    let expectation = Expectation {
        watcher: "a".into(),
        connection: "crm".into(),
        ty: "Company".into(),
        key: key.map(|key| Key(key.into())),
        fields: record(fields),
        run: RunId(7),
        listen: writer.into(),
        depth: 2,
        at: jiff::Timestamp::UNIX_EPOCH,
    };
    Expected { id, expectation, standing }
}

fn settled(key: &str, fields: &[(&str, &str)]) -> Standing {
    Standing::Settled(vec![(Some(Key(key.into())), record(fields))])
}

fn delta(kind: ChangeKind, before: Option<&[(&str, &str)]>, after: &[(&str, &str)]) -> Delta {
    Delta {
        key: Key("1".into()),
        kind,
        record: record(after),
        before: before.map(record),
        version: "v".into(),
        delivery: "d".into(),
        at: None,
        by: None,
    }
}

/// `Moved` is the system's own.
fn verdict(delta: &Delta, expected: &[Expected]) -> Verdict {
    judge(delta, expected, |field| field != "Moved")
}

fn cause(verdict: Verdict) -> Cause {
    let Verdict::Caused(cause) = verdict else { panic!("{verdict:?}") };
    cause
}

#[test]
fn an_update_that_shows_what_we_wrote_is_ours_whatever_the_system_moved() {
    let ours = [expected(1, "a", Some("1"), &[("Status", "seen")], settled("1", &[("Status", "seen")]))];
    let change = delta(ChangeKind::Updated, Some(&[("Moved", "1")]), &[("Status", "seen"), ("Moved", "2")]);
    let cause = cause(verdict(&change, &ours));
    assert_eq!((cause.whole, cause.own, cause.depth, cause.fulfils), (true, true, 2, vec![1]));
}

#[test]
fn what_another_listen_wrote_is_no_echo_but_caused() {
    let others = [expected(1, "b", Some("1"), &[("Status", "seen")], settled("1", &[]))];
    let change = delta(ChangeKind::Updated, Some(&[]), &[("Status", "seen")]);
    let cause = cause(verdict(&change, &others));
    assert!(cause.whole && !cause.own);
}

#[test]
fn a_change_that_mixes_ours_and_anothers_is_not_whole() {
    let ours = [expected(1, "a", Some("1"), &[("Status", "seen")], settled("1", &[]))];
    let change = delta(ChangeKind::Updated, Some(&[("Name", "A")]), &[("Name", "B"), ("Status", "seen")]);
    assert!(!cause(verdict(&change, &ours)).whole);
}

#[test]
fn anothers_change_of_the_same_record_is_foreign() {
    let ours = [expected(1, "a", Some("1"), &[("Status", "seen")], settled("1", &[]))];
    let change = delta(ChangeKind::Updated, Some(&[("Name", "A")]), &[("Name", "B")]);
    assert_eq!(verdict(&change, &ours), Verdict::Foreign);
    let other = delta(ChangeKind::Updated, Some(&[("Status", "seen"), ("Name", "A")]), &[("Status", "old")]);
    assert_eq!(verdict(&other, &ours), Verdict::Foreign);
}

#[test]
fn a_record_we_created_is_ours_by_its_key_with_what_the_system_filled_in() {
    let ours = [expected(1, "a", None, &[("Name", "A")], settled("1", &[("Name", "A")]))];
    let change = delta(ChangeKind::Created, None, &[("Name", "A"), ("Stage", "new")]);
    assert!(cause(verdict(&change, &ours)).whole);
    let renamed = delta(ChangeKind::Created, None, &[("Name", "B")]);
    assert!(!cause(verdict(&renamed, &ours)).whole, "created by us, and changed by another since");
}

#[test]
fn a_change_that_fits_a_write_in_flight_waits_for_it() {
    let create = [expected(1, "a", None, &[("Name", "A")], Standing::Open)];
    let change = delta(ChangeKind::Created, None, &[("Name", "A")]);
    assert_eq!(verdict(&change, &create), Verdict::Wait);
    let other = delta(ChangeKind::Created, None, &[("Name", "B")]);
    assert_eq!(verdict(&other, &create), Verdict::Foreign);
}

#[test]
fn a_write_that_was_not_done_explains_nothing() {
    let void = [expected(1, "a", Some("1"), &[("Status", "seen")], Standing::Void)];
    let change = delta(ChangeKind::Updated, Some(&[]), &[("Status", "seen")]);
    assert_eq!(verdict(&change, &void), Verdict::Foreign);
}

#[test]
fn what_was_sent_twice_is_fulfilled_once_each_time() {
    let write = |id| expected(id, "a", Some("1"), &[("Status", "seen")], settled("1", &[]));
    let change = delta(ChangeKind::Updated, Some(&[]), &[("Status", "seen")]);
    assert_eq!(cause(verdict(&change, &[write(1), write(2)])).fulfils, [1]);
    let again = delta(ChangeKind::Updated, Some(&[("Status", "seen"), ("Moved", "1")]), &[("Status", "seen")]);
    assert!(cause(verdict(&again, &[write(2)])).whole, "only what the system maintains moved");
}

#[test]
fn a_deletion_is_ours_only_if_we_deleted() {
    let change = delta(ChangeKind::Deleted, Some(&[("Name", "A")]), &[("Name", "A")]);
    let deleted = [expected(1, "a", Some("1"), &[], settled("1", &[]))];
    assert!(cause(verdict(&change, &deleted)).whole);
    let updated = [expected(1, "a", Some("1"), &[("Name", "A")], settled("1", &[]))];
    assert_eq!(verdict(&change, &updated), Verdict::Foreign);
}
