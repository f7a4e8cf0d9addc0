//! `plan`: the three examples as text, JSON, Mermaid and a picture, from what is committed alone; and beside a revision
//! of a real repository.

use std::process::Command;

use super::place::Place;

#[test]
fn each_example_has_its_four_pictures() {
    for name in ["escalate", "newsletter", "triage"] {
        let place = Place::example(name);
        for format in ["text", "json", "mermaid", "svg"] {
            let ran = place.run(["plan", "--offline", "--format", format]).code(0);
            assert_eq!(ran.err, "", "{name} {format}");
            let shown = if format == "json" { serde_json::to_string_pretty(&ran.json()).unwrap() } else { ran.out };
            insta::assert_snapshot!(format!("{name}_{format}"), shown);
        }
    }
}

#[test]
fn what_is_wrong_has_no_plan() {
    let place = Place::example("triage");
    place.change("movements/triage.mvt", "company.Name", "company.Nmae");
    place.run(["plan", "--offline"]).code(1).shows_nothing().says("MOV_FIELD_UNKNOWN").says("has no plan");
}

/// A repository with the example in it, committed; `None`, by name, where there is no git.
#[expect(clippy::print_stderr, reason = "what is skipped is named")]
fn repository(case: &str, name: &str) -> Option<Place> {
    let place = Place::example(name);
    match Command::new("git").arg("--version").output() {
        Ok(ran) if ran.status.success() => {}
        _ => {
            eprintln!("skipped {case}: git is not installed");
            return None;
        }
    }
    git(&place, &["init", "--quiet", "--initial-branch", "main"]);
    commit(&place);
    Some(place)
}

fn git(place: &Place, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(place.path()).args(arguments);
    for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")] {
        command.env(name, value);
    }
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.test");
    }
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn commit(place: &Place) {
    git(place, &["add", "--all"]);
    git(place, &["commit", "--quiet", "--message", "as it is"]);
}

#[test]
fn a_change_is_compared_with_a_revision() {
    let Some(place) = repository("a_change_is_compared_with_a_revision", "triage") else { return };
    let same = place.run(["plan", "--offline", "--against", "HEAD"]).code(0);
    assert_eq!(same.out, "nothing changes in what the files can do\n");
    place.change("movements/triage.mvt", "listen to crm-[:Company]-> fire triage", "");
    place.write(
        "movements/more.mvt",
        "crm = connect #acme_crm using acme\n\n/// New.\nfunction tidy(company: <crm-[:Company]->>) {\n  \
         write company { Name: TRIM(company.Name) }\n}\n\nlisten as \"tidy\" to crm-[:Company]-> fire tidy\n",
    );
    let shown = place.run(["plan", "--offline", "--against", "main"]).code(0);
    insta::assert_snapshot!("against_text", shown.out);
    let object = place.run(["--json", "plan", "--offline", "--against", "HEAD"]).code(0).json();
    assert_eq!(object["listens"]["new"][0]["name"], "tidy");
    assert_eq!(object["writes"]["new"][0]["field"], "Name");
    assert_eq!(object["writes"]["new"][0]["by"][0], "tidy");
    let only = place.run(["plan", "--offline", "--against", "HEAD", "movements/more.mvt"]).code(0);
    only.shows("newly listens").shows("tidy");
    commit(&place);
    let back = place.run(["plan", "--offline", "--against", "HEAD~1"]).code(0);
    assert_eq!(back.out, shown.out);
}

#[test]
fn a_revision_that_cannot_be_compared_with_is_refused_by_what_is_wrong() {
    let case = "a_revision_that_cannot_be_compared_with_is_refused_by_what_is_wrong";
    let Some(place) = repository(case, "triage") else { return };
    place.run(["plan", "--offline", "--against", "nosuch"]).code(2).shows_nothing().says("no revision `nosuch`");
    place.run(["plan", "--offline", "--against", "--help=x"]).code(2).shows_nothing();
    for picture in ["svg", "mermaid"] {
        let ran = place.run(["plan", "--offline", "--against", "HEAD", "--format", picture]).code(2);
        ran.shows_nothing().says("is no picture");
    }
    place.change("movements/triage.mvt", "company.Name", "company.Nmae");
    commit(&place);
    place.change("movements/triage.mvt", "company.Nmae", "company.Name");
    let wrong = place.run(["plan", "--offline", "--against", "HEAD"]).code(1).shows_nothing();
    wrong.says("MOV_FIELD_UNKNOWN").says("as they were at `HEAD`");

    let outside = Place::example("triage");
    outside.run(["plan", "--offline", "--against", "HEAD"]).code(2).shows_nothing().says("no git repository");
    let mut without = Place::example("triage");
    without.set("PATH", without.path().display().to_string());
    without.run(["plan", "--offline", "--against", "HEAD"]).code(2).shows_nothing().says("not installed");
}
