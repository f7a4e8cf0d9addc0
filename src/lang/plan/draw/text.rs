//! The graph as lines of text.

use std::fmt::Write as _;

use super::super::graph::{Effect, Function, Graph, Listen};

/// A place stands at this column, if what is before it is shorter.
const PLACE: usize = 64;

/// The whole graph.
#[must_use]
pub fn text(graph: &Graph) -> String {
    let mut out = String::new();
    section(&mut out, "listens", graph.listens.iter().map(|one| listen(graph, one)));
    section(&mut out, "functions", graph.functions.iter().map(|one| function(graph, one)));
    let loops = graph.loops.iter().map(|circle| format!("  {}\n", graph.loop_text(circle)));
    section(&mut out, "loops between movements", loops);
    let wide = graph.connections.iter().map(|connection| connection.name.chars().count()).max().unwrap_or(0);
    let systems = graph.connections.iter();
    section(&mut out, "systems", systems.map(|one| format!("  {:wide$}  {}\n", one.name, one.system)));
    out
}

fn section(out: &mut String, title: &str, parts: impl Iterator<Item = String>) {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(title);
    out.push('\n');
    for part in parts {
        out.push_str(&part);
    }
}

fn listen(graph: &Graph, listen: &Listen) -> String {
    let mut out = String::new();
    placed(&mut out, &listen.name, &listen.at.file, listen.at.line);
    let on = graph.types.get(listen.on).map_or("?", |ty| ty.path.as_str());
    let fires = graph.functions.get(listen.fires).map_or("?", |function| function.name.as_str());
    let kinds = listen.kinds.join(", ");
    line(&mut out, format_args!("{on} {kinds}, {}; fires {fires}", listen.settings.join(", ")));
    if let Some(filter) = &listen.filter {
        line(&mut out, format_args!("where {filter}"));
    }
    out
}

fn function(graph: &Graph, function: &Function) -> String {
    let mut out = String::new();
    placed(&mut out, &format!("{}{}", function.name, function.signature), &function.at.file, function.at.line);
    for said in &function.doc {
        line(&mut out, format_args!("/// {said}"));
    }
    let paths: Vec<_> = function.effects.iter().map(|effect| path(graph, effect)).collect();
    let wide = paths.iter().map(|path| path.chars().count()).max().unwrap_or(0);
    for (effect, path) in function.effects.iter().zip(paths) {
        let mut what = effect.fields.join(", ");
        if !effect.by.is_empty() {
            let gap = if what.is_empty() { "" } else { " " };
            let _never_fails = write!(what, "{gap}by {}", effect.by.join(", "));
        }
        line(&mut out, format_args!("{:7}  {path:wide$}  {what}", effect.verb.word()));
    }
    for called in function.calls.iter().filter_map(|called| graph.functions.get(*called)) {
        line(&mut out, format_args!("{:7}  {}", "calls", called.name));
    }
    for wait in &function.awaits {
        line(&mut out, format_args!("{:7}  {wait}", "waits"));
    }
    if function.effects.is_empty() && function.calls.is_empty() && function.waits.is_empty() {
        line(&mut out, format_args!("touches no system"));
    }
    out
}

fn path<'g>(graph: &'g Graph, effect: &Effect) -> &'g str {
    graph.types.get(effect.on).map_or("?", |ty| ty.path.as_str())
}

fn placed(out: &mut String, what: &str, file: &str, number: u32) {
    let _never_fails = writeln!(out, "  {what:PLACE$}  {file}:{number}");
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let written = format!("    {text}");
    out.push_str(written.trim_end());
    out.push('\n');
}
