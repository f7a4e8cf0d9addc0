//! `test`: the examples' own tests, what a failure prints, and which tests are played. What tests mean is tested beside
//! `src/testing`.

use super::place::Place;

const FAILS: &str = r#"
test "two teams" {
  given crm-[:Company]-> { Name: "Acme" }
  answer tracker-[:create_issue]-> { text: "ENG-1" }
  answer tracker-[:search_issues]-> { count: 2 }
  expect write tracker-[:create_issue]-> { title: "Follow up Acme", team: "OPS" }
  expect write crm-[:Company]-> { Name: "2 open; ENG-1" }
}
"#;

#[test]
fn the_tests_of_every_example_pass_offline() {
    for (name, count) in [("escalate", 2), ("newsletter", 3), ("triage", 3)] {
        let place = Place::example(name);
        let ran = place.run(["test", "--coverage"]).code(0).says(&format!("{count} passed in "));
        assert!(!place.file(".listen-fire").exists(), "{name}: nothing is kept");
        assert!(ran.out.contains("lines with statements ran"), "{}", ran.out);
        let json = place.run(["test", "--coverage", "--json"]).code(0).json();
        assert_eq!((json["passed"].as_u64(), json["failed"].as_u64()), (Some(count), Some(0)));
        let files = json["coverage"]["files"].as_array().unwrap();
        assert!(files.iter().all(|file| file["never"].as_array().unwrap().is_empty()), "{name}: {files:?}");
    }
}

#[test]
fn a_failure_shows_both_sides_at_its_line() {
    let place = Place::example("triage");
    let text = place.read("movements/triage.mvt");
    place.write("movements/triage.mvt", &(text + FAILS));
    let ran = place.run(["test", "movements/triage.mvt"]).code(1).says("1 failed, 0 passed in ");
    insta::assert_snapshot!("test_fails", ran.out);
    let json = place.run(["test", "--json"]).code(1).json();
    assert_eq!((json["passed"].as_u64(), json["failed"].as_u64()), (Some(3), Some(1)));
    let failure = &json["tests"][0]["failures"][0];
    assert_eq!(failure["problem"]["code"], "MOV_TEST_FAILED");
    assert_eq!(failure["sides"][1]["what"], "team");
    assert_eq!(failure["sides"][1]["differs"], true);
}

#[test]
fn which_tests_are_played_is_said() {
    let place = Place::example("triage");
    place.run(["test", "--filter", "refuses"]).code(0).says("1 passed, 2 left out");
    place.run(["test", "--filter", "refusez"]).code(1).says("no test has `refusez` in its name");
    place.run(["test", "movements/triage.mvt"]).code(0).says("the files hold no tests");
    place.change("movements/triage.mvt", "company.Name", "company.Nmae");
    place.run(["test"]).code(1).shows_nothing().says("MOV_FIELD_UNKNOWN").says("cannot be tested");
}
