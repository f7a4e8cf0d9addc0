//! Precedence: a flat row of operands and operators becomes a tree, without recursion, and no deeper than may be.
//!
//! Loosest first: `OR`, `AND`, `NOT`, comparison (never a chain), `+ -`, `* / %`, unary `-`.

use super::{
    ast::{Arg, BinaryOp, Call, Expr, ExprKind, Name, UnaryOp},
    closures::WEIGHT,
    pairs::Reader,
};
use crate::{
    diag::{Diagnostic, Fix, codes},
    source::Span,
};

/// How high an expression's tree may be; whoever walks it may then recurse.
pub(super) const MOST_HEIGHT: u32 = 256;

/// The height of what was too high and is reported: whatever holds it says nothing more.
const REPORTED: u32 = u32::MAX;

/// An expression, and how high its tree is.
pub(super) struct Built {
    pub(super) expr: Expr,
    pub(super) height: u32,
}

impl Built {
    pub(super) fn bad(span: Span) -> Self {
        Self { expr: Expr { span, kind: ExprKind::Bad }, height: 0 }
    }
}

/// What stands between operands.
#[derive(Clone, Copy)]
pub(super) enum Operator {
    Unary(UnaryOp),
    Binary(BinaryOp),
    /// `??` and `?:` of other languages.
    Fallback,
}

impl Operator {
    fn strength(self) -> u8 {
        match self {
            Self::Fallback => 0,
            Self::Binary(op) => match op {
                BinaryOp::Or => 1,
                BinaryOp::And => 2,
                BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::In
                | BinaryOp::Contains
                | BinaryOp::Within => COMPARISON,
                BinaryOp::Add | BinaryOp::Subtract => 5,
                BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => 6,
            },
            Self::Unary(UnaryOp::Not) => 3,
            Self::Unary(UnaryOp::Minus) => 7,
        }
    }
}

const COMPARISON: u8 = 4;

struct Operand {
    built: Built,
    /// A comparison without parentheses: it cannot be compared again.
    compared: bool,
}

/// The row while it is read.
pub(super) struct Row {
    operands: Vec<Operand>,
    operators: Vec<(Operator, Span)>,
    spoiled: bool,
}

impl Row {
    pub(super) fn new() -> Self {
        Self { operands: Vec::new(), operators: Vec::new(), spoiled: false }
    }

    pub(super) fn operand(&mut self, built: Built) {
        self.operands.push(Operand { built, compared: false });
    }

    /// What now stands last, for a test that follows its operand (`x IS <T>`).
    pub(super) fn take_compared(&mut self, reader: &mut Reader<'_>, op_span: Span) -> Option<Built> {
        self.reduce(reader, COMPARISON);
        self.refuse_chain(reader, op_span);
        self.operands.pop().map(|operand| operand.built)
    }

    pub(super) fn give_compared(&mut self, built: Built) {
        self.operands.push(Operand { built, compared: true });
    }

    pub(super) fn operator(&mut self, reader: &mut Reader<'_>, operator: Operator, span: Span) {
        match operator {
            Operator::Unary(_) => {}
            Operator::Binary(_) | Operator::Fallback => {
                self.reduce(reader, operator.strength());
                if operator.strength() == COMPARISON {
                    self.refuse_chain(reader, span);
                }
            }
        }
        self.operators.push((operator, span));
    }

    /// Joins what binds at least as strongly as what comes.
    fn reduce(&mut self, reader: &mut Reader<'_>, strength: u8) {
        while let Some((operator, span)) = self.operators.last().copied()
            && operator.strength() >= strength
        {
            self.operators.pop();
            self.apply(reader, operator, span);
        }
    }

    fn apply(&mut self, reader: &mut Reader<'_>, operator: Operator, op_span: Span) {
        let Some(Operand { built: right, .. }) = self.operands.pop() else { return };
        if let Operator::Unary(op) = operator {
            let span = op_span.to(right.expr.span);
            let kind = ExprKind::Unary { op, op_span, operand: Box::new(right.expr) };
            let built = reader.built(span, kind, right.height);
            self.operands.push(Operand { built, compared: false });
            return;
        }
        let Some(Operand { built: left, .. }) = self.operands.pop() else { return };
        let span = left.expr.span.to(right.expr.span);
        let height = left.height.max(right.height);
        let (kind, compared) = match operator {
            Operator::Binary(op) => {
                let kind = ExprKind::Binary { op, op_span, left: Box::new(left.expr), right: Box::new(right.expr) };
                (kind, operator.strength() == COMPARISON)
            }
            Operator::Unary(_) | Operator::Fallback => {
                let kind = reader.fallback(left.expr, right.expr, op_span);
                (kind, false)
            }
        };
        let built = reader.built(span, kind, height);
        self.operands.push(Operand { built, compared });
    }

    fn refuse_chain(&mut self, reader: &mut Reader<'_>, op_span: Span) {
        let Some(left) = self.operands.last().filter(|operand| operand.compared) else { return };
        let mut problem =
            Diagnostic::error(codes::MOV_PARSE_CHAIN, op_span, "a comparison has two sides; this is a third")
                .help("say each comparison, and join them with `AND`");
        if let ExprKind::Binary { op_span: first, right, .. } = &left.built.expr.kind {
            problem = problem.also(*first, "compared here already");
            let middle = reader.source(right.span);
            if middle.len() <= 40 {
                let says = format!("write `AND {middle} {}`", reader.source(op_span));
                problem = problem.fix(says, Span { end: op_span.start, ..op_span }, format!("AND {middle} "));
            }
        }
        if !self.spoiled {
            reader.report(problem);
        }
        self.spoiled = true;
    }

    pub(super) fn finish(mut self, reader: &mut Reader<'_>, span: Span) -> Built {
        self.reduce(reader, 0);
        match self.operands.pop() {
            Some(operand) if !self.spoiled => operand.built,
            Some(_) | None => Built::bad(span),
        }
    }
}

impl Reader<'_> {
    /// A node of the tree, unless the tree grows too high.
    pub(super) fn built(&mut self, span: Span, kind: ExprKind, below: u32) -> Built {
        if below < MOST_HEIGHT {
            self.highest = self.highest.max(below + 1);
            return Built { expr: Expr { span, kind }, height: below + 1 };
        }
        if below == REPORTED {
            return Built { expr: Expr { span, kind: ExprKind::Bad }, height: REPORTED };
        }
        let problem = Diagnostic::error(
            codes::MOV_PARSE_TOO_DEEP,
            span,
            format!("this expression nests deeper than {MOST_HEIGHT}, counting each operator of a chain, and a closure as {WEIGHT}"),
        )
        .help("bind parts of it to names");
        self.report(problem);
        self.highest = REPORTED;
        Built { expr: Expr { span, kind: ExprKind::Bad }, height: REPORTED }
    }

    /// `a ?? b` is `COALESCE(a, b)`.
    fn fallback(&mut self, left: Expr, right: Expr, op_span: Span) -> ExprKind {
        let sign = self.source(op_span).to_owned();
        let mut problem = Diagnostic::error(
            codes::MOV_PARSE_HABIT,
            op_span,
            format!("`{sign}` is written `COALESCE(value, fallback)`"),
        );
        let before = Span { start: left.span.end, end: op_span.end, ..op_span };
        let edits = vec![
            (Span { end: left.span.start, ..left.span }, "COALESCE(".to_owned()),
            (before, ",".to_owned()),
            (Span { start: right.span.end, ..right.span }, ")".to_owned()),
        ];
        let says = format!("write `COALESCE({}, {})`", self.source(left.span), self.source(right.span));
        problem.fix = Some(Fix { says, edits });
        self.report(problem);
        let args = [left, right].into_iter().map(|value| Arg { name: None, value }).collect();
        ExprKind::Call(Call { callee: Name { text: "COALESCE".into(), span: op_span }, args })
    }
}
