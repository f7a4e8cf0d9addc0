//! Every movement of the repository: the corpus, the examples, and what the pages show.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lf_lang::{
    source::SourceMap,
    syntax::{self, Parsed},
};

pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) body: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().expect("the repository")
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `lf-lang` reads.
pub(crate) fn parsed(text: &str) -> Parsed {
    let mut map = SourceMap::default();
    let id = map.add("text.mvt", text);
    syntax::parse(map.get(id).expect("just added"))
}

/// All of them, also those with mistakes.
pub(crate) fn all() -> Vec<Text> {
    let root = root();
    let mut found = Vec::new();
    for folder in ["tests/corpus", "examples"] {
        for ending in ["mvt", "out"] {
            for file in files(&root.join(folder), ending) {
                cases(&file, &mut found);
            }
        }
    }
    for folder in ["docs", "grammar", "src/lang/diag/codes"] {
        for file in files(&root.join(folder), "md") {
            fences(&file, &mut found);
        }
    }
    // What is held against nothing holds.
    assert!(found.len() > 350, "only {} movements are found", found.len());
    found
}

/// Those that `lf-lang` reads without a word.
pub(crate) fn sound() -> Vec<Text> {
    all().into_iter().filter(|text| parsed(&text.body).problems.is_empty()).collect()
}

/// A line `//== other.mvt` begins another file of the same case.
fn cases(file: &Path, found: &mut Vec<Text>) {
    for (number, body) in format!("\n{}", read(file)).split("\n//== ").enumerate() {
        let body = if number == 0 { body } else { body.split_once('\n').map_or("", |(_, body)| body) };
        found.push(Text { name: format!("{} #{number}", file.display()), body: body.to_owned() });
    }
}

fn fences(file: &Path, found: &mut Vec<Text>) {
    let mut open: Option<Text> = None;
    for (number, line) in (1..).zip(read(file).lines()) {
        match open.as_mut() {
            None if line.starts_with("```mvt") => {
                open = Some(Text { name: format!("{}:{number}", file.display()), body: String::new() });
            }
            Some(_) if line.starts_with("```") => found.extend(open.take()),
            Some(text) => {
                text.body.push_str(line);
                text.body.push('\n');
            }
            None => {}
        }
    }
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}
