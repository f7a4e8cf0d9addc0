//! `runs list`: the ledger as a table, and the filters that `follow` shares.

use clap::{Args, builder::PossibleValue};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    cli::{
        exit::{Exit, Failure},
        ledger, listens,
        shell::{Opened, Shell},
    },
    host::news::cut,
    store::{Filter, Run, State},
};

/// Which runs.
#[derive(Debug, Args)]
pub(super) struct Filters {
    /// Of this listen only: its label, or `PATH fire FUNCTION`, or the function
    #[arg(long, value_name = "LISTEN")]
    listen: Option<String>,
    /// In this state; may be given several times
    #[arg(long, value_name = "STATE")]
    state: Vec<Word>,
    /// Of the record with this key
    #[arg(long, value_name = "KEY")]
    record: Option<String>,
    /// Taken in since then: `2h`, `7d`, or a time such as `2026-01-05T09:00:00Z`
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

/// The runs as a table, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  listen-fire runs list --state dead --state unsure --since 2h")]
pub(super) struct Arguments {
    #[command(flatten)]
    filters: Filters,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
}

#[derive(Debug, Clone, Copy)]
struct Word(State);

impl clap::ValueEnum for Word {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(State::Ready),
            Self(State::Running),
            Self(State::Retry),
            Self(State::Waiting),
            Self(State::Done),
            Self(State::Dead),
            Self(State::Unsure),
            Self(State::Held),
            Self(State::Skipped),
            Self(State::Cancelled),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(ledger::state(self.0)))
    }
}

impl Filters {
    /// What the store is asked for.
    pub(super) async fn filter(&self, opened: &Opened) -> Result<Filter, Failure> {
        let since = self.since.as_deref().map(|text| instant(text, opened.connector.clock.now())).transpose()?;
        let listen = match &self.listen {
            Some(name) => Some(listens::meant(opened, name).await?.to_string()),
            None => None,
        };
        let states = self.state.iter().map(|word| word.0).collect();
        Ok(Filter { listen, states, key: self.record.clone(), since, after: None, oldest_first: false, limit: 50 })
    }
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    let filter = Filter { limit: arguments.limit, ..arguments.filters.filter(&opened).await? };
    let runs = opened.store.list(&filter).await?;
    let off = opened.store.switched_off().await?;
    if shell.output.json {
        for run in &runs {
            shell.output.json(&object(run));
        }
    } else if runs.is_empty() {
        shell.output.note("no such run");
    } else {
        shell.output.table(
            &["run", "when (utc)", "listen", "record", "change", "state", "why"],
            runs.iter().map(|run| row(run, off.contains_key(&run.listen))).collect(),
        );
    }
    listens::tell(&opened, shell).await?;
    Ok(Exit::Done)
}

/// As much of a reason as a table shows; `runs show` has all of it.
const WHY: usize = 160;

fn row(run: &Run, off: bool) -> Vec<String> {
    let stopped = off && matches!(run.state, State::Ready | State::Retry);
    let why = run.reason.as_deref().or_else(|| stopped.then_some("its listen is switched off"));
    let attempts = if run.attempts > 1 { format!(" ({} attempts)", run.attempts) } else { String::new() };
    vec![
        run.id.to_string(),
        when(run.taken_in),
        run.listen.to_string(),
        run.key.to_string(),
        ledger::kind(run.kind).to_owned(),
        format!("{}{attempts}", ledger::state(run.state)),
        cut(why.unwrap_or_default(), WHY),
    ]
}

/// A run with stable keys.
pub(super) fn object(run: &Run) -> Value {
    json!({
        "run": run.id, "listen": run.listen, "record": run.key, "kind": ledger::kind(run.kind),
        "state": ledger::state(run.state), "reason": run.reason, "attempts": run.attempts,
        "at": run.at, "by": run.by, "taken_in": run.taken_in, "not_before": run.not_before, "finished": run.finished,
        "depth": run.depth, "cause": run.cause, "plan": run.plan, "delivery": run.delivery,
    })
}

/// A time for a table: in UTC, to the second.
pub(in crate::cli) fn when(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn instant(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    if let Ok(length) = text.parse::<SignedDuration>() {
        return now.checked_sub(length.abs()).map_err(|_| Failure::usage(format!("`{text}` is too long ago")));
    }
    // Days are 24 hours here: a filter needs no calendar.
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()).and_then(|days| days.checked_mul(24));
    if let Some(hours) = days {
        let length = SignedDuration::from_hours(hours.clamp(0, 24 * 36_500));
        return now.checked_sub(length).map_err(|_| Failure::usage(format!("`{text}` is too long ago")));
    }
    let wrong = || {
        Failure::usage(format!("`--since {text}` is no time")).help("for example `2h`, `7d` or `2026-01-05T09:00:00Z`")
    };
    text.parse::<Timestamp>().map_err(|_| wrong())
}
