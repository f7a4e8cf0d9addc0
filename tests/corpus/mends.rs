//! The way out: each code has a mend that a machine makes, or says what a person is to do; each habit of another language
//! is named with its right spelling, and mended in one go. What each code offers is a reviewed snapshot beside this file.

use std::{collections::BTreeMap, env, fmt::Write as _, fs};

use lf_lang::diag::{Diagnostic, Severity, codes};
use libtest_mimic::Trial;

use crate::{case, corpus, files, fixes, read, report, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("mends/each_code_is_mended_or_says_what_to_do", each_code),
        trial("mends/what_fixes_leave_says_why", leftovers),
        trial("mends/each_habit_is_named_and_mended", habits),
    ]
}

fn broken() -> impl Iterator<Item = (String, String)> {
    ["syntax/err", "check/err"].into_iter().flat_map(|group| files(&corpus().join(group), "mvt")).map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        (name, read(&path))
    })
}

/// What a reader is told to do, if anything.
fn told(problem: &Diagnostic) -> Option<&str> {
    let label = || (!problem.primary.text.is_empty()).then_some(problem.primary.text.as_str());
    problem.help.first().map(String::as_str).or_else(label)
}

fn each_code() -> Result<(), String> {
    let mut fixed: BTreeMap<&str, String> = BTreeMap::new();
    let mut by_hand: BTreeMap<&str, String> = BTreeMap::new();
    for (name, text) in broken() {
        for problem in &case::outcome(&name, &text)?.problems {
            let code = problem.code.as_str();
            if let Some(fix) = &problem.fix {
                fixed.entry(code).or_insert_with(|| fix.says.clone());
            } else if let Some(told) = told(problem) {
                by_hand.entry(code).or_insert_with(|| told.to_owned());
            }
        }
    }
    let mut shown = String::new();
    for entry in codes::ALL.iter().filter(|entry| entry.raised == codes::Raised::Files) {
        let code = entry.code.as_str();
        let line = match (fixed.get(code), by_hand.get(code)) {
            (Some(fix), Some(hand)) => format!("fix: {fix}; else: {hand}"),
            (Some(fix), None) => format!("fix: {fix}"),
            (None, Some(hand)) => format!("by hand: {hand}"),
            (None, None) => "the headline says it all".to_owned(),
        };
        writeln!(shown, "{code}\n    {}", line.replace('\n', " ⏎ ")).expect("a text takes everything");
    }
    let path = corpus().join("mends.snap");
    if env::var_os("LF_BLESS").is_some() {
        return fs::write(&path, &shown).map_err(|error| error.to_string());
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    if before == shown { Ok(()) } else { Err(format!("the mends changed (`LF_BLESS=1` accepts it)\n{shown}")) }
}

/// When all fixes of a case are made, no error is left that has one.
fn leftovers() -> Result<(), String> {
    for (name, text) in broken() {
        let mended = fixes::mended(&name, &text)?;
        let open = mended.problems.iter().find(|left| left.severity == Severity::Error && left.fix.is_some());
        if let Some(open) = open {
            return Err(format!("{name}: `{}` is left with its fix\n{}", open.headline, report::reports(&mended)));
        }
    }
    Ok(())
}

/// What other languages write, and what the report has to name.
const HABITS: &[(&str, &str)] = &[
    ("if c.Active and c.Active { delete c }", "AND"),
    ("if c.Active or c.Active { delete c }", "OR"),
    ("if not c.Active { delete c }", "NOT"),
    ("if c.Active && c.Active { delete c }", "AND"),
    ("if c.Active || c.Active { delete c }", "OR"),
    ("if !c.Active { delete c }", "NOT"),
    ("if c.Name === \"a\" { delete c }", "=="),
    ("if c.Name !== \"a\" { delete c }", "!="),
    ("if c.Name = \"a\" { delete c }", "=="),
    ("write c { Name: c.Active ? \"a\" : \"b\" }", "IF"),
    ("write c { Name: c.Site ?? \"a\" }", "COALESCE"),
    ("write c { Name: c?.Name }", "`.`"),
    ("write c { Owner ?: c.Tags[0] }", "AT("),
    ("for (const p of c-[:People]->) { write p { Name: \"a\" } }", "path"),
    ("let x = 1\n  write c { Size: x }", "let"),
    ("const x = 1\n  write c { Size: x }", "const"),
    ("var x = 1\n  write c { Size: x }", "var"),
    ("try { delete c } catch (e) { }", "try"),
    ("write c { Tags: MAP(c.Tags, t => UPPER(t)) }", "(t)"),
    ("write c { Name: c.Name + \"a\" }", "${"),
    ("# a comment\n  delete c", "//"),
    ("write c { Name: “a” }", "\""),
    ("write c { Size: 3 – 1 }", "-"),
    ("write c { \"Name\": \"a\" }", "Name"),
    ("write c { Name = \"a\" }", ":"),
    ("if c.Site is null { delete c }", "== null"),
    ("if c.Active { delete c } elif c.Active { return }", "else if"),
];

fn habits() -> Result<(), String> {
    let mut wrong = Vec::new();
    for (written, right) in HABITS {
        let text = format!(
            "// catalog: acme\ncrm = connect #acme_crm using acme\nfunction f(c: <crm-[:Company]->>) {{\n  {written}\n}}\n\
             listen to crm-[:Company]-> fire f\n"
        );
        let outcome = case::outcome("habit.mvt", &text)?;
        let errors: Vec<_> = outcome.problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
        let named = errors.first().is_some_and(|first| {
            let says = first.fix.as_ref().map_or("", |fix| fix.says.as_str());
            first.headline.contains(right) || says.contains(right) || first.help.iter().any(|help| help.contains(right))
        });
        let mended = fixes::mended("habit.mvt", &text)?;
        let open = mended.problems.iter().any(|problem| problem.severity == Severity::Error);
        if !named || open {
            wrong.push(format!(
                "{written}\n{}after its fixes\n{}",
                report::reports(&outcome),
                report::reports(&mended)
            ));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n----\n")) }
}
