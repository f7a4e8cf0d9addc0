//! Typed program to plan: total, no errors, nothing to decide.

pub mod ir;

pub use ir::{Plan, PlanId};
