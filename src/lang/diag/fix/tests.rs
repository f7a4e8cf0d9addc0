//! Which fixes fit together.

use super::{Round, apply};
use crate::{
    diag::{Diagnostic, Fix, codes},
    source::{SourceId, SourceMap, Span},
};

/// Problems whose fixes are these edits of `abcdef`.
fn round(fixes: &[&[(u32, u32, &str)]]) -> (String, Vec<usize>) {
    let mut sources = SourceMap::default();
    let id = sources.add("a.mvt", "abcdef");
    let problems: Vec<_> = fixes
        .iter()
        .map(|edits| {
            let mut problem = Diagnostic::error(codes::MOV_PARSE_HABIT, Span::new(id, 0, 1), "wrong");
            let edits = edits.iter().map(|(start, end, text)| (Span::new(id, *start, *end), (*text).to_owned()));
            problem.fix = Some(Fix { says: "mend it".to_owned(), edits: edits.collect() });
            problem
        })
        .collect();
    let Round { mut texts, taken } = apply(&sources, &problems, |source| source == SourceId(0));
    (texts.remove(&id).unwrap_or_else(|| "abcdef".to_owned()), taken)
}

#[test]
fn fixes_of_different_places_go_in_together() {
    assert_eq!(round(&[&[(4, 5, "E")], &[(0, 1, "A"), (2, 2, "-")]]), ("Ab-cdEf".to_owned(), vec![0, 1]));
    assert_eq!(round(&[&[(0, 2, "X")], &[(2, 4, "Y")]]), ("XYef".to_owned(), vec![0, 1]), "side by side");
}

#[test]
fn of_two_fixes_of_one_place_the_first_goes_in_whole() {
    assert_eq!(round(&[&[(1, 3, "X")], &[(0, 2, "Y"), (5, 6, "Z")]]), ("YcdeZ".to_owned(), vec![1]));
    assert_eq!(round(&[&[(2, 2, "X")], &[(2, 2, "Y")]]), ("abXcdef".to_owned(), vec![0]), "two insertions");
    assert_eq!(round(&[&[(1, 3, "X")], &[(3, 3, "Y")]]), ("aXdef".to_owned(), vec![0]), "an insertion at an edge");
}

#[test]
fn a_fix_that_is_broken_or_changes_nothing_is_not_taken() {
    assert_eq!(round(&[&[(4, 9, "X")]]), ("abcdef".to_owned(), vec![]));
    assert_eq!(round(&[&[(0, 1, "a")]]), ("abcdef".to_owned(), vec![]));
    assert_eq!(round(&[&[(0, 3, "x"), (2, 4, "y")]]), ("abcdef".to_owned(), vec![]), "it overlaps itself");
}
