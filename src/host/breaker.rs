//! One breaker per connection: when the system itself is away, runs wait for it together instead of each using up its
//! attempts, and one of them at a time finds out whether it is back. No clock, no store: that other runners wait too is
//! the hold's.
//!
//! What says that the whole system is away opens it at once: nobody answered, or a gateway said so. An error that the
//! system itself answered (a 500) may be about that one call: it opens when two different runs met it with nothing that
//! worked between them. And a run that fails again though something worked since it failed last is the trouble itself:
//! that is counted against it, so that one call that never works holds nobody up for long.

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
/// Of how many runs it is remembered when they failed.
const REMEMBERED: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Breakers(Mutex<BTreeMap<SmolStr, Breaker>>);

#[derive(Debug, Default)]
struct Breaker {
    /// How often something worked after a failure.
    worked: u64,
    /// The same as it was when each run failed last.
    failed: BTreeMap<RunId, u64>,
    /// The first that met an error of the system's own, with nothing that worked since.
    witness: Option<RunId>,
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
    /// The run's own trouble, for all that is known.
    No,
    /// Runs wait until then.
    Until(Duration),
    /// The same from now on, found for the first time or, `times` after that, again.
    Anew { until: Duration, times: u32 },
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
        let Some(fault) = Fault::of(error) else { return Broken::No };
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let breaker = breakers.entry(connection.into()).or_default();
        if breaker.failed.len() >= REMEMBERED {
            let worked = breaker.worked;
            breaker.failed.retain(|_, before| *before == worked);
        }
        let before = breaker.failed.insert(run, breaker.worked);
        if before.is_some_and(|before| before != breaker.worked) {
            return Broken::No;
        }
        if fault == Fault::Answered && breaker.open.is_none() && *breaker.witness.get_or_insert(run) == run {
            return Broken::No;
        }
        match &mut breaker.open {
            // It was under way when the others failed.
            Some(open) if open.probe != Some(run) && now < open.until => Broken::Until(open.until),
            open => {
                let times = open.as_ref().map_or(0, |open| open.times.saturating_add(1));
                let longest = pause(times);
                let until = now + longest / 2 + (longest / 2).mul_f64(random.unit().clamp(0.0, 1.0));
                *open = Some(Open { until, times, probe: None, why: error.message.clone() });
                Broken::Anew { until, times }
            }
        }
    }

    /// A call worked. Whether runs waited.
    pub(super) fn worked(&self, connection: &str) -> bool {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(breaker) = breakers.get_mut(connection) else { return false };
        breaker.worked = breaker.worked.saturating_add(1);
        breaker.witness = None;
        breaker.open.take().is_some()
    }
}

fn pause(times: u32) -> Duration {
    PAUSE.0.saturating_mul(1 << times.min(8)).min(PAUSE.1)
}

/// A failure that may be one of the whole system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nobody answered, or a gateway said so.
    Away,
    /// The system itself answered that it failed.
    Answered,
}

impl Fault {
    fn of(error: &CallError) -> Option<Self> {
        match (error.kind, error.status) {
            (Kind::Passing, None | Some(502..=504)) => Some(Self::Away),
            (Kind::Passing, Some(500..=599)) => Some(Self::Answered),
            (Kind::Passing, Some(_)) | (Kind::Refused | Kind::Credential | Kind::Drift | Kind::Limit, _) => None,
        }
    }
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

    fn anew(until: u32, times: u32) -> Broken {
        Broken::Anew { until: SECOND * until, times }
    }

    #[test]
    fn one_run_alone_waits_for_a_system_that_is_away() {
        let breakers = Breakers::default();
        assert_eq!(breakers.failed("a", RunId(1), &away(), SECOND, &Die(1.0)), anew(3, 0));
        assert!(breakers.pass("a", RunId(1), 3 * SECOND).is_ok());
        assert_eq!(breakers.failed("a", RunId(1), &away(), 3 * SECOND, &Die(1.0)), anew(7, 1));
        let gateway = CallError { status: Some(503), ..away() };
        assert!(breakers.pass("a", RunId(1), 7 * SECOND).is_ok());
        assert_eq!(breakers.failed("a", RunId(1), &gateway, 7 * SECOND, &Die(1.0)), anew(15, 2));
    }

    #[test]
    fn what_a_system_says_of_one_call_is_that_calls_trouble_until_another_meets_it() {
        let breakers = Breakers::default();
        let error = CallError { status: Some(500), ..away() };
        for second in 0..3 {
            assert_eq!(breakers.failed("a", RunId(1), &error, SECOND * second, &Die(1.0)), Broken::No);
        }
        breakers.worked("a");
        assert_eq!(breakers.failed("a", RunId(2), &error, 5 * SECOND, &Die(1.0)), Broken::No);
        assert_eq!(breakers.failed("a", RunId(3), &error, 5 * SECOND, &Die(1.0)), anew(7, 0));
        let refused = CallError { status: Some(429), ..away() };
        assert_eq!(breakers.failed("b", RunId(1), &refused, SECOND, &Die(1.0)), Broken::No);
    }

    #[test]
    fn a_run_that_fails_again_though_others_got_through_is_the_trouble_itself() {
        let breakers = Breakers::default();
        assert_eq!(breakers.failed("a", RunId(1), &away(), SECOND, &Die(1.0)), anew(3, 0));
        assert!(breakers.pass("a", RunId(2), 3 * SECOND).is_ok());
        assert!(breakers.worked("a"));
        assert_eq!(breakers.failed("a", RunId(1), &away(), 4 * SECOND, &Die(1.0)), Broken::No);
        assert!(breakers.pass("a", RunId(2), 4 * SECOND).is_ok(), "nobody is held up");
        assert_eq!(breakers.failed("a", RunId(2), &away(), 5 * SECOND, &Die(1.0)), anew(7, 0));
    }

    #[test]
    fn one_at_a_time_finds_out_and_pauses_grow() {
        let breakers = Breakers::default();
        assert_eq!(breakers.failed("a", RunId(2), &away(), SECOND, &Die(1.0)), anew(3, 0));
        assert_eq!(breakers.failed("a", RunId(3), &away(), SECOND, &Die(1.0)), Broken::Until(3 * SECOND));
        assert_eq!(breakers.pass("a", RunId(1), 2 * SECOND).unwrap_err().0, 3 * SECOND);
        assert!(breakers.pass("b", RunId(1), 2 * SECOND).is_ok());
        assert!(breakers.pass("a", RunId(1), 3 * SECOND).is_ok());
        assert!(breakers.pass("a", RunId(1), 3 * SECOND).is_ok(), "the same run goes on finding out");
        assert!(breakers.pass("a", RunId(2), 3 * SECOND).is_err());
        assert_eq!(breakers.failed("a", RunId(1), &away(), 4 * SECOND, &Die(1.0)), anew(8, 1));
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
