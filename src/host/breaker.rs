//! One breaker per connection: when the system itself is away, runs wait for it together instead of each using up its
//! attempts, and one of them at a time finds out whether it is back. Of this runner alone; no clock, no store.
//!
//! It opens when calls of two different runs failed with none that worked between them: what fails for one run only
//! may be that run's own trouble, and is counted against it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use lf_module::{CallError, Kind, Random};
use smol_str::SmolStr;

use crate::store::RunId;

/// How long nobody asks, after the first time and at most. The wait is at least half of it.
const PAUSE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

#[derive(Debug, Default)]
pub(super) struct Breakers(Mutex<BTreeMap<SmolStr, Breaker>>);

/// Calls that failed in a row.
#[derive(Debug)]
struct Breaker {
    first: RunId,
    /// Once there is a second run.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// Of the monotonic clock.
    until: Duration,
    /// How often it was found closed.
    times: u32,
    /// The run that finds out.
    probe: Option<RunId>,
    why: String,
}

/// What a failure led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// Nothing yet: the run's own trouble.
    No,
    /// Runs wait until then.
    Until(Duration),
    /// The same, which is news.
    Anew(Duration),
}

impl Breakers {
    /// Whether the run may call now; if not, until when, and why.
    pub(super) fn pass(&self, connection: &str, run: RunId, now: Duration) -> Result<(), (Duration, String)> {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = breakers.get_mut(connection).and_then(|breaker| breaker.open.as_mut()) else { return Ok(()) };
        if open.probe == Some(run) {
            return Ok(());
        }
        if now < open.until {
            return Err((open.until, open.why.clone()));
        }
        // Should it never tell what it found, the next one asks after another pause.
        open.until = now + pause(open.times);
        open.probe = Some(run);
        Ok(())
    }

    /// A call of the run failed.
    pub(super) fn failed(
        &self,
        connection: &str,
        run: RunId,
        error: &CallError,
        now: Duration,
        random: &dyn Random,
    ) -> Broken {
        if !is_away(error) {
            return Broken::No;
        }
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let breaker = breakers.entry(connection.into()).or_insert(Breaker { first: run, open: None });
        match &mut breaker.open {
            None if breaker.first == run => Broken::No,
            // It was under way when the others failed.
            Some(open) if open.probe != Some(run) && now < open.until => Broken::Until(open.until),
            open => {
                let times = open.as_ref().map_or(0, |open| open.times.saturating_add(1));
                let longest = pause(times);
                let until = now + longest / 2 + (longest / 2).mul_f64(random.unit().clamp(0.0, 1.0));
                *open = Some(Open { until, times, probe: None, why: error.message.clone() });
                Broken::Anew(until)
            }
        }
    }

    /// A call worked. Whether runs waited.
    pub(super) fn worked(&self, connection: &str) -> bool {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.remove(connection).is_some_and(|breaker| breaker.open.is_some())
    }
}

fn pause(times: u32) -> Duration {
    PAUSE.0.saturating_mul(1 << times.min(8)).min(PAUSE.1)
}

/// Whether the failure is one of the whole system: nobody answered, or a gateway said so.
fn is_away(error: &CallError) -> bool {
    error.kind == Kind::Passing && matches!(error.status, None | Some(502..=504))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Die(f64);

    impl Random for Die {
        fn unit(&self) -> f64 {
            self.0
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn away() -> CallError {
        CallError::passing("the connection was refused")
    }

    #[test]
    fn one_run_alone_is_its_own_trouble() {
        let breakers = Breakers::default();
        for second in 0..5 {
            assert_eq!(breakers.failed("a", RunId(1), &away(), SECOND * second, &Die(0.0)), Broken::No);
        }
        assert!(breakers.pass("a", RunId(2), SECOND).is_ok());
    }

    #[test]
    fn what_a_system_says_of_one_call_is_that_calls_trouble() {
        let breakers = Breakers::default();
        for run in 1..5 {
            let error = CallError { status: Some(500), ..away() };
            assert_eq!(breakers.failed("a", RunId(run), &error, SECOND, &Die(0.0)), Broken::No);
        }
    }

    #[test]
    fn one_at_a_time_finds_out_and_pauses_grow() {
        let breakers = Breakers::default();
        assert_eq!(breakers.failed("a", RunId(1), &away(), SECOND, &Die(1.0)), Broken::No);
        assert_eq!(breakers.failed("a", RunId(2), &away(), SECOND, &Die(1.0)), Broken::Anew(3 * SECOND));
        assert_eq!(breakers.failed("a", RunId(3), &away(), SECOND, &Die(1.0)), Broken::Until(3 * SECOND));
        assert_eq!(breakers.pass("a", RunId(1), 2 * SECOND).unwrap_err().0, 3 * SECOND);
        assert!(breakers.pass("b", RunId(1), 2 * SECOND).is_ok());
        assert!(breakers.pass("a", RunId(1), 3 * SECOND).is_ok());
        assert!(breakers.pass("a", RunId(1), 3 * SECOND).is_ok(), "the same run goes on finding out");
        assert!(breakers.pass("a", RunId(2), 3 * SECOND).is_err());
        assert_eq!(breakers.failed("a", RunId(1), &away(), 4 * SECOND, &Die(1.0)), Broken::Anew(8 * SECOND));
        assert!(breakers.pass("a", RunId(3), 8 * SECOND).is_ok());
        assert!(breakers.worked("a"));
        assert!(breakers.pass("a", RunId(2), 8 * SECOND).is_ok());
        assert!(!breakers.worked("a"));
    }

    #[test]
    fn a_probe_that_never_tells_holds_nobody_for_ever() {
        let breakers = Breakers::default();
        breakers.failed("a", RunId(1), &away(), SECOND, &Die(0.0));
        breakers.failed("a", RunId(2), &away(), SECOND, &Die(0.0));
        assert!(breakers.pass("a", RunId(1), 10 * SECOND).is_ok());
        assert!(breakers.pass("a", RunId(2), 11 * SECOND).is_err());
        assert!(breakers.pass("a", RunId(2), 12 * SECOND).is_ok());
    }
}
