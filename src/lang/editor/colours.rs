//! What each token is, for colouring: the token's own kind, or what the name means where the check knows it.

use std::collections::BTreeMap;

use super::View;
use crate::{
    check::index::{Meaning, Sort},
    source::SourceId,
    syntax::tokens::{TokenKind, tokens},
};

/// The colours; an editor's theme gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    Connection,
    Type,
    Function,
    Variable,
    Parameter,
    Property,
    Keyword,
    Comment,
    Text,
    Number,
    Operator,
}

/// A coloured piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Painted {
    pub start: u32,
    pub end: u32,
    pub colour: Colour,
    pub declares: bool,
    /// It belongs to the language or to a system, not to this program.
    pub given: bool,
}

/// The pieces of a file, in order.
#[must_use]
pub fn colours(view: &View<'_>, source: SourceId) -> Vec<Painted> {
    let Some(file) = view.map.get(source) else { return Vec::new() };
    let meanings: BTreeMap<u32, _> = view.study.mentions(source).map(|mention| (mention.span.start, mention)).collect();
    let painted = tokens(&file.text).into_iter().filter_map(|token| {
        let plain = |colour| Painted { start: token.start, end: token.end, colour, declares: false, given: false };
        let meaning = meanings.get(&token.start).filter(|mention| mention.span.end == token.end);
        if let Some(mention) = meaning
            && let Some((colour, given)) = meant(&mention.means)
        {
            return Some(Painted { declares: mention.declares, given, ..plain(colour) });
        }
        match token.kind {
            TokenKind::Comment | TokenKind::DocComment => Some(plain(Colour::Comment)),
            TokenKind::Keyword | TokenKind::OperatorWord | TokenKind::Constant | TokenKind::Hole => {
                Some(plain(Colour::Keyword))
            }
            TokenKind::Text | TokenKind::Escape => Some(plain(Colour::Text)),
            TokenKind::Number | TokenKind::Duration => Some(plain(Colour::Number)),
            TokenKind::Operator => Some(plain(Colour::Operator)),
            TokenKind::Module => Some(plain(Colour::Connection)),
            TokenKind::Name | TokenKind::QuotedName | TokenKind::Mark | TokenKind::Unknown => None,
        }
    });
    painted.collect()
}

fn meant(means: &Meaning) -> Option<(Colour, bool)> {
    Some(match means {
        Meaning::Declared { home: _, sort } | Meaning::Local { at: _, sort } => match sort {
            Sort::Connection => (Colour::Connection, false),
            Sort::Type => (Colour::Type, false),
            Sort::Function => (Colour::Function, false),
            Sort::Param | Sort::Item => (Colour::Parameter, false),
            Sort::Constant | Sort::Value | Sort::Handle | Sort::Alias => (Colour::Variable, false),
            Sort::Unknown => return None,
        },
        Meaning::Type(_) => (Colour::Type, true),
        Meaning::Edge { .. } | Meaning::Field { .. } => (Colour::Property, true),
        Meaning::Part | Meaning::Setting => (Colour::Property, false),
        Meaning::Builtin | Meaning::Wait => (Colour::Function, true),
        Meaning::BuiltinType => (Colour::Type, true),
        Meaning::Module => (Colour::Connection, true),
        Meaning::Credential => (Colour::Variable, true),
        Meaning::File(_) => return None,
    })
}
