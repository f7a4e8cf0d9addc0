//! How long to wait before the next try: a pure function of how often it failed.
//!
//! This is not the retry table of requests: a listener has no last attempt.

use std::time::Duration;

/// The first wait, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const CAP: Duration = Duration::from_secs(30);
/// The longest that a server may ask for by `Retry-After`, and by the `retry` of a stream.
const LONGEST_ASKED: Duration = Duration::from_secs(300);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// How the last try went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Well, for a good while: the next follows at once.
    None,
    /// Well, but it was over at once. The next follows after the first wait, as often as that happens.
    Short,
    /// Not well. The server may have asked for a wait by `Retry-After`.
    Failed(Option<Duration>),
    /// Not well, and soon it will not be better.
    Cap,
}

/// The failures in a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// It works again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The next wait. `unit` is the draw, in `0.0 .. 1.0`; `retry` is what the stream asked for.
    pub(crate) fn next(&mut self, wait: Wait, retry: Option<Duration>, unit: f64) -> Duration {
        let draw = |nominal: Duration| nominal.mul_f64(0.8 + 0.2 * unit.clamp(0.0, 1.0));
        let least = retry.unwrap_or_default().min(LONGEST_RETRY);
        let waited = match wait {
            Wait::None => Duration::ZERO,
            Wait::Short => draw(FIRST),
            Wait::Failed(asked) => {
                let nominal = FIRST.saturating_mul(1 << self.failures.min(5)).min(CAP);
                self.failures = self.failures.saturating_add(1);
                draw(nominal).max(asked.unwrap_or_default().min(LONGEST_ASKED))
            }
            Wait::Cap => {
                self.failures = self.failures.saturating_add(1);
                draw(CAP)
            }
        };
        waited.max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn failures(backoff: &mut Backoff, unit: f64, count: usize) -> Vec<Duration> {
        (0..count).map(|_| backoff.next(Wait::Failed(None), None, unit)).collect()
    }

    #[test]
    fn a45_failures_wait_one_second_then_twice_as_long_up_to_thirty() {
        let waits = failures(&mut Backoff::default(), 1.0, 8);
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30].map(Duration::from_secs));
    }

    #[test]
    fn a46_after_something_worked_the_first_wait_is_one_second_again() {
        let mut backoff = Backoff::default();
        failures(&mut backoff, 1.0, 5);
        backoff.reset();
        assert_eq!(backoff.next(Wait::Failed(None), None, 1.0), SECOND);
        assert_eq!(backoff.next(Wait::None, None, 1.0), Duration::ZERO);
    }

    #[test]
    fn a47_what_is_over_at_once_never_becomes_a_hot_loop() {
        let mut backoff = Backoff::default();
        for _ in 0..100 {
            assert_eq!(backoff.next(Wait::Short, None, 1.0), SECOND);
        }
    }

    #[test]
    fn a48_waits_are_drawn_between_80_and_100_percent() {
        for unit in [0.0, 0.25, 0.5, 0.999] {
            let waits = failures(&mut Backoff::default(), unit, 7);
            for (wait, nominal) in waits.into_iter().zip([1, 2, 4, 8, 16, 30, 30].map(Duration::from_secs)) {
                assert!(nominal.mul_f64(0.8) <= wait && wait <= nominal, "{wait:?} of {nominal:?}");
            }
        }
    }

    #[test]
    fn a48_retry_after_is_honoured_up_to_five_minutes_beyond_the_cap() {
        let mut backoff = Backoff::default();
        let mut asked = |seconds| backoff.next(Wait::Failed(Some(Duration::from_secs(seconds))), None, 1.0);
        assert_eq!(asked(120), Duration::from_secs(120));
        assert_eq!(asked(3600), Duration::from_secs(300));
        assert_eq!(asked(0), Duration::from_secs(4), "a shorter one does not hurry");
    }

    #[test]
    fn a49_the_retry_of_a_stream_raises_the_next_wait_only() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.next(Wait::None, Some(Duration::from_millis(500)), 1.0), Duration::from_millis(500));
        assert_eq!(backoff.next(Wait::Failed(None), Some(Duration::from_secs(9)), 1.0), Duration::from_secs(9));
        assert_eq!(backoff.next(Wait::None, Some(Duration::from_secs(9999)), 1.0), Duration::from_secs(60));
    }

    #[test]
    fn a50_a_refused_credential_waits_at_the_cap() {
        assert_eq!(Backoff::default().next(Wait::Cap, None, 1.0), CAP);
    }
}
