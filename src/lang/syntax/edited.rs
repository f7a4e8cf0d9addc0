//! A text that was read before and is edited: declarations that the edit left alone are taken over, moved to where they
//! stand now. Gives what `parse` gives; only the work differs, which is a look at both texts and the declarations that
//! changed. Must know nothing of what a declaration is made of; that is `moved`'s.

use super::{Parsed, ast, gather, items, moved, parse, scan};
use crate::{
    diag::Diagnostic,
    source::{SourceFile, Span},
};

/// Reads `now`, which was `before` when it was last read; that gave `tree`, and `problems` by itself.
#[must_use]
pub fn parse_edited(now: &SourceFile, before: &SourceFile, tree: ast::File, problems: &[Diagnostic]) -> Parsed {
    if now.id != before.id || now.text.len() > super::MOST_BYTES {
        return parse(now);
    }
    let then = scan::scan(before);
    if then.pieces.len() != tree.items.len() {
        return parse(now);
    }
    let mut items: Vec<Option<ast::Item>> = tree.items.into_iter().map(Some).collect();
    let scan = scan::scan(now);
    let (pieces, old) = (scan.pieces.len(), then.pieces.len());
    gather(now, scan, |index, scan, piece| {
        // In front of the edit a declaration has the number it had; behind it, the number from the end.
        let numbers = [Some(index), (index + old).checked_sub(pieces)];
        numbers.into_iter().flatten().find_map(|number| {
            let place = then.pieces.get(number)?;
            let same = place.end - place.start == piece.end - piece.start
                && place.closers == piece.closers
                && !place.too_deep
                && !piece.too_deep
                && before.text.get(place.start..place.end) == now.text.get(piece.start..piece.end)
                && then.copy.get(place.start..place.end) == scan.copy.get(piece.start..piece.end)
                && items::documentation(before, &then.comments, place.start)
                    == items::documentation(now, &scan.comments, piece.start);
            // What is wrong in a declaration may be said with other words where the rest of the text is another.
            let clean = || !problems.iter().any(|problem| touches(problem.primary.span, place));
            if !same || !clean() {
                return None;
            }
            let mut item = items.get_mut(number)?.take()?;
            moved::item(&mut item, place.start, piece.start);
            Some(item)
        })
    })
}

fn touches(span: Span, piece: &scan::Piece) -> bool {
    span.start as usize <= piece.end && piece.start <= span.end as usize
}
