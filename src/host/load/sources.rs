//! Which files make a program: the roots that were named, and what they import, each read once.

use std::{
    collections::BTreeMap,
    num::NonZero,
    path::{Component, Path, PathBuf},
    thread,
};

use lf_lang::{
    check::imports,
    diag::Diagnostic,
    source::{SourceId, SourceMap},
    syntax::{self, ast},
};

use crate::project::{Project, ProjectError, files};

/// The parsed files of a program.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) files: Vec<ast::File>,
    /// Those that were named, whose listens count.
    pub(super) roots: Vec<SourceId>,
    pub(super) problems: Vec<Diagnostic>,
}

/// Reads and parses the files at `paths` (of all the project, if there are none), and those that they import.
pub(super) fn read(project: &Project, paths: &[PathBuf], map: &mut SourceMap) -> Result<Sources, ProjectError> {
    gather(roots(project, paths)?, map, |path, root| {
        let place = project.root.join(path);
        // A file that an import names and that is not there is the checker's to report, at the import.
        if !root && (path.starts_with("../") || !place.is_file()) { Ok(None) } else { files::read(&place).map(Some) }
    })
}

/// The same of whatever gives the text of a path; the flag says that it is a root.
pub(super) fn gather(
    roots: Vec<String>,
    map: &mut SourceMap,
    text: impl Fn(&str, bool) -> Result<Option<String>, ProjectError>,
) -> Result<Sources, ProjectError> {
    let mut sources = Sources::default();
    let mut known: BTreeMap<String, SourceId> = BTreeMap::new();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut open: Vec<(String, bool)> = roots.into_iter().map(|path| (path, true)).collect();
    // What one round imports is read in the next.
    while !open.is_empty() {
        let mut round = Vec::new();
        for (path, root) in std::mem::take(&mut open) {
            if let Some(source) = known.get(&path) {
                if root && !sources.roots.contains(source) {
                    sources.roots.push(*source);
                }
                continue;
            }
            let Some(text) = text(&path, root)? else { continue };
            if known.len() >= files::MOST {
                return Err(ProjectError::Missing(format!("more than {} movement files are imported", files::MOST)));
            }
            let source = map.add(path.as_str(), text);
            known.insert(path, source);
            if root {
                sources.roots.push(source);
            }
            round.push(source);
        }
        let texts: Vec<_> = round.iter().filter_map(|source| map.get(*source)).collect();
        for (file, parsed) in texts.iter().zip(syntax::parse_all(&texts, threads)) {
            for item in &parsed.file.items {
                if let ast::Item::Import(import) = item {
                    open.push((imports::resolve(&file.path, &import.from.text), false));
                }
            }
            sources.files.push(parsed.file);
            sources.problems.extend(parsed.problems);
        }
    }
    Ok(sources)
}

/// The named files, as a reader knows them, sorted.
fn roots(project: &Project, paths: &[PathBuf]) -> Result<Vec<String>, ProjectError> {
    let mut found = Vec::new();
    if paths.is_empty() {
        found = files::movements(&project.root)?;
        if found.is_empty() {
            let text = format!("no `.mvt` file in the project `{}`", project.root.display());
            return Err(ProjectError::Missing(text));
        }
    }
    for path in paths {
        let place = within(project, path)?;
        if place.is_dir() {
            let inside = files::movements(&place)?;
            if inside.is_empty() {
                return Err(ProjectError::Missing(format!("no `.mvt` file in `{}`", project.display(path))));
            }
            found.extend(inside);
        } else if place.is_file() {
            found.push(place);
        } else {
            return Err(ProjectError::Missing(format!("there is no file `{}`", project.display(path))));
        }
    }
    let mut found: Vec<_> = found.iter().map(|path| project.display(path)).collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The path inside the project's folder. `path` is absolute.
fn within(project: &Project, path: &Path) -> Result<PathBuf, ProjectError> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    if plain.starts_with(&project.root) {
        return Ok(plain);
    }
    let outside = || {
        let text = format!("`{}` lies outside the project `{}`", path.display(), project.root.display());
        ProjectError::Missing(text)
    };
    // The project may have been reached over a link.
    let missing = |_| ProjectError::Missing(format!("there is no file `{}`", project.display(&plain)));
    let real = plain.canonicalize().map_err(missing)?;
    if real.starts_with(&project.root) { Ok(real) } else { Err(outside()) }
}
