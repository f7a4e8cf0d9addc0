//! What every store promises about runs that wait: parked ones, and changes that gather others.

use std::time::Duration;

use lf_module::call::ChangeKind;
use listen_fire::store::{Claimed, Filter, NewRun, Release, State, Store, TakeIn};

use crate::store_sample::*;

on_every_store!(
    a_parked_run_keeps_its_records_turn,
    a_parked_run_may_let_others_go_first,
    a_parked_run_is_woken_by_what_it_waits_for,
    changes_that_follow_each_other_are_one,
);

fn parked(claimed: &Claimed, time: i64, awaits: &[&str], go: bool) -> Release {
    park(time, awaits, claimed.run.id, go)
}

async fn a_parked_run_keeps_its_records_turn(store: &dyn Store) {
    let runs = store.take_in("l", batch([change("l", "a", "1"), change("l", "a", "2")]), at(0)).await.unwrap();
    let claimed = claim(store, "o", 1).await;
    release(store, &claimed[0], parked(&claimed[0], 50, &[], false), 2).await;
    let kept = store.show(runs[0]).await.unwrap().unwrap().0;
    assert_eq!((kept.state, kept.not_before, kept.attempts), (State::Waiting, Some(at(50)), 0));
    assert_eq!(store.next_due(at(3)).await.unwrap(), Some(at(50)));
    assert_eq!(store.open("l").await.unwrap(), 1, "one that waits for its turn, and none that is parked");
    assert!(claim(store, "o", 49).await.is_empty());
    assert_eq!(ids(&claim(store, "o", 50).await), [runs[0]]);
}

async fn a_parked_run_may_let_others_go_first(store: &dyn Store) {
    let runs = store.take_in("l", batch([change("l", "a", "1"), change("l", "a", "2")]), at(0)).await.unwrap();
    let first = claim(store, "o", 1).await;
    release(store, &first[0], parked(&first[0], 4, &[], true), 2).await;
    assert_eq!(state(store, runs[0]).await, State::Waiting);
    assert_eq!(store.list(&Filter { states: vec![State::Waiting], ..Filter::default() }).await.unwrap().len(), 1);
    let second = claim(store, "o", 3).await;
    assert_eq!(ids(&second), [runs[1]]);
    assert!(claim(store, "o", 5).await.is_empty(), "the record is worked on");
    let back = Release::Back { at: None, reason: None, entries: Vec::new() };
    release(store, &second[0], back, 6).await;
    assert_eq!(ids(&claim(store, "o", 7).await), [runs[0]], "it takes the turn back");
    assert!(claim(store, "o", 8).await.is_empty());
    store.drop_listen("l", at(9)).await.unwrap();
    assert_eq!(state(store, runs[0]).await, State::Cancelled);
}

async fn a_parked_run_is_woken_by_what_it_waits_for(store: &dyn Store) {
    let heard = |delivery: &str| {
        let mut new = change("await x", "h", delivery);
        (new.state, new.reason) = (State::Skipped, Some("heard".to_owned()));
        TakeIn { wakes: true, ..batch([new]) }
    };
    let run = store.take_in("l", batch([change("l", "a", "1")]), at(0)).await.unwrap()[0];
    let claimed = claim(store, "o", 1).await;
    release(store, &claimed[0], parked(&claimed[0], 50, &["await x", "await y"], false), 2).await;
    assert!(claim(store, "o", 3).await.is_empty());
    let first = store.take_in("await x", heard("d1"), at(3)).await.unwrap()[0];
    let again = claim(store, "o", 4).await;
    assert_eq!(ids(&again), [run]);
    // What it has looked at wakes it no more; what came meanwhile does at once.
    release(store, &again[0], park(50, &["await x"], first, false), 5).await;
    assert!(claim(store, "o", 6).await.is_empty());
    store.take_in("await x", heard("d1"), at(6)).await.unwrap();
    assert!(claim(store, "o", 7).await.is_empty(), "a delivery that is known wakes nobody");
    let third = claim(store, "o", 50).await;
    store.take_in("await x", heard("d2"), at(51)).await.unwrap();
    release(store, &third[0], park(90, &["await x"], first, true), 52).await;
    assert_eq!(ids(&claim(store, "o", 53).await), [run]);
    assert_eq!(store.list(&Filter::default()).await.unwrap().len(), 1, "what is only heard is no run");
    assert_eq!(store.list(&Filter { listen: Some("await x".to_owned()), ..Filter::default() }).await.unwrap().len(), 2);
}

async fn changes_that_follow_each_other_are_one(store: &dyn Store) {
    let coming = |delivery: &str, kind: ChangeKind, fields: &[&str]| {
        let names = fields.iter().map(|name| (*name).into()).collect();
        NewRun { kind, fields: Some(names), debounce: Some(Duration::from_secs(3)), ..change("l", "a", delivery) }
    };
    let first = store.take_in("l", batch([coming("1", ChangeKind::Updated, &["A"])]), at(0)).await.unwrap();
    let both = batch([coming("2", ChangeKind::Updated, &["A", "B"]), change("l", "b", "x")]);
    assert_eq!(store.take_in("l", both, at(2)).await.unwrap().len(), 1, "only that of the other record is new");
    assert!(store.take_in("l", batch([coming("2", ChangeKind::Updated, &["C"])]), at(2)).await.unwrap().is_empty());
    let run = store.show(first[0]).await.unwrap().unwrap().0;
    assert_eq!((run.kind, run.fields), (ChangeKind::Updated, Some(vec!["A".into(), "B".into()])));
    assert_eq!((run.record, run.before), (fields("2"), Some(fields("before"))));
    assert_eq!((run.not_before, run.taken_in), (Some(at(5)), at(0)));
    assert_eq!(ids(&claim(store, "o", 4).await).len(), 1);
    assert_eq!(store.next_due(at(4)).await.unwrap(), Some(at(5)));
    for second in [4, 7, 10, 13, 16, 19, 22, 25, 28] {
        let more = coming(&format!("m{second}"), ChangeKind::Updated, &["A"]);
        assert!(store.take_in("l", batch([more]), at(second)).await.unwrap().is_empty());
    }
    let run = store.show(first[0]).await.unwrap().unwrap().0;
    assert_eq!(run.not_before, Some(at(30)), "at most ten times as long in all");
    assert!(ids(&claim(store, "p", 30).await).contains(&first[0]));
    // One that was begun gathers no more; a created record stays new.
    let created = store.take_in("l", batch([coming("c", ChangeKind::Created, &[])]), at(31)).await.unwrap()[0];
    store.take_in("l", batch([coming("u", ChangeKind::Updated, &["A"])]), at(32)).await.unwrap();
    assert_eq!(store.show(created).await.unwrap().unwrap().0.kind, ChangeKind::Created);
    store.take_in("l", batch([coming("d", ChangeKind::Deleted, &[])]), at(33)).await.unwrap();
    assert_eq!(store.show(created).await.unwrap().unwrap().0.kind, ChangeKind::Deleted);
}
