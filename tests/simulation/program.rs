//! A movement's text to its plan, against what the world describes.

use lf_lang::{
    check::{
        self, Catalog,
        catalog::{Described, ModuleFacts},
    },
    plan::{self, Plan},
    source::SourceMap,
    syntax,
};

use crate::world;

/// Parses, checks and compiles; a mistake in a test's own movement stops it.
pub(crate) fn plan(text: &str) -> Plan {
    let mut map = SourceMap::default();
    let id = map.add("movement.mvt", text);
    let parsed = syntax::parse(map.get(id).unwrap());
    assert!(parsed.problems.is_empty(), "{:#?}", parsed.problems);
    let files = [parsed.file];
    let mut catalog = Catalog::default();
    for request in check::connections(&files) {
        let facts = ModuleFacts::default();
        catalog.modules.insert(request.module.clone(), facts);
        let described = Described::Yes(world::description(&request.module));
        catalog.connections.insert(request.key, described);
    }
    let checked = check::check(&check::Program { map: &map, files: &files, roots: &[id] }, &catalog);
    let Some(movement) = checked.movement else { panic!("{:#?}", checked.problems) };
    plan::compile(&movement, &map)
}
