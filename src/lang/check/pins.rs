//! A hop's WHERE: what the source fixes (pins) and what is filtered here; the forms that a pin may have.
//!
//! One file, because the forms of a pin and their reports are one walk over one WHERE.

use lf_module::schema::{Pin, TypeShape};
use smol_str::SmolStr;

use super::{
    body::{Body, Landed, Place},
    hops::conjuncts,
    index::Meaning,
    typed::{Expr, ExprKind, Op},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
    syntax::ast::{self, BinaryOp, TextPart, UnaryOp},
    types::{Kind, Ty, TypeRef, relation},
};

/// What is filtered here after the fetch.
#[derive(Debug)]
pub(super) struct Filter {
    pub(super) expr: Expr,
    /// It fixes the record's key with `==`, so that at most one is left.
    pub(super) fixes_key: bool,
    /// The fields that it fixes with `==` to what is known before the hop.
    pub(super) fixed: Vec<(SmolStr, Expr)>,
}

/// The pins of a hop and the rest of its WHERE.
pub(super) type Parts = (Vec<(SmolStr, Expr)>, Option<Filter>);

impl Body<'_, '_> {
    /// Checks the WHERE of a hop onto `on` whose record is the innermost landed one.
    pub(super) fn filter(&mut self, hop: &ast::Hop, on: &TypeRef, shape: &TypeShape, pins: &[Pin]) -> Option<Parts> {
        let landed = self.landed.last().cloned()?;
        let required = pins.iter().any(|pin| pin.required);
        let mut walk = Walk { pins, required, fixed: Vec::new(), told: Vec::new(), whole: true };
        let mut filter: Option<Filter> = None;
        let mark = self.mark();
        for test in hop.filter.iter().flat_map(conjuncts) {
            let Some(checked) = self.test(&mut walk, test, on, shape, &landed) else { continue };
            self.know(&super::narrow::proof(&checked.expr).yes);
            filter = Some(match filter {
                None => checked,
                Some(before) => both(before, checked),
            });
        }
        self.forget(mark);
        let missing: Vec<&Pin> = pins
            .iter()
            .filter(|pin| pin.required)
            .filter(|pin| !walk.told.contains(&pin.field))
            .filter(|pin| !walk.fixed.iter().any(|(field, _, _)| *field == pin.field))
            .collect();
        if !missing.is_empty() {
            self.report_missing(hop, on, shape, &missing, &landed);
            return None;
        }
        let pins = walk.fixed.into_iter().map(|(field, value, _)| (field, value)).collect();
        walk.whole.then_some((pins, filter))
    }

    /// One test of the WHERE: a pin, or a condition that is tested here.
    fn test(
        &mut self,
        walk: &mut Walk<'_>,
        test: &ast::Expr,
        on: &TypeRef,
        shape: &TypeShape,
        landed: &Landed,
    ) -> Option<Filter> {
        let pinned =
            equality(test).and_then(|(op_span, left, right)| match (walk.pin(left, landed), walk.pin(right, landed)) {
                (Some(pin), _) => Some((pin, op_span, left, right)),
                (None, Some(pin)) => Some((pin, op_span, right, left)),
                (None, None) => None,
            });
        if let Some((pin, op_span, field, value)) = pinned {
            self.pin(walk, pin, op_span, field, value, on, shape);
            return None;
        }
        if let Some((pin, at, how)) = walk.misused(test, landed) {
            walk.told.push(pin.field.clone());
            walk.whole = false;
            self.report(wrong_test(pin, at, how));
            return None;
        }
        if walk.required
            && let Some((at, what)) = unsendable(test)
        {
            walk.whole = false;
            let shown = self.cx.graph.show_position(on);
            self.report(
                Diagnostic::error(
                    codes::MOV_HOP_PIN_REQUIRED,
                    at,
                    format!("a WHERE on `{shown}` {what}, so it cannot be sent"),
                )
                .label("not something the system can be asked")
                .help("bind it to a name before the hop, or test it with `if` inside the block"),
            );
            return None;
        }
        let Some(expr) = self.condition(test) else {
            walk.whole = false;
            return None;
        };
        let fixes_key = shape.key.as_ref().is_some_and(|key| fixes(&expr, key, landed));
        let fixed = self.known_before(test, &expr, landed).into_iter().collect();
        Some(Filter { expr, fixes_key, fixed })
    }

    /// Whether a value is, or is a field of, what was written as `list[0]`.
    fn is_indexed(&self, value: &ast::Expr) -> bool {
        let mut inner = value;
        while let ast::ExprKind::Field { base, name: _ } = &inner.kind {
            inner = base;
        }
        matches!(&inner.kind, ast::ExprKind::Call(call) if self.cx.slice(call.callee.span).starts_with('['))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one test, split once")]
    fn pin(
        &mut self,
        walk: &mut Walk<'_>,
        pin: &Pin,
        op_span: Span,
        field: &ast::Expr,
        value: &ast::Expr,
        on: &TypeRef,
        shape: &TypeShape,
    ) {
        if let Some((_, _, first)) = walk.fixed.iter().find(|(field, _, _)| *field == pin.field) {
            let first = *first;
            walk.whole = false;
            self.report(
                Diagnostic::error(codes::MOV_HOP_PIN_FORM, field.span, format!("`{}` is fixed twice", pin.field))
                    .label("the system takes one value for it")
                    .also(first, "fixed here")
                    .help("keep one of the two"),
            );
            return;
        }
        // `list[0]` was reported where it was read: once it is mended there is more to say.
        if self.is_indexed(value) {
            walk.whole = false;
            walk.told.push(pin.field.clone());
            return;
        }
        let landed = self.landed.last().cloned();
        let own = |name: &ast::Name| self.is_landed_field(&name.text) && !self.in_scope(&name.text);
        if let Some((at, what)) = landed.as_ref().and_then(|landed| not_fixable(value, landed, &own)) {
            walk.whole = false;
            walk.told.push(pin.field.clone());
            let code = if pin.required { codes::MOV_HOP_PIN_REQUIRED } else { codes::MOV_HOP_PIN_FORM };
            self.report(
                Diagnostic::error(code, at, format!("`{}` is fixed to {what}", pin.field))
                    .label("a literal, a name in scope, or a text made of those is sent")
                    .help(format!(
                        "bind it to a name before the hop, and write `{} == name`",
                        self.cx.slice(field.span)
                    )),
            );
            return;
        }
        let outer = self.opposite.replace(field.span);
        let unambiguous = self.own_side(field) & self.other_side(value);
        self.opposite = outer;
        if let ast::ExprKind::Name(name) | ast::ExprKind::Field { name, base: _ } = &field.kind {
            self.cx.notes.mention(name.span, Meaning::Field { of: on.clone(), name: pin.field.clone() });
        }
        // The value is asked for before the hop is made: the landed record is not there yet.
        let hidden = self.landed.pop();
        let typed = unambiguous.then(|| self.expr(value)).flatten();
        self.landed.extend(hidden);
        let target = self.landed.last().map(|landed| landed.local);
        let target = target.and_then(|local| self.local_expr(local, field.span)).map(|record| Expr {
            ty: shape.field(&pin.field).map_or(Ty::Json, |field| Ty::from(&field.ty)),
            span: field.span,
            kind: ExprKind::Field { base: Box::new(record), name: pin.field.clone() },
        });
        let (Some(typed), Some(target)) = (typed, target) else {
            walk.whole = false;
            walk.told.push(pin.field.clone());
            return;
        };
        match self.pin_value(pin, op_span, &target, typed, on) {
            Some(typed) => walk.fixed.push((pin.field.clone(), typed, field.span)),
            None => {
                walk.whole = false;
                walk.told.push(pin.field.clone());
            }
        }
    }

    /// The side of a pin that names the field: a use of the alias, or a bare name that is nothing else.
    fn own_side(&mut self, field: &ast::Expr) -> bool {
        if let ast::ExprKind::Name(name) = &field.kind
            && self.in_scope(&name.text)
        {
            self.report_ambiguous(name);
            return false;
        }
        if let Some(alias) = root(field) {
            self.find_local(alias);
        }
        true
    }

    /// The side of a pin that gives the value: its names are not also fields of the landed record.
    fn other_side(&mut self, value: &ast::Expr) -> bool {
        let mut roots = Vec::new();
        reads(value, &mut |inner| roots.extend(root(inner)));
        for name in roots {
            if self.is_landed_field(&name.text) && self.in_scope(&name.text) {
                self.report_ambiguous(name);
                return false;
            }
        }
        true
    }

    /// The value of a pin is one that the system takes.
    fn pin_value(&mut self, pin: &Pin, op_span: Span, target: &Expr, value: Expr, on: &TypeRef) -> Option<Expr> {
        let ty = target.ty.clone();
        let kind = value.ty.kind();
        if value.ty.may_be_absent() && (ty == Ty::Json || kind == Kind::Absent || kind == ty.kind()) {
            let text = self.cx.slice(value.span);
            self.report(
                Diagnostic::error(
                    codes::MOV_ABSENT,
                    value.span,
                    format!("`{text}` may be absent, and `{}` is sent to the system", pin.field),
                )
                .label(self.show(&value.ty))
                .help(format!("test it before the hop: `if {text} != null {{ … }}`")),
            );
            return None;
        }
        if ty == Ty::Json {
            return Some(value);
        }
        if kind == Kind::Json || kind != ty.kind() {
            if kind == Kind::Json {
                self.not_scalar(&value, "its type has to be known");
            } else if ty.kind() == Kind::Text {
                self.kinds_differ(op_span, target, &value);
            } else {
                self.pin_kinds_differ(op_span, target, &value);
            }
            return None;
        }
        if relation::fits(&value.ty, &ty, &self.cx.graph) {
            return Some(value);
        }
        let Ty::Choice(members) = &ty else {
            self.kinds_differ(op_span, target, &value);
            return None;
        };
        match value.ty.known_text().cloned() {
            Some(text) => self.not_a_member(&value, &text, members, Some(&pin.field)),
            None => {
                let shown = self.show(&value.ty);
                let on = self.cx.graph.show_position(on);
                self.report(
                    Diagnostic::error(
                        codes::MOV_CHOICE_UNKNOWN,
                        value.span,
                        format!("`{}` of `{on}` takes {}", pin.field, super::compare::list_members(members)),
                    )
                    .label(format!("`{shown}` may be another"))
                    .help("give a literal, or a value of a type within these"),
                );
            }
        }
        None
    }

    /// The field's kind is the system's to say: only the value can be converted, and before the hop.
    fn pin_kinds_differ(&mut self, op_span: Span, target: &Expr, value: &Expr) {
        let (one, two) = (self.plain(&target.ty), self.plain(&value.ty));
        let text = self.cx.slice(value.span);
        let report =
            Diagnostic::error(codes::MOV_COMPARE_KINDS, op_span, format!("{one} and {two} cannot be compared"))
                .label("compares values of one kind")
                .also(target.span, one)
                .also(value.span, two);
        let convert = match (value.ty.kind(), target.ty.kind()) {
            (Kind::Text, Kind::Number) => Some("NUMBER"),
            (Kind::Text, Kind::Date) => Some("DATE"),
            (Kind::Text, Kind::Datetime) => Some("DATETIME"),
            (Kind::Text, Kind::Duration) => Some("DURATION"),
            (_, _) => None,
        };
        self.report(match convert {
            Some(convert) => {
                report.help(format!("bind `{convert}({text})` to a name before the hop, and test that it is there"))
            }
            None => report.help("give a value of the field's kind"),
        });
    }

    fn report_missing(&mut self, hop: &ast::Hop, on: &TypeRef, shape: &TypeShape, missing: &[&Pin], landed: &Landed) {
        let names: Vec<String> = missing.iter().map(|pin| format!("`{}`", pin.field)).collect();
        let shown = self.cx.graph.show_position(on);
        let alias = landed.alias.as_deref().map(|alias| format!("{alias}.")).unwrap_or_default();
        let tests: Vec<String> =
            missing.iter().map(|pin| format!("{alias}{} == …", super::written_name(&pin.field))).collect();
        let verb = if missing.len() == 1 { "has" } else { "have" };
        let what = if shape.writable { "pinned" } else { "given" };
        self.report(
            Diagnostic::error(
                codes::MOV_HOP_PIN_REQUIRED,
                hop.edge.span,
                format!("{} {verb} to be {what} to read `{shown}`", names.join(", ")),
            )
            .label("not fixed with `==`")
            .help(format!("pin it: `WHERE {}`", tests.join(" AND "))),
        );
    }

    /// The WHERE of a listen: pins that go to the source, and what the changed record must satisfy.
    pub(super) fn listen_filter(&mut self, hop: &ast::Hop, on: &TypeRef, pins: &[Pin]) -> Option<Parts> {
        let shape = self.cx.graph.shape(on)?;
        self.at(Place::Listen, |body| body.filter(hop, on, shape, pins))
    }
}

/// The pins met so far on one hop.
struct Walk<'p> {
    pins: &'p [Pin],
    /// One of them is required, so that the whole WHERE has to be sent.
    required: bool,
    /// Field, value, and where the field stands.
    fixed: Vec<(SmolStr, Expr, Span)>,
    /// Pins that something was said about: their absence is not reported again.
    told: Vec<SmolStr>,
    whole: bool,
}

impl<'p> Walk<'p> {
    /// The pin that an expression reads, if it reads one.
    fn pin(&self, expr: &ast::Expr, landed: &Landed) -> Option<&'p Pin> {
        let field = if let ast::ExprKind::Field { base, name } = &expr.kind {
            let ast::ExprKind::Name(alias) = &base.kind else { return None };
            (Some(&alias.text) == landed.alias.as_ref()).then_some(&name.text)?
        } else {
            let ast::ExprKind::Name(name) = &expr.kind else { return None };
            &name.text
        };
        self.pins.iter().find(|pin| pin.field == *field)
    }

    /// A pin that a test reads in a way that cannot be sent: which, where, and how.
    fn misused(&self, test: &ast::Expr, landed: &Landed) -> Option<(&'p Pin, Span, How)> {
        let (at, how) = if let ast::ExprKind::Binary { op, op_span, left, right } = &test.kind {
            if let Some(pin) = self.pin(left, landed).or_else(|| self.pin(right, landed)) {
                let how = if *op == BinaryOp::NotEqual { How::NotEqual } else { How::Other };
                return Some((pin, *op_span, how));
            }
            (None, if *op == BinaryOp::Or { How::Or } else { How::Other })
        } else if let ast::ExprKind::Unary { op: UnaryOp::Not, op_span, operand: _ } = &test.kind {
            (Some(*op_span), How::Not)
        } else {
            (None, How::Other)
        };
        self.inside(test, landed).map(|(pin, span)| (pin, at.unwrap_or(span), how))
    }

    /// The first pin read anywhere inside an expression.
    fn inside(&self, expr: &ast::Expr, landed: &Landed) -> Option<(&'p Pin, Span)> {
        let mut found = None;
        reads(expr, &mut |inner| {
            if found.is_none() {
                found = self.pin(inner, landed).map(|pin| (pin, inner.span));
            }
        });
        found
    }
}

/// How a pin is tested that is not `==` joined by `AND`.
#[derive(Debug, Clone, Copy)]
enum How {
    NotEqual,
    Or,
    Not,
    Other,
}

fn wrong_test(pin: &Pin, at: Span, how: How) -> Diagnostic {
    let code = if pin.required { codes::MOV_HOP_PIN_REQUIRED } else { codes::MOV_HOP_PIN_FORM };
    let field = &pin.field;
    let (says, label) = match how {
        How::NotEqual => (format!("`{field}` is tested with `!=`"), "cannot be sent: the system takes one value"),
        How::Or => (format!("`{field}` stands under `OR`"), "cannot be sent: the system takes one value"),
        How::Not => (format!("`{field}` stands under `NOT`"), "cannot be sent: the system takes one value"),
        How::Other => (format!("`{field}` is not tested with `==`"), "cannot be sent: the system takes one value"),
    };
    let help = if pin.required {
        format!("pin `{field}` with `==`, joined to the rest by `AND`")
    } else {
        format!("fix `{field}` with `==`, joined to the rest by `AND`, or test it with `if` inside the block")
    };
    Diagnostic::error(code, at, says).label(label).help(help)
}

/// Calls `visit` with every name and field chain of an expression, whole chains first and once.
fn reads<'e>(expr: &'e ast::Expr, visit: &mut impl FnMut(&'e ast::Expr)) {
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        match &expr.kind {
            ast::ExprKind::Name(_) => visit(expr),
            ast::ExprKind::Field { base, name: _ } => {
                visit(expr);
                if !matches!(base.kind, ast::ExprKind::Name(_)) {
                    open.push(base);
                }
            }
            ast::ExprKind::Text(parts) => {
                open.extend(parts.iter().filter_map(|part| match part {
                    TextPart::Expr(inner) => Some(inner),
                    TextPart::Text(_) => None,
                }));
            }
            ast::ExprKind::Call(call) => open.extend(call.args.iter().map(|arg| &arg.value)),
            ast::ExprKind::Closure(closure) => {
                if let ast::ClosureBody::Value(value) = &closure.body {
                    open.push(value);
                }
            }
            ast::ExprKind::Unary { operand, op: _, op_span: _ }
            | ast::ExprKind::Is { operand, ty: _ }
            | ast::ExprKind::As { operand, ty: _ }
            | ast::ExprKind::Exists(operand) => open.push(operand),
            ast::ExprKind::Binary { left, right, op: _, op_span: _ } => {
                open.push(right);
                open.push(left);
            }
            ast::ExprKind::If { arms, otherwise } => {
                open.push(otherwise);
                for (condition, value) in arms {
                    open.push(value);
                    open.push(condition);
                }
            }
            ast::ExprKind::List(items) => open.extend(items.iter().map(|item| match item {
                ast::ListItem::Item(value) | ast::ListItem::Spread(value) => value,
            })),
            ast::ExprKind::Record(items) => open.extend(items.iter().map(|item| match item {
                ast::RecordItem::Field(_, value) | ast::RecordItem::Spread(value) => value,
            })),
            ast::ExprKind::Path(_)
            | ast::ExprKind::Number(_)
            | ast::ExprKind::Duration(_)
            | ast::ExprKind::Bool(_)
            | ast::ExprKind::Null
            | ast::ExprKind::Bad => {}
        }
    }
}

/// `left == right`
pub(super) fn equality(test: &ast::Expr) -> Option<(Span, &ast::Expr, &ast::Expr)> {
    let ast::ExprKind::Binary { op: BinaryOp::Equal, op_span, left, right } = &test.kind else { return None };
    Some((*op_span, left, right))
}

/// The name that a chain of fields starts at.
fn root(expr: &ast::Expr) -> Option<&ast::Name> {
    if let ast::ExprKind::Field { base, name: _ } = &expr.kind {
        return root(base);
    }
    if let ast::ExprKind::Name(name) = &expr.kind { Some(name) } else { None }
}

/// Why a value cannot be fixed before the hop is made, and where; `None` if it can.
pub(super) fn not_fixable(
    value: &ast::Expr,
    landed: &Landed,
    own: &dyn Fn(&ast::Name) -> bool,
) -> Option<(Span, &'static str)> {
    match &value.kind {
        ast::ExprKind::Number(_)
        | ast::ExprKind::Duration(_)
        | ast::ExprKind::Bool(_)
        | ast::ExprKind::Null
        | ast::ExprKind::Closure(_)
        | ast::ExprKind::Bad => None,
        ast::ExprKind::Name(name) => {
            let own = Some(&name.text) == landed.alias.as_ref() || own(name);
            own.then_some((value.span, "the record that is asked for"))
        }
        ast::ExprKind::Field { base, name: _ }
            if matches!(base.kind, ast::ExprKind::Name(_) | ast::ExprKind::Field { .. }) =>
        {
            not_fixable(base, landed, own).map(|(_, what)| (value.span, what))
        }
        ast::ExprKind::Text(parts) => parts.iter().find_map(|part| match part {
            TextPart::Text(_) => None,
            TextPart::Expr(inner) => not_fixable(inner, landed, own),
        }),
        ast::ExprKind::Unary { op: UnaryOp::Minus, operand, op_span: _ } => {
            let literal = matches!(operand.kind, ast::ExprKind::Number(_) | ast::ExprKind::Duration(_));
            (!literal).then_some((value.span, "something that is computed"))
        }
        ast::ExprKind::List(items) => items.iter().find_map(|item| match item {
            ast::ListItem::Item(inner) => not_fixable(inner, landed, own),
            ast::ListItem::Spread(inner) => Some((inner.span, "something that is computed")),
        }),
        ast::ExprKind::Call(_) => Some((value.span, "the answer of a call")),
        ast::ExprKind::Path(_) => Some((value.span, "what another path lands on")),
        ast::ExprKind::Unary { .. }
        | ast::ExprKind::Field { .. }
        | ast::ExprKind::Binary { .. }
        | ast::ExprKind::Is { .. }
        | ast::ExprKind::As { .. }
        | ast::ExprKind::Exists(_)
        | ast::ExprKind::If { .. }
        | ast::ExprKind::Record(_) => Some((value.span, "something that is computed")),
    }
}

/// A call or an EXISTS inside a test, which a system cannot be asked.
fn unsendable(test: &ast::Expr) -> Option<(Span, &'static str)> {
    let mut open = vec![test];
    while let Some(expr) = open.pop() {
        match &expr.kind {
            ast::ExprKind::Call(call) => return Some((call.callee.span, "calls a function")),
            ast::ExprKind::Exists(_) => return Some((expr.span, "tests EXISTS")),
            ast::ExprKind::Path(path) => return Some((path.span, "reads another path")),
            ast::ExprKind::Unary { operand, op: _, op_span: _ }
            | ast::ExprKind::Is { operand, ty: _ }
            | ast::ExprKind::As { operand, ty: _ } => open.push(operand),
            ast::ExprKind::Field { base, name: _ } => open.push(base),
            ast::ExprKind::Binary { left, right, op: _, op_span: _ } => {
                open.push(right);
                open.push(left);
            }
            ast::ExprKind::If { arms, otherwise } => {
                open.push(otherwise);
                for (condition, value) in arms {
                    open.push(value);
                    open.push(condition);
                }
            }
            ast::ExprKind::Text(parts) => open.extend(parts.iter().filter_map(|part| match part {
                TextPart::Expr(inner) => Some(inner),
                TextPart::Text(_) => None,
            })),
            ast::ExprKind::List(items) => open.extend(items.iter().map(|item| match item {
                ast::ListItem::Item(value) | ast::ListItem::Spread(value) => value,
            })),
            ast::ExprKind::Record(items) => open.extend(items.iter().map(|item| match item {
                ast::RecordItem::Field(_, value) | ast::RecordItem::Spread(value) => value,
            })),
            ast::ExprKind::Name(_)
            | ast::ExprKind::Number(_)
            | ast::ExprKind::Duration(_)
            | ast::ExprKind::Bool(_)
            | ast::ExprKind::Null
            | ast::ExprKind::Closure(_)
            | ast::ExprKind::Bad => {}
        }
    }
    None
}

fn both(one: Filter, two: Filter) -> Filter {
    let span = one.expr.span.to(two.expr.span);
    let fixed = one.fixed.into_iter().chain(two.fixed).collect();
    let kind = ExprKind::Binary { op: Op::And, left: Box::new(one.expr), right: Box::new(two.expr) };
    Filter { expr: Expr { ty: Ty::Boolean, span, kind }, fixes_key: one.fixes_key || two.fixes_key, fixed }
}

/// Whether a condition is `key == something`.
fn fixes(condition: &Expr, key: &SmolStr, landed: &Landed) -> bool {
    let ExprKind::Binary { op: Op::Equal, left, right } = &condition.kind else { return false };
    let is_key = |side: &Expr| {
        matches!(&side.kind, ExprKind::Field { base, name }
            if name == key && matches!(base.kind, ExprKind::Local(local) if local == landed.local))
    };
    is_key(left) || is_key(right)
}
