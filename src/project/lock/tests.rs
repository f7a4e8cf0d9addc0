//! The lock file: its form, its differences, its faults.

use std::collections::BTreeMap;

use lf_lang::check::catalog::ConnectionKey;
use lf_module::{Description, Field, FieldType, TypeShape};

use super::{Lock, Locked, differences};

fn described() -> Description {
    let mut title = Field::readable("title", FieldType::Text);
    (title.writable, title.required) = (true, true);
    let team = Field { writable: true, ..Field::readable("team", FieldType::Choice(vec!["ENG".into(), "OPS".into()])) };
    let issue = TypeShape { name: "issue".into(), writable: true, fields: vec![title, team], ..TypeShape::default() };
    let count = TypeShape { name: "count".into(), readable: true, ..TypeShape::default() };
    Description { types: vec![issue, count], warnings: vec![], facts: vec![("server".into(), "9.1".into())] }
}

fn locked(description: &Description) -> Locked {
    Locked::new("@lf/mcp", Some("linear"), Some("mcp_token"), description)
}

fn lock(description: &Description) -> Lock {
    let key = ConnectionKey::new("@lf/mcp", Some("linear"), &BTreeMap::new());
    Lock { connections: [(key, locked(description))].into() }
}

#[test]
fn what_is_written_reads_back_and_is_laid_out_for_diffs() {
    let lock = lock(&described());
    let text = lock.text();
    assert_eq!(Lock::parse(&text).unwrap(), lock);
    let lines: Vec<_> = text.lines().filter(|line| !line.contains("hash")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {
      "format": 1,
      "connections": {
        "@lf/mcp using linear": {
          "module": "@lf/mcp",
          "using": "linear",
          "kind": "mcp_token",
          "warnings": [],
          "types": [
            {"name":"count","count":"many","readable":true,"create_repeat":"never"},
            {
              "name": "issue",
              "fields": [
                {"name":"title","type":"text","readable":true,"writable":true,"required":true},
                {"name":"team","type":{"choice":["ENG","OPS"]},"readable":true,"writable":true}
              ],
              "count": "many",
              "writable": true,
              "create_repeat": "never"
            }
          ]
        }
      }
    }
    "#);
}

#[test]
fn the_systems_order_of_types_and_its_version_make_no_difference() {
    let mut other = described();
    other.types.reverse();
    other.facts.clear();
    assert_eq!(locked(&described()), locked(&other));
}

#[test]
fn a_file_changed_by_hand_is_refused() {
    let text = lock(&described()).text();
    let error = Lock::parse(&text.replace("ENG", "ENGG")).unwrap_err();
    assert!(error.contains("does not match its hash"), "{error}");
    assert!(Lock::parse("{\"format\": 2}").unwrap_err().contains("newer"));
    assert!(Lock::parse("[").unwrap_err().contains("damaged"));
}

#[test]
fn every_difference_is_a_line() {
    let mut other = described();
    let issue = &mut other.types[0];
    issue.fields[0].required = false;
    issue.fields[1].ty = FieldType::Text;
    issue.fields.push(Field::readable("url", FieldType::Text));
    issue.deletable = true;
    other.types.remove(1);
    assert_eq!(
        differences(&locked(&described()), &locked(&other)),
        [
            "- type `count`",
            "~ `issue.title`: required was true, is false",
            "~ `issue.team`: type was {\"choice\":[\"ENG\",\"OPS\"]}, is \"text\"",
            "+ `issue.url`: \"text\"",
            "~ `issue`: deletable was false, is true",
        ]
    );
    assert_eq!(differences(&locked(&described()), &locked(&described())), Vec::<String>::new());
}
