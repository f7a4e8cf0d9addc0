//! Markers: `//~ CODE` on a line expects exactly this code there; `//~^ CODE` on the line above (one `^` each line).
//!
//! Several codes on one line are expected once each. Every problem needs its marker, whatever its severity.

use std::collections::BTreeMap;

use lf_lang::source::{SourceFile, SourceMap};

use crate::case::Outcome;

type Places = BTreeMap<(String, u32, String), i64>;

/// Nothing missing, nothing surplus.
pub(crate) fn compare(outcome: &Outcome) -> Result<(), String> {
    let expected = expected(&outcome.sources);
    if expected.is_empty() {
        return Err("a case under `err` needs at least one marker `//~ CODE`".to_owned());
    }
    let mut balance = expected;
    for problem in &outcome.problems {
        let file = outcome.sources.get(problem.primary.span.source).expect("a known file");
        let line = file.line_column(problem.primary.span.start).line;
        *balance.entry((file.path.clone(), line, problem.code.as_str().to_owned())).or_default() -= 1;
    }
    let wrong: Vec<String> = balance
        .into_iter()
        .filter(|(_, count)| *count != 0)
        .map(|((path, line, code), count)| {
            let what = if count > 0 { "expected, not reported" } else { "reported, not expected" };
            format!("{path}:{line}: {code} {what}")
        })
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n\n{}", wrong.join("\n"), crate::report::reports(outcome)))
}

fn expected(sources: &SourceMap) -> Places {
    let mut places = Places::new();
    for file in sources.iter() {
        for (line, code) in markers(file) {
            *places.entry((file.path.clone(), line, code)).or_default() += 1;
        }
    }
    places
}

/// The lines and codes that a file's markers name.
fn markers(file: &SourceFile) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(file.text.lines()) {
        let Some((_, marker)) = text.split_once("//~") else { continue };
        let up = marker.bytes().take_while(|byte| *byte == b'^').count();
        let codes = marker.trim_start_matches('^').split_whitespace().filter(|word| word.starts_with("MOV_"));
        found.extend(codes.map(|code| (line - u32::try_from(up).expect("a short marker"), code.to_owned())));
    }
    found
}

/// Every code that a text's markers name.
pub(crate) fn codes(text: &str) -> Vec<String> {
    let mut sources = SourceMap::default();
    let id = sources.add("text", text);
    markers(sources.get(id).expect("just added")).into_iter().map(|(_, code)| code).collect()
}
