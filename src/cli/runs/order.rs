//! `runs retry|settle|cancel`: what a person decides about a run.

use clap::Args;
use serde_json::json;

use crate::{
    cli::{
        exit::{Exit, Failure},
        ledger,
        shell::Shell,
    },
    store::{Order, RunId},
};

/// Say what became of the write that an unsure run was sending.
#[derive(Debug, Args)]
pub(super) struct Settle {
    /// The run's number
    pub(super) id: i64,
    /// The system did it: go on after it
    #[arg(long, required_unless_present = "again", conflicts_with = "again")]
    pub(super) done: bool,
    /// The system did not do it: send it again
    #[arg(long)]
    pub(super) again: bool,
}

pub(super) async fn run(id: RunId, order: Order, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    if opened.store.show(id).await?.is_none() {
        return Err(super::missing(id));
    }
    opened.store.order(id, order, opened.connector.clock.now()).await?;
    let Some((run, _)) = opened.store.show(id).await? else { return Err(super::missing(id)) };
    let state = ledger::state(run.state);
    shell.output.done(&format!("#{id} is {state}"), &json!({ "run": id, "state": state }));
    Ok(Exit::Done)
}
