//! `run [PATHS]`: the runner, until it is stopped.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    exit::{Exit, Failure},
    ledger,
    shell::Shell,
    start, unbuilt,
};
use crate::host::{Host, Summary};

mod dry;
mod prepare;

pub(super) use prepare::{RUNNING, program};

/// How often a runner looks for what other processes put into the store.
const LOOK: Duration = Duration::from_secs(1);

/// Run the movements: check them, then listen and fire until stopped (Ctrl-C, SIGTERM). What happens is printed as it
/// happens.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire run\n  listen-fire run --once        (what is there, then exit)\n  \
                        listen-fire run --dry-run --once   (send nothing)")]
pub(super) struct Arguments {
    /// Files and folders; all movement files of the project if there are none
    paths: Vec<PathBuf>,
    /// Look at each source once, do what there is to do, and exit
    #[arg(long)]
    once: bool,
    /// Read, but send no write: say what would be sent. Nothing is stored
    #[arg(long)]
    dry_run: bool,
    /// Forget a listen that is no more, with its position and its open changes; may be given several times
    #[arg(long, value_name = "LISTEN")]
    drop: Vec<String>,
    /// Take new versions of files up (not built yet)
    #[arg(long)]
    watch: bool,
    /// Serve the page, webhooks, rooms and metrics too (not built yet)
    #[arg(long, value_name = "ADDR", num_args = 0..=1)]
    serve: Option<Option<String>>,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    for (given, name) in [(arguments.watch, "run --watch"), (arguments.serve.is_some(), "run --serve")] {
        if given {
            return Err(unbuilt::refused(name));
        }
    }
    let level = "warn,listen_fire=info,lf_mcp=info,lf_rest=info,lf_module=info";
    start::runtime(shell, level)?.block_on(async {
        let mut signals = start::Signals::new()?;
        tokio::select! {
            exit = work(arguments, shell, start::Signals::new()?) => exit,
            // Before anything runs the first signal ends it; after that, the second.
            () = async { signals.next().await; signals.next().await } => Ok(Exit::Interrupted),
        }
    })
}

async fn work(arguments: &Arguments, shell: &Shell, mut signals: start::Signals) -> Result<Exit, Failure> {
    let prepared = tokio::select! {
        prepared = prepare::prepare(arguments, shell) => prepared?,
        () = signals.next() => return Ok(Exit::Done),
    };
    let (parts, _lock) = match prepared {
        Ok(prepared) => prepared,
        Err(exit) => return Ok(exit),
    };
    if !arguments.once {
        let listens = parts.plan.listens.len();
        shell.output.note(&format!("{listens} {} · Ctrl-C stops", if listens == 1 { "listen" } else { "listens" }));
    }
    let reader = parts.news.subscribe();
    let clock = parts.clock.clone();
    let host = Host::start(parts);
    let (stopper, waker) = (host.clone(), host.clone());
    let stopped = async {
        signals.next().await;
        shell.output.note("stopping: running steps end first; once more stops at once");
        stopper.stop();
        std::future::pending::<()>().await;
    };
    // Another process may have changed the store: a run fired by hand, retried, settled.
    let woken = async {
        loop {
            clock.sleep(LOOK).await;
            waker.wake();
        }
    };
    let summary = tokio::select! {
        summary = ledger::print(&shell.output, reader, host.wait()) => summary,
        () = stopped => return Ok(Exit::Interrupted),
        () = woken => return Ok(Exit::Interrupted),
    };
    Ok(outcome(&summary, arguments.once, shell))
}

fn outcome(summary: &Summary, once: bool, shell: &Shell) -> Exit {
    if let Some(why) = &summary.fatal {
        shell.output.note(&format!("the store failed: {why}"));
        return Exit::Damaged;
    }
    if once {
        for problem in &summary.problems {
            shell.output.note(problem);
        }
        if summary.dead + summary.unsure > 0 {
            return Exit::NotSo;
        }
        if !summary.problems.is_empty() {
            return Exit::System;
        }
    }
    Exit::Done
}
