//! A stream of events, cut anywhere: the same events as in one piece.
#![no_main]

use lf_fuzz::Bound;
use libfuzzer_sys::fuzz_target;

const BOUND: Bound = Bound { per_byte: 20_000, fixed: 5_000_000 };

fn split(bytes: &[u8]) {
    let whole = lf_mcp::fuzzing::event_stream(bytes, usize::MAX);
    for piece in [1, 2, 7] {
        assert_eq!(lf_mcp::fuzzing::event_stream(bytes, piece), whole);
    }
}

fuzz_target!(|bytes: &[u8]| BOUND.keep(bytes.len(), || split(bytes)));
