//! What a file declares, in order.

use crate::{
    source::{SourceFile, Span},
    syntax::ast::{self, Item},
};

/// One declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
    pub span: Span,
    /// Of its name.
    pub selection: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    Connection,
    Type,
    Function,
    Listen,
    Value,
    Test,
}

/// The declarations of a file.
#[must_use]
pub fn outline(file: &ast::File, text: &SourceFile) -> Vec<Entry> {
    let named = |name: &ast::Name, kind: EntryKind, span: Span| Entry {
        name: name.text.to_string(),
        kind,
        span,
        selection: name.span,
    };
    let entries = file.items.iter().filter_map(|item| match item {
        Item::Import(_) | Item::Bad { .. } => None,
        Item::Connection(item) => Some(named(&item.name, EntryKind::Connection, item.span)),
        Item::Type(item) => Some(named(&item.name, EntryKind::Type, item.span)),
        Item::Function(item) => Some(named(&item.name, EntryKind::Function, item.span)),
        Item::Binding(item) => Some(named(&item.name, EntryKind::Value, item.span)),
        Item::Test(item) => Some(Entry {
            name: item.name.text.to_string(),
            kind: EntryKind::Test,
            span: item.span,
            selection: item.name.span,
        }),
        Item::Listen(item) => {
            let name = match &item.label {
                Some(label) => label.text.to_string(),
                None => format!("{} fire {}", text.slice(item.path.span), item.fire.text),
            };
            Some(Entry { name, kind: EntryKind::Listen, span: item.span, selection: item.path.span })
        }
    });
    entries.collect()
}
