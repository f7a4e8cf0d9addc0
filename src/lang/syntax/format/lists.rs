//! Everything that is a row of things: statements, entries, fields, arguments, with the comments between them.

use super::{Layout, doc::Doc};

/// How a row is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Row {
    /// `{ a: 1, b: 2 }`, or a line each, without commas; lines stay lines.
    Braces,
    /// `(a, b)` and `[a, b]`, or a line each, with commas.
    Brackets,
    /// `{ one }`, or a line each; more than one always on lines.
    Block,
}

impl Layout<'_> {
    /// A row between two signs. `end` is a place behind the last thing and not behind the closing sign.
    pub(super) fn row<T>(
        &mut self,
        row: Row,
        (open, close): (&'static str, &'static str),
        things: &[T],
        end: u32,
        start_of: impl Fn(&T) -> u32,
        mut doc_of: impl FnMut(&mut Self, &T) -> Doc,
    ) -> Doc {
        let first = things.first().map(&start_of);
        let broken = match row {
            Row::Braces => first.is_some_and(|first| self.begins_line(first)),
            Row::Brackets => false,
            Row::Block => things.len() > 1 || first.is_some_and(|first| self.begins_line(first)),
        };
        let mut parts = vec![Doc::text(open)];
        parts.extend(self.trailing(first.unwrap_or(end)));
        let pad = || match row {
            Row::Braces | Row::Block => Doc::Line,
            Row::Brackets => Doc::Soft,
        };
        let mut inside = Vec::new();
        for (place, thing) in things.iter().enumerate() {
            let start = start_of(thing);
            if place > 0 {
                inside.extend(self.trailing(start));
            }
            let comments = self.own(start);
            let blank = comments.first().map_or_else(|| self.blank_before(start), |(blank, _)| *blank);
            inside.push(match (place, blank) {
                (0, _) => pad(),
                (_, true) => Doc::Blank,
                (_, false) => Doc::Line,
            });
            self.lines(comments, Some(start), &mut inside);
            inside.push(doc_of(self, thing));
            let is_last = place + 1 == things.len();
            inside.push(match (row, is_last) {
                (Row::Brackets, true) => Doc::Broken(","),
                (Row::Brackets, false) => Doc::text(","),
                (Row::Braces, false) => Doc::Flat(","),
                (Row::Braces, true) | (Row::Block, _) => Doc::NOTHING,
            });
        }
        inside.extend(self.trailing(end));
        let comments = self.own(end);
        if let Some((blank, _)) = comments.first() {
            inside.push(if *blank && !things.is_empty() { Doc::Blank } else { Doc::Hard });
            self.lines(comments, None, &mut inside);
        }
        if inside.is_empty() {
            if parts.len() > 1 {
                parts.push(Doc::Hard);
            }
        } else {
            parts.push(Doc::indent(inside));
            parts.push(pad());
        }
        parts.push(Doc::text(close));
        Doc::group_broken(parts, broken)
    }

    /// Comments on lines of their own; `next` is where what they precede begins.
    pub(super) fn lines(&self, comments: Vec<(bool, String)>, next: Option<u32>, into: &mut Vec<Doc>) {
        let count = comments.len();
        for (place, (blank, text)) in comments.into_iter().enumerate() {
            if place > 0 {
                into.push(if blank { Doc::Blank } else { Doc::Hard });
            }
            into.push(Doc::Text(text));
            if place + 1 == count
                && let Some(next) = next
            {
                into.push(if self.blank_before(next) { Doc::Blank } else { Doc::Hard });
            }
        }
    }
}
