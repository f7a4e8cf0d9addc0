//! What the runs' own records say about time.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use listen_fire::store::{Run, RunId};

/// Seconds from the first change taken in to the last run's end.
pub(super) fn span(runs: &[Run]) -> f64 {
    let first = runs.iter().map(|run| run.taken_in).min().unwrap();
    let last = runs.iter().filter_map(|run| run.finished).max().unwrap();
    last.duration_since(first).as_secs_f64()
}

/// For each run, from the moment its change was handed over to the moment its first write was sent.
pub(super) fn seen_to_sent(runs: &[Run], told: &str) -> Vec<Duration> {
    let mut sent: BTreeMap<RunId, Timestamp> = BTreeMap::new();
    for line in told.lines() {
        let item: serde_json::Value = serde_json::from_str(line).unwrap();
        if item.get("event").and_then(|event| event.as_str()) == Some("sending") {
            let run = RunId(item.get("run").and_then(serde_json::Value::as_i64).unwrap());
            let at: Timestamp = item.get("at").and_then(|at| at.as_str()).unwrap().parse().unwrap();
            sent.entry(run).or_insert(at);
        }
    }
    let waited = |run: &Run| sent.get(&run.id).map(|at| at.duration_since(run.taken_in).unsigned_abs());
    runs.iter().filter_map(waited).collect()
}

pub(super) fn percentile(times: &[Duration], hundredths: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get((times.len() * hundredths / 100).min(last)).copied().unwrap_or_default()
}
