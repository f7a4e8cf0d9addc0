//! The requests of a type: path, query, headers, body, paging and where the answer stands.

use http::Method;
use lf_module::{Record, Value};
use toml::de::DeValue;

use super::{
    headers, pointer,
    scope::Scope,
    table::{self, Node, Table},
};
use crate::{
    model::{Body, List, One, Paging, Request},
    pointer::Pointer,
    problem::Problems,
};

/// Reads the common part of a request; the first of `methods` is the default.
pub(super) fn request(
    table: &mut Table<'_>,
    methods: &[Method],
    scope: &Scope<'_>,
    problems: &mut Problems,
) -> Option<Request> {
    let method = method(table, methods, problems);
    let path = table.required_text("path", problems).and_then(|text| {
        if !text.value.starts_with('/') || text.value.contains(['?', '#']) {
            let help = "parameters go into `query`";
            problems.error_with(&text.span, "a `path` starts with `/` and has no `?` or `#`", help);
            return None;
        }
        scope.template(&text, problems)
    });
    let what = format!("`query` of {}", table.name);
    let mut query = Vec::new();
    for (name, node) in table.entries("query", problems) {
        let text = scalar_text(node, &what, problems);
        if let Some(template) = text.and_then(|text| scope.template(&text, problems)) {
            query.push((name.value.to_owned(), template));
        }
    }
    let headers = headers(table, scope, problems);
    let body = table.node("body").map(|node| {
        if method == Method::GET {
            problems.error_with(&node.span(), "a `GET` has no body", "set `method`");
        }
        body(node, &scope.in_body(), problems)
    });
    Some(Request { method, path: path?, query, headers, body })
}

/// A request that answers many records.
pub(super) fn list(table: &mut Table<'_>, scope: &Scope<'_>, problems: &mut Problems) -> Option<List> {
    let request = request(table, &[Method::GET, Method::POST], scope, problems);
    let records = pointer(table.text("records", problems), problems).unwrap_or_default();
    let paging = paging(table, problems);
    Some(List { request: request?, records, paging: paging? })
}

/// A request that answers one record.
pub(super) fn one(
    table: &mut Table<'_>,
    methods: &[Method],
    scope: &Scope<'_>,
    record: &Pointer,
    problems: &mut Problems,
) -> Option<One> {
    let request = request(table, methods, scope, problems);
    let record = pointer(table.text("record", problems), problems).unwrap_or_else(|| record.clone());
    Some(One { request: request?, record })
}

fn method(table: &mut Table<'_>, methods: &[Method], problems: &mut Problems) -> Method {
    let default = methods.first().cloned().unwrap_or_default();
    let Some(text) = table.text("method", problems) else { return default };
    let found = methods.iter().find(|method| method.as_str() == text.value);
    if found.is_none() {
        let message = format!("{} cannot be a `{}`", table.name, text.value);
        problems.unknown(&text.span, message, &text.value, methods.iter().map(Method::as_str));
    }
    found.cloned().unwrap_or(default)
}

/// A query parameter may be written as a number or a boolean too.
fn scalar_text(node: &Node<'_>, what: &str, problems: &mut Problems) -> Option<table::At<String>> {
    let value = match node.get_ref() {
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => table::json(node, problems).to_string(),
        DeValue::String(text) => text.as_ref().to_owned(),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            table::wrong(node, what, "text", problems);
            return None;
        }
    };
    Some(table::At { value, span: node.span() })
}

fn body(node: &Node<'_>, scope: &Scope<'_>, problems: &mut Problems) -> Body {
    match node.get_ref() {
        DeValue::String(_) => {
            let template = table::text(node, "a body", problems).and_then(|text| scope.template(&text, problems));
            template.map_or(Body::Fixed(Value::Absent), Body::Text)
        }
        DeValue::Array(items) => Body::List(items.iter().map(|item| body(item, scope, problems)).collect()),
        DeValue::Table(map) => {
            let entries = Table::new("body", node.span(), map).all();
            Body::Record(
                entries.into_iter().map(|(name, node)| (name.value.into(), body(node, scope, problems))).collect(),
            )
        }
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
            let text = table::json(node, problems).to_string();
            Body::Fixed(lf_module::json::read(text.as_bytes()).unwrap_or_else(|_| Value::record(Record::new())))
        }
    }
}

fn paging(table: &mut Table<'_>, problems: &mut Problems) -> Option<Paging> {
    let Some(mut table) = table.table("paging", problems) else { return Some(Paging::Single) };
    let span = table.span.clone();
    let cursor = table.text("cursor", problems);
    let next = table.text("next", problems);
    let has_next = next.is_some();
    let next = pointer(next, problems);
    let more = pointer(table.text("more", problems), problems);
    let page = table.text("page", problems);
    let first = table.whole("first", problems).map(|first| first.value);
    let step = table.whole("step", problems);
    let size = table.text("size", problems).map(|size| size.value);
    let of = table.whole("of", problems);
    let link = table.text("link", problems);
    if !table.finish(problems) {
        return None;
    }
    for number in [&step, &of].into_iter().flatten() {
        if number.value == 0 {
            problems.error(&number.span, "this is at least 1");
        }
    }
    let (step, of) = (step.map(|step| step.value), of.map(|of| of.value));
    match (cursor, page, link) {
        (Some(parameter), None, None) => {
            if !has_next {
                problems.error(&span, "paging by `cursor` needs `next`, the JSON Pointer to the next cursor");
            }
            Some(Paging::Cursor { parameter: parameter.value, next: next?, more })
        }
        (None, Some(parameter), None) => {
            if size.is_some() != of.is_some() {
                problems.error(&span, "`size` (the parameter) and `of` (its value) go together");
            }
            let (first, step) = (first.unwrap_or(1), step.unwrap_or(1));
            Some(Paging::Number { parameter: parameter.value, first, step, size, of })
        }
        (None, None, Some(rel)) => {
            if rel.value != "next" {
                problems.error(&rel.span, "`link` is `\"next\"`");
            }
            Some(Paging::Link)
        }
        _ => {
            problems.error(&span, "`paging` is one of `cursor` with `next`, `page`, `link = \"next\"`");
            None
        }
    }
}
