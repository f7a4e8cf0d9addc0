//! `[type.NAME]`: its requests and edges. Schema, names, listening and shape have files of their own.

use http::Method;
use lf_module::{
    TypeShape,
    schema::{Count, Edge},
};
use serde_json::{Map, Value as Json};
use smol_str::SmolStr;

use super::{
    follow, header_name, names, request, schema,
    scope::Scope,
    shape,
    table::{self, At, Node, Table},
};
use crate::{
    model::{Create, Lands, Request, Type, Update, Walk},
    pointer::Pointer,
    problem::Problems,
};

/// Reads all types. Edges are checked when all are known.
pub(super) fn read_all(
    root: &mut Table<'_>,
    definitions: &Map<String, Json>,
    settings: &[&str],
    problems: &mut Problems,
) -> Vec<Type> {
    let entries = root.entries("type", problems);
    if entries.is_empty() && !problems.has_errors() {
        problems.error_with(&root.span, "the file has no type", "write a `[type.NAME]`");
    }
    let names: Vec<&str> = entries.iter().map(|(name, _)| name.value).collect();
    let mut types: Vec<Type> = entries
        .iter()
        .filter_map(|(name, node)| Kind { definitions, settings, names: &names }.read(name, node, problems))
        .collect();
    let edges = types.iter().flat_map(|ty| &ty.edges).filter(|walk| walk.create.is_some());
    let under: Vec<SmolStr> = edges.map(|walk| walk.target.clone()).collect();
    for ty in &mut types {
        let created = ty.create.is_some() || under.contains(&ty.name);
        shape::complete(ty, created);
    }
    types
}

struct Kind<'a> {
    definitions: &'a Map<String, Json>,
    settings: &'a [&'a str],
    names: &'a [&'a str],
}

impl Kind<'_> {
    fn read(&self, name: &At<&str>, node: &Node<'_>, problems: &mut Problems) -> Option<Type> {
        let mut table = table::table(node, &format!("`[type.{}]`", name.value), problems)?;
        table.span = name.span.clone();
        let doc = table.text("doc", problems).map(|doc| doc.value);
        // Without a schema every name below would be reported too.
        let schema = schema::read(&mut table, self.definitions, problems)?;
        let fields: Vec<&str> = schema.properties.iter().map(|property| property.name.as_str()).collect();
        let writable: Vec<&str> = schema.properties.iter().filter(|p| !p.read_only).map(|p| p.name.as_str()).collect();
        let settings = Scope::settings(self.settings);
        let by_key = settings.clone().with_key();

        let key = table.text("key", problems).and_then(|key| names::key(&schema, &key, problems));
        let version =
            table.text("version", problems).and_then(|at| names::place(&schema, &at, problems)).map(|(at, _)| at);
        let record = super::pointer(table.text("record", problems), problems).unwrap_or_default();

        let (list, ordered) = match table.table("list", problems) {
            None => (None, false),
            Some(mut inner) => {
                let list = request::list(&mut inner, &settings.clone().with_fields(&fields), problems);
                let ordered = inner.flag("ordered", problems).unwrap_or_default();
                inner.finish(problems);
                (list, ordered)
            }
        };
        let needs_key = |at: &Table<'_>, problems: &mut Problems| {
            if key.is_none() && !problems.has_errors() {
                let help = "write `key = \"…\"`, the field that identifies a record";
                problems.error_with(&at.span, format!("{} needs the type to have a `key`", at.name), help);
            }
        };
        let get = table.table("get", problems).and_then(|mut inner| {
            needs_key(&inner, problems);
            let one = request::one(&mut inner, &[Method::GET, Method::POST], &by_key, &record, problems);
            inner.finish(problems);
            one
        });
        let create = table.table("create", problems).and_then(|mut inner| {
            let scope = settings.clone().with_fields(&writable);
            let one = request::one(&mut inner, &[Method::POST, Method::PUT], &scope, &record, problems);
            let idempotency = inner.text("idempotency_header", problems).and_then(|name| header_name(&name, problems));
            inner.finish(problems);
            Some(Create { one: one?, idempotency })
        });
        let update = table.table("update", problems).and_then(|mut inner| {
            needs_key(&inner, problems);
            let scope = by_key.clone().with_fields(&writable);
            let methods = [Method::PATCH, Method::PUT, Method::POST];
            let one = request::one(&mut inner, &methods, &scope, &record, problems);
            let sends = inner.text("sends", problems);
            let whole = match sends.as_ref().map(|sends| sends.value.as_str()) {
                Some("all") => true,
                Some("changes") => false,
                None => one.as_ref().is_some_and(|one| one.request.method == Method::PUT),
                Some(_) => {
                    let span = sends.as_ref().map_or(0..0, |sends| sends.span.clone());
                    problems.error(&span, "`sends` is `\"changes\"` or `\"all\"`");
                    false
                }
            };
            if whole && get.is_none() && !problems.has_errors() {
                let help = "declare `get`, or write `sends = \"changes\"` if the system keeps what is not sent";
                problems.error_with(
                    &inner.span,
                    format!("{} sends the whole record, so it needs `get`", inner.name),
                    help,
                );
            }
            inner.finish(problems);
            Some(Update { one: one?, whole })
        });
        let delete = table.table("delete", problems).and_then(|mut inner| {
            needs_key(&inner, problems);
            let request = request::request(&mut inner, &[Method::DELETE, Method::POST], &by_key, problems);
            inner.finish(problems);
            request
        });
        let pins = list.as_ref().map(|list| names::pins(list, &fields)).unwrap_or_default();
        let find_by = names::find_by(&mut table, &schema, list.as_ref(), &pins, problems);
        let follow = table.table("listen", problems).and_then(|inner| {
            needs_key(&inner, problems);
            if list.is_none() && !problems.has_errors() {
                problems.error_with(&inner.span, format!("{} needs `list`", inner.name), "declare `list`");
            }
            follow::read(inner, &schema, problems)
        });
        let (follow, every) = follow.map_or((None, None), |(follow, every)| (Some(follow), every));
        let mut edges = Vec::new();
        let mut edge_shapes = Vec::new();
        for (name, node) in table.entries("edge", problems) {
            let what = table.inner_name(&format!("edge.{}", name.value));
            let Some(mut inner) = table::table(node, &what, problems) else { continue };
            needs_key(&inner, problems);
            if let Some((walk, shape)) = self.edge(&name, &mut inner, &by_key, &record, problems) {
                edges.push(walk);
                edge_shapes.push(shape);
            }
            inner.finish(problems);
        }
        let held = schema.properties.iter().find(|property| property.holds_file() && !property.write_only);
        if let Some(file) = held.filter(|_| get.is_none() && !problems.has_errors()) {
            let message =
                format!("`{}` is a file, whose record is read again for its bytes: that needs `get`", file.name);
            problems.error_with(&table.span, message, "declare `get`, or mark the property `writeOnly`");
        }
        table.finish(problems);

        Some(Type {
            name: name.value.into(),
            shape: TypeShape { doc, ordered, pins, edges: edge_shapes, ..TypeShape::default() },
            schema,
            key,
            version,
            list,
            get,
            create,
            update,
            delete,
            follow,
            every,
            find_by,
            edges,
        })
    }

    fn edge(
        &self,
        name: &At<&str>,
        table: &mut Table<'_>,
        scope: &Scope<'_>,
        record: &Pointer,
        problems: &mut Problems,
    ) -> Option<(Walk, Edge)> {
        let target = table.required_text("target", problems);
        if let Some(target) = target.as_ref().filter(|target| !self.names.contains(&target.value.as_str())) {
            let message = format!("there is no type `{}`", target.value);
            problems.unknown(&target.span, message, &target.value, self.names.iter().copied());
        }
        let doc = table.text("doc", problems).map(|doc| doc.value);
        let count = match table.text("count", problems) {
            None => Count::Many,
            Some(count) => match count.value.as_str() {
                "many" => Count::Many,
                "optional" => Count::Optional,
                "one" => Count::One,
                other => {
                    let known = ["many", "optional", "one"].into_iter();
                    problems.unknown(&count.span, format!("an edge cannot land on `{other}`"), other, known);
                    Count::Many
                }
            },
        };
        let ordered = table.flag("ordered", problems).unwrap_or_default();
        let lands = if count == Count::Many {
            request::list(table, scope, problems).map(Lands::OnMany)
        } else {
            let one = request::one(table, &[Method::GET, Method::POST], scope, record, problems);
            one.map(|one| Lands::OnOne { one, optional: count == Count::Optional })
        };
        let create = table.table("create", problems).and_then(|mut inner| {
            let one = request::one(&mut inner, &[Method::POST, Method::PUT], scope, record, problems);
            let idempotency = inner.text("idempotency_header", problems).and_then(|name| header_name(&name, problems));
            inner.finish(problems);
            Some(Create { one: one?, idempotency })
        });
        let link = tie(table, scope, problems);
        let target: SmolStr = target?.value.into();
        let shape = Edge {
            ordered,
            doc,
            creatable: create.is_some(),
            linkable: link.is_some(),
            ..Edge::to(name.value, target.clone(), count)
        };
        Some((Walk { name: name.value.into(), target, lands: lands?, create, link }, shape))
    }
}

/// `link` and `unlink` of an edge: one alone would make what the other cannot undo.
fn tie(table: &mut Table<'_>, scope: &Scope<'_>, problems: &mut Problems) -> Option<(Request, Request)> {
    let scope = scope.clone().with_to();
    let mut read = |name: &'static str, methods: &[Method], problems: &mut Problems| {
        let mut inner = table.table(name, problems)?;
        let request = request::request(&mut inner, methods, &scope, problems);
        let span = inner.span.clone();
        inner.finish(problems);
        Some((request, span))
    };
    let link = read("link", &[Method::PUT, Method::POST], problems);
    let unlink = read("unlink", &[Method::DELETE, Method::POST], problems);
    match (link, unlink) {
        (Some((link, _)), Some((unlink, _))) => Some((link?, unlink?)),
        (Some((_, span)), None) | (None, Some((_, span))) => {
            problems.error_with(&span, "`link` and `unlink` go together", "declare both");
            None
        }
        (None, None) => None,
    }
}
