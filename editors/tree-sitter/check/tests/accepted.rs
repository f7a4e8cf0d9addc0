//! A text is read without an error exactly when `lf-lang` reads it without a problem, but for what is let pass.

use std::{collections::BTreeSet, env};

use lf_lang::syntax::{
    ast::Item,
    tokens::{TokenKind, tokens},
};

use crate::{report, texts, tree};

/// What `lf-lang` refuses and the grammar lets pass: a code, what its headline says, and why.
const LET_PASS: [(&str, &str, &str); 7] = [
    ("MOV_PARSE_TOO_DEEP", "", "what nests too deep to be run can still be drawn"),
    ("MOV_PARSE_ESCAPE", "is no character", "an escape, of whatever number"),
    ("MOV_PARSE_NUMBER", "is longer than a duration can be", "a duration, however long"),
    ("MOV_PARSE_UNEXPECTED", "so it can hold no `${…}`", "a text, which a hole shows best to be the wrong one"),
    ("MOV_PARSE_HABIT", "`{` stands at the end of the line", "a newline is passed over where something must follow"),
    ("MOV_PARSE_HABIT", "is `| absent`, not `null`", "a type by the name that it has elsewhere"),
    ("MOV_PARSE_HABIT", "is `| absent`, not `undefined`", "the same"),
];

/// Whether `lf-lang` reads this, as far as a tree can tell.
fn reads(text: &str, passed: &mut BTreeSet<usize>) -> bool {
    let mut sound = true;
    for problem in texts::parsed(text).problems {
        let passes =
            |(code, says, _): &(&str, &str, &str)| *code == problem.code.as_str() && problem.headline.contains(says);
        match LET_PASS.iter().position(passes) {
            Some(row) => drop(passed.insert(row)),
            None => sound = false,
        }
    }
    sound
}

fn difference(text: &str, passed: &mut BTreeSet<usize>) -> Option<String> {
    let (ours, theirs) = (reads(text, passed), !tree(text).root_node().has_error());
    let found = |reads: bool| if reads { "reads" } else { "refuses" };
    (ours != theirs).then(|| format!("lf-lang {} and the grammar {}", found(ours), found(theirs)))
}

#[test]
fn a_text_has_an_error_exactly_when_lf_lang_refuses_it() {
    let mut wrong = Vec::new();
    let mut passed = BTreeSet::new();
    for text in texts::all() {
        if let Some(why) = difference(&text.body, &mut passed) {
            wrong.push(format!("{}: {why}", text.name));
        }
        if let Some(why) = difference(&text.body.replace('\n', "\r\n"), &mut passed) {
            wrong.push(format!("{}, with the newlines of Windows: {why}", text.name));
        }
        for piece in declarations(&text.body) {
            if let Some(why) = difference(piece, &mut passed) {
                wrong.push(format!("{}: {why} `{piece}`", text.name));
            }
        }
    }
    for (row, (code, says, _)) in LET_PASS.iter().enumerate() {
        if !passed.contains(&row) {
            wrong.push(format!("nothing shows that {code} {says} is let pass"));
        }
    }
    report(&wrong);
}

/// The other differences, each with who reads it: `lf-lang`, else the grammar.
const DIFFER: [(&str, bool, &str); 7] = [
    ("function f() {\n  x\n  = 1\n}", false, "a newline is passed over where something must follow"),
    ("x = 1 + NOT y", true, "`NOT` takes all that follows; behind these signs it would be in two trees"),
    ("function f() {\n  x = write\n}", true, "a word that begins a statement, where it could stand too"),
    ("function f() {\n  link-[:Edge]-> { }\n}", true, "the same"),
    ("function f() {\n  link(x)\n}", true, "the same"),
    ("test \"a\" {\n  expect fails \"a\" + x\n}", true, "`fails` is a name too; what follows tells them apart"),
    ("import { a as as\n  b } from \"b\"", false, "a line that ends in `as` goes on, but here it is a name"),
];

#[test]
fn what_differs_is_what_the_readme_says() {
    let mut wrong = Vec::new();
    for (text, ours, why) in DIFFER {
        let reads = texts::parsed(text).problems.is_empty();
        if reads != ours || tree(text).root_node().has_error() != ours {
            wrong.push(format!("`{text}` is said to be read by one alone: {why}"));
        }
    }
    report(&wrong);
}

#[test]
fn a_line_that_ends_too_early_is_an_error() {
    let statements =
        ["g\n(a)", "await sleep\n(2h)", "await\nsleep(2h)", "delete\nx", "write\nx { }", "delete // it\nx", "x\n.y"];
    let mut wrong = Vec::new();
    for statement in statements {
        let text = format!("function f() {{\n{statement}\n}}\n");
        if texts::parsed(&text).problems.is_empty() || !tree(&text).root_node().has_error() {
            wrong.push(format!("`{statement}` is read"));
        }
    }
    report(&wrong);
}

/// Each declaration alone, so that a mistake in one hides nothing in another.
fn declarations(text: &str) -> Vec<&str> {
    let spans = texts::parsed(text).file.items.into_iter().map(|item| match item {
        Item::Import(item) => item.span,
        Item::Connection(item) => item.span,
        Item::Type(item) => item.span,
        Item::Function(item) => item.span,
        Item::Listen(item) => item.span,
        Item::Binding(item) => item.span,
        Item::Test(item) => item.span,
        Item::Bad { span, .. } => span,
    });
    spans.map(|span| &text[span.start as usize..span.end as usize]).collect()
}

/// One token is left out, doubled, or changes places with the next. `LF_EDITS=1` tries every such edit; else one of
/// a hundred is tried.
#[test]
fn an_edited_text_has_an_error_exactly_when_lf_lang_refuses_it() {
    let every = env::var("LF_EDITS").ok().and_then(|every| every.parse().ok()).unwrap_or(101);
    let mut wrong = Vec::new();
    let mut passed = BTreeSet::new();
    let mut number = 0_usize;
    for text in texts::sound() {
        for piece in declarations(&text.body).into_iter().filter(|piece| piece.len() < 3_000) {
            for edited in edits(piece) {
                number += 1;
                if !number.is_multiple_of(every) || as_ends_a_line(&edited) {
                    continue;
                }
                if let Some(why) = difference(&edited, &mut passed) {
                    wrong.push(format!("{}: {why} `{edited}`", text.name));
                }
            }
        }
    }
    assert!(number > 20_000, "only {number} edits are found");
    report(&wrong);
}

fn edits(piece: &str) -> Vec<String> {
    let comment = |kind| matches!(kind, TokenKind::Comment | TokenKind::DocComment);
    let tokens: Vec<_> = tokens(piece).into_iter().filter(|token| !comment(token.kind)).collect();
    let mut edits = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let (start, end) = (token.start as usize, token.end as usize);
        let (before, written, after) = (&piece[..start], &piece[start..end], &piece[end..]);
        edits.push(format!("{before}{after}"));
        edits.push(format!("{before}{written} {written}{after}"));
        if let Some(next) = tokens.get(place + 1) {
            let (from, to) = (next.start as usize, next.end as usize);
            edits.push(format!("{before}{}{}{written}{}", &piece[from..to], &piece[end..from], &piece[to..]));
        }
    }
    edits
}

/// `lf-lang` lets a line that ends in `as` go on whatever this `as` is; the grammar only where it is the keyword.
fn as_ends_a_line(text: &str) -> bool {
    text.lines().any(|line| line.split("//").next().is_some_and(|line| line.trim_end().ends_with(" as")))
}
