//! One case: a text file, which may hold several movement files, and what is said about it.
//!
//! `// catalog: NAME` on the first line asks for a check against `catalogs/NAME.json`; without it the text is only
//! read. A line `//== other.mvt` begins another file of the same case.

use std::{env, fs, path::Path};

use lf_lang::{
    diag::{Diagnostic, render},
    source::SourceMap,
    syntax::{self, ast},
};
use libtest_mimic::Failed;

use crate::{markers, read, report};

/// The files of a case, and everything that was wrong with them.
pub(crate) struct Outcome {
    pub(crate) sources: SourceMap,
    pub(crate) problems: Vec<Diagnostic>,
    /// What came out of the check, if there was one and nothing is wrong.
    pub(crate) movement: Option<lf_lang::check::typed::Movement>,
}

pub(crate) fn run(path: &Path, wrong: bool) -> Result<(), Failed> {
    let text = read(path);
    let name = path.file_name().expect("a file").to_string_lossy();
    let outcome = outcome(&name, &text)?;
    if !wrong {
        return if outcome.problems.is_empty() { Ok(()) } else { Err(report::reports(&outcome).into()) };
    }
    markers::compare(&outcome)?;
    report::fixes_mend(&outcome)?;
    let snapshot = path.with_extension("snap");
    let now = report::reports(&outcome);
    if env::var_os("LF_BLESS").is_some() {
        fs::write(&snapshot, &now)?;
        return Ok(());
    }
    let before = fs::read_to_string(&snapshot).unwrap_or_default();
    if before == now {
        Ok(())
    } else {
        Err(format!("the report changed (`LF_BLESS=1` accepts it)\n--- before\n{before}\n--- now\n{now}").into())
    }
}

/// Reads, and checks if a catalog is named.
pub(crate) fn outcome(name: &str, text: &str) -> Result<Outcome, String> {
    let mut sources = SourceMap::default();
    let mut current = name.to_owned();
    let mut lines = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(next) = line.strip_prefix("//== ") {
            sources.add(std::mem::replace(&mut current, next.trim().to_owned()), std::mem::take(&mut lines));
        } else {
            lines.push_str(line);
        }
    }
    sources.add(current, lines);
    let mut problems = Vec::new();
    let mut trees: Vec<ast::File> = Vec::new();
    let mut movement = None;
    for file in sources.iter() {
        let parsed = syntax::parse(file);
        problems.extend(parsed.problems);
        trees.push(parsed.file);
    }
    if let Some(catalog) = text.lines().next().and_then(|line| line.strip_prefix("// catalog: ")) {
        let catalog = read(&crate::corpus().join("catalogs").join(format!("{}.json", catalog.trim())));
        let catalog: lf_lang::check::Catalog = serde_json::from_str(&catalog).map_err(|error| error.to_string())?;
        let roots: Vec<_> = trees.iter().map(|tree| tree.source).collect();
        let program = lf_lang::check::Program { map: &sources, files: &trees, roots: &roots };
        let parsed = problems.is_empty();
        let checked = lf_lang::check::check(&program, &catalog);
        let failed = checked.problems.iter().any(|problem| problem.severity == lf_lang::diag::Severity::Error);
        if parsed && failed == checked.movement.is_some() {
            return Err("a movement comes out exactly when nothing is wrong".to_owned());
        }
        movement = checked.movement;
        problems.extend(checked.problems);
        problems
            .sort_by_key(|problem| (problem.primary.span.source, problem.primary.span.start, problem.primary.span.end));
    }
    Ok(Outcome { sources, problems, movement })
}

/// One line of a problem, for lists.
pub(crate) fn concise(problem: &Diagnostic, sources: &SourceMap) -> String {
    render::concise(problem, sources)
}
