//! Imports between files: which file a text names, and the cycles that are refused.

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{context::Context, index::Meaning, order};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::SourceId,
    syntax::ast::{self, Item},
};

/// The extension of movement files, which an import may leave out.
const EXTENSION: &str = ".mvt";

/// The path that `text` names in the file at `from`, both with `/`, `.` and `..` resolved. What climbs out of
/// the project keeps its leading `..`, so that it names no file of the project.
#[must_use]
pub fn resolve(from: &str, text: &str) -> String {
    let text = text.replace('\\', "/");
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let joined = if text.starts_with('/') { text } else { format!("{folder}/{text}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut path = parts.join("/");
    if !path.ends_with(EXTENSION) {
        path.push_str(EXTENSION);
    }
    path
}

/// For each file, in order, and each of its imports, in order, the index of the file that it names.
pub(super) type Targets = Vec<Vec<Option<usize>>>;

/// Finds the file of every import; reports those that name none and the cycles.
pub(super) fn targets(cx: &mut Context<'_>) -> Targets {
    let program = cx.program;
    let by_source: IndexMap<SourceId, usize> =
        program.files.iter().enumerate().map(|(index, file)| (file.source, index)).collect();
    let by_path: IndexMap<&str, usize> =
        program.map.iter().filter_map(|text| Some((text.path.as_str(), *by_source.get(&text.id)?))).collect();
    let mut targets = Vec::with_capacity(program.files.len());
    for file in program.files {
        let from = program.map.get(file.source).map_or("", |text| text.path.as_str());
        let mut found = Vec::new();
        for import in imports(file) {
            let path = resolve(from, &import.from.text);
            let target = by_path.get(path.as_str()).copied();
            if target.is_none() {
                cx.report(missing(import, &path, by_path.keys().copied().filter(|other| *other != from)));
            }
            found.push(target);
        }
        targets.push(found);
    }
    report_cycles(cx, &targets);
    targets
}

fn missing<'p>(import: &ast::Import, path: &str, known: impl Iterator<Item = &'p str>) -> Diagnostic {
    let report = Diagnostic::error(codes::MOV_IMPORT_NOT_FOUND, import.from.span, format!("there is no file `{path}`"))
        .label("looked for beside this file");
    match suggest::nearest(path, known) {
        Some(near) => report.help(format!("did you mean `{near}`?")),
        None => report.help("the path is relative to this file; `.mvt` may be left out"),
    }
}

/// The imports of a file, in order.
pub(super) fn imports(file: &ast::File) -> impl Iterator<Item = &ast::Import> {
    file.items.iter().filter_map(|item| if let Item::Import(import) = item { Some(import) } else { None })
}

fn report_cycles(cx: &mut Context<'_>, targets: &Targets) {
    let edges: Vec<Vec<usize>> =
        targets.iter().map(|found| found.iter().flatten().copied().collect::<Vec<_>>()).collect();
    for group in order::groups(&edges) {
        if !order::is_cycle(&group, &edges) {
            continue;
        }
        let chain = chain(&group, &edges);
        let names: Vec<String> = chain.iter().map(|file| format!("`{}`", path_of(cx, *file))).collect();
        let (Some(&first), Some(&second)) = (chain.first(), chain.get(1)) else { continue };
        let Some(file) = cx.program.files.get(first) else { continue };
        let position = targets.get(first).and_then(|found| found.iter().position(|to| *to == Some(second)));
        let Some(import) = position.and_then(|position| imports(file).nth(position)) else { continue };
        cx.report(
            Diagnostic::error(codes::MOV_IMPORT_CYCLE, import.from.span, "these files import each other in a circle")
                .label(names.join(" imports "))
                .help("move what both need into a third file"),
        );
    }
}

/// One way around a cycle, its start at both ends.
fn chain(group: &[usize], edges: &[Vec<usize>]) -> Vec<usize> {
    let Some(&start) = group.first() else { return Vec::new() };
    let mut before: IndexMap<usize, usize> = IndexMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in edges.get(node).into_iter().flatten() {
            if next == start {
                let mut around = vec![start, node];
                let mut at = node;
                while let Some(&previous) = before.get(&at) {
                    around.push(previous);
                    at = previous;
                }
                if node == start {
                    around.truncate(2);
                }
                around.reverse();
                return around;
            }
            if group.contains(&next) && !before.contains_key(&next) {
                before.insert(next, node);
                queue.push_back(next);
            }
        }
    }
    vec![start]
}

fn path_of(cx: &Context<'_>, file: usize) -> String {
    let source = cx.program.files.get(file).map(|file| file.source);
    source.and_then(|source| cx.program.map.get(source)).map_or_else(String::new, |text| text.path.clone())
}

/// Brings the imported names into each file's scope.
pub(super) fn bind(cx: &mut Context<'_>, targets: &Targets) {
    // A name that is imported from a file that imports it in turn is found by following; the files are few, so
    // following is bounded by their number.
    let program = cx.program;
    for (file, tree) in program.files.iter().enumerate() {
        for (position, import) in imports(tree).enumerate() {
            let target = targets.get(file).and_then(|found| found.get(position)).copied().flatten();
            if let Some(tree) = target.and_then(|target| program.files.get(target)) {
                cx.notes.mention(import.from.span, Meaning::File(tree.source));
            }
            for imported in &import.names {
                let symbol = match target {
                    Some(target) => {
                        cx.offer_exports(imported.name.span, target);
                        cx.exported(target, &imported.name, &import.from.text)
                    }
                    None => super::context::Symbol::Failed,
                };
                let there = target.and_then(|target| cx.peek(target, &imported.name.text));
                let there = there.filter(|_| symbol != super::context::Symbol::Failed).map(|entry| entry.home.clone());
                let local = match &imported.alias {
                    None => &imported.name,
                    Some(alias) => {
                        if let Some(home) = there.clone() {
                            cx.notes.mention(imported.name.span, Meaning::Declared { home, sort: symbol.into() });
                        }
                        alias
                    }
                };
                let home = there.filter(|_| imported.alias.is_none()).unwrap_or_else(|| cx.here(file, local));
                cx.declare(file, local, symbol, super::context::Origin::Import, home);
            }
        }
    }
}

/// The names a file exports, for suggestions.
pub(super) fn exports(file: &ast::File) -> impl Iterator<Item = &SmolStr> {
    file.items.iter().filter_map(|item| match item {
        Item::Connection(item) => item.export.then_some(&item.name.text),
        Item::Type(item) => item.export.then_some(&item.name.text),
        Item::Function(item) => item.export.then_some(&item.name.text),
        Item::Binding(item) => item.export.then_some(&item.name.text),
        Item::Import(_) | Item::Listen(_) | Item::Test(_) | Item::Bad { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn paths_are_relative_to_the_importing_file() {
        assert_eq!(resolve("movements/a.mvt", "./b"), "movements/b.mvt");
        assert_eq!(resolve("movements/a.mvt", "../shared/b.mvt"), "shared/b.mvt");
        assert_eq!(resolve("a.mvt", "b"), "b.mvt");
        assert_eq!(resolve("a.mvt", "x/./y/../b"), "x/b.mvt");
        assert_eq!(resolve("a.mvt", "../b"), "../b.mvt");
        assert_eq!(resolve("x/a.mvt", "..\\b.mvt"), "b.mvt");
    }
}
