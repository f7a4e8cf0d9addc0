//! Typed program to plan: total, no errors, nothing to decide.

pub mod compare;
pub mod draw;
pub mod explain;
pub mod graph;
pub mod ir;
mod lower;
mod places;
pub mod testing;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use explain::{builtin_name, operator};
pub(crate) use lower::escape;

pub use ir::{Plan, PlanId};

use crate::{check::typed, source::SourceMap, types::Ty};

/// Lowers a checked program. `sources` only gives the places their file, line and text.
#[must_use]
pub fn compile(movement: &typed::Movement, sources: &SourceMap) -> Plan {
    lower::movement(movement, sources)
}

/// A type as an author of this program writes it.
pub(crate) fn type_text(plan: &Plan, ty: &Ty) -> String {
    words::ty(ty, &|on| plan.path_of(on))
}

/// A type that names no connection.
pub(crate) fn type_text_alone(ty: &Ty) -> String {
    words::ty(ty, &|on| on.ty.to_string())
}
