//! `credential …`: one file for each of its commands.

use clap::{Args, Subcommand};
use lf_lang::diag::suggest;

use super::{
    exit::{Exit, Failure},
    shell::{Opened, Shell},
    start,
};

mod add;
mod list;
mod remove;
mod rotate;
mod test;

/// Add, list, test and remove credentials. They are sealed in the project's store; their values are never shown.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire credential add --module @lf/mcp linear --credential mcp_token\n  \
                        listen-fire credential list\n\nIn CI a credential may come whole from \
                        LISTEN_FIRE_CREDENTIAL_<NAME>, as JSON.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Seal a credential, after it was tried
    Add(add::Arguments),
    /// Show names, kinds and modules, and whether each works
    List(list::Arguments),
    /// Try a credential against its system
    Test(test::Arguments),
    /// Forget a credential
    Remove(remove::Arguments),
    /// Seal every credential anew under a new key
    RotateKey(rotate::Arguments),
}

pub(super) fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    match arguments.command {
        Command::Add(arguments) => start::blocking(shell, add::run(arguments, shell)),
        Command::List(list::Arguments {}) => start::blocking(shell, list::run(shell)),
        Command::Test(arguments) => start::blocking(shell, test::run(arguments, shell)),
        Command::Remove(arguments) => start::blocking(shell, remove::run(arguments, shell)),
        Command::RotateKey(rotate::Arguments {}) => start::blocking(shell, rotate::run(shell)),
    }
}

/// There is no credential of that name: which was meant.
async fn unknown(opened: &Opened, name: &str) -> Result<Failure, Failure> {
    let names: Vec<_> = opened.connector.credentials.sealed().await?.into_iter().map(|sealed| sealed.name).collect();
    let failure = Failure::usage(format!("there is no credential `{name}`"));
    Ok(match suggest::nearest(name, names.iter().map(|name| name.as_str())) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => failure.help("none was added yet; `listen-fire credential add --help` shows how"),
        None => failure.help("`listen-fire credential list` shows them"),
    })
}

/// The installed module of that name.
fn module<'o>(opened: &'o Opened, name: &str) -> Result<&'o std::sync::Arc<dyn lf_module::Module>, Failure> {
    let registry = &opened.connector.registry;
    if let Some(module) = registry.get(name) {
        return Ok(module);
    }
    if registry.not_installed(name) {
        let failure = Failure::usage(format!("the module `{name}` is not installed in this project"));
        return Err(failure.help(format!("install it with `listen-fire connect {name}`")));
    }
    let failure = Failure::usage(format!("there is no module `{name}`"));
    Err(match suggest::nearest(name, registry.names()) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure,
    })
}
