//! `runs …`: the ledger. One file for each of its commands.

use clap::{Args, Subcommand};

use super::{
    exit::{Exit, Failure},
    shell::Shell,
    start,
};
use crate::store::{Order, RunId};

mod follow;
mod list;
mod order;
mod show;
mod story;
mod values;

/// Look at what ran and what waits, and decide about what cannot go on by itself.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire runs list --state dead --since 2h\n  listen-fire runs show 12\n  \
                        listen-fire runs retry 12 --current\n  listen-fire runs settle 12 --done")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The runs as a table, newest first
    List(list::Arguments),
    /// The whole story of a run
    Show(show::Arguments),
    /// Runs as they come and go
    Follow(list::Filters),
    /// Try a dead, unsure or held run again, from what it remembers
    #[command(after_help = "Example:\n  listen-fire runs retry 12 --current")]
    Retry {
        /// The run's number
        id: i64,
        /// With the present text of the movement, if what the run did so far fits it
        #[arg(long)]
        current: bool,
    },
    /// Say what became of the write that an unsure run was sending
    #[command(after_help = "Example:\n  listen-fire runs settle 12 --done   (you saw in the system that it was done)")]
    Settle(order::Settle),
    /// End a run, whatever it is waiting for
    #[command(after_help = "Example:\n  listen-fire runs cancel 12")]
    Cancel {
        /// The run's number
        id: i64,
    },
}

pub(super) fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    match arguments.command {
        Command::List(arguments) => start::blocking(shell, list::run(arguments, shell)),
        Command::Show(arguments) => start::blocking(shell, show::run(arguments, shell)),
        Command::Follow(filters) => start::blocking(shell, follow::run(filters, shell)),
        Command::Retry { id, current } => {
            let order = if current { Order::RetryCurrent } else { Order::Retry };
            start::blocking(shell, order::run(RunId(id), order, shell))
        }
        Command::Settle(order::Settle { id, done, again: _ }) => {
            let order = if done { Order::SettleDone } else { Order::SettleAgain };
            start::blocking(shell, order::run(RunId(id), order, shell))
        }
        Command::Cancel { id } => start::blocking(shell, order::run(RunId(id), Order::Cancel, shell)),
    }
}

pub(super) use list::when;

fn missing(id: RunId) -> Failure {
    Failure::new(Exit::NotSo, format!("there is no run #{id}")).help("`listen-fire runs list` shows them")
}
