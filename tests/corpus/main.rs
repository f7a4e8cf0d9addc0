//! The corpus: one named test for each text file, each page of a code, each property and each rule of the house.
//!
//! `syntax/` and the examples are read, `check/` is checked against the catalog that its first line names, `plan/` is
//! compiled as well, `fmt/` is laid out. A file under `err` says on
//! its lines what it expects (`markers.rs`), and its whole report stands beside it in a `.snap`. Snapshots are written
//! with `LF_BLESS=1`; markers only by hand, so that no diagnostic can get lost unseen.
//!
//! The book's examples are run by what their fences say (`book.rs`).
//!
//! To add a case, add a file.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test: what is wrong with it should stop it at once"
)]

mod book;
mod case;
mod editor;
mod fixes;
mod fmt;
mod grammar;
mod limits;
mod markers;
mod matrix;
mod mends;
mod pages;
mod plan;
mod programs;
mod properties;
mod report;
mod scripted;
mod slots;
mod tidy;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for group in ["syntax", "check"] {
        for kind in ["ok", "err"] {
            for file in files(&corpus().join(group).join(kind), "mvt") {
                let name = format!("{group}/{kind}/{}", stem(&file));
                trials.push(Trial::test(name, move || case::run(&file, kind == "err")));
            }
        }
    }
    for file in files(&corpus().join("plan"), "mvt") {
        trials.push(Trial::test(format!("plan/{}", stem(&file)), move || plan::run(&file)));
    }
    for file in files(&root().join("examples"), "mvt") {
        let name = file.strip_prefix(root()).expect("below the root").display().to_string();
        trials.push(Trial::test(name, move || case::run(&file, false)));
    }
    trials.extend(pages::trials());
    trials.extend(book::trials());
    trials.extend(editor::trials());
    trials.extend(grammar::trials());
    trials.extend(fixes::trials());
    trials.extend(fmt::trials());
    trials.extend(limits::trials());
    trials.extend(matrix::trials());
    trials.extend(mends::trials());
    trials.extend(programs::trials());
    trials.extend(properties::trials());
    trials.extend(slots::trials());
    trials.extend(tidy::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test that is a function.
fn trial(name: &str, body: fn() -> Result<(), String>) -> Trial {
    Trial::test(name, move || body().map_err(Failed::from))
}

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn corpus() -> PathBuf {
    root().join("tests/corpus")
}

/// The files of a folder and its folders with this ending, sorted.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
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

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file").to_string_lossy().into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
