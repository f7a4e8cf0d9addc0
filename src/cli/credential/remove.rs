//! `credential remove NAME`.

use clap::Args;

use crate::cli::{
    exit::{Exit, Failure},
    shell::Shell,
};

/// Forget a credential. Movements that use it no longer check.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  listen-fire credential remove linear")]
pub(super) struct Arguments {
    /// Its name
    name: String,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    if !opened.store.remove(&arguments.name).await? {
        return Err(super::unknown(&opened, &arguments.name).await?);
    }
    shell.output.done(&format!("removed `{}`", arguments.name), &serde_json::json!({ "removed": arguments.name }));
    Ok(Exit::Done)
}
