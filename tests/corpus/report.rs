//! What a snapshot holds, and the promise of every fix: applied, it takes its problem away.

use std::fmt::Write as _;

use lf_lang::{
    diag::{Diagnostic, Fix, render},
    source::SourceMap,
};

use crate::case::{self, Outcome};

/// Every report as a person sees it, with its exact bytes.
pub(crate) fn reports(outcome: &Outcome) -> String {
    let mut out = String::new();
    for problem in &outcome.problems {
        let span = problem.primary.span;
        let concise = case::concise(problem, &outcome.sources);
        writeln!(out, "{concise} (bytes {}..{})", span.start, span.end).expect("a text takes everything");
        let drawn = render::full(problem, &outcome.sources, render::Look::PLAIN);
        for line in drawn.lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// A fix, applied alone, leaves no problem of its code and headline at its place, and makes no more problems.
pub(crate) fn fixes_mend(outcome: &Outcome) -> Result<(), String> {
    let mends = |problem: &Diagnostic| problem.fix.iter().chain(&problem.ways).cloned().collect::<Vec<_>>();
    for (problem, fix) in
        outcome.problems.iter().flat_map(|problem| mends(problem).into_iter().map(move |fix| (problem, fix)))
    {
        let fix = &fix;
        let text = apply(fix, problem, &outcome.sources)?;
        let path = &outcome.sources.get(problem.primary.span.source).expect("a known file").path;
        let after = case::outcome(path, &text)?;
        let same = |other: &&Diagnostic| other.code == problem.code && other.headline == problem.headline;
        let before_count = outcome.problems.iter().filter(same).count();
        let after_count = after.problems.iter().filter(same).count();
        if after_count >= before_count || after.problems.len() > outcome.problems.len() {
            return Err(format!("the fix of `{}` does not mend it:\n{text}\n{}", problem.headline, reports(&after)));
        }
    }
    Ok(())
}

/// The text of the problem's file (of the whole case, if it has one file) after its fix.
fn apply(fix: &Fix, problem: &Diagnostic, sources: &SourceMap) -> Result<String, String> {
    let file = sources.get(problem.primary.span.source).expect("a known file");
    let mut text = file.text.to_string();
    let mut edits = fix.edits.clone();
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    for (place, (span, replacement)) in edits.iter().enumerate().rev() {
        let free = edits.get(place + 1).is_none_or(|(next, _)| span.end <= next.start);
        if !free || span.source != file.id {
            return Err(format!("the edits of `{}` overlap", problem.headline));
        }
        text.replace_range(span.start as usize..span.end as usize, replacement);
    }
    Ok(text)
}
