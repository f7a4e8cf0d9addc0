//! Any text at all is checked against a catalog; what checks is compiled, explained and drawn, and its plan is stable.
#![no_main]

use std::sync::LazyLock;

use lf_fuzz::Bound;
use lf_lang::{
    check::{Catalog, Program, check as check_program},
    plan,
    source::SourceMap,
    syntax,
};
use libfuzzer_sys::fuzz_target;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../tests/corpus/catalogs/acme.json")).expect("the catalog of the corpus")
});

const BOUND: Bound = Bound { per_byte: 4_000, fixed: 1_000_000 };

fn check(text: &str) {
    let mut sources = SourceMap::default();
    let id = sources.add("fuzz.mvt", text);
    let parsed = syntax::parse(sources.get(id).expect("just added"));
    let files = [parsed.file];
    let checked = check_program(&Program { map: &sources, files: &files, roots: &[id] }, &CATALOG);
    if parsed.problems.is_empty()
        && let Some(movement) = checked.movement
    {
        let plan = plan::compile(&movement, &sources);
        let _text = plan::explain::explain(&plan);
        assert_eq!(plan.id(), plan::compile(&movement, &sources).id());
    }
}

fuzz_target!(|text: &str| BOUND.keep(text.len(), || check(text)));
