//! The command line: arguments in, one library call, results out, an exit code.
//!
//! Each subcommand has its file; none of them prints but through [`output`], none decides about movements. Deleting
//! this folder would delete access to behaviour, no behaviour.

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

mod check;
mod completions;
mod connect;
mod credential;
mod demo;
mod describe;
mod doctor;
mod environment;
mod exit;
mod explain;
mod fire;
mod fmt;
mod input;
mod ledger;
mod listen;
mod listens;
mod lsp;
mod output;
mod plan;
mod run;
mod runs;
mod shell;
mod sign_in;
mod start;
mod test;
mod unbuilt;

pub use environment::Environment;
use exit::{Exit, Failure};
use output::Output;
use shell::Shell;
use unbuilt::Unbuilt;

/// Small typed programs that listen to the systems a team uses and fire when they change.
#[derive(Debug, Parser)]
#[command(
    name = "listen-fire",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Examples:\n  listen-fire connect @lf/mcp --yes\n  listen-fire credential add --module @lf/mcp linear \
                  --credential mcp_token\n  listen-fire check\n  listen-fire run\n\nExit codes: 0 done · 1 it is not so \
                  (errors, a dead run) · 2 wrong usage · 3 a system was away or refused ·\n4 the project or its store \
                  is damaged or in use · 130 interrupted"
)]
struct Arguments {
    #[command(flatten)]
    global: output::Arguments,
    #[command(flatten)]
    place: shell::Arguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a project that runs at once (not built yet)
    #[command(hide = true)]
    New(Unbuilt),
    /// Watch a whole movement run against two systems on this machine
    Demo(demo::Arguments),
    /// Check the movement files against the systems they connect to
    Check(check::Arguments),
    /// Install a module in the project
    Connect(connect::Arguments),
    /// Add, list, test and remove credentials
    Credential(credential::Arguments),
    /// Show what a connection offers: types, fields, and what may be done with them
    Describe(describe::Arguments),
    /// Run the movements: listen and fire until stopped
    Run(run::Arguments),
    /// Fire one function by hand
    Fire(fire::Arguments),
    /// Look at what ran and what waits, and decide about it
    Runs(runs::Arguments),
    /// Look at the listens, switch one off at once, and on again
    Listens(listens::Arguments),
    /// Show the page, rooms and metrics without running movements (not built yet)
    #[command(hide = true)]
    Serve(Unbuilt),
    /// Show what the files would do: as text, JSON, Mermaid or a picture
    Plan(plan::Arguments),
    /// Run the tests in the files
    Test(test::Arguments),
    /// Run changed files against what really happened (not built yet)
    #[command(hide = true)]
    Backtest(Unbuilt),
    /// Lay the files out in the one layout
    Fmt(fmt::Arguments),
    /// Serve an editor on standard input and output
    Lsp(lsp::Arguments),
    /// Explain a diagnostic
    Explain(explain::Arguments),
    /// Listen to resources of an MCP server: one line of JSON for each update
    Listen(listen::Arguments),
    /// Create and manage rooms (not built yet)
    #[command(hide = true)]
    Room(Unbuilt),
    /// Write a first version of a project module (not built yet)
    #[command(hide = true)]
    Module(Unbuilt),
    /// Look the project, its store and its connections over
    Doctor(doctor::Arguments),
    /// Print the completion script of a shell
    Completions(completions::Arguments),
}

/// Runs the command line.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>, environment: Environment) -> ExitCode {
    let parsed = Arguments::command()
        .color(environment.colors_of_help())
        .try_get_matches_from(arguments)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    match parsed {
        Ok(arguments) => {
            let output = Output::new(&arguments.global, &environment);
            let shell = Shell::new(output, arguments.place, environment);
            let done = dispatch(arguments.command, &shell);
            let exit = done.unwrap_or_else(|failure| shell.output.failure(&failure));
            exit.into()
        }
        Err(error) => output::usage(&error).into(),
    }
}

fn dispatch(command: Command, shell: &Shell) -> Result<Exit, Failure> {
    let refuse = |name: &str, _: Unbuilt| Err(unbuilt::refused(name));
    match command {
        Command::New(rest) => refuse("new", rest),
        Command::Demo(arguments) => demo::run(&arguments, shell),
        Command::Check(arguments) => start::blocking(shell, check::run(arguments, shell)),
        Command::Connect(arguments) => start::blocking(shell, connect::run(arguments, shell)),
        Command::Credential(arguments) => credential::run(arguments, shell),
        Command::Describe(arguments) => start::blocking(shell, describe::run(arguments, shell)),
        Command::Run(arguments) => run::run(&arguments, shell),
        Command::Fire(arguments) => fire::run(&arguments, shell),
        Command::Runs(arguments) => runs::run(arguments, shell),
        Command::Listens(arguments) => listens::run(arguments, shell),
        Command::Serve(rest) => refuse("serve", rest),
        Command::Plan(arguments) => start::blocking(shell, plan::run(arguments, shell)),
        Command::Test(arguments) => test::run(&arguments, shell),
        Command::Backtest(rest) => refuse("backtest", rest),
        Command::Fmt(arguments) => fmt::run(&arguments, shell),
        Command::Lsp(arguments) => lsp::run(&arguments, shell),
        Command::Explain(arguments) => explain::run(&arguments, shell),
        Command::Listen(arguments) => listen::run(arguments, shell),
        Command::Room(rest) => refuse("room", rest),
        Command::Module(rest) => refuse("module", rest),
        Command::Doctor(arguments) => start::blocking(shell, doctor::run(arguments, shell)),
        Command::Completions(arguments) => Ok(completions::run(&arguments, shell, &mut Arguments::command())),
    }
}
