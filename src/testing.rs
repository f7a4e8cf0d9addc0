//! Tests in the language: each is played through the runner itself, on a store, a clock and systems of its own.
//!
//! ```text
//! lines ─▶ play ─▶ world: what systems show and answer ⇄ Host, once ─▶ store
//!            └──▶ judge: what was sent and how runs ended, against what is expected
//! ```
//!
//! There is no second interpreter: identity, echo, retries and the rest are what `run` does. No network, no credential,
//! no file, no time but the test's own.

mod clock;
mod coverage;
mod files;
mod judge;
mod play;
mod show;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use jiff::Timestamp;
use lf_lang::{
    check::{Catalog, catalog::Described},
    diag::Diagnostic,
    plan::{Plan, ir::PlaceId, testing::Tests},
    source::{SourceId, SourceMap},
};
use lf_module::{Description, Value};
use smol_str::SmolStr;

pub use coverage::{Coverage, FileCoverage};

use self::play::Stage;
use crate::host::Limits;

/// As much as the first thread has: what is nested as deep as a program may be is run on any of them.
const STACK: usize = 8 << 20;
/// What the clock of a test shows that does not say: Monday, 5 January 2026, nine o'clock.
const BEGIN: i64 = 1_767_603_600;

/// What tests are played against.
#[derive(Debug)]
pub struct Program<'a> {
    pub tests: &'a Tests,
    pub sources: &'a SourceMap,
    pub catalog: &'a Catalog,
    pub limits: Limits,
}

/// What came of one test.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub failures: Vec<Failure>,
    /// What a reader should know although nothing failed.
    pub notes: Vec<Diagnostic>,
    /// The steps that ran; empty unless asked for.
    covered: BTreeSet<PlaceId>,
}

impl Outcome {
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// One thing that is not as the test expects.
#[derive(Debug, Clone)]
pub struct Failure {
    pub report: Diagnostic,
    /// Expected and actual, side by side.
    pub sides: Vec<Side>,
}

impl Failure {
    fn of(report: Diagnostic) -> Self {
        Self { report, sides: Vec::new() }
    }
}

/// One row of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    pub what: String,
    /// `None`: it should not be there.
    pub expected: Option<String>,
    /// `None`: it is not there.
    pub actual: Option<String>,
    pub differs: bool,
}

impl Side {
    fn missing(name: &str, value: &Value) -> Self {
        Self { what: name.to_owned(), expected: Some(show::value(value)), actual: None, differs: true }
    }

    fn unexpected(name: &str, value: &Value) -> Self {
        Self { what: name.to_owned(), expected: None, actual: Some(show::value(value)), differs: true }
    }
}

impl Program<'_> {
    /// Plays the tests with these numbers, side by side; their outcomes in the same order.
    #[must_use]
    pub fn play(&self, wanted: &[usize], coverage: bool) -> Vec<Outcome> {
        let descriptions = self.descriptions();
        let outcomes: Vec<Mutex<Outcome>> = wanted.iter().map(|_| Mutex::default()).collect();
        let next = AtomicUsize::new(0);
        let plans: Mutex<BTreeMap<Vec<SourceId>, Arc<Plan>>> = Mutex::default();
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let (Some(number), Some(slot)) = (wanted.get(at), outcomes.get(at)) else { return };
                let outcome = self.play_one(*number, &descriptions, &plans, coverage);
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
            }
        };
        let workers = thread::available_parallelism().map_or(2, usize::from).min(wanted.len().max(1));
        thread::scope(|scope| {
            for _ in 1..workers {
                // A worker that cannot be started leaves its share to the others.
                let _started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_ok();
            }
            let own = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            if own.is_err() {
                work();
            }
        });
        outcomes.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Which lines of functions ran, of the files that these tests can reach.
    #[must_use]
    pub fn coverage(&self, wanted: &[usize], outcomes: &[Outcome]) -> Coverage {
        let tests = wanted.iter().filter_map(|number| self.tests.tests.get(*number));
        let reach: BTreeSet<SourceId> = tests.flat_map(|test| test.reach.iter().copied()).collect();
        let files = reach.into_iter().filter_map(|source| self.sources.get(source)).map(|file| file.path.as_str());
        let ran = outcomes.iter().flat_map(|outcome| outcome.covered.iter().copied()).collect();
        Coverage::of(&self.tests.plan, &files.collect(), &ran)
    }

    fn descriptions(&self) -> BTreeMap<SmolStr, Arc<Description>> {
        let connections = self.catalog.connections.iter().filter_map(|(key, described)| match described {
            Described::Yes(description) => Some((key.as_str().into(), Arc::new(description.clone()))),
            Described::No { .. } => None,
        });
        connections.collect()
    }

    fn play_one(
        &self,
        number: usize,
        descriptions: &BTreeMap<SmolStr, Arc<Description>>,
        plans: &Mutex<BTreeMap<Vec<SourceId>, Arc<Plan>>>,
        coverage: bool,
    ) -> Outcome {
        let Some(test) = self.tests.tests.get(number) else { return Outcome::default() };
        let plan = {
            let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
            // Tests come file by file, so that the last plan is the one that is asked for again.
            if !plans.contains_key(&test.reach) {
                plans.clear();
            }
            plans.entry(test.reach.clone()).or_insert_with(|| Arc::new(self.tests.plan_of(&test.reach))).clone()
        };
        let begin = test.at.unwrap_or_else(|| Timestamp::from_second(BEGIN).unwrap_or_default());
        let clock = clock::Standing::at(begin);
        let idle = clock.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().on_thread_park(move || idle.wake_next()).build();
        let stage = Stage { test, plan, sources: self.sources, descriptions, limits: &self.limits, coverage };
        match runtime {
            Ok(runtime) => runtime.block_on(play::play(stage, clock)),
            Err(why) => {
                let headline = format!("the test cannot be played: {why}");
                let report = Diagnostic::error(lf_lang::diag::codes::MOV_TEST_FAILED, test.span, headline);
                Outcome { failures: vec![Failure::of(report)], ..Outcome::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests;
