//! The graph as JSON with stable keys. A function is named by its place too, since two files may use one name.

use serde_json::{Value, json};

use super::super::graph::{At, Effect, Function, Graph, Listen, Loop};

/// The whole graph.
#[must_use]
pub fn json(graph: &Graph) -> Value {
    let connections = graph.connections.iter().map(|one| json!({ "name": one.name, "system": one.system }));
    json!({
        "connections": connections.collect::<Vec<_>>(),
        "listens": graph.listens.iter().map(|one| listen(graph, one)).collect::<Vec<_>>(),
        "functions": graph.functions.iter().map(|one| function(graph, one)).collect::<Vec<_>>(),
        "loops": graph.loops.iter().map(|one| circle(graph, one)).collect::<Vec<_>>(),
    })
}

fn at(at: &At) -> Value {
    json!({ "file": at.file, "line": at.line })
}

fn on(graph: &Graph, index: usize) -> Value {
    let Some(ty) = graph.types.get(index) else { return Value::Null };
    let connection = graph.connections.get(ty.connection).map(|connection| connection.name.as_str());
    json!({ "connection": connection, "type": ty.name })
}

fn named(graph: &Graph, index: usize) -> Value {
    let Some(function) = graph.functions.get(index) else { return Value::Null };
    json!({ "name": function.name, "at": at(&function.at) })
}

fn listen(graph: &Graph, listen: &Listen) -> Value {
    json!({
        "name": listen.name,
        "at": at(&listen.at),
        "on": on(graph, listen.on),
        "kinds": listen.kinds,
        "where": listen.filter,
        "settings": listen.settings,
        "fires": named(graph, listen.fires),
    })
}

fn function(graph: &Graph, function: &Function) -> Value {
    let effect = |effect: &Effect| {
        json!({
            "does": effect.verb.word(),
            "on": on(graph, effect.on),
            "fields": effect.fields,
            "by": effect.by,
        })
    };
    json!({
        "name": function.name,
        "signature": function.signature,
        "at": at(&function.at),
        "effects": function.effects.iter().map(effect).collect::<Vec<_>>(),
        "waits": (!function.waits.is_empty()).then(|| graph.waits_text(function)),
        "awaits": function.awaits,
        "doc": function.doc,
        "calls": function.calls.iter().map(|called| named(graph, *called)).collect::<Vec<_>>(),
    })
}

fn circle(graph: &Graph, circle: &Loop) -> Value {
    let listens = circle.listens.iter().filter_map(|index| graph.listens.get(*index));
    json!({
        "listens": listens.map(|listen| listen.name.as_str()).collect::<Vec<_>>(),
        "through": circle.types.iter().map(|index| on(graph, *index)).collect::<Vec<_>>(),
        "ended_by": if circle.ends { "echo" } else { "depth" },
        "text": graph.loop_text(circle),
    })
}
