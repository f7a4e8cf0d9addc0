//! Fields: what can be read off a record, a position, a handle, a change, json, or each member of a list.

use smol_str::SmolStr;

use super::{
    body::Body,
    graph,
    index::Meaning,
    typed::{Expr, ExprKind},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::Name,
    types::{Kind, Ty, TypeRef, relation},
};

impl Body<'_, '_> {
    /// Reads a field. `lenient`: where presence itself is asked for, a field of something absent is absent.
    pub(super) fn field(&mut self, span: Span, base: Expr, name: &Name, lenient: bool) -> Option<Expr> {
        let lenient = lenient || matches!(base.kind, ExprKind::Read(_));
        let ty = if base.ty.may_be_absent() {
            let Some(inner) = base.ty.present().filter(|_| lenient) else {
                if let Some(inner) = base.ty.present() {
                    self.offer_fields(name.span, inner);
                }
                let why = format!("its field `{}` is read here", name.text);
                return self.ensure_present(base, &why);
            };
            self.field_ty(inner, name)?.optional()
        } else {
            self.field_ty(&base.ty, name)?
        };
        let kind = ExprKind::Field { base: Box::new(base), name: name.text.clone() };
        Some(self.narrowed(Expr { ty, span, kind }))
    }

    fn field_ty(&mut self, ty: &Ty, name: &Name) -> Option<Ty> {
        self.offer_fields(name.span, ty);
        if matches!(ty, Ty::Json | Ty::File | Ty::Change | Ty::Record(_)) {
            self.cx.notes.mention(name.span, Meaning::Part);
        }
        match ty {
            Ty::Json => Some(Ty::Json.optional()),
            Ty::Position(of) => self.described_field(of, false, name),
            Ty::Handle(of) => self.described_field(of, true, name),
            Ty::Change => {
                let found = relation::change_field(&name.text);
                if found.is_none() {
                    self.no_field("a change", name, relation::CHANGE_FIELDS.into_iter());
                }
                found
            }
            Ty::File => {
                let found = relation::file_field(&name.text);
                if found.is_none() {
                    self.no_field("a file", name, relation::FILE_FIELDS.into_iter());
                }
                found
            }
            Ty::Record(fields) => {
                let found = fields.iter().find(|(field, _)| *field == name.text).map(|(_, ty)| ty.clone());
                if found.is_none() {
                    let shown = format!("`{}`", self.show(ty));
                    self.no_field(&shown, name, fields.iter().map(|(field, _)| field.as_str()));
                }
                found
            }
            Ty::List(item) if matches!(item.kind(), Kind::Record | Kind::File) && !item.may_be_absent() => {
                Some(Ty::List(Box::new(self.field_ty(item, name)?)))
            }
            Ty::Text
            | Ty::Number
            | Ty::Boolean
            | Ty::Date
            | Ty::Datetime
            | Ty::Duration
            | Ty::Choice(_)
            | Ty::List(_)
            | Ty::EmptyList
            | Ty::Optional(_)
            | Ty::Absent => {
                let kind = ty.kind();
                let report = Diagnostic::error(
                    codes::MOV_FIELD_UNKNOWN,
                    name.span,
                    format!("a {} has no field `{}`", kind.word(), name.text),
                )
                .label(format!("read off a value of type `{}`", self.show(ty)));
                self.report(match (kind, name.text.as_str()) {
                    (Kind::Text | Kind::List, "length" | "size" | "count") => match self.read_off(name) {
                        Some((base, whole)) => {
                            report.fix(format!("write `LENGTH({base})`"), whole, format!("LENGTH({base})"))
                        }
                        None => report.help("its length is `LENGTH(…)`"),
                    },
                    (_, _) => report.help("only records have fields"),
                });
                None
            }
        }
    }

    /// What a field is read off, as written, and the place of the whole.
    fn read_off(&self, name: &Name) -> Option<(String, crate::source::Span)> {
        let file = self.cx.program.map.get(name.span.source)?;
        let before = file.text.get(..name.span.start as usize)?.trim_end().strip_suffix('.')?;
        let base = crate::syntax::operand(before)?;
        let start = u32::try_from(before.len() - base.len()).ok()?;
        Some((base.to_owned(), crate::source::Span { start, ..name.span }))
    }

    fn described_field(&mut self, of: &TypeRef, handle: bool, name: &Name) -> Option<Ty> {
        let shape = self.cx.graph.shape(of)?;
        if let Some(ty) = relation::Graph::field(&self.cx.graph, of, handle, &name.text) {
            self.cx.notes.mention(name.span, Meaning::Field { of: of.clone(), name: name.text.clone() });
            return Some(ty);
        }
        let on = self.cx.graph.show_position(of);
        if shape.field(&name.text).is_some() {
            self.report(
                Diagnostic::error(
                    codes::MOV_FIELD_WRITE_ONLY,
                    name.span,
                    format!("`{}` of `{on}` can be written but not read", name.text),
                )
                .label("the system does not give it back"),
            );
            return None;
        }
        let fields = shape.fields.iter().filter(|field| field.readable || handle).map(|field| field.name.as_str());
        let fields = fields.chain(handle.then_some(graph::CREATED));
        if shape.edge(&name.text).is_some() {
            self.report(
                Diagnostic::error(
                    codes::MOV_FIELD_UNKNOWN,
                    name.span,
                    format!("`{}` is an edge of `{on}`, not a field", name.text),
                )
                .label("leads to other records")
                .help(format!("walk it: `-[:{}]->`", name.text)),
            );
            return None;
        }
        self.no_field(&format!("`{on}`"), name, fields);
        None
    }

    /// Reports a field that `whose` does not have.
    pub(super) fn no_field<'n>(&mut self, whose: &str, name: &Name, known: impl Iterator<Item = &'n str>) {
        let report = no_field(whose, name, known);
        self.report(report);
    }

    /// Every field that can be read off a record.
    pub(super) fn fields_of(&self, ty: &Ty) -> Option<Vec<(SmolStr, Ty)>> {
        match ty {
            Ty::Record(fields) => Some(fields.clone()),
            Ty::Position(of) | Ty::Handle(of) => {
                let shape = self.cx.graph.shape(of)?;
                let readable = shape.fields.iter().filter(|field| field.readable);
                Some(readable.map(|field| (field.name.clone(), graph::read_type(field))).collect())
            }
            Ty::Change => Some(
                relation::CHANGE_FIELDS
                    .into_iter()
                    .filter_map(|name| Some((SmolStr::from(name), relation::change_field(name)?)))
                    .collect(),
            ),
            Ty::Text
            | Ty::Number
            | Ty::Boolean
            | Ty::Date
            | Ty::Datetime
            | Ty::Duration
            | Ty::Json
            | Ty::File
            | Ty::Choice(_)
            | Ty::List(_)
            | Ty::Optional(_)
            | Ty::Absent
            | Ty::EmptyList => None,
        }
    }
}

/// The report of a field that `whose` does not have, with the nearest that it has.
pub(super) fn no_field<'n>(whose: &str, name: &Name, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    let known: Vec<&str> = known.collect();
    let report =
        Diagnostic::error(codes::MOV_FIELD_UNKNOWN, name.span, format!("{whose} has no field `{}`", name.text));
    if let Some(near) = suggest::nearest(&name.text, known.iter().copied()) {
        return report.help(format!("did you mean `{near}`?")).fix(
            format!("write `{near}`"),
            name.span,
            super::written_name(near),
        );
    }
    match known.as_slice() {
        [] => report.help("it has no fields"),
        names if names.len() <= 12 => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            report.help(format!("it has {}", names.join(", ")))
        }
        names => report.help(format!("it has {} fields; `listen-fire describe` lists them", names.len())),
    }
}
