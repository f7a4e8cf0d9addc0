//! Text literals: what stands outside their holes is never touched.

use super::{
    Layout,
    doc::{self, Doc},
};
use crate::{source::Span, syntax::ast::TextPart};

impl Layout<'_> {
    /// `"…${…}…"` with each hole on one line, or as it was written.
    pub(super) fn text_literal(&mut self, span: Span, parts: &[TextPart]) -> Doc {
        let before = self.next;
        let holds_comments = self.pending(span.end).is_some();
        let laid_out = if holds_comments { None } else { self.holes(span, parts) };
        let text = laid_out.unwrap_or_else(|| {
            self.next = before;
            self.skip(span.end);
            self.file.slice(span).to_owned()
        });
        Doc::Text(text)
    }

    fn holes(&mut self, span: Span, parts: &[TextPart]) -> Option<String> {
        let whole = self.file.slice(span).to_owned();
        let mut out = String::new();
        let mut at = 0;
        for part in parts {
            let TextPart::Expr(expr) = part else { continue };
            let open = hole(&whole, at)?;
            out.push_str(whole.get(at..open + 2)?);
            let laid_out = self.expr(expr);
            out.push_str(&doc::flat(&laid_out)?);
            let end = (expr.span.end - span.start) as usize;
            let rest = whole.get(end..)?;
            // Parentheses around the whole hole fall away.
            let tail = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ')');
            at = end + (rest.len() - tail.len());
            if !tail.starts_with('}') {
                return None;
            }
        }
        out.push_str(whole.get(at..)?);
        Some(out)
    }
}

/// Where the next hole of a text opens.
fn hole(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'$' if bytes.get(at + 1) == Some(&b'{') => return Some(at),
            _ => at += 1,
        }
    }
    None
}
