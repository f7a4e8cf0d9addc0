//! Words: which are operators, which open or close an `IF`, and which lines they let go on.

use super::{Last, Open, Scanner, in_word};

/// Words after which a line goes on.
const OPERATORS: &[&str] = &["AND", "OR", "NOT", "IN", "CONTAINS", "EXISTS", "WITHIN", "WHERE", "BY", "THEN", "if"];

/// Words that let the line before go on when they begin one.
const CONTINUERS: &[&str] = &["AND", "OR", "THEN", "ELSE", "END", "else", "fire"];

impl Scanner<'_> {
    /// The end of the word at `at`.
    pub(super) fn word_end(&self, at: usize) -> usize {
        let mut end = at;
        while in_word(self.byte(end)) {
            end += 1;
        }
        end
    }

    fn word_is(&self, at: usize, end: usize, words: &[&str]) -> bool {
        self.copy.get(at..end).is_some_and(|word| words.iter().any(|other| other.as_bytes() == word))
    }

    /// A keyword directly before `=`, `.` or `:` is a name.
    fn is_name_before(&self, mut at: usize) -> bool {
        while matches!(self.byte(at), b' ' | b'\t') {
            at += 1;
        }
        match self.byte(at) {
            b'=' => !matches!(self.byte(at + 1), b'=' | b'>'),
            b'.' => self.byte(at + 1) != b'.',
            b':' => true,
            b'?' | b'+' => self.byte(at + 1) == b':',
            _ => false,
        }
    }

    pub(super) fn word(&mut self) {
        let end = self.word_end(self.at);
        if self.byte(end) >= 0x80 && self.character(end).is_some_and(char::is_alphabetic) {
            self.foreign_name();
            return;
        }
        let plain_name = matches!(self.last, Last::Dot | Last::Edge) || self.is_name_before(end);
        if self.last == Last::HopHead {
            // the alias: `:` follows
            self.step_to(end, Last::HopHead);
        } else if plain_name {
            self.step_to(end, Last::Value);
        } else if self.word_is(self.at, end, &["IF"]) || (self.word_is(self.at, end, &["if"]) && self.value_expected())
        {
            if self.last == Last::Else && self.top() == Some(Open::If) {
                self.step_to(end, Last::Operator);
            } else {
                self.push(Open::If, end - self.at);
                self.last = Last::Operator;
            }
        } else if self.word_is(self.at, end, &["END"])
            || (self.top() == Some(Open::If) && self.word_is(self.at, end, &["end"]))
        {
            self.drop_angles();
            if self.top() == Some(Open::If) {
                self.stack.pop();
            }
            self.step_to(end, Last::Value);
        } else if self.word_is(self.at, end, &["ELSE", "else"]) {
            self.step_to(end, Last::Else);
        } else if self.word_is(self.at, end, &["IS", "AS", "is", "as"]) {
            self.step_to(end, Last::TypeNext);
        } else if self.word_is(self.at, end, OPERATORS) {
            self.step_to(end, Last::Operator);
        } else if self.word_is(self.at, end, &["connect"]) {
            self.step_to(end, Last::Connect);
        } else {
            self.step_to(end, Last::Value);
        }
    }

    /// `if` begins a statement at the start of one and after a lone `else`; anywhere else a value is meant.
    fn value_expected(&self) -> bool {
        match self.last {
            Last::Nothing | Last::Value => false,
            Last::Opener => self.top() != Some(Open::Brace),
            Last::Else => self.top() == Some(Open::If),
            Last::Operator | Last::TypeNext | Last::Dot | Last::Comma | Last::HopHead | Last::Edge | Last::Connect => {
                true
            }
        }
    }

    pub(super) fn step_to(&mut self, end: usize, last: Last) {
        self.begin_piece();
        self.at = end;
        self.piece_end = end;
        self.last = last;
    }

    /// Whether what begins here goes on with the line before.
    pub(super) fn continues(&self, at: usize) -> bool {
        if self.starts(at, "-[") {
            return true;
        }
        if self.byte(at) == b'.' {
            return self.byte(at + 1) != b'.';
        }
        let end = self.word_end(at);
        self.word_is(at, end, CONTINUERS) && !self.is_name_before(end)
    }

    /// Whether a line beginning here must be a statement: `NAME =`, `write x`, `return x`.
    pub(super) fn looks_like_statement(&self, at: usize) -> bool {
        let end = self.word_end(at);
        if end == at || self.byte(at).is_ascii_digit() {
            return false;
        }
        let next = self.past_blanks(end);
        if self.byte(next) == b'=' && !matches!(self.byte(next + 1), b'=' | b'>') {
            return true;
        }
        self.word_is(at, end, &["write", "return", "delete", "if", "given", "answer", "expect"])
            && in_word(self.byte(next))
            && next > end
    }

    /// Whether a line beginning here, at the left edge, must be a declaration.
    pub(super) fn looks_like_declaration(&self, at: usize) -> bool {
        let end = self.word_end(at);
        if end == at {
            return false;
        }
        let next = self.past_blanks(end);
        if next == end {
            return false;
        }
        let next_end = self.word_end(next);
        let after = self.byte(self.past_blanks(next_end));
        if self.word_is(at, end, &["export"]) {
            return self.looks_like_declaration(next);
        }
        if self.word_is(at, end, &["function"]) {
            return next_end > next && after == b'(';
        }
        if self.word_is(at, end, &["listen"]) {
            return self.word_is(next, next_end, &["to", "as"]);
        }
        if self.word_is(at, end, &["test"]) {
            return self.byte(next) == b'"';
        }
        if self.word_is(at, end, &["type"]) {
            return next_end > next && after == b'=';
        }
        if self.word_is(at, end, &["import"]) {
            return self.byte(next) == b'{';
        }
        if self.byte(next) == b'=' {
            let value = self.past_blanks(next + 1);
            return self.word_is(value, self.word_end(value), &["connect"]);
        }
        false
    }

    pub(super) fn past_blanks(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\t' | b'\r') {
            at += 1;
        }
        at
    }
}
