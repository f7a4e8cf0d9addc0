//! One grammar reads every place where an expression stands: a text means the same in each of them.

use std::sync::LazyLock;

use lf_lang::{
    source::SourceMap,
    syntax::{self, ast},
};
use libtest_mimic::Trial;
use proptest::{prelude::*, sample, test_runner};
use regex::Regex;

use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("properties/every_slot_reads_an_expression_alike", every_slot)]
}

/// Each place where an expression stands; `@` is the expression.
const SLOTS: &[&str] = &[
    "x = [@]\n",
    "x = { a: @ }\n",
    "x = (@)\n",
    "x = \"${@}\"\n",
    "x = f(@, 1)\n",
    "x = f(name: @)\n",
    "x = MAP(list, (one) => @)\n",
    "x = IF @ THEN 1 ELSE 2 END\n",
    // `ELSE IF` goes on with the `IF` that it stands in.
    "x = IF a THEN @ ELSE (@) END\n",
    "x = c-[r:A WHERE @]->\n",
    "x = c-[r:A ORDER BY @ DESC LIMIT 3]->\n",
    "function f() {\n  y = @\n}\n",
    "function f() {\n  return @\n}\n",
    "function f() {\n  if @ {\n    return\n  } else if @ { return }\n}\n",
    "function f() {\n  g(@)\n}\n",
    "function f() {\n  write c { A: @ ELSE SKIP, B ?: @ }\n}\n",
    "function f() {\n  c-[:A WHERE @]->-[:B]-> { return }\n}\n",
    "listen to c-[:A WHERE @]-> { every: @ } fire f\n",
];

fn file(text: &str) -> (ast::File, usize) {
    let mut sources = SourceMap::default();
    let id = sources.add("slot.mvt", text);
    let parsed = syntax::parse(sources.get(id).expect("just added"));
    (parsed.file, parsed.problems.len())
}

/// A tree without its places.
fn shape(tree: &impl std::fmt::Debug) -> String {
    static PLACES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"Span \{ source: SourceId\(\d+\), start: \d+, end: \d+ \}").expect("a pattern"));
    PLACES.replace_all(&format!("{tree:?}"), "_").into_owned()
}

const LEAVES: &[&str] = &["a", "b.c", "1", "0.5", "true", "null", "\"t\"", "1h30m", "EXISTS d", "j.k AS <text>"];
const SUMS: &[&str] = &["+", "-", "*", "/", "%"];
const TESTS: &[&str] = &["==", "!=", "<", ">=", "IN", "CONTAINS", "WITHIN"];
const JOINTS: &[&str] = &["AND", "OR"];

fn expressions() -> impl Strategy<Value = String> {
    let leaf = sample::select(LEAVES).prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 3, move |inner| {
        let pair = |signs: &'static [&'static str], inner: BoxedStrategy<String>| {
            (inner.clone(), sample::select(signs), inner)
                .prop_map(|(left, sign, right)| format!("{left} {sign} {right}"))
        };
        let inner = inner.boxed();
        prop_oneof![
            pair(SUMS, inner.clone()),
            pair(JOINTS, inner.clone()),
            (inner.clone(), sample::select(TESTS), inner.clone())
                .prop_map(|(left, sign, right)| format!("({left}) {sign} ({right})")),
            inner.clone().prop_map(|operand| format!("NOT {operand}")),
            inner.clone().prop_map(|operand| format!("-{operand}")),
            inner.clone().prop_map(|operand| format!("({operand})")),
            inner.clone().prop_map(|operand| format!("g({operand}).h")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(test, yes, no)| format!("IF {test} THEN {yes} ELSE ({no}) END")),
        ]
    })
}

fn every_slot() -> Result<(), String> {
    let config = test_runner::Config { cases: 300, failure_persistence: None, ..test_runner::Config::default() };
    let random = test_runner::TestRng::deterministic_rng(test_runner::RngAlgorithm::ChaCha);
    let mut runner = test_runner::TestRunner::new_with_rng(config, random);
    let alike = |text: String| {
        let (alone, problems) = file(&format!("x = {text}\n"));
        let Some(ast::Item::Binding(binding)) = alone.items.first() else {
            return Err(TestCaseError::fail(format!("`{text}` is no value")));
        };
        // A comparison of a comparison is refused wherever it stands.
        if problems > 0 {
            return Ok(());
        }
        let meant = shape(&binding.value);
        for slot in SLOTS {
            let (tree, problems) = file(&slot.replace('@', &text));
            if problems > 0 || shape(&tree).matches(&meant).count() < slot.matches('@').count() {
                return Err(TestCaseError::fail(format!("`{text}` is read otherwise in\n{slot}")));
            }
        }
        Ok(())
    };
    runner.run(&expressions(), alike).map_err(|failure| failure.to_string())
}
