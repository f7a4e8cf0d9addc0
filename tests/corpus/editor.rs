//! What an editor asks, asked of the corpus and of what random edits make of it: nothing panics, every place is in its
//! text, and a check after an edit finds what a check from nothing finds.

use lf_lang::{
    check::{Catalog, Program, study::Study},
    diag::Diagnostic,
    editor::{self, View},
    source::{SourceId, SourceMap, Span},
    syntax::{self, ast, tokens},
};
use libtest_mimic::Trial;
use proptest::{prelude::*, sample, test_runner};

use crate::{corpus, files, read, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("editor/every_name_of_the_corpus_is_a_token", every_name_is_a_token),
        trial("editor/random_edits_are_answered_and_checked_as_anew", random_edits),
    ]
}

/// The movements of one case, checked.
struct Desk {
    map: SourceMap,
    ids: Vec<SourceId>,
    trees: Vec<ast::File>,
    /// What each text said by itself.
    problems: Vec<Vec<Diagnostic>>,
    catalog: Catalog,
    study: Study,
}

impl Desk {
    fn new(text: &str, catalog: &Catalog) -> Self {
        let mut map = SourceMap::default();
        let mut ids = Vec::new();
        for (number, part) in text.split("//== ").enumerate() {
            let (name, part) =
                if number == 0 { ("case.mvt", part) } else { part.split_once('\n').unwrap_or((part, "")) };
            ids.push(map.add(name.trim(), part));
        }
        let parsed = ids.iter().map(|id| syntax::parse(map.get(*id).expect("just added")));
        let (trees, problems) = parsed.map(|parsed| (parsed.file, parsed.problems)).unzip();
        let mut desk = Self { map, ids, trees, problems, catalog: catalog.clone(), study: Study::default() };
        desk.study.check(&Program { map: &desk.map, files: &desk.trees, roots: &desk.ids }, &desk.catalog);
        desk
    }

    fn view(&self) -> View<'_> {
        View { map: &self.map, files: &self.trees, roots: &self.ids, catalog: &self.catalog, study: &self.study }
    }

    fn text(&self, id: SourceId) -> &str {
        &self.map.get(id).expect("a text").text
    }

    fn put(&mut self, file: usize, text: String) {
        let before = self.map.get(self.ids[file]).expect("a text").clone();
        self.map.replace(self.ids[file], text);
        let now = self.map.get(self.ids[file]).expect("a text");
        let parsed = syntax::parse_edited(now, &before, self.trees[file].clone(), &self.problems[file]);
        assert_eq!(parsed, syntax::parse(now), "an edit is read as the whole text is:\n{}", now.text);
        self.trees[file] = parsed.file;
        self.problems[file] = parsed.problems;
    }
}

fn acme() -> Catalog {
    serde_json::from_str(&read(&corpus().join("catalogs/acme.json"))).expect("a catalog")
}

/// What is read differently by the tokens is only what was never closed.
fn sound() -> Vec<String> {
    texts(&["check/ok", "syntax/ok", "plan"])
}

fn cases() -> Vec<String> {
    texts(&["check/ok", "check/err", "syntax/ok", "syntax/err", "plan"])
}

fn texts(folders: &[&str]) -> Vec<String> {
    folders.iter().flat_map(|folder| files(&corpus().join(folder), "mvt")).map(|file| read(&file)).collect()
}

fn every_name_is_a_token() -> Result<(), String> {
    let catalog = acme();
    for text in sound() {
        let desk = Desk::new(&text, &catalog);
        for id in &desk.ids {
            let text = desk.text(*id);
            let found = tokens::tokens(text);
            for mention in desk.study.mentions(*id) {
                let span = mention.span;
                let whole = found.iter().any(|token| token.start == span.start && token.end == span.end);
                let written = text.get(span.start as usize..span.end as usize);
                if !whole && !written.is_some_and(|written| written.starts_with(['"', '@'])) {
                    return Err(format!("{written:?} is mentioned and is no token in\n{text}"));
                }
            }
        }
    }
    Ok(())
}

const PIECES: [&str; 26] = [
    "}",
    "{",
    "(",
    ")",
    "-[:",
    "]->",
    "\"",
    "${",
    "`",
    "\u{1f600}",
    "\r\n",
    " WHERE ",
    "write ",
    "if ",
    " fire ",
    " = ",
    ".",
    ":",
    ",",
    "\n",
    "crm-[c:Company]-> {",
    "function f(x: <text>) {",
    "import { a } from \"b\"\n",
    "IF ",
    "//",
    "...",
];

fn random_edits() -> Result<(), String> {
    let catalog = acme();
    let cases = cases();
    let edit = (any::<sample::Index>(), any::<sample::Index>(), 0_usize..30, sample::select(&PIECES[..]));
    let strategy = (sample::select(cases), proptest::collection::vec(edit, 1..6), any::<sample::Index>());
    let cases = std::env::var("LF_EDITOR_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(32);
    let config = test_runner::Config { failure_persistence: None, ..test_runner::Config::with_cases(cases) };
    let mut runner = test_runner::TestRunner::new_with_rng(
        config,
        test_runner::TestRng::deterministic_rng(test_runner::RngAlgorithm::ChaCha),
    );
    let ran = runner.run(&strategy, |(text, edits, asked)| {
        let mut desk = Desk::new(&text, &catalog);
        for (file, place, length, piece) in edits {
            let file = file.index(desk.ids.len());
            let before = desk.text(desk.ids[file]).to_owned();
            let from = before.floor_char_boundary(place.index(before.len() + 1));
            let to = before.ceil_char_boundary((from + length).min(before.len()));
            desk.put(file, format!("{}{piece}{}", &before[..from], &before[to..]));
            let program = Program { map: &desk.map, files: &desk.trees, roots: &desk.ids };
            let anew = lf_lang::check::check(&program, &desk.catalog).problems;
            prop_assert_eq!(desk.study.check(&program, &desk.catalog), anew);
            ask(&mut desk, file, asked)?;
        }
        Ok(())
    });
    ran.map_err(|why| why.to_string())
}

fn ask(desk: &mut Desk, file: usize, asked: sample::Index) -> Result<(), TestCaseError> {
    let id = desk.ids[file];
    let text = desk.text(id).to_owned();
    let offset = u32::try_from(text.floor_char_boundary(asked.index(text.len() + 1))).expect("small");
    let view = desk.view();
    let inside = |span: Span| {
        let text = &desk.map.get(span.source).expect("a text").text;
        text.get(span.start as usize..span.end as usize).is_some()
    };
    for mention in view.study.mentions(id) {
        prop_assert!(inside(mention.span));
    }
    if let Some(hover) = editor::hover(&view, id, offset) {
        prop_assert!(inside(hover.span));
    }
    if let Some(editor::Target::Place(span)) = view.definition(id, offset) {
        prop_assert!(inside(span));
    }
    prop_assert!(view.references(id, offset, true).into_iter().all(inside));
    if let Ok(edits) = editor::rename(&view, id, offset, "other_name") {
        prop_assert!(edits.into_iter().all(|(span, _)| inside(span)));
    }
    let mut last = 0;
    for painted in editor::colours(&view, id) {
        prop_assert!(
            last <= painted.start && painted.start < painted.end && inside(Span::new(id, painted.start, painted.end))
        );
        last = painted.end;
    }
    let entries = editor::outline(&desk.trees[file], desk.map.get(id).expect("a text"));
    prop_assert!(entries.into_iter().all(|entry| inside(entry.span) && inside(entry.selection)));
    let Desk { map, ids, trees, problems: _, catalog, study } = desk;
    if let Some(found) = editor::complete(map, trees, ids, catalog, study, id, offset) {
        prop_assert!(text.get(found.replaces.start as usize..found.replaces.end as usize).is_some());
    }
    prop_assert_eq!(desk.text(id), text.as_str());
    Ok(())
}
