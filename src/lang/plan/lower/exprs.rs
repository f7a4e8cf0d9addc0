//! Expressions: pure ones become entries of the plan's table; a call or a read inside one becomes a step before it.
//!
//! INVARIANT: steps stand in evaluation order, and nothing is read that need not be: what `IF`, `AND`, `OR` and
//! `COALESCE` may skip stands in a block of its own.

use smol_str::SmolStr;

use super::{Body, Shared, described};
use crate::{
    check::typed::{self, Builtin, ExprKind, Item, Op as Operator, RecordItem, Way},
    plan::ir::{self, Expected, Expr, ExprId, Field, FunctionIndex, Op, Slot},
    types::Ty,
};

/// Whether a call or a read stands in it.
pub(super) fn has_steps(expr: &typed::Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Local(_) | ExprKind::Constant(_) => false,
        ExprKind::Call { .. } | ExprKind::Read(_) | ExprKind::Through(_) => true,
        ExprKind::Field { base, name: _ } => has_steps(base),
        ExprKind::Not(operand)
        | ExprKind::Negate(operand)
        | ExprKind::Is { operand, ty: _ }
        | ExprKind::As { operand, ty: _ }
        | ExprKind::Exists(operand) => has_steps(operand),
        ExprKind::Binary { op: _, left, right } => has_steps(left) || has_steps(right),
        ExprKind::Interpolate(parts) => parts.iter().any(has_steps),
        ExprKind::Builtin { builtin: _, args } => args.iter().any(has_steps),
        ExprKind::If { arms, otherwise } => {
            has_steps(otherwise) || arms.iter().any(|(condition, value)| has_steps(condition) || has_steps(value))
        }
        ExprKind::List(items) => items.iter().any(|item| match item {
            Item::One(value) | Item::Spread(value) => has_steps(value),
        }),
        ExprKind::Record(items) => items.iter().any(|item| match item {
            RecordItem::Field(_, value) | RecordItem::Spread(value) => has_steps(value),
        }),
    }
}

/// The type of a list's members.
fn member(ty: &Ty) -> &Ty {
    if let Ty::List(inner) = ty { inner } else { ty }
}

fn is_null(expr: &typed::Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(lf_module::Value::Absent))
}

impl Body<'_, '_> {
    pub(super) fn expr(&mut self, expr: &typed::Expr) -> ExprId {
        self.lower(expr, false)
    }

    /// `lenient`: the expression is asked whether it is there, so that a missing field is an answer and no drift.
    pub(super) fn lower(&mut self, expr: &typed::Expr, lenient: bool) -> ExprId {
        let id = self.lowered(expr, lenient);
        if !matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Local(_) | ExprKind::Constant(_)) {
            let Shared { texts, places, .. } = self.shared;
            texts.entry(id.0).or_insert_with(|| places.text(expr.span));
        }
        id
    }

    fn lowered(&mut self, expr: &typed::Expr, lenient: bool) -> ExprId {
        let lowered = match &expr.kind {
            ExprKind::Literal(value) => Expr::Literal(value.clone()),
            ExprKind::Local(local) => Expr::Slot(Slot(local.0)),
            ExprKind::Constant(constant) => Expr::Constant(constant.0),
            ExprKind::Field { base, name } => {
                let each = matches!(base.ty, Ty::List(_) | Ty::EmptyList);
                let expect = if lenient { None } else { self.expectation(base, each, &expr.ty) };
                let base = self.expr(base);
                Expr::Field(Box::new(Field { base, name: name.clone(), each, expect }))
            }
            ExprKind::Interpolate(parts) => Expr::Interpolate(self.strict(parts)),
            ExprKind::Not(operand) => Expr::Not(self.expr(operand)),
            ExprKind::Negate(operand) => Expr::Negate(self.expr(operand)),
            ExprKind::Binary { op, left, right } => return self.binary(expr, *op, left, right),
            ExprKind::Is { operand, ty } => Expr::Is { operand: self.lower(operand, true), ty: ty.clone() },
            ExprKind::As { operand, ty } => Expr::As { operand: self.lower(operand, true), ty: ty.clone() },
            ExprKind::Exists(operand) => match &operand.kind {
                ExprKind::Read(path) => {
                    let list = self.land(path, None);
                    Expr::Lands(self.add(Expr::Slot(list)))
                }
                ExprKind::Literal(_)
                | ExprKind::Local(_)
                | ExprKind::Constant(_)
                | ExprKind::Field { .. }
                | ExprKind::Interpolate(_)
                | ExprKind::Not(_)
                | ExprKind::Negate(_)
                | ExprKind::Binary { .. }
                | ExprKind::Is { .. }
                | ExprKind::As { .. }
                | ExprKind::Exists(_)
                | ExprKind::If { .. }
                | ExprKind::List(_)
                | ExprKind::Record(_)
                | ExprKind::Call { .. }
                | ExprKind::Through(_)
                | ExprKind::Builtin { .. } => Expr::Present(self.lower(operand, true)),
            },
            ExprKind::If { arms, otherwise } => return self.conditional(expr, arms, otherwise),
            ExprKind::List(items) => {
                let operands = items.iter().map(|item| match item {
                    Item::One(value) | Item::Spread(value) => (value, false),
                });
                let operands: Vec<_> = operands.collect();
                let values = self.operands(&operands).into_iter();
                let items = items.iter().zip(values).map(|(item, value)| match item {
                    Item::One(_) => ir::Item::One(value),
                    Item::Spread(_) => ir::Item::Spread(value),
                });
                Expr::List(items.collect())
            }
            ExprKind::Record(items) => {
                let operands = items.iter().map(|item| match item {
                    RecordItem::Field(_, value) | RecordItem::Spread(value) => (value, false),
                });
                let operands: Vec<_> = operands.collect();
                let values = self.operands(&operands).into_iter();
                let items = items.iter().zip(values).map(|(item, value)| match item {
                    RecordItem::Field(name, _) => ir::RecordItem::Field(name.clone(), value),
                    RecordItem::Spread(_) => ir::RecordItem::Spread(value),
                });
                Expr::Record(items.collect())
            }
            ExprKind::Call { .. } => {
                let slot = self.temporary();
                self.call(expr, Some(slot));
                Expr::Slot(slot)
            }
            ExprKind::Builtin { builtin: Builtin::Coalesce, args } => return self.coalesce(expr, args),
            ExprKind::Builtin { builtin, args } => Expr::Builtin { builtin: *builtin, args: self.strict(args) },
            ExprKind::Through(through) => return self.through(expr.span, through),
            ExprKind::Read(path) => return self.landed(path, None),
        };
        self.add(lowered)
    }

    /// Binds a slot to a value.
    pub(super) fn bind(&mut self, slot: Slot, value: &typed::Expr) {
        if let ExprKind::Call { .. } = &value.kind {
            self.call(value, Some(slot));
            return;
        }
        let id = match &value.kind {
            ExprKind::Read(path) => self.landed(path, Some(slot)),
            ExprKind::Literal(_)
            | ExprKind::Local(_)
            | ExprKind::Constant(_)
            | ExprKind::Field { .. }
            | ExprKind::Interpolate(_)
            | ExprKind::Not(_)
            | ExprKind::Negate(_)
            | ExprKind::Binary { .. }
            | ExprKind::Is { .. }
            | ExprKind::As { .. }
            | ExprKind::Exists(_)
            | ExprKind::If { .. }
            | ExprKind::List(_)
            | ExprKind::Record(_)
            | ExprKind::Call { .. }
            | ExprKind::Through(_)
            | ExprKind::Builtin { .. } => self.expr(value),
        };
        if self.shared.exprs.get(id.0 as usize) != Some(&Expr::Slot(slot)) {
            let place = self.place(value.span);
            self.step(place, Op::Set { slot, value: id });
        }
    }

    /// A statement that is an expression: its value is dropped, its failures are not.
    pub(super) fn run_for_effects(&mut self, value: &typed::Expr) {
        if let ExprKind::Call { .. } = &value.kind {
            self.call(value, None);
            return;
        }
        if let ExprKind::Through(through) = &value.kind
            && through.way == Way::Map
        {
            self.through_for_effects(value.span, through);
            return;
        }
        let slot = self.temporary();
        self.bind(slot, value);
    }

    /// Operands in order. One that stands before a step is evaluated before it, so that what fails first in the text
    /// fails first in the run.
    pub(super) fn operands(&mut self, operands: &[(&typed::Expr, bool)]) -> Vec<ExprId> {
        let last = operands.iter().rposition(|(operand, _)| has_steps(operand)).unwrap_or(0);
        let mut lowered = Vec::with_capacity(operands.len());
        for (index, (operand, lenient)) in operands.iter().enumerate() {
            let id = self.lower(operand, *lenient);
            lowered.push(if index < last { self.settled(operand, id) } else { id });
        }
        lowered
    }

    pub(super) fn strict(&mut self, operands: &[typed::Expr]) -> Vec<ExprId> {
        let operands: Vec<_> = operands.iter().map(|operand| (operand, false)).collect();
        self.operands(&operands)
    }

    /// The expression as a value that no later step can come before.
    pub(super) fn settled(&mut self, expr: &typed::Expr, id: ExprId) -> ExprId {
        if matches!(self.shared.exprs.get(id.0 as usize), Some(Expr::Slot(_) | Expr::Literal(_))) {
            return id;
        }
        let slot = self.temporary();
        let place = self.place(expr.span);
        self.step(place, Op::Set { slot, value: id });
        self.add(Expr::Slot(slot))
    }

    fn call(&mut self, expr: &typed::Expr, slot: Option<Slot>) {
        let ExprKind::Call { function, args } = &expr.kind else { return };
        let args = self.strict(args);
        let place = self.place(expr.span);
        let name = self.shared.functions.get(function.0 as usize).map_or("?", SmolStr::as_str);
        let label = self.label(format!("call {name}"));
        self.step(place, Op::Call { label, slot, function: FunctionIndex(function.0), args });
    }

    fn binary(&mut self, expr: &typed::Expr, op: Operator, left: &typed::Expr, right: &typed::Expr) -> ExprId {
        match op {
            Operator::And | Operator::Or if has_steps(right) => {
                let slot = self.temporary();
                self.bind(slot, left);
                let value = self.add(Expr::Slot(slot));
                let condition = if op == Operator::And { value } else { self.add(Expr::Not(value)) };
                self.only_if(expr, condition, &mut |body| body.bind(slot, right));
                self.add(Expr::Slot(slot))
            }
            Operator::Equal | Operator::NotEqual => {
                let operands = [(left, is_null(right)), (right, is_null(left))];
                self.binary_of(op, &operands)
            }
            Operator::Or
            | Operator::And
            | Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual
            | Operator::In
            | Operator::Contains
            | Operator::Within
            | Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Remainder => self.binary_of(op, &[(left, false), (right, false)]),
        }
    }

    fn binary_of(&mut self, op: Operator, operands: &[(&typed::Expr, bool); 2]) -> ExprId {
        let lowered = self.operands(operands);
        let [left, right] = lowered.as_slice() else { return self.add(Expr::Literal(lf_module::Value::Absent)) };
        self.add(Expr::Binary { op, left: *left, right: *right })
    }

    fn conditional(
        &mut self,
        expr: &typed::Expr,
        arms: &[(typed::Expr, typed::Expr)],
        otherwise: &typed::Expr,
    ) -> ExprId {
        if has_steps(expr) {
            let slot = self.temporary();
            self.choose(
                arms,
                &mut |body: &mut Self, value: &typed::Expr| body.bind(slot, value),
                Some(&mut |body: &mut Self| body.bind(slot, otherwise)),
            );
            return self.add(Expr::Slot(slot));
        }
        let arms = arms.iter().map(|(condition, value)| (self.expr(condition), self.expr(value))).collect();
        let otherwise = self.expr(otherwise);
        self.add(Expr::If { arms, otherwise })
    }

    fn coalesce(&mut self, expr: &typed::Expr, args: &[typed::Expr]) -> ExprId {
        let last = args.len().saturating_sub(1);
        if !args.iter().skip(1).any(has_steps) {
            let args = args.iter().enumerate().map(|(index, arg)| self.lower(arg, index < last)).collect();
            return self.add(Expr::Builtin { builtin: Builtin::Coalesce, args });
        }
        let slot = self.temporary();
        let start = self.here;
        for (index, arg) in args.iter().enumerate() {
            let place = self.place(expr.span);
            if index > 0 {
                let value = self.add(Expr::Slot(slot));
                let present = self.add(Expr::Present(value));
                let condition = self.add(Expr::Not(present));
                let block = self.new_block();
                self.step(place, Op::If { condition, then: super::block_id(block), otherwise: None });
                self.here = block;
            }
            let value = self.lower(arg, index < last);
            self.step(place, Op::Set { slot, value });
        }
        self.here = start;
        self.add(Expr::Slot(slot))
    }

    fn only_if(&mut self, expr: &typed::Expr, condition: ExprId, then: &mut dyn FnMut(&mut Self)) {
        let place = self.place(expr.span);
        let at = self.here;
        let block = self.new_block();
        self.step(place, Op::If { condition, then: super::block_id(block), otherwise: None });
        self.here = block;
        then(self);
        self.here = at;
    }

    /// What the description promised of a field, if it promised that something is there.
    fn expectation(&self, base: &typed::Expr, each: bool, ty: &Ty) -> Option<Expected> {
        let ty = if each { member(ty) } else { ty };
        if matches!(ty, Ty::Optional(_) | Ty::Absent | Ty::Json) || base.ty.present() == Some(&Ty::Json) {
            return None;
        }
        let owner = if each { member(&base.ty) } else { &base.ty };
        Some(Expected { ty: ty.clone(), of: self.owner(owner) })
    }

    fn owner(&self, ty: &Ty) -> SmolStr {
        described(ty).map_or(SmolStr::new_static("the record"), |on| self.shared.path(on).into())
    }

    /// `record.name == value`, tested here instead of at the source.
    pub(super) fn pinned_here(&mut self, record: Slot, name: &SmolStr, value: ExprId) -> ExprId {
        let base = self.add(Expr::Slot(record));
        let left = self.add(Expr::Field(Box::new(Field { base, name: name.clone(), each: false, expect: None })));
        self.add(Expr::Binary { op: Operator::Equal, left, right: value })
    }

    /// All of the conditions, in order.
    pub(super) fn all(&mut self, conditions: Vec<ExprId>) -> Option<ExprId> {
        conditions.into_iter().reduce(|left, right| self.add(Expr::Binary { op: Operator::And, left, right }))
    }
}
