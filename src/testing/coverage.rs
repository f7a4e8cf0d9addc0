//! Which lines of functions ran while tests were played.

use std::collections::{BTreeMap, BTreeSet};

use lf_lang::plan::{Plan, ir::PlaceId};

/// Every file that tests can reach, by path.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    pub files: BTreeMap<String, FileCoverage>,
}

/// The lines of one file that hold a statement of a function.
#[derive(Debug, Clone, Default)]
pub struct FileCoverage {
    pub ran: BTreeSet<u32>,
    pub never: BTreeSet<u32>,
}

impl Coverage {
    pub(super) fn of(plan: &Plan, files: &BTreeSet<&str>, ran: &BTreeSet<PlaceId>) -> Self {
        let mut coverage = Self::default();
        let functions = plan.functions.iter().filter(|function| !function.hidden);
        let steps = functions.flat_map(|function| &function.blocks).flat_map(|block| &block.0);
        for step in steps {
            let Some(place) = plan.place(step.place).filter(|place| files.contains(place.file.as_str())) else {
                continue;
            };
            let file = coverage.files.entry(place.file.to_string()).or_default();
            // A line ran if one of its steps did.
            if ran.contains(&step.place) {
                file.ran.insert(place.line);
                file.never.remove(&place.line);
            } else if !file.ran.contains(&place.line) {
                file.never.insert(place.line);
            }
        }
        coverage
    }

    /// How many lines ran, and how many there are.
    #[must_use]
    pub fn totals(&self) -> (usize, usize) {
        self.files
            .values()
            .fold((0, 0), |(ran, all), file| (ran + file.ran.len(), all + file.ran.len() + file.never.len()))
    }
}
