//! `credential list`: names, kinds, modules, whether it works. Never a value.

use clap::Args;
use serde_json::json;

use crate::cli::{
    exit::{Exit, Failure},
    shell::Shell,
};

/// Show names, kinds and modules, when each was last used and whether it works; never a value.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  listen-fire credential list --json")]
pub(super) struct Arguments {}

pub(super) async fn run(shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    let credentials = &opened.connector.credentials;
    let sealed = credentials.sealed().await?;
    let works = |works: Option<bool>| match works {
        None => "untried",
        Some(true) => "yes",
        Some(false) => "no",
    };
    if shell.output.json {
        for one in &sealed {
            shell.output.json(&json!({
                "name": one.name, "kind": one.kind, "module": one.module, "key": one.key_id,
                "last_used": one.last_used, "works": one.works, "overridden_by": credentials.given(&one.name),
            }));
        }
        for variable in credentials.variables() {
            shell.output.json(&json!({ "variable": variable }));
        }
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for one in &sealed {
        let used = one.last_used.map_or_else(|| "never".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M").to_string());
        let from = credentials.given(&one.name).unwrap_or_else(|| "sealed".to_owned());
        rows.push(vec![
            one.name.to_string(),
            one.kind.to_string(),
            one.module.to_string(),
            used,
            works(one.works).to_owned(),
            from,
        ]);
    }
    let taken: Vec<_> = sealed.iter().filter_map(|one| credentials.given(&one.name)).collect();
    for variable in credentials.variables().filter(|variable| !taken.contains(variable)) {
        let none = String::new;
        rows.push(vec![none(), none(), none(), none(), none(), variable]);
    }
    if rows.is_empty() {
        shell.output.note("no credential yet; `listen-fire credential add --help` shows how to add one");
    } else {
        shell.output.table(&["name", "kind", "module", "last used (utc)", "works", "from"], rows);
    }
    Ok(Exit::Done)
}
