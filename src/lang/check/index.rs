//! What the names of the texts mean, noted by the check where it decides it. Whoever asks about a place in a text asks
//! the check: nothing is resolved twice. Noted only on request; decides nothing.

use smol_str::SmolStr;

use super::{body::Bound, context::Symbol, offers::Offers};
use crate::{
    source::{SourceId, Span},
    types::{Ty, TypeRef},
};

/// A name somewhere in a text, and what it means there.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    pub span: Span,
    pub means: Meaning,
    /// The type of the value that it stands for, as far as it is known at this place.
    pub ty: Option<Ty>,
    /// It is here that the name is declared.
    pub declares: bool,
}

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// A name of a file.
    Declared {
        home: Home,
        sort: Sort,
    },
    /// A name inside one declaration, by the place where it is bound.
    Local {
        at: Span,
        sort: Sort,
    },
    /// A type that a connection describes.
    Type(TypeRef),
    /// An edge of a described type.
    Edge {
        from: TypeRef,
        name: SmolStr,
    },
    /// A field of a described type.
    Field {
        of: TypeRef,
        name: SmolStr,
    },
    /// A field of a record, a change or json.
    Part,
    Builtin,
    BuiltinType,
    /// A form of `await`.
    Wait,
    Module,
    Credential,
    Setting,
    /// The file that an import names.
    File(SourceId),
}

/// Where a name of a file is declared. An import under another name is a declaration of that other name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Home {
    pub source: SourceId,
    pub name: SmolStr,
}

/// What sort of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Connection,
    Type,
    Function,
    /// A value of a file.
    Constant,
    Param,
    Value,
    Handle,
    Alias,
    /// The parameter of a closure.
    Item,
    /// Its declaration failed.
    Unknown,
}

impl From<Symbol> for Sort {
    fn from(symbol: Symbol) -> Self {
        match symbol {
            Symbol::Connection(_) => Self::Connection,
            Symbol::Type(_) => Self::Type,
            Symbol::Function(_) => Self::Function,
            Symbol::Constant(_) => Self::Constant,
            Symbol::Failed => Self::Unknown,
        }
    }
}

impl From<Bound> for Sort {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::Param => Self::Param,
            Bound::Value => Self::Value,
            Bound::Handle => Self::Handle,
            Bound::Alias => Self::Alias,
            Bound::Item | Bound::Why => Self::Item,
        }
    }
}

/// What a check notes beside its problems.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// `None`: nobody asked.
    pub(super) mentions: Option<Vec<Mention>>,
    pub(super) offers: Offers,
}

impl Notes {
    pub(super) fn mention(&mut self, span: Span, means: Meaning) {
        self.note(Mention { span, means, ty: None, declares: false });
    }

    pub(super) fn note(&mut self, mention: Mention) {
        if let Some(mentions) = &mut self.mentions {
            mentions.push(mention);
        }
    }

    /// The type of the value that the name ending with `span` stands for.
    pub(super) fn typed(&mut self, span: Span, ty: &Ty) {
        let last = self.mentions.iter_mut().flatten().rev().take(4);
        for mention in last {
            if mention.span.end == span.end && mention.span.source == span.source {
                mention.ty = Some(ty.clone());
                return;
            }
        }
    }
}
