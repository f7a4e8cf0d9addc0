//! Fixes on their way into texts: which of them fit together, and what the texts are after them.
//!
//! A fix is taken whole or not at all. Of two that touch the same place the first in the text is taken; the other may
//! fit once the text was read again.

use std::collections::BTreeMap;

use super::Diagnostic;
use crate::source::{SourceId, SourceMap, Span};

/// What one round came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// The whole new text of each source that changed.
    pub texts: BTreeMap<SourceId, String>,
    /// Which of the problems had their fix taken, by their place among those given.
    pub taken: Vec<usize>,
}

/// Takes every fix that fits with those before it. `may` says which texts may be changed.
#[must_use]
pub fn apply(sources: &SourceMap, problems: &[Diagnostic], may: impl Fn(SourceId) -> bool) -> Round {
    let mut order: Vec<usize> = (0..problems.len()).collect();
    order.sort_by_key(|index| problems.get(*index).and_then(first_edit));
    let mut edits: BTreeMap<SourceId, Edits<'_>> = BTreeMap::new();
    let mut taken = Vec::new();
    for index in order {
        let Some(fix) = problems.get(index).and_then(|problem| problem.fix.as_ref()) else { continue };
        let fits = |(span, _): &(Span, String)| {
            let inside = sources.get(span.source).is_some_and(|file| {
                span.start <= span.end && file.text.get(span.start as usize..span.end as usize).is_some()
            });
            inside && may(span.source) && edits.get(&span.source).is_none_or(|others| free(others, *span))
        };
        let apart = (1..fix.edits.len()).all(|place| {
            let (before, after) = fix.edits.split_at(place);
            let others: Vec<_> = before.iter().map(|(span, text)| (*span, text.as_str())).collect();
            after.first().is_none_or(|(span, _)| free(&others, *span))
        });
        let changes =
            fix.edits.iter().any(|(span, text)| sources.get(span.source).is_some_and(|file| file.slice(*span) != text));
        if !(apart && changes && fix.edits.iter().all(fits)) {
            continue;
        }
        for (span, text) in &fix.edits {
            edits.entry(span.source).or_default().push((*span, text));
        }
        taken.push(index);
    }
    taken.sort_unstable();
    let texts =
        edits.into_iter().filter_map(|(source, edits)| Some((source, edited(&sources.get(source)?.text, edits)?)));
    Round { texts: texts.collect(), taken }
}

type Edits<'d> = Vec<(Span, &'d str)>;

fn first_edit(problem: &Diagnostic) -> Option<Span> {
    problem.fix.as_ref()?.edits.iter().map(|(span, _)| *span).min()
}

/// Whether a place touches none of the others in its text. Two insertions at one point have no order.
fn free(others: &[(Span, &str)], span: Span) -> bool {
    others.iter().all(|(other, _)| {
        let apart = span.end < other.start || other.end < span.start;
        let beside =
            (span.end == other.start || other.end == span.start) && span.start < span.end && other.start < other.end;
        other.source != span.source || apart || beside
    })
}

fn edited(text: &str, mut edits: Edits<'_>) -> Option<String> {
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, replacement) in edits {
        out.push_str(text.get(at..span.start as usize)?);
        out.push_str(replacement);
        at = span.end as usize;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests;
