//! The one layout of a text: tree and comments to lines. Never changes what a text means, loses no comment.
//!
//! Two spaces a step, lines of at most [`WIDTH`] columns where the text lets them. What stands between braces stays on
//! lines of its own where its writer began one after the brace; everything else depends on the tree alone. Empty
//! lines are kept, one at most. Numbers, durations, names and texts stand as they were written; parentheses around a
//! part of an expression are kept, those around a whole value are not.
//!
//! The layout is read again before it is handed out: if it were not the same tree with the same comments, the text
//! would be left alone.

mod comments;
mod doc;
mod exprs;
mod items;
mod lists;
mod statements;
mod testing;
mod texts;
mod types;

use super::{ast, parse};
use crate::{
    diag::{Diagnostic, Severity},
    source::{SourceFile, Span},
};

/// The longest line, in characters.
pub const WIDTH: usize = 100;

/// Why a text was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// It cannot be read; these are its errors.
    Unreadable(Vec<Diagnostic>),
    /// Its layout would not have said the same. Always a mistake of the layout, never of the text.
    Unsure,
}

/// The text of a file in the one layout.
///
/// # Errors
/// The text cannot be read, and so stays as it is.
pub fn format(file: &SourceFile) -> Result<String, Left> {
    let parsed = parse(file);
    if parsed.problems.iter().any(|problem| problem.severity == Severity::Error) {
        let errors = parsed.problems.into_iter().filter(|problem| problem.severity == Severity::Error);
        return Err(Left::Unreadable(errors.collect()));
    }
    let mut layout = Layout { file, comments: &parsed.file.comments, next: 0 };
    let text = doc::print(&layout.file(&parsed.file), WIDTH);
    let again = SourceFile { id: file.id, path: file.path.clone(), text: text.as_str().into() };
    let read = parse(&again);
    if same(file, &parsed.file, &again, &read.file) && read.problems.len() == parsed.problems.len() {
        Ok(text)
    } else {
        Err(Left::Unsure)
    }
}

/// The same tree, places aside, with the same comments in the same order.
#[must_use]
pub fn same(one: &SourceFile, one_tree: &ast::File, other: &SourceFile, other_tree: &ast::File) -> bool {
    let comments = |file: &SourceFile, tree: &ast::File| -> Vec<String> {
        tree.comments.iter().map(|comment| file.slice(*comment).trim_end().to_owned()).collect()
    };
    comments(one, one_tree) == comments(other, other_tree) && without_places(one_tree) == without_places(other_tree)
}

/// A tree as a text in which no place is named.
fn without_places(tree: &ast::File) -> String {
    const PLACE: &str = "Span {";
    let written = format!("{:?}", tree.items);
    let mut out = String::with_capacity(written.len());
    let mut rest = written.as_str();
    while let Some((before, place)) = rest.split_once(PLACE) {
        out.push_str(before);
        // `Span { source: SourceId(0), start: 1, end: 2 }`
        rest = place.split_once('}').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// One file on its way to its layout.
struct Layout<'t> {
    file: &'t SourceFile,
    comments: &'t [Span],
    /// The first comment that does not stand in the layout yet.
    next: usize,
}
