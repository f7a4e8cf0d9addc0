//! Every example project checks without its systems, as a reader of it would try.

use std::{fs, path::Path, process::Command};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn every_example_checks_offline() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut tried = 0;
    for entry in fs::read_dir(examples).unwrap() {
        let example = entry.unwrap().path();
        if !example.join("listen-fire.toml").is_file() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        copy(&example, folder.path());
        let output = Command::new(env!("CARGO_BIN_EXE_listen-fire"))
            .args(["check", "--offline", "--deny", "warnings"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {}", example.display(), String::from_utf8_lossy(&output.stdout));
        tried += 1;
    }
    assert_eq!(tried, 3, "each story has its folder");
}
