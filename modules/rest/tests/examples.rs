//! The files that the project shows to its readers have no mistakes.

use std::path::Path;

use lf_rest::RestModule;

#[test]
fn the_reference_s_example_is_right() {
    let text = include_str!("../README.md");
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let (module, problems) = RestModule::load("acme_crm", example);
    assert_eq!(problems, []);
    assert!(module.is_some());
}

#[test]
fn the_book_s_modules_are_right() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for page in ["first-movement.md", "connections.md"] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        for example in text.split("```toml module\n").skip(1) {
            let (module, problems) = RestModule::load("crm", example.split("```").next().unwrap());
            assert_eq!(problems, [], "{page}");
            assert!(module.is_some());
            count += 1;
        }
    }
    assert_eq!(count, 2);
}

#[test]
fn the_examples_modules_are_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for example in std::fs::read_dir(root).unwrap() {
        let Ok(modules) = std::fs::read_dir(example.unwrap().path().join("modules")) else { continue };
        for file in modules {
            let path = file.unwrap().path();
            let (module, problems) = RestModule::load("example", &std::fs::read_to_string(&path).unwrap());
            assert_eq!(problems, [], "{}", path.display());
            assert!(module.is_some());
            count += 1;
        }
    }
    assert!(count > 0);
}
