//! `fmt [PATHS]`: the one layout, written in place.

use std::{
    io::{Read as _, stdin},
    path::{Path, PathBuf},
};

use clap::Args;
use lf_lang::{
    diag::{Diagnostic, render},
    source::SourceMap,
    syntax::format::{self, Left},
};
use serde_json::{Value, json};

use super::{
    exit::{Exit, Failure},
    output::Style,
    shell::Shell,
};
use crate::project::files;

/// Lay the movement files out in the one layout. Keeps every comment, changes no meaning, and leaves a file alone that
/// cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire fmt\n  listen-fire fmt --check   (in CI)\n  \
                        listen-fire fmt - < triage.mvt")]
pub(super) struct Arguments {
    /// Files and folders, or `-` for standard input; all movement files of the project if there are none
    paths: Vec<PathBuf>,
    /// Write nothing: list the files that are laid out differently, and fail if there are any
    #[arg(long)]
    check: bool,
}

/// What came of all files.
#[derive(Default)]
struct Done {
    sources: SourceMap,
    files: usize,
    /// Files that are, or with `--check` would be, written anew.
    changed: Vec<String>,
    /// Files that were left alone, and why.
    left: Vec<(String, Vec<Diagnostic>)>,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    if arguments.paths.iter().any(|path| path.as_os_str() == "-") {
        if arguments.paths.len() > 1 {
            return Err(Failure::usage("`-` stands alone: standard input is one file"));
        }
        return piped(arguments.check, shell);
    }
    let mut done = Done::default();
    for (name, path) in places(&arguments.paths, shell)? {
        file(name, &path, arguments.check, &mut done)?;
    }
    report(&done, arguments.check, shell);
    let wrong = !done.left.is_empty() || (arguments.check && !done.changed.is_empty());
    Ok(if wrong { Exit::NotSo } else { Exit::Done })
}

/// The files, each with the name by which its reader knows it.
fn places(paths: &[PathBuf], shell: &Shell) -> Result<Vec<(String, PathBuf)>, Failure> {
    if paths.is_empty() {
        let project = shell.project()?;
        let found = files::movements(&project.root)?;
        return Ok(found.into_iter().map(|path| (project.display(&path), path)).collect());
    }
    let mut found = Vec::new();
    for path in paths {
        let place = shell.absolute(path);
        if place.is_dir() {
            let named = |inside: PathBuf| {
                let below = inside.strip_prefix(&place).unwrap_or(&inside);
                (path.join(below).display().to_string(), inside.clone())
            };
            found.extend(files::movements(&place)?.into_iter().map(named));
        } else if place.is_file() {
            found.push((path.display().to_string(), place));
        } else {
            return Err(Failure::usage(format!("there is no file `{}`", path.display())));
        }
    }
    let mut known = std::collections::BTreeSet::new();
    found.retain(|(_, path)| known.insert(path.clone()));
    Ok(found)
}

fn file(name: String, path: &Path, check: bool, done: &mut Done) -> Result<(), Failure> {
    let text = files::read(path)?;
    done.files += 1;
    match lay_out(&name, &text, &mut done.sources) {
        Ok(laid_out) if laid_out == text => {}
        Ok(laid_out) => {
            if !check {
                files::replace(path, &laid_out)?;
            }
            done.changed.push(name);
        }
        Err(problems) => done.left.push((name, problems)),
    }
    Ok(())
}

/// The layout of a text, or why there is none.
fn lay_out(name: &str, text: &str, sources: &mut SourceMap) -> Result<String, Vec<Diagnostic>> {
    let id = sources.add(name, text);
    let Some(file) = sources.get(id) else { return Err(Vec::new()) };
    format::format(file).map_err(|left| match left {
        Left::Unreadable(problems) => problems,
        Left::Unsure => Vec::new(),
    })
}

/// Standard input to standard output; what cannot be read comes out as it went in, so that an editor loses nothing.
fn piped(check: bool, shell: &Shell) -> Result<Exit, Failure> {
    let mut text = String::new();
    let read = stdin().lock().take(files::LARGEST + 1).read_to_string(&mut text);
    read.map_err(|_| Failure::usage("standard input is no text"))?;
    if text.len() as u64 > files::LARGEST {
        return Err(Failure::usage(format!("standard input is larger than {} MiB", files::LARGEST >> 20)));
    }
    let mut done = Done { files: 1, ..Done::default() };
    let name = "standard input";
    let laid_out = lay_out(name, &text, &mut done.sources);
    let differs = laid_out.as_ref().is_ok_and(|laid_out| *laid_out != text);
    if check || shell.output.json {
        if differs {
            done.changed.push(name.to_owned());
        }
        if let Err(problems) = laid_out {
            done.left.push((name.to_owned(), problems));
        }
        report(&done, check, shell);
        let wrong = !done.left.is_empty() || (check && differs);
        return Ok(if wrong { Exit::NotSo } else { Exit::Done });
    }
    match laid_out {
        Ok(laid_out) => {
            shell.output.raw(laid_out.as_bytes());
            Ok(Exit::Done)
        }
        Err(problems) => {
            shell.output.raw(text.as_bytes());
            left(name, &problems, &done.sources, shell);
            Ok(Exit::NotSo)
        }
    }
}

fn report(done: &Done, check: bool, shell: &Shell) {
    if shell.output.json {
        let left = done.left.iter().map(|(path, problems)| -> Value {
            let problems: Vec<_> = problems.iter().map(|problem| render::json(problem, &done.sources)).collect();
            json!({ "path": path, "problems": problems })
        });
        shell.output.json(&json!({
            "files": done.files,
            "changed": done.changed,
            "written": !check,
            "left": left.collect::<Vec<_>>(),
        }));
        return;
    }
    for name in &done.changed {
        shell.output.line(name);
    }
    for (name, problems) in &done.left {
        left(name, problems, &done.sources, shell);
    }
    let files = |count: usize| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let (changed, left) = (done.changed.len(), done.left.len());
    let what = if check { "would be laid out anew" } else { "laid out anew" };
    let mut text = format!("{} of {} {what}", changed, files(done.files));
    if left > 0 {
        text = format!("{text}, {left} left alone");
    }
    let style = match (changed, left) {
        (_, 1..) => Style::Red,
        (1.., 0) if check => Style::Yellow,
        (_, 0) => Style::Green,
    };
    shell.output.summary(style, &text);
}

/// Why a file was left alone.
fn left(name: &str, problems: &[Diagnostic], sources: &SourceMap, shell: &Shell) {
    if problems.is_empty() {
        shell.output.note(&format!("{name}: left alone: its layout would not mean the same; please report this"));
        return;
    }
    shell.output.reports(sources, problems);
    shell.output.note(&format!("{name}: left alone: it cannot be read"));
}
