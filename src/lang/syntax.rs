//! Text to tree. pest lives and dies in here: neither its pairs nor its rules nor its errors leave.
//!
//! A text is looked at once from front to back ([`scan`]), which gives its declarations, each with balanced brackets;
//! pest reads them one by one; the builder turns pairs into the tree. A mistake costs its own statement or entry:
//! everything else is still read, and what could not be read stands in the tree as `Bad`.

mod closures;
mod edited;
mod errors;
mod exprs;
mod habits;
mod hops;
mod items;
mod literals;
mod moved;
mod operators;
mod pairs;
mod scan;
mod statements;
mod testing;
mod types;
mod waits;

pub mod ast;
pub mod format;
pub mod tokens;

pub(crate) use closures::closure_place;
pub use edited::parse_edited;
pub(crate) use habits::operand;
pub(crate) use waits::FORMS;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{
    diag::{Diagnostic, codes},
    source::{SourceFile, Span},
};

/// The largest file that is read.
pub const MOST_BYTES: usize = 8 << 20;

/// A file's tree, and everything that was wrong with its text. The tree is complete where nothing was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub file: ast::File,
    /// In the order of the text.
    pub problems: Vec<Diagnostic>,
}

/// Reads one file. Never fails: a broken file is a tree with `Bad` in it, and problems.
#[must_use]
pub fn parse(file: &SourceFile) -> Parsed {
    if file.text.len() > MOST_BYTES {
        let problem = Diagnostic::error(
            codes::MOV_PARSE_TOO_LARGE,
            Span::new(file.id, 0, 0),
            format!("a file holds at most {} MiB", MOST_BYTES >> 20),
        )
        .help("split it, and `import` the parts");
        let tree = ast::File { source: file.id, items: Vec::new(), comments: Vec::new() };
        return Parsed { file: tree, problems: vec![problem] };
    }
    gather(file, scan::scan(file), |_, _, _| None)
}

/// Reads the declarations of a text that was looked at, but for those that are known already.
fn gather(
    file: &SourceFile,
    mut scan: scan::Scan,
    mut known: impl FnMut(usize, &scan::Scan, &scan::Piece) -> Option<ast::Item>,
) -> Parsed {
    pairs::set_fuse();
    let mut problems = std::mem::take(&mut scan.problems);
    let mut items = Vec::with_capacity(scan.pieces.len());
    for (index, piece) in scan.pieces.iter().enumerate() {
        let item = known(index, &scan, piece)
            .unwrap_or_else(|| items::read(file, &scan.copy, &scan.comments, piece, &mut problems));
        items.push(item);
    }
    problems.sort_by_key(|problem| (problem.primary.span.start, problem.primary.span.end));
    problems.dedup_by(|later, earlier| later.code == earlier.code && later.primary.span == earlier.primary.span);
    Parsed { file: ast::File { source: file.id, items, comments: scan.comments }, problems }
}

/// Reads many files, each as [`parse`] does, on at most so many threads; what they give is in the order of `files`.
#[must_use]
pub fn parse_all(files: &[&SourceFile], threads: usize) -> Vec<Parsed> {
    let next = AtomicUsize::new(0);
    let mut read: Vec<(usize, Parsed)> = Vec::with_capacity(files.len());
    if threads > 1 && files.len() > 1 {
        let some = || {
            let mut some = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(place) else { return some };
                some.push((place, parse(file)));
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(files.len())).map(|_| scope.spawn(some)).collect();
            read.extend(some());
            read.extend(others.into_iter().filter_map(|other| other.join().ok()).flatten());
        });
    }
    if read.len() < files.len() {
        return files.iter().map(|file| parse(file)).collect();
    }
    read.sort_by_key(|(place, _)| *place);
    read.into_iter().map(|(_, parsed)| parsed).collect()
}
