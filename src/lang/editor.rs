//! What an editor asks about a place in a text, answered from the trees and from what the check noted
//! ([`Study`](crate::check::study::Study)). Pure; resolves nothing itself and speaks no protocol.

mod colours;
mod complete;
mod hover;
mod keywords;
mod outline;
mod rename;

pub use colours::{Colour, Painted, colours};
pub use complete::{Completion, Suggested, complete};
pub use hover::{Hover, hover};
pub use outline::{Entry, EntryKind, outline};
pub use rename::{Refused, rename, renamed};

use smol_str::SmolStr;

use crate::{
    check::{
        Catalog,
        index::{Home, Meaning, Mention, Sort},
        study::Study,
    },
    source::{SourceFile, SourceId, SourceMap, Span},
    syntax::ast,
};

/// All that is known when an editor asks.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub map: &'a SourceMap,
    pub files: &'a [ast::File],
    /// The files whose listens fire.
    pub roots: &'a [SourceId],
    pub catalog: &'a Catalog,
    /// What the last check of these files noted.
    pub study: &'a Study,
}

/// Where a name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Place(Span),
    /// The file of a project module, by its name (`#name`).
    Module(SmolStr),
}

impl<'a> View<'a> {
    /// The name at an offset; of two that touch there, the one that begins.
    #[must_use]
    pub fn mention(&self, source: SourceId, offset: u32) -> Option<&'a Mention> {
        let touching = |mention: &&Mention| mention.span.start <= offset && offset <= mention.span.end;
        let rank = |mention: &&Mention| (offset == mention.span.end, mention.span.end - mention.span.start);
        let found = self.study.mentions(source).filter(touching).min_by_key(rank)?;
        // Of several meanings noted at one place the last one holds: it was looked at again with more in hand.
        self.study.mentions(source).filter(|mention| mention.span == found.span).last()
    }

    fn tree(&self, source: SourceId) -> Option<&'a ast::File> {
        self.files.iter().find(|file| file.source == source)
    }

    fn text(&self, source: SourceId) -> Option<&'a SourceFile> {
        self.map.get(source)
    }

    fn slice(&self, span: Span) -> &'a str {
        self.text(span.source).map_or("", |file| file.slice(span))
    }

    /// The declaration of a file's name.
    fn declaration(&self, home: &Home) -> Option<crate::check::study::Declaration> {
        self.study.declaration(self.tree(home.source)?, self.text(home.source)?, home)
    }

    /// Where the name at an offset is declared.
    #[must_use]
    pub fn definition(&self, source: SourceId, offset: u32) -> Option<Target> {
        let mention = self.mention(source, offset)?;
        let project = |module: &str| module.starts_with('#').then(|| Target::Module(module.into()));
        match &mention.means {
            Meaning::Declared { home, sort: _ } => {
                self.declaration(&self.origin(home)?).map(|declared| Target::Place(declared.span))
            }
            Meaning::Local { at, sort: _ } => Some(Target::Place(*at)),
            Meaning::File(file) => Some(Target::Place(Span::new(*file, 0, 0))),
            Meaning::Module => project(self.slice(mention.span).trim_matches('`')),
            Meaning::Type(of) | Meaning::Field { of, name: _ } | Meaning::Edge { from: of, name: _ } => {
                project(self.study.module(of.connection)?)
            }
            Meaning::Part
            | Meaning::Builtin
            | Meaning::BuiltinType
            | Meaning::Wait
            | Meaning::Credential
            | Meaning::Setting => None,
        }
    }

    /// Where a name of a file is declared in the end: an import under another name leads to the file it comes from.
    fn origin(&self, home: &Home) -> Option<Home> {
        let tree = self.tree(home.source)?;
        let imported = tree.items.iter().filter_map(|item| match item {
            ast::Item::Import(import) => Some(&import.names),
            ast::Item::Connection(_)
            | ast::Item::Type(_)
            | ast::Item::Function(_)
            | ast::Item::Listen(_)
            | ast::Item::Binding(_)
            | ast::Item::Test(_)
            | ast::Item::Bad { .. } => None,
        });
        let original = imported.flatten().find(|name| name.alias.as_ref().is_some_and(|alias| alias.text == home.name));
        let Some(original) = original else { return Some(home.clone()) };
        let there = self.mention(home.source, original.name.span.start)?;
        if let Meaning::Declared { home, sort: _ } = &there.means { Some(home.clone()) } else { None }
    }

    /// Every place that means what the name at an offset means, by file and place.
    #[must_use]
    pub fn references(&self, source: SourceId, offset: u32, with_declaration: bool) -> Vec<Span> {
        let Some(mention) = self.mention(source, offset) else { return Vec::new() };
        let mut found = self.same(mention);
        if !with_declaration {
            let declared: Vec<Span> = found
                .iter()
                .filter(|span| self.mention(span.source, span.start).is_some_and(|mention| mention.declares))
                .copied()
                .collect();
            found.retain(|span| !declared.contains(span));
        }
        found
    }

    /// Every place that means what this one means.
    fn same(&self, mention: &Mention) -> Vec<Span> {
        let text = self.slice(mention.span).trim_matches('`');
        let alike = |other: &Mention| {
            let meant = match (&mention.means, &other.means) {
                (Meaning::Declared { home, sort: _ }, Meaning::Declared { home: other, sort: _ }) => home == other,
                (Meaning::Local { at, sort: _ }, Meaning::Local { at: other, sort: _ }) => at == other,
                (one, two) => one == two,
            };
            let named = match &mention.means {
                Meaning::Declared { .. }
                | Meaning::Local { .. }
                | Meaning::Type(_)
                | Meaning::Edge { .. }
                | Meaning::Field { .. }
                | Meaning::File(_) => true,
                Meaning::Part
                | Meaning::Builtin
                | Meaning::BuiltinType
                | Meaning::Wait
                | Meaning::Module
                | Meaning::Credential
                | Meaning::Setting => self.slice(other.span).trim_matches('`') == text,
            };
            meant && named
        };
        // What is bound inside a declaration is known only there and where it is called by name.
        let files: Vec<SourceId> = self.study.sources().collect();
        let mut found: Vec<Span> = files
            .into_iter()
            .flat_map(|file| self.study.mentions(file))
            .filter(|other| alike(other))
            .map(|other| other.span)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The word for what a name stands for.
fn word(sort: Sort) -> &'static str {
    match sort {
        Sort::Connection => "connection",
        Sort::Type => "type",
        Sort::Function => "function",
        Sort::Constant | Sort::Value => "value",
        Sort::Param => "parameter",
        Sort::Handle => "handle",
        Sort::Alias => "record",
        Sort::Item => "member",
        Sort::Unknown => "name",
    }
}

#[cfg(test)]
mod tests;
