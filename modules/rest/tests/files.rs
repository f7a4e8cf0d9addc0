//! Mistakes in files: `toml/*.toml` hold each problem on lines that start with `#~`, below the line that it is about.

use std::{fmt::Write as _, path::Path};

use lf_rest::{Problem, RestModule, Severity};

/// The file's text with its problems written into it.
fn annotated(text: &str, problems: &[Problem]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        out.push_str(line);
        let end = at + line.len();
        for problem in problems.iter().filter(|problem| (at..end).contains(&problem.span.start)) {
            let span = text[problem.span.clone()].lines().next().unwrap_or_default();
            let severity = match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            writeln!(out, "#~ {severity} at `{span}`: {}", problem.message).unwrap();
            if let Some(help) = &problem.help {
                writeln!(out, "#~   help: {help}").unwrap();
            }
        }
        at = end;
    }
    out
}

#[test]
fn every_mistake_is_reported_at_its_place() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/toml");
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let expected = std::fs::read_to_string(&path).unwrap();
        let text: String = expected.split_inclusive('\n').filter(|line| !line.starts_with("#~")).collect();
        let (module, problems) = RestModule::load("crm", &text);
        let errors = problems.iter().any(|problem| problem.severity == Severity::Error);
        assert_eq!(module.is_none(), errors, "{}", path.display());
        let found = annotated(&text, &problems);
        if found != expected {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "found instead:\n\n{}", wrong.join("\n\n"));
    assert!(count > 10);
}

#[test]
fn any_text_is_read_without_a_panic() {
    let whole = include_str!("../README.md").split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    for (cut, _) in whole.char_indices().step_by(13) {
        let (_, problems) = RestModule::load("crm", &whole[..cut]);
        assert!(problems.iter().all(|problem| problem.span.end <= cut.max(1)), "{cut}");
    }
    // A value of the wrong kind in every place.
    for line in 0..whole.lines().count() {
        for wrong in ["7", "\"x\"", "[]", "{}", "true", "2026-01-05"] {
            let text: Vec<String> = whole
                .lines()
                .enumerate()
                .map(|(number, text)| match text.split_once(" = ") {
                    Some((key, _)) if number == line => format!("{key} = {wrong}"),
                    Some(_) | None => text.to_owned(),
                })
                .collect();
            let (_, _) = RestModule::load("crm", &text.join("\n"));
        }
    }
}

#[test]
fn a_file_larger_than_a_mebibyte_is_not_read() {
    let (module, problems) = RestModule::load("crm", &"#".repeat((1 << 20) + 1));
    assert!(module.is_none());
    assert_eq!(problems[0].message, "a module's file is at most 1 MiB");
}
