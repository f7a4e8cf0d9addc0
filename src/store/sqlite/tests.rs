//! What only this store can show: its statements, its indexes, its groups, its file. The promises that every store
//! keeps are tested on all of them in `tests/live/store_contract.rs`.

use std::path::Path;

use sqlx::{Executor as _, Row as _, SqlSafeStr as _};

use super::*;
use crate::store::Runs as _;

fn instant(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

fn change(listen: &str, key: &str, delivery: &str) -> NewRun {
    NewRun {
        listen: listen.into(),
        key: Key(key.into()),
        delivery: delivery.into(),
        kind: lf_module::call::ChangeKind::Created,
        record: [("Name", "Ann")].into_iter().map(|(name, value)| (name, value.into())).collect(),
        before: None,
        fields: None,
        debounce: None,
        at: instant(0),
        by: None,
        depth: 0,
        cause: None,
        state: State::Ready,
        reason: None,
    }
}

fn batch(runs: Vec<NewRun>) -> TakeIn {
    TakeIn { runs, ..TakeIn::default() }
}

fn room(listen: &str, places: u32) -> Room {
    Room { listens: [(listen.into(), places)].into(), total: places }
}

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnection::connect_with(&open::options(path, Durability::Full)).await.unwrap()
}

#[tokio::test]
async fn every_statement_is_understood_by_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(SqliteStore::open(&path, Durability::Full).await.unwrap());
    let mut connection = raw(&path).await;
    let many = [
        &desk::LOAD,
        &standing::STORE,
        &standing::PLAN,
        &standing::DUE,
        &claim::CLAIM,
        &standing::PASS_TURN,
        &journal::ENTRIES,
        &journal::EXPECT,
        &taking::ADD_LISTENS,
        &taking::FIND_LISTENS,
        &taking::FULFIL,
        &taking::SEEN,
        &taking::FORGET,
        &taking::DELIVER,
        &taking::OPEN,
        &taking::RUNS,
        &taking::CHANGES,
        &claim::CLAIMABLE,
        &claim::WHOLE,
        &claim::JOURNALS,
        &small::PRUNE_ENTRIES,
        &small::PRUNE_CHANGES,
        &small::PRUNE_RUNS,
        &reads::SEEN,
        &reads::VERSIONS,
    ];
    let one = [
        desk::VERSION,
        desk::OFF,
        standing::RUNNING,
        standing::TAKE_TURN,
        taking::MOVE,
        taking::LAST_RUN,
        taking::LAST_DELIVERY,
        taking::DELIVERED,
    ];
    let texts = one.iter().chain(orders::STATEMENTS).chain(small::STATEMENTS).map(|text| text.into_sql_str());
    let built = reads::statements().into_iter().map(|text| sqlx::AssertSqlSafe(text).into_sql_str());
    for text in many.iter().flat_map(|rows| rows.all()).chain(texts).chain(built) {
        let said = text.as_str().to_owned();
        if let Err(why) = connection.prepare(text).await {
            panic!("{why}: {said}");
        }
    }
}

#[tokio::test]
async fn no_hot_statement_walks_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(SqliteStore::open(&path, Durability::Full).await.unwrap());
    let mut connection = raw(&path).await;
    let hot = [
        &desk::LOAD,
        &standing::STORE,
        &standing::PLAN,
        &standing::DUE,
        &claim::CLAIM,
        &standing::PASS_TURN,
        &taking::OPEN,
        &claim::CLAIMABLE,
        &claim::WHOLE,
        &claim::JOURNALS,
    ];
    for text in hot.iter().flat_map(|rows| rows.all()) {
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", text.as_str()));
        for row in connection.fetch_all(sqlx::query(explain)).await.unwrap() {
            let step: String = row.get(3);
            let walks = ["run", "entry", "seen", "change", "r", "e", "o", "c"]
                .iter()
                .any(|table| step == format!("SCAN {table}") || step.starts_with(&format!("SCAN {table} ")));
            assert!(!walks, "{step}: {}", text.as_str());
        }
    }
}

#[tokio::test]
async fn one_refused_change_does_not_fail_those_that_share_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("state.db"), Durability::Full).await.unwrap();
    let runs = (0..50).map(|n| change("l", &format!("k{n}"), &format!("d{n}"))).collect();
    store.take_in("l", batch(runs), instant(0)).await.unwrap();
    let claimed = store.claim("a", &room("l", 50), instant(1), Duration::from_secs(10)).await.unwrap();
    assert_eq!(claimed.len(), 50);
    let release = |claim: &Claimed| {
        let fence = if claim.run.id.0 % 5 == 0 { Fence(claim.fence.0 + 1) } else { claim.fence };
        let end = Release::End { state: State::Done, reason: None, entries: Vec::new() };
        let store = store.clone();
        let id = claim.run.id;
        tokio::spawn(async move { (id, store.release(id, fence, end, instant(2)).await) })
    };
    for task in claimed.iter().map(release).collect::<Vec<_>>() {
        let (id, answer) = task.await.unwrap();
        assert_eq!(answer.is_ok(), id.0 % 5 != 0, "{id}: {answer:?}");
    }
}

#[tokio::test]
async fn a_full_disk_takes_nothing_and_the_store_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let store = SqliteStore::open(&path, Durability::Full).await.unwrap();
    store.take_in("l", batch(vec![change("l", "a", "d0")]), instant(0)).await.unwrap();
    store.small(Small::LimitPages { pages: 1 }).await.unwrap();
    let big = "x".repeat(1 << 20);
    let mut large = change("l", "b", "d1");
    large.record.set("Text", big.as_str().into());
    let answer = store.take_in("l", batch(vec![large.clone()]), instant(0)).await;
    assert!(matches!(&answer, Err(StoreError::Away(why)) if why.contains("disk is full")), "{answer:?}");
    assert_eq!(store.list(&Filter::default()).await.unwrap().len(), 1);
    // The failed connection is replaced, and with it the limit is gone: there is room again.
    let answer = store.take_in("l", batch(vec![large]), instant(0)).await;
    assert_eq!(answer.unwrap().len(), 1);
    assert_eq!(store.list(&Filter::default()).await.unwrap().len(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_and_its_folder_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".listen-fire").join("state.db");
    let store = SqliteStore::open(&path, Durability::Full).await.unwrap();
    store.take_in("l", batch(vec![change("l", "a", "d0")]), instant(0)).await.unwrap();
    let lock = store.lock_runner().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for file in path.parent().unwrap().read_dir().unwrap() {
        let file = file.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    drop(lock);
}

#[tokio::test]
async fn a_second_runner_is_refused_by_name_until_the_first_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let first = SqliteStore::open(&path, Durability::Full).await.unwrap();
    let second = SqliteStore::open(&path, Durability::Full).await.unwrap();
    let lock = first.lock_runner().unwrap();
    let refused = second.lock_runner().unwrap_err().to_string();
    assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
    // Whoever only looks, or hands in a change, may share it.
    second.take_in("l", batch(vec![change("l", "a", "d0")]), instant(0)).await.unwrap();
    assert_eq!(first.list(&Filter::default()).await.unwrap().len(), 1);
    drop(lock);
    second.lock_runner().unwrap();
}

#[tokio::test]
async fn a_newer_a_damaged_and_a_foreign_file_are_refused_by_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = async |path: &Path| match SqliteStore::open(path, Durability::Full).await {
        Err(StoreError::Unusable(why)) => why,
        other => panic!("{other:?}"),
    };

    let newer = folder.path().join("newer.db");
    drop(SqliteStore::open(&newer, Durability::Full).await.unwrap());
    let mut connection = raw(&newer).await;
    let next = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                VALUES (7, 'later', true, x'00', 0)";
    connection.execute(next).await.unwrap();
    connection.close().await.unwrap();
    let why = refusal(&newer).await;
    assert!(why.contains("version 7") && why.contains("up to 1"), "{why}");

    let damaged = folder.path().join("damaged.db");
    std::fs::write(&damaged, "this is no database, and it is longer than a header of one hundred bytes. ".repeat(9))
        .unwrap();
    let why = refusal(&damaged).await;
    assert!(why.contains("damaged, or not a listen-fire store"), "{why}");

    let foreign = folder.path().join("foreign.db");
    let mut connection =
        SqliteConnection::connect_with(&open::options(&foreign, Durability::Full).create_if_missing(true))
            .await
            .unwrap();
    connection.execute("CREATE TABLE recipe (name TEXT)").await.unwrap();
    connection.close().await.unwrap();
    let why = refusal(&foreign).await;
    assert!(why.contains("something else"), "{why}");
}

#[tokio::test]
async fn what_another_program_writes_is_seen_at_the_next_step_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let ours = SqliteStore::open(&path, Durability::Full).await.unwrap();
    let theirs = SqliteStore::open(&path, Durability::Full).await.unwrap();
    ours.take_in("l", batch(vec![change("l", "a", "d0"), change("l", "b", "d1")]), instant(0)).await.unwrap();
    let lease = Duration::from_secs(10);
    let [a, b] = ours.claim("we", &room("l", 2), instant(1), lease).await.unwrap().try_into().unwrap();
    let attempt = |number| vec![Entry::Attempt { number, why: "x".to_owned(), at: instant(2) }];
    ours.append(a.run.id, a.fence, attempt(1), Vec::new()).await.unwrap();
    // A person cancels one; the other's lease runs out, and another runner takes it over and goes on.
    theirs.order(a.run.id, Order::Cancel, instant(3)).await.unwrap();
    let [taken] = theirs.claim("they", &room("l", 2), instant(20), lease).await.unwrap().try_into().unwrap();
    theirs.append(taken.run.id, taken.fence, attempt(2), Vec::new()).await.unwrap();
    for claim in [&a, &b] {
        let answer = ours.append(claim.run.id, claim.fence, attempt(3), Vec::new()).await;
        assert!(matches!(answer, Err(StoreError::Fenced)), "{answer:?}");
    }
    let lost = ours.renew(&[(a.run.id, a.fence), (b.run.id, b.fence)], instant(30)).await.unwrap();
    assert_eq!(lost, [a.run.id, b.run.id]);
    // Ours again: what they wrote is in it.
    let [again] = ours.claim("we", &room("l", 2), instant(40), lease).await.unwrap().try_into().unwrap();
    assert_eq!(again.entries, attempt(2));
    ours.append(again.run.id, again.fence, attempt(4), Vec::new()).await.unwrap();
    let (_, entries) = theirs.show(again.run.id).await.unwrap().unwrap();
    assert_eq!(entries, [attempt(2), attempt(4)].concat());
}
