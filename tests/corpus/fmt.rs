//! The one layout: texts beside their layouts under `fmt/`, and what holds for the layout of every text.
//!
//! The layout of a layout is itself, says the same tree with the same comments in the same order, and compiles to the
//! same plan. A text that cannot be read is left alone.

use std::{env, fs, path::Path};

use lf_lang::{
    plan,
    source::{SourceFile, SourceMap},
    syntax::{
        self,
        format::{Left, WIDTH, format, same},
    },
};
use libtest_mimic::{Failed, Trial};
use proptest::{collection, prelude::*, sample, test_runner};

use crate::{case, corpus, files, read, root, stem, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("fmt/every_text_that_is_right_keeps_its_meaning", every_text),
        trial("fmt/a_comment_may_stand_anywhere", comments_anywhere),
        trial("fmt/any_breaking_of_lines_has_one_layout", one_layout),
        trial("fmt/generated_texts_keep_their_meaning", generated),
        trial("fmt/examples_are_in_the_one_layout", examples),
    ];
    for file in files(&corpus().join("fmt"), "mvt") {
        trials.push(Trial::test(format!("fmt/{}", stem(&file)), move || run(&file)));
    }
    trials
}

/// One text and its layout beside it.
fn run(path: &Path) -> Result<(), Failed> {
    let now = holds(&read(path))?;
    let expected = path.with_extension("out");
    if env::var_os("LF_BLESS").is_some() {
        fs::write(&expected, &now)?;
        return Ok(());
    }
    let before = fs::read_to_string(&expected).unwrap_or_default();
    if before == now {
        Ok(())
    } else {
        Err(format!("the layout changed (`LF_BLESS=1` accepts it)\n--- before\n{before}\n--- now\n{now}").into())
    }
}

fn parsed(text: &str) -> (SourceFile, syntax::Parsed) {
    let mut sources = SourceMap::default();
    let id = sources.add("layout.mvt", text);
    let file = sources.get(id).expect("just added").clone();
    let parsed = syntax::parse(&file);
    (file, parsed)
}

/// The layout of a text that can be read, and what holds for it.
fn holds(text: &str) -> Result<String, String> {
    let (file, one) = parsed(text);
    let laid_out = match format(&file) {
        Ok(laid_out) => laid_out,
        Err(Left::Unreadable(problems)) => {
            let said: Vec<_> = problems.iter().map(|problem| problem.headline.as_str()).collect();
            return Err(format!("{}\n{text}", said.join("\n")));
        }
        Err(Left::Unsure) => return Err(format!("the layout would say something else than\n{text}")),
    };
    let (again, other) = parsed(&laid_out);
    if !same(&file, &one.file, &again, &other.file) {
        return Err(format!("another tree, or other comments\n--- text\n{text}\n--- layout\n{laid_out}"));
    }
    match format(&again) {
        Ok(twice) if twice == laid_out => {}
        Ok(twice) => {
            return Err(format!("two layouts of one text\n--- text\n{text}\n--- once\n{laid_out}\n--- twice\n{twice}"));
        }
        Err(left) => return Err(format!("the layout cannot be laid out: {left:?}\n{laid_out}")),
    }
    if let Some(line) = laid_out.lines().find(|line| line.ends_with([' ', '\t']) && !text.contains(*line)) {
        return Err(format!("blanks at the end of `{line}`\n{laid_out}"));
    }
    Ok(laid_out)
}

/// Every file of the corpus that can be read, with the files that one case holds taken apart.
fn readable() -> Vec<String> {
    let mut texts = Vec::new();
    for group in ["syntax", "check", "plan", "fmt"] {
        for file in files(&corpus().join(group), "mvt") {
            texts.extend(apart(&read(&file)).into_iter().map(|(_, text)| text));
        }
    }
    texts.extend(files(&root().join("examples"), "mvt").iter().map(|file| read(file)));
    texts.retain(|text| parsed(text).1.problems.is_empty());
    texts
}

/// The files of one case.
fn apart(text: &str) -> Vec<(Option<String>, String)> {
    let mut parts = vec![(None, String::new())];
    for line in text.split_inclusive('\n') {
        if line.starts_with("//== ") {
            parts.push((Some(line.to_owned()), String::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts
}

fn every_text() -> Result<(), String> {
    let mut count = 0;
    for text in readable() {
        holds(&text)?;
        count += 1;
    }
    if count < 30 { Err(format!("only {count} texts could be read")) } else { same_plans() }
}

/// The plan of a text and of its layout are one plan.
fn same_plans() -> Result<(), String> {
    let mut cases = files(&corpus().join("check/ok"), "mvt");
    cases.extend(files(&corpus().join("plan"), "mvt"));
    for path in cases {
        let text = read(&path);
        let mut laid_out = String::new();
        for (head, part) in apart(&text) {
            laid_out.push_str(&head.unwrap_or_default());
            laid_out.push_str(&holds(&part)?);
        }
        let ids = [text, laid_out].map(|text| {
            let outcome = case::outcome("one.mvt", &text)?;
            let movement = outcome.movement.ok_or_else(|| format!("no movement of\n{text}"))?;
            Ok::<_, String>(plan::compile(&movement, &outcome.sources).id())
        });
        let [before, after] = ids;
        if before? != after? {
            return Err(format!("{}: another plan after the layout", path.display()));
        }
    }
    Ok(())
}

/// A comment at any place where a line may end, is kept.
fn comments_anywhere() -> Result<(), String> {
    for text in readable() {
        let places: Vec<usize> = text.match_indices([' ', '\n']).map(|(place, _)| place).collect();
        let step = (places.len() / PLACES).max(1);
        for (number, place) in places.iter().step_by(step).enumerate() {
            let (before, after) = text.split_at(*place);
            let commented = if number % 2 == 0 {
                format!("{before} // note {number}\n{after}")
            } else {
                format!("{before}\n\n// note {number}\n{after}")
            };
            if parsed(&commented).1.problems.is_empty() {
                holds(&commented)?;
            }
        }
    }
    Ok(())
}

/// So many places of one text are tried, spread evenly.
const PLACES: usize = 8;

/// Without empty lines and comments, and with every brace on the line of what follows, only the tree decides.
fn one_layout() -> Result<(), String> {
    let texts = [
        "function f(a: <text>, b: <{ x: number, y: text[] }>): <text> { return a }",
        "x = f(1, [2, 3], { a: 1, b: \"two\" }) + 4 * -5",
        "x = IF a AND b OR NOT c THEN \"a\" ELSE IF d THEN \"b\" ELSE \"c\" END",
        "listen to crm-[c:Company WHERE c.Name == \"a\" AND c.Size > 3 ORDER BY c.Name DESC LIMIT 3]-> fire f",
    ];
    for text in texts {
        let laid_out = holds(text)?;
        // Inside brackets that let lines go on, every blank may be a new line.
        let spread: String = {
            let mut depth = 0;
            let mut quoted = false;
            text.chars()
                .map(|letter| {
                    match letter {
                        '"' => quoted = !quoted,
                        '(' | '[' => depth += 1,
                        ')' | ']' => depth -= 1,
                        '{' | '}' => depth += if letter == '{' { -100 } else { 100 },
                        _ => {}
                    }
                    if letter == ' ' && depth > 0 && !quoted { '\n' } else { letter }
                })
                .collect()
        };
        let other = holds(&spread)?;
        if other != laid_out {
            return Err(format!("two layouts\n{laid_out}\n{other}"));
        }
    }
    Ok(())
}

const ATOMS: &[&str] = &[
    "a",
    "b.c",
    "\"text\"",
    "\"a ${b.c} long enough to matter ${NUMBER(\"3\")}\"",
    "1_000",
    "1h30m",
    "null",
    "true",
    "crm-[:Company]->",
    "crm-[c:Company WHERE c.Name == \"a long enough name\" AND c.Size > 3]->.Name",
    "`odd name`",
    "f(a, b, c)",
    "[1, 2, 3]",
    "{ a: 1, b: { c: 2 } }",
    "IF a THEN 1 ELSE 2 END",
    "EXISTS a",
    "j AS <text | absent>",
    "x IS <{ a: text, b: number[] }>",
    "(a)",
    "-1",
    "NOT a",
];

const JOINTS: &[&str] = &[" + ", " - ", " * ", " == ", " AND ", " OR ", " IN ", " CONTAINS ", " AND NOT ", " - -"];

const HEADS: &[&str] = &[
    "x = V",
    "return V",
    "if V { return }",
    "f(V, V)",
    "write a { x: V, y: V }",
    "write crm-[:A]-> {\n x: V\n y: V }",
    "crm-[c:A WHERE V]-> { x = V }",
    "x = [V, V]",
    "x = { a: V, b: V }",
    "x = MAX([V, V])",
    "x = IF V THEN V ELSE V END",
];

/// Texts put together from parts of the corpus's statements.
fn generated() -> Result<(), String> {
    let value =
        collection::vec((sample::select(ATOMS), sample::select(JOINTS), any::<(bool, u8)>()), 1..9).prop_map(|parts| {
            let mut out = String::new();
            let mut open = 0;
            let last = parts.len() - 1;
            for (place, (atom, joint, (paren, _))) in parts.into_iter().enumerate() {
                if paren && open < 3 {
                    out.push('(');
                    open += 1;
                }
                out.push_str(atom);
                if open > 0 && !paren {
                    out.push(')');
                    open -= 1;
                }
                if place < last {
                    out.push_str(joint);
                }
            }
            out + &")".repeat(open)
        });
    let statement = (sample::select(HEADS), collection::vec(value, 3)).prop_map(|(head, values)| {
        let mut out = head.to_owned();
        for value in values {
            out = out.replacen('V', &value.replace('V', "v"), 1);
        }
        out
    });
    let text =
        collection::vec(statement, 1..6).prop_map(|lines| format!("function f() {{\n{}\n}}\n", lines.join("\n")));
    let config = test_runner::Config { cases: 150, failure_persistence: None, ..test_runner::Config::default() };
    let random = test_runner::TestRng::deterministic_rng(test_runner::RngAlgorithm::ChaCha);
    let mut runner = test_runner::TestRunner::new_with_rng(config, random);
    let mut tried = 0_u32;
    let counted = std::cell::Cell::new(0_u32);
    let outcome = runner.run(&text, |text| {
        if parsed(&text).1.problems.is_empty() {
            counted.set(counted.get() + 1);
            holds(&text).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    tried += counted.get();
    outcome.map_err(|failure| failure.to_string())?;
    if tried < 30 { Err(format!("only {tried} generated texts could be read")) } else { Ok(()) }
}

/// What people read first is laid out, and no line of it is long.
fn examples() -> Result<(), String> {
    for file in files(&root().join("examples"), "mvt") {
        let text = read(&file);
        let laid_out = holds(&text)?;
        if laid_out != text {
            return Err(format!("{} is not in the one layout, which is\n{laid_out}", file.display()));
        }
        if let Some(line) = laid_out.lines().find(|line| line.chars().count() > WIDTH && !line.starts_with("//")) {
            return Err(format!("{}: a long line: {line}", file.display()));
        }
    }
    Ok(())
}
