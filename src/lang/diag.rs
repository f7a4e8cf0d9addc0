//! Diagnostics as data: what is wrong, where, and the way out. Drawing is `render`'s, codes are `codes`'.
//!
//! A diagnostic is built where the facts are. Headline: lower-case start, no final period, one line, user text
//! in backticks, good on its own. The reason stands on the label, the way out in the help.

pub mod codes;
pub mod fix;
pub mod render;
pub mod suggest;

use serde::Serialize;

use crate::source::Span;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
    Information,
}

/// A stable code, `MOV_…`; only [`codes`] makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Code(pub(crate) &'static str);

impl Code {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// A place and what is to be said about it (may be empty for the primary one).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// A mend that a machine can apply: replace each span by the text. As a diagnostic's `fix` it is the one right answer,
/// which keeps what the author meant; where there are several, each is one of its `ways`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// Imperative and specific: "write `Name`".
    pub says: String,
    pub edits: Vec<(Span, String)>,
}

/// One mistake, one diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub headline: String,
    pub primary: Label,
    pub secondary: Vec<Label>,
    pub help: Vec<String>,
    pub fix: Option<Fix>,
    /// Mends between which only the author can choose: an editor offers them, nothing makes one unasked.
    pub ways: Vec<Fix>,
}

impl Diagnostic {
    /// An error of `code` at `span`.
    #[must_use]
    pub fn error(code: Code, span: Span, headline: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            headline: headline.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            help: Vec::new(),
            fix: None,
            ways: Vec::new(),
        }
    }

    #[must_use]
    pub fn warning(code: Code, span: Span, headline: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, headline) }
    }

    #[must_use]
    pub fn information(code: Code, span: Span, headline: impl Into<String>) -> Self {
        Self { severity: Severity::Information, ..Self::error(code, span, headline) }
    }

    /// What to say at the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Another place that takes part.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// A way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// A way out that a machine can take: replace `span` by `text`.
    #[must_use]
    pub fn fix(mut self, says: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some(Fix { says: says.into(), edits: vec![(span, text.into())] });
        self
    }

    /// One of several ways out that a machine can take once it is chosen.
    #[must_use]
    pub fn way(mut self, says: impl Into<String>, edits: Vec<(Span, String)>) -> Self {
        self.ways.push(Fix { says: says.into(), edits });
        self
    }
}
