//! `plan [PATHS]`: what the files would do, before they do it; or how that differs from what they did at a revision.

mod revision;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lf_lang::{
    check::typed::Movement,
    plan::{self, compare, draw, graph},
    source::SourceMap,
};

use super::{
    exit::{Exit, Failure},
    shell::Shell,
};
use crate::{
    host::load::{self, Ask, Connector, Loaded, earlier},
    project::Project,
};

/// Show what the files would do: what listens, what that fires, what each function reads and writes, and where
/// movements set one another off.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire plan\n  listen-fire plan --format svg > plan.svg\n  \
                        listen-fire plan movements/triage.mvt --offline --format mermaid\n  \
                        listen-fire plan --against main   (for a review: what can be written that could not)")]
pub(super) struct Arguments {
    /// Files and folders; all movement files of the project if there are none
    paths: Vec<PathBuf>,
    /// Ask no system: use the descriptions in `listen-fire.lock`
    #[arg(long)]
    offline: bool,
    /// How to show it
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    format: Format,
    /// What the files listen to and can write that they could not at that revision of git, and what they no longer do
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
    let format = if shell.output.json { Format::Json } else { arguments.format };
    let as_a_picture = match format {
        Format::Text | Format::Json => None,
        Format::Mermaid => Some("mermaid"),
        Format::Svg => Some("svg"),
    };
    if let (Some(_), Some(picture)) = (&arguments.against, as_a_picture) {
        let failure =
            Failure::usage(format!("what differs is no picture: `--against` does not go with `--format {picture}`"));
        return Err(failure.help("leave `--format` out, or write `--format json`"));
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
    let graph = drawn(movement, &loaded.sources);
    if let Some(revision) = &arguments.against {
        let paths: Vec<_> = paths.iter().map(|path| opened.project.display(path)).collect();
        return against(shell, (&opened.project, &opened.connector), (&loaded, &graph), &paths, (revision, format))
            .await;
    }
    match format {
        Format::Text => shell.output.line(draw::text::text(&graph).trim_end()),
        Format::Json => shell.output.json(&draw::json::json(&graph)),
        Format::Mermaid => shell.output.line(draw::mermaid::mermaid(&graph).trim_end()),
        Format::Svg => shell.output.line(draw::svg::svg(&graph).trim_end()),
    }
    Ok(Exit::Done)
}

fn drawn(movement: &Movement, sources: &SourceMap) -> graph::Graph {
    graph::graph(movement, &plan::compile(movement, sources))
}

/// What the files can do, beside what they could at a revision.
async fn against(
    shell: &Shell,
    (project, connector): (&Project, &Connector),
    (loaded, graph): (&Loaded, &graph::Graph),
    paths: &[String],
    (wanted, format): (&str, Format),
) -> Result<Exit, Failure> {
    let revision = revision::read(&project.root, wanted).await?;
    let roots = earlier::named(&revision.files, paths);
    let earlier = earlier::check(loaded, connector, (&revision.files, roots), revision.lock.as_deref()).await?;
    let Some(movement) = &earlier.movement else {
        shell.output.reports(&earlier.sources, &earlier.problems);
        let what = format!("the files as they were at `{wanted}` ({}) do not check now", revision.commit);
        let help = "what they did cannot be told; compare with a revision that checks against the systems as they are";
        return Err(Failure::new(Exit::NotSo, what).help(help));
    };
    let differs = compare::compare(&drawn(movement, &earlier.sources), graph);
    if format == Format::Json {
        let mut object = draw::against::object(&differs);
        if let Some(object) = object.as_object_mut() {
            object.insert("against".to_owned(), serde_json::json!(revision.commit));
        }
        shell.output.json(&object);
    } else {
        shell.output.line(draw::against::text(&differs).trim_end());
    }
    Ok(Exit::Done)
}
