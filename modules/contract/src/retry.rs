//! The one retry driver of all modules.
//!
//! A module says what one attempt came to ([`Attempt`]); this file alone decides whether and when the
//! next one is made. Time, chance and the shared hold come through [`Ports`]. It must not know any
//! protocol: which failure may be sent again is decided where the facts are.

use std::{future::Future, time::Duration};

use crate::{error::CallError, ports::Ports};

/// How often, and how long at most.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Requests in all, the first one included.
    pub attempts: u32,
    /// The wait before each further attempt is drawn uniformly below its ceiling, so that instances
    /// do not retry in step. The last ceiling serves for all that follow.
    pub ceilings: Vec<Duration>,
    /// The sum of all waits.
    pub budget: Duration,
}

impl Default for Policy {
    /// Four attempts; below 0.5, 1 and 2 seconds; 20 seconds of waiting in all.
    fn default() -> Self {
        let ceilings = [500, 1000, 2000].map(Duration::from_millis).to_vec();
        Self { attempts: 4, ceilings, budget: Duration::from_secs(20) }
    }
}

impl Policy {
    /// The wait after attempt number `made` (from 1): as long as the system asked, else drawn.
    fn wait(&self, made: u32, asked: Option<Duration>, unit: f64) -> Duration {
        asked.unwrap_or_else(|| {
            let index = usize::try_from(made.saturating_sub(1)).unwrap_or(usize::MAX);
            let ceiling = self.ceilings.get(index).or(self.ceilings.last()).copied().unwrap_or_default();
            ceiling.mul_f64(unit.clamp(0.0, 1.0))
        })
    }
}

/// Asking for the hold takes a moment by itself; less than this is no wait.
const NO_WAIT: Duration = Duration::from_millis(100);

/// What is being attempted, for the log and for the bounds.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The module, as the log names it: `@lf/mcp`.
    pub module: &'a str,
    /// The request in a word or two: `tools/list`.
    pub what: &'a str,
    /// Nothing may be sent or awaited past this point of [`crate::Clock::monotonic`].
    pub deadline: Duration,
}

/// What one attempt came to.
#[derive(Debug)]
pub enum Attempt<T> {
    /// An answer.
    Done(T),
    /// A failure that is final.
    Stop(CallError),
    /// A failure that may pass, of a request that may be sent again.
    Again {
        /// What to say if no further attempt is made.
        error: CallError,
        /// How long the system asked to be left alone (its `Retry-After`): waited exactly, and
        /// reported to the hold that all instances share.
        asked: Option<Duration>,
    },
}

/// Makes attempts until one is final, the policy is used up, or the deadline would pass. The closure gets
/// the attempt's number, from 1. Dropping the future stops the wait.
///
/// # Errors
/// The last attempt's error, which then also names the attempts and the wait; or [`crate::Kind::Passing`] if the
/// connection is held by others for longer than this call may wait.
pub async fn drive<T, F, R>(ports: &Ports, policy: &Policy, job: Job<'_>, mut attempt: F) -> Result<T, CallError>
where
    F: FnMut(u32) -> R,
    R: Future<Output = Attempt<T>>,
{
    let mut made = 0;
    let mut waited = Duration::ZERO;
    // A hold that other instances reported may outlast this call: before the first attempt only the
    // deadline bounds it, later also what is left of the budget.
    let mut until = job.deadline;
    let mut last = None;
    loop {
        let before = ports.clock.monotonic();
        if let Err(held) = ports.throttle.pass(until).await {
            return Err(match last {
                Some(error) => given_up(error, held.retry_after, made, waited, &held.message),
                None => held,
            });
        }
        let held = ports.clock.monotonic().saturating_sub(before);
        if made > 0 && held > NO_WAIT {
            waited += held;
        }
        if ports.clock.monotonic() >= job.deadline {
            let late = CallError::passing(format!("no time was left to send `{}`", job.what));
            return Err(counted(late, made, waited));
        }
        made += 1;
        let (error, asked) = match attempt(made).await {
            Attempt::Done(answer) => return Ok(answer),
            Attempt::Stop(error) => return Err(counted(error, made, waited)),
            Attempt::Again { error, asked } => (error, asked),
        };
        if let Some(length) = asked {
            ports.throttle.report(length, &error.message).await;
        }
        let wait = policy.wait(made, asked, ports.random.unit());
        if let Some(why) = exhausted(policy, job, made, waited, wait, asked, ports.clock.monotonic()) {
            return Err(given_up(error, asked, made, waited, &why));
        }
        tracing::warn!(
            "{}: retrying `{}` in {} (attempt {} of {}): {}",
            job.module,
            job.what,
            seconds(wait),
            made + 1,
            policy.attempts,
            error.message
        );
        ports.clock.sleep(wait).await;
        waited += wait;
        last = Some(error);
        until = job.deadline.min(ports.clock.monotonic() + policy.budget.saturating_sub(waited));
    }
}

/// Why no further attempt is made, if none is.
fn exhausted(
    policy: &Policy,
    job: Job<'_>,
    made: u32,
    waited: Duration,
    wait: Duration,
    asked: Option<Duration>,
    now: Duration,
) -> Option<String> {
    let asked = asked.map_or_else(String::new, |length| format!("it asked to be left alone for {}, ", seconds(length)));
    if made >= policy.attempts {
        return Some(format!("{asked}no attempt is left"));
    }
    let left = policy.budget.saturating_sub(waited);
    if wait > left {
        return Some(format!("{asked}more than the {} that this call may still wait", seconds(left)));
    }
    let left = job.deadline.saturating_sub(now);
    (wait >= left).then(|| format!("{asked}and the call has to end in {}", seconds(left)))
}

fn given_up(error: CallError, asked: Option<Duration>, made: u32, waited: Duration, why: &str) -> CallError {
    let message = format!("{}; {why} ({}, {} waited)", error.message, attempts(made), seconds(waited));
    CallError { message, retry_after: asked.or(error.retry_after), attempts: made, waited, ..error }
}

/// The same error with what was spent on it; said in words only where there was more than one attempt.
fn counted(error: CallError, made: u32, waited: Duration) -> CallError {
    let message = if made > 1 {
        format!("{} ({}, {} waited)", error.message, attempts(made), seconds(waited))
    } else {
        error.message
    };
    CallError { message, attempts: made, waited, ..error }
}

fn attempts(made: u32) -> String {
    if made == 1 { "1 attempt".to_owned() } else { format!("{made} attempts") }
}

/// A length for people: `0.8 s`, `600 s`.
fn seconds(length: Duration) -> String {
    if length.subsec_millis() == 0 {
        format!("{} s", length.as_secs())
    } else {
        format!("{:.1} s", length.as_secs_f64().max(0.1))
    }
}

#[cfg(test)]
mod tests;
