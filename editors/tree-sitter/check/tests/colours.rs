//! The queries: each piece of a text is captured once, as what the language's own tokens say that it is.

use std::collections::BTreeSet;

use lf_lang::syntax::tokens::{TokenKind, tokens};
use tree_sitter::{Query, QueryCursor, StreamingIterator as _};
use tree_sitter_check::LANGUAGE;

use crate::{
    report,
    texts::{self, read, root},
    tree,
};

/// What a token of this kind may be captured as.
fn captures(kind: TokenKind) -> &'static [&'static str] {
    match kind {
        TokenKind::Comment => &["comment"],
        TokenKind::DocComment => &["comment.documentation"],
        TokenKind::Keyword | TokenKind::OperatorWord => &["keyword"],
        TokenKind::Constant => &["boolean", "constant.builtin"],
        TokenKind::Name => &["variable", "property", "type", "function"],
        TokenKind::QuotedName => &["variable", "property", "type", "function", "module"],
        TokenKind::Module => &["module"],
        TokenKind::Text => &["string"],
        TokenKind::Escape => &["string.escape"],
        TokenKind::Hole => &["punctuation.special"],
        TokenKind::Number | TokenKind::Duration => &["number"],
        TokenKind::Operator => &["operator", "punctuation"],
        TokenKind::Mark => &["punctuation"],
        TokenKind::Unknown => &[],
    }
}

fn fits(capture: &str, kind: TokenKind) -> bool {
    captures(kind).iter().any(|fits| capture == *fits || capture.starts_with(&format!("{fits}.")))
}

fn query(name: &str) -> Query {
    let text = read(&root().join("editors/tree-sitter/queries").join(name));
    Query::new(&LANGUAGE.into(), &text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What each byte is captured as; a byte that two patterns capture is a mistake.
fn coloured<'q>(query: &'q Query, text: &str) -> Result<Vec<&'q str>, String> {
    let mut colours = vec![""; text.len()];
    let tree = tree(text);
    let mut cursor = QueryCursor::new();
    let mut found = cursor.captures(query, tree.root_node(), text.as_bytes());
    while let Some((found, place)) = found.next() {
        let capture = found.captures()[*place];
        for colour in &mut colours[capture.node.byte_range()] {
            let name = query.capture_names()[capture.index as usize];
            if !colour.is_empty() {
                return Err(format!("`{}` is captured twice", &text[capture.node.byte_range()]));
            }
            *colour = name;
        }
    }
    Ok(colours)
}

#[test]
fn each_token_is_captured_once_as_what_it_is() {
    let query = query("highlights.scm");
    let mut wrong = Vec::new();
    let mut words: BTreeSet<String> = BTreeSet::new();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for text in texts::sound() {
        let colours = match coloured(&query, &text.body) {
            Ok(colours) => colours,
            Err(why) => {
                wrong.push(format!("{}: {why}", text.name));
                continue;
            }
        };
        used.extend(&colours);
        let tree = format!("{:?}", texts::parsed(&text.body).file);
        for token in tokens(&text.body) {
            let written = &text.body[token.start as usize..token.end as usize];
            let places = (token.start as usize..token.end as usize).zip(written.bytes());
            let here: BTreeSet<_> = places.filter(|(_, byte)| *byte > b' ').map(|(at, _)| colours[at]).collect();
            for colour in here {
                let keyword = colour.starts_with("keyword") || fits(colour, TokenKind::Constant);
                if keyword {
                    words.insert(written.to_owned());
                }
                // The tokens do not know what stands where; the tree does.
                let name = format!(
                    "Name {{ text: {written:?}, span: Span {{ source: SourceId(0), start: {}, end: {} }} }}",
                    token.start, token.end
                );
                let right = match token.kind {
                    TokenKind::Keyword if tree.contains(&name) => fits(colour, TokenKind::Name),
                    TokenKind::Name if keyword => SOFT.contains(&written) && !tree.contains(&name),
                    kind => fits(colour, kind),
                };
                if !right {
                    let kind = token.kind;
                    wrong.push(format!("{}: `{written}` is {kind:?}, captured as `{colour}`", text.name));
                }
            }
        }
    }
    for word in written_words().difference(&words) {
        wrong.push(format!("`{word}` of movement.pest is captured as a keyword nowhere"));
    }
    for name in query.capture_names().iter().filter(|name| !used.contains(**name)) {
        wrong.push(format!("nothing is captured as `{name}`"));
    }
    report(&wrong);
}

/// Keywords that the language's tokens give as names: they are keywords only in one place.
const SOFT: [&str; 6] = ["at", "before", "created", "deleted", "no", "updated"];

/// The words of `movement.pest`, but those that only other languages have.
fn written_words() -> BTreeSet<String> {
    let grammar = read(&root().join("grammar/movement.pest"));
    let rules = grammar.lines().filter(|line| !line.starts_with("//")).filter_map(|line| line.split_once(" = "));
    let foreign = |rule: &str| {
        let head = ["habit_", "bad_", "raw_"].iter().any(|head| rule.starts_with(head));
        head || ["for_word", "of_word", "null_word"].contains(&rule.trim())
    };
    let mut words = BTreeSet::new();
    for (_, body) in rules.filter(|(rule, _)| !foreign(rule)) {
        let pieces: Vec<&str> = body.split('"').collect();
        for place in (1..pieces.len()).step_by(2) {
            let word = pieces[place];
            if word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                // `^` takes both; capitals are right
                words.insert(if pieces[place - 1].ends_with('^') {
                    word.to_ascii_uppercase()
                } else {
                    word.to_owned()
                });
            }
        }
    }
    assert!(words.len() > 50, "only {words:?} are found in movement.pest");
    words
}

#[test]
fn the_other_queries_name_what_there_is() {
    for name in ["folds.scm", "locals.scm"] {
        assert!(query(name).pattern_count() > 0);
    }
}
