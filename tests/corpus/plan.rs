//! The texts under `plan/`, which `src/lang/plan/tests.rs` explains and runs: here only what holds for every plan.

use std::path::Path;

use lf_lang::{diag::Severity, plan};
use libtest_mimic::Failed;

use crate::{case, read, report};

/// It checks, and compiles to the same plan each time.
pub(crate) fn run(path: &Path) -> Result<(), Failed> {
    let name = path.file_name().expect("a file").to_string_lossy();
    let text = read(path);
    let first = case::outcome(&name, &text)?;
    let second = case::outcome(&name, &text)?;
    if first.problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(report::reports(&first).into());
    }
    let (Some(one), Some(other)) = (&first.movement, &second.movement) else {
        return Err("no movement came out".into());
    };
    let (one, other) = (plan::compile(one, &first.sources), plan::compile(other, &second.sources));
    if one == other { Ok(()) } else { Err("two plans of one text differ".into()) }
}
