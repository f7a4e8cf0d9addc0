//! What the expressions of a run came to, line by line of the movement: the journal's answers, computed through again.
//! Asks no system.

use std::collections::BTreeMap;

use lf_lang::{
    plan::{Plan, PlanId},
    run::{self, Entry},
};
use lf_module::{Value, json as values};
use serde_json::json;
use smol_str::SmolStr;

use crate::{
    cli::output::{Output, Style},
    host::news::cut,
};

/// How many values are shown, and how many are told in all.
pub(super) const SOME: usize = 500;
pub(super) const WHOLE: usize = 100_000;
/// How much of one is shown.
const SHOWN: usize = 200;
/// How wide an expression may be beside its value.
const WIDE: usize = 48;

/// An expression of a line, and its value.
pub(super) struct Line {
    file: SmolStr,
    line: u32,
    /// The line itself.
    text: SmolStr,
    expression: SmolStr,
    value: Value,
}

impl Line {
    pub(super) fn json(&self) -> serde_json::Value {
        json!({ "file": self.file, "line": self.line, "expression": self.expression, "value": serde_json::from_str::<serde_json::Value>(&values::plain(&self.value)).unwrap_or_default() })
    }
}

/// The values of a run by the text that it went by last, and how many more there are.
pub(super) fn of(plans: &BTreeMap<PlanId, Plan>, entries: &[Entry], most: usize) -> (Vec<Line>, usize) {
    let last = entries.iter().rev().find_map(|entry| match entry {
        Entry::Started { plan, fired: _ } => Some(plan),
        Entry::Intent(_)
        | Entry::Waiting(_)
        | Entry::Settled { .. }
        | Entry::Decided { .. }
        | Entry::Attempt { .. }
        | Entry::Finished { .. } => None,
    });
    let Some(plan) = last.and_then(|id| plans.get(id)) else { return (Vec::new(), 0) };
    let (came, missed) = run::values(plan, entries, most);
    let lines = came.into_iter().filter_map(|came| {
        let (place, expression) = (plan.place(came.place)?, plan.texts.get(&came.expr.0)?);
        let (file, text) = (place.file.clone(), place.text.clone());
        Some(Line { file, line: place.line, text, expression: expression.clone(), value: came.value })
    });
    (lines.collect(), missed)
}

/// Prints them beneath the lines that they stand in, in the order in which they were computed.
pub(super) fn tell(output: &Output, (lines, missed): (Vec<Line>, usize), full: bool) {
    if lines.is_empty() {
        return;
    }
    output.line("");
    output.parts(&[(Some(Style::Bold), "values"), (Some(Style::Dim), ", line by line")]);
    let most = if full { usize::MAX } else { SHOWN };
    let mut at: Option<(SmolStr, u32)> = None;
    let mut short = false;
    for line in lines {
        let here = Some((line.file.clone(), line.line));
        if here != at {
            output.parts(&[
                (Some(Style::Dim), &format!("{}:{}  ", line.file, line.line)),
                (Some(Style::Bold), &line.text),
            ]);
            at = here;
        }
        let whole = values::plain(&line.value);
        let shown = cut(&whole, most);
        short |= shown.len() < whole.len();
        let value = if line.value.is_absent() { "absent".to_owned() } else { shown };
        output.line(&format!("  {:<WIDE$}  {value}", cut(&line.expression, WIDE)));
    }
    if missed > 0 {
        output.line(&format!("… and {missed} more"));
        short = true;
    }
    if short && !full {
        output.note("`--full` shows long values whole");
    }
}
