//! `explain CODE`: the page of a diagnostic.

use clap::Args;
use lf_lang::diag::{codes, suggest};

use super::{
    exit::{Exit, Failure},
    shell::Shell,
};

/// Explain a diagnostic: what it means, an example that is wrong, one that is right.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  listen-fire explain MOV_HOP_PIN_REQUIRED")]
pub(super) struct Arguments {
    /// The code, as a report shows it
    code: String,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let Some(entry) = codes::find(&arguments.code) else {
        let wrong = arguments.code.trim().to_uppercase();
        let failure = Failure::usage(format!("there is no diagnostic `{}`", arguments.code));
        let near = suggest::nearest(&wrong, codes::ALL.iter().map(|entry| entry.code.as_str()));
        return Err(match near {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure,
        });
    };
    if shell.output.json {
        shell.output.json(&serde_json::json!({
            "code": entry.code, "severity": entry.severity, "since": entry.since, "page": entry.page,
        }));
    } else {
        shell.output.line(entry.page.trim_end());
    }
    Ok(Exit::Done)
}
