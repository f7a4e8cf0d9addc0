//! The graph as a Mermaid flowchart, for a page that draws those.

use std::fmt::Write as _;

use super::super::graph::{Effect, Function, Graph, Listen};

/// The whole graph.
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    let mut line = |depth: usize, text: String| {
        let _never_fails = writeln!(out, "{:1$}{text}", "", depth * 2);
    };
    for (index, ty) in graph.types.iter().enumerate() {
        if graph.listens.iter().any(|listen| listen.on == index) {
            let connection = graph.connections.get(ty.connection).map_or("?", |connection| connection.name.as_str());
            line(1, format!("source{index}([\"{}<br/>{}\"])", escaped(connection), escaped(&ty.name)));
        }
    }
    for (index, one) in graph.listens.iter().enumerate() {
        line(1, format!("listen{index}[/\"{}\"/]", listen(one)));
        line(1, format!("source{} --> listen{index}", one.on));
        line(1, format!("listen{index} ==>|fires| function{}", one.fires));
    }
    for (index, function) in graph.functions.iter().enumerate() {
        line(1, format!("function{index}[\"<b>{}</b><br/>{}\"]", escaped(&function.name), place(function)));
        for called in &function.calls {
            line(1, format!("function{index} -->|calls| function{called}"));
        }
    }
    for (place, connection) in graph.connections.iter().enumerate() {
        let used = |index: usize| {
            graph.functions.iter().flat_map(|function| &function.effects).any(|effect| effect.on == index)
        };
        let types: Vec<_> =
            graph.types.iter().enumerate().filter(|(index, ty)| ty.connection == place && used(*index)).collect();
        if types.is_empty() {
            continue;
        }
        line(
            1,
            format!("subgraph system{place}[\"{}<br/>{}\"]", escaped(&connection.name), escaped(&connection.system)),
        );
        for (index, ty) in types {
            line(2, format!("type{index}[(\"{}\")]", escaped(&ty.name)));
        }
        line(1, "end".to_owned());
    }
    for (index, function) in graph.functions.iter().enumerate() {
        for effect in &function.effects {
            let arrow = if effect.verb.changes() { "-->" } else { "-.->" };
            line(1, format!("function{index} {arrow}|\"{}\"| type{}", effect_text(effect), effect.on));
        }
    }
    for circle in &graph.loops {
        let listens = circle.listens.iter().map(|index| format!("listen{index}"));
        line(1, format!("class {} circle", listens.collect::<Vec<_>>().join(",")));
        line(1, format!("%% {}", graph.loop_text(circle).replace(['\n', '\r'], " ")));
    }
    if !graph.loops.is_empty() {
        line(1, "classDef circle stroke:#bc4c00,stroke-width:2px".to_owned());
    }
    out
}

fn listen(listen: &Listen) -> String {
    let mut text = format!("{}<br/>{}", listen.kinds.join(", "), escaped(&listen.settings.join(", ")));
    if let Some(filter) = &listen.filter {
        let _never_fails = write!(text, "<br/>where {}", escaped(filter));
    }
    text
}

fn place(function: &Function) -> String {
    escaped(&format!("{}:{}", function.at.file, function.at.line))
}

fn effect_text(effect: &Effect) -> String {
    let mut text = effect.verb.word().to_owned();
    if !effect.fields.is_empty() {
        let _never_fails = write!(text, " {}", escaped(&effect.fields.join(", ")));
    }
    if !effect.by.is_empty() {
        let _never_fails = write!(text, " by {}", escaped(&effect.by.join(", ")));
    }
    text
}

/// What Mermaid would read as its own signs, as entities.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '#' => out.push_str("#35;"),
            '"' => out.push_str("#quot;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            '|' => out.push_str("#124;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
