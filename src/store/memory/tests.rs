//! The fault points: what a crash or a failure on each side of a change leaves behind.

use super::*;
use crate::store::{Inbox as _, Position, TakeIn};

/// One fault at the first point that fits, none after it.
#[derive(Debug)]
struct Once(Step, When, Mutex<Option<Verdict>>);

impl Faults for Once {
    fn at(&self, step: Step, when: When) -> Verdict {
        let fits = (step, when) == (self.0, self.1);
        let verdict = if fits { self.2.lock().unwrap().take() } else { None };
        verdict.unwrap_or(Verdict::Continue)
    }
}

fn faulty(when: When, verdict: Verdict) -> MemoryStore {
    MemoryStore::new(Arc::new(Once(Step::TakeIn, when, Mutex::new(Some(verdict)))))
}

async fn take_in(store: &MemoryStore) -> Result<Vec<RunId>, StoreError> {
    let batch = TakeIn { position: Some(Position::default()), ..TakeIn::default() };
    store.take_in("l", batch, Timestamp::UNIX_EPOCH).await
}

async fn is_there(store: &MemoryStore) -> bool {
    store.position("l").await.unwrap().is_some()
}

#[tokio::test]
async fn a_failure_before_a_change_leaves_nothing_and_one_after_it_leaves_the_change() {
    for (when, expected) in [(When::Before, false), (When::After, true)] {
        let store = faulty(when, Verdict::Fail(StoreError::Away("lost".to_owned())));
        assert!(matches!(take_in(&store).await, Err(StoreError::Away(_))));
        assert_eq!(is_there(&store).await, expected);
    }
}

#[tokio::test]
async fn a_crashed_host_hears_nothing_more_and_the_next_one_finds_what_was_durable() {
    for (when, expected) in [(When::Before, false), (When::After, true)] {
        let store = faulty(when, Verdict::Crash);
        tokio::select! {
            biased;
            answer = take_in(&store) => panic!("{answer:?}"),
            () = store.crashed() => {}
        }
        let mut late = std::pin::pin!(store.listens());
        assert!(futures::poll!(late.as_mut()).is_pending());
        assert_eq!(is_there(&store.reopen(Arc::new(Faultless))).await, expected);
    }
}
