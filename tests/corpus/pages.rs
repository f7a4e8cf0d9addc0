//! The pages of the codes and of the grammar: what they show is run.

use lf_lang::diag::codes::{self, Entry, Raised};
use libtest_mimic::{Failed, Trial};

use crate::{case, read, report, root};

pub(crate) fn trials() -> Vec<Trial> {
    let pages = codes::ALL
        .iter()
        .filter(|entry| entry.raised == Raised::Files)
        .map(|entry| Trial::test(format!("page/{}", entry.code.as_str()), move || page(entry)));
    let grammar = Trial::test("page/grammar", || {
        let text = read(&root().join("grammar/README.md"));
        let examples = blocks(&text, "```mvt");
        if examples.is_empty() {
            return Err("grammar/README.md shows no example".into());
        }
        for example in examples {
            let outcome = case::outcome("grammar/README.md", &example)?;
            if !outcome.problems.is_empty() {
                return Err(format!("{example}\n{}", report::reports(&outcome)).into());
            }
        }
        Ok(())
    });
    pages.chain([grammar]).collect()
}

/// A wrong example raises this code and no other; a right one raises nothing.
fn page(entry: &Entry) -> Result<(), Failed> {
    let code = entry.code.as_str();
    let wrong = blocks(entry.page, "```mvt wrong");
    let right = blocks(entry.page, "```mvt right");
    if wrong.is_empty() || right.is_empty() {
        return Err(format!("the page of {code} needs a `wrong` and a `right` example").into());
    }
    for example in wrong {
        let outcome = case::outcome("example.mvt", &example)?;
        let only = outcome.problems.iter().all(|problem| problem.code == entry.code);
        if outcome.problems.is_empty() || !only {
            return Err(format!("the wrong example raises something else\n{}", report::reports(&outcome)).into());
        }
        report::fixes_mend(&outcome)?;
    }
    for example in right {
        let outcome = case::outcome("example.mvt", &example)?;
        if !outcome.problems.is_empty() {
            return Err(format!("the right example raises\n{}", report::reports(&outcome)).into());
        }
    }
    Ok(())
}

/// The fenced blocks whose first line is exactly this.
fn blocks(page: &str, fence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    for line in page.lines() {
        match open.as_mut() {
            None if line.trim_end() == fence => open = Some(String::new()),
            None => {}
            Some(_) if line.starts_with("```") => found.extend(open.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    found
}
