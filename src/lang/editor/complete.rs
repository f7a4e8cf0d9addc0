//! What could stand at a place. The text is read as if a name stood there, and the check is asked what it would have
//! taken: so what is offered is what is accepted, and nothing of the language is said twice.

use super::keywords;
use crate::{
    check::{Catalog, Program, offers::Offer, study::Study},
    source::{SourceId, SourceMap, Span},
    syntax::{
        self, ast,
        tokens::{Token, TokenKind, tokens},
    },
};

/// The name that is put where the cursor is. No program has it by chance.
const PLACEHOLDER: &str = "_what_stands_here_";
/// What may have to stand around it so that the place can be read, the likeliest first.
const FRAMES: [(&str, &str); 13] = [
    ("", ""),
    ("", ": 0"),
    ("", "()"),
    ("", " = 0"),
    ("", "]->"),
    ("", "]-> {}"),
    ("", "]-> fire x"),
    ("", "-[:x]-> fire x"),
    ("", ": 0 }"),
    ("", ">) {}"),
    ("", ">"),
    ("", ")"),
    ("#", ""),
];
/// The most that is offered at once.
const MOST: usize = 2000;

/// What is offered at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What it takes the place of: the word around the cursor.
    pub replaces: Span,
    pub items: Vec<Suggested>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suggested {
    Offer(Offer),
    Keyword(&'static str),
}

/// What could stand at an offset of a file. The text and the tree of that file are changed for the question, and are
/// afterwards what they were.
#[must_use]
pub fn complete(
    map: &mut SourceMap,
    files: &mut [ast::File],
    roots: &[SourceId],
    catalog: &Catalog,
    study: &Study,
    source: SourceId,
    offset: u32,
) -> Option<Completion> {
    let text = map.get(source)?.text.clone();
    let place = files.iter().position(|file| file.source == source)?;
    let found = tokens(&text);
    let at = found.iter().position(|token| token.start < offset && offset <= token.end);
    let around = at.and_then(|at| found.get(at));
    let (replaces, inside_text) = match around.map(|token| (token, token.kind)) {
        Some((_, TokenKind::Comment | TokenKind::DocComment | TokenKind::Escape)) => return None,
        Some((token, TokenKind::Text)) => {
            let written = text.get(token.start as usize..token.end as usize)?;
            let closed = written.len() > 1 && written.ends_with('"');
            if offset == token.end && closed {
                return None;
            }
            // The whole text is the answer; one that goes on over a hole is no choice.
            let end = if closed { token.end - 1 } else { token.end };
            (Span::new(source, token.start + 1, end), Some(closed))
        }
        Some((token, kind)) if is_word(kind) => (Span::new(source, token.start, token.end), None),
        Some(_) | None => (Span::new(source, offset, offset), None),
    };
    let before = Before::new(&text, &found, replaces.start);
    let mut ask = Ask { map, files, roots, catalog, study, source, place, text: text.clone() };
    if let Some(closed) = inside_text {
        let quote = Span::new(source, replaces.start - 1, replaces.start - 1);
        let head = text.get(..replaces.start as usize)?;
        let rest = text.get(replaces.end as usize + usize::from(closed)..)?;
        let tail = if closed { rest.to_owned() } else { rest.trim_start_matches(|letter| letter != '\n').to_owned() };
        let offers = ask.about(&format!("{head}\"{tail}"), quote).unwrap_or_default();
        let members = offers.into_iter().filter(|offer| offer.sort == crate::check::offers::Offered::Choice);
        return Some(Completion { replaces, items: members.map(Suggested::Offer).collect() });
    }
    let after_value = before.last().is_some_and(BeforeToken::is_value) && !before.first_on_line();
    let offers = if after_value { None } else { ask.offers(&text, replaces) };
    let values = offers
        .as_ref()
        .is_some_and(|offers| offers.iter().any(|offer| offer.sort == crate::check::offers::Offered::Builtin));
    let mut items: Vec<_> = offers.into_iter().flatten().map(Suggested::Offer).take(MOST).collect();
    items.extend(keywords::keywords(&before, values).into_iter().map(Suggested::Keyword));
    Some(Completion { replaces, items })
}

fn is_word(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Name
        | TokenKind::QuotedName
        | TokenKind::Keyword
        | TokenKind::OperatorWord
        | TokenKind::Constant
        | TokenKind::Module => true,
        TokenKind::Comment
        | TokenKind::DocComment
        | TokenKind::Text
        | TokenKind::Escape
        | TokenKind::Hole
        | TokenKind::Number
        | TokenKind::Duration
        | TokenKind::Operator
        | TokenKind::Mark
        | TokenKind::Unknown => false,
    }
}

/// The program with one text changed for a question.
struct Ask<'a> {
    map: &'a mut SourceMap,
    files: &'a mut [ast::File],
    roots: &'a [SourceId],
    catalog: &'a Catalog,
    study: &'a Study,
    source: SourceId,
    place: usize,
    /// What the text is otherwise.
    text: std::sync::Arc<str>,
}

impl Ask<'_> {
    /// What the check would take in place of a span.
    fn offers(&mut self, text: &str, replaces: Span) -> Option<Vec<Offer>> {
        let head = text.get(..replaces.start as usize)?;
        let tail = text.get(replaces.end as usize..)?;
        FRAMES.iter().find_map(|(open, close)| {
            let whole = format!("{head}{open}{PLACEHOLDER}{close}{tail}");
            let at = replaces.start + u32::try_from(open.len()).unwrap_or(0);
            self.about(&whole, Span::new(self.source, at, at))
        })
    }

    fn about(&mut self, text: &str, at: Span) -> Option<Vec<Offer>> {
        self.map.replace(self.source, text);
        let parsed = syntax::parse(self.map.get(self.source)?).file;
        let tree = std::mem::replace(self.files.get_mut(self.place)?, parsed);
        let program = Program { map: self.map, files: self.files, roots: self.roots };
        let found = self.study.offers(&program, self.catalog, at);
        *self.files.get_mut(self.place)? = tree;
        self.map.replace(self.source, self.text.clone());
        found
    }
}

/// The tokens before a place.
pub(super) struct Before<'t> {
    text: &'t str,
    tokens: Vec<BeforeToken<'t>>,
    place: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BeforeToken<'t> {
    pub(super) text: &'t str,
    pub(super) kind: TokenKind,
    end: u32,
}

impl BeforeToken<'_> {
    fn is_value(&self) -> bool {
        match self.kind {
            TokenKind::Name
            | TokenKind::QuotedName
            | TokenKind::Module
            | TokenKind::Number
            | TokenKind::Duration
            | TokenKind::Constant => true,
            TokenKind::Text => self.text.ends_with('"'),
            TokenKind::Mark => matches!(self.text, ")" | "]"),
            TokenKind::Comment
            | TokenKind::DocComment
            | TokenKind::Keyword
            | TokenKind::OperatorWord
            | TokenKind::Escape
            | TokenKind::Hole
            | TokenKind::Operator
            | TokenKind::Unknown => false,
        }
    }

    /// A line that ends in it goes on.
    pub(super) fn goes_on(&self) -> bool {
        match self.kind {
            TokenKind::Operator => !matches!(self.text, "]->" | "->" | ">"),
            TokenKind::OperatorWord => !matches!(self.text, "END" | "SKIP"),
            TokenKind::Comment
            | TokenKind::DocComment
            | TokenKind::Keyword
            | TokenKind::Constant
            | TokenKind::Name
            | TokenKind::QuotedName
            | TokenKind::Module
            | TokenKind::Text
            | TokenKind::Escape
            | TokenKind::Hole
            | TokenKind::Number
            | TokenKind::Duration
            | TokenKind::Mark
            | TokenKind::Unknown => false,
        }
    }
}

impl<'t> Before<'t> {
    fn new(text: &'t str, found: &[Token], place: u32) -> Self {
        let before = found.iter().take_while(|token| token.end <= place);
        let before = before.filter(|token| !matches!(token.kind, TokenKind::Comment | TokenKind::DocComment));
        let tokens = before.map(|token| BeforeToken {
            text: text.get(token.start as usize..token.end as usize).unwrap_or_default(),
            kind: token.kind,
            end: token.end,
        });
        Self { text, tokens: tokens.collect(), place }
    }

    pub(super) fn last(&self) -> Option<&BeforeToken<'t>> {
        self.tokens.last()
    }

    /// Nothing but blanks stands before it on its line.
    pub(super) fn first_on_line(&self) -> bool {
        let end = self.last().map_or(0, |last| last.end);
        self.text.get(end as usize..self.place as usize).is_some_and(|gap| gap.contains('\n'))
    }

    /// The innermost bracket that is open, and the place of its token.
    fn open(&self) -> Option<(usize, &'t str)> {
        if self.text.get(..self.place as usize).is_some_and(|head| head.ends_with('\n')) {
            // A line that begins without indentation is a declaration's, whatever was left open above it.
            return None;
        }
        let mut closed = 0_u32;
        for (place, token) in self.tokens.iter().enumerate().rev() {
            match token.text {
                ")" | "]" | "}" | "]->" if token.kind != TokenKind::Text => closed += 1,
                "(" | "[" | "{" | "-[" | "${" if token.kind != TokenKind::Text => {
                    if closed == 0 {
                        return Some((place, token.text));
                    }
                    closed -= 1;
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn opener(&self) -> Option<&'t str> {
        self.open().map(|(_, opener)| opener)
    }

    /// The open brace holds the entries of a write.
    pub(super) fn in_entries(&self) -> bool {
        let Some((place, "{")) = self.open() else { return false };
        let head = self.tokens.get(..place).unwrap_or_default();
        let mut depth = 0_u32;
        for token in head.iter().rev() {
            match token.text {
                "]->" | ")" => depth += 1,
                "-[" | "(" => depth = depth.saturating_sub(1),
                "write" if token.kind == TokenKind::Keyword => return true,
                "{" | "}" if depth == 0 => return false,
                _ => {}
            }
        }
        false
    }

    /// The open brace holds the lines of a test.
    pub(super) fn in_test(&self) -> bool {
        let Some((place, "{")) = self.open() else { return false };
        let head = self.tokens.get(..place).unwrap_or_default();
        let texts = head.iter().rev().take_while(|token| token.kind == TokenKind::Text || token.text == "at").count();
        head.iter().rev().nth(texts).is_some_and(|token| token.text == "test" && token.kind == TokenKind::Keyword)
    }

    /// The tokens since the declaration or the open bracket began.
    fn since(&self) -> &[BeforeToken<'t>] {
        let from = self.open().map_or(0, |(place, _)| place + 1);
        self.tokens.get(from..).unwrap_or_default()
    }

    /// The first word of the line that the place stands on, if no bracket is open.
    pub(super) fn head(&self) -> Option<&'t str> {
        let line = self.text.get(..self.place as usize)?.rfind('\n').map_or(0, |newline| newline + 1);
        let starts = |token: &&BeforeToken<'t>| token.end as usize - token.text.len() >= line;
        self.tokens.iter().find(starts).map(|token| token.text)
    }

    /// How many tokens stand on the line already.
    pub(super) fn words(&self) -> usize {
        let line =
            self.text.get(..self.place as usize).and_then(|head| head.rfind('\n')).map_or(0, |newline| newline + 1);
        self.tokens.iter().filter(|token| token.end as usize - token.text.len() >= line).count()
    }

    /// Whether the token before the last one is this word.
    pub(super) fn behind(&self, word: &str) -> bool {
        self.tokens.iter().rev().nth(1).is_some_and(|token| token.text == word)
    }

    /// The clause of the hop that is being written.
    pub(super) fn clause(&self) -> Option<&'t str> {
        let clauses = self.since().iter().rev();
        clauses.map(|token| token.text).find(|text| matches!(*text, "WHERE" | "ORDER" | "LIMIT"))
    }

    /// The part of an `IF … END` that is being written.
    pub(super) fn conditional(&self) -> Option<&'t str> {
        let mut ended = 0_u32;
        for token in self.since().iter().rev().filter(|token| token.kind == TokenKind::OperatorWord) {
            match token.text {
                "END" => ended += 1,
                "IF" if ended > 0 => ended -= 1,
                "IF" | "THEN" if ended == 0 => return Some(token.text),
                "ELSE" if ended == 0 => return Some("ELSE"),
                _ => {}
            }
        }
        None
    }
}
