//! Checked again after an edit is as checked anew.

use super::*;
use crate::{check, source::SourceMap, syntax};

const FILES: [(&str, &str); 3] = [
    (
        "a.mvt",
        "crm = connect #acme_crm using acme\nexport function name(one: <crm-[:Company]->>) {\n  return one.Name\n}\nexport most = 3\n",
    ),
    (
        "b.mvt",
        "import { name as called, most } from \"a\"\ncrm = connect #acme_crm using acme\nexport function both(one: <crm-[:Company]->>) {\n  return \"${called(one: one)} ${most}\"\n}\n",
    ),
    (
        "c.mvt",
        "import { both } from \"b\"\ncrm = connect #acme_crm using acme\nfunction go(one: <crm-[:Company]->>) {\n  write one { Owner: both(one) }\n}\nlisten to crm-[:Company]-> fire go\n",
    ),
];

/// Each replaces a text, once, in a file: what comes of it may reach through the others.
const EDITS: [(usize, &str, &str); 14] = [
    (0, "one.Name", "LENGTH(one.Name)"),
    (0, "LENGTH(one.Name)", "one.Nmae"),
    (0, "one.Nmae", "one.Name"),
    (0, "crm = connect", "// moved\ncrm = connect"),
    (0, "most = 3", "most = [1]"),
    (1, "${most}", "${LENGTH(most)}"),
    (0, "export function name", "function name"),
    (0, "function name", "export function nam"),
    (1, "name as called", "nam as called"),
    (2, "fire go", "fire gone"),
    (2, "fire gone", "fire go"),
    (1, "using acme", "using nobody"),
    (1, "using nobody", "using acme"),
    (2, "write one", "write one."),
];

fn acme() -> Catalog {
    serde_json::from_str(include_str!("../../../../tests/corpus/catalogs/acme.json")).unwrap()
}

#[test]
fn after_each_edit_the_same_is_found_as_anew() {
    let catalog = acme();
    let mut map = SourceMap::default();
    let mut texts: Vec<String> = FILES.iter().map(|(_, text)| (*text).to_owned()).collect();
    let ids: Vec<SourceId> = FILES.iter().map(|(path, text)| map.add(*path, *text)).collect();
    let mut trees: Vec<ast::File> = ids.iter().map(|id| syntax::parse(map.get(*id).unwrap()).file).collect();
    let mut study = Study::default();
    for (file, from, to) in [(0, "", "")].into_iter().chain(EDITS) {
        assert!(texts[file].contains(from), "{from:?} is in {}", texts[file]);
        texts[file] = texts[file].replacen(from, to, 1);
        map.replace(ids[file], texts[file].as_str());
        trees[file] = syntax::parse(map.get(ids[file]).unwrap()).file;
        let program = Program { map: &map, files: &trees, roots: &ids };
        let anew = check::check(&program, &catalog).problems;
        assert_eq!(study.check(&program, &catalog), anew, "after {from:?} became {to:?}");
        let mut fresh = Study::default();
        fresh.check(&program, &catalog);
        for id in &ids {
            let again: Vec<_> = study.mentions(*id).collect();
            assert_eq!(again, fresh.mentions(*id).collect::<Vec<_>>(), "after {from:?} became {to:?}");
        }
    }
}

#[test]
fn what_no_edit_reaches_is_not_looked_at_again() {
    let catalog = acme();
    let mut map = SourceMap::default();
    let ids: Vec<SourceId> = FILES.iter().map(|(path, text)| map.add(*path, *text)).collect();
    let mut trees: Vec<ast::File> = ids.iter().map(|id| syntax::parse(map.get(*id).unwrap()).file).collect();
    let mut study = Study::default();
    study.check(&Program { map: &map, files: &trees, roots: &ids }, &catalog);
    map.replace(ids[0], FILES[0].1.replace("return", "// the same to others\n  return"));
    trees[0] = syntax::parse(map.get(ids[0]).unwrap()).file;
    let texts: Vec<_> = ids.iter().map(|id| study.known[id].facts.mentions.as_ptr()).collect();
    study.check(&Program { map: &map, files: &trees, roots: &ids }, &catalog);
    let now: Vec<_> = ids.iter().map(|id| study.known[id].facts.mentions.as_ptr()).collect();
    // `b` names a parameter of `a`, whose place has moved; nothing of that reaches `c`.
    assert_ne!(texts[0], now[0]);
    assert_ne!(texts[1], now[1]);
    assert_eq!(texts[2], now[2]);
}
