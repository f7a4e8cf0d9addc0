//! Tree to typed program: a pure function of the files and the catalog.
//!
//! ```text
//! declarations and imports → names of each file        context, connections, imports
//! types, constants, functions, dependencies first       functions, order, uses
//!   annotations · statements · exprs · fields · conditions · compare
//!   hops · pins · writes · entries · calls · builtin_calls · closures · narrow
//! listens, loops between them, tests, what nothing uses  listens, effects, testing
//! ```
//!
//! One mistake, one report: what failed becomes `None` after it was reported, and whoever needs it stays silent.

pub mod catalog;
pub mod typed;

mod annotations;
mod body;
mod builtin_calls;
mod builtins;
mod calls;
pub(crate) mod circles;
mod closures;
mod compare;
mod conditions;
mod connections;
mod context;
pub(crate) mod effects;
mod entries;
mod exprs;
mod fields;
mod functions;
mod graph;
mod hops;
pub mod imports;
pub mod index;
mod links;
mod listens;
mod literals;
mod lookups;
mod narrow;
pub mod offers;
pub(crate) mod order;
mod pins;
mod statements;
pub mod study;
mod testing;
mod uses;
mod waits;
mod writes;

#[cfg(test)]
mod tests;

pub(crate) use builtin_calls::PATTERN_PARTS;
pub use catalog::Catalog;
pub use catalog::ConnectionKey;
pub use connections::{ConnectRequest, connections};

use crate::{
    diag::{Diagnostic, Severity, codes},
    source::{SourceId, SourceMap},
    syntax::ast,
};

/// The files that are checked together: the roots and everything that they import.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    pub map: &'a SourceMap,
    pub files: &'a [ast::File],
    /// The files whose listens fire.
    pub roots: &'a [SourceId],
}

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// The typed program; `None` if anything is wrong with it.
    pub movement: Option<typed::Movement>,
    /// Every problem, by file and place.
    pub problems: Vec<Diagnostic>,
}

/// Checks files against what the world is described to be.
#[must_use]
pub fn check(program: &Program<'_>, catalog: &Catalog) -> Checked {
    let mut cx = context::Context::new(*program, catalog);
    let targets = begin(&mut cx);
    let mut nothing = study::Earlier::default();
    functions::check(&mut cx, &targets, &mut nothing);
    let listens = listens::each(&mut cx, &nothing);
    let tests = testing::each(&mut cx, &nothing);
    let (problems, listens, tests) = finish(&mut cx, &targets, listens, tests);
    let failed = problems.iter().any(|problem| problem.severity == Severity::Error);
    let functions: Option<Vec<_>> = cx.functions.into_iter().map(|decl| decl.typed).collect();
    let constants = (cx.checked_constants.len() == cx.constants.len()).then_some(cx.checked_constants);
    let movement = (!failed).then_some(()).and_then(|()| {
        let (listens, imported) = listens?;
        Some(typed::Movement {
            connections: cx.connections,
            constants: constants?,
            functions: functions?,
            listens,
            imported,
            tests: tests?,
        })
    });
    Checked { movement, problems }
}

/// The names of all files.
fn begin(cx: &mut context::Context<'_>) -> imports::Targets {
    cx.collect();
    let targets = imports::targets(cx);
    imports::bind(cx, &targets);
    functions::mark_fired(cx);
    targets
}

/// What concerns all files together; and every problem, by file and place.
fn finish(
    cx: &mut context::Context<'_>,
    targets: &imports::Targets,
    listens: listens::Each<'_>,
    tests: testing::Each,
) -> (Vec<Diagnostic>, Option<listens::Gathered>, Option<Vec<typed::Test>>) {
    let listens = listens::gather(cx, listens);
    if let Some((roots, _)) = &listens {
        effects::report_loops(cx, roots);
    }
    let tests = testing::gather(cx, targets, tests, listens.as_ref());
    if cx.has_errors() || cx.broken || listens.is_none() || tests.is_none() {
        // What uses a name may be what failed.
        cx.problems.retain(|problem| problem.code != codes::MOV_UNUSED);
    } else {
        functions::warn_unused(cx);
    }
    let mut problems = std::mem::take(&mut cx.problems);
    problems.sort_by_key(|problem| {
        let span = problem.primary.span;
        (span.source, span.start, span.end, problem.code)
    });
    (problems, listens, tests)
}

/// A name as it is written in a text: in backticks where it needs them.
pub(crate) fn written_name(name: &str) -> String {
    let mut letters = name.chars();
    let plain = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if plain { name.to_owned() } else { format!("`{name}`") }
}
