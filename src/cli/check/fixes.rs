//! `check --fix`: takes fixes round by round, writing each file whole, until none fits any more.
//!
//! A file is written only if it still is as it was read. Files that are no movements are left to their author.

use std::collections::{BTreeMap, BTreeSet};

use lf_lang::{
    diag::{Severity, fix},
    source::SourceId,
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
    /// How many fixes went into each file.
    files: BTreeMap<String, usize>,
    /// Every text that a file had, so that fixes which undo one another end.
    seen: BTreeSet<(String, String)>,
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
            let took = |index: &&usize| {
                let edits = loaded.problems.get(**index).and_then(|problem| problem.fix.as_ref());
                edits.is_some_and(|fix| fix.edits.iter().any(|(span, _)| span.source == source))
            };
            *self.files.entry(file.path.clone()).or_default() += round.taken.iter().filter(took).count();
        }
        Ok(wrote)
    }

    pub(super) fn json(&self) -> Value {
        self.files.iter().map(|(path, fixes)| json!({ "path": path, "fixes": fixes })).collect()
    }

    /// What was changed, and why not everything is mended.
    pub(super) fn say(&self, loaded: &Loaded, shell: &Shell) {
        for (path, fixes) in &self.files {
            let what = if *fixes == 1 { "1 fix".to_owned() } else { format!("{fixes} fixes") };
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
