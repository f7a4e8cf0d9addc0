//! `completions SHELL`: the script that teaches a shell the commands.

use clap::Args;
use clap_complete::Shell as Kind;

use super::{exit::Exit, shell::Shell};

/// Print the completion script of a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  listen-fire completions bash > ~/.local/share/bash-completion/completions/listen-fire"
)]
pub(super) struct Arguments {
    shell: Kind,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell, command: &mut clap::Command) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "listen-fire", &mut script);
    shell.output.raw(&script);
    Exit::Done
}
