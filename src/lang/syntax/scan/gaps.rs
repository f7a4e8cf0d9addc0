//! What stands between two signs: blanks, comments, newlines, and whether these newlines end something.

use super::{Last, Open, Scanner};
use crate::diag::{Diagnostic, codes};

impl Scanner<'_> {
    /// From the end of one sign to the beginning of the next.
    pub(super) fn gap(&mut self) {
        let mut newlines = Vec::new();
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' => self.at += 1,
                b'\r' if self.byte(self.at + 1) == b'\n' => {
                    self.blank(self.at, self.at + 1);
                    self.at += 1;
                }
                b'\n' => {
                    newlines.push(self.at);
                    self.next_line();
                }
                b'/' if self.byte(self.at + 1) == b'/' => self.comment(),
                b'/' if self.byte(self.at + 1) == b'*' => self.block_comment(),
                b'#' if self.last != Last::Connect => self.hash_comment(),
                byte if !(0x20..0x7f).contains(&byte) => {
                    if self.at >= self.text.len() || !self.invisible() {
                        break;
                    }
                }
                _ => break,
            }
        }
        if let Some(first) = newlines.first().copied() {
            self.decide(first, &newlines);
        }
    }

    /// Whether the newlines of a gap end something.
    fn decide(&mut self, first: usize, newlines: &[usize]) {
        let at_end = self.at >= self.text.len();
        self.newline = None;
        if !at_end && self.at == self.line_start && !self.stack.is_empty() && self.looks_like_declaration(self.at) {
            self.close_all_as_unclosed();
        }
        if self.careful && !at_end && self.looks_like_statement(self.at) {
            self.close_inline_as_unclosed();
        }
        if self.top() == Some(Open::Angle) && !self.operator_last() {
            self.drop_angles();
        }
        let inside = matches!(self.top(), Some(Open::Paren | Open::Square | Open::If | Open::Hole));
        // `x = 1 +` and then `y = 2`: no expression goes on so, whatever the operator promised.
        let dangling = !inside && !at_end && self.looks_like_statement(self.at);
        let joined = inside || (self.operator_last() && !dangling) || (!at_end && self.continues(self.at));
        let hanging = !joined && !at_end && self.hanging_brace(first);
        for newline in newlines {
            if joined || hanging || *newline != first {
                self.blank(*newline, newline + 1);
            }
        }
        if joined || hanging {
            return;
        }
        self.newline = Some(first);
        if self.stack.is_empty() {
            self.end_piece();
        }
        self.last = Last::Nothing;
    }

    pub(super) fn operator_last(&self) -> bool {
        match self.last {
            Last::Operator | Last::TypeNext | Last::Dot | Last::Edge | Last::Else => true,
            Last::Nothing | Last::Value | Last::Opener | Last::Comma | Last::HopHead | Last::Connect => false,
        }
    }

    /// `{` on a line of its own.
    fn hanging_brace(&mut self, newline: usize) -> bool {
        let after_value = self.last == Last::Value;
        let fits = self.byte(self.at) == b'{' && after_value && matches!(self.top(), None | Some(Open::Brace));
        if fits {
            let problem = Diagnostic::error(
                codes::MOV_PARSE_HABIT,
                self.span(self.at, self.at + 1),
                "`{` stands at the end of the line that it belongs to",
            )
            .fix("put `{` at the end of the line before", self.span(newline, self.at + 1), " {");
            self.report(problem);
        }
        fits
    }

    pub(super) fn next_line(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
        let mut end = self.at;
        while matches!(self.byte(end), b' ' | b'\t') {
            end += 1;
        }
        self.indent = end - self.at;
    }

    fn line_end(&self) -> usize {
        self.text
            .get(self.at..)
            .and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
            .map_or(self.text.len(), |length| self.at + length)
    }

    fn comment(&mut self) {
        let mut end = self.line_end();
        if end > self.at && self.text.get(end - 1) == Some(&b'\r') {
            end -= 1;
        }
        self.comments.push(self.span(self.at, end));
        self.blank(self.at, end);
        self.at = end;
    }

    fn hash_comment(&mut self) {
        let problem = Diagnostic::error(
            codes::MOV_PARSE_HABIT,
            self.span(self.at, self.at + 1),
            "a comment begins with `//`, not with `#`",
        )
        .fix("write `//`", self.span(self.at, self.at + 1), "//");
        self.report(problem);
        self.comment();
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let close = self.file.text.get(start + 2..).and_then(|rest| rest.find("*/"));
        let end = close.map_or(self.text.len(), |length| start + 2 + length + 2);
        let inside = self.file.text.get(start + 2..end.saturating_sub(2)).unwrap_or_default();
        let mut problem = Diagnostic::error(
            codes::MOV_PARSE_HABIT,
            self.span(start, start + 2),
            "a comment is `//` to the end of the line; there is no `/* … */`",
        );
        if close.is_some() {
            let lines: Vec<_> = inside.lines().map(|line| format!("// {}", line.trim())).collect();
            let mut text = lines.join("\n");
            if self
                .file
                .text
                .get(end..)
                .is_some_and(|rest| !rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']))
            {
                text.push('\n');
            }
            problem = problem.fix("write `//` before each line", self.span(start, end), text);
        }
        self.report(problem);
        self.comments.push(self.span(start, end));
        while self.at < end {
            if self.byte(self.at) == b'\n' {
                self.blank(self.at, self.at + 1);
                self.next_line();
            } else {
                self.at += 1;
            }
        }
        self.blank(start, end);
    }
}
