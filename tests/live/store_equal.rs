//! The same changes in the same order give the same answers and the same content on every store.

use std::time::Duration;

use listen_fire::store::{
    Fence, Filter, Met, Order, Release, Retention, Room, RunId, State, Store, TakeIn,
    memory::MemoryStore,
    sqlite::{Durability, SqliteStore},
};
use proptest::prelude::*;

use crate::store_sample::*;

const LISTENS: [&str; 2] = ["l", "m"];

/// One change or question, in small numbers so that things meet.
#[derive(Debug, Clone)]
enum Act {
    TakeIn { listen: usize, runs: Vec<(u8, u8, State)>, seen: Vec<u8>, forget: Vec<u8>, listing: Option<bool> },
    DropListen { listen: usize },
    Claim { places: [u32; 2], total: u32, lease: u64 },
    Renew { claim: usize, stale: bool },
    Append { claim: usize, stale: bool, what: u8 },
    Release { claim: usize, stale: bool, how: u8 },
    Order { run: i64, order: usize },
    Fulfil { listen: usize, id: i64 },
    Switch { listen: usize, off: bool },
    Unexpect { run: i64 },
    Prune { runs: u64, most: Option<u64> },
    Pass { seconds: i64 },
}

fn act() -> impl Strategy<Value = Act> {
    let state =
        prop_oneof![8 => Just(State::Ready), 1 => Just(State::Held), 1 => Just(State::Skipped), 1 => Just(State::Dead)];
    let keys = || prop::collection::vec(0..4_u8, 0..3);
    let taken = (0..2_usize, prop::collection::vec((0..3_u8, 0..40_u8, state), 0..5), keys(), keys());
    prop_oneof![
        4 => (taken, any::<Option<bool>>()).prop_map(|((listen, runs, seen, forget), listing)| {
            Act::TakeIn { listen, runs, seen, forget, listing }
        }),
        1 => (0..2_usize).prop_map(|listen| Act::DropListen { listen }),
        6 => ([0..4_u32, 0..4_u32], 0..6_u32, 1..30_u64)
            .prop_map(|(places, total, lease)| Act::Claim { places, total, lease }),
        2 => (any::<prop::sample::Index>(), prop::bool::weighted(0.2))
            .prop_map(|(claim, stale)| Act::Renew { claim: claim.index(64), stale }),
        4 => (any::<prop::sample::Index>(), prop::bool::weighted(0.2), 0..6_u8)
            .prop_map(|(claim, stale, what)| Act::Append { claim: claim.index(64), stale, what }),
        6 => (any::<prop::sample::Index>(), prop::bool::weighted(0.2), 0..8_u8)
            .prop_map(|(claim, stale, how)| Act::Release { claim: claim.index(64), stale, how }),
        3 => (1..20_i64, 0..5_usize).prop_map(|(run, order)| Act::Order { run, order }),
        1 => (0..2_usize, 1..6_i64).prop_map(|(listen, id)| Act::Fulfil { listen, id }),
        2 => (0..2_usize, any::<bool>()).prop_map(|(listen, off)| Act::Switch { listen, off }),
        1 => (1..10_i64).prop_map(|run| Act::Unexpect { run }),
        1 => (0..60_u64, prop::option::of(0..5_u64)).prop_map(|(runs, most)| Act::Prune { runs, most }),
        4 => (0..15_i64).prop_map(|seconds| Act::Pass { seconds }),
    ]
}

/// Carries out one change on one store; answers what it said. `claims` are those handed out so far.
async fn carry_out(store: &dyn Store, act: &Act, now: i64, claims: &[(RunId, Fence)]) -> (String, Vec<(RunId, Fence)>) {
    let pick = |claim: usize, stale: bool| {
        let (run, fence) = claims.get(claim % claims.len().max(1)).copied().unwrap_or((RunId(1), Fence(0)));
        (run, if stale { Fence(fence.0 - 1) } else { fence })
    };
    let mut claimed = Vec::new();
    let said = match act {
        Act::TakeIn { listen, runs, seen: shown, forget, listing } => {
            let listen = LISTENS[*listen];
            let keys = |keys: &[u8]| keys.iter().map(|of| key(&format!("k{of}"))).collect();
            let run = |(of, delivery, state): &(u8, u8, State)| {
                let mut run = change(listen, &format!("k{of}"), &format!("d{delivery}"));
                run.state = *state;
                run
            };
            let batch = TakeIn {
                wakes: false,
                seen: shown.iter().map(|of| seen(&format!("k{of}"), &format!("v{now}"))).collect(),
                forget: keys(forget),
                runs: runs.iter().map(run).collect(),
                fulfilled: Vec::new(),
                position: listing.and_then(|listing| position("c", listing)),
            };
            format!("{:?}", store.take_in(listen, batch, at(now)).await)
        }
        Act::DropListen { listen } => format!("{:?}", store.drop_listen(LISTENS[*listen], at(now)).await),
        Act::Claim { places, total, lease } => {
            let room = Room {
                listens: LISTENS.iter().zip(places).map(|(listen, places)| ((*listen).into(), *places)).collect(),
                total: *total,
            };
            let answer = store.claim("o", &room, at(now), Duration::from_secs(*lease)).await;
            claimed.extend(answer.iter().flatten().map(|claim| (claim.run.id, claim.fence)));
            format!("{answer:?}")
        }
        Act::Renew { claim, stale } => format!("{:?}", store.renew(&[pick(*claim, *stale)], at(now + 7)).await),
        Act::Append { claim, stale, what } => {
            let (run, fence) = pick(*claim, *stale);
            let entries = match what {
                0 => vec![started(&format!("p{now}")), note("x")],
                1 | 2 => vec![intent(&format!("w{what}"))],
                3 | 4 => vec![settled(&format!("w{}", what - 2))],
                _ => Vec::new(),
            };
            let expect = if *what < 3 { vec![expectation(LISTENS[usize::from(*what % 2)], run)] } else { Vec::new() };
            format!("{:?}", store.append(run, fence, entries, expect).await)
        }
        Act::Release { claim, stale, how } => {
            let (run, fence) = pick(*claim, *stale);
            let release = match how {
                0 | 1 => end(State::Done),
                2 => end(State::Dead),
                3 => end(State::Unsure),
                4 => end(State::Held),
                5 => Release::Retry { at: at(now + 9), reason: "again".to_owned(), entries: vec![note("again")] },
                6 => Release::Back { at: Some(at(now + 3)), reason: None, entries: Vec::new() },
                _ => Release::Back { at: None, reason: Some("parked".to_owned()), entries: vec![started("back")] },
            };
            format!("{:?}", store.release(run, fence, release, at(now)).await)
        }
        Act::Order { run, order } => {
            let order: Order = ORDERS[*order].clone();
            format!("{:?}", store.order(RunId(*run), order, at(now)).await)
        }
        Act::Fulfil { listen, id } => {
            let batch = TakeIn { fulfilled: vec![*id], ..TakeIn::default() };
            format!("{:?}", store.take_in(LISTENS[*listen], batch, at(now)).await)
        }
        Act::Switch { listen, off } => format!("{:?}", store.switch(LISTENS[*listen], *off, at(now)).await),
        Act::Unexpect { run } => {
            format!("{:?}", store.unexpect(RunId(*run), &expectation("l", RunId(*run))).await)
        }
        Act::Prune { runs, most } => {
            let keep = Duration::from_secs(*runs);
            let retention = Retention { runs: keep, most: *most, deliveries: keep * 2, expectations: keep };
            format!("{:?}", store.prune(&retention, at(now)).await)
        }
        Act::Pass { seconds: _ } => String::new(),
    };
    (said, claimed)
}

/// Everything that can be seen of a store.
async fn content(store: &dyn Store, now: i64) -> Vec<String> {
    let mut content = Vec::new();
    for run in store.list(&Filter { oldest_first: true, ..Filter::default() }).await.unwrap() {
        content.push(format!("{:?}", store.show(run.id).await.unwrap()));
    }
    content.push(format!("{:?}", store.counts().await.unwrap()));
    content.push(format!("{:?}", store.listens().await.unwrap()));
    content.push(format!("{:?}", store.switched_off().await.unwrap()));
    content.push(format!("{:?}", store.next_due(at(now)).await.unwrap()));
    for listen in LISTENS {
        content.push(format!("{:?}", store.position(listen).await.unwrap()));
        let mut met = Met::default();
        content.push(format!("{:?}", store.unmet(listen, &met, 100).await.unwrap()));
        if let Some(seen) = store.unmet(listen, &met, 1).await.unwrap().first() {
            met.add(&seen.key);
        }
        content.push(format!("{:?}", store.unmet(listen, &met, 100).await.unwrap()));
        content.push(format!("{:?}", store.expectations(listen, 0).await.unwrap().after));
        content.push(format!("{:?}", store.open(listen).await.unwrap()));
    }
    content
}

async fn compare(acts: Vec<Act>) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryStore::default();
    let sqlite = SqliteStore::open(&folder.path().join("state.db"), Durability::Normal).await.unwrap();
    let (mut now, mut claims) = (100, Vec::new());
    for act in &acts {
        if let Act::Pass { seconds } = act {
            now += seconds;
        }
        let (expected, claimed) = carry_out(&memory, act, now, &claims).await;
        let (found, _) = carry_out(&sqlite, act, now, &claims).await;
        prop_assert_eq!(&expected, &found, "{:?}", act);
        claims.extend(claimed);
    }
    let (expected, found) = (content(&memory, now).await, content(&sqlite, now).await);
    for (expected, found) in expected.iter().zip(&found) {
        prop_assert_eq!(expected, found);
    }
    prop_assert_eq!(expected.len(), found.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_histories_look_the_same_in_memory_and_on_disk(acts in prop::collection::vec(act(), 1..60)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(compare(acts))?;
    }
}
