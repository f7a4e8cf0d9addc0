//! The signs of the language one by one, and the typographic ones that look like them.

use super::{Last, Open, Scanner, in_word};
use crate::diag::{Diagnostic, Fix, codes};

/// Typographic signs, and what they stand for.
const LOOKALIKES: &[(char, &str)] = &[
    ('–', "-"),
    ('—', "-"),
    ('−', "-"),
    ('‐', "-"),
    ('‑', "-"),
    ('→', "->"),
    ('⇒', "=>"),
    ('≠', "!="),
    ('≤', "<="),
    ('≥', ">="),
    ('×', "*"),
    ('÷', "/"),
    ('…', "..."),
    ('‚', ","),
    ('；', ";"),
    ('：', ":"),
    ('，', ","),
    ('（', "("),
    ('）', ")"),
];

impl Scanner<'_> {
    /// The sign at this place; always moves on.
    pub(super) fn sign(&mut self) {
        let byte = self.byte(self.at);
        let next = self.byte(self.at + 1);
        match (byte, next) {
            (b'"', _) => self.push(Open::Text, 1),
            (b'`', _) => self.backticks(),
            (b'\'', _) => self.single_quotes(),
            (b'0'..=b'9', _) => self.number(),
            (b'(', _) => self.push(Open::Paren, 1),
            (b'[', _) => self.push(Open::Square, 1),
            (b'{', _) => self.push(Open::Brace, 1),
            (b'-', b'[') => {
                self.push(Open::Square, 2);
                if self.hop_follows() {
                    self.last = Last::HopHead;
                }
            }
            (b'-', b'>') => self.step_to(self.at + 2, Last::Value),
            (b')' | b']' | b'}', _) => self.close(byte),
            (b'<', b'=') | (b'>', b'=') | (b'=', b'>') | (b'&', b'&') | (b'|', b'|') | (b'?', b'.' | b'?' | b':') => {
                self.step_to(self.at + 2, Last::Operator);
            }
            (b'=', b'=') | (b'!', b'=') => {
                let width = if self.byte(self.at + 2) == b'=' { 3 } else { 2 };
                self.step_to(self.at + width, Last::Operator);
            }
            (b'<', _) => {
                if self.last == Last::TypeNext {
                    self.push(Open::Angle, 1);
                    self.last = Last::Operator;
                } else {
                    self.step_to(self.at + 1, Last::Operator);
                }
            }
            (b'>', _) => {
                if self.top() == Some(Open::Angle) {
                    self.stack.pop();
                    self.step_to(self.at + 1, Last::Value);
                } else {
                    self.step_to(self.at + 1, Last::Operator);
                }
            }
            // of other languages; the line ends here all the same
            (b'+', b'+') | (b'-', b'-') => self.step_to(self.at + 2, Last::Value),
            (b'.', b'.') => self.step_to(self.at + 3, Last::Operator),
            (b'.', _) => self.step_to(self.at + 1, Last::Dot),
            (b',', _) => self.step_to(self.at + 1, Last::Comma),
            (b':', _) => {
                let last = if self.last == Last::HopHead { Last::Edge } else { Last::TypeNext };
                self.step_to(self.at + 1, last);
            }
            (b'=', _) => self.step_to(self.at + 1, Last::TypeNext),
            (b';', _) => self.semicolon(),
            (b'+' | b'-' | b'*' | b'/' | b'%' | b'!' | b'|' | b'?', _) => self.step_to(self.at + 1, Last::Operator),
            (b'#' | b'@', _) => self.module_name(),
            (byte, _) if in_word(byte) => self.word(),
            (byte, _) if byte >= 0x80 => self.beyond_ascii(),
            (_, _) => self.unknown(1),
        }
    }

    /// `-[` opens a hop when what follows is `:` or a name and `:`; an edge without its colon counts too.
    fn hop_follows(&self) -> bool {
        let start = self.past_blanks(self.at);
        let end = self.word_end(start);
        self.byte(self.past_blanks(end)) == b':'
    }

    fn semicolon(&mut self) {
        self.drop_angles();
        if self.stack.is_empty() {
            self.blank(self.at, self.at + 1);
            self.at += 1;
            self.end_piece();
            self.last = Last::Nothing;
        } else {
            self.step_to(self.at + 1, Last::Nothing);
        }
    }

    /// `#name`, `@lf/mcp` after `connect`; the second lacks its backticks, which the grammar says.
    fn module_name(&mut self) {
        let start = self.at;
        if self.last != Last::Connect {
            self.unknown(1);
            return;
        }
        let mut end = start + 1;
        while in_word(self.byte(end)) || matches!(self.byte(end), b'/' | b'-' | b'.') {
            end += 1;
        }
        self.step_to(end, Last::Value);
    }

    fn number(&mut self) {
        let mut end = self.at;
        loop {
            let byte = self.byte(end);
            let exponent_sign = matches!(byte, b'+' | b'-')
                && matches!(self.byte(end - 1), b'e' | b'E')
                && self.byte(end + 1).is_ascii_digit()
                && end > self.at;
            let point = byte == b'.' && self.byte(end + 1).is_ascii_digit();
            if !(in_word(byte) || point || exponent_sign) {
                break;
            }
            end += 1;
        }
        self.step_to(end, Last::Value);
    }

    fn backticks(&mut self) {
        let start = self.at;
        let mut end = start + 1;
        while end < self.text.len() && !matches!(self.byte(end), b'`' | b'\n') {
            end += 1;
        }
        if self.byte(end) == b'`' {
            self.step_to(end + 1, Last::Value);
            return;
        }
        let problem = Diagnostic::error(
            codes::MOV_PARSE_TEXT_UNCLOSED,
            self.span(start, start + 1),
            "this backticked name is never closed",
        )
        .help("a name between backticks stands on one line");
        self.report(problem);
        self.damage(start, end);
        self.step_to(end, Last::Value);
    }

    /// `'text'`, as other languages write it.
    fn single_quotes(&mut self) {
        let start = self.at;
        let mut end = start + 1;
        while end < self.text.len() && !matches!(self.byte(end), b'\'' | b'\n') {
            end += if self.byte(end) == b'\\' && self.byte(end + 1) != b'\n' { 2 } else { 1 };
        }
        if self.byte(end) != b'\'' {
            self.unknown(1);
            return;
        }
        let inside = self.file.text.get(start + 1..end).unwrap_or_default();
        let right = format!("\"{}\"", inside.replace("\\'", "'").replace('"', "\\\"").replace("${", "\\${"));
        let problem =
            Diagnostic::error(codes::MOV_PARSE_HABIT, self.span(start, end + 1), "a text stands between double quotes")
                .fix(format!("write `{right}`"), self.span(start, end + 1), right);
        self.report(problem);
        // A text that only looks like the one meant is better read as none.
        if inside.contains(['"', '$', '\\']) {
            self.damage(start, end + 1);
        } else {
            self.fill(start, start + 1, b'"');
            self.fill(end, end + 1, b'"');
        }
        self.step_to(end + 1, Last::Value);
    }

    /// Characters that cannot be seen: control characters, odd spaces. True if there was one.
    pub(super) fn invisible(&mut self) -> bool {
        let Some(character) = self.character(self.at) else { return false };
        let odd_space = character.is_whitespace()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}');
        if !odd_space && !character.is_control() {
            return false;
        }
        let start = self.at;
        self.at += character.len_utf8();
        self.blank(start, self.at);
        let span = self.span(start, self.at);
        let fix = if character.is_whitespace() { " " } else { "" };
        let says = format!("the invisible character U+{:04X} has no meaning here", u32::from(character));
        self.report_merged(codes::MOV_PARSE_CHARACTER, says, "take it out", span, fix.to_owned());
        true
    }

    /// Something outside ASCII that is no blank: a lookalike, a curly quote, or a name that needs backticks.
    fn beyond_ascii(&mut self) {
        let start = self.at;
        let Some(character) = self.character(start) else {
            self.at += 1;
            return;
        };
        let width = character.len_utf8();
        if matches!(character, '“' | '”' | '„' | '‟' | '«' | '»') {
            self.blank(start, start + width);
            self.at = start + width - 1;
            self.fill(self.at, self.at + 1, b'"');
            self.push(Open::Text, 1);
            if let Some(frame) = self.stack.last_mut() {
                frame.curly = Some((start, start + width));
            }
            return;
        }
        if let Some((_, plain)) = LOOKALIKES.iter().find(|(lookalike, _)| *lookalike == character)
            && plain.len() <= width
        {
            let pad = width - plain.len();
            self.blank(start, start + pad);
            if let Some(bytes) = self.copy.get_mut(start + pad..start + width) {
                bytes.copy_from_slice(plain.as_bytes());
            }
            self.at = start + pad;
            let span = self.span(start, start + width);
            let says = format!("`{character}` is not a sign of the language");
            self.report_merged(codes::MOV_PARSE_HABIT, says, &format!("write `{plain}`"), span, (*plain).to_owned());
            return;
        }
        if character.is_alphabetic() {
            self.foreign_name();
        } else {
            self.unknown(width);
        }
    }

    /// A name with letters beyond A to Z.
    pub(super) fn foreign_name(&mut self) {
        let start = self.at;
        let mut end = start;
        while let Some(character) = self.character(end).filter(|letter| letter.is_alphanumeric() || *letter == '_') {
            end += character.len_utf8();
        }
        let name = self.file.text.get(start..end).unwrap_or_default();
        let problem = Diagnostic::error(
            codes::MOV_PARSE_CHARACTER,
            self.span(start, end),
            format!("`{name}` needs backticks: a bare name has only the letters A to Z, digits and `_`"),
        )
        .fix(format!("write `` `{name}` ``"), self.span(start, end), format!("`{name}`"));
        self.report(problem);
        self.step_to(end, Last::Value);
    }

    fn unknown(&mut self, width: usize) {
        let start = self.at;
        let end = start + width;
        let character = self.character(start).unwrap_or(' ');
        let mut problem = Diagnostic::error(
            codes::MOV_PARSE_CHARACTER,
            self.span(start, end),
            format!("`{character}` has no meaning here"),
        );
        if character == '&' {
            problem = problem.help("both of two conditions: `AND`");
        } else if character == '\'' {
            problem = problem.help("a text stands between double quotes: `\"…\"`");
        }
        self.report(problem);
        self.damage(start, end);
        self.step_to(end, Last::Value);
    }

    /// The same slip again on the same line joins the first report.
    pub(super) fn report_merged(
        &mut self,
        code: crate::diag::Code,
        headline: String,
        says: &str,
        span: crate::source::Span,
        text: String,
    ) {
        let line_start = self.span(self.line_start, self.line_start).start;
        if let Some(before) = self.problems.iter_mut().rev().find(|problem| problem.primary.span.start >= line_start)
            && before.code == code
            && before.headline == headline
            && let Some(fix) = before.fix.as_mut()
        {
            before.secondary.push(crate::diag::Label { span, text: "here too".to_owned() });
            fix.edits.push((span, text));
            return;
        }
        let mut problem = Diagnostic::error(code, span, headline);
        problem.fix = Some(Fix { says: says.to_owned(), edits: vec![(span, text)] });
        self.report(problem);
    }
}
