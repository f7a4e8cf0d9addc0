//! A comparison of two programs as lines for a person, and as JSON with stable keys.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::plan::{
    compare::{Act, Changed, Comparison, Heard, Named, Otherwise, Reached},
    graph::At,
};

/// The whole comparison.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    section(&mut out, "newly listens", comparison.listens_new.iter().map(listen));
    section(&mut out, "no longer listens", comparison.listens_gone.iter().map(listen));
    section(&mut out, "listens otherwise", comparison.listens_changed.iter().map(changed));
    section(&mut out, "can newly write", comparison.writes_new.iter().map(reached));
    section(&mut out, "no longer writes", comparison.writes_gone.iter().map(reached));
    section(&mut out, "functions, new", comparison.functions_new.iter().map(named));
    section(&mut out, "functions, gone", comparison.functions_gone.iter().map(named));
    section(&mut out, "functions that do otherwise", comparison.functions_changed.iter().map(otherwise));
    section(&mut out, "loops between movements, new", comparison.loops_new.iter().map(|text| format!("  {text}\n")));
    section(&mut out, "loops between movements, gone", comparison.loops_gone.iter().map(|text| format!("  {text}\n")));
    if out.is_empty() {
        out.push_str("nothing changes in what the files can do\n");
    }
    out
}

fn section(out: &mut String, title: &str, parts: impl Iterator<Item = String>) {
    let mut empty = true;
    for part in parts {
        if std::mem::take(&mut empty) {
            let gap = if out.is_empty() { "" } else { "\n" };
            let _never_fails = writeln!(out, "{gap}{title}");
        }
        out.push_str(&part);
    }
}

fn placed(what: &str, at: &At) -> String {
    format!("  {what:64}  {}:{}\n", at.file, at.line)
}

fn listen(heard: &Heard) -> String {
    placed(&heard.name, &heard.at)
}

fn changed(changed: &Changed) -> String {
    format!("{}    is   {}\n    was  {}\n", placed(&changed.name, &changed.at), changed.is, changed.was)
}

fn act(act: &Act) -> String {
    let field = act.field.as_ref().map(|field| format!("  {field}")).unwrap_or_default();
    format!("{:7}  {}{field}", act.verb.word(), act.path)
}

fn reached(reached: &Reached) -> String {
    let by: Vec<_> = reached.by.iter().map(|name| format!("`{name}`")).collect();
    format!("  {:62}  by {}\n", act(&reached.act), by.join(", "))
}

fn named(named: &Named) -> String {
    placed(&named.name, &named.at)
}

fn otherwise(otherwise: &Otherwise) -> String {
    let mut out = placed(&otherwise.name, &otherwise.at);
    let more = otherwise.more.iter().map(|one| ('+', one));
    for (sign, one) in more.chain(otherwise.less.iter().map(|one| ('-', one))) {
        let _never_fails = writeln!(out, "    {sign} {}", act(one));
    }
    out
}

/// The whole comparison as one object.
#[must_use]
pub fn object(comparison: &Comparison) -> Value {
    let place = |at: &At| json!({ "file": at.file, "line": at.line });
    let act = |act: &Act| json!({ "does": act.verb.word(), "system": act.system, "type": act.ty, "field": act.field, "path": act.path });
    let listens = |listens: &[Heard]| -> Vec<Value> {
        let one =
            |heard: &Heard| json!({ "name": heard.name, "at": place(&heard.at), "on": heard.on, "fires": heard.fires });
        listens.iter().map(one).collect()
    };
    let reached = |all: &[Reached]| -> Vec<Value> {
        all.iter()
            .map(|reached| {
                let mut object = act(&reached.act);
                if let Some(object) = object.as_object_mut() {
                    object.insert("by".to_owned(), json!(reached.by));
                }
                object
            })
            .collect()
    };
    let names = |all: &[Named]| -> Vec<Value> {
        all.iter().map(|named| json!({ "name": named.name, "at": place(&named.at) })).collect()
    };
    let changed = comparison
        .listens_changed
        .iter()
        .map(|changed| json!({ "name": changed.name, "at": place(&changed.at), "was": changed.was, "is": changed.is }));
    let otherwise = comparison.functions_changed.iter().map(|one| {
        json!({
            "name": one.name,
            "at": place(&one.at),
            "more": one.more.iter().map(act).collect::<Vec<_>>(),
            "less": one.less.iter().map(act).collect::<Vec<_>>(),
        })
    });
    json!({
        "listens": {
            "new": listens(&comparison.listens_new),
            "gone": listens(&comparison.listens_gone),
            "changed": changed.collect::<Vec<_>>(),
        },
        "writes": { "new": reached(&comparison.writes_new), "gone": reached(&comparison.writes_gone) },
        "functions": {
            "new": names(&comparison.functions_new),
            "gone": names(&comparison.functions_gone),
            "changed": otherwise.collect::<Vec<_>>(),
        },
        "loops": { "new": comparison.loops_new, "gone": comparison.loops_gone },
    })
}
