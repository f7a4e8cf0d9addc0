//! The records of a test's lines: fields that the type has, values that fit them. One value for each field.

use lf_module::schema::{Field, TypeShape};
use smol_str::SmolStr;

use super::{Ask, files::Stated};
use crate::{
    check::{
        body::Body,
        entries::Act,
        fields::no_field,
        index::Meaning,
        typed::{Expr, ExprKind, TestField},
    },
    diag::{Diagnostic, codes},
    syntax::ast::{self, Name, RecordItem},
    types::{Ty, TypeRef},
};

/// Which side of a system a record shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// What can be read off it.
    Read,
    /// What is sent to it.
    Written,
    /// What tells it from others.
    Key,
}

impl Side {
    fn has(self, shape: &TypeShape, field: &Field) -> bool {
        match self {
            Self::Read => field.readable,
            Self::Written => field.writable,
            Self::Key => shape.key.as_ref() == Some(&field.name),
        }
    }
}

impl Body<'_, '_> {
    /// A record of that type; without one, its values are checked for their own mistakes only.
    pub(super) fn record_on(
        &mut self,
        on: Option<&TypeRef>,
        record: &ast::Expr,
        side: Side,
        values: &mut Vec<Expr>,
    ) -> Option<Vec<TestField>> {
        let ast::ExprKind::Record(items) = &record.kind else {
            if !matches!(record.kind, ast::ExprKind::Bad) && self.expr(record).is_some() {
                self.report(
                    Diagnostic::error(codes::MOV_TEST_ANSWER, record.span, "each record of an answer is written out")
                        .label("no record in braces")
                        .help("write `[{ … }, { … }]`; a record that has a name is `{ ...name }`"),
                );
            }
            return None;
        };
        let mut fields: Vec<(TestField, Expr, bool)> = Vec::new();
        let mut whole = on.is_some();
        for item in items {
            let kept = match item {
                RecordItem::Field(name, value) => self.test_field(on, name, value, side, &mut fields),
                RecordItem::Spread(value) => self.test_spread(on, value, side, &mut fields),
            };
            whole &= kept.is_some();
        }
        if !whole {
            return None;
        }
        let mut named = Vec::with_capacity(fields.len());
        for (field, value, _) in fields {
            named.push(field);
            values.push(value);
        }
        Some(named)
    }

    fn test_field(
        &mut self,
        on: Option<&TypeRef>,
        name: &Name,
        value: &ast::Expr,
        side: Side,
        fields: &mut Vec<(TestField, Expr, bool)>,
    ) -> Option<()> {
        if let Some((on, shape)) = on.and_then(|on| Some((on, self.cx.graph.shape(on)?))) {
            match side {
                Side::Written => self.cx.offer_written(name.span, shape, Act::Update),
                Side::Read | Side::Key => self.offer_fields(name.span, &Ty::Position(on.clone())),
            }
        }
        let value = self.expr(value);
        let on = on?;
        let shape = self.cx.graph.shape(on)?;
        let field = self.field_of(on, shape, name, side)?;
        self.cx.notes.mention(name.span, Meaning::Field { of: on.clone(), name: field.name.clone() });
        if let Some((first, _, _)) = fields.iter().find(|(known, _, explicit)| *explicit && known.name == name.text) {
            let first = first.span;
            self.report(
                Diagnostic::error(codes::MOV_WRITE_FIELD_TWICE, name.span, format!("`{}` is given twice", name.text))
                    .label("a field has one value")
                    .also(first, "given first here")
                    .help("leave one out"),
            );
            return None;
        }
        let value = self.test_value(on, field, value?, side)?;
        keep(fields, TestField { name: field.name.clone(), span: name.span }, value, true);
        Some(())
    }

    fn field_of<'s>(&mut self, on: &TypeRef, shape: &'s TypeShape, name: &Name, side: Side) -> Option<&'s Field> {
        let shown = self.cx.graph.show_position(on);
        let known = shape.fields.iter().filter(|field| side.has(shape, field)).map(|field| field.name.as_str());
        let Some(field) = shape.field(&name.text) else {
            self.report(no_field(&format!("`{shown}`"), name, known));
            return None;
        };
        if side.has(shape, field) {
            return Some(field);
        }
        let (code, what, label) = match side {
            Side::Read => {
                (codes::MOV_FIELD_WRITE_ONLY, "can be written but not read", "the system does not give it back")
            }
            Side::Written => {
                (codes::MOV_WRITE_FIELD_READ_ONLY, "can be read but not written", "set by the system itself")
            }
            Side::Key => (codes::MOV_TEST_NEVER, "is not its key", "a record is named by its key alone"),
        };
        let report = Diagnostic::error(code, name.span, format!("`{}` of `{shown}` {what}", name.text)).label(label);
        self.report(match (side, &shape.key) {
            (Side::Key, Some(key)) => report.help(format!("name the record by `{key}`")),
            (Side::Read | Side::Written | Side::Key, _) => report.help("leave it out"),
        });
        None
    }

    /// Absence is proved when the test runs, so here a value that may be absent is as good as one that is not.
    fn test_value(&mut self, on: &TypeRef, field: &Field, value: Expr, side: Side) -> Option<Expr> {
        if matches!(value.ty, Ty::Absent) {
            let may = match side {
                Side::Read => field.optional || field.doubtful,
                Side::Written => field.clearable,
                Side::Key => false,
            };
            if may {
                return Some(value);
            }
            let what = if side == Side::Read { "is always there" } else { "is never emptied" };
            self.report(
                Diagnostic::error(codes::MOV_ABSENT, value.span, format!("`{}` {what}", field.name))
                    .label("absent")
                    .help("leave the field out, or give it a value"),
            );
            return None;
        }
        let value = self.stated_file(field, value)?;
        match value {
            Stated::File(value) => Some(value),
            Stated::Other(value) => self.fits_field(on, field, &Ty::from(&field.ty), value),
        }
    }

    fn test_spread(
        &mut self,
        on: Option<&TypeRef>,
        value: &ast::Expr,
        side: Side,
        fields: &mut Vec<(TestField, Expr, bool)>,
    ) -> Option<()> {
        let record = self.expr(value)?;
        let on = on?;
        let shape = self.cx.graph.shape(on)?;
        let Some(spread) = self.fields_of(&record.ty) else {
            let shown = self.show(&record.ty);
            self.report(
                Diagnostic::error(
                    codes::MOV_WRITE_SPREAD,
                    record.span,
                    format!("only a record has fields to give, and this is `{shown}`"),
                )
                .label(shown),
            );
            return None;
        };
        for (name, ty) in spread {
            let written = Name { text: name.clone(), span: record.span };
            let field = self.field_of(on, shape, &written, side)?;
            let kind = ExprKind::Field { base: Box::new(record.clone()), name: name.clone() };
            let value = self.test_value(on, field, Expr { ty, span: record.span, kind }, side)?;
            if !fields.iter().any(|(known, _, explicit)| *explicit && known.name == name) {
                keep(fields, TestField { name, span: record.span }, value, false);
            }
        }
        Some(())
    }

    /// Whether a write of these fields can happen at all.
    pub(super) fn can_happen(
        &mut self,
        on: &TypeRef,
        path: &ast::Path,
        record: &[TestField],
        asks: &mut Vec<Ask>,
    ) -> Option<()> {
        let shape = self.cx.graph.shape(on)?;
        // What is changed in place is sent without what stays; only a new record has them all.
        let new = !shape.updatable;
        let missing: Vec<&SmolStr> = shape
            .fields
            .iter()
            .filter(|field| new && field.required && !record.iter().any(|given| given.name == field.name))
            .map(|field| &field.name)
            .collect();
        if missing.is_empty() {
            asks.push(Ask::Written { span: path.span, on: on.clone() });
            return Some(());
        }
        let names: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        self.report(
            Diagnostic::error(
                codes::MOV_TEST_NEVER,
                path.span,
                format!("`{}` is never written without {names}", shape.name),
            )
            .label("names every field that is sent")
            .help(format!("add {names}")),
        );
        None
    }
}

fn keep(fields: &mut Vec<(TestField, Expr, bool)>, field: TestField, value: Expr, explicit: bool) {
    fields.retain(|(known, _, _)| known.name != field.name);
    fields.push((field, value, explicit));
}
