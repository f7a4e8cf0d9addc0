//! Every built-in, by a table in text.

use lf_module::{Value, json};

use super::build::*;
use crate::{check::typed::Builtin, types::Ty};

#[test]
fn built_ins_do_as_the_table_says() {
    let table = include_str!("builtins.txt");
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, rest) = line.split_once(' ').expect("a name and arguments");
        let (args, expected) = rest.split_once("] ").expect("arguments end in `] `");
        let builtin: Builtin = serde_json::from_str(&format!("\"{name}\"")).expect("a built-in");
        let Value::List(args) = json::decode(&format!("{args}]")).expect("arguments") else { panic!("a list: {line}") };
        let found = match value_of(super::build::builtin(builtin, args.iter().cloned().map(lit).collect())) {
            Ok(value) => format!("= {}", json::encode(&value)),
            Err(failure) => format!("! {}", failure.message),
        };
        if found != expected {
            wrong.push(format!("{line}\n    found {found}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_built_in() {
    let table = include_str!("builtins.txt");
    let every = [
        "trim", "lower", "upper", "length", "split", "join", "replace", "slice", "slug", "starts", "ends", "match",
        "text", "lines", "abs", "floor", "ceil", "round", "number", "now", "today", "date", "datetime", "format",
        "at_time", "duration", "count", "sum", "avg", "min", "max", "first", "last", "only", "at", "sort", "sort_by",
        "group_by", "distinct", "flat", "range", "coalesce", "keys", "json", "parse", "print", "hash", "url", "encode",
    ];
    for name in every {
        assert!(table.lines().any(|line| line.split(' ').next() == Some(name)), "no line for `{name}`");
    }
}

#[test]
fn a_text_that_grows_past_the_limit_fails() {
    let mut grown = lit("x".repeat(1024));
    for _ in 0..14 {
        grown = text(vec![grown.clone(), grown]);
    }
    let failure = value_of(grown).unwrap_err();
    assert_eq!(failure.message, "a value can be at most 8 MiB large");
}

#[test]
fn a_value_that_is_small_by_sharing_does_not_leave_the_machine() {
    let mut body = vec![bind(0, list(vec![lit("x".repeat(1000))]))];
    for id in 1..30 {
        let before = || local(id - 1, Ty::Json);
        body.push(bind(id, list(vec![before(), before()])));
    }
    body.push(create(None, on(CRM, "Company"), vec![entry("Data", local(29, Ty::Json))]));
    let plan = compile(&movement(vec![function("f", &[], 30, body)]));
    let (calls, finish) = run_with(&plan, Vec::new(), |_, _| panic!("nothing is sent"));
    assert!(calls.is_empty());
    let crate::run::Finish::Failed(failure) = finish else { panic!("it fails") };
    assert_eq!(failure.message, "a value can be at most 8 MiB large");
}
