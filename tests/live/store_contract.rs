//! What every store promises about changes and runs, one test for each promise, on each store.

use std::collections::BTreeSet;

use lf_lang::run::Entry;
use listen_fire::store::{Fence, Filter, Met, Order, Release, RunId, State, Store, StoreError, TakeIn};

use crate::store_sample::*;

on_every_store!(
    a_batch_is_taken_in_whole,
    a_delivery_is_taken_in_once,
    one_delivery_may_reach_two_listens,
    a_refused_batch_leaves_nothing,
    a_thousand_changes_come_in_one_batch,
    what_was_seen_is_remembered_met_and_forgotten,
    a_listen_that_is_no_more_is_dropped,
    open_counts_what_holds_a_source_back,
    one_run_of_a_record_at_a_time_in_order,
    a_retry_keeps_its_turn_and_its_time,
    a_dead_run_frees_the_turn,
    an_unsure_and_a_held_run_keep_the_turn,
    a_skipped_change_never_runs,
    back_does_not_count_an_attempt,
    room_bounds_each_listen_and_the_whole,
    a_lease_that_ran_out_is_taken_over,
    a_renewed_lease_is_not,
    a_stale_fence_is_refused_everywhere,
    a_run_that_is_not_there_is_missing,
    two_claimers_never_share_a_run,
    the_journal_keeps_its_order_over_claims,
    started_marks_the_plan,
    next_due_is_the_next_time_that_matters,
    orders_are_legal_in_their_states_only,
    a_settled_run_says_so_in_its_journal,
    a_reopened_run_goes_before_later_ones,
    a_cancelled_run_is_taken_from_its_runner,
    a_listing_is_filtered,
);

async fn a_batch_is_taken_in_whole(store: &dyn Store) {
    assert_eq!(store.position("l").await.unwrap(), None);
    let batch = TakeIn {
        seen: vec![seen("a", "v1"), seen("b", "v1")],
        runs: vec![change("l", "a", "d1"), change("l", "b", "d2")],
        position: position("c1", true),
        ..TakeIn::default()
    };
    let ids = store.take_in("l", batch, at(0)).await.unwrap();
    assert_eq!(ids.len(), 2);
    assert_eq!(store.position("l").await.unwrap(), position("c1", true));
    assert_eq!(store.listens().await.unwrap(), ["l"]);
    let (run, entries) = store.show(ids[0]).await.unwrap().unwrap();
    let new = change("l", "a", "d1");
    assert_eq!((run.listen, run.key, run.delivery), (new.listen, new.key, new.delivery));
    assert_eq!((run.kind, run.record, run.before, run.at), (new.kind, new.record, new.before, new.at));
    assert_eq!((run.by, run.depth, run.cause), (new.by, new.depth, new.cause));
    assert_eq!((run.state, run.reason, run.attempts, run.not_before), (State::Ready, None, 0, None));
    assert_eq!((run.plan, run.owner, run.taken_in, run.finished), (None, None, at(0), None));
    assert_eq!(entries, []);
}

async fn a_delivery_is_taken_in_once(store: &dyn Store) {
    let first = take(store, &[("a", "d1"), ("a", "d1"), ("b", "d2")]).await;
    assert_eq!(first.len(), 2);
    let second = take(store, &[("a", "d1"), ("c", "d3"), ("b", "d2")]).await;
    assert_eq!(second.len(), 1);
    let claimed = claim(store, "a", 1).await;
    for claim in &claimed {
        release(store, claim, end(State::Done), 2).await;
    }
    assert_eq!(take(store, &[("a", "d1")]).await, []);
    assert_eq!(store.list(&Filter::default()).await.unwrap().len(), 3);
}

async fn one_delivery_may_reach_two_listens(store: &dyn Store) {
    assert_eq!(store.take_in("l", batch([change("l", "a", "d1")]), at(0)).await.unwrap().len(), 1);
    assert_eq!(store.take_in("m", batch([change("m", "a", "d1")]), at(0)).await.unwrap().len(), 1);
    let claimed = store.claim("o", &room(&[("l", 1), ("m", 1)], 2), at(1), LEASE).await.unwrap();
    assert_eq!(claimed.len(), 2);
}

async fn a_refused_batch_leaves_nothing(store: &dyn Store) {
    let mut done = change("l", "b", "d2");
    done.state = State::Done;
    let batch = TakeIn {
        seen: vec![seen("a", "v1")],
        runs: vec![change("l", "a", "d1"), done],
        position: position("c1", false),
        ..TakeIn::default()
    };
    assert_state(&store.take_in("l", batch, at(0)).await);
    assert_eq!(store.position("l").await.unwrap(), None);
    assert_eq!(store.list(&Filter::default()).await.unwrap(), []);
    assert!(store.seen("l", &[key("a")]).await.unwrap().is_empty());
    assert_eq!(take(store, &[("a", "d1")]).await.len(), 1);
}

async fn a_thousand_changes_come_in_one_batch(store: &dyn Store) {
    let runs = (0..1000).map(|n| change("l", &format!("k{}", n % 700), &format!("d{n}")));
    let batch = TakeIn { seen: (0..1000).map(|n| seen(&format!("k{n}"), "v")).collect(), ..batch(runs) };
    let new = store.take_in("l", batch, at(0)).await.unwrap();
    assert!(new.is_sorted());
    assert_eq!(new.len(), 1000);
    assert_eq!(claim(store, "o", 1).await.len(), 700);
    let keys: Vec<_> = (0..1000).map(|n| key(&format!("k{n}"))).collect();
    assert_eq!(store.seen("l", &keys).await.unwrap().len(), 1000);
    let mut met = Met::default();
    keys.iter().filter(|met| met.0 != "k7" && met.0 != "k8").for_each(|key| met.add(key));
    assert_eq!(store.unmet("l", &met, 10).await.unwrap(), [seen("k7", "v"), seen("k8", "v")]);
    assert_eq!(store.unmet("l", &Met::default(), 2000).await.unwrap().len(), 1000);
}

async fn what_was_seen_is_remembered_met_and_forgotten(store: &dyn Store) {
    let seen_in = |seen| TakeIn { seen, ..TakeIn::default() };
    store.take_in("l", seen_in(vec![seen("a", "v1"), seen("b", "v1"), seen("c", "v1")]), at(0)).await.unwrap();
    store.take_in("m", seen_in(vec![seen("a", "other"), seen("d", "other")]), at(0)).await.unwrap();
    let known = store.seen("l", &[key("a"), key("b"), key("z")]).await.unwrap();
    assert_eq!(known.into_values().collect::<Vec<_>>(), [seen("a", "v1"), seen("b", "v1")]);

    store.take_in("l", seen_in(vec![seen("a", "v2")]), at(1)).await.unwrap();
    let versions = store.versions("l", &[key("z"), key("b"), key("a")]).await.unwrap();
    assert_eq!(versions.into_iter().collect::<Vec<_>>(), [(key("a"), "v2".into()), (key("b"), "v1".into())]);

    let mut met = Met::default();
    assert_eq!(store.unmet("l", &met, 2).await.unwrap(), [seen("a", "v2"), seen("b", "v1")]);
    met.add(&key("a"));
    met.add(&key("b"));
    assert_eq!(store.unmet("l", &met, 10).await.unwrap(), [seen("c", "v1")]);
    met.add(&key("c"));
    assert_eq!(store.unmet("l", &met, 10).await.unwrap(), []);
    assert_eq!(store.unmet("nobody", &Met::default(), 10).await.unwrap(), []);

    let forget = TakeIn { forget: vec![key("a"), key("c"), key("z")], ..TakeIn::default() };
    store.take_in("l", forget, at(3)).await.unwrap();
    let left: Vec<_> = store.seen("l", &[key("a"), key("b"), key("c")]).await.unwrap().into_keys().collect();
    assert_eq!(left, [key("b")]);
    assert_eq!(store.seen("m", &[key("a")]).await.unwrap().len(), 1);
}

async fn a_listen_that_is_no_more_is_dropped(store: &dyn Store) {
    let all = TakeIn {
        seen: vec![seen("a", "v")],
        position: position("c", false),
        ..batch([change("l", "a", "d1"), change("l", "b", "d2"), change("l", "c", "d3")])
    };
    let new = store.take_in("l", all, at(0)).await.unwrap();
    let other = store.take_in("m", batch([change("m", "a", "d1")]), at(0)).await.unwrap();
    let running = claim(store, "o", 1).await;
    release(store, &running[0], end(State::Done), 2).await;
    store.drop_listen("l", at(3)).await.unwrap();
    store.drop_listen("never there", at(3)).await.unwrap();
    assert_eq!(store.position("l").await.unwrap(), None);
    assert_eq!(store.listens().await.unwrap(), ["m"]);
    assert!(store.seen("l", &[key("a")]).await.unwrap().is_empty());
    let states = [State::Done, State::Cancelled, State::Cancelled];
    for (run, expected) in new.iter().zip(states) {
        assert_eq!(state(store, *run).await, expected);
    }
    assert_eq!(store.show(new[1]).await.unwrap().unwrap().0.finished, Some(at(3)));
    assert_eq!(state(store, other[0]).await, State::Ready);
    assert_fenced(&store.append(new[1], running[1].fence, vec![note("late")], Vec::new()).await);
    // What it took in stays taken in.
    assert_eq!(take(store, &[("a", "d1")]).await, []);
    assert_eq!(claim(store, "o", 4).await, []);
}

async fn open_counts_what_holds_a_source_back(store: &dyn Store) {
    assert_eq!(store.open("l").await.unwrap(), 0);
    let mut held = change("l", "h", "held");
    held.state = State::Held;
    let mut skipped = change("l", "s", "skipped");
    skipped.state = State::Skipped;
    store.take_in("l", batch([held, skipped]), at(0)).await.unwrap();
    take(store, &[("a", "d1"), ("a", "d2"), ("b", "d3"), ("c", "d4")]).await;
    assert_eq!(store.open("l").await.unwrap(), 4);
    let claimed = claim(store, "o", 1).await;
    assert_eq!(store.open("l").await.unwrap(), 4);
    let again = Release::Retry { at: at(9), reason: "away".to_owned(), entries: Vec::new() };
    release(store, &claimed[0], again, 2).await;
    assert_eq!(store.open("l").await.unwrap(), 4);
    release(store, &claimed[1], end(State::Done), 2).await;
    release(store, &claimed[2], end(State::Unsure), 2).await;
    assert_eq!(store.open("l").await.unwrap(), 2);
    assert_eq!(store.open("m").await.unwrap(), 0);
}

async fn one_run_of_a_record_at_a_time_in_order(store: &dyn Store) {
    let new = take(store, &[("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")]).await;
    let claimed = claim(store, "o", 1).await;
    assert_eq!(ids(&claimed), [new[0], new[2]]);
    assert_eq!(claim(store, "o", 1).await, []);
    let later = take(store, &[("a", "5"), ("b", "6")]).await;
    assert_eq!(claim(store, "o", 2).await, []);
    release(store, &claimed[0], end(State::Done), 3).await;
    let claimed = claim(store, "o", 3).await;
    assert_eq!(ids(&claimed), [new[1]]);
    release(store, &claimed[0], end(State::Done), 4).await;
    let claimed = claim(store, "o", 4).await;
    assert_eq!(ids(&claimed), [new[3]]);
    release(store, &claimed[0], end(State::Done), 5).await;
    assert_eq!(ids(&claim(store, "o", 5).await), [later[0]]);
}

async fn a_retry_keeps_its_turn_and_its_time(store: &dyn Store) {
    let new = take(store, &[("a", "1"), ("a", "2")]).await;
    let claimed = claim(store, "o", 1).await;
    let again = Release::Retry { at: at(60), reason: "away".to_owned(), entries: vec![note("away")] };
    release(store, &claimed[0], again, 2).await;
    let run = store.show(new[0]).await.unwrap().unwrap().0;
    assert_eq!((run.state, run.attempts, run.not_before), (State::Retry, 1, Some(at(60))));
    assert_eq!((run.reason.as_deref(), run.owner, run.finished), (Some("away"), None, None));
    assert_eq!(claim(store, "o", 59).await, []);
    let claimed = claim(store, "p", 60).await;
    assert_eq!(ids(&claimed), [new[0]]);
    assert_eq!(claimed[0].entries, [note("away")]);
    assert_eq!(claimed[0].run.owner.as_deref(), Some("p"));
}

async fn a_dead_run_frees_the_turn(store: &dyn Store) {
    let new = take(store, &[("a", "1"), ("a", "2")]).await;
    let claimed = claim(store, "o", 1).await;
    release(store, &claimed[0], end(State::Dead), 2).await;
    let run = store.show(new[0]).await.unwrap().unwrap().0;
    assert_eq!((run.state, run.attempts, run.finished), (State::Dead, 1, Some(at(2))));
    assert_eq!(ids(&claim(store, "o", 3).await), [new[1]]);
}

async fn an_unsure_and_a_held_run_keep_the_turn(store: &dyn Store) {
    take(store, &[("a", "1"), ("a", "2")]).await;
    let claimed = claim(store, "o", 1).await;
    release(store, &claimed[0], end(State::Unsure), 2).await;
    let mut held = change("l", "b", "held");
    held.state = State::Held;
    held.reason = Some("too deep".to_owned());
    let held = store.take_in("l", batch([held, change("l", "b", "after")]), at(2)).await.unwrap();
    assert_eq!(store.show(held[0]).await.unwrap().unwrap().0.reason.as_deref(), Some("too deep"));
    assert_eq!(claim(store, "o", 1000).await, []);
    store.order(held[0], Order::Cancel, at(3)).await.unwrap();
    assert_eq!(ids(&claim(store, "o", 1000).await), [held[1]]);
}

async fn a_skipped_change_never_runs(store: &dyn Store) {
    let mut echo = change("l", "a", "d1");
    echo.state = State::Skipped;
    echo.reason = Some("echo".to_owned());
    let new = store.take_in("l", batch([echo, change("l", "a", "d2")]), at(0)).await.unwrap();
    let run = store.show(new[0]).await.unwrap().unwrap().0;
    assert_eq!((run.state, run.reason.as_deref(), run.finished), (State::Skipped, Some("echo"), Some(at(0))));
    assert_eq!(ids(&claim(store, "o", 1).await), [new[1]]);
}

async fn back_does_not_count_an_attempt(store: &dyn Store) {
    let new = take(store, &[("a", "1")]).await;
    let claimed = claim(store, "o", 1).await;
    let back = |at| Release::Back { at, reason: Some("held".to_owned()), entries: vec![note("held")] };
    release(store, &claimed[0], back(Some(at(50))), 2).await;
    let run = store.show(new[0]).await.unwrap().unwrap().0;
    assert_eq!((run.state, run.attempts, run.not_before), (State::Ready, 0, Some(at(50))));
    assert_eq!(claim(store, "o", 49).await, []);
    let claimed = claim(store, "o", 50).await;
    release(store, &claimed[0], back(None), 51).await;
    assert_eq!(ids(&claim(store, "o", 51).await), new);
}

async fn room_bounds_each_listen_and_the_whole(store: &dyn Store) {
    let of = |listen: &'static str| (0..10).map(move |n| change(listen, &format!("k{n}"), &format!("d{n}")));
    let first = store.take_in("l", batch(of("l")), at(0)).await.unwrap();
    let second = store.take_in("m", batch(of("m")), at(0)).await.unwrap();
    let claim =
        async |places: &[(&str, u32)], total| ids(&store.claim("o", &room(places, total), at(1), LEASE).await.unwrap());
    assert_eq!(claim(&[], 10).await, []);
    assert_eq!(claim(&[("l", 0), ("m", 3)], 0).await, []);
    assert_eq!(claim(&[("l", 0), ("m", 2), ("n", 9)], 10).await, second[..2]);
    assert_eq!(claim(&[("l", 3), ("m", 3)], 4).await, [first[0], first[1], first[2], second[2]]);
    assert_eq!(claim(&[("l", 100), ("m", 0)], 100).await, first[3..]);
}

async fn a_lease_that_ran_out_is_taken_over(store: &dyn Store) {
    take(store, &[("a", "1")]).await;
    let first = claim(store, "o", 1).await;
    store.append(first[0].run.id, first[0].fence, vec![intent("w")], Vec::new()).await.unwrap();
    assert_eq!(claim(store, "p", 10).await, []);
    // Late, but nobody took over: the runner may go on.
    store.append(first[0].run.id, first[0].fence, vec![settled("w")], Vec::new()).await.unwrap();
    let second = claim(store, "p", 11).await;
    assert_eq!(ids(&second), ids(&first));
    assert!(second[0].fence > first[0].fence);
    assert_eq!(second[0].entries, [intent("w"), settled("w")]);
    assert_eq!(second[0].run.attempts, 0);
    assert_eq!(second[0].run.owner.as_deref(), Some("p"));
}

async fn a_renewed_lease_is_not(store: &dyn Store) {
    take(store, &[("a", "1"), ("b", "2")]).await;
    let first = claim(store, "o", 1).await;
    let kept = (first[0].run.id, first[0].fence);
    assert_eq!(store.renew(&[kept], at(20)).await.unwrap(), []);
    let second = claim(store, "p", 11).await;
    assert_eq!(ids(&second), [first[1].run.id]);
    let both = [kept, (first[1].run.id, first[1].fence), (RunId(999), Fence(1))];
    assert_eq!(store.renew(&both, at(30)).await.unwrap(), [first[1].run.id, RunId(999)]);
    assert_eq!(claim(store, "q", 29).await.len(), 1);
    assert_eq!(ids(&claim(store, "q", 30).await), [first[0].run.id]);
}

async fn a_stale_fence_is_refused_everywhere(store: &dyn Store) {
    take(store, &[("a", "1")]).await;
    let first = claim(store, "o", 1).await;
    let second = claim(store, "p", 11).await;
    let (run, stale) = (first[0].run.id, first[0].fence);
    assert_eq!(older(second[0].fence), stale);
    for fence in [stale, Fence(second[0].fence.0 + 1)] {
        assert_fenced(&store.append(run, fence, vec![started("stale")], vec![expectation("l", run)]).await);
        assert_fenced(&store.release(run, fence, end(State::Done), at(12)).await);
        assert_eq!(store.renew(&[(run, fence)], at(99)).await.unwrap(), [run]);
    }
    let (kept, entries) = store.show(run).await.unwrap().unwrap();
    assert_eq!((kept.state, kept.plan, entries.len()), (State::Running, None, 0));
    assert_eq!(store.expectations("l", 0).await.unwrap().after, []);
    release(store, &second[0], end(State::Done), 12).await;
    // A claim that ended does not stand any more.
    assert_fenced(&store.append(run, second[0].fence, vec![note("late")], Vec::new()).await);
    assert_fenced(&store.release(run, second[0].fence, end(State::Dead), at(13)).await);
    assert_eq!(state(store, run).await, State::Done);
}

async fn a_run_that_is_not_there_is_missing(store: &dyn Store) {
    let missing = |answer: Result<(), StoreError>| assert!(matches!(answer, Err(StoreError::Missing(_))), "{answer:?}");
    missing(store.append(RunId(5), Fence(1), vec![note("x")], Vec::new()).await);
    missing(store.release(RunId(5), Fence(1), end(State::Done), at(0)).await);
    missing(store.order(RunId(5), Order::Cancel, at(0)).await);
    assert_eq!(store.show(RunId(5)).await.unwrap(), None);
}

async fn two_claimers_never_share_a_run(store: &dyn Store) {
    let runs = (0..200).map(|n| change("l", &format!("k{n}"), &format!("d{n}")));
    store.take_in("l", batch(runs), at(0)).await.unwrap();
    let places = room(&[("l", 7)], 7);
    let claims = (0..40).map(|n| {
        let (places, owner) = (places.clone(), format!("o{n}"));
        async move { store.claim(&owner, &places, at(1), LEASE).await.unwrap() }
    });
    let claimed: Vec<_> = futures::future::join_all(claims).await.into_iter().flatten().collect();
    assert_eq!(claimed.len(), 200);
    assert_eq!(ids(&claimed).into_iter().collect::<BTreeSet<_>>().len(), 200);
}

async fn the_journal_keeps_its_order_over_claims(store: &dyn Store) {
    take(store, &[("a", "1")]).await;
    let first = claim(store, "o", 1).await;
    let run = first[0].run.id;
    store.append(run, first[0].fence, vec![started("p"), note("1"), note("2")], Vec::new()).await.unwrap();
    store.append(run, first[0].fence, Vec::new(), Vec::new()).await.unwrap();
    store.append(run, first[0].fence, vec![note("3")], Vec::new()).await.unwrap();
    let again = Release::Retry { at: at(2), reason: "x".to_owned(), entries: vec![note("4"), note("5")] };
    release(store, &first[0], again, 2).await;
    let second = claim(store, "o", 2).await;
    assert_eq!(second[0].entries, journal(store, run).await);
    store.append(run, second[0].fence, vec![note("6")], Vec::new()).await.unwrap();
    let expected = [started("p"), note("1"), note("2"), note("3"), note("4"), note("5"), note("6")];
    assert_eq!(journal(store, run).await, expected);
}

async fn started_marks_the_plan(store: &dyn Store) {
    take(store, &[("a", "1"), ("b", "2")]).await;
    let claimed = claim(store, "o", 1).await;
    let plan = async |run| store.show(run).await.unwrap().unwrap().0.plan.map(|plan| plan.0);
    store.append(claimed[0].run.id, claimed[0].fence, vec![started("p1"), note("x")], Vec::new()).await.unwrap();
    assert_eq!(plan(claimed[0].run.id).await.as_deref(), Some("p1"));
    store.append(claimed[0].run.id, claimed[0].fence, vec![note("y")], Vec::new()).await.unwrap();
    assert_eq!(plan(claimed[0].run.id).await.as_deref(), Some("p1"));
    let whole = Release::End { state: State::Done, reason: None, entries: vec![started("p2"), note("z")] };
    release(store, &claimed[1], whole, 2).await;
    assert_eq!(plan(claimed[1].run.id).await.as_deref(), Some("p2"));
}

async fn next_due_is_the_next_time_that_matters(store: &dyn Store) {
    assert_eq!(store.next_due(at(0)).await.unwrap(), None);
    take(store, &[("a", "1"), ("b", "2")]).await;
    assert_eq!(store.next_due(at(0)).await.unwrap(), None);
    let claimed = claim(store, "o", 1).await;
    assert_eq!(store.next_due(at(1)).await.unwrap(), Some(at(11)));
    let again = Release::Retry { at: at(5), reason: "x".to_owned(), entries: Vec::new() };
    release(store, &claimed[0], again, 2).await;
    assert_eq!(store.next_due(at(2)).await.unwrap(), Some(at(5)));
    assert_eq!(store.next_due(at(5)).await.unwrap(), Some(at(11)));
    assert_eq!(store.next_due(at(11)).await.unwrap(), None);
}

/// A run in each state, by what brings it there.
async fn in_state(store: &dyn Store, name: &str, wanted: State) -> RunId {
    let mut new = change("l", name, name);
    if matches!(wanted, State::Held | State::Skipped) {
        new.state = wanted;
    }
    let run = store.take_in("l", batch([new]), at(0)).await.unwrap()[0];
    if matches!(wanted, State::Ready | State::Held | State::Skipped) {
        return run;
    }
    if wanted == State::Cancelled {
        store.order(run, Order::Cancel, at(1)).await.unwrap();
        return run;
    }
    let claimed = store.claim("o", &room(&[("l", 1)], 1), at(1), LEASE * 100).await.unwrap();
    assert_eq!(ids(&claimed), [run]);
    store.append(run, claimed[0].fence, vec![started("p"), intent("w")], Vec::new()).await.unwrap();
    match wanted {
        State::Retry => {
            let again = Release::Retry { at: at(900), reason: "x".to_owned(), entries: Vec::new() };
            release(store, &claimed[0], again, 2).await;
        }
        State::Done | State::Dead | State::Unsure => {
            let end = Release::End { state: wanted, reason: Some("x".to_owned()), entries: Vec::new() };
            release(store, &claimed[0], end, 2).await;
        }
        State::Waiting => release(store, &claimed[0], park(900, &[], run, false), 2).await,
        State::Running | State::Ready | State::Held | State::Skipped | State::Cancelled => {}
    }
    run
}

async fn orders_are_legal_in_their_states_only(store: &dyn Store) {
    for wanted in State::ALL {
        for (number, order) in ORDERS.into_iter().enumerate() {
            let run = in_state(store, &format!("{wanted}{number}"), wanted).await;
            assert_eq!(state(store, run).await, wanted);
            let legal = match order {
                Order::Retry | Order::RetryCurrent => {
                    matches!(wanted, State::Retry | State::Dead | State::Unsure | State::Held)
                }
                Order::SettleDone | Order::SettleAgain => wanted == State::Unsure,
                Order::Cancel => !matches!(wanted, State::Done | State::Skipped | State::Cancelled),
            };
            let before = store.show(run).await.unwrap();
            let answer = store.order(run, order.clone(), at(3)).await;
            if legal {
                answer.unwrap();
                let expected = if order == Order::Cancel { State::Cancelled } else { State::Ready };
                let kept = store.show(run).await.unwrap().unwrap().0;
                assert_eq!((kept.state, kept.attempts == 0 || order == Order::Cancel), (expected, true));
                assert_eq!(kept.finished, (order == Order::Cancel).then(|| at(3)));
                assert_eq!(kept.plan.is_none(), order == Order::RetryCurrent || before.unwrap().0.plan.is_none());
            } else {
                assert_state(&answer);
                assert_eq!(store.show(run).await.unwrap(), before);
            }
            if !matches!(state(store, run).await, State::Done | State::Skipped | State::Cancelled) {
                store.order(run, Order::Cancel, at(4)).await.unwrap();
            }
        }
    }
}

async fn a_settled_run_says_so_in_its_journal(store: &dyn Store) {
    for (name, order, expected) in [("a", Order::SettleDone, true), ("b", Order::SettleAgain, false)] {
        let run = in_state(store, name, State::Unsure).await;
        store.order(run, order, at(3)).await.unwrap();
        let claimed = claim(store, "o", 4).await;
        assert_eq!(ids(&claimed), [run]);
        let Some(Entry::Decided { address, done, why: _, at: when }) = claimed[0].entries.last() else {
            panic!("{:?}", claimed[0].entries)
        };
        assert_eq!((address.0.as_str(), *done, *when), ("w", expected, at(3)));
        // The write is decided now: nothing is left to settle.
        release(store, &claimed[0], end(State::Unsure), 5).await;
        assert_state(&store.order(run, Order::SettleDone, at(6)).await);
    }
}

async fn a_reopened_run_goes_before_later_ones(store: &dyn Store) {
    let new = take(store, &[("a", "1"), ("a", "2"), ("a", "3")]).await;
    let claimed = claim(store, "o", 1).await;
    release(store, &claimed[0], end(State::Dead), 2).await;
    // The second has the turn and loses it; the third never had it.
    store.order(new[0], Order::Retry, at(3)).await.unwrap();
    let claimed = claim(store, "o", 4).await;
    assert_eq!(ids(&claimed), [new[0]]);
    release(store, &claimed[0], end(State::Dead), 5).await;
    // The second runs: the reopened first waits for it.
    let second = claim(store, "o", 6).await;
    assert_eq!(ids(&second), [new[1]]);
    store.order(new[0], Order::Retry, at(7)).await.unwrap();
    assert_eq!(claim(store, "o", 8).await, []);
    release(store, &second[0], end(State::Done), 9).await;
    let claimed = claim(store, "o", 10).await;
    assert_eq!(ids(&claimed), [new[0]]);
    release(store, &claimed[0], end(State::Done), 11).await;
    assert_eq!(ids(&claim(store, "o", 12).await), [new[2]]);
}

async fn a_cancelled_run_is_taken_from_its_runner(store: &dyn Store) {
    let new = take(store, &[("a", "1"), ("a", "2")]).await;
    let claimed = claim(store, "o", 1).await;
    store.order(new[0], Order::Cancel, at(2)).await.unwrap();
    assert_eq!(store.renew(&[(new[0], claimed[0].fence)], at(99)).await.unwrap(), [new[0]]);
    assert_fenced(&store.append(new[0], claimed[0].fence, vec![note("late")], Vec::new()).await);
    // What the runner has under way may go on until its lease is over; the next one waits for that.
    assert_eq!(claim(store, "p", 10).await, []);
    assert_eq!(ids(&claim(store, "p", 11).await), [new[1]]);
}

async fn a_listing_is_filtered(store: &dyn Store) {
    let of = |listen: &'static str| (0..5).map(move |n| change(listen, &format!("k{n}"), &format!("d{n}")));
    let first = store.take_in("l", batch(of("l")), at(0)).await.unwrap();
    let second = store.take_in("m", batch(of("m")), at(100)).await.unwrap();
    let claimed = claim(store, "o", 1).await;
    release(store, &claimed[0], end(State::Done), 2).await;
    let list = async |filter: Filter| -> Vec<RunId> {
        store.list(&filter).await.unwrap().into_iter().map(|run| run.id).collect()
    };
    let all = || Filter { oldest_first: true, ..Filter::default() };
    let newest: Vec<_> = first.iter().chain(&second).rev().copied().collect();
    assert_eq!(list(Filter::default()).await, newest);
    assert_eq!(list(Filter { limit: 2, ..Filter::default() }).await, newest[..2]);
    assert_eq!(list(Filter { listen: Some("m".to_owned()), ..all() }).await, second);
    assert_eq!(list(Filter { listen: Some("n".to_owned()), ..all() }).await, []);
    assert_eq!(list(Filter { key: Some("k1".to_owned()), ..all() }).await, [first[1], second[1]]);
    assert_eq!(list(Filter { since: Some(at(100)), ..all() }).await, second);
    assert_eq!(list(Filter { after: Some(second[3]), ..all() }).await, second[4..]);
    assert_eq!(list(Filter { states: vec![State::Done], ..all() }).await, first[..1]);
    assert_eq!(list(Filter { states: vec![State::Done, State::Running], ..all() }).await, first);
    let counts: Vec<_> = store.counts().await.unwrap().into_iter().collect();
    let expected = [("l", State::Running, 4), ("l", State::Done, 1), ("m", State::Ready, 5)];
    assert_eq!(counts, expected.map(|(listen, state, count)| ((listen.into(), state), count)));
}
