//! The schema of a tool, as any server may give it, is read to its end.
#![no_main]

use lf_fuzz::Bound;
use libfuzzer_sys::fuzz_target;

const BOUND: Bound = Bound { per_byte: 20_000, fixed: 5_000_000 };

fn read(text: &str) {
    lf_mcp::fuzzing::tool_schema(text);
}

fuzz_target!(|text: &str| BOUND.keep(text.len(), || read(text)));
