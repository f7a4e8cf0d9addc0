//! Tests, ready to run: a plan that can fire every listen within their reach, and their lines.
//!
//! The plan is not the one that a runner stores: it also holds the listens of imported files and the values of the
//! lines.

use jiff::Timestamp;
use smol_str::SmolStr;

use super::{
    ir::{FunctionIndex, Plan},
    lower,
};
use crate::{
    check::typed::{Movement, TestLineKind},
    source::{SourceId, SourceMap, Span},
};

/// Every test of a program, and what they run.
#[derive(Debug, Clone)]
pub struct Tests {
    pub plan: Plan,
    /// The file of each listen of the plan.
    pub listens: Vec<SourceId>,
    pub tests: Vec<Test>,
}

#[derive(Debug, Clone)]
pub struct Test {
    /// Of its name.
    pub span: Span,
    pub name: SmolStr,
    pub at: Option<Timestamp>,
    /// The files whose listens it fires.
    pub reach: Vec<SourceId>,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone)]
pub struct Line {
    pub span: Span,
    pub kind: TestLineKind,
    /// Gives a list of the line's values.
    pub values: FunctionIndex,
}

impl Tests {
    /// Lowers a checked program with its tests.
    #[must_use]
    pub fn of(movement: &Movement, sources: &SourceMap) -> Self {
        lower::tests(movement, sources)
    }

    /// The plan with the listens of these files alone. Two of them that share a name, which no runner would have side
    /// by side, are told apart.
    #[must_use]
    pub fn plan_of(&self, reach: &[SourceId]) -> Plan {
        let mut plan = self.plan.clone();
        let mut sources = self.listens.iter();
        plan.listens.retain(|_| sources.next().is_some_and(|source| reach.contains(source)));
        for at in 1..plan.listens.len() {
            let (before, rest) = plan.listens.split_at_mut(at);
            let Some(listen) = rest.first_mut() else { continue };
            let same = before.iter().filter(|other| other.name == listen.name).count();
            if same > 0 {
                listen.name = smol_str::format_smolstr!("{} ({})", listen.name, at + 1);
            }
        }
        plan
    }
}
