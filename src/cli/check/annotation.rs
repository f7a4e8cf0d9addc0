//! Reports as annotations of a GitHub workflow.

use lf_lang::{
    diag::{Diagnostic, Severity},
    source::SourceMap,
};

/// One annotation of a GitHub workflow.
pub(super) fn annotation(problem: &Diagnostic, sources: &SourceMap) -> String {
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let level = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "notice",
    };
    let span = problem.primary.span;
    let place = sources.get(span.source).map(|file| {
        let at = file.line_column(span.start);
        format!("file={},line={},col={},", file.path, at.line, at.column)
    });
    let help: String = problem.help.iter().map(|help| format!("\n{help}")).collect();
    let text = escaped(&format!("{}{help}", problem.headline));
    format!("::{level} {}title={}::{text}", place.unwrap_or_default(), problem.code.as_str())
}
