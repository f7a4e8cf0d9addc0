//! `test`: plays the tests in the files, offline, and says what is not as they expect.

use std::path::PathBuf;

use clap::Args;
use lf_lang::{
    diag::{Diagnostic, Severity, render},
    plan::testing::{Test, Tests},
    source::SourceMap,
};
use serde_json::{Value, json};

use super::{
    check,
    exit::{Exit, Failure},
    output::Style,
    shell::Shell,
    start,
};
use crate::{
    host::load::{self, Ask, ready},
    testing::{Coverage, Outcome, Program, Side},
};

/// Runs the tests in the files against the descriptions in `listen-fire.lock`: no system is asked, no credential is
/// used, and time is the tests' own.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  listen-fire test\n  listen-fire test movements/triage.mvt --coverage\n  listen-fire \
                        test --filter 'new company'\n\nA test stands in a movement file:\n\n  test \"a new company becomes \
                        an issue\" {\n    given crm-[:Company]-> { Name: \"Acme\" }\n    answer \
                        tracker-[:create_issue]-> { text: \"ENG-1\" }\n    expect write tracker-[:create_issue]-> { \
                        title: \"Follow up Acme\", team: \"ENG\" }\n  }"
)]
pub(super) struct Arguments {
    /// Files and folders; all movement files of the project if there are none
    paths: Vec<PathBuf>,
    /// Only tests whose name holds this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Also say which lines of functions no test ran
    #[arg(long)]
    coverage: bool,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let runtime = start::runtime(shell, "error")?;
    let opened = runtime.block_on(shell.offline())?;
    let paths: Vec<_> = arguments.paths.iter().map(|path| shell.absolute(path)).collect();
    let loaded =
        runtime.block_on(load::load(&opened.project, &opened.connector, opened.modules, &paths, Ask::Offline))?;
    let Some(movement) = &loaded.movement else {
        shell.output.reports(&loaded.sources, &loaded.problems);
        shell.output.note("what is wrong cannot be tested; `listen-fire check` says the same");
        return Ok(check::exit(&loaded, false, false));
    };
    let silent =
        |problem: &&Diagnostic| problem.severity == Severity::Warning && problem.code.as_str().starts_with("MOV_TEST_");
    let warnings: Vec<_> = loaded.problems.iter().filter(silent).cloned().collect();
    shell.output.reports(&loaded.sources, &warnings);
    let tests = Tests::of(movement, &loaded.sources);
    let named = |test: &Test| arguments.filter.as_ref().is_none_or(|text| test.name.contains(text.as_str()));
    let wanted: Vec<usize> =
        tests.tests.iter().enumerate().filter(|(_, test)| named(test)).map(|(number, _)| number).collect();
    if wanted.is_empty() {
        return none(&tests, arguments, shell);
    }
    let limits = ready::limits(&opened.project.file.limits);
    let program = Program { tests: &tests, sources: &loaded.sources, catalog: &loaded.catalog, limits };
    let clock = opened.connector.clock.clone();
    let began = clock.monotonic();
    shell.output.progress(&format!("playing {} tests …", wanted.len()));
    let outcomes = program.play(&wanted, arguments.coverage);
    shell.output.progress("");
    let took = clock.monotonic().saturating_sub(began);
    let coverage = arguments.coverage.then(|| program.coverage(&wanted, &outcomes));
    let played: Vec<_> = wanted.iter().filter_map(|number| tests.tests.get(*number)).zip(&outcomes).collect();
    let failed = outcomes.iter().filter(|outcome| !outcome.passed()).count();
    if shell.output.json {
        shell.output.json(&as_json(&played, coverage.as_ref(), &loaded.sources));
    } else {
        report(&played, &loaded.sources, shell);
        if let Some(coverage) = &coverage {
            covered(coverage, shell);
        }
        let passed = outcomes.len() - failed;
        let left_out = tests.tests.len() - wanted.len();
        let left_out = if left_out == 0 { String::new() } else { format!(", {left_out} left out") };
        let took = format!("{}.{:03} s", took.as_secs(), took.subsec_millis());
        let text = if failed == 0 {
            format!("{passed} passed{left_out} in {took}")
        } else {
            format!("{failed} failed, {passed} passed{left_out} in {took}")
        };
        shell.output.summary(if failed == 0 { Style::Green } else { Style::Red }, &text);
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::NotSo })
}

/// Nothing to play: said, so that a wrong filter does not look like success.
fn none(tests: &Tests, arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    if let Some(text) = &arguments.filter
        && !tests.tests.is_empty()
    {
        let message = format!("no test has `{text}` in its name");
        return Err(Failure::new(Exit::NotSo, message).help("`listen-fire test` names them all"));
    }
    if shell.output.json {
        shell.output.json(&as_json(&[], None, &SourceMap::default()));
    }
    shell.output.note("the files hold no tests; one is `test \"what it shows\" { … }`");
    Ok(Exit::Done)
}

fn report(played: &[(&Test, &Outcome)], sources: &SourceMap, shell: &Shell) {
    let output = &shell.output;
    let mut last = None;
    for (test, outcome) in played {
        let Some(file) = sources.get(test.span.source) else { continue };
        if last != Some(file.id) {
            output.parts(&[(Some(Style::Bold), &file.path)]);
            last = Some(file.id);
        }
        let mark = if outcome.passed() { (Some(Style::Green), "  ✓ ") } else { (Some(Style::Red), "  ✗ ") };
        output.parts(&[mark, (None, &test.name)]);
        for note in &outcome.notes {
            let line = file.line_column(note.primary.span.start).line;
            output.parts(&[(Some(Style::Dim), &format!("    line {line}: {}", note.headline))]);
        }
    }
    for (_, outcome) in played {
        for failure in &outcome.failures {
            output.line("");
            output.problems(sources, std::slice::from_ref(&failure.report));
            if !failure.sides.is_empty() {
                sides(&failure.sides, shell);
                output.line("");
            }
        }
    }
}

/// Expected and actual, side by side.
fn sides(sides: &[Side], shell: &Shell) {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
    let rows = sides.iter().map(|side| {
        let mark = if side.differs { "≠" } else { "" };
        vec![side.what.clone(), shown(&side.expected), shown(&side.actual), mark.to_owned()]
    });
    shell.output.table(&["", "expected", "actual", ""], rows.collect());
}

fn covered(coverage: &Coverage, shell: &Shell) {
    let rows = coverage.files.iter().map(|(path, file)| {
        let (ran, all) = (file.ran.len(), file.ran.len() + file.never.len());
        let never: Vec<_> = spans(file.never.iter().copied()).into_iter().take(20).collect();
        vec![path.clone(), format!("{ran}/{all}"), never.join(", ")]
    });
    shell.output.table(&["file", "lines", "never ran"], rows.collect());
    let (ran, all) = coverage.totals();
    shell.output.line(&format!("{ran} of {all} lines with statements ran"));
}

/// `3`, `5-8`
fn spans(lines: impl Iterator<Item = u32>) -> Vec<String> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match spans.last_mut() {
            Some((_, end)) if *end + 1 == line => *end = line,
            Some(_) | None => spans.push((line, line)),
        }
    }
    let text = |(start, end): (u32, u32)| if start == end { start.to_string() } else { format!("{start}-{end}") };
    spans.into_iter().map(text).collect()
}

fn as_json(played: &[(&Test, &Outcome)], coverage: Option<&Coverage>, sources: &SourceMap) -> Value {
    let tests: Vec<_> = played
        .iter()
        .map(|(test, outcome)| {
            let file = sources.get(test.span.source);
            json!({
                "name": test.name,
                "file": file.map(|file| file.path.as_str()),
                "line": file.map(|file| file.line_column(test.span.start).line),
                "passed": outcome.passed(),
                "failures": outcome.failures.iter().map(|failure| json!({
                    "problem": render::json(&failure.report, sources),
                    "sides": failure.sides.iter().map(|side| json!({
                        "what": side.what,
                        "expected": side.expected,
                        "actual": side.actual,
                        "differs": side.differs,
                    })).collect::<Vec<_>>(),
                })).collect::<Vec<_>>(),
                "notes": outcome.notes.iter().map(|note| render::json(note, sources)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let coverage = coverage.map(|coverage| {
        let files: Vec<_> = coverage
            .files
            .iter()
            .map(|(path, file)| json!({ "file": path, "ran": file.ran, "never": file.never }))
            .collect();
        let (ran, all) = coverage.totals();
        json!({ "ran": ran, "lines": all, "files": files })
    });
    let failed = played.iter().filter(|(_, outcome)| !outcome.passed()).count();
    json!({ "passed": played.len() - failed, "failed": failed, "tests": tests, "coverage": coverage })
}
