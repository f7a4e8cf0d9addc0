//! Small data for the tests of the stores.

use std::time::Duration;

use jiff::Timestamp;
use lf_lang::{
    plan::{
        PlanId,
        ir::{FunctionIndex, PlaceId},
    },
    run::{
        Address, Entry, Fired, Request, Settlement,
        entry::{Intent, Sending},
    },
    types::ConnectionId,
};
use lf_module::{Key, Record, Value, call::ChangeKind};
use listen_fire::store::{
    Claimed, Expectation, Fence, NewRun, Order, Park, Position, Release, Room, RunId, Seen, State, Store, StoreError,
    TakeIn,
};

pub(crate) const LEASE: Duration = Duration::from_secs(10);

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

pub(crate) fn key(key: &str) -> Key {
    Key(key.into())
}

pub(crate) fn fields(name: &str) -> Record {
    [("Name", Value::text(name)), ("Count", Value::from(3)), ("Since", Value::DateTime(at(0)))].into_iter().collect()
}

pub(crate) fn change(listen: &str, of: &str, delivery: &str) -> NewRun {
    NewRun {
        listen: listen.into(),
        key: key(of),
        delivery: delivery.into(),
        kind: ChangeKind::Updated,
        record: fields(delivery),
        before: Some(fields("before")),
        fields: None,
        debounce: None,
        at: at(-5),
        by: Some("ann".into()),
        depth: 2,
        cause: Some(RunId(7)),
        state: State::Ready,
        reason: None,
    }
}

pub(crate) fn batch(runs: impl IntoIterator<Item = NewRun>) -> TakeIn {
    TakeIn { runs: runs.into_iter().collect(), ..TakeIn::default() }
}

pub(crate) fn position(cursor: &str, listing: bool) -> Option<Position> {
    Some(Position { cursor: Some(lf_module::Cursor(cursor.into())), baseline_done: true, listing })
}

pub(crate) fn seen(of: &str, version: &str) -> Seen {
    Seen { key: key(of), version: version.into(), record: fields(version) }
}

pub(crate) fn room(places: &[(&str, u32)], total: u32) -> Room {
    Room { listens: places.iter().map(|(listen, places)| ((*listen).into(), *places)).collect(), total }
}

pub(crate) fn started(plan: &str) -> Entry {
    Entry::Started {
        plan: PlanId(plan.into()),
        fired: Fired { function: FunctionIndex(0), args: vec![Value::record(fields("x"))], now: at(0) },
    }
}

pub(crate) fn intent(address: &str) -> Entry {
    Entry::Intent(Box::new(Intent {
        address: Address(address.into()),
        place: PlaceId(1),
        connection: ConnectionId(0),
        request: Request::Delete { ty: "Issue".into(), key: key("1") },
        sending: Sending::Delete { key: key("1"), idempotency: "once".into() },
        at: at(0),
        until: at(30),
    }))
}

pub(crate) fn settled(address: &str) -> Entry {
    Entry::Settled { address: Address(address.into()), place: PlaceId(1), settlement: Settlement::Deleted, at: at(1) }
}

pub(crate) fn note(why: &str) -> Entry {
    Entry::Attempt { number: 1, why: why.to_owned(), at: at(1) }
}

pub(crate) fn end(state: State) -> Release {
    Release::End { state, reason: Some("ended".to_owned()), entries: vec![note("ended")] }
}

pub(crate) fn expectation(watcher: &str, run: RunId) -> Expectation {
    Expectation {
        watcher: watcher.into(),
        connection: "crm".into(),
        ty: "Company".into(),
        key: None,
        fields: fields("written"),
        run,
        listen: "l".into(),
        depth: 1,
        at: at(0),
    }
}

/// Takes in changes of the listen `l`: (key, delivery).
pub(crate) async fn take(store: &dyn Store, changes: &[(&str, &str)]) -> Vec<RunId> {
    let runs = changes.iter().map(|(of, delivery)| change("l", of, delivery));
    store.take_in("l", batch(runs), at(0)).await.unwrap()
}

/// Claims everything of the listen `l` at that second.
pub(crate) async fn claim(store: &dyn Store, owner: &str, second: i64) -> Vec<Claimed> {
    store.claim(owner, &room(&[("l", 1000)], 1000), at(second), LEASE).await.unwrap()
}

/// The ids of a claim.
pub(crate) fn ids(claimed: &[Claimed]) -> Vec<RunId> {
    claimed.iter().map(|claim| claim.run.id).collect()
}

pub(crate) async fn release(store: &dyn Store, claim: &Claimed, release: Release, second: i64) {
    store.release(claim.run.id, claim.fence, release, at(second)).await.unwrap();
}

pub(crate) async fn state(store: &dyn Store, run: RunId) -> State {
    store.show(run).await.unwrap().unwrap().0.state
}

pub(crate) async fn journal(store: &dyn Store, run: RunId) -> Vec<Entry> {
    store.show(run).await.unwrap().unwrap().1
}

#[track_caller]
pub(crate) fn assert_fenced<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::Fenced)), "{answer:?}");
}

#[track_caller]
pub(crate) fn assert_state<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::State(_))), "{answer:?}");
}

pub(crate) fn older(fence: Fence) -> Fence {
    Fence(fence.0 - 1)
}

pub(crate) const ORDERS: [Order; 5] =
    [Order::Retry, Order::RetryCurrent, Order::SettleDone, Order::SettleAgain, Order::Cancel];

/// One test for each promise and each store.
macro_rules! on_every_store {
    ($($promise:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $promise() {
                super::$promise(&listen_fire::store::memory::MemoryStore::default()).await;
            })*
        }
        mod sqlite {
            use listen_fire::store::sqlite::{Durability, SqliteStore};
            $(#[tokio::test]
            async fn $promise() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("state.db");
                super::$promise(&SqliteStore::open(&path, Durability::Full).await.unwrap()).await;
            })*
        }
    };
}
pub(crate) use on_every_store;

/// How a run is parked until then.
pub(crate) fn park(time: i64, awaits: &[&str], after: RunId, go: bool) -> Release {
    let awaits = awaits.iter().map(|name| (*name).into()).collect();
    Release::Park(Park { at: at(time), awaits, after, go, reason: "waits".to_owned(), entries: Vec::new() })
}
