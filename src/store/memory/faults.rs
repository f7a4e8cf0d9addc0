//! Where a simulation lets the store fail or the host die: directly before and directly after a change is durable.

use std::fmt::Debug;

use crate::store::StoreError;

/// A change that is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    TakeIn,
    DropListen,
    Claim,
    Renew,
    Append,
    Release,
    /// That an expected change does not come.
    Expect,
    Identity,
    Order,
    /// A plan, a description or a hold.
    Fact,
    Credential,
    Upkeep,
}

/// Which side of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum When {
    /// Nothing is stored yet.
    Before,
    /// It is stored; nobody has been told.
    After,
}

/// What happens there.
#[derive(Debug)]
pub enum Verdict {
    Continue,
    /// The caller is told this; after the change, it was made all the same (an answer that got lost).
    Fail(StoreError),
    /// The host dies: this call and every later one never returns.
    Crash,
}

/// Decides at each point. Called under no lock, in the order in which the points are reached.
pub trait Faults: Debug + Send + Sync {
    fn at(&self, step: Step, when: When) -> Verdict;
}

/// None, ever.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faultless;

impl Faults for Faultless {
    fn at(&self, _: Step, _: When) -> Verdict {
        Verdict::Continue
    }
}
