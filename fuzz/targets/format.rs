//! What can be read has one layout: laid out again it is the same, and it says the same.
#![no_main]

use lf_fuzz::Bound;
use lf_lang::{
    source::SourceMap,
    syntax::{
        format::{Left, format, same},
        parse,
    },
};
use libfuzzer_sys::fuzz_target;

const BOUND: Bound = Bound { per_byte: 12_000, fixed: 100_000 };

fn lay_out(text: &str) {
    let mut sources = SourceMap::default();
    let id = sources.add("fuzz.mvt", text);
    let file = sources.get(id).expect("just added").clone();
    let once = match format(&file) {
        Ok(once) => once,
        Err(Left::Unreadable(_)) => return,
        Err(Left::Unsure) => panic!("the layout would say something else"),
    };
    let other = sources.add("once.mvt", once.as_str());
    let again = sources.get(other).expect("just added").clone();
    assert!(same(&file, &parse(&file).file, &again, &parse(&again).file), "{once}");
    match format(&again) {
        Ok(twice) => assert_eq!(once, twice),
        Err(left) => panic!("{left:?}\n{once}"),
    }
}

fuzz_target!(|text: &str| BOUND.keep(text.len(), || lay_out(text)));
