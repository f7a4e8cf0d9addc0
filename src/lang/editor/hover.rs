//! What a name is: its type, where it belongs, and what is said about it.

use super::{View, word};
use crate::{
    check::index::{Meaning, Mention, Sort},
    check::offers,
    source::{SourceId, Span},
};

/// What there is to say of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    pub span: Span,
    /// One or a few lines of the language.
    pub code: String,
    /// A sentence of our own.
    pub note: Option<String>,
    /// What the program's author says, as Markdown.
    pub doc: Option<String>,
    /// What the system says: untrusted, plain text.
    pub described: Option<String>,
}

/// What there is to say of the name at an offset.
#[must_use]
pub fn hover(view: &View<'_>, source: SourceId, offset: u32) -> Option<Hover> {
    let mention = view.mention(source, offset)?;
    let name = view.slice(mention.span);
    let ty = mention.ty.as_ref().map(|ty| view.study.show(ty));
    let plain = Hover { span: mention.span, code: String::new(), note: None, doc: None, described: None };
    let typed = |ty: Option<String>| ty.map_or_else(|| name.to_owned(), |ty| format!("{name}: {ty}"));
    Some(match &mention.means {
        Meaning::Declared { .. } => declared(view, mention, plain)?,
        Meaning::Local { at, sort } => {
            let declared = || Some(view.study.show(view.mention(at.source, at.start)?.ty.as_ref()?));
            let ty = ty.or_else(declared);
            Hover { code: typed(ty), note: Some(word(*sort).to_owned()).filter(|_| *sort != Sort::Unknown), ..plain }
        }
        Meaning::Type(of) => {
            let shape = view.study.shape(view.catalog, of)?;
            let fields = shape.fields.iter().filter(|field| field.readable || field.writable).take(30);
            let fields: Vec<_> = fields
                .map(|field| {
                    let ty = crate::types::Ty::from(&field.ty);
                    let ty = if field.optional { ty.optional() } else { ty };
                    format!("  {}: {}", field.name, view.study.show(&ty))
                })
                .collect();
            let head = view.study.show(&crate::types::Ty::Position(of.clone()));
            let code = if fields.is_empty() { head } else { format!("{head} {{\n{}\n}}", fields.join("\n")) };
            Hover { code, note: Some(offers::may(shape)), described: shape.doc.clone(), ..plain }
        }
        Meaning::Edge { from, name: edge } => {
            let edge = view.study.shape(view.catalog, from)?.edge(edge)?;
            let target = crate::types::TypeRef { connection: from.connection, ty: edge.target.clone() };
            let shown = view.study.show(&crate::types::Ty::Position(target));
            let of = view.study.show(&crate::types::Ty::Position(from.clone()));
            let note = format!("edge of `{of}`, {}", offers::lands(edge.count));
            Hover { code: format!("{name}: {shown}"), note: Some(note), described: edge.doc.clone(), ..plain }
        }
        Meaning::Field { of, name: field } => {
            let shape = view.study.shape(view.catalog, of)?;
            let described = shape.field(field);
            let ty = ty.or_else(|| described.map(|field| view.study.show(&crate::types::Ty::from(&field.ty))));
            let of = view.study.show(&crate::types::Ty::Position(of.clone()));
            let pin = match shape.pin(field) {
                Some(pin) if pin.required => "; a read has to fix it with `==`",
                Some(_) => "; a read may fix it with `==`",
                None => "",
            };
            Hover {
                code: typed(ty),
                note: Some(format!("field of `{of}`{pin}")),
                described: described.and_then(|field| field.doc.clone()),
                ..plain
            }
        }
        Meaning::Part => Hover { code: typed(ty), note: Some("field".to_owned()), ..plain },
        Meaning::Builtin => Hover { code: offers::builtin(name)?, note: Some("built-in function".to_owned()), ..plain },
        Meaning::Wait => Hover { code: offers::wait(name)?, note: Some("form of `await`".to_owned()), ..plain },
        Meaning::BuiltinType => Hover { code: name.to_owned(), note: Some("type".to_owned()), ..plain },
        Meaning::Module => {
            let facts = view.catalog.modules.get(name.trim_matches('`'))?;
            let settings = facts
                .settings
                .iter()
                .map(|(name, ty)| format!("{name}: {}", view.study.show(&crate::types::Ty::from(ty))));
            let settings: Vec<_> = settings.collect();
            let note = if settings.is_empty() {
                "module without settings".to_owned()
            } else {
                format!("module; settings: `{{ {} }}`", settings.join(", "))
            };
            Hover { code: name.to_owned(), note: Some(note), ..plain }
        }
        Meaning::Credential => {
            let facts = view.catalog.credentials.get(name.trim_matches('`'))?;
            let note = format!("credential of `{}`, kind `{}`", facts.module, facts.kind);
            Hover { code: name.to_owned(), note: Some(note), ..plain }
        }
        Meaning::Setting => Hover { code: name.to_owned(), note: Some("setting".to_owned()), ..plain },
        Meaning::File(file) => {
            Hover { code: view.text(*file)?.path.clone(), note: Some("movement file".to_owned()), ..plain }
        }
    })
}

fn declared(view: &View<'_>, mention: &Mention, plain: Hover) -> Option<Hover> {
    let Meaning::Declared { home, sort } = &mention.means else { return None };
    let home = &view.origin(home)?;
    let found = view.declaration(home)?;
    let name = &home.name;
    let code = match found.sort {
        Sort::Function => format!("function {name}{}", found.shown),
        Sort::Type => format!("type {name} = {}", found.shown),
        Sort::Connection => format!("{name} = {}", found.shown),
        Sort::Constant | Sort::Param | Sort::Value | Sort::Handle | Sort::Alias | Sort::Item | Sort::Unknown => {
            let ty = mention.ty.as_ref().map_or(found.shown.clone(), |ty| view.study.show(ty));
            if ty.is_empty() { name.to_string() } else { format!("{name}: {ty}") }
        }
    };
    let elsewhere = home.source != mention.span.source;
    let from = view.text(home.source).filter(|_| elsewhere).map(|file| format!("{} of `{}`", word(*sort), file.path));
    Some(Hover { code, note: from, doc: found.doc, ..plain })
}
