//! `plan`: the three examples as text, JSON, Mermaid and a picture, from what is committed alone.

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
