//! `lsp`: an editor on standard input and output.

use std::{io, path::Path};

use clap::Args;

use super::{
    exit::{Exit, Failure},
    shell::{Opened, Shell},
    start,
};
use crate::lsp::{self, Ended, World};

/// Serve an editor on standard input and output, in the Language Server Protocol. Asks no system: what a connection is
/// comes from `listen-fire.lock`, which `listen-fire check` keeps.
#[derive(Debug, Args)]
#[command(after_help = "Example, as an editor starts it:\n  listen-fire lsp")]
pub(super) struct Arguments {
    /// What some editors add; there is no other way than standard input and output
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(super) fn run(_: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let runtime = start::runtime(shell, "warn")?;
    let open = |folder: &Path| {
        let opened = runtime.block_on(shell.look_at(folder)).map_err(|failure| failure.message)?;
        let Opened { project, connector, modules, .. } = opened;
        Ok(World { project, connector, modules })
    };
    let input = io::BufReader::new(io::stdin());
    match lsp::serve(input, io::BufWriter::new(io::stdout()), runtime.handle(), &open) {
        Ok(Ended::Asked) => Ok(Exit::Done),
        Ok(Ended::Gone) => Ok(Exit::NotSo),
        Err(why) => Err(Failure::usage(format!("the editor cannot be understood: {why}"))),
    }
}
