//! Cases as text files: what a scripted server answers, what a movement asks of the module, what comes of it, and what
//! the server received, which is the judge.
//!
//! A case is one file under `cases/`; [`README.md`](README.md) has the format. `LF_BLESS=1` writes what came into the
//! files, to be read before it is kept; `LF_CASES=text` plays only those whose name holds it.
#![expect(clippy::panic, reason = "a case that cannot be read should stop the test")]

mod answers;
mod file;
mod log;
mod player;
mod said;

use std::path::{Path, PathBuf};

use file::Case;
use player::Player;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn files() -> Vec<PathBuf> {
    let groups = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut all: Vec<_> = groups
        .flat_map(|group| std::fs::read_dir(group).unwrap().map(|entry| entry.unwrap().path()))
        .inspect(|path| assert!(path.extension().is_some_and(|it| it == "txt"), "no test reads {}", path.display()))
        .collect();
    all.sort();
    all
}

/// Plays a case; its text as it should be.
async fn play(case: &Case) -> String {
    let mut player = Player::new(&case.setup);
    let mut outcomes = Vec::new();
    for step in &case.steps {
        outcomes.push(player.act(step).await);
    }
    case.with(&outcomes)
}

#[tokio::test]
async fn every_case_goes_as_it_is_written() {
    let (bless, only) = (std::env::var("LF_BLESS").is_ok(), std::env::var("LF_CASES").unwrap_or_default());
    let mut wrong = Vec::new();
    let mut played = 0;
    for path in files().into_iter().filter(|path| path.to_string_lossy().contains(&only)) {
        played += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let case = Case::read(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let found = Box::pin(play(&case)).await;
        if found != text {
            if bless {
                std::fs::write(&path, &found).unwrap();
            }
            wrong.push(format!("{}\n{}", path.display(), file::difference(&text, &found)));
        }
    }
    assert!(played > 90 || !only.is_empty(), "the cases are there: {played}");
    assert!(bless || wrong.is_empty(), "{} of {played}:\n\n{}", wrong.len(), wrong.join("\n"));
}
