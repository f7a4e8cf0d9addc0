//! Presence: which names and fields a condition proves present, and what is known where.

use std::collections::HashSet;

use smol_str::SmolStr;

use super::{
    body::Body,
    typed::{ConstantId, Expr, ExprKind, LocalId, Op},
};
use crate::types::Ty;

/// A name and the fields read off it: what a proof of presence is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Chain {
    root: Root,
    fields: Vec<SmolStr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Root {
    Local(LocalId),
    Constant(ConstantId),
}

impl Chain {
    /// The chain that an expression is, if it is one.
    pub(super) fn of(expr: &Expr) -> Option<Self> {
        match &expr.kind {
            ExprKind::Local(id) => Some(Self { root: Root::Local(*id), fields: Vec::new() }),
            ExprKind::Constant(id) => Some(Self { root: Root::Constant(*id), fields: Vec::new() }),
            // A field of a list is read off each member: no single value that a proof could be about.
            ExprKind::Field { base, name } if !matches!(base.ty.present(), Some(Ty::List(_))) => {
                let mut chain = Self::of(base)?;
                chain.fields.push(name.clone());
                Some(chain)
            }
            ExprKind::Literal(_)
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
            | ExprKind::Builtin { .. }
            | ExprKind::Through(_)
            | ExprKind::Read(_) => None,
        }
    }

    /// A local alone.
    pub(super) fn local(local: LocalId) -> Self {
        Self { root: Root::Local(local), fields: Vec::new() }
    }

    /// The chain of a field of a local.
    pub(super) fn field(local: LocalId, name: &SmolStr) -> Self {
        Self { root: Root::Local(local), fields: vec![name.clone()] }
    }

    /// The chain and everything it is read off: a present field proves its record.
    fn with_records(mut self) -> Vec<Self> {
        let mut all = Vec::with_capacity(self.fields.len() + 1);
        loop {
            all.push(self.clone());
            if self.fields.pop().is_none() {
                return all;
            }
        }
    }
}

/// What is present if a condition is true, and if it is false.
#[derive(Debug, Clone, Default)]
pub(super) struct Proof {
    pub(super) yes: Vec<Chain>,
    pub(super) no: Vec<Chain>,
}

/// What a condition proves.
pub(super) fn proof(condition: &Expr) -> Proof {
    match &condition.kind {
        ExprKind::Exists(operand) => Proof { yes: present(operand), no: Vec::new() },
        ExprKind::Not(operand) => {
            let Proof { yes, no } = proof(operand);
            Proof { yes: no, no: yes }
        }
        ExprKind::Is { operand, ty } if !ty.may_be_absent() => Proof { yes: present(operand), no: Vec::new() },
        ExprKind::Binary { op: Op::And, left, right } => {
            let (left, right) = (proof(left), proof(right));
            let no = common(&left.no, &joined(left.yes.clone(), right.no));
            Proof { yes: joined(left.yes, right.yes), no }
        }
        ExprKind::Binary { op: Op::Or, left, right } => {
            let (left, right) = (proof(left), proof(right));
            let yes = common(&left.yes, &joined(left.no.clone(), right.yes));
            Proof { yes, no: joined(left.no, right.no) }
        }
        ExprKind::Binary { op: Op::Equal, left, right } => equal(left, right),
        ExprKind::Binary { op: Op::NotEqual, left, right } => {
            let Proof { yes, no } = equal(left, right);
            Proof { yes: no, no: yes }
        }
        ExprKind::Literal(_)
        | ExprKind::Local(_)
        | ExprKind::Constant(_)
        | ExprKind::Field { .. }
        | ExprKind::Interpolate(_)
        | ExprKind::Negate(_)
        | ExprKind::Binary { .. }
        | ExprKind::Is { .. }
        | ExprKind::As { .. }
        | ExprKind::If { .. }
        | ExprKind::List(_)
        | ExprKind::Record(_)
        | ExprKind::Call { .. }
        | ExprKind::Builtin { .. }
        | ExprKind::Through(_)
        | ExprKind::Read(_) => Proof::default(),
    }
}

fn equal(left: &Expr, right: &Expr) -> Proof {
    match (&left.ty, &right.ty) {
        (Ty::Absent, _) => Proof { yes: Vec::new(), no: present(right) },
        (_, Ty::Absent) => Proof { yes: Vec::new(), no: present(left) },
        (Ty::Optional(_), Ty::Optional(_)) => Proof::default(),
        (Ty::Optional(_), _) => Proof { yes: present(left), no: Vec::new() },
        (_, Ty::Optional(_)) => Proof { yes: present(right), no: Vec::new() },
        (_, _) => Proof::default(),
    }
}

fn present(expr: &Expr) -> Vec<Chain> {
    Chain::of(expr).map(Chain::with_records).unwrap_or_default()
}

fn joined(mut one: Vec<Chain>, two: Vec<Chain>) -> Vec<Chain> {
    one.extend(two);
    one
}

/// What both sides hold.
pub(super) fn common(one: &[Chain], two: &[Chain]) -> Vec<Chain> {
    let two: HashSet<&Chain> = two.iter().collect();
    one.iter().filter(|chain| two.contains(chain)).cloned().collect()
}

impl Body<'_, '_> {
    /// How far the trail of known facts goes, to be handed to [`Self::forget`].
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes facts as known from here on.
    pub(super) fn know(&mut self, facts: &[Chain]) {
        for fact in facts {
            *self.facts.entry(fact.clone()).or_insert(0) += 1;
            self.trail.push(fact.clone());
        }
    }

    /// Forgets what was learnt since `mark`.
    pub(super) fn forget(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(fact) = self.trail.pop() else { return };
            if let Some(count) = self.facts.get_mut(&fact) {
                *count -= 1;
                if *count == 0 {
                    self.facts.remove(&fact);
                }
            }
        }
    }

    /// The expression with `| absent` taken off its type where it is known to be present.
    pub(super) fn narrowed(&self, mut expr: Expr) -> Expr {
        if !matches!(expr.ty, Ty::Optional(_)) || self.facts.is_empty() {
            return expr;
        }
        if Chain::of(&expr).is_some_and(|chain| self.facts.contains_key(&chain))
            && let Some(ty) = expr.ty.present().cloned()
        {
            expr.ty = ty;
        }
        expr
    }
}
