//! `runs retry|settle|cancel`: what a person decides about a run.

use clap::Args;
use serde_json::json;

use crate::{
    cli::{
        exit::{Exit, Failure},
        ledger, run,
        shell::{Opened, Shell},
    },
    host::load::{self, Ask, Ready},
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
    if order == Order::RetryCurrent {
        present(&opened).await?;
    }
    opened.store.order(id, order, opened.connector.clock.now()).await?;
    let Some((run, _)) = opened.store.show(id).await? else { return Err(super::missing(id)) };
    let state = ledger::state(run.state);
    shell.output.done(&format!("#{id} is {state}"), &json!({ "run": id, "state": state }));
    Ok(Exit::Done)
}

/// A runner at work goes on with the text that it was started with: if the files say something else by now, that is not
/// what would be run.
async fn present(opened: &Opened) -> Result<(), Failure> {
    if opened.lock_runner().is_ok() {
        return Ok(());
    }
    let Some(running) = opened.store.noted(run::RUNNING).await? else { return Ok(()) };
    let loaded = load::load(&opened.project, &opened.connector, opened.modules.clone(), &[], Ask::Offline).await?;
    match Ready::new(loaded) {
        Ok(ready) if ready.id.0 == running => Ok(()),
        Ok(_) => Err(Failure::new(
            Exit::NotSo,
            "the runner works with the text that it was started with, and the files have another",
        )
        .help("stop it and start it again, then retry")),
        Err(_) => Err(Failure::new(Exit::NotSo, "the files have errors").help("`listen-fire check` shows them")),
    }
}
