//! `plan [PATHS]`: what the files would do, before they do it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lf_lang::plan::{self, draw, graph};

use super::{
    exit::{Exit, Failure},
    shell::Shell,
    unbuilt,
};
use crate::host::load::{self, Ask};

/// Show what the files would do: what listens, what that fires, what each function reads and writes, and where
/// movements set one another off.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire plan\n  listen-fire plan --format svg > plan.svg\n  \
                        listen-fire plan movements/triage.mvt --offline --format mermaid")]
pub(super) struct Arguments {
    /// Files and folders; all movement files of the project if there are none
    paths: Vec<PathBuf>,
    /// Ask no system: use the descriptions in `listen-fire.lock`
    #[arg(long)]
    offline: bool,
    /// How to show it
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    format: Format,
    /// What a change can newly write, compared with that revision (not built yet)
    #[arg(long, value_name = "REV")]
    against: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for a person
    Text,
    /// One object
    Json,
    /// A flowchart for a page that draws Mermaid
    Mermaid,
    /// A picture
    Svg,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    if arguments.against.is_some() {
        return Err(unbuilt::refused("plan --against"));
    }
    let ask = if arguments.offline { Ask::Offline } else { Ask::RefreshOrOld };
    let opened = shell.look().await?;
    let paths: Vec<_> = arguments.paths.iter().map(|path| shell.absolute(path)).collect();
    shell.output.progress("describing the connections …");
    let loaded = load::load(&opened.project, &opened.connector, opened.modules, &paths, ask).await;
    shell.output.progress("");
    let loaded = loaded?;
    let Some(movement) = &loaded.movement else {
        shell.output.reports(&loaded.sources, &loaded.problems);
        shell.output.note("what is wrong has no plan; `listen-fire check` says the same");
        return Ok(super::check::exit(&loaded, false, false));
    };
    let plan = plan::compile(movement, &loaded.sources);
    let graph = graph::graph(movement, &plan);
    let format = if shell.output.json { Format::Json } else { arguments.format };
    match format {
        Format::Text => shell.output.line(draw::text::text(&graph).trim_end()),
        Format::Json => shell.output.json(&draw::json::json(&graph)),
        Format::Mermaid => shell.output.line(draw::mermaid::mermaid(&graph).trim_end()),
        Format::Svg => shell.output.line(draw::svg::svg(&graph).trim_end()),
    }
    Ok(Exit::Done)
}
