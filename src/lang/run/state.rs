//! Where a run stands: calls, blocks, loops and values, all plain data. What it does next is `machine`'s.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use lf_module::value::Value;
use regex::Regex;
use smol_str::SmolStr;

use super::{
    eval::program,
    io::{Effect, Failure},
    limits,
};
use crate::plan::ir::{BlockId, ExprId, FunctionIndex, PlaceId, Slot};

/// One run. It is made of fibers, one for each arm that is under way and one for the function that was fired; that
/// which moves stands in the run itself, the others in `others`.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    pub(super) now: Option<Timestamp>,
    pub(super) frames: Vec<Frame>,
    pub(super) parent: Option<(u32, usize)>,
    pub(super) depth: usize,
    pub(super) current: u32,
    pub(super) others: BTreeMap<u32, Fiber>,
    pub(super) last_fiber: u32,
    /// Whose call was settled last.
    pub(super) served: u32,
    /// Of the call that the fiber under way has just asked for.
    pub(super) waiting: Option<Waiting>,
    pub(super) over: bool,
    pub(super) scratch: Scratch,
}

impl RunState {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A run that may take this many steps in all, where [`limits::STEPS`] is not the right number.
    #[must_use]
    pub fn with_steps(steps: u64) -> Self {
        Self { scratch: Scratch::with_budget(steps), ..Self::default() }
    }

    /// A run that notes which steps it comes to.
    #[must_use]
    pub fn watched() -> Self {
        Self { scratch: Scratch { visited: Some(BTreeSet::new()), ..Scratch::default() }, ..Self::default() }
    }

    /// A run that notes what its expressions came to, up to so many.
    #[must_use]
    pub fn noting(most: usize) -> Self {
        let noted = Noted { values: Vec::new(), left: most, missed: 0 };
        Self { scratch: Scratch { noted: Some(Box::new(noted)), ..Scratch::default() }, ..Self::default() }
    }

    /// What the expressions of a noting run came to, in the order of their evaluation, and how many more there were.
    #[must_use]
    pub fn noted(self) -> (Vec<Came>, usize) {
        self.scratch.noted.map(|noted| (noted.values, noted.missed)).unwrap_or_default()
    }

    /// The places of the steps that a watched run came to.
    #[must_use]
    pub fn visited(self) -> BTreeSet<PlaceId> {
        self.scratch.visited.unwrap_or_default()
    }

    /// Whether it ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn end(&mut self) {
        self.over = true;
        self.waiting = None;
        self.frames.clear();
        self.others.clear();
    }
}

/// A stack of calls of its own.
#[derive(Debug, Clone)]
pub(super) struct Fiber {
    pub(super) now: Option<Timestamp>,
    pub(super) frames: Vec<Frame>,
    pub(super) stands: Stands,
    /// The fiber that waits for it, and which of its arms this is.
    pub(super) parent: Option<(u32, usize)>,
    /// Calls that are open around it.
    pub(super) depth: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Stands {
    Ready,
    Asks(Box<Effect>, Option<Waiting>),
    Awaits(Box<Effect>),
    Joins(Join),
}

/// Arms that are waited for.
#[derive(Debug, Clone)]
pub(super) struct Join {
    pub(super) race: bool,
    pub(super) slot: Option<Slot>,
    pub(super) gave: Vec<Option<Value>>,
    /// When the last of them ended.
    pub(super) at: Option<Timestamp>,
}

/// One call of a function.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) function: FunctionIndex,
    pub(super) slots: Vec<Value>,
    /// The blocks that are open, outermost first.
    pub(super) open: Vec<Open>,
    /// What every address of this call starts with.
    pub(super) prefix: SmolStr,
    /// Where the caller wants the result.
    pub(super) result: Option<Slot>,
}

/// One open block.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) block: BlockId,
    pub(super) at: usize,
    /// The loop that the block is the body of.
    pub(super) each: Option<Each>,
}

#[derive(Debug, Clone)]
pub(super) struct Each {
    pub(super) items: Arc<Vec<Value>>,
    pub(super) index: usize,
    pub(super) item: Slot,
    /// What each iteration is called in an address; made when the first one is asked for.
    pub(super) names: Vec<SmolStr>,
}

/// The effect that the step under way asked for.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// Pins whose value is absent: they cannot be sent, so they are tested here.
    pub(super) unsent: Vec<SmolStr>,
}

/// What evaluation leaves behind for later.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    /// What is left of the run's budget.
    pub(super) steps: u64,
    /// Of the step under way.
    place: PlaceId,
    /// The whole budget, for the message.
    budget: u64,
    pub(super) constants: BTreeMap<u32, Value>,
    pub(super) patterns: BTreeMap<SmolStr, Regex>,
    visited: Option<BTreeSet<PlaceId>>,
    noted: Option<Box<Noted>>,
}

/// What an expression of a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    /// Of the step.
    pub place: PlaceId,
    pub expr: ExprId,
    pub value: Value,
}

#[derive(Debug, Clone)]
struct Noted {
    values: Vec<Came>,
    left: usize,
    missed: usize,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::with_budget(limits::STEPS)
    }
}

impl Scratch {
    fn with_budget(budget: u64) -> Self {
        Self {
            steps: budget,
            budget,
            constants: BTreeMap::new(),
            patterns: BTreeMap::new(),
            visited: None,
            noted: None,
            place: PlaceId(0),
        }
    }

    /// What an expression of the step under way came to.
    pub(super) fn note(&mut self, expr: ExprId, value: &Value) {
        let Some(noted) = &mut self.noted else { return };
        match noted.left.checked_sub(1) {
            Some(left) => {
                noted.left = left;
                noted.values.push(Came { place: self.place, expr, value: value.clone() });
            }
            None => noted.missed += 1,
        }
    }

    pub(super) fn visit(&mut self, place: PlaceId) {
        self.place = place;
        if let Some(visited) = &mut self.visited {
            visited.insert(place);
        }
    }

    /// Takes work from the run's budget.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Failure> {
        let left = self.steps.checked_sub(steps as u64);
        self.steps = left.ok_or_else(|| program(format!("the run took more than {} steps", self.budget)))?;
        Ok(())
    }
}
