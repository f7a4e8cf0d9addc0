//! The file of a project's module, as any person may write it, is read to its end; each fault has its place inside it.
#![no_main]

use lf_fuzz::Bound;
use libfuzzer_sys::fuzz_target;

const BOUND: Bound = Bound { per_byte: 20_000, fixed: 5_000_000 };

fn read(text: &str) {
    lf_rest::fuzzing::module_file(text);
}

fuzz_target!(|text: &str| BOUND.keep(text.len(), || read(text)));
