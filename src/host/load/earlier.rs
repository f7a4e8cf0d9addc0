//! A program as it was, from texts that are handed in, checked against what is known of its systems now. Reads no file
//! and asks no system.

use std::collections::{BTreeMap, BTreeSet};

use lf_lang::{
    check::{self, Catalog, Program, connections, typed::Movement},
    diag::{Diagnostic, Severity},
    source::SourceMap,
};

use super::{Ask, LoadError, Loaded, World, credentials, once, sources};
use crate::{
    host::load::Connector,
    project::{ProjectError, lock::Lock},
};

/// What a program was.
#[derive(Debug)]
pub struct Earlier {
    pub sources: SourceMap,
    pub problems: Vec<Diagnostic>,
    /// `None` if there are errors.
    pub movement: Option<Movement>,
}

/// Checks `roots` of `files`, each by its path in the project, and what they import. What only the earlier text connects
/// is described by the lock file of its time.
///
/// # Errors
/// The store or that lock file cannot be read.
pub async fn check(
    now: &Loaded,
    connector: &Connector,
    (files, roots): (&BTreeMap<String, String>, Vec<String>),
    lock: Option<&str>,
) -> Result<Earlier, LoadError> {
    let mut map = SourceMap::default();
    let read = sources::gather(roots, &mut map, |path, _| Ok(files.get(path).cloned()))?;
    let requests = connections(&read.files);
    let before = match lock {
        Some(text) => Lock::parse(text).map_err(|why| {
            let what = "cannot use the `listen-fire.lock` of then".to_owned();
            ProjectError::Io { what, why: std::io::Error::other(why) }
        })?,
        None => Lock::default(),
    };
    let missing: Vec<_> =
        requests.into_iter().filter(|request| !now.catalog.connections.contains_key(&request.key)).collect();
    let mut catalog = Catalog { modules: connector.registry.facts(), ..Catalog::default() };
    credentials(&mut catalog, connector, &before, &missing).await?;
    catalog.credentials.extend(now.catalog.credentials.clone());
    catalog.connections.extend(now.catalog.connections.clone());
    let ask = Ask::Offline;
    let mut world = World { connector, ask, before, catalog, connections: BTreeMap::new(), drift: vec![], old: vec![] };
    world.describe(&missing).await;
    let catalog = world.catalog;
    let program = Program { map: &map, files: &read.files, roots: &read.roots };
    let checked = check::check(&program, &catalog);
    let mut problems = read.problems;
    problems.extend(checked.problems);
    once(&mut problems, &map, &connector.registry);
    problems.sort_by_key(|problem| (problem.primary.span, problem.code));
    let sound = !problems.iter().any(|problem| problem.severity == Severity::Error);
    Ok(Earlier { movement: checked.movement.filter(|_| sound), sources: map, problems })
}

/// Which of `files` the paths of a command name: themselves, or what lies in them; all, if there are none.
#[must_use]
pub fn named(files: &BTreeMap<String, String>, paths: &[String]) -> Vec<String> {
    let within = |file: &str| {
        paths.is_empty()
            || paths.iter().any(|path| {
                path.is_empty()
                    || file == path
                    || file.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
            })
    };
    let roots: BTreeSet<&String> = files.keys().filter(|file| within(file)).collect();
    roots.into_iter().cloned().collect()
}
