//! `check [PATHS]`: describe, check, report.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lf_lang::diag::{Severity, codes, render};
use serde_json::json;

use super::{
    exit::{Exit, Failure},
    output::Style,
    shell::{Opened, Shell},
};
use crate::host::load::{self, Ask, Drift, Loaded};

mod annotation;
mod fixes;
mod sarif;

use fixes::Fixed;

/// Check the movement files against the systems they connect to. Each connection is described once, as that connection.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  listen-fire check\n  listen-fire check movements/triage.mvt --offline\n  listen-fire check --fix\n  \
                        listen-fire check --locked --deny warnings --format github   (in CI)"
)]
pub(super) struct Arguments {
    /// Files and folders; all movement files of the project if there are none
    paths: Vec<PathBuf>,
    /// Ask no system: use the descriptions in `listen-fire.lock`
    #[arg(long, conflicts_with = "locked")]
    offline: bool,
    /// Fail if a system is not as `listen-fire.lock` says, which stays as it is
    #[arg(long)]
    locked: bool,
    /// Make every fix that a machine can make, and check again
    #[arg(long, conflicts_with = "locked")]
    fix: bool,
    /// Fail on warnings too
    #[arg(long, value_name = "WHAT")]
    deny: Option<Deny>,
    /// How to report
    #[arg(long, value_name = "FORMAT", default_value = "human", conflicts_with = "json")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Deny {
    Warnings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// With the lines that are meant
    Human,
    /// One line each
    Short,
    /// One object
    Json,
    /// A SARIF 2.1.0 log
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let format = if shell.output.json { Format::Json } else { arguments.format };
    let ask = match (arguments.offline, arguments.locked) {
        (true, _) => Ask::Offline,
        (false, true) => Ask::Locked,
        (false, false) => Ask::Refresh,
    };
    let opened = shell.look().await?;
    let paths: Vec<_> = arguments.paths.iter().map(|path| shell.absolute(path)).collect();
    shell.output.progress("describing the connections …");
    let loaded = mended(&opened, &paths, ask, arguments.fix).await;
    shell.output.progress("");
    let (loaded, fixed) = loaded?;
    if ask == Ask::Refresh {
        loaded.lock.save(&opened.project)?;
    }
    report(&loaded, fixed.as_ref(), format, shell);
    let drifted = ask == Ask::Locked && !loaded.drift.is_empty();
    if format != Format::Json {
        if let Some(fixed) = &fixed {
            fixed.say(&loaded, shell);
        }
        summary(&loaded, drifted, shell);
    }
    Ok(exit(&loaded, drifted, arguments.deny.is_some()))
}

/// Loads, and with `fix` mends and loads again until there is nothing to mend.
async fn mended(opened: &Opened, paths: &[PathBuf], ask: Ask, fix: bool) -> Result<(Loaded, Option<Fixed>), Failure> {
    let again = || load::load(&opened.project, &opened.connector, opened.modules.clone(), paths, ask);
    let mut loaded = again().await?;
    if !fix {
        return Ok((loaded, None));
    }
    let mut fixed = Fixed::default();
    for _ in 0..fixes::MOST_ROUNDS {
        if !fixed.round(&loaded, &opened.project)? {
            break;
        }
        loaded = again().await?;
    }
    Ok((loaded, Some(fixed)))
}

fn report(loaded: &Loaded, fixed: Option<&Fixed>, format: Format, shell: &Shell) {
    let (output, sources) = (&shell.output, &loaded.sources);
    match format {
        Format::Human => output.problems(sources, &loaded.problems),
        Format::Short => {
            for problem in &loaded.problems {
                output.line(&render::concise(problem, sources));
            }
        }
        Format::Github => {
            for problem in &loaded.problems {
                output.line(&annotation::annotation(problem, sources));
            }
        }
        Format::Sarif => output.json(&sarif::log(&loaded.problems, sources)),
        Format::Json => output.json(&json!({
            "files": loaded.files,
            "errors": loaded.count(Severity::Error),
            "warnings": loaded.count(Severity::Warning),
            "problems": loaded.problems.iter().map(|problem| render::json(problem, sources)).collect::<Vec<_>>(),
            "fixed": fixed.map(Fixed::json),
            "drift": loaded.drift.iter().map(|drift| json!({
                "connection": drift.connection, "differences": drift.lines,
            })).collect::<Vec<_>>(),
        })),
    }
}

fn summary(loaded: &Loaded, drifted: bool, shell: &Shell) {
    for Drift { connection, lines } in &loaded.drift {
        let what = if drifted { "is not as in `listen-fire.lock`" } else { "in `listen-fire.lock`" };
        shell.output.note(&format!("{connection} {what}:"));
        for line in lines.iter().take(50) {
            shell.output.note(&format!("  {line}"));
        }
        if lines.len() > 50 {
            shell.output.note(&format!("  … and {} more", lines.len() - 50));
        }
    }
    let (errors, warnings) = (loaded.count(Severity::Error), loaded.count(Severity::Warning));
    let counted = |count: usize, word: &str| match count {
        0 => format!("no {word}s"),
        1 => format!("1 {word}"),
        many => format!("{many} {word}s"),
    };
    let text =
        format!("{}, {} in {}", counted(errors, "error"), counted(warnings, "warning"), counted(loaded.files, "file"));
    let style = match (errors, warnings) {
        (0, 0) => Style::Green,
        (0, _) => Style::Yellow,
        (_, _) => Style::Red,
    };
    shell.output.summary(style, &text);
    if drifted {
        shell.output.note("`listen-fire check` without `--locked` takes the new descriptions up");
    }
}

/// A system that is away is told apart from a program that is wrong.
pub(super) fn exit(loaded: &Loaded, drifted: bool, deny_warnings: bool) -> Exit {
    let away = |code| code == codes::MOV_CONNECTION_UNREACHABLE || code == codes::MOV_CONNECTION_REFUSED;
    let errors = || loaded.problems.iter().filter(|problem| problem.severity == Severity::Error);
    if errors().next().is_some() && errors().all(|problem| away(problem.code)) {
        Exit::System
    } else if errors().next().is_some() || drifted || (deny_warnings && loaded.count(Severity::Warning) > 0) {
        Exit::NotSo
    } else {
        Exit::Done
    }
}
