//! The book under `docs/`: each example of a movement says what becomes of it, and that is so; each link leads somewhere.
//!
//! A fence names its language. One of `mvt` goes on with `check`, which raises nothing but the informations that it names,
//! or with `wrong CODE …`, which raises all of those and no other. `catalog=NAME` stands for the first line of a case.

use std::{fs, path::Path};

use lf_lang::diag::Severity;
use libtest_mimic::Trial;

use crate::{case, files, read, report, root};

pub(crate) fn trials() -> Vec<Trial> {
    let pages = files(&root().join("docs"), "md").into_iter().map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        Trial::test(format!("book/{name}"), move || Ok(page(&path)?))
    });
    pages.chain([crate::trial("book/an_example_without_a_word_for_it_is_refused", refusals)]).collect()
}

fn page(path: &Path) -> Result<(), String> {
    let text = read(path);
    let mut wrong = Vec::new();
    for fence in fences(&text)? {
        if let Err(why) = judge(&fence) {
            wrong.push(format!("line {}: {why}", fence.line));
        }
    }
    wrong.extend(dead_links(path, &text));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

struct Fence {
    line: usize,
    /// What stands behind the opening backticks.
    words: Vec<String>,
    body: String,
}

fn fences(text: &str) -> Result<Vec<Fence>, String> {
    let mut found = Vec::new();
    let mut open: Option<Fence> = None;
    for (index, line) in text.lines().enumerate() {
        match (open.as_mut(), line.strip_prefix("```")) {
            (None, Some(words)) => {
                let words = words.split_whitespace().map(str::to_owned).collect();
                open = Some(Fence { line: index + 1, words, body: String::new() });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(fence), None) => {
                fence.body.push_str(line);
                fence.body.push('\n');
            }
            (None, None) => {}
        }
    }
    open.map_or(Ok(found), |fence| Err(format!("line {}: the fence is not closed", fence.line)))
}

fn judge(fence: &Fence) -> Result<(), String> {
    let words: Vec<&str> = fence.words.iter().map(String::as_str).collect();
    let (wrong, rest) = match words.as_slice() {
        [] => return Err("the fence names no language".to_owned()),
        ["mvt", "check", rest @ ..] => (false, rest),
        ["mvt", "wrong", rest @ ..] => (true, rest),
        ["mvt", ..] => return Err("an example says `check` or `wrong CODE`".to_owned()),
        _ => return Ok(()),
    };
    let (catalogs, codes): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| word.starts_with("catalog="));
    let head = catalogs.first().map_or(String::new(), |word| word.replace("catalog=", "// catalog: ") + "\n");
    let outcome = case::outcome("example.mvt", &(head + &fence.body))?;
    let named = |code: &str| codes.contains(&code);
    let fits = outcome
        .problems
        .iter()
        .all(|problem| named(problem.code.as_str()) && (wrong || problem.severity == Severity::Information));
    let all = codes.iter().all(|code| outcome.problems.iter().any(|problem| problem.code.as_str() == *code));
    if !fits || !all || (wrong && codes.is_empty()) {
        return Err(format!("`{}`, but it raises\n{}", words.join(" "), report::reports(&outcome)));
    }
    if catalogs.is_empty() { report::fixes_mend(&outcome) } else { Ok(()) }
}

/// The page's links to files of the project, and to headings of the book, that lead nowhere.
fn dead_links(path: &Path, text: &str) -> Vec<String> {
    let folder = path.parent().expect("a folder");
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    let inside = links.filter(|link| !link.contains("://"));
    let dead = inside.filter(|link| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() { path.to_owned() } else { folder.join(file) };
        if heading.is_empty() {
            return !target.exists();
        }
        fs::read_to_string(&target).map_or(true, |page| !anchors(&page).any(|anchor| anchor == heading))
    });
    dead.map(|link| format!("the link `{link}` leads nowhere")).collect()
}

/// How a page's headings are linked to: lower case, hyphens for blanks, no other signs.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    page.lines().filter(|line| line.starts_with('#')).map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, '-' | '_')).collect()
    })
}

fn refusals() -> Result<(), String> {
    let cases = [
        ("```\nx\n```\n", "names no language"),
        ("```mvt\na = 1\n```\n", "says `check` or `wrong CODE`"),
        ("```mvt wrong\na = 1\n```\n", "but it raises"),
        ("```mvt wrong MOV_ABSENT\na = 1\n```\n", "but it raises"),
        ("```mvt check\na = = 1\n```\n", "but it raises"),
        ("```mvt check MOV_LISTEN_CYCLE\na = 1\n```\n", "but it raises"),
    ];
    for (text, why) in cases {
        let said = fences(text)?.iter().map(judge).collect::<Result<Vec<()>, String>>().err().unwrap_or_default();
        if !said.contains(why) {
            return Err(format!("{text}is answered with `{said}`"));
        }
    }
    Ok(())
}
