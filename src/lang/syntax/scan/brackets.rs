//! Brackets: each closes its own, and one that stands alone is reported where it stands.

use super::{Frame, Open, Scanner};
use crate::diag::{Diagnostic, codes};

impl Scanner<'_> {
    /// `)`, `]` or `}` at this place.
    pub(super) fn close(&mut self, byte: u8) {
        self.drop_angles();
        let wanted = match byte {
            b')' => Open::Paren,
            b']' => Open::Square,
            _ => Open::Brace,
        };
        if byte == b'}' && self.careful && self.first_on_line() && self.misplaced_brace() {
            return;
        }
        let matches = |open: Open| open == wanted || (byte == b'}' && open == Open::Hole);
        if self.top().is_some_and(matches) {
            self.stack.pop();
            self.step_to(self.at + 1, super::Last::Value);
            return;
        }
        self.unbalanced = true;
        if let Some(target) = self.reachable(matches) {
            while self.stack.len() > target + 1 {
                self.pop_as_unclosed();
            }
            self.stack.pop();
            self.step_to(self.at + 1, super::Last::Value);
            return;
        }
        let closed_next = matches!(self.byte(self.past_blanks(self.at + 1)), b')' | b']');
        let same_line = self.stack.last().filter(|frame| frame.line == self.line && !closed_next).copied();
        match same_line {
            Some(frame) if byte != b'}' && matches!(frame.open, Open::Paren | Open::Square) => {
                self.wrong_closer(frame, byte);
            }
            Some(_) | None => self.stray(byte),
        }
    }

    fn first_on_line(&self) -> bool {
        self.at == self.line_start + self.indent
    }

    /// The frame that a closing sign may reach past others that were forgotten.
    fn reachable(&self, matches: impl Fn(Open) -> bool) -> Option<usize> {
        for (place, frame) in self.stack.iter().enumerate().rev() {
            if matches(frame.open) {
                return Some(place);
            }
            let passable = match frame.open {
                Open::Paren | Open::Square | Open::If | Open::Angle => true,
                Open::Brace => frame.line == self.line,
                Open::Text | Open::Hole => false,
            };
            if !passable {
                return None;
            }
        }
        None
    }

    /// Judges a `}` that begins a line by its indentation. True if it was dealt with.
    fn misplaced_brace(&mut self) -> bool {
        let braces: Vec<Frame> =
            self.stack.iter().rev().take_while(|frame| frame.open == Open::Brace).copied().collect();
        let [inner, outer @ ..] = braces.as_slice() else { return false };
        if inner.line == self.line {
            return false;
        }
        if self.indent > inner.indent && outer.iter().all(|frame| frame.indent < self.indent) {
            self.stray(b'}');
            return true;
        }
        if inner.indent <= self.indent || !outer.iter().any(|frame| frame.indent == self.indent) {
            return false;
        }
        // The block inside was never closed: its `}` takes the place of the newline before this one.
        self.unbalanced = true;
        self.report_unclosed(*inner);
        self.stack.pop();
        match self.newline.take() {
            Some(newline) => self.fill(newline, newline + 1, b'}'),
            None => self.damage(inner.at, inner.at + inner.width),
        }
        self.close(b'}');
        true
    }

    fn wrong_closer(&mut self, frame: Frame, byte: u8) {
        let (opener, right) = if frame.open == Open::Paren { ("(", ')') } else { ("[", ']') };
        let wrong = char::from(byte);
        let problem = Diagnostic::error(
            codes::MOV_PARSE_UNCLOSED,
            self.span(self.at, self.at + 1),
            format!("`{opener}` is closed by `{right}`, not by `{wrong}`"),
        )
        .also(self.span(frame.at, frame.at + frame.width), "opened here")
        .fix(format!("write `{right}`"), self.span(self.at, self.at + 1), right.to_string());
        self.report(problem);
        let right = if frame.open == Open::Paren { b')' } else { b']' };
        self.fill(self.at, self.at + 1, right);
        self.stack.pop();
        self.step_to(self.at + 1, super::Last::Value);
    }

    fn stray(&mut self, byte: u8) {
        self.unbalanced = true;
        let span = self.span(self.at, self.at + 1);
        let problem =
            Diagnostic::error(codes::MOV_PARSE_UNCLOSED, span, format!("this `{}` closes nothing", char::from(byte)))
                .fix("take it out", span, "");
        self.report(problem);
        self.blank(self.at, self.at + 1);
        self.at += 1;
    }

    /// `<` of a type closes by itself: what it lacks is the grammar's to say.
    pub(super) fn drop_angles(&mut self) {
        while self.top() == Some(Open::Angle) {
            self.stack.pop();
        }
    }

    fn pop_as_unclosed(&mut self) {
        if let Some(frame) = self.stack.pop()
            && frame.open != Open::Angle
        {
            self.report_unclosed(frame);
            self.damage(frame.at, frame.at + frame.width);
        }
    }

    fn report_unclosed(&mut self, frame: Frame) {
        let span = self.span(frame.at, frame.at + frame.width);
        let problem = match frame.open {
            Open::If => Diagnostic::error(codes::MOV_PARSE_UNCLOSED, span, "this `IF` has no `END`")
                .help("write `IF condition THEN value ELSE value END`"),
            Open::Hole => Diagnostic::error(codes::MOV_PARSE_UNCLOSED, span, "this `${` is never closed")
                .help("close it with `}`"),
            Open::Square if frame.width == 2 => {
                Diagnostic::error(codes::MOV_PARSE_UNCLOSED, span, "this `-[` is never closed")
                    .help("a hop ends with `]->`")
            }
            Open::Square => Diagnostic::error(codes::MOV_PARSE_UNCLOSED, span, "this `[` is never closed"),
            Open::Paren => Diagnostic::error(codes::MOV_PARSE_UNCLOSED, span, "this `(` is never closed"),
            Open::Brace => Diagnostic::error(codes::MOV_PARSE_UNCLOSED, span, "this `{` is never closed"),
            Open::Angle | Open::Text => return,
        };
        self.report(problem);
    }

    /// A declaration begins, or the file ends: nothing open before it can still be closed.
    pub(super) fn close_all_as_unclosed(&mut self) {
        self.drop_angles();
        if self.stack.is_empty() {
            return;
        }
        self.unbalanced = true;
        if self.stack.iter().any(|frame| frame.open == Open::Text) {
            self.cut_text();
            return;
        }
        let mut closers = String::new();
        for frame in std::mem::take(&mut self.stack) {
            match frame.open {
                Open::Angle => {}
                Open::Brace => {
                    self.report_unclosed(frame);
                    closers.push_str("\n}");
                }
                Open::Paren | Open::Square | Open::If | Open::Hole | Open::Text => {
                    self.report_unclosed(frame);
                    self.damage(frame.at, frame.at + frame.width);
                }
            }
        }
        self.end_piece();
        if let Some(piece) = self.pieces.last_mut() {
            piece.closers = closers;
        }
    }

    /// A statement begins while `(`, `[` or `IF` is open: these can no longer be closed.
    pub(super) fn close_inline_as_unclosed(&mut self) {
        while matches!(self.top(), Some(Open::Paren | Open::Square | Open::If | Open::Angle)) {
            self.pop_as_unclosed();
        }
        if self.top() == Some(Open::Hole) {
            self.cut_text();
        }
    }
}
