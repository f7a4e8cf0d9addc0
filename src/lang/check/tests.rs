//! A check as a whole: the example that everything is measured by, and what no text case can show.

use std::fmt::Write as _;

use super::{Catalog, Checked, Program, check, connections};
use crate::{
    source::{SourceId, SourceMap},
    syntax,
};

const SEED: &str = r#"crm = connect #acme_crm using acme
tracker = connect `@lf/mcp` using linear

function triage(company: <crm-[:Company]->>) {
  issue = write tracker-[:create_issue]-> { title: "Follow up ${company.Name}", team: "ENG" }
  tracker-[r:search_issues WHERE r.query == company.Name]-> {
    write crm-[:Company]-> { Name: "${r.count} open; ${issue.text}" }
  }
}

listen to crm-[:Company]-> fire triage
"#;

fn acme() -> Catalog {
    serde_json::from_str(include_str!("../../../tests/corpus/catalogs/acme.json")).unwrap()
}

fn checked(files: &[(&str, &str)]) -> Checked {
    let mut map = SourceMap::default();
    let ids: Vec<SourceId> = files.iter().map(|(path, text)| map.add(*path, *text)).collect();
    let trees: Vec<_> = ids
        .iter()
        .map(|id| {
            let parsed = syntax::parse(map.get(*id).unwrap());
            assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
            parsed.file
        })
        .collect();
    check(&Program { map: &map, files: &trees, roots: &ids[..1] }, &acme())
}

#[test]
fn the_example_passes() {
    let checked = checked(&[("movements/triage.mvt", SEED)]);
    let codes: Vec<_> = checked.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["MOV_LISTEN_CYCLE"]);
    let movement = checked.movement.unwrap();
    assert_eq!(movement.connections.len(), 2);
    assert_eq!(movement.listens.len(), 1);
}

#[test]
fn one_connection_in_two_files_is_one() {
    let library = "crm = connect #acme_crm using acme\nexport function greet(who: <crm-[:Company]->>): <text> { return who.Name }\n";
    let main = "import { greet } from \"./lib/greet\"\nours = connect #acme_crm using acme\nfunction go(one: <ours-[:Company]->>) {\n  write one { Owner: greet(one) }\n}\nlisten to ours-[:Company]-> fire go\n";
    let files = [("main.mvt", main), ("lib/greet.mvt", library)];
    let checked = checked(&files);
    assert!(checked.movement.is_some(), "{:?}", checked.problems);
    assert_eq!(checked.movement.unwrap().connections.len(), 1);
}

#[test]
fn each_connection_is_asked_for_once() {
    let mut map = SourceMap::default();
    let id = map.add("a.mvt", SEED.repeat(2));
    let tree = syntax::parse(map.get(id).unwrap()).file;
    let asked: Vec<_> = connections(&[tree]).into_iter().map(|request| request.key.to_string()).collect();
    assert_eq!(asked, ["#acme_crm using acme", "@lf/mcp using linear"]);
}

#[test]
fn a_long_chain_of_calls_is_checked() {
    let mut text = String::from("crm = connect #acme_crm using acme\ntracker = connect `@lf/mcp` using linear\n");
    let count = 500;
    for index in 0..count {
        let call = if index == 0 { String::new() } else { format!("  f{}(company)\n", index - 1) };
        write!(
            text,
            "function f{index}(company: <crm-[:Company]->>) {{\n  issue = write tracker-[:create_issue]-> {{ title: \"Follow up ${{company.Name}}\", team: \"ENG\" }}\n  write company {{ Owner: issue.text }}\n{call}}}\n"
        )
        .unwrap();
    }
    writeln!(text, "listen to crm-[:Company]-> fire f{}", count - 1).unwrap();
    let checked = checked(&[("chain.mvt", &text)]);
    assert!(checked.movement.is_some(), "{:?}", checked.problems.first());
}

#[test]
fn an_edge_may_lead_to_a_type_without_a_list_of_its_own() {
    let text = r#"crm = connect #acme_crm using acme
function go(one: <crm-[:Company]->>) {
  one-[p:People]-> {
    write p { Name: "x" }
  }
  all = crm-[:Person]->
  write one { Owner: "${COUNT(all)}" }
}
listen to crm-[:Company]-> fire go
"#;
    let mut catalog = acme();
    for described in catalog.connections.values_mut() {
        let super::catalog::Described::Yes(description) = described else { continue };
        for shape in description.types.iter_mut().filter(|shape| shape.name == "Person") {
            shape.readable = false;
        }
    }
    let mut map = SourceMap::default();
    let id = map.add("edge.mvt", text);
    let files = [syntax::parse(map.get(id).unwrap()).file];
    let checked = check(&Program { map: &map, files: &files, roots: &[id] }, &catalog);
    let errors: Vec<_> = checked
        .problems
        .iter()
        .filter(|problem| problem.severity == crate::diag::Severity::Error)
        .map(|problem| (problem.code.as_str(), map.get(id).unwrap().slice(problem.primary.span)))
        .collect();
    assert_eq!(errors, [("MOV_HOP_NOT_READABLE", "Person")]);
}

#[test]
fn values_that_nest_without_end_are_one_report() {
    for (step, count) in [
        ("[b{before}]", 3_000),
        ("{ l: b{before}, r: b{before} }", 100),
        ("MAP(b{before}, (_x{at}) => b{before})", 200),
    ] {
        let mut text = String::from("export function f(): <json> {\n  b0 = [\"x\"]\n");
        for at in 1..=count {
            let value = step.replace("{before}", &(at - 1).to_string()).replace("{at}", &at.to_string());
            writeln!(text, "  b{at} = {value}").unwrap();
        }
        writeln!(text, "  return JSON(b{count})\n}}").unwrap();
        let problems = checked(&[("deep.mvt", &text)]).problems;
        let codes: Vec<_> = problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, ["MOV_TYPE_LARGE"], "{step}");
    }
}
