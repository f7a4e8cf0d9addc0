//! Expressions: each becomes a typed one, or `None` after its mistake was reported (dependants stay silent).

use lf_module::value::Value;
use smol_str::SmolStr;

use super::{
    body::{Body, Place, Resolved},
    compare::{joins_text, operator},
    functions, literals,
    narrow::proof,
    typed::{Expr, ExprKind, Item, Op, RecordItem},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
    syntax::{
        ast::{self, BinaryOp, Name, TextPart, UnaryOp},
        closure_place,
    },
    types::{Kind, Ty, relation},
};

impl Body<'_, '_> {
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let typed = self.checked(expr);
        if let (Some(typed), ast::ExprKind::Name(_) | ast::ExprKind::Field { .. }) = (&typed, &expr.kind) {
            self.cx.notes.typed(expr.span, &typed.ty);
        }
        typed
    }

    fn checked(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Text(parts) => self.text(span, parts),
            ast::ExprKind::Number(number) => Some(literal(span, Ty::Number, Value::Number(number.clone()))),
            ast::ExprKind::Duration(duration) => Some(literal(span, Ty::Duration, Value::Duration(*duration))),
            ast::ExprKind::Bool(flag) => Some(literal(span, Ty::Boolean, Value::Bool(*flag))),
            ast::ExprKind::Null => Some(literal(span, Ty::Absent, Value::Absent)),
            ast::ExprKind::Name(name) => self.name(span, name),
            ast::ExprKind::Field { base, name } => {
                let base = self.expr(base)?;
                self.field(span, base, name, false)
            }
            ast::ExprKind::Path(path) => self.path_value(path),
            ast::ExprKind::Call(call) => self.call_value(span, call),
            ast::ExprKind::Unary { op: UnaryOp::Not, operand, op_span: _ } => {
                let operand = self.condition(operand)?;
                Some(Expr { ty: Ty::Boolean, span, kind: ExprKind::Not(Box::new(operand)) })
            }
            ast::ExprKind::Unary { op: UnaryOp::Minus, operand, op_span } => self.negate(span, operand, *op_span),
            ast::ExprKind::Binary { .. } => self.chain(expr),
            ast::ExprKind::Is { operand, ty } => self.is(span, operand, ty),
            ast::ExprKind::As { operand, ty } => self.convert(span, operand, ty),
            ast::ExprKind::Exists(operand) => self.exists(span, operand),
            ast::ExprKind::If { arms, otherwise } => self.if_value(span, arms, otherwise),
            ast::ExprKind::List(items) => self.list(span, items),
            ast::ExprKind::Record(items) => self.record(span, items),
            ast::ExprKind::Closure(closure) => {
                self.visit_closure(closure);
                self.report(closure_place(closure.head));
                None
            }
            ast::ExprKind::Bad => None,
        }
    }

    /// An expression whose value must be there.
    pub(super) fn present(&mut self, expr: &ast::Expr, why: &str) -> Option<Expr> {
        let typed = self.expr(expr)?;
        self.ensure_present(typed, why)
    }

    fn text(&mut self, span: Span, parts: &[TextPart]) -> Option<Expr> {
        if let Some(text) = literals::plain_text(parts) {
            let ty = Ty::Choice(vec![SmolStr::from(&text)]);
            return Some(literal(span, ty, Value::text(text)));
        }
        let mut typed = Vec::with_capacity(parts.len());
        let mut whole = true;
        for part in parts {
            match part {
                TextPart::Text(text) => typed.push(literal(span, Ty::Text, Value::text(text.clone()))),
                TextPart::Expr(inner) => match self.interpolated(inner) {
                    Some(inner) => typed.push(inner),
                    None => whole = false,
                },
            }
        }
        whole.then_some(Expr { ty: Ty::Text, span, kind: ExprKind::Interpolate(typed) })
    }

    fn interpolated(&mut self, inner: &ast::Expr) -> Option<Expr> {
        let typed = self.expr(inner)?;
        let kind = typed.ty.kind();
        if kind.is_scalar() || kind == Kind::Absent {
            return self.ensure_present(typed, "an interpolation needs a value");
        }
        self.not_scalar(&typed, "an interpolation takes text, a number, a boolean, a date or a duration");
        None
    }

    fn name(&mut self, span: Span, name: &Name) -> Option<Expr> {
        match self.resolve(name)? {
            Resolved::Local(local) => self.local_expr(local, span),
            Resolved::Field(local) => {
                let base = self.local_expr(local, span)?;
                self.field(span, base, name, false)
            }
            Resolved::Constant(index) => {
                let (id, ty) = self.cx.constants.get(index)?.done.clone()?;
                Some(self.narrowed(Expr { ty, span, kind: ExprKind::Constant(id) }))
            }
        }
    }

    fn if_value(&mut self, span: Span, arms: &[(ast::Expr, ast::Expr)], otherwise: &ast::Expr) -> Option<Expr> {
        let start = self.mark();
        let mut typed = Vec::with_capacity(arms.len());
        let mut whole = true;
        for (condition, value) in arms {
            let condition = self.condition(condition);
            let proof = condition.as_ref().map(proof).unwrap_or_default();
            let before = self.mark();
            self.know(&proof.yes);
            let value = self.expr(value);
            self.forget(before);
            self.know(&proof.no);
            match (condition, value) {
                (Some(condition), Some(value)) => typed.push((condition, value)),
                (_, _) => whole = false,
            }
        }
        let otherwise = self.expr(otherwise);
        self.forget(start);
        let otherwise = otherwise?;
        if !whole {
            return None;
        }
        let mut ty = otherwise.ty.clone();
        for (_, value) in &typed {
            let Some(joined) = relation::join(&ty, &value.ty, &self.cx.graph) else {
                let (one, two) = (self.show(&value.ty), self.show(&ty));
                self.report(
                    Diagnostic::error(
                        codes::MOV_IF_TYPES,
                        value.span,
                        format!("the arms of this `IF` have no type in common: `{one}` and `{two}`"),
                    )
                    .label(one)
                    .also(otherwise.span, two)
                    .help("give both the same type"),
                );
                return None;
            };
            ty = joined;
        }
        Some(Expr { ty, span, kind: ExprKind::If { arms: typed, otherwise: Box::new(otherwise) } })
    }

    fn list(&mut self, span: Span, items: &[ast::ListItem]) -> Option<Expr> {
        let mut typed = Vec::with_capacity(items.len());
        let mut whole = true;
        let mut common: Option<(Ty, Span)> = None;
        for item in items {
            let (checked, ty) = match item {
                ast::ListItem::Item(value) => {
                    let Some(value) = self.expr(value) else {
                        whole = false;
                        continue;
                    };
                    let ty = value.ty.clone();
                    (Item::One(value), Some(ty))
                }
                ast::ListItem::Spread(value) => {
                    let Some(value) = self.present(value, "its members are added here") else {
                        whole = false;
                        continue;
                    };
                    let ty = match (&value.ty, value.ty.kind()) {
                        (Ty::List(item), _) => Some(item.as_ref().clone()),
                        (_, Kind::List) => None,
                        (other, _) => {
                            let shown = self.show(other);
                            self.report(
                                Diagnostic::error(
                                    codes::MOV_SPREAD,
                                    value.span,
                                    format!("only a list can be spread into a list, and this is `{shown}`"),
                                )
                                .help("leave out the `...` to add it as one member"),
                            );
                            whole = false;
                            continue;
                        }
                    };
                    (Item::Spread(value), ty)
                }
            };
            let (Item::One(value) | Item::Spread(value)) = &checked;
            let at = value.span;
            typed.push(checked);
            let Some(ty) = ty else { continue };
            common = match common {
                None => Some((ty, at)),
                Some((so_far, first)) => match relation::join(&so_far, &ty, &self.cx.graph) {
                    Some(joined) => Some((joined, first)),
                    None => {
                        let (one, two) = (self.show(&ty), self.show(&so_far));
                        self.report(
                            Diagnostic::error(
                                codes::MOV_LIST_MIXED,
                                at,
                                format!("a list holds one type, and this one has `{two}` and `{one}`"),
                            )
                            .label(one)
                            .also(first, two)
                            .help("turn numbers and dates into text with `TEXT(…)`, or use a record"),
                        );
                        whole = false;
                        Some((so_far, first))
                    }
                },
            };
        }
        let ty = common.map_or(Ty::EmptyList, |(ty, _)| Ty::List(Box::new(ty)));
        whole &= self.is_small(span, &ty);
        whole.then_some(Expr { ty, span, kind: ExprKind::List(typed) })
    }

    fn record(&mut self, span: Span, items: &[ast::RecordItem]) -> Option<Expr> {
        let mut typed = Vec::with_capacity(items.len());
        let mut fields: indexmap::IndexMap<SmolStr, Ty> = indexmap::IndexMap::new();
        let mut named: indexmap::IndexMap<SmolStr, Span> = indexmap::IndexMap::new();
        let mut whole = true;
        for item in items {
            match item {
                ast::RecordItem::Field(name, value) => {
                    if let Some(first) = named.insert(name.text.clone(), name.span) {
                        self.report(
                            Diagnostic::error(
                                codes::MOV_FIELD_TWICE,
                                name.span,
                                format!("the field `{}` is given twice", name.text),
                            )
                            .also(first, "given first here")
                            .help("leave one out"),
                        );
                        whole = false;
                    }
                    match self.expr(value) {
                        Some(value) => {
                            fields.insert(name.text.clone(), value.ty.clone());
                            typed.push(RecordItem::Field(name.text.clone(), value));
                        }
                        None => whole = false,
                    }
                }
                ast::RecordItem::Spread(value) => {
                    let spread = self.present(value, "its fields are taken here");
                    let found = spread.as_ref().and_then(|spread| self.fields_of(&spread.ty));
                    match (spread, found) {
                        (Some(spread), Some(found)) => {
                            fields.extend(found);
                            typed.push(RecordItem::Spread(spread));
                        }
                        (Some(spread), None) => {
                            let shown = self.show(&spread.ty);
                            self.report(
                                Diagnostic::error(
                                    codes::MOV_SPREAD,
                                    spread.span,
                                    format!("only a record can be spread into a record, and this is `{shown}`"),
                                )
                                .help("give it a name: `name: …`"),
                            );
                            whole = false;
                        }
                        (None, _) => whole = false,
                    }
                }
            }
        }
        let ty = Ty::Record(fields.into_iter().collect());
        whole &= self.is_small(span, &ty);
        whole.then_some(Expr { ty, span, kind: ExprKind::Record(typed) })
    }

    /// Whether a value's type is one that can be carried around; reports one that is not.
    pub(super) fn is_small(&mut self, span: Span, ty: &Ty) -> bool {
        let small = ty.is_small();
        if !small {
            self.report(functions::too_large(span, "the type of this value"));
        }
        small
    }

    /// Operators that lean to the left, as a loop: `a + b + c` is as deep as it is long.
    fn chain(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let mut rest = Vec::new();
        let mut first = expr;
        while let ast::ExprKind::Binary { op, op_span, left, right } = &first.kind {
            rest.push((first.span, *op, *op_span, right.as_ref()));
            first = left;
        }
        let mut null = is_null(first);
        let asked = rest.last().is_some_and(|(_, op, _, right)| is_equality(*op) && is_null(right));
        let outer = std::mem::replace(&mut self.opposite, rest.last().map(|(.., right)| right.span));
        let mut left = if asked { self.asked(first) } else { self.expr(first) };
        let mut rest = rest.into_iter().rev().peekable();
        while let Some((span, op, op_span, right)) = rest.next() {
            self.opposite = left.as_ref().map(|left| left.span);
            left = match op {
                BinaryOp::Add => {
                    let right = self.expr(right);
                    let mut parts = vec![left, right];
                    if joins_text(&parts) {
                        let mut whole = span;
                        while let Some((span, _, _, more)) = rest.next_if(|(_, op, ..)| *op == BinaryOp::Add) {
                            parts.push(self.expr(more));
                            whole = span;
                        }
                        self.text_joined(whole, op_span, &parts);
                        None
                    } else {
                        let right = parts.pop().flatten();
                        self.binary(span, op, op_span, parts.pop().flatten(), right)
                    }
                }
                BinaryOp::And | BinaryOp::Or => self.junction(span, op, left, right),
                BinaryOp::Equal | BinaryOp::NotEqual => self.equality(span, op, op_span, (left, null), right),
                BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::In
                | BinaryOp::Contains
                | BinaryOp::Within
                | BinaryOp::Subtract
                | BinaryOp::Multiply
                | BinaryOp::Divide
                | BinaryOp::Remainder => {
                    let right = self.expr(right);
                    self.binary(span, op, op_span, left, right)
                }
            };
            null = false;
        }
        self.opposite = outer;
        left
    }

    fn junction(&mut self, span: Span, op: BinaryOp, left: Option<Expr>, right: &ast::Expr) -> Option<Expr> {
        let left = left.and_then(|left| self.is_condition(left));
        let proof = left.as_ref().map(proof).unwrap_or_default();
        let mark = self.mark();
        self.know(if op == BinaryOp::And { &proof.yes } else { &proof.no });
        let right = self.condition(right);
        self.forget(mark);
        joined(span, operator(op), Ty::Boolean, left?, right?)
    }

    fn equality(
        &mut self,
        span: Span,
        op: BinaryOp,
        op_span: Span,
        (left, left_null): (Option<Expr>, bool),
        right: &ast::Expr,
    ) -> Option<Expr> {
        let null = left_null || is_null(right);
        let right = if null { self.asked(right) } else { self.expr(right) };
        let (left, right) = (left?, right?);
        self.comparable(op_span, &left, &right)?;
        if null {
            self.warn_null_test(span, op, &left, &right);
        }
        joined(span, operator(op), Ty::Boolean, left, right)
    }

    fn binary(
        &mut self,
        span: Span,
        op: BinaryOp,
        op_span: Span,
        left: Option<Expr>,
        right: Option<Expr>,
    ) -> Option<Expr> {
        let (left, right) = (left?, right?);
        let (op, ty, needs) = match op {
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                self.ordered(op_span, &left, &right)?;
                (operator(op), Ty::Boolean, ["what is absent has no order"; 2])
            }
            BinaryOp::In | BinaryOp::Contains => {
                let (item, list) = if op == BinaryOp::In { (&left, &right) } else { (&right, &left) };
                self.member(op, op_span, item, list)?;
                (operator(op), Ty::Boolean, ["membership needs a value"; 2])
            }
            BinaryOp::Within => {
                self.within(op_span, &left, &right)?;
                (Op::Within, Ty::Boolean, ["`WITHIN` needs an instant", "`WITHIN` needs a duration"])
            }
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Equal
            | BinaryOp::NotEqual => {
                let (op, ty) = self.arithmetic(op, op_span, &left, &right)?;
                (op, ty, ["arithmetic needs a value"; 2])
            }
        };
        let left = self.ensure_present(left, needs[0]);
        let right = self.ensure_present(right, needs[1]);
        joined(span, op, ty, left?, right?)
    }

    fn negate(&mut self, span: Span, operand: &ast::Expr, op_span: Span) -> Option<Expr> {
        let operand = self.present(operand, "arithmetic needs a value")?;
        match operand.ty.kind() {
            kind @ (Kind::Number | Kind::Duration) => {
                let ty = if kind == Kind::Number { Ty::Number } else { Ty::Duration };
                Some(Expr { ty, span, kind: ExprKind::Negate(Box::new(operand)) })
            }
            kind @ (Kind::Text
            | Kind::Boolean
            | Kind::Date
            | Kind::Datetime
            | Kind::Json
            | Kind::File
            | Kind::List
            | Kind::Record
            | Kind::Absent) => {
                self.report(
                    Diagnostic::error(
                        codes::MOV_ARITHMETIC,
                        op_span,
                        format!("`-` takes a number or a duration, not {}", kind.word()),
                    )
                    .also(operand.span, self.show(&operand.ty)),
                );
                None
            }
        }
    }

    /// A path as a value.
    fn path_value(&mut self, path: &ast::Path) -> Option<Expr> {
        if self.place == Place::Test {
            self.report(
                Diagnostic::error(codes::MOV_TEST_EFFECT, path.span, "a test reads no system")
                    .label("reads")
                    .help("say what a system answers with `answer`, and what it is sent with `expect write`"),
            );
            return None;
        }
        if let Place::Listen | Place::Constant = self.place {
            let (what, help) = if self.place == Place::Listen {
                ("the WHERE of a listen", "test it at the start of the fired function")
            } else {
                ("a file-level value", "read it inside a function")
            };
            self.report(
                Diagnostic::error(codes::MOV_READ_PLACE, path.span, format!("{what} cannot read a system"))
                    .label("reads")
                    .help(help),
            );
            return None;
        }
        let (scope, mark) = (self.open(), self.mark());
        let walked = self.walk(scope, path);
        self.forget(mark);
        self.close(scope);
        let walked = walked?;
        let landed = walked.hops.last().map(|hop| Ty::Position(hop.on.clone()))?;
        let ty = match walked.count {
            lf_module::schema::Count::One => landed,
            lf_module::schema::Count::Optional => landed.optional(),
            lf_module::schema::Count::Many => Ty::List(Box::new(landed)),
        };
        Some(Expr { ty, span: path.span, kind: ExprKind::Read(Box::new(walked)) })
    }
}

fn is_null(expr: &ast::Expr) -> bool {
    matches!(expr.kind, ast::ExprKind::Null)
}

fn is_equality(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Equal | BinaryOp::NotEqual)
}

fn joined(span: Span, op: Op, ty: Ty, left: Expr, right: Expr) -> Option<Expr> {
    Some(Expr { ty, span, kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) } })
}

pub(super) fn literal(span: Span, ty: Ty, value: Value) -> Expr {
    Expr { ty, span, kind: ExprKind::Literal(value) }
}
