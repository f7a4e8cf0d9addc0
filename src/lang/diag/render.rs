//! A diagnostic as a person, a line-based tool or a program reads it. The only file that names miette.
//!
//! Nothing is decided here: what is said was decided where the facts are. What a text or a system smuggled in to
//! steer a terminal is shown as dots.

use std::{fmt, sync::Arc};

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceSpan};
use serde_json::{Value, json};

use super::{Diagnostic, Fix, Severity};
use crate::source::{SourceMap, Span};

/// How a report is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub color: bool,
    pub width: usize,
}

impl Look {
    /// As in snapshots and pipes: no colours, 100 columns.
    pub const PLAIN: Self = Self { color: false, width: 100 };
}

/// The whole report: code, headline, the lines with their labels, the ways out.
#[must_use]
pub fn full(diagnostic: &Diagnostic, sources: &SourceMap, look: Look) -> String {
    let theme = if look.color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(look.width)
        .with_links(false)
        .with_context_lines(1)
        .with_break_words(false);
    let mut out = String::new();
    match handler.render_report(&mut out, &Report::new(diagnostic, sources)) {
        Ok(()) => out,
        // A span outside its text cannot be drawn; what is wrong can still be said.
        Err(fmt::Error) => concise(diagnostic, sources) + "\n",
    }
}

/// `path:line:column: error[CODE]: headline`
#[must_use]
pub fn concise(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let severity = word(diagnostic.severity);
    let place = place(diagnostic.primary.span, sources);
    format!("{place}: {severity}[{}]: {}", diagnostic.code.as_str(), tame(&diagnostic.headline))
}

/// Stable keys; offsets are bytes from 0, lines and columns count from 1, columns in characters.
#[must_use]
pub fn json(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let related: Vec<Value> = diagnostic
        .secondary
        .iter()
        .map(|label| json!({ "span": span_json(label.span, sources), "text": label.text }))
        .collect();
    let mend = |fix: &Fix| {
        let edits: Vec<Value> =
            fix.edits.iter().map(|(span, text)| json!({ "span": span_json(*span, sources), "text": text })).collect();
        json!({ "says": fix.says, "edits": edits })
    };
    json!({
        "code": diagnostic.code.as_str(),
        "severity": word(diagnostic.severity),
        "headline": diagnostic.headline,
        "span": span_json(diagnostic.primary.span, sources),
        "label": diagnostic.primary.text,
        "related": related,
        "help": diagnostic.help,
        "fix": diagnostic.fix.as_ref().map(mend),
        "ways": diagnostic.ways.iter().map(mend).collect::<Vec<_>>(),
    })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "information",
    }
}

/// `path:line:column`
fn place(span: Span, sources: &SourceMap) -> String {
    match sources.get(span.source) {
        Some(file) => {
            let at = file.line_column(span.start);
            format!("{}:{}:{}", tame(&file.path), at.line, at.column)
        }
        None => "?:1:1".to_owned(),
    }
}

fn span_json(span: Span, sources: &SourceMap) -> Value {
    let point = |offset: u32| {
        let at = sources.get(span.source).map(|file| file.line_column(offset));
        json!({ "offset": offset, "line": at.map(|at| at.line), "column": at.map(|at| at.column) })
    };
    let path = sources.get(span.source).map(|file| file.path.as_str());
    json!({ "path": path, "start": point(span.start), "end": point(span.end) })
}

/// Each sign that a terminal would obey, replaced by one as long in bytes that it shows.
fn tame(text: &str) -> String {
    text.chars()
        .map(|sign| match sign {
            '\n' | '\t' => sign,
            '\r' => ' ',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => '\u{fffd}',
            sign if sign.is_control() && sign.len_utf8() == 1 => '.',
            sign if sign.is_control() => '\u{b7}',
            sign => sign,
        })
        .collect()
}

/// What miette draws.
#[derive(Debug)]
struct Report {
    headline: String,
    code: &'static str,
    severity: Severity,
    source: Option<NamedSource<Arc<str>>>,
    labels: Vec<LabeledSpan>,
    help: Option<String>,
}

impl Report {
    fn new(diagnostic: &Diagnostic, sources: &SourceMap) -> Self {
        let primary = diagnostic.primary.span;
        let file = sources.get(primary.source);
        let source = file.map(|file| {
            let unruly = file.text.chars().any(|sign| sign.is_control() && !matches!(sign, '\n' | '\t'))
                || file
                    .text
                    .contains(['\u{202a}', '\u{202b}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}']);
            let text = if unruly { Arc::from(tame(&file.text)) } else { Arc::clone(&file.text) };
            NamedSource::new(tame(&file.path), text)
        });
        let named = |text: &str| (!text.is_empty()).then(|| tame(text));
        let mut labels = vec![LabeledSpan::new_primary_with_span(named(&diagnostic.primary.text), range(primary))];
        let mut help: Vec<String> = ways_out(diagnostic).map(tame).collect();
        for label in &diagnostic.secondary {
            if label.span.source == primary.source {
                labels.push(LabeledSpan::new_with_span(named(&label.text), range(label.span)));
            } else {
                help.push(format!("{}: {}", place(label.span, sources), tame(&label.text)));
            }
        }
        Self {
            headline: tame(&diagnostic.headline),
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity,
            source,
            labels,
            help: (!help.is_empty()).then(|| help.join("\n")),
        }
    }
}

/// Every way out, the fix's first, then those to choose from; none is said twice.
pub fn ways_out(diagnostic: &Diagnostic) -> impl Iterator<Item = &str> {
    let fix = diagnostic.fix.iter().chain(&diagnostic.ways).map(|fix| fix.says.as_str());
    let new = |says: &&str| !diagnostic.help.iter().any(|line| asks_for(line, says));
    fix.filter(new).chain(diagnostic.help.iter().map(String::as_str))
}

/// Whether `did you mean X?` says what `write X` would say again.
fn asks_for(help: &str, says: &str) -> bool {
    let asked = help.strip_prefix("did you mean ").and_then(|asked| asked.strip_suffix('?'));
    asked.is_some() && asked == says.strip_prefix("write ")
}

fn range(span: Span) -> SourceSpan {
    let length = span.end.saturating_sub(span.start) as usize;
    SourceSpan::new((span.start as usize).into(), length)
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.headline)
    }
}

impl std::error::Error for Report {}

impl miette::Diagnostic for Report {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Information => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|source| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}
