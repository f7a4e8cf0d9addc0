//! The linear look at a text before the grammar sees it: brackets, texts, comments, which newlines end something,
//! where each declaration begins, and how deep things nest.
//!
//! It gives the grammar a copy of the same length in which brackets balance, so that every place in it is the same
//! place in the text. It knows nothing of declarations or expressions beyond what decides a newline. Every loop here
//! moves forward; what is read again is bounded (`MOST_REWINDS`).
//!
//! A file whose brackets and texts balance is read exactly once and never guessed at. Only when something is left
//! open is it read a second time, carefully: then indentation and lines that look like declarations tell which bracket
//! or quote is the one that is alone.

mod brackets;
mod gaps;
mod signs;
mod texts;
mod words;

use crate::{
    diag::{Diagnostic, codes},
    source::{SourceFile, Span},
};

/// Stands in the copy where a text or a bracket was never closed; the grammar reads it as "already reported".
pub(super) const DAMAGE: char = '\u{1}';

/// How deep brackets, texts in holes and `IF`s may nest.
pub(super) const MOST_NESTED: usize = 128;

/// How often a text that swallowed too much is read again, line by line.
const MOST_REWINDS: usize = 64;

/// One declaration's place in the copy.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
    /// What the copy lacks at its end so that its braces balance.
    pub(super) closers: String,
    /// Nests too deep to be read; reported.
    pub(super) too_deep: bool,
}

/// What the look found.
#[derive(Debug)]
pub(super) struct Scan {
    /// As long as the text; comments and joined newlines are spaces.
    pub(super) copy: String,
    pub(super) comments: Vec<Span>,
    pub(super) pieces: Vec<Piece>,
    pub(super) problems: Vec<Diagnostic>,
}

/// Looks at the whole text.
pub(super) fn scan(file: &SourceFile) -> Scan {
    let mut exact = Scanner::new(file, false);
    exact.run();
    if exact.unbalanced {
        let mut careful = Scanner::new(file, true);
        careful.run();
        careful.finish()
    } else {
        exact.finish()
    }
}

/// What is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Paren,
    /// `[`, and `-[` of a hop.
    Square,
    Brace,
    /// `<` of a type; closes by itself at the end of a line.
    Angle,
    /// `IF` up to `END`.
    If,
    Text,
    /// `${` in a text.
    Hole,
}

/// An open bracket or text, and what to go back to if it swallows too much.
#[derive(Debug, Clone, Copy)]
struct Frame {
    open: Open,
    at: usize,
    /// Bytes of its opening sign.
    width: usize,
    line: u32,
    /// The indentation of the line it stands on.
    indent: usize,
    problems: usize,
    comments: usize,
    line_start: usize,
    too_deep: bool,
    /// The place of the typographic quote that opened it, mended already.
    curly: Option<(usize, usize)>,
}

/// What stood last on the line, as far as it decides a newline or the next sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    /// A value, a closing bracket, a word that is no operator.
    Value,
    /// An operator: the line goes on.
    Operator,
    /// `:`, `=`, `IS`, `AS`: an operator after which `<` opens a type.
    TypeNext,
    Dot,
    Opener,
    Comma,
    /// `-[` or its alias: the next `:` names an edge.
    HopHead,
    /// `:` of a hop's head.
    Edge,
    /// `connect`, after which `#` is no comment.
    Connect,
    /// `ELSE`, after which `IF` goes on.
    Else,
}

struct Scanner<'t> {
    file: &'t SourceFile,
    text: &'t [u8],
    copy: Vec<u8>,
    careful: bool,
    /// Something is left open or closes nothing.
    unbalanced: bool,
    at: usize,
    line: u32,
    line_start: usize,
    indent: usize,
    /// The newline in front of this line that still ends something.
    newline: Option<usize>,
    last: Last,
    stack: Vec<Frame>,
    piece: Option<usize>,
    piece_end: usize,
    too_deep: bool,
    rewinds: usize,
    comments: Vec<Span>,
    pieces: Vec<Piece>,
    problems: Vec<Diagnostic>,
}

impl<'t> Scanner<'t> {
    fn new(file: &'t SourceFile, careful: bool) -> Self {
        let text = file.text.as_bytes();
        let mut scanner = Self {
            file,
            text,
            copy: text.to_vec(),
            careful,
            unbalanced: false,
            at: 0,
            line: 1,
            line_start: 0,
            indent: 0,
            newline: None,
            last: Last::Nothing,
            stack: Vec::new(),
            piece: None,
            piece_end: 0,
            too_deep: false,
            rewinds: 0,
            comments: Vec::new(),
            pieces: Vec::new(),
            problems: Vec::new(),
        };
        if text.starts_with("\u{feff}".as_bytes()) {
            scanner.blank(0, 3);
            scanner.at = 3;
            scanner.line_start = 3;
        }
        scanner
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            if self.unbalanced && !self.careful {
                return;
            }
            match self.top() {
                Some(Open::Text) => self.text_part(),
                Some(Open::Paren | Open::Square | Open::Brace | Open::Angle | Open::If | Open::Hole) | None => {
                    self.gap();
                    if self.at < self.text.len() {
                        self.sign();
                    }
                }
            }
            if self.at >= self.text.len() {
                self.end_of_file();
            }
        }
        self.end_of_file();
        self.end_piece();
    }

    fn finish(self) -> Scan {
        let copy = String::from_utf8(self.copy).unwrap_or_else(|broken| {
            // INVARIANT: only whole characters are replaced, so this is never reached; a broken copy would only make
            // the grammar report more, never less.
            String::from_utf8_lossy(broken.as_bytes()).into_owned()
        });
        Scan { copy, comments: self.comments, pieces: self.pieces, problems: self.problems }
    }

    /// Whatever is still open at the end is reported.
    fn end_of_file(&mut self) {
        while self.stack.iter().any(|frame| frame.open == Open::Text) {
            if !self.careful {
                self.unbalanced = true;
                return;
            }
            self.cut_text();
            if self.at < self.text.len() {
                return;
            }
        }
        self.close_all_as_unclosed();
    }

    // ---- pieces ----

    fn begin_piece(&mut self) {
        if self.piece.is_none() {
            self.piece = Some(self.at);
        }
    }

    fn end_piece(&mut self) {
        if let Some(start) = self.piece.take() {
            let end = self.piece_end.max(start);
            self.pieces.push(Piece { start, end, closers: String::new(), too_deep: self.too_deep });
        }
        self.too_deep = false;
    }

    // ---- the stack ----

    fn top(&self) -> Option<Open> {
        self.stack.last().map(|frame| frame.open)
    }

    fn push(&mut self, open: Open, width: usize) {
        self.begin_piece();
        self.stack.push(Frame {
            open,
            at: self.at,
            width,
            line: self.line,
            indent: self.indent,
            problems: self.problems.len(),
            comments: self.comments.len(),
            line_start: self.line_start,
            too_deep: self.too_deep,
            curly: None,
        });
        if self.stack.len() > MOST_NESTED && !self.too_deep {
            self.too_deep = true;
            self.report(
                Diagnostic::error(
                    codes::MOV_PARSE_TOO_DEEP,
                    self.span(self.at, self.at + width),
                    format!("this nests deeper than {MOST_NESTED} brackets"),
                )
                .help("bind the inner part to a name"),
            );
        }
        self.at += width;
        self.piece_end = self.at;
        self.last = Last::Opener;
    }

    // ---- bytes ----

    fn byte(&self, at: usize) -> u8 {
        self.copy.get(at).copied().unwrap_or(0)
    }

    fn starts(&self, at: usize, with: &str) -> bool {
        self.copy.get(at..).is_some_and(|rest| rest.starts_with(with.as_bytes()))
    }

    /// The character at a place of the original text.
    fn character(&self, at: usize) -> Option<char> {
        self.file.text.get(at..)?.chars().next()
    }

    fn blank(&mut self, start: usize, end: usize) {
        self.fill(start, end, b' ');
    }

    fn fill(&mut self, start: usize, end: usize, byte: u8) {
        if let Some(bytes) = self.copy.get_mut(start..end) {
            bytes.fill(byte);
        }
    }

    fn damage(&mut self, start: usize, end: usize) {
        self.fill(start, end, 1);
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let short = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        // Where a sign was mended it may be shorter than what it stands for.
        let (start, end) = (self.file.text.floor_char_boundary(start), self.file.text.ceil_char_boundary(end));
        Span::new(self.file.id, short(start), short(end))
    }

    fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
