//! Reports as annotations of a GitHub workflow.

use lf_lang::{
    diag::{Diagnostic, Severity, render},
    source::SourceMap,
};

/// One annotation of a GitHub workflow.
pub(super) fn annotation(problem: &Diagnostic, sources: &SourceMap) -> String {
    let level = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "notice",
    };
    let span = problem.primary.span;
    let mut properties = String::new();
    if let Some(file) = sources.get(span.source) {
        let (start, end) = (file.line_column(span.start), file.line_column(span.end));
        properties = format!("file={},line={},endLine={}", property(&file.path), start.line, end.line);
        // A column says something only within one line.
        if start.line == end.line {
            properties = format!("{properties},col={},endColumn={}", start.column, end.column);
        }
        properties.push(',');
    }
    let mut text = problem.headline.clone();
    if !problem.primary.text.is_empty() {
        text = format!("{text}: {}", problem.primary.text);
    }
    for way in render::ways_out(problem) {
        text = format!("{text}\n{way}");
    }
    format!("::{level} {properties}title={}::{}", problem.code.as_str(), message(&text))
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use lf_lang::{
        diag::{Diagnostic, codes},
        source::{SourceMap, Span},
    };

    use super::annotation;

    #[test]
    fn what_would_end_a_property_or_the_line_is_escaped() {
        let mut sources = SourceMap::default();
        let id = sources.add("a,b:c%.mvt", "x = 1\ny = 2\n");
        let problem = Diagnostic::error(codes::MOV_UNUSED, Span::new(id, 4, 5), "100% `a::b`, twice")
            .label("here")
            .help("one\r\nother");
        assert_eq!(
            annotation(&problem, &sources),
            "::error file=a%2Cb%3Ac%25.mvt,line=1,endLine=1,col=5,endColumn=6,title=MOV_UNUSED::\
             100%25 `a::b`, twice: here%0Aone%0D%0Aother"
        );
        let wide = Diagnostic::warning(codes::MOV_UNUSED, Span::new(id, 4, 8), "wide");
        let wide = annotation(&wide, &sources);
        assert_eq!(wide, "::warning file=a%2Cb%3Ac%25.mvt,line=1,endLine=2,title=MOV_UNUSED::wide");
    }
}
