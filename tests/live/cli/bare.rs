//! Commands that need no system: usage, the project's file, what is not built, what is explained.

use std::{io::Read as _, process::Stdio};

use super::place::Place;

#[test]
fn wrong_commands_and_flags_get_the_nearest() {
    let place = Place::empty();
    place.run(["chek"]).code(2).shows_nothing().says("'check'");
    place.run(["check", "--offlin"]).code(2).shows_nothing().says("'--offline'");
    place.run(["runs", "lst"]).code(2).says("'list'");
    place.run(["explain", "MOV_PARSE_UNCLOSD"]).code(2).says("did you mean `MOV_PARSE_UNCLOSED`?");
}

#[test]
fn what_is_not_built_is_refused_by_its_name() {
    let place = Place::bare("name = \"x\"\n");
    for name in ["new", "serve", "backtest", "room", "module"] {
        place.run([name, "--whatever", "it"]).code(2).shows_nothing().says(&format!("`{name}` is not built yet"));
    }
    place.run(["run", "--watch"]).code(2).says("`run --watch` is not built yet");
    place.run(["run", "--serve"]).code(2).says("`run --serve` is not built yet");
}

#[test]
fn every_help_has_an_example_and_is_a_result() {
    let place = Place::empty();
    for command in [
        "",
        "check",
        "connect",
        "credential",
        "credential add",
        "credential list",
        "credential test",
        "credential remove",
        "credential rotate-key",
        "describe",
        "doctor",
        "run",
        "fire",
        "runs",
        "runs list",
        "runs show",
        "runs retry",
        "runs settle",
        "runs cancel",
        "explain",
        "listen",
        "fmt",
        "plan",
        "completions",
    ] {
        let ran = place.run(command.split_whitespace().chain(["--help"])).code(0).shows("Example");
        assert_eq!(ran.err, "");
    }
}

#[test]
fn the_version_is_a_result() {
    let ran = Place::empty().run(["--version"]).code(0);
    assert_eq!(ran.out, format!("listen-fire {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_a_project_nothing_is_done() {
    let place = Place::empty();
    place.run(["check"]).code(2).shows_nothing().says("no `listen-fire.toml`");
    place.run(["--project", ".", "check"]).code(2).says("is no project");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_damaged_project_file_is_shown_with_its_place() {
    let place = Place::bare("name = \"x\"\n\n[modules]\ninstaled = []\n\n[limits]\ncalls = \"many\"\n");
    let ran = place.run(["check"]).code(4).shows_nothing();
    insta::assert_snapshot!(ran.err);
}

#[test]
fn an_error_is_an_object_on_request() {
    let ran = Place::bare("name = \"x\"\n").run(["--json", "connect", "@lf/mpc"]).code(2).shows_nothing();
    let said: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(said["error"], "no module `@lf/mpc` comes with listen-fire");
    assert_eq!(said["help"][0], "did you mean `@lf/mcp`?");
    assert_eq!(said["exit"], 2);
}

#[test]
fn connecting_asks_on_a_terminal_only_and_changes_only_what_is_given() {
    let place = Place::bare("# ours\nname = \"x\" # short\n");
    place.run(["connect", "@lf/mcp"]).code(2).shows_nothing().says("`--yes` answers it");
    assert_eq!(place.read("listen-fire.toml"), "# ours\nname = \"x\" # short\n");
    place.run(["connect", "@lf/mcp", "--yes"]).code(0).shows("installed `@lf/mcp`");
    let once = place.read("listen-fire.toml");
    assert_eq!(once, "# ours\nname = \"x\" # short\n\n[modules]\ninstalled = [\"@lf/mcp\"]\n");
    place.run(["connect", "@lf/mcp"]).code(0).shows("is installed already");
    assert_eq!(place.read("listen-fire.toml"), once);
    place.run(["connect", "#crm"]).code(2).says("there is no `modules/crm.toml`");
}

#[test]
fn a_page_explains_a_code_in_any_case() {
    let ran = Place::empty().run(["explain", "mov_parse_unclosed"]).code(0);
    assert!(ran.out.starts_with('#'), "{}", ran.out);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::empty();
    let mut child =
        place.command(["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn colours_are_used_only_where_they_are_wanted() {
    let place = Place::empty();
    let plain = place.run(["explain", "nothing"]).code(2);
    assert!(!plain.err.contains('\x1b'));
    let painted = place.run(["--color", "always", "explain", "nothing"]).code(2);
    assert!(painted.err.contains("\x1b[31m"));
}
