//! The committed parser is what `grammar.js` gives. `LF_BLESS=1` writes it anew; then build and test again.

use std::{env, fs, path::Path};

use tree_sitter_generate::{ABI_VERSION_MAX, OptLevel, generate_parser_in_directory};

use crate::texts::read;

#[test]
fn the_committed_parser_is_what_the_grammar_gives() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let place = tempfile::tempdir().expect("a folder");
    for file in ["grammar.js", "tree-sitter.json"] {
        fs::copy(home.join(file), place.path().join(file)).expect("a copy");
    }
    let mut said = Vec::new();
    let none = None::<&Path>;
    generate_parser_in_directory(
        place.path(),
        none,
        none,
        ABI_VERSION_MAX,
        None,
        Some("node"),
        true,
        OptLevel::default(),
        &mut said,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let said: Vec<_> = said.iter().map(|said| format!("{said:?}")).collect();
    crate::report(&said);
    for file in [
        "grammar.json",
        "node-types.json",
        "parser.c",
        "tree_sitter/alloc.h",
        "tree_sitter/array.h",
        "tree_sitter/parser.h",
    ] {
        let now = read(&place.path().join("src").join(file));
        let committed = home.join("src").join(file);
        if env::var_os("LF_BLESS").is_some() {
            fs::write(&committed, &now).expect("a file that can be written");
        }
        let before = fs::read_to_string(&committed).unwrap_or_default();
        assert!(now == before, "src/{file} is not what grammar.js gives (`LF_BLESS=1` writes it)");
    }
}
