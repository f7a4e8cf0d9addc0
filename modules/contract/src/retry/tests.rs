//! The driver on virtual time: every wait, every report and every attempt is written down.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::{
    error::{Acted, Kind},
    ports::{Clock, Random, Throttle},
};

/// A clock that only sleeping moves, a die that always shows `unit`, a hold that writes down.
#[derive(Debug, Default)]
struct World {
    now: AtomicU64,
    sleeps: Mutex<Vec<Duration>>,
    reports: Mutex<Vec<Duration>>,
    held: Mutex<Vec<Duration>>,
    unit: f64,
}

impl World {
    fn ports(self: &Arc<Self>) -> Ports {
        Ports { clock: self.clone(), random: self.clone(), throttle: self.clone(), notes: None, keeper: None }
    }

    fn pass_time(&self, length: Duration) {
        self.now.fetch_add(u64::try_from(length.as_nanos()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.now.load(Ordering::SeqCst))
    }
    async fn sleep(&self, length: Duration) {
        self.sleeps.lock().unwrap().push(length);
        self.pass_time(length);
    }
}

impl Random for World {
    fn unit(&self) -> f64 {
        self.unit
    }
}

#[async_trait]
impl Throttle for World {
    async fn pass(&self, deadline: Duration) -> Result<(), CallError> {
        let held = self.held.lock().unwrap().pop().unwrap_or_default();
        if self.monotonic() + held > deadline {
            return Err(CallError::passing("held"));
        }
        self.pass_time(held);
        Ok(())
    }
    async fn report(&self, length: Duration, _why: &str) {
        self.reports.lock().unwrap().push(length);
    }
}

const JOB: Job<'_> = Job { module: "@lf/x", what: "ask", deadline: Duration::from_secs(3600) };

/// Each attempt of a script: `None` is an answer, `Some(asked)` a failure that may pass.
async fn play(world: &Arc<World>, job: Job<'_>, script: &[Option<Option<Duration>>]) -> (Result<u32, CallError>, u32) {
    let mut made = 0;
    let result = drive(&world.ports(), &Policy::default(), job, |number| {
        made = number;
        let step = script.get(usize::try_from(number - 1).unwrap()).copied().unwrap_or(Some(None));
        async move {
            match step {
                None => Attempt::Done(number),
                Some(asked) => Attempt::Again { error: CallError::passing("status 503"), asked },
            }
        }
    })
    .await;
    (result, made)
}

fn millis(list: &[u64]) -> Vec<Duration> {
    list.iter().copied().map(Duration::from_millis).collect()
}

#[tokio::test]
async fn four_attempts_at_most_each_below_its_ceiling() {
    let world = Arc::new(World { unit: 0.5, ..World::default() });
    let (result, made) = play(&world, JOB, &[]).await;
    let error = result.unwrap_err();
    assert_eq!(made, 4);
    assert_eq!(*world.sleeps.lock().unwrap(), millis(&[250, 500, 1000]));
    assert_eq!(error.message, "status 503; no attempt is left (4 attempts, 1.8 s waited)");
    assert_eq!((error.attempts, error.waited), (4, Duration::from_millis(1750)));
}

#[tokio::test]
async fn an_answer_ends_it() {
    let world = Arc::new(World::default());
    let (result, _) = play(&world, JOB, &[Some(None), Some(None), None]).await;
    assert_eq!(result.unwrap(), 3);
}

#[tokio::test]
async fn what_the_system_asks_is_waited_exactly_and_reported() {
    let world = Arc::new(World { unit: 0.9, ..World::default() });
    let asked = Duration::from_secs(3);
    let (result, _) = play(&world, JOB, &[Some(Some(asked)), None]).await;
    assert_eq!(result.unwrap(), 2);
    assert_eq!(*world.sleeps.lock().unwrap(), vec![asked]);
    assert_eq!(*world.reports.lock().unwrap(), vec![asked]);
}

#[tokio::test]
async fn a_wait_beyond_what_is_left_fails_at_once_and_says_so() {
    let world = Arc::new(World::default());
    let (result, made) = play(&world, JOB, &[Some(Some(Duration::from_secs(600)))]).await;
    let error = result.unwrap_err();
    assert_eq!(made, 1);
    assert!(world.sleeps.lock().unwrap().is_empty());
    assert_eq!(*world.reports.lock().unwrap(), vec![Duration::from_secs(600)], "other instances hold all the same");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(600)));
    assert_eq!(
        error.message,
        "status 503; it asked to be left alone for 600 s, more than the 20 s that this call may still wait (1 attempt, 0 s waited)"
    );
}

#[tokio::test]
async fn the_budget_is_of_the_sum() {
    let world = Arc::new(World::default());
    let twelve = Some(Some(Duration::from_secs(12)));
    let (result, made) = play(&world, JOB, &[twelve, twelve, None]).await;
    assert_eq!(made, 2);
    assert_eq!(result.unwrap_err().waited, Duration::from_secs(12));
}

#[tokio::test]
async fn a_wait_past_the_deadline_is_not_begun() {
    let world = Arc::new(World::default());
    let job = Job { deadline: Duration::from_secs(5), ..JOB };
    let (result, made) = play(&world, job, &[Some(Some(Duration::from_secs(5)))]).await;
    assert_eq!(made, 1);
    assert!(result.unwrap_err().message.contains("the call has to end in 5 s"));
}

#[tokio::test]
async fn a_held_connection_sends_nothing_past_the_deadline() {
    let world = Arc::new(World { held: Mutex::new(vec![Duration::from_secs(7200)]), ..World::default() });
    let (result, made) = play(&world, JOB, &[None]).await;
    assert_eq!((result.unwrap_err().kind, made), (Kind::Passing, 0));
}

#[tokio::test]
async fn a_hold_between_attempts_counts_as_waiting() {
    let world = Arc::new(World::default());
    world.held.lock().unwrap().extend([Duration::from_secs(30), Duration::ZERO]);
    let (result, made) = play(&world, JOB, &[Some(None), None]).await;
    assert_eq!(made, 1, "thirty seconds of hold are more than a call may wait");
    assert_eq!(result.unwrap_err().message, "status 503; held (1 attempt, 0 s waited)");
}

#[tokio::test]
async fn a_final_failure_keeps_whether_the_system_may_have_acted() {
    let world = Arc::new(World::default());
    let result: Result<(), _> = drive(&world.ports(), &Policy::default(), JOB, |number| async move {
        if number == 1 {
            Attempt::Again { error: CallError::passing("status 429"), asked: None }
        } else {
            Attempt::Stop(CallError::passing("timed out").maybe_acted())
        }
    })
    .await;
    let error = result.unwrap_err();
    assert_eq!((error.acted, error.attempts), (Acted::Maybe, 2));
    assert_eq!(error.message, "timed out (2 attempts, 0 s waited)");
}

proptest! {
    #[test]
    fn no_script_passes_the_bounds(
        unit in 0.0f64..1.0,
        script in proptest::collection::vec(proptest::option::of(proptest::option::of(0u64..30_000)), 0..6),
    ) {
        let script: Vec<_> = script.into_iter().map(|step| step.map(|asked| asked.map(Duration::from_millis))).collect();
        let world = Arc::new(World { unit, ..World::default() });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (_, made) = runtime.block_on(play(&world, JOB, &script));
        let sleeps = world.sleeps.lock().unwrap().clone();
        prop_assert!(made <= 4);
        prop_assert!(sleeps.iter().sum::<Duration>() <= Duration::from_secs(20));
        for (index, wait) in sleeps.iter().enumerate() {
            let ceiling = Duration::from_millis([500, 1000, 2000][index]);
            match script.get(index).copied().flatten().flatten() {
                Some(asked) => prop_assert_eq!(*wait, asked),
                None => prop_assert!(*wait < ceiling),
            }
        }
    }
}
