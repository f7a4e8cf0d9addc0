//! Where comments go: each before what it precedes, or at the end of the line that it trails, in their order.

use super::{Layout, doc::Doc};

impl Layout<'_> {
    /// The comments before a place, wherever in an expression it is. A newline stood after each of them, so one may
    /// stand there again.
    pub(super) fn before(&mut self, place: u32) -> Doc {
        let mut parts = Vec::new();
        while let Some((text, own)) = self.take(place) {
            if own {
                parts.extend([Doc::Fresh, Doc::Text(text), Doc::Fresh]);
            } else {
                parts.extend([Doc::Trailing(text), Doc::Fresh]);
            }
        }
        Doc::Many(parts)
    }

    /// The comments before a place that trail what stands before them. One line has one comment.
    pub(super) fn trailing(&mut self, place: u32) -> Vec<Doc> {
        let mut parts = Vec::new();
        while self.pending(place).is_some_and(|own| !own)
            && let Some((text, _)) = self.take(place)
        {
            if parts.is_empty() {
                parts.push(Doc::Trailing(text));
            } else {
                parts.extend([Doc::Fresh, Doc::Text(text)]);
            }
        }
        parts
    }

    /// The comments before a place, each on its own line, and whether an empty line stands before each.
    pub(super) fn own(&mut self, place: u32) -> Vec<(bool, String)> {
        let mut lines = Vec::new();
        while let Some(comment) = self.comments.get(self.next).copied() {
            let blank = self.blank_before(comment.start);
            let Some((text, _)) = self.take(place) else { break };
            lines.push((blank, text));
        }
        lines
    }

    /// Whether there is a comment before a place; if so, whether it has its line to itself.
    pub(super) fn pending(&self, place: u32) -> Option<bool> {
        let comment = self.comments.get(self.next).filter(|comment| comment.start < place)?;
        let line = self.text_before(comment.start).rsplit('\n').next().unwrap_or_default();
        Some(line.trim_start_matches('\u{feff}').trim().is_empty())
    }

    fn take(&mut self, place: u32) -> Option<(String, bool)> {
        let own = self.pending(place)?;
        let comment = self.comments.get(self.next)?;
        self.next += 1;
        Some((self.file.slice(*comment).trim_end().to_owned(), own))
    }

    /// Comments that stand inside a text literal, and stay there.
    pub(super) fn skip(&mut self, place: u32) {
        while self.comments.get(self.next).is_some_and(|comment| comment.start < place) {
            self.next += 1;
        }
    }

    /// Whether an empty line stands directly before a place.
    pub(super) fn blank_before(&self, place: u32) -> bool {
        self.newlines_before(place) > 1
    }

    /// Whether a line begins at a place.
    pub(super) fn begins_line(&self, place: u32) -> bool {
        self.newlines_before(place) > 0
    }

    fn newlines_before(&self, place: u32) -> usize {
        let before = self.text_before(place);
        let blanks = before.get(before.trim_end().len()..).unwrap_or_default();
        blanks.bytes().filter(|byte| *byte == b'\n').count()
    }

    pub(super) fn text_before(&self, place: u32) -> &str {
        self.file.text.get(..place as usize).unwrap_or_default()
    }

    pub(super) fn text_after(&self, place: u32) -> &str {
        self.file.text.get(place as usize..).unwrap_or_default()
    }
}
