//! What holds for every text, however broken: no panic, no hang, spans inside the text, nothing lost in silence.
//!
//! Time is bounded by counting: pest's fuse allows 20 million calls for one declaration, about fifty times what these
//! texts need when read in linear time, so whatever is worse than that is reported as `MOV_PARSE_TOO_LARGE`.

use lf_lang::{
    diag::codes,
    source::{SourceMap, Span},
    syntax,
};
use libtest_mimic::Trial;
use proptest::{collection, prelude::*, sample, test_runner};

use crate::{corpus, files, read, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("properties/every_prefix_of_every_case_is_read", every_prefix),
        trial("properties/every_case_without_one_sign_is_read", without_one_sign),
        trial("properties/token_soups_are_read", token_soups),
        trial("properties/repeated_openers_stay_linear", repeated_openers),
        trial("properties/files_are_read_side_by_side_as_they_are_alone", side_by_side),
    ]
}

/// What must be so for any text at all.
fn holds(text: &str) -> Result<(), String> {
    let mut sources = SourceMap::default();
    let id = sources.add("property.mvt", text);
    let parsed = syntax::parse(sources.get(id).expect("just added"));
    let inside = |span: Span| {
        let (start, end) = (span.start as usize, span.end as usize);
        span.source == id
            && start <= end
            && text.is_char_boundary(start)
            && text.is_char_boundary(end)
            && end <= text.len()
    };
    for problem in &parsed.problems {
        let edits = problem.fix.iter().flat_map(|fix| fix.edits.iter().map(|(span, _)| *span));
        let others = problem.secondary.iter().map(|label| label.span);
        if let Some(span) = edits.chain(others).chain([problem.primary.span]).find(|span| !inside(*span)) {
            return Err(format!("{span:?} of `{}` is not in\n{text}", problem.headline));
        }
        if problem.code == codes::MOV_PARSE_TOO_LARGE {
            return Err(format!("reading took more than linear work\n{}", text.get(..400).unwrap_or(text)));
        }
    }
    let tree = format!("{:?}", parsed.file);
    let unread = tree.contains("kind: Bad") || tree.contains(" Bad {") || tree.contains("[Bad {");
    if unread && parsed.problems.is_empty() {
        return Err(format!("something was not read and nothing was said about it\n{text}"));
    }
    Ok(())
}

fn cases() -> Vec<String> {
    let mut texts = Vec::new();
    for group in ["syntax", "check"] {
        texts.extend(files(&corpus().join(group), "mvt").iter().map(|file| read(file)));
    }
    texts
}

/// Where one sign ends and another begins, roughly: a change between word, blank and other, and each other sign.
fn borders(text: &str) -> Vec<usize> {
    let kind = |letter: char| match letter {
        letter if letter.is_alphanumeric() || letter == '_' => 0,
        letter if letter.is_whitespace() => 1,
        _ => 2,
    };
    let mut last = 1;
    let mut found = Vec::new();
    for (place, letter) in text.char_indices() {
        let now = kind(letter);
        if now != last || now == 2 {
            found.push(place);
        }
        last = now;
    }
    found.push(text.len());
    found
}

/// At most so many places of one text are tried, spread evenly.
const PLACES: usize = 24;

fn spread(places: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let step = (places.len() / PLACES).max(1);
    places.windows(2).step_by(step).map(|pair| (pair[0], pair[1]))
}

fn every_prefix() -> Result<(), String> {
    for text in cases() {
        for (_, end) in spread(&borders(&text)) {
            holds(&text[..end])?;
        }
    }
    Ok(())
}

fn without_one_sign() -> Result<(), String> {
    for text in cases() {
        for (start, end) in spread(&borders(&text)) {
            holds(&format!("{}{}", &text[..start], &text[end..]))?;
        }
    }
    Ok(())
}

const TOKENS: &[&str] = &[
    "a",
    "b.c",
    "crm",
    "function f(",
    "listen to ",
    "fire f",
    "write ",
    "if ",
    "else ",
    "return ",
    "type T = ",
    "import ",
    "connect #m",
    "using k",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "-[",
    "-[:A",
    "-[r:A WHERE ",
    "]->",
    "->",
    "\"",
    "\"x\"",
    "${",
    "`",
    "\n",
    "\n",
    "\n  ",
    ",",
    ";",
    ":",
    "=",
    "==",
    "=>",
    "?",
    "?:",
    "+:",
    "...",
    ".",
    "+",
    "-",
    "*",
    "/",
    "//",
    "///",
    "#",
    "@",
    "!",
    "&&",
    "||",
    "??",
    "?.",
    "IF ",
    " THEN ",
    " ELSE ",
    " END",
    " AND ",
    " OR ",
    "NOT ",
    " IS ",
    " AS ",
    "EXISTS ",
    " IN ",
    "1",
    "1h30m",
    "0.5",
    "null",
    "true",
    "“",
    "”",
    "–",
    "é",
    "'",
    "\\",
    "\u{a0}",
    "\u{1}",
    "\u{0}",
    "\r\n",
    "await ",
    "test \"t\" {",
    "for (",
    "let ",
    "try {",
    "unique by (",
    "ORDER BY ",
    "LIMIT ",
    "\n}\n",
    "\nfunction g() {\n",
];

fn token_soups() -> Result<(), String> {
    let config = test_runner::Config { cases: 200, failure_persistence: None, ..test_runner::Config::default() };
    let random = test_runner::TestRng::deterministic_rng(test_runner::RngAlgorithm::ChaCha);
    let mut runner = test_runner::TestRunner::new_with_rng(config, random);
    let soup = collection::vec(sample::select(TOKENS), 0..120).prop_map(|tokens| tokens.concat());
    runner.run(&soup, |text| holds(&text).map_err(TestCaseError::fail)).map_err(|failure| failure.to_string())
}

fn repeated_openers() -> Result<(), String> {
    let lines = [
        "x = (",
        "x = [",
        "if a {",
        "x = { a:",
        "x = \"",
        "x = \"${",
        "x = -[r:A WHERE ",
        "x = IF ",
        "x = `",
        "f(",
        "x = <",
        "x = a ?",
        "if ",
        "x => ",
        "(x) => ",
        "a ? ",
        "x = if a then ",
        "else ",
        "// \"",
        "x = 'a",
        "}",
        ")",
        "]",
        "\u{a0}",
    ];
    for line in lines {
        for joint in ["", "\n", "\n  "] {
            holds(&format!("{line}{joint}").repeat(150))?;
            holds(&format!("function f() {{\n{}", format!("{line}{joint}").repeat(150)))?;
            holds(&format!("function f() {{\n{}}}\n", format!("{line}{joint}").repeat(120)))?;
        }
    }
    Ok(())
}

fn side_by_side() -> Result<(), String> {
    let mut sources = SourceMap::default();
    for (place, text) in cases().into_iter().enumerate() {
        sources.add(format!("{place}.mvt"), text);
    }
    let files: Vec<_> = sources.iter().collect();
    let alone: Vec<_> = files.iter().map(|file| syntax::parse(file)).collect();
    for threads in [1, 2, 7] {
        if syntax::parse_all(&files, threads) != alone {
            return Err(format!("on {threads} threads something else was read"));
        }
    }
    Ok(())
}
