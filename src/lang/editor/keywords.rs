//! The words of the language that may stand at a place, told from the tokens before it.

use super::complete::Before;
use crate::syntax::tokens::TokenKind;

const ITEMS: &[&str] = &["import", "export", "function", "type", "listen to", "test"];
const TEST: &[&str] = &[
    "given",
    "after",
    "answer",
    "expect write",
    "expect delete",
    "expect link",
    "expect unlink",
    "expect no write",
    "expect no delete",
    "expect no link",
    "expect no unlink",
    "expect fails",
    "expect",
];
const STATEMENTS: &[&str] = &["write", "delete", "link", "unlink", "if", "return", "await"];
const VALUES: &[&str] = &["NOT", "EXISTS", "IF", "true", "false", "null"];
const OPERATORS: &[&str] = &["AND", "OR", "IN", "CONTAINS", "IS", "WITHIN", "AS"];
const HOP: &[&str] = &["WHERE", "ORDER BY", "LIMIT"];

/// The words that may stand after these tokens. `values`: the check took the place for one of a value.
pub(super) fn keywords(before: &Before<'_>, values: bool) -> Vec<&'static str> {
    let Some(last) = before.last() else { return ITEMS.to_vec() };
    let opener = before.opener();
    if before.first_on_line() && !last.goes_on() {
        return match opener {
            None => ITEMS.to_vec(),
            Some("{") if values => statement(before),
            Some("{") if before.in_entries() => vec!["unique by"],
            Some("{") if before.in_test() => TEST.to_vec(),
            Some(_) => Vec::new(),
        };
    }
    match (last.kind, last.text) {
        (TokenKind::Keyword, "export") => vec!["function", "type"],
        (TokenKind::Keyword, "listen") => vec!["to", "as"],
        (TokenKind::Keyword, "else") => vec!["if"],
        (TokenKind::Keyword, "await") => Vec::new(),
        // Only a wait takes closures in a list.
        (_, "=>") if values && opener == Some("[") => [&["await"], VALUES].concat(),
        (TokenKind::Operator, "=") if values => match opener {
            None => [&["connect"], VALUES].concat(),
            Some(_) => [&["write", "await"], VALUES].concat(),
        },
        (_, "{" | ";") if values => statement(before),
        (_, "{") if before.in_entries() => vec!["unique by"],
        (_, "{") if before.in_test() => TEST.to_vec(),
        (TokenKind::Text, _) if before.head() == Some("listen") && before.words() == 3 => vec!["to"],
        (_, "}") if before.head() == Some("import") && opener.is_none() => vec!["from"],
        (_, "}") if opener.is_none() && before.head() == Some("listen") => vec!["fire"],
        (_, "}") if opener == Some("{") => vec!["else"],
        (_, "]->") if before.head() == Some("listen") && opener.is_none() => vec!["fire"],
        (TokenKind::Module | TokenKind::QuotedName, _) if before.behind("connect") => vec!["using"],
        (
            TokenKind::Name
            | TokenKind::QuotedName
            | TokenKind::Text
            | TokenKind::Number
            | TokenKind::Duration
            | TokenKind::Constant,
            _,
        )
        | (_, ")" | "]") => after_value(before),
        (TokenKind::OperatorWord, "ORDER") => vec!["BY"],
        (TokenKind::OperatorWord, "ELSE") => [&["SKIP", "CLEAR"], VALUES].concat(),
        _ if values => VALUES.to_vec(),
        _ => Vec::new(),
    }
}

fn statement(before: &Before<'_>) -> Vec<&'static str> {
    let mut words = STATEMENTS.to_vec();
    if before.last().is_some_and(|last| last.text == "}") {
        words.push("else");
    }
    words
}

fn after_value(before: &Before<'_>) -> Vec<&'static str> {
    let mut words = Vec::new();
    if before.opener() == Some("-[") {
        words.extend_from_slice(HOP);
        if before.clause() == Some("ORDER") {
            words.extend(["ASC", "DESC"]);
        }
        if before.clause().is_none() {
            return words;
        }
    } else if before.opener().is_none() {
        return if before.head() == Some("import") { vec!["as"] } else { OPERATORS.to_vec() };
    }
    words.extend_from_slice(OPERATORS);
    match before.conditional() {
        Some("IF") => words.push("THEN"),
        Some("THEN") => words.push("ELSE"),
        Some("ELSE") => words.push("END"),
        Some(_) | None if before.opener() == Some("{") => words.push("ELSE"),
        Some(_) | None => {}
    }
    words
}
