//! One open stream, until it ends, breaks, falls silent, or the machine slept over it.

use std::{pin::pin, time::Duration};

use lf_module::Clock;

use crate::{
    message::{self, Incoming},
    sse::Event,
    stream::EventStream,
    subscription::{Course, Reason, Report, Subscription, backoff::Wait, link::Trouble},
};

/// A stream that lived so long was a good one.
const GOOD: Duration = Duration::from_secs(30);
/// One that did not even live so long is not reopened at once.
const MOMENT: Duration = Duration::from_secs(1);
/// How often the two clocks are compared, and how far apart they may move: the machine slept.
const TICK: Duration = Duration::from_secs(10);
const JUMP: Duration = Duration::from_secs(45);

/// How a stream ended.
#[derive(Debug)]
pub(super) enum End {
    /// In order.
    Ended,
    /// The connection broke.
    Dropped,
    /// Nothing came, for too long.
    Idle,
    /// The session is gone.
    Lost,
    /// What belongs to it did not come about.
    Failed(Trouble),
}

impl End {
    pub(super) fn reason(&self) -> Reason {
        match self {
            Self::Ended => Reason::Ended,
            Self::Dropped | Self::Failed(_) => Reason::Dropped,
            Self::Idle => Reason::Idle,
            Self::Lost => Reason::LostSession,
        }
    }
}

/// What became of a stream.
#[derive(Debug)]
pub(super) struct Lived {
    pub(super) end: End,
    /// A message came, or it lived long.
    pub(super) good: bool,
    age: Duration,
}

impl Lived {
    pub(super) fn report(&self) -> Report {
        let held = self.good && !matches!(self.end, End::Failed(_));
        Report::Closed { reason: self.end.reason(), held }
    }

    /// How long to wait before the next.
    pub(super) fn wait(&self) -> Wait {
        if !self.good {
            Wait::Failed(None)
        } else if self.age < MOMENT {
            Wait::Short
        } else {
            Wait::None
        }
    }
}

/// What a stream is read for.
pub(super) trait Takes {
    /// A message; `double`: it was there before. Says whether that ends the stream.
    fn message(&mut self, message: &Incoming, double: bool) -> Option<End>;
    /// Whether a message shows that the stream works, and not only that it was opened or is over.
    fn works(&self, message: &Incoming) -> bool;
    /// An event id came; whether it is one that was seen before.
    fn id(&mut self, id: &str) -> bool;
}

impl Subscription {
    /// Reads `stream` until its end, while `side` runs beside it. `idle` is how long it may be silent.
    pub(super) async fn live(
        &self,
        course: &mut Course,
        mut stream: EventStream,
        idle: Duration,
        takes: &mut (dyn Takes + Send),
        side: impl Future<Output = End> + Send,
    ) -> Lived {
        let clock = self.link.clock();
        let opened = clock.monotonic();
        let (mut side, mut jumped) = (pin!(side), pin!(jumped(clock)));
        let mut heard = opened;
        let mut message = false;
        let end = 'open: loop {
            let left = (heard + idle).saturating_sub(clock.monotonic());
            let events = tokio::select! {
                biased;
                end = &mut side => break end,
                piece = stream.piece() => match piece {
                    Ok(Some(events)) => events,
                    Ok(None) => break End::Ended,
                    Err(_) => break End::Dropped,
                },
                () = &mut jumped => break End::Idle,
                () = clock.sleep(left) => {
                    // While nobody takes what comes, its absence says nothing.
                    if !self.blocked() {
                        break End::Idle;
                    }
                    Vec::new()
                }
            };
            heard = clock.monotonic();
            for event in events {
                course.retry = event.retry.map(Duration::from_millis).or(course.retry);
                let (messages, double) = self.read(event, takes);
                for one in messages {
                    if takes.works(&one) {
                        message = true;
                        course.backoff.reset();
                    }
                    if let Some(end) = takes.message(&one, double) {
                        break 'open end;
                    }
                }
            }
        };
        let age = clock.monotonic().saturating_sub(opened);
        let good = message || age >= GOOD;
        if good {
            course.backoff.reset();
        }
        Lived { end, good, age }
    }

    fn read(&self, event: Event, takes: &mut (dyn Takes + Send)) -> (Vec<Incoming>, bool) {
        let double = event.id.as_deref().is_some_and(|id| takes.id(id));
        // An id with empty data only marks a place.
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { return (Vec::new(), double) };
        let messages = message::parse(data.as_bytes()).unwrap_or_else(|bad| {
            self.reports.say(Report::Error(format!("the stream holds something that is {bad}")));
            Vec::new()
        });
        (messages, double)
    }
}

/// Ends when the wall clock runs away from the clock that stands still in sleep.
async fn jumped(clock: &dyn Clock) {
    loop {
        let (wall, steady) = (clock.now(), clock.monotonic());
        clock.sleep(TICK).await;
        let by_wall = Duration::try_from(clock.now().duration_since(wall)).unwrap_or_default();
        if by_wall.saturating_sub(clock.monotonic().saturating_sub(steady)) > JUMP {
            return;
        }
    }
}
