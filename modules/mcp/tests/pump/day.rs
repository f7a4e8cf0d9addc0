//! A day: streams that are capped, a proxy that cuts what is silent, a laptop that sleeps, a server that restarts.
//! What was pushed on an open stream is one line each; a gap is at most one line, and only if something changed.

use std::time::Duration;

use lf_harness::{Step, watched::Habits};

use super::stage::{A, B, Setting};

/// Lives through a day; every line is accounted for.
async fn day(habits: Habits) {
    let mut stage = Setting::new(habits).listening().await;
    let mut pushed = 0;
    let mut gaps = 0;
    let mut told = 0;
    for minute in 1..=24 * 60_u32 {
        let name = if minute % 2 == 0 { A } else { B };
        // Two changes an hour on an open stream; otherwise it says at most that it is alive.
        if minute % 30 == 0 {
            pushed += stage.watched.change(name, format!("changed at minute {minute}"));
            told += 1;
        }
        match minute {
            // A cap every 15 minutes; something changes in every fourth of these gaps.
            _ if minute % 15 == 14 => {
                stage.watched.end_streams(&Step::Close);
                if minute % 60 == 14 {
                    stage.watched.write(name, format!("missed at minute {minute}"));
                    gaps += 1;
                }
            }
            // A proxy that cuts what is silent.
            300..310 => stage.watched.end_streams(&Step::Abort),
            // The machine sleeps for an hour; the server pushes into nothing.
            601 => {
                stage.watched.end_streams(&Step::Abort);
                stage.watched.write(A, "changed in the night");
                gaps += 1;
                stage.clock.sleep_over(Duration::from_secs(3600));
            }
            // The server is restarted, and is away for two minutes.
            901 => {
                stage.kill();
                stage.watched.forget();
                stage.watched.write(B, "changed while it was away");
                gaps += 1;
            }
            903 => stage.revive(),
            _ => stage.watched.say(": alive\n\n"),
        }
        stage.pass(30).await;
        stage.watched.say(": alive\n\n");
        stage.pass(30).await;
    }
    assert_eq!(pushed, told, "every change found its stream open");
    let lines = stage.results();
    let resyncs = lines.iter().filter(|line| line["resync"] == true).count();
    assert_eq!(lines.len() - resyncs, pushed, "each push is one line");
    assert_eq!(resyncs, gaps, "each gap with a change is one line");
    assert!(stage.count("stream_open") > 96);
}

#[tokio::test]
async fn a_day_with_sessions() {
    day(Habits::LEGACY).await;
}

#[tokio::test]
async fn a_day_without_sessions() {
    day(Habits::MODERN).await;
}
