//! A day: streams that are capped every quarter of an hour, a proxy that cuts what is silent for a minute, a laptop that
//! sleeps for an hour, a server that restarts. What was pushed on an open stream is one line each; after a gap there is
//! at most one line for each resource, and only if it changed. No line is doubled, and each comes before the next fault.

use std::time::Duration;

use lf_harness::{Step, watched::Habits};

use super::stage::{A, B, Setting, Stage};

/// A day so far: which lines were due, and how many of them were compared.
struct Day {
    stage: Stage,
    replays: bool,
    changes: u32,
    due: Vec<(&'static str, bool)>,
    compared: usize,
}

impl Day {
    /// Something changes while the stream is open.
    fn change(&mut self, uri: &'static str) {
        self.changes += 1;
        let told = self.stage.watched.change(uri, format!("change {}", self.changes));
        assert_eq!(told, 1, "no stream is open: {:#?}", self.stage.asides().split_off(self.stage.asides().len() - 6));
        self.due.push((uri, false));
    }

    /// Something changes so many times while no stream is open, in a session that lives on.
    fn miss(&mut self, uri: &'static str, times: usize) {
        for _ in 0..times {
            self.changes += 1;
            assert_eq!(self.stage.watched.change(uri, format!("change {}", self.changes)), 0, "no stream is open");
        }
        // What is replayed is a push like any other.
        let lines = if self.replays { times } else { times.min(1) };
        self.due.extend(std::iter::repeat_n((uri, !self.replays), lines));
    }

    /// Something changes while the server knows no session, or what it knew is lost.
    fn miss_unseen(&mut self, uri: &'static str) {
        self.changes += 1;
        self.stage.watched.write(uri, format!("change {}", self.changes));
        self.due.push((uri, true));
    }

    /// All that was due was told, and nothing else.
    fn told(&mut self, when: &str) {
        let lines = self.stage.results();
        let told = lines[self.compared..].iter().map(|line| (line["uri"].as_str().unwrap(), line["resync"] == true));
        let (mut told, mut due): (Vec<_>, Vec<_>) = (told.collect(), self.due.split_off(0));
        told.sort_unstable();
        due.sort_unstable();
        assert_eq!(told, due, "{when}: {:#?}", self.stage.asides().split_off(self.stage.asides().len() - 6));
        self.compared = lines.len();
    }

    /// A minute of a stream on which the server says that it is alive.
    async fn minute(&self) {
        for _ in 0..2 {
            self.stage.pass(30).await;
            self.stage.watched.say(": alive\n\n");
        }
    }
}

async fn day(habits: Habits) {
    let stage = Setting::new(habits).listening().await;
    let mut day = Day { stage, replays: habits.replays, changes: 0, due: Vec::new(), compared: 0 };
    let mut minute = 0;
    while minute < 24 * 60 {
        minute += 1;
        match minute {
            // The cap; in two of three of these gaps something changes.
            _ if minute % 15 == 0 => {
                day.stage.watched.end_streams(&Step::Close);
                match minute / 15 % 3 {
                    0 => {}
                    1 => day.miss(A, 1),
                    _ => {
                        day.miss(A, 2);
                        day.miss(B, 1);
                    }
                }
            }
            // Two hours behind the proxy, with a server that says nothing of itself: it cuts just before the pump would.
            301..420 => {
                if minute % 4 == 0 {
                    day.change(B);
                }
                day.stage.pass_millis(59_800).await;
                day.told("behind the proxy");
                day.stage.watched.end_streams(&Step::Abort);
                if minute % 7 == 0 {
                    day.miss(A, 2);
                }
                day.stage.pass_millis(100).await;
                day.told("cut by the proxy");
                continue;
            }
            // The laptop sleeps for an hour: its connections are dead, and nobody tells it.
            601 | 701 => {
                day.stage.watched.end_streams(&Step::Silence);
                if minute == 601 {
                    day.miss(A, 3);
                    day.miss(B, 1);
                }
                day.stage.clock.sleep_over(Duration::from_secs(3600));
            }
            // The server is restarted, and is away for two minutes.
            901 | 1001 => {
                day.stage.kill();
                day.stage.watched.forget();
                if minute == 901 {
                    day.miss_unseen(B);
                }
            }
            902 | 1002 => {
                day.stage.pass(60).await;
                continue;
            }
            903 | 1003 => day.stage.revive(),
            _ if minute % 10 == 0 => day.change(B),
            _ if minute % 10 == 1 => (0..3).for_each(|_| day.change(A)),
            _ => {}
        }
        day.minute().await;
        if !matches!(minute, 901 | 1001) {
            day.told(&format!("minute {minute}"));
        }
    }
    assert!(day.stage.count("stream_open") > 96 + 110);
    assert!(day.compared > 400, "{}", day.compared);
    let sessions = if habits.legacy { 3 } else { 1 };
    assert_eq!(day.stage.count("connected"), sessions, "only a restart costs a session");
}

#[tokio::test]
async fn a_day_with_sessions() {
    day(Habits::LEGACY).await;
}

#[tokio::test]
async fn a_day_with_sessions_that_are_replayed() {
    day(Habits { replays: true, ..Habits::LEGACY }).await;
}

#[tokio::test]
async fn a_day_without_sessions() {
    day(Habits::MODERN).await;
}
