//! Asked of every place of small programs; whole sessions are the live tests' (`tests/live/lsp.rs`).

use super::{View, complete, hover, rename};
use crate::{
    check::{Catalog, Program, study::Study},
    source::{SourceId, SourceMap},
    syntax,
};

struct Desk {
    map: SourceMap,
    files: Vec<syntax::ast::File>,
    ids: Vec<SourceId>,
    catalog: Catalog,
    study: Study,
}

impl Desk {
    fn new(texts: &[&str]) -> Self {
        let catalog: Catalog = serde_json::from_str(include_str!("../../../tests/corpus/catalogs/acme.json")).unwrap();
        let mut map = SourceMap::default();
        let ids: Vec<_> = texts.iter().enumerate().map(|(at, text)| map.add(format!("f{at}.mvt"), *text)).collect();
        let files: Vec<_> = ids.iter().map(|id| syntax::parse(map.get(*id).unwrap()).file).collect();
        let mut study = Study::default();
        study.check(&Program { map: &map, files: &files, roots: &ids }, &catalog);
        Self { map, files, ids, catalog, study }
    }

    fn view(&self) -> View<'_> {
        View { map: &self.map, files: &self.files, roots: &self.ids, catalog: &self.catalog, study: &self.study }
    }

    /// The names offered at the place of `|`.
    fn offered(text: &str) -> Vec<String> {
        let at = text.find('|').unwrap();
        let mut desk = Self::new(&[&text.replacen('|', "", 1)]);
        let found = complete(
            &mut desk.map,
            &mut desk.files,
            &desk.ids,
            &desk.catalog,
            &desk.study,
            desk.ids[0],
            u32::try_from(at).unwrap(),
        );
        let items = found.map(|found| found.items).unwrap_or_default();
        let name = |item: super::Suggested| match item {
            super::Suggested::Offer(offer) => offer.name.to_string(),
            super::Suggested::Keyword(word) => word.to_owned(),
        };
        items.into_iter().map(name).collect()
    }

    fn renamed(texts: &[&str], needle: &str, to: &str) -> Result<Vec<String>, String> {
        let desk = Self::new(texts);
        let at = texts[0].find(needle).unwrap();
        let edits = rename(&desk.view(), desk.ids[0], u32::try_from(at).unwrap(), to).map_err(|refused| refused.0)?;
        let mut texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        for (span, new) in edits.into_iter().rev() {
            texts[span.source.0 as usize].replace_range(span.start as usize..span.end as usize, &new);
        }
        Ok(texts)
    }
}

const HEAD: &str = "crm = connect #acme_crm using acme\ntracker = connect `@lf/mcp` using linear\n";

#[track_caller]
fn offers(text: &str, all: &[&str], none: &[&str]) {
    let found = Desk::offered(&format!("{HEAD}{text}"));
    for name in all {
        assert!(found.iter().any(|found| found == name), "{text}: {name} is not among {found:?}");
    }
    for name in none {
        assert!(!found.iter().any(|found| found == name), "{text}: {name} is among {found:?}");
    }
}

#[test]
fn what_is_offered_is_what_the_check_takes() {
    let one = "(one: <crm-[:Company]->>) {\n";
    offers(&format!("function f{one}  x = one.|\n}}"), &["Name", "Owner"], &["one", "TRIM", "AND"]);
    offers(&format!("function f{one}  x = one.Na|\n}}"), &["Name"], &["one"]);
    offers(&format!("function f{one}  x = |\n}}"), &["one", "crm", "TRIM", "f", "write", "IF"], &["Name"]);
    offers(&format!("function f{one}  crm-[:|\n}}"), &["Company"], &["Name", "create_issue"]);
    offers(&format!("function f{one}  crm-[c:Company WHERE |]-> {{ }}\n}}"), &["Name", "c", "one"], &[]);
    offers(&format!("function f{one}  write one {{ | }}\n}}"), &["Name", "unique by"], &["one", "id"]);
    offers(&format!("function f{one}  write one {{ Name: one.Name\n    Ow|\n  }}\n}}"), &["Owner"], &["one"]);
    offers(&format!("function f{one}  |\n}}"), &["write", "if", "return", "one", "crm"], &["import"]);
    offers(&format!("function f{one}  if one.Name != \"\" | {{ }}\n}}"), &["AND", "OR"], &["write", "one"]);
    offers("|", &["import", "function", "listen to"], &["write"]);
    offers("x = connect |", &["#acme_crm", "`@lf/mcp`"], &["crm"]);
    offers("x = connect #acme_crm using |", &["acme"], &["linear"]);
    offers("x = connect #acme_crm |", &["using"], &[]);
    offers("function f(one: <|>) { }", &["text", "crm", "change"], &["TRIM"]);
    offers("function f(one: <crm-[:|]->>) { }", &["Company"], &["text"]);
    offers("function f(one: <crm-[:Company]->>) { }\nlisten to crm-[:Company]-> fire |", &["f"], &["crm"]);
    offers("listen to crm-[:|", &["Company"], &["create_issue"]);
    offers("function f(one: <crm-[:Company]->>) { }\nlisten to crm-[:Company]-> { st| } fire f", &["start"], &["f"]);
    offers(
        "function f(one: <crm-[:Company]->>) { }\nlisten to crm-[:Company]-> { start: \"|\" } fire f",
        &["now", "all"],
        &[],
    );
    offers("function f() {\n  write tracker-[:create_issue]-> { title: \"a\", team: \"|\" }\n}", &["ENG"], &["title"]);
    offers("function f(one: <text>) { }\nfunction g() { f(o|: 1) }", &["one"], &[]);
    offers("test \"x\" {\n  |\n}", &["given", "expect write"], &["import"]);
    offers("test \"x\" {\n  given crm-[:Company]-> { Na| }\n}", &["Name"], &["given"]);
    offers("test \"x\" {\n  expect write crm-[:|]-> { }\n}", &["Company"], &["given"]);
    offers("// a comm|ent", &[], &["import"]);
}

#[test]
fn a_name_is_given_everywhere_or_not_at_all() {
    let first = "export function name(one: <text>): <text> { return one }\nmost = name\n";
    let second = "import { name } from \"f0\"\nfunction go() { ERROR(name(one: \"a\")) }\n";
    let first = first.replace("most = name\n", "");
    assert_eq!(
        Desk::renamed(&[&first, second], "name", "title"),
        Ok(vec![
            "export function title(one: <text>): <text> { return one }\n".to_owned(),
            "import { title } from \"f0\"\nfunction go() { ERROR(title(one: \"a\")) }\n".to_owned(),
        ])
    );
    assert_eq!(
        Desk::renamed(&[&first, second], "one", "if"),
        Ok(vec![
            "export function name(`if`: <text>): <text> { return `if` }\n".to_owned(),
            "import { name } from \"f0\"\nfunction go() { ERROR(name(`if`: \"a\")) }\n".to_owned(),
        ])
    );
    let refused = |texts: &[&str], needle: &str, to: &str| Desk::renamed(texts, needle, to).unwrap_err();
    assert_eq!(refused(&[&first, second], "name", "go"), "`go` does not fit: `go` is declared twice in this file");
    assert_eq!(refused(&[&first], "one", "name"), "`name` does not fit: `name` is already declared in this file");
    assert_eq!(refused(&[&first], "text", "x"), "`text` belongs to the language");
    let crm = format!(
        "{HEAD}function f(a: <crm-[:Company]->>) {{\n  Nam = 1\n  crm-[c:Company WHERE c.Name == \"${{Nam}}\"]-> {{ write c {{ Name: a.Name }} }}\n}}\n"
    );
    assert_eq!(refused(&[&crm], "Company", "x"), "`Company` belongs to the system that describes it");
    let captured =
        format!("{HEAD}function f() {{\n  most = 1\n  crm-[Company WHERE Name == \"${{most}}\"]-> {{ }}\n}}\n");
    let captured = captured.replace("-[Company", "-[:Company");
    assert!(refused(&[&captured], "most = 1", "Name").starts_with("`Name` does not fit"), "a field would be meant");
}

#[test]
fn every_place_of_a_program_can_be_asked_about() {
    let text = format!(
        "{HEAD}/// Follows up.\nfunction triage(company: <crm-[:Company]->>) {{\n  issue = write tracker-[:create_issue]-> {{ title: \"Follow up ${{company.Name}}\", team: \"ENG\" }}\n  tracker-[r:search_issues WHERE r.query == company.Name]-> {{\n    write crm-[:Company]-> {{ Name: \"${{r.count}} open; ${{issue.text}}\" }}\n  }}\n}}\n\nlisten to crm-[:Company]-> fire triage\n"
    );
    let desk = Desk::new(&[&text]);
    let view = desk.view();
    let shown: Vec<String> = ["triage(", "company:", "Name}", "issue =", "query", "count", "search_issues", "crm ="]
        .iter()
        .map(|needle| hover(&view, desk.ids[0], u32::try_from(text.find(needle).unwrap()).unwrap()).unwrap().code)
        .collect();
    assert_eq!(
        shown[..4],
        [
            "function triage(company: <crm-[:Company]->>)\nwrites tracker-[:create_issue]->, crm-[:Company]->",
            "company: crm-[:Company]->",
            "Name: text",
            "issue: tracker-[:create_issue]->",
        ]
    );
    for place in 0..=text.len() {
        let offset = u32::try_from(place).unwrap();
        let _hover = hover(&view, desk.ids[0], offset);
        let _places = view.references(desk.ids[0], offset, true);
        let _target = view.definition(desk.ids[0], offset);
    }
}
