//! Places: bytes of a text to lines and columns as the editor counts them, and back.

use lf_lang::source::Span;
use serde::{Deserialize, Serialize};

/// How the editor counts columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
        }
    }

    fn width(self, letter: char) -> usize {
        match self {
            Self::Utf8 => letter.len_utf8(),
            Self::Utf16 => letter.len_utf16(),
        }
    }
}

/// Both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) character: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Range {
    pub(super) start: Position,
    pub(super) end: Position,
}

/// A text, ready to be asked about places.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, encoding: Encoding) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(newlines).collect(), encoding }
    }

    /// The place of a byte; one past the end is the end.
    pub(super) fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        let column: usize = before.chars().map(|letter| self.encoding.width(letter)).sum();
        let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position { line: short(line), character: short(column) }
    }

    pub(super) fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start as usize), end: self.position(span.end as usize) }
    }

    /// The byte of a place. A column past its line is the line's end, a line past the last is the end.
    pub(super) fn offset(&self, position: Position) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else { return self.text.len() };
        let end = self.starts.get(position.line as usize + 1).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..end).unwrap_or_default();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mut column = 0;
        for (at, letter) in line.char_indices() {
            // In the middle of a letter is its start.
            if column + self.encoding.width(letter) > position.character as usize {
                return start + at;
            }
            column += self.encoding.width(letter);
        }
        start + line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Lines, Position};

    #[test]
    fn columns_are_counted_as_agreed() {
        let text = "a\u{e9}\u{1f600}b\r\nc";
        for (encoding, column) in [(Encoding::Utf8, 7), (Encoding::Utf16, 4)] {
            let lines = Lines::new(text, encoding);
            let b = text.find('b').unwrap();
            assert_eq!(lines.position(b), Position { line: 0, character: column });
            assert_eq!(lines.offset(Position { line: 0, character: column }), b);
        }
    }

    #[test]
    fn places_outside_are_the_nearest_inside() {
        let text = "ab\r\n\u{1f600}";
        let lines = Lines::new(text, Encoding::Utf16);
        assert_eq!(lines.offset(Position { line: 0, character: 99 }), 2);
        assert_eq!(lines.offset(Position { line: 9, character: 0 }), text.len());
        assert_eq!(lines.offset(Position { line: 1, character: 1 }), 4);
        assert_eq!(lines.position(999), Position { line: 1, character: 2 });
        for offset in 0..=text.len() {
            let back = lines.offset(lines.position(offset));
            assert!(back <= offset, "{offset} became {back}");
        }
    }
}
