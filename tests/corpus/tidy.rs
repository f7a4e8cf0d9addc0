//! The rules of the house that a compiler does not keep: walls between folders, a text on every file, and no code,
//! page or case forgotten.

use std::{collections::BTreeSet, fs, path::Path};

use lf_lang::diag::codes::{self, Raised};
use libtest_mimic::Trial;

use crate::{corpus, files, markers, read, root, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("tidy/each_library_stays_behind_its_wall", walls),
        trial("tidy/every_source_file_says_what_it_is_for", file_texts),
        trial("tidy/every_code_has_a_page_and_cases", code_sets),
        trial("tidy/no_file_of_the_corpus_is_forgotten", nothing_forgotten),
        trial("tidy/each_crate_depends_only_on_those_below_it", arrows),
        trial("tidy/tests_that_pages_name_are_there", named_tests),
        trial("tidy/no_numbered_case_is_missing", numbered_cases),
    ]
}

/// A library, or a way of printing, and the only places that may name it.
const WALLS: &[(&str, &[&str])] = &[
    ("pest::", &["src/lang/syntax/"]),
    ("pest_derive::", &["src/lang/syntax/"]),
    ("miette::", &["src/lang/diag/render.rs"]),
    ("sqlx::", &["src/store/"]),
    ("reqwest::", &["modules/transport/"]),
    ("axum::", &["src/demo"]),
    ("oauth2::", &["modules/mcp/src/oauth/tokens.rs"]),
    ("clap::", &["src/cli"]),
    ("editor::", &["src/lang/editor", "src/lsp/"]),
    ("lf_rest::", &["src/project/registry.rs"]),
    ("lf_mcp::", &["src/project/registry.rs", "src/cli/listen.rs", "src/cli/listen/lines.rs"]),
    ("println!", &["src/cli/output.rs"]),
    ("eprintln!", &["src/cli/output.rs"]),
    ("print!", &["src/cli/output.rs"]),
    ("eprint!", &["src/cli/output.rs"]),
];

/// Each crate's manifest: which of our crates it may stand on.
const ARROWS: &[(&str, &[&str])] = &[
    ("modules/contract", &[]),
    ("src/lang", &["lf-module"]),
    ("modules/transport", &["lf-module"]),
    ("modules/mcp", &["lf-module", "lf-transport"]),
    ("modules/rest", &["lf-module", "lf-transport"]),
    ("modules/harness", &["lf-module"]),
    ("", &["lf-lang", "lf-module", "lf-mcp", "lf-rest"]),
];

/// What would let the language reach the world.
const WORLD: [&str; 5] = ["tokio", "sqlx", "reqwest", "axum", "rand"];

fn arrows() -> Result<(), String> {
    let mut wrong = Vec::new();
    for (folder, below) in ARROWS {
        let manifest = read(&root().join(folder).join("Cargo.toml"));
        let dependencies = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        for line in dependencies.take_while(|line| !line.starts_with('[')) {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if name.starts_with("lf-") && !below.contains(&name) {
                wrong.push(format!("{folder}/Cargo.toml: `{name}` is not below it"));
            }
            if *folder == "src/lang" && WORLD.contains(&name) {
                wrong.push(format!("{folder}/Cargo.toml: `{name}` lets the language reach the world"));
            }
        }
    }
    report(&wrong)
}

/// The pages with tables of tests. A name is a file, or `file.rs::function`, from the page's folder or the root.
const TABLES: [&str; 3] = ["tests/README.md", "modules/mcp/tests/README.md", PUMP];
/// The one with a row for each numbered statement.
const PUMP: &str = "modules/mcp/tests/pump/README.md";

fn named_tests() -> Result<(), String> {
    let mut wrong = Vec::new();
    for page in TABLES {
        let page = root().join(page);
        let folder = page.parent().expect("a folder");
        let text = read(&page);
        let names = text.split('`').skip(1).step_by(2).filter(|name| name.contains(".rs::") || name.contains('/'));
        for name in names.filter(|name| !name.starts_with('@') && !name.contains(' ')) {
            let (file, function) = name.split_once("::").map_or((name, None), |(file, name)| (file, Some(name)));
            let found = [folder.join(file), root().join(file)].into_iter().find(|path| path.is_file());
            let there = match (found, function) {
                (Some(path), Some(function)) => read(&path).contains(&format!("fn {function}(")),
                (found, _) => found.is_some(),
            };
            if !there {
                wrong.push(format!("{}: there is no `{name}`", page.display()));
            }
        }
    }
    let pump = read(&root().join(PUMP));
    for number in (1..=54).chain(59..=64) {
        let row = pump.lines().find(|line| line.starts_with(&format!("| A{number} |")));
        let named = row.is_some_and(|row| row.contains(&format!("a{number}_")));
        if !named {
            wrong.push(format!("{PUMP}: no test names the statement A{number}"));
        }
    }
    let field = read(&root().join(FIELD));
    for number in CHECKING {
        let row = field.lines().find(|line| line.starts_with(&format!("| {number} |")));
        if !row.is_some_and(|row| row.contains(".mvt`") || row.contains(".rs::")) {
            wrong.push(format!("{FIELD}: no test is named for the case {number}"));
        }
    }
    report(&wrong)
}

/// The page of cases from the field, and those of them that are about checking or values.
const FIELD: &str = "tests/README.md";
const CHECKING: [u32; 7] = [9, 10, 32, 33, 34, 35, 37];

/// The cases of `@lf/mcp` that are known by numbers.
const CASES: &str = "modules/mcp/tests/cases";
const SHAPES: [u32; 42] = [
    1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 16, 17, 18, 20, 21, 23, 24, 25, 27, 28, 29, 31, 32, 33, 34, 36, 38, 39,
    41, 43, 44, 45, 46, 48, 49, 51, 52, 53, 55, 56,
];
const BUGS: [(&str, &[u32]); 7] = [
    ("S", &[1, 2, 3, 5, 7, 8, 10]),
    ("U", &[1, 3, 4, 5, 7, 8, 11, 12]),
    ("X", &[1, 2, 3, 6, 7, 8, 9, 10]),
    ("R", &[1, 2, 3, 4, 7, 8]),
    ("E", &[1, 2, 4, 5]),
    ("A", &[2, 3, 5, 6, 7, 8, 9, 10]),
    ("Q", &[1]),
];
const SURPRISES: std::ops::RangeInclusive<u32> = 1..=14;

fn numbered_cases() -> Result<(), String> {
    let shapes = SHAPES.iter().map(|number| ("shapes", format!("{number:02}-"), format!("| {number}: ")));
    let bugs = BUGS.iter().flat_map(|(group, numbers)| {
        numbers.iter().map(move |number| ("bugs", format!("{group}{number}-"), format!("| {group}{number}: ")))
    });
    let surprises = SURPRISES.map(|number| ("surprises", format!("W{number}-"), format!("| W{number}: ")));
    let page = read(&root().join(TABLES[1]));
    let mut wrong = Vec::new();
    for (folder, start, row) in shapes.chain(bugs).chain(surprises) {
        let names = files(&root().join(CASES).join(folder), "txt");
        let is_there = names.iter().any(|file| crate::stem(file).starts_with(&start));
        // One that is shown otherwise has a row that names a test.
        let elsewhere = page.lines().any(|line| line.starts_with(&row) && line.contains(".rs::"));
        if !is_there && !elsewhere {
            wrong.push(format!("{CASES}/{folder}: there is no case `{start}…`"));
        }
    }
    report(&wrong)
}

fn report(wrong: &[String]) -> Result<(), String> {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Every Rust file of ours, with its path from the root.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    for folder in ["src", "modules", "tests", "benches", "examples", "fuzz"] {
        for file in files(&root.join(folder), "rs") {
            let name = file.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
            if !name.contains("/target/") {
                found.push((name, read(&file)));
            }
        }
    }
    found
}

fn walls() -> Result<(), String> {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let ours = (name.starts_with("src/") || name.contains("/src/")) && !name.contains("/tests");
        if !ours {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for (library, places) in WALLS {
                if names(line, library) && !places.iter().any(|place| name.starts_with(place)) {
                    wrong.push(format!("{name}:{number}: `{library}` is named only in {}", places.join(", ")));
                }
            }
        }
    }
    report(&wrong)
}

/// Whether a line holds this as a word of its own.
fn names(line: &str, library: &str) -> bool {
    line.match_indices(library).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || before == '_' || before == '"')
    })
}

fn file_texts() -> Result<(), String> {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        if !text.starts_with("//!") {
            wrong.push(format!("{name}: the first line is a `//!` that says what the file is for"));
        }
        let head: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        if text.lines().count() > 600 && !head.contains("because") {
            wrong.push(format!("{name}: over 600 lines; its `//!` says why (`…, because …`), or it is cut"));
        }
        if name.ends_with("/mod.rs") {
            wrong.push(format!("{name}: `foo.rs` beside `foo/`, never `mod.rs`"));
        }
    }
    report(&wrong)
}

fn code_sets() -> Result<(), String> {
    let mut wrong = Vec::new();
    let folder = root().join("src/lang/diag/codes");
    let pages: BTreeSet<String> = files(&folder, "md").iter().map(|file| crate::stem(file)).collect();
    let table: BTreeSet<String> = codes::ALL.iter().map(|entry| entry.code.as_str().to_owned()).collect();
    wrong.extend(pages.difference(&table).map(|page| format!("{page}.md belongs to no code of the table")));
    if table.len() != codes::ALL.len() {
        wrong.push("a code stands twice in the table".to_owned());
    }
    let mut raised = BTreeSet::new();
    for group in ["syntax", "check"] {
        for file in files(&corpus().join(group).join("err"), "mvt") {
            raised.extend(markers::codes(&read(&file)));
        }
    }
    wrong.extend(raised.difference(&table).map(|code| format!("a marker names `{code}`, which is no code")));
    for entry in codes::ALL {
        let code = entry.code.as_str();
        if !entry.page.starts_with("# ") {
            wrong.push(format!("{code}.md begins with a heading"));
        }
        if entry.raised == Raised::Files && !raised.contains(code) {
            wrong.push(format!("{code}: no case under tests/corpus/*/err raises it"));
        }
    }
    report(&wrong)
}

fn nothing_forgotten() -> Result<(), String> {
    let mut wrong = Vec::new();
    let corpus = corpus();
    let mut named = BTreeSet::new();
    let known = ["syntax", "check", "plan", "catalogs", "fmt"];
    for entry in fs::read_dir(&corpus).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && !known.contains(&name.as_str()) {
            wrong.push(format!("tests/corpus/{name}: no test reads this folder"));
        }
    }
    for group in ["syntax", "check"] {
        for kind in ["ok", "err"] {
            let folder = corpus.join(group).join(kind);
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.map_err(|error| error.to_string())?.path();
                forgotten(&path, kind == "err", &mut wrong);
                if path.extension().is_some_and(|ending| ending == "mvt") {
                    let first = read(&path).lines().next().unwrap_or_default().to_owned();
                    named.extend(first.strip_prefix("// catalog: ").map(|name| name.trim().to_owned()));
                    if group == "check" && !first.starts_with("// catalog: ") {
                        wrong.push(format!("{}: the first line names its catalog", path.display()));
                    }
                }
            }
        }
    }
    for entry in codes::ALL {
        named.extend(entry.page.lines().filter_map(|line| line.strip_prefix("// catalog: ")).map(str::to_owned));
    }
    for file in files(&corpus.join("plan"), "mvt") {
        let text = read(&file);
        named.extend(text.lines().next().and_then(|line| line.strip_prefix("// catalog: ")).map(str::to_owned));
    }
    for page in files(&root().join("docs"), "md") {
        let text = read(&page);
        named.extend(text.split_whitespace().filter_map(|word| word.strip_prefix("catalog=")).map(str::to_owned));
    }
    for catalog in files(&corpus.join("catalogs"), "json") {
        if !named.contains(&crate::stem(&catalog)) {
            wrong.push(format!("{}: no case names this catalog", catalog.display()));
        }
    }
    report(&wrong)
}

fn forgotten(path: &Path, wrong_case: bool, wrong: &mut Vec<String>) {
    let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
    match ending.as_str() {
        "mvt" if wrong_case && !path.with_extension("snap").exists() => {
            wrong.push(format!("{}: its report is missing; `LF_BLESS=1` writes it", path.display()));
        }
        "mvt" => {}
        "snap" if wrong_case && path.with_extension("mvt").exists() => {}
        _ => wrong.push(format!("{}: no test reads this file", path.display())),
    }
}
