//! What is wrong with a module's file, with the place in its text.
//!
//! Nothing here reads or draws; `check` turns these into its own reports.

use std::ops::Range;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The module cannot be used.
    Error,
    /// It can, but something in it has no effect or is probably not meant.
    Warning,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The bytes of the file that it is about.
    pub span: Range<usize>,
    /// What is wrong, in one line.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
    /// How bad it is.
    pub severity: Severity,
}

/// All mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn error(&mut self, span: &Range<usize>, message: impl Into<String>) {
        self.push(span, message.into(), None, Severity::Error);
    }

    pub(crate) fn error_with(&mut self, span: &Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.push(span, message.into(), Some(help.into()), Severity::Error);
    }

    pub(crate) fn warning(&mut self, span: &Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.push(span, message.into(), Some(help.into()), Severity::Warning);
    }

    /// An unknown name, with the nearest of those that exist, or all of them if they are few.
    pub(crate) fn unknown<'a>(
        &mut self,
        span: &Range<usize>,
        message: impl Into<String>,
        found: &str,
        known: impl Iterator<Item = &'a str>,
    ) {
        let known: Vec<&str> = known.collect();
        let near = nearest(found, &known).map(|name| format!("did you mean `{name}`?"));
        let help = near.or_else(|| match known.as_slice() {
            [only] => Some(format!("there is only `{only}`")),
            [_, ..] if known.len() <= 16 => Some(format!("there are `{}`", known.join("`, `"))),
            _ => None,
        });
        self.push(span, message.into(), help, Severity::Error);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// In the order of the text.
    pub(crate) fn sorted(mut self) -> Vec<Problem> {
        self.0.sort_by_key(|problem| (problem.span.start, problem.span.end));
        self.0
    }

    fn push(&mut self, span: &Range<usize>, message: String, help: Option<String>, severity: Severity) {
        self.0.push(Problem { span: span.clone(), message, help, severity });
    }
}

fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let found = found.to_lowercase();
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&found, &name.to_lowercase()), *name))
        .filter(|(distance, name)| *distance <= 1 + name.chars().count().max(found.chars().count()) / 4)
        .min()
        .map(|(_, name)| name)
}
