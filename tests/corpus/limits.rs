//! Texts that no person writes: too deep, too long, never closed. Each ends in a report, none in a crash.

use lf_lang::{diag::codes, source::SourceMap, syntax};
use libtest_mimic::Trial;

use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("limits/nesting_up_to_128_is_read", nesting_up_to_128_is_read),
        trial("limits/deeper_nesting_is_one_report", deeper_nesting_is_one_report),
        trial("limits/long_chains_are_one_report", long_chains_are_one_report),
        trial("limits/chains_up_to_the_limit_are_read", chains_up_to_the_limit_are_read),
        trial("limits/every_unclosed_brace_is_reported", every_unclosed_brace_is_reported),
        trial("limits/a_file_beyond_eight_mebibytes_is_refused", too_large),
    ]
}

fn codes_of(text: &str) -> Vec<&'static str> {
    let mut sources = SourceMap::default();
    let id = sources.add("limits.mvt", text);
    let parsed = syntax::parse(sources.get(id).expect("just added"));
    parsed.problems.iter().map(|problem| problem.code.as_str()).collect()
}

fn expect(name: &str, text: &str, expected: &[&str]) -> Result<(), String> {
    let found = codes_of(text);
    if found == expected { Ok(()) } else { Err(format!("{name}: expected {expected:?}, found {found:?}")) }
}

/// What opens, what stands innermost, what closes.
const NESTS: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{ a: ", "1", " }"),
    ("f(", "1", ")"),
    ("-(", "1", ")"),
    ("NOT (", "true", ")"),
    ("IF true THEN ", "1", " ELSE 2 END"),
    ("c-[:A WHERE x == ", "1", "]->"),
];

fn nested((open, inner, close): (&str, &str, &str), depth: usize) -> String {
    format!("x = {}{inner}{}\n", open.repeat(depth), close.repeat(depth))
}

fn nesting_up_to_128_is_read() -> Result<(), String> {
    for nest in NESTS {
        expect(nest.0, &nested(*nest, 127), &[])?;
    }
    let blocks = format!("function f() {{ {} {} }}\n", "if a {".repeat(120), "}".repeat(120));
    expect("blocks", &blocks, &[])
}

fn deeper_nesting_is_one_report() -> Result<(), String> {
    let deep = codes::MOV_PARSE_TOO_DEEP.as_str();
    for depth in [129, 2_000, 20_000] {
        for nest in NESTS {
            expect(nest.0, &nested(*nest, depth), &[deep])?;
        }
        let blocks = format!("function f() {{ {} {} }}\n", "if a {".repeat(depth), "}".repeat(depth));
        expect("blocks", &blocks, &[deep])?;
        let holes = format!("x = {}1{}\n", "\"${".repeat(depth), "}\"".repeat(depth));
        expect("holes", &holes, &[deep])?;
    }
    Ok(())
}

/// A beginning, what is repeated, an end.
const CHAINS: &[(&str, &str, &str)] = &[
    ("x = a", " + a", ""),
    ("x = a", " AND a", ""),
    ("x = a", ".b", ""),
    ("x = ", "-", "1"),
    ("x = ", "NOT ", "true"),
    ("x = a", " AS <text>", ""),
    ("type T = <text", "[]", ">"),
];

fn long_chains_are_one_report() -> Result<(), String> {
    for (start, again, end) in CHAINS {
        for length in [300, 5_000] {
            let text = format!("{start}{}{end}\n", again.repeat(length));
            expect(again, &text, &[codes::MOV_PARSE_TOO_DEEP.as_str()])?;
        }
    }
    Ok(())
}

fn chains_up_to_the_limit_are_read() -> Result<(), String> {
    for (start, again, end) in CHAINS {
        let length = if *again == "[]" { 8 } else { 250 };
        expect(again, &format!("{start}{}{end}\n", again.repeat(length)), &[])?;
    }
    let arms = format!("function f() {{ if a {{ }} {} }}\n", "else if b { } ".repeat(1_000));
    expect("arms of one `if` do not nest", &arms, &[])?;
    let many = format!("x = [{}]\n", "1, ".repeat(5_000));
    expect("members of one list do not nest", &many, &[])
}

fn every_unclosed_brace_is_reported() -> Result<(), String> {
    let text = format!("function f() {{\n{}", "if a {\n".repeat(100));
    let found = codes_of(&text);
    let unclosed = found.iter().filter(|code| **code == codes::MOV_PARSE_UNCLOSED.as_str()).count();
    if unclosed == 101 && found.len() == 101 {
        Ok(())
    } else {
        Err(format!("{} reports, {unclosed} unclosed", found.len()))
    }
}

fn too_large() -> Result<(), String> {
    let text = "// x\n".repeat(syntax::MOST_BYTES / 5 + 1);
    expect("size", &text, &[codes::MOV_PARSE_TOO_LARGE.as_str()])
}
