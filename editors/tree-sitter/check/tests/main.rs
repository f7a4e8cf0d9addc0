//! Whether the grammar for editors is true: held against `lf-lang` with every movement of the repository.

mod accepted;
mod colours;
mod generated;
mod shape;

mod texts;

use tree_sitter::{Parser, Tree};
use tree_sitter_check::LANGUAGE;

/// Parses as an editor does.
fn tree(text: &str) -> Tree {
    let mut parser = Parser::new();
    parser.set_language(&LANGUAGE.into()).expect("a version that this runtime reads");
    parser.parse(text, None).expect("nothing stops the parser")
}

/// Fails with the first of what was found.
fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} in all\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}
