//! `check --fix`, and the formats of `check` that other programs read.

use super::place::Place;

const TRIAGE: &str = "movements/triage.mvt";

#[test]
fn what_a_machine_can_mend_is_mended_and_checks_clean() {
    let place = Place::example("triage");
    let right = place.read(TRIAGE);
    place.change(TRIAGE, "company.Name]->", "company.Nmae]->");
    place.change(TRIAGE, "  issue = write", "  let issue = write");
    place.change(TRIAGE, "r.query == ", "r.query === ");
    let ran = place.run(["check", "--offline", "--fix"]).code(0);
    assert!(ran.err.contains("movements/triage.mvt: ") && ran.err.contains("made"), "{}", ran.err);
    assert_eq!(place.read(TRIAGE), right);
    let again = place.run(["check", "--offline", "--fix"]).code(0).says("there was no fix to make");
    assert!(!again.err.contains("made\n"), "{}", again.err);
}

#[test]
fn what_is_left_is_said_with_the_reason() {
    let place = Place::example("triage");
    place.change(TRIAGE, "team: \"ENG\"", "team = \"ENG\"");
    place.change(TRIAGE, "title: \"Follow up ${company.Name}\", ", "");
    let ran = place.run(["check", "--offline", "--fix"]).code(1).shows("MOV_WRITE_FIELD_MISSING");
    assert!(ran.err.contains("movements/triage.mvt: 1 fix made"), "{}", ran.err);
    // Which fixes: the place, the code, and the text before and after.
    assert!(
        ran.err.contains(": MOV_PARSE_HABIT: `team =` → `team :`") || ran.err.contains("MOV_PARSE_HABIT: `=` → `:`"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("1 error left that no fix mends"), "{}", ran.err);
    assert!(place.read(TRIAGE).contains("team : \"ENG\""));
    let json = place.run(["check", "--offline", "--fix", "--json"]).code(1).json();
    assert_eq!(json["fixed"], serde_json::json!([]));
    let usage = place.run(["check", "--fix", "--locked"]).code(2);
    assert!(usage.err.contains("cannot be used with"), "{}", usage.err);
}

/// An example with an error in each of several ways of standing in a report.
fn wrong() -> Place {
    let place = Place::example("triage");
    place.change(TRIAGE, "company.Name]->", "company.Nmae]->");
    place.change(TRIAGE, "  issue = write", "  let issue = write");
    place.write("movements/odd name, 100%.mvt", "x = \"Größe 😀\" +\ny = x\ny = 2\n");
    place
}

#[test]
fn the_sarif_log_is_one_by_its_schema() {
    // The published schema has one pattern, of languages, that is no regular expression.
    let schema = include_str!("schemas/sarif-2.1.0.json").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}?$");
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let sound = Place::example("newsletter").run(["check", "--offline", "--format", "sarif"]).code(0).json();
    let found = wrong().run(["check", "--offline", "--format", "sarif"]).code(1).json();
    for log in [&sound, &found] {
        let faults: Vec<_> = validator.iter_errors(log).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:#?}\n{log:#}");
    }
    let results = found["runs"][0]["results"].as_array().unwrap();
    assert!(results.len() > 2, "{found:#}");
    for result in results {
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(found["runs"][0]["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
    }
    let text = found.to_string();
    assert!(text.contains("movements/odd%20name%2C%20100%25.mvt"), "{text}");
    assert!(text.contains("\"fixes\""), "{text}");
    let mut broken = found.clone();
    broken["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!validator.is_valid(&broken), "the schema is the one that is asked");
}

#[test]
fn annotations_stay_one_line_each_with_their_place() {
    let ran = wrong().run(["check", "--offline", "--format", "github"]).code(1);
    for line in ran.out.lines() {
        assert!(
            line.starts_with("::error ") || line.starts_with("::warning ") || line.starts_with("::notice "),
            "{line}"
        );
        assert!(line.contains("file=movements/") && line.contains(",line="), "{line}");
    }
    assert!(ran.out.contains("file=movements/odd name%2C 100%25.mvt,"), "{}", ran.out);
}
