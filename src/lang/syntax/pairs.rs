//! The grammar, and a cursor over what it gives. Places in a piece become places in the file here and nowhere else.

use std::sync::Once;

use pest::{
    Parser as _,
    iterators::{Pair, Pairs},
};
use smol_str::SmolStr;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

use super::ast::Name;
use crate::{
    diag::Diagnostic,
    source::{SourceFile, Span},
};

/// What pest makes of `grammar/movement.pest`.
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../../grammar/movement.pest"]
    pub(in crate::syntax) struct Movement;
}

pub(super) use grammar::Rule;

pub(super) type Node<'i> = Pair<'i, Rule>;

/// The calls that one parse may make, process-wide: about 1.7 MB in one declaration.
const FUSE: usize = 20_000_000;

pub(super) fn set_fuse() {
    static SET: Once = Once::new();
    SET.call_once(|| pest::set_call_limit(std::num::NonZeroUsize::new(FUSE)));
}

/// Reads `text` as `rule`.
pub(super) fn parse(rule: Rule, text: &str) -> Result<Pairs<'_, Rule>, Box<pest::error::Error<Rule>>> {
    grammar::Movement::parse(rule, text).map_err(Box::new)
}

/// The children of a pair, one after another.
pub(super) struct Children<'i>(Pairs<'i, Rule>);

impl<'i> Children<'i> {
    pub(super) fn of(node: Node<'i>) -> Self {
        Self(node.into_inner())
    }

    /// The next child, if it is of this rule.
    pub(super) fn take(&mut self, rule: Rule) -> Option<Node<'i>> {
        if self.0.peek()?.as_rule() == rule { self.0.next() } else { None }
    }

    /// The next child, whatever it is.
    pub(super) fn any(&mut self) -> Option<Node<'i>> {
        self.0.next()
    }

    /// The next child of this rule, past others.
    pub(super) fn find(&mut self, rule: Rule) -> Option<Node<'i>> {
        self.0.find(|node| node.as_rule() == rule)
    }
}

/// Builds the tree of one piece.
pub(super) struct Reader<'f> {
    pub(super) file: &'f SourceFile,
    /// The piece as pest reads it.
    pub(super) text: &'f str,
    /// Where the piece begins and ends in the file.
    pub(super) base: usize,
    pub(super) end: usize,
    pub(super) problems: Vec<Diagnostic>,
    /// The highest tree built so far in the closure that is being read.
    pub(super) highest: u32,
}

impl Reader<'_> {
    /// The place of a pair, without the blanks that pest leaves at its end.
    pub(super) fn span(&self, node: &Node<'_>) -> Span {
        let start = node.as_span().start();
        self.place(start, start + node.as_str().trim_end_matches([' ', '\t', '\n']).len())
    }

    /// A place in the piece as a place in the file.
    pub(super) fn place(&self, start: usize, end: usize) -> Span {
        let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        // Where a sign was mended it may be shorter than what it stands for.
        let start = self.file.text.floor_char_boundary((self.base + start).min(self.end));
        let end = self.file.text.ceil_char_boundary((self.base + end).min(self.end));
        Span::new(self.file.id, short(start), short(end))
    }

    pub(super) fn source(&self, span: Span) -> &str {
        self.file.slice(span)
    }

    pub(super) fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// A name as it compares: without backticks, composed.
    pub(super) fn name(&self, node: &Node<'_>) -> Name {
        let written = node.as_str().trim_end_matches([' ', '\t', '\n']);
        let bare = written.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(written);
        let text = if is_nfc(bare) { SmolStr::new(bare) } else { bare.nfc().collect() };
        Name { text, span: self.span(node) }
    }
}
