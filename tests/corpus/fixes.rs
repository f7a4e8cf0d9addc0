//! What becomes of every broken case of the corpus when all its fixes are made, round by round, as `check --fix` does.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use lf_lang::diag::{Severity, fix};
use libtest_mimic::Trial;

use crate::{
    case::{self, Outcome},
    corpus, files, read, report, trial,
};

/// As many as `check --fix` makes.
const MOST_ROUNDS: usize = 16;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("fixes/all_together_come_to_an_end_and_never_make_it_worse", all)]
}

fn all() -> Result<(), String> {
    let mut mended = 0;
    for group in ["syntax/err", "check/err"] {
        for path in files(&corpus().join(group), "mvt") {
            mended += rounds(&path)?;
        }
    }
    if mended < 50 { Err(format!("only {mended} fixes were made")) } else { Ok(()) }
}

fn rounds(path: &Path) -> Result<usize, String> {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let mut text = read(path);
    let mut seen = BTreeSet::new();
    let mut made = 0;
    for _ in 0..MOST_ROUNDS {
        let outcome = case::outcome(&name, &text)?;
        let round = fix::apply(&outcome.sources, &outcome.problems, |_| true);
        if round.taken.is_empty() {
            return Ok(made);
        }
        made += round.taken.len();
        let after = whole(&outcome, &round);
        if !seen.insert(after.clone()) {
            return Err(format!("{name}: fixes undo one another\n{}", report::reports(&outcome)));
        }
        let parsed = case::outcome(&name, &after)?;
        // A fix of the text may bring mistakes of meaning to light, but none of the text.
        let unread = |outcome: &Outcome| {
            let errors = outcome.problems.iter().filter(|problem| problem.severity == Severity::Error);
            errors.filter(|problem| problem.code.as_str().starts_with("MOV_PARSE")).count()
        };
        if unread(&parsed) > unread(&outcome) {
            return Err(format!("{name}: made worse\n{after}\n{}", report::reports(&parsed)));
        }
        text = after;
    }
    Err(format!("{name}: {MOST_ROUNDS} rounds were not enough\n{text}"))
}

/// A case when no fix is left to make.
pub(crate) fn mended(name: &str, text: &str) -> Result<Outcome, String> {
    let mut outcome = case::outcome(name, text)?;
    for _ in 0..MOST_ROUNDS {
        let round = fix::apply(&outcome.sources, &outcome.problems, |_| true);
        if round.taken.is_empty() {
            return Ok(outcome);
        }
        outcome = case::outcome(name, &whole(&outcome, &round))?;
    }
    Err(format!("{name}: {MOST_ROUNDS} rounds were not enough"))
}

/// The case with the new texts in it.
fn whole(outcome: &Outcome, round: &fix::Round) -> String {
    let mut out = String::new();
    for (place, file) in outcome.sources.iter().enumerate() {
        if place > 0 {
            writeln!(out, "//== {}", file.path).expect("a text takes everything");
        }
        out.push_str(round.texts.get(&file.id).map_or(&*file.text, String::as_str));
    }
    out
}
