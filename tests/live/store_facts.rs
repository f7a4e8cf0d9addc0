//! What every store promises about small things by name, about what is kept for long, and over a restart.

use std::time::Duration;

use lf_lang::plan::{Plan, PlanId};
use lf_module::{Description, schema::TypeShape};
use listen_fire::store::{
    Filter, Pruned, Release, Retention, Sealed, State, Store, StoreError, TakeIn, Watched,
    memory::{Faultless, MemoryStore},
    sqlite::{Durability, SqliteStore},
};

use crate::store_sample::*;

on_every_store!(
    an_expectation_lives_until_it_is_fulfilled,
    of_a_listen_that_is_off_nothing_begins,
    a_refused_write_expects_nothing,
    an_identity_is_remembered,
    of_two_holds_the_later_stays,
    a_credential_is_put_used_and_removed,
    one_at_a_time_renews_a_credential,
    what_is_noted_is_known,
    holds_that_last_are_listed,
    a_plan_and_a_description_are_kept,
    upkeep_removes_what_is_past_its_time,
    upkeep_keeps_the_newest,
);

async fn an_expectation_lives_until_it_is_fulfilled(store: &dyn Store) {
    take(store, &[("a", "1")]).await;
    let claimed = claim(store, "o", 1).await;
    let run = claimed[0].run.id;
    let expect = vec![expectation("l", run), expectation("m", run)];
    store.append(run, claimed[0].fence, vec![intent("w")], expect).await.unwrap();
    let open = store.expectations("l", 0).await.unwrap().after;
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].1, expectation("l", run));
    let fulfilled = TakeIn { fulfilled: vec![open[0].0], ..batch([change("l", "e", "echo")]) };
    store.take_in("l", fulfilled, at(2)).await.unwrap();
    assert_eq!(store.expectations("l", 0).await.unwrap().after, []);
    // Each watcher has its own.
    let others = store.expectations("m", 0).await.unwrap();
    assert_eq!((others.total, others.after.len()), (1, 1));
    assert_eq!(store.expectations("m", others.after[0].0).await.unwrap(), Watched { total: 1, after: Vec::new() });
    assert_eq!(store.journals(&[run]).await.unwrap(), [(run, vec![intent("w")])].into());
}

async fn of_a_listen_that_is_off_nothing_begins(store: &dyn Store) {
    take(store, &[("a", "1"), ("b", "2"), ("c", "3")]).await;
    store.take_in("m", batch([change("m", "a", "1")]), at(0)).await.unwrap();
    let claimed = store.claim("o", &room(&[("l", 1)], 9), at(1), LEASE).await.unwrap();
    let (run, fence) = (claimed[0].run.id, claimed[0].fence);
    assert!(store.switch("l", true, at(2)).await.unwrap());
    assert!(!store.switch("l", true, at(3)).await.unwrap(), "it is off already");
    assert_eq!(store.switched_off().await.unwrap().into_iter().collect::<Vec<_>>(), [("l".into(), at(2))]);

    let both = room(&[("l", 9), ("m", 9)], 9);
    let other = store.claim("o", &both, at(4), LEASE).await.unwrap();
    assert_eq!(other.iter().map(|claim| claim.run.listen.as_str()).collect::<Vec<_>>(), ["m"]);
    let refused = store.append(run, fence, vec![note("read"), intent("w")], vec![expectation("m", run)]).await;
    assert!(matches!(refused, Err(StoreError::Off)), "{refused:?}");
    assert_fenced(&store.append(run, older(fence), vec![intent("w")], Vec::new()).await);
    assert_eq!((journal(store, run).await, store.expectations("m", 0).await.unwrap().after), (vec![], vec![]));
    // What is known by then is kept, and the run goes back to its place.
    store.append(run, fence, vec![settled("w")], Vec::new()).await.unwrap();
    release(store, &claimed[0], Release::Back { at: None, reason: None, entries: Vec::new() }, 5).await;
    let retried = Release::Retry { at: at(60), reason: "again".to_owned(), entries: Vec::new() };
    release(store, &other[0], retried, 5).await;
    assert_eq!(store.claim("o", &both, at(6), LEASE).await.unwrap(), []);
    assert_eq!(store.next_due(at(6)).await.unwrap(), Some(at(60)), "of the listen that is on");
    store.switch("m", true, at(6)).await.unwrap();
    assert_eq!(store.next_due(at(6)).await.unwrap(), None, "time alone moves nothing of a listen that is off");

    assert!(store.switch("l", false, at(7)).await.unwrap());
    assert!(!store.switch("l", false, at(7)).await.unwrap());
    assert_eq!(ids(&claim(store, "o", 8).await).len(), 3, "all that waited");
    assert_eq!(state(store, run).await, State::Running);
    // One that was never heard of can be off before it begins, and is forgotten with all else of it.
    assert!(store.switch("n", true, at(9)).await.unwrap());
    assert_eq!(store.listens().await.unwrap(), ["l", "m"]);
    store.drop_listen("n", at(9)).await.unwrap();
    store.drop_listen("m", at(9)).await.unwrap();
    assert!(store.switched_off().await.unwrap().is_empty());
}

async fn a_refused_write_expects_nothing(store: &dyn Store) {
    take(store, &[("a", "1")]).await;
    let claimed = claim(store, "o", 1).await;
    let run = claimed[0].run.id;
    let mut other = expectation("l", run);
    other.ty = "Person".into();
    let expect = vec![expectation("l", run), expectation("m", run), other.clone()];
    store.append(run, claimed[0].fence, Vec::new(), expect).await.unwrap();
    store.unexpect(run, &expectation("l", run)).await.unwrap();
    let left: Vec<_> = store.expectations("l", 0).await.unwrap().after.into_iter().map(|(_, left)| left).collect();
    assert_eq!(left, [other]);
    assert_eq!(store.expectations("m", 0).await.unwrap().after, []);
}

async fn an_identity_is_remembered(store: &dyn Store) {
    assert_eq!(store.identity("crm", "Company", "acme").await.unwrap(), None);
    store.remember_identity("crm", "Company", "acme", &key("1"), at(0)).await.unwrap();
    store.remember_identity("crm", "Person", "acme", &key("2"), at(0)).await.unwrap();
    assert_eq!(store.identity("crm", "Company", "acme").await.unwrap(), Some(key("1")));
    store.remember_identity("crm", "Company", "acme", &key("3"), at(1)).await.unwrap();
    assert_eq!(store.identity("crm", "Company", "acme").await.unwrap(), Some(key("3")));
    assert_eq!(store.identity("crm", "Person", "acme").await.unwrap(), Some(key("2")));
}

async fn of_two_holds_the_later_stays(store: &dyn Store) {
    assert_eq!(store.held("crm").await.unwrap(), None);
    store.hold("crm", at(10), "429").await.unwrap();
    store.hold("crm", at(5), "503").await.unwrap();
    assert_eq!(store.held("crm").await.unwrap(), Some((at(10), "429".to_owned())));
    store.hold("crm", at(20), "503").await.unwrap();
    assert_eq!(store.held("crm").await.unwrap(), Some((at(20), "503".to_owned())));
    assert_eq!(store.held("other").await.unwrap(), None);
    store.lift("crm").await.unwrap();
    store.lift("crm").await.unwrap();
    assert_eq!(store.held("crm").await.unwrap(), None);
}

fn sealed(name: &str) -> Sealed {
    Sealed {
        name: name.into(),
        module: "@lf/mcp".into(),
        kind: "token".into(),
        key_id: "k1".into(),
        sealed: vec![0, 255, 7],
        last_used: None,
        works: None,
    }
}

async fn a_credential_is_put_used_and_removed(store: &dyn Store) {
    store.put(&sealed("b")).await.unwrap();
    store.put(&sealed("a")).await.unwrap();
    assert_eq!(store.get("b").await.unwrap(), Some(sealed("b")));
    assert_eq!(store.get("c").await.unwrap(), None);
    store.used("b", at(3), false).await.unwrap();
    let used = Sealed { last_used: Some(at(3)), works: Some(false), ..sealed("b") };
    assert_eq!(store.all().await.unwrap(), [sealed("a"), used]);
    assert!(matches!(store.used("c", at(3), true).await, Err(StoreError::Missing(_))));
    let renewed = Sealed { sealed: vec![1], ..sealed("b") };
    store.put(&renewed).await.unwrap();
    assert_eq!(store.get("b").await.unwrap(), Some(renewed));
    assert!(store.remove("b").await.unwrap());
    assert!(!store.remove("b").await.unwrap());
    assert_eq!(store.all().await.unwrap(), [sealed("a")]);
}

async fn one_at_a_time_renews_a_credential(store: &dyn Store) {
    assert!(!store.lock("b", "one", at(0), at(30)).await.unwrap(), "there is none");
    store.put(&sealed("b")).await.unwrap();
    store.used("b", at(3), true).await.unwrap();
    assert!(store.lock("b", "one", at(0), at(30)).await.unwrap());
    assert!(store.lock("b", "one", at(1), at(31)).await.unwrap(), "it is its own");
    assert!(!store.lock("b", "two", at(2), at(32)).await.unwrap());
    let new = Sealed { sealed: vec![1], key_id: "k2".into(), ..sealed("b") };
    assert!(!store.reseal(&new, "two").await.unwrap());
    assert_eq!(store.get("b").await.unwrap().unwrap().sealed, [0, 255, 7]);
    assert!(store.reseal(&new, "one").await.unwrap());
    let kept = Sealed { last_used: Some(at(3)), works: Some(true), ..new.clone() };
    assert_eq!(store.get("b").await.unwrap(), Some(kept));
    assert!(!store.reseal(&new, "one").await.unwrap(), "it was given back");
    // A lock that was given back, or whose time is over, is free; what stalled finds itself without it.
    assert!(store.lock("b", "two", at(2), at(32)).await.unwrap());
    store.unlock("b", "one").await.unwrap();
    assert!(!store.lock("b", "one", at(31), at(40)).await.unwrap());
    assert!(store.lock("b", "one", at(32), at(40)).await.unwrap());
    assert!(!store.reseal(&new, "two").await.unwrap());
    store.unlock("b", "one").await.unwrap();
    assert!(store.lock("b", "two", at(33), at(60)).await.unwrap());
    // A person's new credential is not overwritten by who was renewing the old one.
    store.put(&sealed("b")).await.unwrap();
    assert!(!store.reseal(&new, "two").await.unwrap());
    assert_eq!(store.get("b").await.unwrap(), Some(sealed("b")));
}

async fn what_is_noted_is_known(store: &dyn Store) {
    assert_eq!(store.noted("era").await.unwrap(), None);
    store.note("era", "legacy", at(0)).await.unwrap();
    store.note("era", "modern", at(1)).await.unwrap();
    assert_eq!(store.noted("era").await.unwrap(), Some("modern".to_owned()));
}

async fn holds_that_last_are_listed(store: &dyn Store) {
    store.hold("b", at(10), "429").await.unwrap();
    store.hold("a", at(20), "503").await.unwrap();
    let (a, b) = (("a".into(), at(20), "503".to_owned()), ("b".into(), at(10), "429".to_owned()));
    assert_eq!(store.holds(at(9)).await.unwrap(), [a.clone(), b]);
    assert_eq!(store.holds(at(10)).await.unwrap(), [a]);
}

fn plan() -> Plan {
    Plan {
        format: 1,
        connections: Vec::new(),
        listens: Vec::new(),
        watches: Vec::new(),
        functions: Vec::new(),
        constants: Vec::new(),
        exprs: Vec::new(),
        places: Vec::new(),
        texts: std::collections::BTreeMap::new(),
    }
}

async fn a_plan_and_a_description_are_kept(store: &dyn Store) {
    let id = PlanId("abc".into());
    assert_eq!(store.plan(&id).await.unwrap(), None);
    store.save_plan(&id, &plan(), at(0)).await.unwrap();
    store.save_plan(&id, &plan(), at(1)).await.unwrap();
    assert_eq!(store.plan(&id).await.unwrap(), Some(plan()));

    assert_eq!(store.description("crm").await.unwrap(), None);
    let described = |name: &str| Description {
        types: vec![TypeShape { name: name.into(), ..TypeShape::default() }],
        ..Description::default()
    };
    store.save_description("crm", &described("Company"), at(0)).await.unwrap();
    store.save_description("crm", &described("Person"), at(9)).await.unwrap();
    assert_eq!(store.description("crm").await.unwrap(), Some((described("Person"), at(9))));
}

async fn upkeep_removes_what_is_past_its_time(store: &dyn Store) {
    let new = take(store, &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")]).await;
    let claimed = claim(store, "o", 1).await;
    let expect = vec![expectation("l", new[3])];
    store.append(claimed[3].run.id, claimed[3].fence, vec![note("x")], expect).await.unwrap();
    release(store, &claimed[0], end(State::Done), 10).await;
    release(store, &claimed[1], end(State::Done), 100).await;
    release(store, &claimed[2], end(State::Dead), 10).await;
    store.order(new[4], listen_fire::store::Order::Cancel, at(10)).await.unwrap();
    store.remember_identity("crm", "Company", "acme", &key("1"), at(10)).await.unwrap();
    let retention = Retention {
        runs: Duration::from_secs(50),
        most: None,
        deliveries: Duration::from_secs(1000),
        expectations: Duration::from_secs(50),
    };
    let pruned = store.prune(&retention, at(100)).await.unwrap();
    assert_eq!(pruned, Pruned { runs: 2, deliveries: 0, identities: 0, expectations: 1 });
    let left: Vec<_> = store.list(&Filter::default()).await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(left, [new[3], new[2], new[1]]);
    assert_eq!(store.expectations("l", 0).await.unwrap().after, []);
    assert_eq!(journal(store, new[1]).await, [note("ended")]);
    // The delivery outlives its run; an id is never given twice.
    assert_eq!(take(store, &[("a", "1")]).await, []);
    let pruned = store.prune(&retention, at(2000)).await.unwrap();
    assert_eq!(pruned, Pruned { runs: 1, deliveries: 5, identities: 1, expectations: 0 });
    let again = take(store, &[("a", "1")]).await;
    assert!(again[0] > new[4]);
}

async fn upkeep_keeps_the_newest(store: &dyn Store) {
    let runs = (0..30).map(|n| change("l", &format!("k{n}"), &format!("d{n}")));
    let new = store.take_in("l", batch(runs), at(0)).await.unwrap();
    for claim in &claim(store, "o", 1).await[..20] {
        release(store, claim, end(State::Done), 2).await;
    }
    let retention = Retention { most: Some(5), ..Retention::default() };
    assert_eq!(store.prune(&retention, at(3)).await.unwrap().runs, 15);
    let left: Vec<_> = store
        .list(&Filter { oldest_first: true, ..Filter::default() })
        .await
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(left, new[15..]);
    assert_eq!(store.prune(&retention, at(3)).await.unwrap(), Pruned::default());
}

/// Everything that a restarted runner needs, put there by the one before.
async fn before_restart(store: &dyn Store) {
    let all = TakeIn {
        seen: vec![seen("a", "v")],
        position: position("c", true),
        ..batch([change("l", "a", "1"), change("l", "a", "2"), change("l", "b", "3")])
    };
    store.take_in("l", all, at(0)).await.unwrap();
    let claimed = claim(store, "o", 1).await;
    let run = claimed[0].run.id;
    store.append(run, claimed[0].fence, vec![started("p"), intent("w")], vec![expectation("l", run)]).await.unwrap();
    let again = Release::Retry { at: at(60), reason: "away".to_owned(), entries: vec![note("away")] };
    release(store, &claimed[1], again, 2).await;
    store.remember_identity("crm", "Company", "acme", &key("1"), at(0)).await.unwrap();
    store.hold("crm", at(10), "429").await.unwrap();
    store.put(&sealed("a")).await.unwrap();
    store.save_plan(&PlanId("p".into()), &plan(), at(0)).await.unwrap();
    store.save_description("crm", &Description::default(), at(0)).await.unwrap();
}

async fn after_restart(store: &dyn Store) {
    assert_eq!(store.position("l").await.unwrap(), position("c", true));
    assert_eq!(store.seen("l", &[key("a")]).await.unwrap().len(), 1);
    assert_eq!(take(store, &[("a", "1"), ("a", "2"), ("b", "3")]).await, []);
    assert_eq!(store.expectations("l", 0).await.unwrap().after.len(), 1);
    assert_eq!(store.identity("crm", "Company", "acme").await.unwrap(), Some(key("1")));
    assert_eq!(store.held("crm").await.unwrap(), Some((at(10), "429".to_owned())));
    assert_eq!(store.get("a").await.unwrap(), Some(sealed("a")));
    assert_eq!(store.plan(&PlanId("p".into())).await.unwrap(), Some(plan()));
    assert_eq!(store.description("crm").await.unwrap(), Some((Description::default(), at(0))));
    assert_eq!(store.next_due(at(2)).await.unwrap(), Some(at(11)));
    let first = claim(store, "p", 11).await;
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].entries, [started("p"), intent("w")]);
    release(store, &first[0], end(State::Done), 12).await;
    assert_eq!(claim(store, "p", 12).await.len(), 1);
    assert_eq!(claim(store, "p", 60).await.last().unwrap().entries, [note("away")]);
}

#[tokio::test]
async fn memory_keeps_everything_over_a_restart_of_the_host() {
    let store = MemoryStore::default();
    before_restart(&store).await;
    after_restart(&store.reopen(std::sync::Arc::new(Faultless))).await;
}

#[tokio::test]
async fn sqlite_keeps_everything_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let store = SqliteStore::open(&path, Durability::Full).await.unwrap();
    before_restart(&store).await;
    drop(store);
    after_restart(&SqliteStore::open(&path, Durability::Full).await.unwrap()).await;
}
