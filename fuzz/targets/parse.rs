//! Any text at all is read: no panic, no hang, every place inside the text, nothing lost in silence, in linear work.
#![no_main]

use lf_fuzz::Bound;
use lf_lang::{
    diag::codes,
    source::{SourceMap, Span},
    syntax,
};
use libfuzzer_sys::fuzz_target;

const BOUND: Bound = Bound { per_byte: 4_000, fixed: 100_000 };

fn read(text: &str) {
    let mut sources = SourceMap::default();
    let id = sources.add("fuzz.mvt", text);
    let parsed = syntax::parse(sources.get(id).expect("just added"));
    let inside = |span: Span| {
        let (start, end) = (span.start as usize, span.end as usize);
        span.source == id && start <= end && text.is_char_boundary(start) && text.is_char_boundary(end)
    };
    for problem in &parsed.problems {
        assert!(inside(problem.primary.span), "{}", problem.headline);
        assert!(problem.secondary.iter().all(|label| inside(label.span)), "{}", problem.headline);
        let edits = problem.fix.iter().flat_map(|fix| &fix.edits);
        assert!(edits.into_iter().all(|(span, _)| inside(*span)), "{}", problem.headline);
        // Said where reading takes more than linear work; a text of this size never may.
        assert_ne!(problem.code, codes::MOV_PARSE_TOO_LARGE);
    }
}

fuzz_target!(|text: &str| BOUND.keep(text.len(), || read(text)));
