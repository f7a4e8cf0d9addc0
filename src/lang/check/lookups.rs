//! What of a WHERE a source may look up in place of a read of everything. That it is also tested here is the filter's.

use lf_module::schema::TypeShape;
use smol_str::SmolStr;

use super::{
    body::{Body, Landed},
    pins::{Filter, equality, not_fixable},
    typed::{Expr, ExprKind, Op},
};
use crate::syntax::ast;

impl Filter {
    /// The first of the type's lookups whose fields are all fixed.
    pub(super) fn lookup(&self, shape: &TypeShape) -> Vec<(SmolStr, Expr)> {
        let value = |name: &SmolStr| self.fixed.iter().find(|(field, _)| field == name).cloned();
        let whole = |set: &Vec<SmolStr>| set.iter().map(value).collect::<Option<Vec<_>>>();
        shape.find_by.iter().find_map(whole).unwrap_or_default()
    }
}

impl Body<'_, '_> {
    /// The field that a test fixes, and to what, if that can be asked before the hop is made.
    pub(super) fn known_before(&self, test: &ast::Expr, typed: &Expr, landed: &Landed) -> Option<(SmolStr, Expr)> {
        let (_, left, right) = equality(test)?;
        let ExprKind::Binary { op: Op::Equal, left: typed_left, right: typed_right } = &typed.kind else { return None };
        let own = |name: &ast::Name| self.is_landed_field(&name.text) && !self.in_scope(&name.text);
        let sides = [(typed_left, right, typed_right), (typed_right, left, typed_left)];
        sides.into_iter().find_map(|(field, text, value)| {
            let ExprKind::Field { base, name } = &field.kind else { return None };
            let on_it = matches!(base.kind, ExprKind::Local(local) if local == landed.local);
            (on_it && not_fixable(text, landed, &own).is_none()).then(|| (name.clone(), value.as_ref().clone()))
        })
    }
}
