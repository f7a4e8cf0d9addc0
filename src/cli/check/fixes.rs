//! `check --fix`: takes fixes round by round, writing each file whole, until none fits any more.
//!
//! A file is written only if it still is as it was read. Files that are no movements are left to their author.

use std::collections::{BTreeMap, BTreeSet};

use lf_lang::{
    diag::{Diagnostic, Fix, Severity, fix},
    source::{LineColumn, SourceFile, SourceId},
};
use serde_json::{Value, json};

use super::super::{
    exit::{Exit, Failure},
    shell::Shell,
};
use crate::{
    host::load::Loaded,
    project::{Project, files},
};

/// One mend may bring up the next; more rounds than this are no progress.
pub(super) const MOST_ROUNDS: usize = 16;

/// What was mended so far.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    /// The fixes that went into each file.
    files: BTreeMap<String, Vec<Made>>,
    /// Every text that a file had, so that fixes which undo one another end.
    seen: BTreeSet<(String, String)>,
}

/// One fix that was made.
#[derive(Debug)]
struct Made {
    /// In the text that it was made in.
    at: LineColumn,
    code: &'static str,
    says: String,
    before: String,
    after: String,
}

/// The longest piece of a text that a line shows.
const MOST_SHOWN: usize = 60;

impl Made {
    fn of(problem: &Diagnostic, fix: &Fix, file: &SourceFile) -> Option<Self> {
        let mut edits: Vec<_> = fix.edits.iter().filter(|(span, _)| span.source == file.id).collect();
        edits.sort_by_key(|(span, _)| (span.start, span.end));
        let (first, last) = (edits.first()?, edits.last()?);
        // With the word that it touches, so that also what is only put in or taken out has both sides.
        let before = file.text.get(..first.0.start as usize)?;
        let start = before.trim_end_matches(|sign: char| !sign.is_whitespace()).len();
        let after = file.text.get(last.0.end as usize..)?;
        let word = after.find(char::is_whitespace).unwrap_or(after.len());
        let end = last.0.end as usize + word;
        let mut made = String::new();
        let mut at = start;
        for (span, text) in edits {
            made.push_str(file.text.get(at..span.start as usize)?);
            made.push_str(text);
            at = span.end as usize;
        }
        made.push_str(file.text.get(at..end)?);
        Some(Self {
            at: file.line_column(problem.primary.span.start),
            code: problem.code.as_str(),
            says: fix.says.clone(),
            before: file.text.get(start..end)?.trim().to_owned(),
            after: made.trim().to_owned(),
        })
    }

    fn json(&self) -> Value {
        json!({
            "line": self.at.line, "column": self.at.column, "code": self.code, "says": self.says,
            "before": self.before, "after": self.after,
        })
    }

    fn line(&self, path: &str) -> String {
        let (before, after) = (shown(&self.before), shown(&self.after));
        format!("{path}:{}:{}: {}: {before} → {after}", self.at.line, self.at.column, self.code)
    }
}

/// A piece of a text on one line.
fn shown(text: &str) -> String {
    if text.is_empty() {
        return "nothing".to_owned();
    }
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MOST_SHOWN {
        line = line.chars().take(MOST_SHOWN).chain("…".chars()).collect();
    }
    if line.contains('`') { line } else { format!("`{line}`") }
}

impl Fixed {
    /// Writes what the fixes of one check make of the files. False when there is nothing left to take.
    pub(super) fn round(&mut self, loaded: &Loaded, project: &Project) -> Result<bool, Failure> {
        let path_of = |source: SourceId| loaded.sources.get(source).map(|file| file.path.as_str());
        let movement = |source| path_of(source).is_some_and(|path| path.ends_with(".mvt"));
        let round = fix::apply(&loaded.sources, &loaded.problems, movement);
        let mut wrote = false;
        for (source, text) in round.texts {
            let Some(file) = loaded.sources.get(source) else { continue };
            self.seen.insert((file.path.clone(), file.text.to_string()));
            if self.seen.contains(&(file.path.clone(), text.clone())) {
                continue;
            }
            let place = project.root.join(&file.path);
            if files::read(&place)? != *file.text {
                let why = format!("`{}` changed while it was mended; nothing more was written", file.path);
                return Err(Failure::new(Exit::NotSo, why).help("run `listen-fire check --fix` again"));
            }
            files::replace(&place, &text)?;
            wrote = true;
            let took = round.taken.iter().filter_map(|index| {
                let problem = loaded.problems.get(*index)?;
                Made::of(problem, problem.fix.as_ref()?, file)
            });
            self.files.entry(file.path.clone()).or_default().extend(took);
        }
        Ok(wrote)
    }

    pub(super) fn json(&self) -> Value {
        let file = |(path, made): (&String, &Vec<Made>)| json!({ "path": path, "fixes": made.len(), "made": made.iter().map(Made::json).collect::<Vec<_>>() });
        self.files.iter().map(file).collect()
    }

    /// What was changed, and why not everything is mended.
    pub(super) fn say(&self, loaded: &Loaded, shell: &Shell) {
        for (path, made) in &self.files {
            for fix in made {
                shell.output.note(&fix.line(path));
            }
            let what = if made.len() == 1 { "1 fix".to_owned() } else { format!("{} fixes", made.len()) };
            shell.output.note(&format!("{path}: {what} made"));
        }
        if self.files.is_empty() {
            shell.output.note("there was no fix to make");
        }
        let left: Vec<_> = loaded.problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
        let with = left.iter().filter(|problem| problem.fix.is_some()).count();
        let without = left.len() - with;
        let errors = |count: usize| if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
        if without > 0 {
            shell.output.note(&format!("{} left that no fix mends: the way out needs a decision", errors(without)));
        }
        if with > 0 {
            shell.output.note(&format!(
                "{} left whose fix was not made: it stands in another kind of file, or fixes undo one another",
                errors(with)
            ));
        }
    }
}
