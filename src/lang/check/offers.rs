//! What could stand at one place: noted by the check when it comes by there, from what it has in hand. Decides nothing.

use lf_module::{
    FieldType,
    schema::{Count, Field, TypeShape},
};
use smol_str::SmolStr;

use super::{
    annotations,
    body::Body,
    builtins,
    context::{Context, Symbol},
    entries::Act,
    graph,
    index::Sort,
    waits,
};
use crate::{
    source::Span,
    types::{ConnectionId, Ty, TypeRef, relation},
};

/// Something that could stand at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// As it is written, in backticks where it needs them.
    pub name: SmolStr,
    pub sort: Offered,
    /// Its type or signature; may be empty.
    pub detail: String,
    /// What is said about it by whoever described it.
    pub doc: Option<String>,
}

/// What sort of thing is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    Name(Sort),
    Field,
    Edge,
    DescribedType,
    Builtin,
    /// A form of `await`.
    Wait,
    BuiltinType,
    /// A text of a choice, without its quotes.
    Choice,
    Module,
    Credential,
    Setting,
    Argument,
}

/// The place that is asked about, and what was found.
#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) at: Option<Span>,
    pub(super) found: Option<Vec<Offer>>,
}

impl Offers {
    /// Whether this name, or text, is the one that is asked about.
    pub(super) fn asks(&self, span: Span) -> bool {
        self.found.is_none()
            && self.at.is_some_and(|at| span.source == at.source && span.start <= at.start && at.start <= span.end)
    }
}

fn offer(name: &str, sort: Offered, detail: String) -> Offer {
    Offer { name: super::written_name(name).into(), sort, detail, doc: None }
}

/// How a call of a built-in is written, and what it gives.
#[must_use]
pub fn builtin(name: &str) -> Option<String> {
    builtins::written(name)
}

/// How a form of `await` is written, and what it gives.
#[must_use]
pub fn wait(name: &str) -> Option<String> {
    waits::forms().find(|(form, _)| *form == name).map(|(_, written)| written.to_owned())
}

/// What may be done with a described type, in words.
#[must_use]
pub fn may(shape: &TypeShape) -> String {
    let able = [
        (shape.readable, "read"),
        (shape.writable, "written"),
        (shape.updatable, "changed"),
        (shape.deletable, "deleted"),
        (shape.listenable.is_some(), "listened to"),
    ];
    let words: Vec<_> = able.into_iter().filter(|(can, _)| *can).map(|(_, word)| word).collect();
    if words.is_empty() {
        "nothing can be done with it here".to_owned()
    } else {
        format!("can be {}", words.join(", "))
    }
}

/// How many records an edge lands on, in words.
#[must_use]
pub fn lands(count: Count) -> &'static str {
    match count {
        Count::One => "lands on one record",
        Count::Optional => "lands on at most one record",
        Count::Many => "lands on any number of records",
    }
}

impl Context<'_> {
    fn asks(&self, span: Span) -> bool {
        self.notes.offers.asks(span)
    }

    fn answer(&mut self, found: Vec<Offer>) {
        self.notes.offers.found = Some(found);
    }

    fn field_offer(&self, field: &Field, ty: &Ty) -> Offer {
        let doc = field.doc.clone();
        Offer { doc, ..offer(&field.name, Offered::Field, self.graph.show(ty)) }
    }

    fn type_offer(shape: &TypeShape) -> Offer {
        Offer { doc: shape.doc.clone(), ..offer(&shape.name, Offered::DescribedType, String::new()) }
    }

    /// The described types of a connection.
    pub(super) fn offer_root(&mut self, at: Span, connection: ConnectionId) {
        if self.asks(at) {
            let found = self.graph.types(connection).map(Self::type_offer).collect();
            self.answer(found);
        }
    }

    /// The edges of a described type.
    pub(super) fn offer_edges(&mut self, at: Span, from: &TypeRef) {
        if !self.asks(at) {
            return;
        }
        let Some(shape) = self.graph.shape(from) else { return };
        let edges = shape.edges.iter().map(|edge| {
            let target = TypeRef { connection: from.connection, ty: edge.target.clone() };
            let detail = self.graph.show_position(&target);
            Offer { doc: edge.doc.clone(), ..offer(&edge.name, Offered::Edge, detail) }
        });
        let found = edges.collect();
        self.answer(found);
    }

    /// The fields that a write of this type takes.
    pub(super) fn offer_written(&mut self, at: Span, shape: &TypeShape, act: Act) {
        if !self.asks(at) {
            return;
        }
        let fields = shape.fields.iter().filter(|field| field.writable).map(|field| {
            let mut found = self.field_offer(field, &Ty::from(&field.ty));
            if field.required && act == Act::Create {
                found.detail.push_str(", required");
            }
            found
        });
        let found = fields.collect();
        self.answer(found);
    }

    /// The fields that this type can be found by.
    pub(super) fn offer_identity(&mut self, at: Span, shape: &TypeShape) {
        if self.asks(at) {
            let named = shape.find_by.iter().flatten().filter_map(|name| shape.field(name));
            let found = named.map(|field| self.field_offer(field, &Ty::from(&field.ty))).collect();
            self.answer(found);
        }
    }

    /// The texts of a choice, where a literal stands for one of them.
    pub(super) fn offer_members(&mut self, at: Span, members: &[SmolStr]) {
        if self.asks(at) && self.slice(at).starts_with('"') {
            let text = |member: &SmolStr| Offer { name: member.clone(), ..offer("", Offered::Choice, String::new()) };
            let found = members.iter().map(text).collect();
            self.answer(found);
        }
    }

    pub(super) fn offer_settings<'t>(
        &mut self,
        at: Span,
        settings: impl Iterator<Item = (&'t SmolStr, &'t FieldType)>,
    ) {
        if self.asks(at) {
            let named = settings.map(|(name, ty)| offer(name, Offered::Setting, self.graph.show(&Ty::from(ty))));
            let found = named.collect();
            self.answer(found);
        }
    }

    pub(super) fn offer_modules(&mut self, at: Span) {
        if self.asks(at) {
            let named = self.catalog.modules.iter().map(|(name, facts)| {
                let detail = if facts.not_installed { "not installed" } else { "" };
                let written = if name.starts_with('@') { format!("`{name}`").into() } else { name.clone() };
                Offer { name: written, ..offer("", Offered::Module, detail.to_owned()) }
            });
            let found = named.collect();
            self.answer(found);
        }
    }

    pub(super) fn offer_credentials(&mut self, at: Span, module: &str) {
        if self.asks(at) {
            let own = self.catalog.credentials.iter().filter(|(_, facts)| facts.module == module);
            let found = own.map(|(name, facts)| offer(name, Offered::Credential, facts.kind.to_string())).collect();
            self.answer(found);
        }
    }

    /// What may be waited for.
    pub(super) fn offer_waits(&mut self, at: Span) {
        if self.asks(at) {
            let found = waits::forms().map(|(name, written)| offer(name, Offered::Wait, written.to_owned())).collect();
            self.answer(found);
        }
    }

    /// What another file exports.
    pub(super) fn offer_exports(&mut self, at: Span, file: usize) {
        if self.asks(at) {
            let found =
                self.names_of(file, |entry| matches!(entry.origin, super::context::Origin::Declared { export: true }));
            self.answer(found);
        }
    }

    pub(super) fn offer_functions(&mut self, at: Span, file: usize) {
        if self.asks(at) {
            let found = self.names_of(file, |entry| matches!(entry.symbol, Symbol::Function(_)));
            self.answer(found);
        }
    }

    pub(super) fn offer_types(&mut self, at: Span, file: usize) {
        if self.asks(at) {
            let mut found: Vec<_> =
                annotations::NAMES.into_iter().map(|name| offer(name, Offered::BuiltinType, String::new())).collect();
            found.extend(self.names_of(file, |entry| matches!(entry.symbol, Symbol::Type(_) | Symbol::Connection(_))));
            self.answer(found);
        }
    }

    /// The connections of a file, where a path starts at one.
    pub(super) fn offer_connections(&mut self, at: Span, file: usize) {
        if self.asks(at) {
            let found = self.names_of(file, |entry| matches!(entry.symbol, Symbol::Connection(_)));
            self.answer(found);
        }
    }

    fn names_of(&self, file: usize, fits: impl Fn(&super::context::Entry) -> bool) -> Vec<Offer> {
        let Some(scope) = self.scopes.get(file) else { return Vec::new() };
        let fitting = scope.names.iter().filter(|(_, entry)| fits(entry));
        fitting.map(|(name, entry)| self.symbol_offer(name, entry.symbol)).collect()
    }

    fn symbol_offer(&self, name: &str, symbol: Symbol) -> Offer {
        let (detail, doc) = match symbol {
            Symbol::Connection(id) => (self.module_of(id), None),
            Symbol::Type(index) => self.types.get(index).map_or_else(Default::default, |decl| {
                (decl.ty.as_ref().map(|ty| self.graph.show(ty)).unwrap_or_default(), decl.item.doc.clone())
            }),
            Symbol::Function(index) => self
                .functions
                .get(index)
                .map_or_else(Default::default, |decl| (self.signature(decl), decl.item.doc.clone())),
            Symbol::Constant(index) => self.constants.get(index).map_or_else(Default::default, |decl| {
                let ty = decl.done.as_ref().map(|(_, ty)| self.graph.show(ty));
                (ty.unwrap_or_default(), decl.item.doc.clone())
            }),
            Symbol::Failed => Default::default(),
        };
        Offer { doc, ..offer(name, Offered::Name(symbol.into()), detail) }
    }

    fn module_of(&self, id: ConnectionId) -> String {
        self.connections.get(id.0 as usize).map(|connection| connection.module.to_string()).unwrap_or_default()
    }

    fn signature(&self, decl: &super::context::FunctionDecl<'_>) -> String {
        let params: Vec<_> = decl
            .item
            .params
            .iter()
            .map(|param| format!("{}: {}", param.name.text, self.slice(param.ty.span)))
            .collect();
        match &decl.returns {
            super::context::Returns::Gives(ty) => format!("({}): {}", params.join(", "), self.graph.show(ty)),
            super::context::Returns::Nothing | super::context::Returns::Failed => format!("({})", params.join(", ")),
        }
    }
}

impl Body<'_, '_> {
    /// Everything that a value, a call or a path may begin with here.
    pub(super) fn offer_values(&mut self, at: Span) {
        if !self.cx.asks(at) {
            return;
        }
        let mut found = Vec::new();
        if let Some(landed) = self.landed.last() {
            found.extend(self.field_offers(&Ty::Position(landed.on.clone())));
        }
        for (name, local) in self.visible() {
            let Some(local) = self.local(local) else { continue };
            let detail = local.ty.as_ref().map(|ty| self.show(ty)).unwrap_or_default();
            found.push(offer(name, Offered::Name(local.bound.into()), detail));
        }
        found.extend(self.cx.names_of(self.file, |entry| !matches!(entry.symbol, Symbol::Type(_))));
        found.extend(builtins::names().map(|name| {
            let detail = builtins::written(name).unwrap_or_default();
            offer(name, Offered::Builtin, detail)
        }));
        self.cx.answer(found);
    }

    /// The fields that can be read off a value of this type.
    pub(super) fn offer_fields(&mut self, at: Span, ty: &Ty) {
        if self.cx.asks(at) {
            let found = self.field_offers(ty);
            self.cx.answer(found);
        }
    }

    /// The parameters of a function that is called.
    pub(super) fn offer_arguments(&mut self, at: Span, item: &crate::syntax::ast::Function) {
        if self.cx.asks(at) {
            let params = item.params.iter();
            let named =
                params.map(|param| offer(&param.name.text, Offered::Argument, self.cx.slice(param.ty.span).to_owned()));
            let found = named.collect();
            self.cx.answer(found);
        }
    }

    fn field_offers(&self, ty: &Ty) -> Vec<Offer> {
        match ty {
            Ty::Optional(inner) => self.field_offers(inner),
            Ty::List(item) => self.field_offers(item),
            Ty::Position(of) | Ty::Handle(of) => {
                let handle = matches!(ty, Ty::Handle(_));
                let Some(shape) = self.cx.graph.shape(of) else { return Vec::new() };
                let mut found: Vec<_> = shape
                    .fields
                    .iter()
                    .filter_map(|field| {
                        let ty = relation::Graph::field(&self.cx.graph, of, handle, &field.name)?;
                        Some(self.cx.field_offer(field, &ty))
                    })
                    .collect();
                if handle && shape.field(graph::CREATED).is_none() {
                    found.push(offer(graph::CREATED, Offered::Field, self.show(&Ty::Boolean)));
                }
                found
            }
            Ty::Record(_) | Ty::Change => {
                let fields = self.fields_of(ty).unwrap_or_default();
                fields.into_iter().map(|(name, ty)| offer(&name, Offered::Field, self.show(&ty))).collect()
            }
            Ty::File => {
                let of = |name: &'static str| Some((name, relation::file_field(name)?));
                let fields = relation::FILE_FIELDS.into_iter().filter_map(of);
                fields.map(|(name, ty)| offer(name, Offered::Field, self.show(&ty))).collect()
            }
            Ty::Text
            | Ty::Number
            | Ty::Boolean
            | Ty::Date
            | Ty::Datetime
            | Ty::Duration
            | Ty::Json
            | Ty::Choice(_)
            | Ty::Absent
            | Ty::EmptyList => Vec::new(),
        }
    }
}
