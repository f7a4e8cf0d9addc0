//! The tokens of a text for whoever colours it or asks what stands before a place: total, linear, never wrong about
//! what the scan reads, never a judge of it. The tree is not made of these.

use super::scan::MOST_NESTED;

/// One token; what lies between two is blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub start: u32,
    pub end: u32,
    pub kind: TokenKind,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenKind {
    Comment,
    /// `///`
    DocComment,
    /// A lower-case word of the language.
    Keyword,
    /// An upper-case word of the language.
    OperatorWord,
    /// `true`, `false`, `null`
    Constant,
    Name,
    /// A name between backticks.
    QuotedName,
    /// `#name`
    Module,
    /// A piece of a text, its quotes included.
    Text,
    Escape,
    /// `${` and its `}`.
    Hole,
    Number,
    Duration,
    Operator,
    /// Brackets, commas and semicolons.
    Mark,
    /// What the language does not know.
    Unknown,
}

impl TokenKind {
    pub const ALL: [Self; 16] = [
        Self::Comment,
        Self::DocComment,
        Self::Keyword,
        Self::OperatorWord,
        Self::Constant,
        Self::Name,
        Self::QuotedName,
        Self::Module,
        Self::Text,
        Self::Escape,
        Self::Hole,
        Self::Number,
        Self::Duration,
        Self::Operator,
        Self::Mark,
        Self::Unknown,
    ];
}

/// The lower-case words of the language.
pub const KEYWORDS: [&str; 27] = [
    "connect", "using", "import", "export", "from", "as", "function", "type", "listen", "to", "fire", "write",
    "unique", "by", "link", "unlink", "delete", "if", "else", "return", "await", "test", "given", "answer", "expect",
    "fails", "after",
];

/// The upper-case words of the language.
pub const OPERATOR_WORDS: [&str; 21] = [
    "AND", "OR", "NOT", "IN", "CONTAINS", "IS", "AS", "EXISTS", "WHERE", "ORDER", "BY", "ASC", "DESC", "LIMIT", "IF",
    "THEN", "ELSE", "END", "WITHIN", "SKIP", "CLEAR",
];

/// Signs of more than one letter, the longest first.
const SIGNS: [&str; 11] = ["...", "]->", "-[", "=>", "==", "!=", "<=", ">=", "?:", "+:", "->"];

/// The tokens of a text, in order.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader { text, at: 0, found: Vec::new(), open: Vec::new() };
    while reader.at < text.len() {
        reader.next();
    }
    reader.found
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    found: Vec<Token>,
    /// The brackets inside the holes that are open; a hole ends when its count is met by `}`.
    open: Vec<usize>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, length: usize, kind: TokenKind) {
        let short = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let end = (self.at + length).min(self.text.len());
        if end > self.at {
            self.found.push(Token { start: short(self.at), end: short(end), kind });
        }
        self.at = end;
    }

    fn next(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        if first.is_whitespace() || first == '\u{feff}' {
            self.at += first.len_utf8();
        } else if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            let doc = rest.starts_with("///") && !rest.starts_with("////");
            self.push(length, if doc { TokenKind::DocComment } else { TokenKind::Comment });
        } else if first == '"' {
            self.text(true);
        } else if first == '}' && self.open.last() == Some(&0) {
            self.open.pop();
            self.push(1, TokenKind::Hole);
            self.text(false);
        } else if first == '`' {
            let line = rest.get(1..).unwrap_or_default();
            let quoted = line
                .find(['`', '\n'])
                .map_or(line.len(), |end| end + usize::from(line.get(end..).is_some_and(|rest| rest.starts_with('`'))));
            self.push(1 + quoted, TokenKind::QuotedName);
        } else if first == '#' {
            let length = word(rest.get(1..).unwrap_or_default());
            self.push(1 + length, if length > 0 { TokenKind::Module } else { TokenKind::Unknown });
        } else if first.is_ascii_digit() {
            self.number();
        } else if first.is_alphabetic() || first == '_' {
            self.word();
        } else {
            self.sign(first);
        }
    }

    /// A text up to its end or to the next hole. `opened`: its quote is to come.
    fn text(&mut self, opened: bool) {
        let mut length = usize::from(opened);
        loop {
            let rest = self.rest().get(length..).unwrap_or_default();
            let Some(letter) = rest.chars().next() else { return self.push(length, TokenKind::Text) };
            match letter {
                '"' => return self.push(length + 1, TokenKind::Text),
                '\\' => {
                    self.push(length, TokenKind::Text);
                    let rest = self.rest();
                    let escape = if rest.starts_with("\\u{") {
                        rest.find('}').filter(|end| *end <= 9).map_or(2, |end| end + 1)
                    } else {
                        1 + rest.chars().nth(1).map_or(0, char::len_utf8)
                    };
                    self.push(escape, TokenKind::Escape);
                    length = 0;
                }
                '$' if rest.starts_with("${") && self.open.len() < MOST_NESTED => {
                    self.push(length, TokenKind::Text);
                    self.push(2, TokenKind::Hole);
                    self.open.push(0);
                    return;
                }
                other => length += other.len_utf8(),
            }
        }
    }

    fn number(&mut self) {
        let rest = self.rest();
        let mut end = 0;
        for (at, letter) in rest.char_indices() {
            let sign = matches!(letter, '+' | '-')
                && rest.get(..at).is_some_and(|before| before.ends_with(['e', 'E']))
                && rest.get(at + 1..).is_some_and(|after| after.starts_with(|next: char| next.is_ascii_digit()));
            let point = letter == '.'
                && rest.get(at + 1..).is_some_and(|after| after.starts_with(|next: char| next.is_ascii_digit()));
            if !(letter.is_ascii_alphanumeric() || letter == '_' || sign || point) {
                break;
            }
            end = at + letter.len_utf8();
        }
        let written = rest.get(..end).unwrap_or_default();
        let unit = written.ends_with(['s', 'm', 'h', 'd', 'w']);
        self.push(end.max(1), if unit { TokenKind::Duration } else { TokenKind::Number });
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(rest.len());
        let written = rest.get(..length).unwrap_or_default();
        let kind = if matches!(written, "true" | "false" | "null") {
            TokenKind::Constant
        } else if OPERATOR_WORDS.contains(&written) {
            TokenKind::OperatorWord
        } else if KEYWORDS.contains(&written) {
            TokenKind::Keyword
        } else {
            TokenKind::Name
        };
        let kind = if kind != TokenKind::Name && self.names(rest.get(length..).unwrap_or_default()) {
            TokenKind::Name
        } else {
            kind
        };
        self.push(length, kind);
    }

    /// A word of the language directly before `=`, `.` or `:`, or behind a dot or a hop's colon, is a name.
    fn names(&self, after: &str) -> bool {
        let after = after.trim_start_matches([' ', '\t']);
        let before = self.found.last().filter(|last| last.end as usize == self.at);
        let before = before.and_then(|last| self.text.get(last.start as usize..last.end as usize));
        let assigned = after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>");
        let walked = after.starts_with('.') && !after.starts_with("..");
        let keyed = after.starts_with(':') || after.starts_with("?:") || after.starts_with("+:");
        assigned || walked || keyed || before == Some(".") || before == Some(":")
    }

    fn sign(&mut self, first: char) {
        let rest = self.rest();
        // `-[` opens a hop only before `:` or a name and `:`.
        let hop = rest.strip_prefix("-[").is_some_and(|inside| {
            let inside = inside.trim_start();
            inside.get(word(inside)..).unwrap_or_default().trim_start().starts_with(':')
        });
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign) && (**sign != "-[" || hop)) {
            return self.push(sign.len(), TokenKind::Operator);
        }
        match first {
            '{' => self.nest(1),
            '}' => self.nest(-1),
            _ => {}
        }
        let kind = match first {
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' => TokenKind::Mark,
            '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '.' | ':' | '|' | '?' | '!' | '&' => TokenKind::Operator,
            _ => TokenKind::Unknown,
        };
        self.push(first.len_utf8(), kind);
    }

    fn nest(&mut self, by: isize) {
        if let Some(count) = self.open.last_mut() {
            *count = count.saturating_add_signed(by);
        }
    }
}

/// How long the plain word is that a text begins with.
fn word(text: &str) -> usize {
    text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, tokens};

    fn written(text: &str) -> Vec<(&str, TokenKind)> {
        let piece = |start: u32, end: u32| text.get(start as usize..end as usize).unwrap();
        tokens(text).into_iter().map(|token| (piece(token.start, token.end), token.kind)).collect()
    }

    #[test]
    fn texts_have_pieces_escapes_and_holes() {
        use TokenKind::{Escape, Hole, Mark, Name, Number, Operator, Text};
        assert_eq!(
            written(r#""a\n${f({b: 1})}c""#),
            [
                ("\"a", Text),
                ("\\n", Escape),
                ("${", Hole),
                ("f", Name),
                ("(", Mark),
                ("{", Mark),
                ("b", Name),
                (":", Operator),
                ("1", Number),
                ("}", Mark),
                (")", Mark),
                ("}", Hole),
                ("c\"", Text),
            ]
        );
    }

    #[test]
    fn words_are_names_where_they_name() {
        use TokenKind::{Keyword, Name};
        let words = |text| written(text).into_iter().find(|(word, _)| *word == "write").unwrap().1;
        assert_eq!(words("write x"), Keyword);
        assert_eq!(words("write = 1"), Name);
        assert_eq!(words("x.write"), Name);
        assert_eq!(words("crm-[:write]->"), Name);
    }

    #[test]
    fn hops_numbers_and_durations_are_told_apart() {
        use TokenKind::{Duration, Mark, Number, Operator};
        assert_eq!(written("a-[:B]->")[1], ("-[", Operator));
        assert_eq!(written("1-[2]")[1], ("-", Operator));
        assert_eq!(written("1-[2]")[2], ("[", Mark));
        assert_eq!(written("1e-3 1_000.5 1h30m"), [("1e-3", Number), ("1_000.5", Number), ("1h30m", Duration)]);
    }
}
