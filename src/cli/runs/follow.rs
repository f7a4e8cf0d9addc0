//! `runs follow`: runs as they come and go, whoever runs them. Looks at the store again and again.

use std::{collections::BTreeMap, time::Duration};

use super::list::{Filters, object};
use crate::{
    cli::{
        exit::{Exit, Failure},
        ledger,
        output::{Output, Style},
        shell::Shell,
    },
    store::{Filter, Run, RunId, State},
};

const EVERY: Duration = Duration::from_millis(500);
/// How many runs one look takes.
const PAGE: u32 = 500;

pub(super) async fn run(filters: Filters, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    let clock = &opened.connector.clock;
    // States choose what is printed, not what is watched: a run enters a state that is asked for.
    let Filter { states, since, .. } = filters.filter(&opened).await?;
    let wanted = Filter { states: Vec::new(), since: None, limit: PAGE, ..filters.filter(&opened).await? };
    let mut open: BTreeMap<RunId, State> = BTreeMap::new();
    let mut last = match since {
        Some(_) => None,
        None => opened.store.list(&Filter { limit: 1, ..wanted.clone() }).await?.first().map(|run| run.id),
    };
    let mut since = since;
    loop {
        let new = Filter { after: last, oldest_first: true, since: since.take(), ..wanted.clone() };
        let new = opened.store.list(&new).await?;
        last = new.last().map(|run| run.id).or(last);
        let more = new.len() >= PAGE as usize;
        let mut seen = new;
        for id in open.keys().copied().collect::<Vec<_>>() {
            if let Some((run, _)) = opened.store.show(id).await? {
                seen.push(run);
            }
        }
        for run in seen {
            if open.get(&run.id) != Some(&run.state) && (states.is_empty() || states.contains(&run.state)) {
                print(&shell.output, &run);
            }
            if over(run.state) {
                open.remove(&run.id);
            } else {
                open.insert(run.id, run.state);
            }
        }
        if shell.output.closed() {
            return Ok(Exit::Done);
        }
        if !more {
            clock.sleep(EVERY).await;
        }
    }
}

/// Whether only a person can change it any more.
fn over(state: State) -> bool {
    match state {
        State::Done | State::Dead | State::Skipped | State::Cancelled => true,
        State::Ready | State::Running | State::Retry | State::Waiting | State::Unsure | State::Held => false,
    }
}

fn print(output: &Output, run: &Run) {
    if output.json {
        output.json(&object(run));
        return;
    }
    let at = ledger::clock(run.finished.unwrap_or(run.taken_in));
    let reason = run.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    output.parts(&[
        (Some(Style::Dim), &at),
        (Some(Style::Bold), &format!("  #{} {}", run.id, run.key)),
        (None, &format!("  {}  ", run.listen)),
        (ledger::style(run.state), &format!("{}{reason}", ledger::state(run.state))),
    ]);
}
