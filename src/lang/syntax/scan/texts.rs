//! Texts: where they end, what stands in their holes, and what to do with one that is never closed.

use super::{Frame, Last, MOST_REWINDS, Open, Scanner, in_word};
use crate::diag::{Diagnostic, Fix, codes};

/// Words that may follow a text.
const AFTER: &[&str] = &[
    "AND", "OR", "IN", "CONTAINS", "IS", "AS", "WITHIN", "ELSE", "THEN", "END", "ORDER", "LIMIT", "ASC", "DESC",
    "WHERE", "to", "fire", "and", "or", "in", "contains", "is", "as", "within", "else", "then", "end", "order",
    "limit", "at",
];

impl Scanner<'_> {
    /// Inside a text, up to its end or its next hole.
    pub(super) fn text_part(&mut self) {
        let Some(frame) = self.stack.last().copied() else { return };
        while self.at < self.text.len() {
            match self.byte(self.at) {
                b'\\' => self.at += if matches!(self.byte(self.at + 1), b'\n' | 0) { 1 } else { 2 },
                b'"' => {
                    self.end_text(frame, 1);
                    return;
                }
                b'$' if self.byte(self.at + 1) == b'{' => {
                    self.push(Open::Hole, 2);
                    return;
                }
                b'\n' => {
                    if frame.curly.is_some() || (self.careful && self.rewinds >= MOST_REWINDS) {
                        self.cut_text();
                        return;
                    }
                    self.next_line();
                    if self.careful && self.looks_like_declaration(self.at) {
                        self.cut_text();
                        return;
                    }
                }
                byte if byte >= 0x80 && frame.curly.is_some() => {
                    let width = self.character(self.at).map_or(1, char::len_utf8);
                    if matches!(self.character(self.at), Some('“' | '”' | '‟' | '«' | '»')) {
                        self.end_text(frame, width);
                        return;
                    }
                    self.at += width;
                }
                _ => self.at += 1,
            }
        }
    }

    fn end_text(&mut self, frame: Frame, width: usize) {
        if frame.line != self.line && !self.fits_after_text(self.at + width) {
            self.cut_text();
            return;
        }
        if width > 1 {
            self.blank(self.at, self.at + width);
            self.fill(self.at, self.at + 1, b'"');
        }
        if let Some((start, end)) = frame.curly {
            let edits =
                vec![(self.span(start, end), "\"".to_owned()), (self.span(self.at, self.at + width), "\"".to_owned())];
            let mut problem = Diagnostic::error(
                codes::MOV_PARSE_HABIT,
                self.span(start, end),
                "a text stands between straight quotes: `\"…\"`",
            );
            problem.fix = Some(Fix { says: "write straight quotes".to_owned(), edits });
            self.report(problem);
        }
        self.stack.pop();
        self.step_to(self.at + width, Last::Value);
    }

    /// Whether what follows a text can follow a text. Else its closing quote was an opening one.
    fn fits_after_text(&self, at: usize) -> bool {
        let next = self.past_blanks(at);
        if next >= self.text.len() {
            return true;
        }
        let byte = self.byte(next);
        if in_word(byte) {
            let end = self.word_end(next);
            return next > at
                && self.copy.get(next..end).is_some_and(|word| AFTER.iter().any(|other| other.as_bytes() == word));
        }
        byte < 0x80 && !matches!(byte, b'"' | b'$' | b'#' | b'@' | b'\\' | b'\'' | b'~' | b'^' | b'(' | b'`')
    }

    /// The outermost open text was never closed: it ends with its line, and reading goes on behind it.
    pub(super) fn cut_text(&mut self) {
        self.unbalanced = true;
        if !self.careful {
            return;
        }
        let Some(place) = self.stack.iter().position(|frame| frame.open == Open::Text) else { return };
        let Some(frame) = self.stack.get(place).copied() else { return };
        self.rewinds += 1;
        let start = frame.curly.map_or(frame.at, |(start, _)| start);
        let read = self.text.get(start..self.at.max(frame.at + 1)).unwrap_or_default();
        if let Some(bytes) = self.copy.get_mut(start..start + read.len()) {
            bytes.copy_from_slice(read);
        }
        self.problems.truncate(frame.problems);
        self.comments.truncate(frame.comments);
        self.too_deep = frame.too_deep;
        let length = self.text.get(start..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n'));
        let line_end = length.map_or(self.text.len(), |length| start + length);
        let inside = frame.at + 1;
        self.stack.truncate(place);
        let cut = if let Some((hole, quote)) = self.unclosed_hole(inside, line_end) {
            let problem =
                Diagnostic::error(codes::MOV_PARSE_UNCLOSED, self.span(hole, hole + 2), "this `${` is never closed")
                    .fix("close it with `}`", self.span(quote, quote), "}");
            self.report(problem);
            quote + 1
        } else {
            let cut = self.text_tail(frame, inside, line_end);
            let opener = self.span(start, inside);
            let problem = Diagnostic::error(codes::MOV_PARSE_TEXT_UNCLOSED, opener, "this text is never closed").fix(
                "close it with `\"`",
                self.span(cut, cut),
                "\"",
            );
            self.report(problem);
            cut
        };
        self.damage(start, cut);
        self.line = frame.line;
        self.line_start = frame.line_start;
        self.indent = frame.indent;
        self.newline = None;
        self.at = cut;
        self.last = Last::Value;
        self.piece_end = cut;
    }

    /// `"${name"`: the hole that swallowed the closing quote, and that quote.
    fn unclosed_hole(&self, inside: usize, line_end: usize) -> Option<(usize, usize)> {
        let line = self.file.text.get(inside..line_end)?;
        let hole = line.rfind("${")?;
        let rest = line.get(hole..)?;
        let quote = rest.find('"')?;
        let swallowed = rest.get(..quote)?;
        let tail = rest.get(quote + 1..)?;
        let is_last = tail.chars().all(|letter| matches!(letter, ')' | ']' | '}' | ',' | ';' | ' ' | '\t' | '\r'));
        (!swallowed.contains('}') && is_last).then_some((inside + hole, inside + hole + quote))
    }

    /// Where an unclosed text ends: before the closing brackets of what was opened on its line.
    fn text_tail(&self, frame: Frame, inside: usize, line_end: usize) -> usize {
        let line = self.file.text.get(inside..line_end).unwrap_or_default();
        let whole = inside + line.trim_end().len();
        let mut rest = line.trim_end();
        for open in self.stack.iter().filter(|open| open.line == frame.line) {
            let closer = match open.open {
                Open::Paren => ')',
                Open::Square => ']',
                Open::Brace => '}',
                Open::Angle | Open::If | Open::Text | Open::Hole => return whole,
            };
            let trimmed = rest.strip_suffix("->").filter(|_| open.width == 2).unwrap_or(rest);
            let Some(shorter) = trimmed.strip_suffix(closer) else { return whole };
            rest = shorter.trim_end();
        }
        inside + rest.strip_suffix([',', ';']).unwrap_or(rest).trim_end().len()
    }
}
