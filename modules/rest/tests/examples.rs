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
