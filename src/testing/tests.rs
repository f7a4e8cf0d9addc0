//! The tests under `tests/played`: those of `fails.mvt` fail, and what they report is in `fails.snap`; all others pass.

use std::{fmt::Write as _, fs, path::Path};

use lf_lang::{
    check::{Catalog, Program as Files, check},
    diag::render::{self, Look},
    plan::testing::Tests,
    source::SourceMap,
    syntax,
};

use super::{Outcome, Program};
use crate::host::Limits;

fn played(text: &str, coverage: bool, judge: impl FnOnce(&Program<'_>, &[Outcome])) {
    let catalog = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/catalogs/acme.json");
    let catalog: Catalog = serde_json::from_str(&fs::read_to_string(catalog).unwrap()).unwrap();
    let mut sources = SourceMap::default();
    let id = sources.add("played.mvt", text);
    let parsed = syntax::parse(sources.get(id).unwrap());
    assert_eq!(parsed.problems, Vec::new());
    let files = [parsed.file];
    let checked = check(&Files { map: &sources, files: &files, roots: &[id] }, &catalog);
    let problems: Vec<_> = checked.problems.iter().map(|problem| render::concise(problem, &sources)).collect();
    let movement = checked.movement.unwrap_or_else(|| panic!("{problems:#?}"));
    let tests = Tests::of(&movement, &sources);
    let program = Program { tests: &tests, sources: &sources, catalog: &catalog, limits: Limits::default() };
    let wanted: Vec<usize> = (0..tests.tests.len()).collect();
    let outcomes = program.play(&wanted, coverage);
    assert_eq!(outcomes.len(), wanted.len());
    judge(&program, &outcomes);
}

fn case(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/played").join(name);
    fs::read_to_string(path).unwrap()
}

fn told(program: &Program<'_>, outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    for (test, outcome) in program.tests.tests.iter().zip(outcomes) {
        writeln!(out, "=== {}", test.name).unwrap();
        for failure in &outcome.failures {
            writeln!(out, "\n{}", render::full(&failure.report, program.sources, Look::PLAIN).trim_end()).unwrap();
            for side in &failure.sides {
                let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
                let mark = if side.differs { "≠" } else { "=" };
                writeln!(out, "  {}: {} {mark} {}", side.what, shown(&side.expected), shown(&side.actual)).unwrap();
            }
        }
        for note in &outcome.notes {
            writeln!(out, "note: {}", render::concise(note, program.sources)).unwrap();
        }
        out.push('\n');
    }
    out
}

#[test]
fn what_should_pass_passes() {
    for name in ["passes.mvt", "waits.mvt", "watched.mvt"] {
        played(&case(name), false, |program, outcomes| {
            assert!(outcomes.iter().all(Outcome::passed), "{name}: {}", told(program, outcomes));
        });
    }
}

#[test]
fn what_fails_says_why() {
    played(&case("fails.mvt"), false, |program, outcomes| {
        assert!(!outcomes.iter().any(Outcome::passed), "{}", told(program, outcomes));
        insta::with_settings!({ snapshot_path => "../../tests/played", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("fails", told(program, outcomes));
        });
    });
}

#[test]
fn playing_again_gives_the_same() {
    let twice = [(); 2].map(|()| {
        let mut shown = String::new();
        played(&case("fails.mvt"), false, |program, outcomes| shown = told(program, outcomes));
        shown
    });
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn coverage_names_the_lines_that_never_ran() {
    played(&case("passes.mvt"), true, |program, outcomes| {
        let wanted: Vec<usize> = (0..outcomes.len()).collect();
        let coverage = program.coverage(&wanted, outcomes);
        assert_eq!(coverage.files["played.mvt"].never.len(), 0, "{coverage:?}");
        let part = program.coverage(&wanted[..1], &outcomes[..1]);
        assert!(part.files["played.mvt"].never.len() > 3, "{part:?}");
        assert!(part.files["played.mvt"].ran.contains(&6), "{part:?}");
    });
}

#[test]
fn coverage_counts_what_runs_after_a_wait() {
    played(&case("waits.mvt"), true, |program, outcomes| {
        let wanted: Vec<usize> = (0..outcomes.len()).collect();
        let coverage = program.coverage(&wanted, outcomes);
        assert_eq!(coverage.files["played.mvt"].never.len(), 0, "{coverage:?}");
    });
}

#[test]
fn a_thousand_tests_are_played() {
    let mut text = case("fails.mvt").split("\ntest ").next().unwrap().to_owned();
    for number in 0..1000 {
        writeln!(
            text,
            "test \"number {number}\" {{\n  given crm-[:Company]-> {{ Name: \"{number}\", Employees: 1 }}\n  answer \
             tracker-[:create_issue]-> {{ text: \"E\" }}\n  answer tracker-[:search_issues]-> {{ count: {number} }}\n  \
             expect write tracker-[:create_issue]-> {{ title: \"{number}\", team: \"ENG\" }}\n  expect write \
             crm-[:Note]-> {{ Text: \"{number}; E; 1\" }}\n}}"
        )
        .unwrap();
    }
    played(&text, false, |program, outcomes| {
        assert!(outcomes.iter().all(Outcome::passed), "{}", told(program, outcomes));
    });
}
