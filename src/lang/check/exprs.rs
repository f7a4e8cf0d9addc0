//! Expressions: each becomes a typed one, or `None` after its mistake was reported (dependants stay silent).

use lf_module::value::Value;
use smol_str::SmolStr;

use super::{
    annotations,
    body::{Body, Place, Resolved},
    compare::operator,
    graph, literals,
    narrow::proof,
    typed::{Expr, ExprKind, Item, Op, RecordItem},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, BinaryOp, Name, TextPart, UnaryOp},
    types::{Kind, Ty, TypeRef, relation},
};

impl Body<'_, '_> {
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Option<Expr> {
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
            ast::ExprKind::Binary { op, op_span, left, right } => self.binary(span, *op, *op_span, left, right),
            ast::ExprKind::Is { operand, ty } => self.is(span, operand, ty),
            ast::ExprKind::As { operand, ty } => self.convert(span, operand, ty),
            ast::ExprKind::Exists(operand) => self.exists(span, operand),
            ast::ExprKind::If { arms, otherwise } => self.if_value(span, arms, otherwise),
            ast::ExprKind::List(items) => self.list(span, items),
            ast::ExprKind::Record(items) => self.record(span, items),
            ast::ExprKind::Bad => None,
        }
    }

    /// An expression whose value must be there.
    pub(super) fn present(&mut self, expr: &ast::Expr, why: &str) -> Option<Expr> {
        let typed = self.expr(expr)?;
        self.ensure_present(typed, why)
    }

    /// Reports a value that may be absent where one is needed; `why` says what needs it.
    pub(super) fn ensure_present(&mut self, expr: Expr, why: &str) -> Option<Expr> {
        if !expr.ty.may_be_absent() {
            return Some(expr);
        }
        let text = self.cx.slice(expr.span);
        let report = if matches!(expr.ty, Ty::Absent) {
            Diagnostic::error(codes::MOV_ABSENT, expr.span, format!("`{text}` is absent, and {why}"))
                .label("always absent")
        } else {
            Diagnostic::error(codes::MOV_ABSENT, expr.span, format!("`{text}` may be absent, and {why}"))
                .label(self.show(&expr.ty))
                .help(format!("test it first: `if {text} != null {{ … }}`"))
        };
        let fallback = match expr.ty.kind() {
            Kind::Text => Some("\"\""),
            Kind::Number => Some("0"),
            Kind::Boolean => Some("false"),
            Kind::List => Some("[]"),
            Kind::Date | Kind::Datetime | Kind::Duration | Kind::Json | Kind::Record | Kind::Absent => None,
        };
        let report = match fallback {
            Some(fallback) => report.help(format!("or give it a value: `COALESCE({text}, {fallback})`")).fix(
                format!("write `COALESCE({text}, {fallback})`"),
                expr.span,
                format!("COALESCE({text}, {fallback})"),
            ),
            None => report,
        };
        self.report(report);
        None
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

    /// Reports a list, record or json where a single value is needed.
    pub(super) fn not_scalar(&mut self, typed: &Expr, needs: &str) {
        let text = self.cx.slice(typed.span);
        let shown = self.show(&typed.ty);
        let report = match typed.ty.kind() {
            Kind::Json => {
                Diagnostic::error(codes::MOV_JSON_OPAQUE, typed.span, format!("`{text}` is json, which is opaque"))
                    .label(needs)
                    .help(format!("say what it is first: `{text} AS <text>`"))
            }
            Kind::List => Diagnostic::error(codes::MOV_RECORD_NOT_VALUE, typed.span, format!("`{text}` is a list"))
                .label(format!("{shown}; {needs}"))
                .help(format!("join its texts: `JOIN({text}, \", \")`")),
            Kind::Text
            | Kind::Number
            | Kind::Boolean
            | Kind::Date
            | Kind::Datetime
            | Kind::Duration
            | Kind::Record
            | Kind::Absent => {
                Diagnostic::error(codes::MOV_RECORD_NOT_VALUE, typed.span, format!("`{text}` is a whole record"))
                    .label(format!("{shown}; {needs}"))
                    .help(format!("name one of its fields: `{text}.…`"))
            }
        };
        self.report(report);
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

    /// Reads a field. `lenient`: where presence itself is asked for, a field of something absent is absent.
    pub(super) fn field(&mut self, span: Span, base: Expr, name: &Name, lenient: bool) -> Option<Expr> {
        let lenient = lenient || matches!(base.kind, ExprKind::Read(_));
        let ty = if base.ty.may_be_absent() {
            let Some(inner) = base.ty.present().filter(|_| lenient) else {
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
            Ty::Record(fields) => {
                let found = fields.iter().find(|(field, _)| *field == name.text).map(|(_, ty)| ty.clone());
                if found.is_none() {
                    let shown = format!("`{}`", self.show(ty));
                    self.no_field(&shown, name, fields.iter().map(|(field, _)| field.as_str()));
                }
                found
            }
            Ty::List(item) if item.kind() == Kind::Record && !item.may_be_absent() => {
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
                    (Kind::Text | Kind::List, "length" | "size" | "count") => report.help("its length is `LENGTH(…)`"),
                    (_, _) => report.help("only records have fields"),
                });
                None
            }
        }
    }

    fn described_field(&mut self, of: &TypeRef, handle: bool, name: &Name) -> Option<Ty> {
        let shape = self.cx.graph.shape(of)?;
        if let Some(ty) = relation::Graph::field(&self.cx.graph, of, handle, &name.text) {
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

    /// A condition: a boolean that is there.
    pub(super) fn condition(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let typed = self.expr(expr)?;
        match &typed.ty {
            Ty::Boolean => return Some(typed),
            Ty::Optional(inner) if **inner == Ty::Boolean => {
                return self.ensure_present(typed, "a condition is true or false");
            }
            Ty::Text
            | Ty::Number
            | Ty::Date
            | Ty::Datetime
            | Ty::Duration
            | Ty::Json
            | Ty::Choice(_)
            | Ty::List(_)
            | Ty::Record(_)
            | Ty::Position(_)
            | Ty::Handle(_)
            | Ty::Change
            | Ty::Optional(_)
            | Ty::Absent
            | Ty::EmptyList => {}
        }
        let text = self.cx.slice(typed.span);
        let report = Diagnostic::error(
            codes::MOV_CONDITION_BOOLEAN,
            typed.span,
            format!("a condition is true or false, and this is {}", typed.ty.kind().word()),
        )
        .label(self.show(&typed.ty));
        self.report(match typed.ty.kind() {
            Kind::List => report.help(format!("compare its length: `LENGTH({text}) > 0`")),
            Kind::Text => report.help(format!("compare it: `{text} != \"\"`")),
            Kind::Number => report.help(format!("compare it: `{text} != 0`")),
            Kind::Json | Kind::Record | Kind::Absent | Kind::Boolean | Kind::Date | Kind::Datetime | Kind::Duration => {
                report.help(format!("test it: `EXISTS {text}`"))
            }
        });
        None
    }

    /// An operand of which presence is asked: fields may be read off what may be absent.
    pub(super) fn asked(&mut self, expr: &ast::Expr) -> Option<Expr> {
        match &expr.kind {
            ast::ExprKind::Field { base, name } => {
                let base = self.asked(base)?;
                self.field(expr.span, base, name, true)
            }
            ast::ExprKind::Text(_)
            | ast::ExprKind::Number(_)
            | ast::ExprKind::Duration(_)
            | ast::ExprKind::Bool(_)
            | ast::ExprKind::Null
            | ast::ExprKind::Name(_)
            | ast::ExprKind::Path(_)
            | ast::ExprKind::Call(_)
            | ast::ExprKind::Unary { .. }
            | ast::ExprKind::Binary { .. }
            | ast::ExprKind::Is { .. }
            | ast::ExprKind::As { .. }
            | ast::ExprKind::Exists(_)
            | ast::ExprKind::If { .. }
            | ast::ExprKind::List(_)
            | ast::ExprKind::Record(_)
            | ast::ExprKind::Bad => self.expr(expr),
        }
    }

    fn exists(&mut self, span: Span, operand: &ast::Expr) -> Option<Expr> {
        let operand = self.asked(operand)?;
        // A path that lands on many is there if it lands on something.
        let many = matches!(operand.ty, Ty::List(_)) && matches!(operand.kind, ExprKind::Read(_));
        if matches!(operand.ty, Ty::Absent) {
            self.warn_fixed(span, "this is always false", "the value is always absent");
        } else if !operand.ty.may_be_absent() && !many && !self.doubtful(&operand) {
            let shown = self.show(&operand.ty);
            self.warn_fixed(span, "this is always true", &format!("`{shown}` is never absent"));
        }
        Some(Expr { ty: Ty::Boolean, span, kind: ExprKind::Exists(Box::new(operand)) })
    }

    /// Whether a value is typed as present but may be tested all the same.
    pub(super) fn doubtful(&self, expr: &Expr) -> bool {
        let ExprKind::Field { base, name } = &expr.kind else { return false };
        let Some(of) = base.ty.present().and_then(Ty::described) else { return false };
        self.cx.graph.shape(of).and_then(|shape| shape.field(name)).is_some_and(|field| field.doubtful)
    }

    pub(super) fn warn_fixed(&mut self, span: Span, headline: &str, why: &str) {
        self.report(
            Diagnostic::warning(codes::MOV_CONDITION_FIXED, span, headline).label(why).help("leave the test out"),
        );
    }

    fn is(&mut self, span: Span, operand: &ast::Expr, ty: &ast::TypeExpr) -> Option<Expr> {
        let operand = self.asked(operand);
        let ty = annotations::resolve(self.cx, self.file, ty);
        let (operand, ty) = (operand?, ty?);
        if operand.ty.kind() != Kind::Json {
            if relation::fits(&operand.ty, &ty, &self.cx.graph) && !self.doubtful(&operand) {
                let why = format!("it is `{}`", self.show(&operand.ty));
                self.warn_fixed(span, "this is always true", &why);
            } else if !relation::fits(&ty, &operand.ty, &self.cx.graph) && operand.ty.kind() != ty.kind() {
                let why = format!("it is `{}`", self.show(&operand.ty));
                self.warn_fixed(span, "this is always false", &why);
            }
        }
        Some(Expr { ty: Ty::Boolean, span, kind: ExprKind::Is { operand: Box::new(operand), ty } })
    }

    fn convert(&mut self, span: Span, operand: &ast::Expr, written: &ast::TypeExpr) -> Option<Expr> {
        let operand = self.asked(operand);
        let ty = annotations::resolve(self.cx, self.file, written);
        let (operand, ty) = (operand?, ty?);
        if operand.ty.kind() != Kind::Json {
            let text = self.cx.slice(operand.span);
            let shown = self.show(&operand.ty);
            let report = Diagnostic::error(
                codes::MOV_AS_NOT_JSON,
                operand.span,
                format!("`AS` converts json, and `{text}` is `{shown}`"),
            );
            self.report(match (operand.ty.kind(), ty.kind()) {
                (from, Kind::Text) if from.is_scalar() => report.help(format!("write `TEXT({text})`")),
                (Kind::Text, Kind::Number) => report.help(format!("write `NUMBER({text})`")),
                (_, _) => report.help("its type is known already"),
            });
            return None;
        }
        if !can_be_json(&ty) {
            self.report(
                Diagnostic::error(codes::MOV_AS_TYPE, written.span, format!("json cannot be `{}`", self.show(&ty)))
                    .label("json holds data, not records of a system")
                    .help("ask for a record of fields: `AS <{ name: text }>`"),
            );
            return None;
        }
        let kind = ExprKind::As { operand: Box::new(operand), ty: ty.clone() };
        Some(self.narrowed(Expr { ty: ty.optional(), span, kind }))
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
        whole.then_some(Expr { ty, span, kind: ExprKind::Record(typed) })
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
            | Ty::Choice(_)
            | Ty::List(_)
            | Ty::Optional(_)
            | Ty::Absent
            | Ty::EmptyList => None,
        }
    }

    fn binary(&mut self, span: Span, op: BinaryOp, op_span: Span, left: &ast::Expr, right: &ast::Expr) -> Option<Expr> {
        let (op, ty, left, right) = match op {
            BinaryOp::And | BinaryOp::Or => {
                let left = self.condition(left);
                let proof = left.as_ref().map(proof).unwrap_or_default();
                let mark = self.mark();
                self.know(if op == BinaryOp::And { &proof.yes } else { &proof.no });
                let right = self.condition(right);
                self.forget(mark);
                (operator(op), Ty::Boolean, left?, right?)
            }
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let null = matches!(left.kind, ast::ExprKind::Null) || matches!(right.kind, ast::ExprKind::Null);
                let (left, right) =
                    if null { (self.asked(left), self.asked(right)) } else { (self.expr(left), self.expr(right)) };
                let (left, right) = (left?, right?);
                self.comparable(op_span, &left, &right)?;
                if null {
                    self.warn_null_test(span, op, &left, &right);
                }
                (operator(op), Ty::Boolean, left, right)
            }
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                let (left, right) = (self.expr(left), self.expr(right));
                let (left, right) = (left?, right?);
                self.ordered(op_span, &left, &right)?;
                let left = self.ensure_present(left, "what is absent has no order");
                let right = self.ensure_present(right, "what is absent has no order");
                (operator(op), Ty::Boolean, left?, right?)
            }
            BinaryOp::In | BinaryOp::Contains => {
                let (left, right) = (self.expr(left), self.expr(right));
                let (left, right) = (left?, right?);
                let (item, list) = if op == BinaryOp::In { (&left, &right) } else { (&right, &left) };
                self.member(op, op_span, item, list)?;
                let left = self.ensure_present(left, "membership needs a value");
                let right = self.ensure_present(right, "membership needs a value");
                (operator(op), Ty::Boolean, left?, right?)
            }
            BinaryOp::Within => {
                let (left, right) = (self.expr(left), self.expr(right));
                let (left, right) = (left?, right?);
                self.within(op_span, &left, &right)?;
                let left = self.ensure_present(left, "`WITHIN` needs an instant");
                let right = self.ensure_present(right, "`WITHIN` needs a duration");
                (Op::Within, Ty::Boolean, left?, right?)
            }
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => {
                let (left, right) = (self.expr(left), self.expr(right));
                let (left, right) = (left?, right?);
                let (op, ty) = self.arithmetic(span, op, op_span, &left, &right)?;
                let left = self.ensure_present(left, "arithmetic needs a value");
                let right = self.ensure_present(right, "arithmetic needs a value");
                (op, ty, left?, right?)
            }
        };
        Some(Expr { ty, span, kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) } })
    }

    fn warn_null_test(&mut self, span: Span, op: BinaryOp, left: &Expr, right: &Expr) {
        let tested = if matches!(left.ty, Ty::Absent) { right } else { left };
        let same = op == BinaryOp::Equal;
        if matches!(tested.ty, Ty::Absent) {
            let headline = if same { "this is always true" } else { "this is always false" };
            self.warn_fixed(span, headline, "both sides are always absent");
        } else if !tested.ty.may_be_absent() && !self.doubtful(tested) && tested.ty != Ty::Json {
            let shown = self.show(&tested.ty);
            let headline = if same { "this is always false" } else { "this is always true" };
            self.warn_fixed(span, headline, &format!("`{shown}` is never absent"));
        }
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

pub(super) fn literal(span: Span, ty: Ty, value: Value) -> Expr {
    Expr { ty, span, kind: ExprKind::Literal(value) }
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

/// Whether json can be converted to a type: it is data all the way down.
fn can_be_json(ty: &Ty) -> bool {
    match ty {
        Ty::Position(_) | Ty::Handle(_) | Ty::Change => false,
        Ty::List(item) | Ty::Optional(item) => can_be_json(item),
        Ty::Record(fields) => fields.iter().all(|(_, ty)| can_be_json(ty)),
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::Choice(_)
        | Ty::Absent
        | Ty::EmptyList => true,
    }
}
