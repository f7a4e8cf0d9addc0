//! The paths of a test's lines: a type of a connection, and for an answer the walk and the pins that it is asked with.

use lf_module::schema::TypeShape;
use smol_str::SmolStr;

use crate::{
    check::{
        annotations,
        body::Body,
        context::Symbol,
        fields::no_field,
        hops::{conjuncts, edge_of, root_type},
        typed::{Expr, TestField, TestOrigin, TestTie},
        writes,
    },
    diag::{Diagnostic, codes},
    source::Span,
    syntax::ast::{self, BinaryOp, ExprKind, Hop, Name},
    types::{ConnectionId, Ty, TypeRef},
};

/// What an answer is for.
pub(super) struct Walked {
    pub(super) on: TypeRef,
    pub(super) from: Option<TestOrigin>,
    pub(super) pins: Vec<TestField>,
}

impl Body<'_, '_> {
    /// `connection-[:Type]->`, and nothing more.
    pub(super) fn bare_path(&mut self, path: &ast::Path, line: &str) -> Option<TypeRef> {
        let connection = self.test_head(&path.head)?;
        let (hop, more) = path.hops.split_first()?;
        let on = root_type(self.cx, connection, &hop.edge)?;
        let extra = more
            .first()
            .map(|hop| hop.span)
            .or(hop.alias.as_ref().map(|alias| alias.span))
            .or(hop.filter.as_ref().map(|filter| filter.span))
            .or(unordered(hop));
        let Some(extra) = extra else { return Some(on) };
        self.report(
            Diagnostic::error(codes::MOV_TEST_PATH, extra, format!("{line} names a type of a connection, and no more"))
                .label("does not belong here")
                .help("what the record holds stands in its braces"),
        );
        None
    }

    fn test_head(&mut self, head: &Name) -> Option<ConnectionId> {
        self.cx.offer_connections(head.span, self.file);
        match self.cx.look_up(self.file, head) {
            Some(Symbol::Connection(connection)) => Some(connection),
            Some(Symbol::Failed) => None,
            Some(symbol @ (Symbol::Type(_) | Symbol::Function(_) | Symbol::Constant(_))) => {
                self.report(
                    Diagnostic::error(
                        codes::MOV_TEST_PATH,
                        head.span,
                        format!("`{}` is {}, not a connection", head.text, annotations::describe(symbol)),
                    )
                    .label("a line of a test starts at a connection"),
                );
                None
            }
            None => {
                self.cx.unknown_connection(self.file, head);
                None
            }
        }
    }

    /// The path of an answer. The values of its pins follow the key of the record that it comes from.
    pub(super) fn answered_path(&mut self, path: &ast::Path, values: &mut Vec<Expr>) -> Option<Walked> {
        let connection = self.test_head(&path.head)?;
        let (last, before) = path.hops.split_last()?;
        let (at, key) = self.owner_of(connection, before, values)?;
        let on = self.next_type(connection, at.as_ref(), last)?;
        let shape = self.cx.graph.shape(&on)?;
        let pins: Vec<SmolStr> = shape.pins.iter().map(|pin| pin.field.clone()).collect();
        let pins = self.fixed(last, &on, shape, &pins, values)?;
        let from = at.map(|owner| TestOrigin { ty: owner.ty, edge: last.edge.text.clone(), key });
        if from.is_none() && !shape.readable && !shape.writable {
            self.report(
                Diagnostic::error(
                    codes::MOV_TEST_ANSWER,
                    last.edge.span,
                    format!("`{}` is neither read nor written", shape.name),
                )
                .label("is never asked for an answer"),
            );
            return None;
        }
        Some(Walked { on, from, pins })
    }

    /// The type that a path's last edge starts at, if not the root, and the key of its record where that is fixed.
    fn owner_of(
        &mut self,
        connection: ConnectionId,
        before: &[Hop],
        values: &mut Vec<Expr>,
    ) -> Option<(Option<TypeRef>, Option<TestField>)> {
        let (mut at, mut key) = (None, None);
        for (place, hop) in before.iter().enumerate() {
            let on = self.next_type(connection, at.as_ref(), hop)?;
            let shape = self.cx.graph.shape(&on)?;
            let is_owner = place + 1 == before.len();
            let keys: Vec<SmolStr> = shape.key.iter().filter(|_| is_owner).cloned().collect();
            key = self.fixed(hop, &on, shape, &keys, values)?.into_iter().next();
            at = Some(on);
        }
        Some((at, key))
    }

    /// `connection-[:Type WHERE key == …]->-[:Edge]->`: the edge by which records are joined, and the type that it leads
    /// to.
    pub(super) fn tied_path(
        &mut self,
        path: &ast::Path,
        line: &str,
        values: &mut Vec<Expr>,
    ) -> Option<(TestTie, TypeRef)> {
        let connection = self.test_head(&path.head)?;
        let (last, before) = path.hops.split_last()?;
        let (at, key) = self.owner_of(connection, before, values)?;
        let Some(on) = at else {
            self.report(
                Diagnostic::error(codes::MOV_TEST_PATH, path.span, format!("{line} names an edge of a record"))
                    .label("only its type")
                    .help("such as `crm-[:Company]->-[:People]->`"),
            );
            return None;
        };
        let (target, ..) = edge_of(self.cx, &on, &last.edge)?;
        if let Some(extra) = writes::extra(last) {
            self.report(
                Diagnostic::error(codes::MOV_TEST_PATH, extra, "the last edge is only named here")
                    .label("does not belong here")
                    .help("the key of the record that it leads to stands in braces: `{ id: \"p-1\" }`"),
            );
            return None;
        }
        if !self.cx.graph.shape(&on)?.edge(&last.edge.text).is_some_and(|edge| edge.linkable) {
            self.report(
                Diagnostic::error(
                    codes::MOV_LINK_NOT_LINKABLE,
                    last.edge.span,
                    format!("records cannot be joined by the edge `{}`", last.edge.text),
                )
                .label("the system has no request for it"),
            );
            return None;
        }
        Some((TestTie { on, edge: last.edge.text.clone(), key }, target))
    }

    fn next_type(&mut self, connection: ConnectionId, at: Option<&TypeRef>, hop: &Hop) -> Option<TypeRef> {
        if let Some(extra) = unordered(hop) {
            self.report(
                Diagnostic::error(
                    codes::MOV_TEST_PATH,
                    extra,
                    "an answer is what the system gives, before it is sorted or cut",
                )
                .label("does not belong here")
                .help("leave it out: order and limit are done as in a run"),
            );
            return None;
        }
        match at {
            None => root_type(self.cx, connection, &hop.edge),
            Some(from) => edge_of(self.cx, from, &hop.edge).map(|(on, _, _)| on),
        }
    }

    /// The fields that a WHERE fixes, each one of `fixable`.
    fn fixed(
        &mut self,
        hop: &Hop,
        on: &TypeRef,
        shape: &TypeShape,
        fixable: &[SmolStr],
        values: &mut Vec<Expr>,
    ) -> Option<Vec<TestField>> {
        let Some(filter) = &hop.filter else { return Some(Vec::new()) };
        let mut fixed: Vec<TestField> = Vec::new();
        let mut typed: Vec<Expr> = Vec::new();
        for test in conjuncts(filter) {
            let Some((name, value)) = equality(hop, test, shape) else {
                let all: Vec<_> = fixable.iter().map(|name| format!("`{name} == …`")).collect();
                let report = Diagnostic::error(
                    codes::MOV_TEST_WHERE,
                    test.span,
                    "the WHERE of an answer says what the system is asked with",
                )
                .label("no `field == value`");
                self.report(match all.as_slice() {
                    [] => report.help("leave it out: it is asked with nothing"),
                    all => report.help(format!("write {}, joined by `AND`", all.join(" or "))),
                });
                return None;
            };
            let Some(field) = shape.field(&name.text) else {
                let shown = self.cx.graph.show_position(on);
                self.report(no_field(&format!("`{shown}`"), name, fixable.iter().map(SmolStr::as_str)));
                return None;
            };
            if !fixable.contains(&name.text) || fixed.iter().any(|known| known.name == name.text) {
                let twice = fixed.iter().any(|known| known.name == name.text);
                let what = if twice { "is fixed twice" } else { "is not what the system is asked with" };
                self.report(
                    Diagnostic::error(codes::MOV_TEST_WHERE, name.span, format!("`{}` {what}", name.text))
                        .label(if twice { "fixed again" } else { "tested here, after the answer" })
                        .help("leave it out; what the records hold stands in their braces"),
                );
                return None;
            }
            let value = self.expr(value)?;
            typed.push(self.fits_field(on, field, &Ty::from(&field.ty), value)?);
            fixed.push(TestField { name: name.text.clone(), span: test.span });
        }
        values.extend(typed);
        Some(fixed)
    }
}

/// `ORDER BY` or `LIMIT` of a hop.
fn unordered(hop: &Hop) -> Option<Span> {
    hop.order.first().map(|key| key.key.span).or(hop.limit.as_ref().map(|limit| limit.span))
}

/// `field == value`, `alias.field == value`, or the other way round.
fn equality<'e>(hop: &Hop, test: &'e ast::Expr, shape: &TypeShape) -> Option<(&'e Name, &'e ast::Expr)> {
    let ExprKind::Binary { op: BinaryOp::Equal, left, right, op_span: _ } = &test.kind else { return None };
    let side = |expr: &'e ast::Expr| -> Option<&'e Name> {
        if let ExprKind::Name(name) = &expr.kind {
            return Some(name);
        }
        let ExprKind::Field { base, name } = &expr.kind else { return None };
        let ExprKind::Name(of) = &base.kind else { return None };
        (hop.alias.as_ref().is_some_and(|alias| alias.text == of.text)).then_some(name)
    };
    let known = |name: &&Name| shape.field(&name.text).is_some();
    let found = side(left).filter(known).map(|name| (name, right.as_ref()));
    let found = found.or_else(|| side(right).filter(known).map(|name| (name, left.as_ref())));
    found.or_else(|| side(left).map(|name| (name, right.as_ref())))
}
