//! Where both read a text, they read the same: each declaration with its name and its bytes, each statement, and each
//! expression with what it holds, so that precedence and the ends of lines agree too.

mod ours;
mod theirs;

use crate::{report, texts};

/// What both trees are brought to. Names, parentheses and types are left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    tag: &'static str,
    /// Of its operator or name, else where it begins: parentheses are no part of what `lf-lang` keeps.
    at: usize,
    inside: Vec<Shape>,
}

/// One declaration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    kind: &'static str,
    /// Of what names it; a listen is known by the function that it fires, an import by its file.
    name: (usize, usize),
    bytes: (usize, usize),
    inside: Vec<Shape>,
}

#[test]
fn both_trees_say_the_same() {
    let (mut declared, mut wrong) = (0, Vec::new());
    for text in texts::sound() {
        let ours = ours::declared(&text.body);
        let theirs = theirs::declared(&text.body);
        declared += ours.len();
        if ours.len() != theirs.len() {
            wrong.push(format!("{}: {} declarations, in the grammar's tree {}", text.name, ours.len(), theirs.len()));
        }
        for (ours, theirs) in ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs) {
            let [ours, theirs] = [ours, theirs].map(|declared| format!("{declared:#?}"));
            let lines = ours.lines().zip(theirs.lines()).filter(|(ours, theirs)| ours != theirs);
            let first = lines.map(|(ours, theirs)| format!("{}, not {}", theirs.trim(), ours.trim())).next();
            wrong.push(format!("{}: {}\n{ours}", text.name, first.unwrap_or_default()));
        }
    }
    assert!(declared > 600, "only {declared} declarations are compared");
    report(&wrong);
}
