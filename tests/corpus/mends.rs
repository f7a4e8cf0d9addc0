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
        trial("mends/a_file_is_clean_after_its_fixes", clean),
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

/// Why no machine makes the mend of a code that has no fix.
const REASONS: &[(&str, &[&str])] = &[
    ("a new name is the author's to choose", &["NAME_DUPLICATE", "NAME_SHADOWED", "LISTEN_TWICE", "TEST_TWICE"]),
    (
        "which of several is meant only the author knows",
        &["FIELD_TWICE", "WRITE_FIELD_TWICE", "UNIQUE_UPDATE", "TEST_BEFORE", "CALL_MIXED"],
    ),
    (
        "what is to stand there only the author knows",
        &[
            "PARSE_INTERPOLATION_EMPTY",
            "SETTING_LITERAL",
            "SETTING_VALUE",
            "TYPE_UNION",
            "AS_TYPE",
            "COMPARE_ORDER",
            "CONDITION_BOOLEAN",
            "IF_TYPES",
            "FILE_OPAQUE",
            "JSON_OPAQUE",
            "LIST_MIXED",
            "RECORD_NOT_VALUE",
            "BUILTIN_ARGUMENTS",
            "BUILTIN_LITERAL",
            "CALL_ARGUMENTS",
            "CALL_ARGUMENT_TYPE",
            "CLOSURE_PARAMS",
            "RETURN_MISSING",
            "RETURN_TYPE",
            "RETURN_VALUE",
            "RETURN_UNDECLARED",
            "HOP_PIN_REQUIRED",
            "LIMIT_NEEDS_ORDER",
            "LINK_TARGET",
            "UNIQUE_FIELD_MISSING",
            "WRITE_FIELD_MISSING",
            "WRITE_TARGET",
            "TEST_FAILS",
            "TEST_FILE",
            "TEST_TIME",
            "TEST_WHERE",
        ],
    ),
    (
        "what stands around it changes too",
        &[
            "PARSE_TOO_DEEP",
            "NAME_NOT_VALUE",
            "NAME_USE_BEFORE_BIND",
            "IMPORT_CYCLE",
            "TYPE_CYCLE",
            "TYPE_LARGE",
            "READ_PLACE",
            "CALL_NOT_FUNCTION",
            "CALL_NO_VALUE",
            "CALL_PLACE",
            "CLOSURE_PLACE",
            "CONSTANT_CYCLE",
            "HOP_NOT_READABLE",
            "HOP_NOT_RECORD",
            "HOP_PIN_FORM",
            "LISTEN_FUNCTION",
            "LISTEN_PATH",
            "TEST_EFFECT",
            "TEST_PATH",
        ],
    ),
    (
        "to leave it out would lose what the author meant by it",
        &[
            "TYPE_POSITION",
            "CONDITION_FIXED",
            "FIELD_WRITE_ONLY",
            "SPREAD",
            "NO_EFFECT",
            "UNREACHABLE",
            "LIMIT_ZERO",
            "WRITE_FIELD_READ_ONLY",
            "WRITE_SPREAD",
            "TEST_ANSWER",
            "TEST_FIRES_NOTHING",
            "TEST_NEVER",
        ],
    ),
    (
        "the system has nothing of the kind",
        &[
            "LINK_NOT_LINKABLE",
            "DELETE_NOT_DELETABLE",
            "UNIQUE_NOT_FINDABLE",
            "WRITE_NOT_WRITABLE",
            "WRITE_NO_UPDATE",
            "LISTEN_NOT_LISTENABLE",
        ],
    ),
    (
        "it is mended outside of the text",
        &["IMPORT_NOT_FOUND", "CONNECTION_REFUSED", "CONNECTION_UNREACHABLE", "MODULE_NOT_INSTALLED"],
    ),
    ("it is to be known, not mended", &["HOP_FILTER_LOCAL", "LISTEN_CYCLE"]),
];

fn reason(code: &str) -> Option<&'static str> {
    let name = code.strip_prefix("MOV_")?;
    REASONS.iter().find(|(_, codes)| codes.contains(&name)).map(|(reason, _)| *reason)
}

fn each_code() -> Result<(), String> {
    let mut fixed: BTreeMap<&str, String> = BTreeMap::new();
    let mut chosen: BTreeMap<&str, String> = BTreeMap::new();
    let mut by_hand: BTreeMap<&str, String> = BTreeMap::new();
    for (name, text) in broken() {
        for problem in &case::outcome(&name, &text)?.problems {
            let code = problem.code.as_str();
            if let Some(fix) = &problem.fix {
                fixed.entry(code).or_insert_with(|| fix.says.replace('\n', " ⏎ "));
            } else if !problem.ways.is_empty() {
                let ways: Vec<_> = problem.ways.iter().map(|way| way.says.as_str()).collect();
                chosen.entry(code).or_insert_with(|| ways.join("; "));
            } else if let Some(told) = told(problem) {
                by_hand.entry(code).or_insert_with(|| told.replace('\n', " ⏎ "));
            }
        }
    }
    let mut shown = String::new();
    let mut wrong = Vec::new();
    for entry in codes::ALL.iter().filter(|entry| entry.raised == codes::Raised::Files) {
        let code = entry.code.as_str();
        let line = match (fixed.get(code), by_hand.get(code)) {
            (Some(fix), Some(hand)) => format!("fix: {fix}; else: {hand}"),
            (Some(fix), None) => format!("fix: {fix}"),
            (None, hand) if chosen.contains_key(code) => {
                hand.map_or_else(String::new, |hand| format!("by hand: {hand}"))
            }
            (None, hand) => {
                let hand = hand.map_or("the headline says it all", String::as_str);
                let reason = reason(code);
                wrong.extend(reason.is_none().then(|| format!("{code} has neither a fix nor a reason for none")));
                format!("by hand: {hand}\n    because {}", reason.unwrap_or("?"))
            }
        };
        let line = match chosen.get(code) {
            Some(ways) if line.is_empty() => format!("to choose: {ways}"),
            Some(ways) => format!("to choose: {ways}; {line}"),
            None => line,
        };
        if fixed.contains_key(code) && reason(code).is_some() {
            wrong.push(format!("{code} has a fix, and a reason for none"));
        }
        writeln!(shown, "{code}\n    {line}").expect("a text takes everything");
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
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
    ("try { write c { Name: \"a\" } } catch (e) { ERROR(e.text) }", "else (e)"),
    ("write c { Tags: MAP(c.Tags, t => UPPER(t)) }", "(t)"),
    ("write c { Name: c.Name + \"a\" }", "${"),
    ("write c { Name: \"a\" + \": \" + c.Name + \"!\" }", "${c.Name}!"),
    ("write c { Name: 1 + 2 + \" of \" + c.Employees }", "${1 + 2} of"),
    ("# a comment\n  delete c", "//"),
    ("write c { Name: “a” }", "\""),
    ("write c { Size: 3 – 1 }", "-"),
    ("write c { \"Name\": \"a\" }", "Name"),
    ("write c { Name = \"a\" }", ":"),
    ("if c.Site is null { delete c }", "== null"),
    ("write c { Name: c.Name.toLowerCase() }", "LOWER"),
    ("write c { Tags: c.Tags.map(t => t.toUpperCase()) }", "MAP("),
    ("write c { Details: JSON.parse(JSON.stringify(c.Tags)) ELSE SKIP }", "PARSE"),
    ("write c { Size: c.Tags.length }", "LENGTH(c.Tags)"),
    ("write c { Size: len(c.Tags) }", "LENGTH"),
    ("if c.Tier IN (\"pro\", \"free\") { delete c }", "[\"pro\", \"free\"]"),
    ("if c.Name LIKE \"%x%\" { delete c }", "CONTAINS \"x\""),
    ("if c.Name.includes(\"x\") { delete c }", "CONTAINS"),
    ("write c { Name: f\"of {c.Name}\" }", "${c.Name}"),
    ("write c { Tags: MAP(c.Tags, function(t) { return t }) }", "(t) =>"),
    ("write c { Tags: FILTER(c.Tags, (t) -> t == \"a\") }", "(t) =>"),
    ("write c { Name: c.Site ELSE \"none\" }", "COALESCE(c.Site, \"none\")"),
    ("write c { Name: \"${c.Site ELSE \"none\"}\" }", "COALESCE(c.Site, \"none\")"),
    ("for (const t of c.Tags) { write crm-[:Note]-> { Text: t } }", "MAP(c.Tags, (t) => { … })"),
    ("if c.Site == None { delete c }", "null"),
    ("if c.Active == True { delete c }", "true"),
    ("-- a comment\n  delete c", "//"),
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

/// What stands in a function of a company `c`, with one mistake that has one right answer: nothing is left to report
/// after its fixes.
const CLEAN: &[&str] = &[
    "name = c.Name AS <text>\n  write c { Owner: name }",
    "size = c.Employees AS <text>\n  write c { Owner: size }",
    "size = c.Name AS <number>\n  write c { Size: size ELSE SKIP }",
    "write c { Name +: \"a\" }",
    "write c { Employees: c.Size ELSE CLEAR }",
    "write c { Owner: g(words: \"a\", size: 2) }",
    "made = write crm-[:Note]-> { Text: c.Name }",
    "c-[p:People]-> { write c { Name: \"a\" } }",
    "write c { Tags: MAP(c.Tags, (tag) => \"a\") }",
    "write c { Name: \"a\" } else (why) { return }",
    "await parallel([() => await sleep(1h), () => await sleep(2h)])\n  write c { Name: \"a\" }",
    "who = await race([() => await FIRST(crm-[:Person]->, 1h), () => await FIRST(crm-[:Person]->, 2h)])\n  \
     if who != null { write c { Owner: who.Email } }",
    "came = await race([() => await until(EXISTS crm-[p:Person WHERE p.Email == c.Name]->, every: 5m, most: 1h)])\n  \
     if came { write c { Name: \"a\" } }",
];

fn clean() -> Result<(), String> {
    let mut wrong = Vec::new();
    let inside = CLEAN.iter().map(|written| ("connect #acme_crm using acme", *written));
    let outside = [("connect #status_page using acme", "write c { Name: \"a\" }")];
    for (head, written) in inside.chain(outside) {
        let other = if head.contains("acme_crm") { String::new() } else { format!("export other = {head}\n") };
        let text = format!(
            "// catalog: acme\ncrm = connect #acme_crm using acme\n{other}\
             export function g(words: <text>, count: <number>): <text> {{ return \"${{words}}${{count}}\" }}\n\
             export function f(c: <crm-[:Company]->>) {{\n  {written}\n}}\n"
        );
        let outcome = case::outcome("clean.mvt", &text)?;
        let mended = fixes::mended("clean.mvt", &text)?;
        let bad = |problem: &Diagnostic| problem.severity != Severity::Information;
        if !outcome.problems.iter().any(bad) || mended.problems.iter().any(bad) {
            wrong.push(format!(
                "{head}\n{written}\n{}after its fixes\n{}",
                report::reports(&outcome),
                report::reports(&mended)
            ));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n----\n")) }
}
