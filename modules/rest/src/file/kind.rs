//! `[type.NAME]`: schema, key, requests, and the shape that the host is told.

use http::Method;
use lf_module::{
    Field, FieldType, Repeat, TypeShape,
    schema::{Count, Edge, How, Listening, Pin},
};
use serde_json::{Map, Value as Json};
use smol_str::SmolStr;

use super::{
    header_name, references, request,
    scope::Scope,
    table::{self, At, Node, Table},
};
use crate::{
    model::{Create, Follow, Grows, Lands, List, Request, Type, Update, Walk},
    pointer::Pointer,
    problem::Problems,
    schema::{Lead, Schema},
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
    entries
        .iter()
        .filter_map(|(name, node)| Kind { definitions, settings, names: &names }.read(name, node, problems))
        .collect()
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
        let schema = self.schema(&mut table, problems)?;
        let fields: Vec<&str> = schema.properties.iter().map(|property| property.name.as_str()).collect();
        let writable: Vec<&str> = schema.properties.iter().filter(|p| !p.read_only).map(|p| p.name.as_str()).collect();
        let settings = Scope::settings(self.settings);
        let by_key = settings.clone().with_key();

        let key = table.text("key", problems).and_then(|key| key_field(&schema, &key, problems));
        let version = table.text("version", problems).and_then(|at| place(&schema, &at, problems)).map(|(at, _)| at);
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
        let pins = list.as_ref().map(|list| pins(list, &fields)).unwrap_or_default();
        let find_by = find_by(&mut table, &schema, list.as_ref(), &pins, problems);
        let follow = table.table("listen", problems).and_then(|inner| {
            needs_key(&inner, problems);
            if list.is_none() && !problems.has_errors() {
                problems.error_with(&inner.span, format!("{} needs `list`", inner.name), "declare `list`");
            }
            follow(inner, &schema, problems)
        });
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
        table.finish(problems);

        let listenable = follow.as_ref().map(|follow| Listening {
            how: How::Poll,
            deletions: matches!(follow, Follow::List),
            pins: pins.clone(),
        });
        let updatable = update.is_some();
        let writes = create.is_some() || updatable;
        let mut lookups: Vec<Vec<SmolStr>> =
            find_by.iter().map(|set| set.iter().map(|(field, _)| field.clone()).collect()).collect();
        if let (Some(key), Some(_)) = (&key, &get)
            && !lookups.contains(&vec![key.clone()])
        {
            lookups.push(vec![key.clone()]);
        }
        let shape = TypeShape {
            name: name.value.into(),
            doc,
            fields: schema
                .properties
                .iter()
                .map(|property| Field {
                    name: property.name.clone(),
                    ty: property.ty.clone(),
                    doc: property.doc.clone(),
                    readable: !property.write_only,
                    writable: writes && !property.read_only,
                    required: create.is_some() && property.required && !property.read_only,
                    optional: !property.required || property.nullable,
                    doubtful: false,
                    clearable: updatable && property.nullable && !property.read_only,
                })
                .collect(),
            key: key.clone(),
            count: Count::Many,
            ordered,
            pins,
            edges: edge_shapes,
            readable: list.is_some(),
            writable: create.is_some(),
            updatable,
            deletable: delete.is_some(),
            listenable,
            find_by: lookups,
            unusable: None,
            create_repeat: match &create {
                Some(Create { idempotency: Some(_), .. }) => Repeat::ByKey,
                Some(_) | None => Repeat::Never,
            },
        };
        Some(Type {
            name: name.value.into(),
            shape,
            schema,
            key,
            version,
            list,
            get,
            create,
            update,
            delete,
            follow,
            find_by,
            edges,
        })
    }

    fn schema(&self, table: &mut Table<'_>, problems: &mut Problems) -> Option<Schema> {
        let Some(node) = table.node("schema") else {
            let help = "for example `schema = { properties = { id = { type = \"integer\" } } }`";
            problems.error_with(&table.span, format!("{} needs a `schema`", table.name), help);
            return None;
        };
        let mut inner = table::table(node, &format!("`schema` of {}", table.name), problems)?;
        let before = problems.has_errors();
        let mut json = table::json(node, problems);
        if problems.has_errors() && !before {
            return None;
        }
        if let Json::Object(root) = &mut json {
            let own = root.entry("$defs").or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(own) = own {
                for (name, schema) in self.definitions {
                    own.entry(name).or_insert_with(|| schema.clone());
                }
            }
        }
        if !references::check(node, &json, problems) {
            return None;
        }
        let schema = match Schema::compile(json) {
            Ok(schema) => schema,
            Err(faulty) => {
                let node = references::at(node, &faulty.at);
                match node.get_ref().as_str().filter(|_| faulty.at.tokens().last().is_some_and(|key| key == "type")) {
                    Some(found) => {
                        let message = format!("JSON Schema has no type `{found}`");
                        problems.unknown(&node.span(), message, found, references::TYPES.into_iter());
                    }
                    None => problems.error(&node.span(), format!("this is not a JSON Schema: {}", faulty.why)),
                }
                return None;
            }
        };
        if schema.properties.is_empty() {
            problems.error_with(
                &node.span(),
                "a type's schema describes an object: it needs `properties`",
                "add `properties`",
            );
            return None;
        }
        if let Some(required) = inner.node("required").and_then(|node| node.get_ref().as_array()) {
            for item in required.iter() {
                let Some(name) = item.get_ref().as_str() else { continue };
                if schema.property(name).is_none() {
                    let known = schema.properties.iter().map(|property| property.name.as_str());
                    problems.unknown(
                        &item.span(),
                        format!("`required` names `{name}`, which is no property"),
                        name,
                        known,
                    );
                }
            }
        }
        Some(schema)
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
        let target: SmolStr = target?.value.into();
        let walk = Walk { name: name.value.into(), target: target.clone(), lands: lands? };
        Some((walk, Edge { name: name.value.into(), target, count, ordered, doc }))
    }
}

/// The fields that a list's request places: a movement has to fix them.
fn pins(list: &List, fields: &[&str]) -> Vec<Pin> {
    let Request { method: _, path, query, headers, body } = &list.request;
    let placed = path
        .names()
        .chain(query.iter().flat_map(|(_, template)| template.names()))
        .chain(headers.iter().flat_map(|(_, template)| template.names()))
        .map(str::to_owned)
        .chain(body.iter().flat_map(crate::model::Body::names));
    let mut pins: Vec<Pin> = Vec::new();
    for name in placed {
        if fields.contains(&name.as_str()) && !pins.iter().any(|pin| pin.field == name) {
            pins.push(Pin { field: name.into(), required: true });
        }
    }
    pins
}

fn key_field(schema: &Schema, key: &At<String>, problems: &mut Problems) -> Option<SmolStr> {
    let Some(property) = schema.property(&key.value) else {
        let known = schema.properties.iter().map(|property| property.name.as_str());
        problems.unknown(&key.span, format!("the key `{}` is no property of the schema", key.value), &key.value, known);
        return None;
    };
    match property.ty {
        FieldType::Text | FieldType::Number | FieldType::Choice(_) => {}
        FieldType::Boolean
        | FieldType::Date
        | FieldType::Datetime
        | FieldType::Duration
        | FieldType::Json
        | FieldType::List(_) => {
            problems.error(&key.span, format!("the key `{}` has to be text or a number", key.value));
        }
    }
    if !property.required || property.nullable {
        let help = format!("add `{}` to the schema's `required`", key.value);
        problems.error_with(&key.span, format!("the key `{}` may be missing", key.value), help);
    }
    Some(property.name.clone())
}

/// A field's name or a pointer into the record.
fn place(schema: &Schema, at: &At<String>, problems: &mut Problems) -> Option<(Pointer, Option<FieldType>)> {
    let pointer = if at.value.starts_with('/') { Pointer::parse(&at.value)? } else { Pointer::field(&at.value) };
    match schema.lead(&pointer) {
        Lead::Described(ty) => Some((pointer, Some(ty))),
        Lead::Open => Some((pointer, None)),
        Lead::Nowhere { token, known } => {
            let message = format!("`{}` leads nowhere: the schema has no `{token}` there", at.value);
            problems.unknown(&at.span, message, &token, known.iter().map(String::as_str));
            None
        }
    }
}

fn find_by(
    table: &mut Table<'_>,
    schema: &Schema,
    list: Option<&List>,
    pins: &[Pin],
    problems: &mut Problems,
) -> Vec<Vec<(SmolStr, String)>> {
    let Some(node) = table.node("find_by") else { return Vec::new() };
    let Some(sets) = node.get_ref().as_array() else {
        table::wrong(node, "`find_by`", "a list of tables", problems);
        return Vec::new();
    };
    if list.is_none() && !problems.has_errors() {
        problems.error_with(&node.span(), "`find_by` needs `list`, whose request it filters", "declare `list`");
    }
    let mut found = Vec::new();
    for set in sets.iter() {
        let Some(inner) = table::table(set, "a set of `find_by`", problems) else { continue };
        let mut fields = Vec::new();
        for (name, node) in inner.all() {
            if schema.property(name.value).is_none_or(|property| property.write_only) {
                let known = schema.properties.iter().map(|property| property.name.as_str());
                problems.unknown(
                    &name.span,
                    format!("`{}` is no field that can be found by", name.value),
                    name.value,
                    known,
                );
            }
            if let Some(parameter) = table::text(node, "a parameter of `find_by`", problems) {
                fields.push((name.value.into(), parameter.value));
            }
        }
        if fields.is_empty() {
            problems.error(&set.span(), "a set of `find_by` names at least one field");
        }
        if let Some(pin) = pins.iter().find(|pin| !fields.iter().any(|(name, _)| *name == pin.field)) {
            let help = format!("add `{}` to the set", pin.field);
            problems.error_with(
                &set.span(),
                format!("`list` places `{{{}}}`, which this set does not give", pin.field),
                help,
            );
        }
        found.push(fields);
    }
    found
}

fn follow(mut table: Table<'_>, schema: &Schema, problems: &mut Problems) -> Option<Follow> {
    let by = table.required_text("by", problems);
    if let Some(by) = by.as_ref().filter(|by| by.value == "webhook") {
        problems.error_with(&by.span, "listening by `webhook` is not built yet", "listen by `cursor` or by `list`");
        return None;
    }
    let field = table.text("field", problems);
    let query = table.text("query", problems);
    let overlap = table.whole("overlap", problems);
    let span = table.span.clone();
    if !table.finish(problems) {
        return None;
    }
    let by = by?;
    match by.value.as_str() {
        "list" => {
            let spans = [field.map(|at| at.span), query.map(|at| at.span), overlap.map(|at| at.span)];
            for span in spans.into_iter().flatten() {
                problems.warning(
                    &span,
                    "this has no effect where the whole list is compared",
                    "write `by = \"cursor\"`, or take it out",
                );
            }
            Some(Follow::List)
        }
        "cursor" => {
            if field.is_none() || query.is_none() {
                let help = "`field` only grows; `query` is the parameter that takes its last value";
                problems.error_with(&span, "listening by `cursor` needs `field` and `query`", help);
            }
            let field = field?;
            let (pointer, ty) = place(schema, &field, problems)?;
            let grows = match ty {
                Some(FieldType::Number) => Grows::Number,
                Some(FieldType::Date) => Grows::Date,
                Some(FieldType::Datetime) => Grows::Datetime,
                Some(
                    FieldType::Text
                    | FieldType::Boolean
                    | FieldType::Duration
                    | FieldType::Json
                    | FieldType::Choice(_)
                    | FieldType::List(_),
                )
                | None => {
                    let message = format!(
                        "`{}` has no order that is known: it has to be a number, date or date-time",
                        field.value
                    );
                    problems.error_with(&field.span, message, "give it a `format`, or listen by `list`");
                    return None;
                }
            };
            let overlap = overlap.map(|overlap| overlap.value).unwrap_or_default();
            Some(Follow::Cursor { field: pointer, grows, parameter: query?.value, overlap })
        }
        other => {
            problems.unknown(
                &by.span,
                format!("there is no listening by `{other}`"),
                other,
                ["cursor", "list"].into_iter(),
            );
            None
        }
    }
}
