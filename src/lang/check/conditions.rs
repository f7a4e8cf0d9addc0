//! What is asked of a value: true or false, there or not, of which type.

use super::{
    annotations,
    body::Body,
    narrow::Chain,
    typed::{Expr, ExprKind},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
    syntax::ast::{self, BinaryOp},
    types::{Kind, Ty, relation},
};

impl Body<'_, '_> {
    /// A condition: a boolean that is there.
    pub(super) fn condition(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let typed = self.expr(expr)?;
        self.is_condition(typed)
    }

    pub(super) fn is_condition(&mut self, typed: Expr) -> Option<Expr> {
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
            | Ty::File
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
        if typed.ty.may_be_absent() && !matches!(typed.ty, Ty::Absent) {
            self.report(report.help(format!("test whether it is there: `{text} != null`")));
            return None;
        }
        self.report(match typed.ty.kind() {
            Kind::List => report.help(format!("compare its length: `LENGTH({text}) > 0`")),
            Kind::Text => report.help(format!("compare it: `{text} != \"\"`")),
            Kind::Number => report.help(format!("compare it: `{text} != 0`")),
            Kind::Json
            | Kind::File
            | Kind::Record
            | Kind::Absent
            | Kind::Boolean
            | Kind::Date
            | Kind::Datetime
            | Kind::Duration => report.help(format!("test it: `EXISTS {text}`")),
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
            | ast::ExprKind::Closure(_)
            | ast::ExprKind::Bad => self.expr(expr),
        }
    }

    pub(super) fn exists(&mut self, span: Span, operand: &ast::Expr) -> Option<Expr> {
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

    pub(super) fn is(&mut self, span: Span, operand: &ast::Expr, ty: &ast::TypeExpr) -> Option<Expr> {
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

    pub(super) fn convert(&mut self, span: Span, operand: &ast::Expr, written: &ast::TypeExpr) -> Option<Expr> {
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
            let there = !operand.ty.may_be_absent();
            let call = |name: &str| format!("{name}({text})");
            let instead = match (operand.ty.kind(), ty.kind()) {
                _ if relation::fits(&operand.ty, &ty, &self.cx.graph) => Some(text.to_owned()),
                (from, Kind::Text) if from.is_scalar() && there => Some(call("TEXT")),
                (Kind::Text, Kind::Number) if there => Some(call("NUMBER")),
                (Kind::Text, Kind::Date) if there => Some(call("DATE")),
                (Kind::Text, Kind::Datetime) if there => Some(call("DATETIME")),
                (Kind::Text, Kind::Duration) if there => Some(call("DURATION")),
                (_, _) => None,
            };
            self.report(match instead {
                Some(instead) => report.fix(format!("write `{instead}`"), span, instead),
                None => report.help("its type is known already"),
            });
            return None;
        }
        if !can_be_json(&ty) {
            self.report(
                Diagnostic::error(codes::MOV_AS_TYPE, written.span, format!("json cannot be `{}`", self.show(&ty)))
                    .label(if relation::holds_file(&ty) {
                        "json holds data, not files"
                    } else {
                        "json holds data, not records of a system"
                    })
                    .help("ask for a record of fields: `AS <{ name: text }>`"),
            );
            return None;
        }
        let kind = ExprKind::As { operand: Box::new(operand), ty: ty.clone() };
        Some(self.narrowed(Expr { ty: ty.optional(), span, kind }))
    }

    pub(super) fn warn_null_test(&mut self, span: Span, op: BinaryOp, left: &Expr, right: &Expr) {
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
        };
        let report = match self.test_first(&expr) {
            Some(test) => report.help(test),
            None => report,
        };
        let fallback = match expr.ty.kind() {
            Kind::Text => Some("\"\""),
            Kind::Number => Some("0"),
            Kind::Boolean => Some("false"),
            Kind::List => Some("[]"),
            Kind::Date | Kind::Datetime | Kind::Duration | Kind::Json | Kind::File | Kind::Record | Kind::Absent => {
                None
            }
        };
        let report = match fallback {
            // What stands for a missing value is the author's to say.
            Some(fallback) => {
                let written = format!("COALESCE({text}, {fallback})");
                report.way(format!("give it a value: `{written}`"), vec![(expr.span, written)])
            }
            None => report,
        };
        self.report(report);
        None
    }

    /// How to prove that a value is there.
    pub(super) fn test_first(&self, expr: &Expr) -> Option<String> {
        if matches!(expr.ty, Ty::Absent) {
            return None;
        }
        let text = self.cx.slice(expr.span);
        Some(match Chain::of(expr) {
            Some(_) => format!("test it first: `if {text} != null {{ … }}`"),
            None => "bind it to a name, and test that: `if name != null { … }`".to_owned(),
        })
    }

    /// Reports a list, record, file or json where a single value is needed.
    pub(super) fn not_scalar(&mut self, typed: &Expr, needs: &str) {
        let text = self.cx.slice(typed.span);
        let shown = self.show(&typed.ty);
        let report = match typed.ty.kind() {
            Kind::Json => {
                Diagnostic::error(codes::MOV_JSON_OPAQUE, typed.span, format!("`{text}` is json, which is opaque"))
                    .label(needs)
                    .help(format!("say what it is first: `{text} AS <text>`"))
            }
            Kind::File => Diagnostic::error(
                codes::MOV_FILE_OPAQUE,
                typed.span,
                format!("`{text}` is a file, which is only written"),
            )
            .label(needs)
            .help(format!("name what is meant of it: `{text}.name`, `{text}.media_type` or `{text}.size`")),
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
}

/// Whether json can be converted to a type: it is data all the way down.
fn can_be_json(ty: &Ty) -> bool {
    match ty {
        Ty::Position(_) | Ty::Handle(_) | Ty::Change | Ty::File => false,
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
