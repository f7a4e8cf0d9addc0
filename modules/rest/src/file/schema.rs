//! `schema`: from TOML to a compiled JSON Schema, with a place for what is wrong in it.

use serde_json::{Map, Value as Json};
use toml::de::DeValue;

use super::table::{self, Node, Table};
use crate::{pointer::Pointer, problem::Problems, schema::Schema};

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// Keys below which nothing is a schema.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Reads and compiles the `schema` of a type.
pub(super) fn read(table: &mut Table<'_>, definitions: &Map<String, Json>, problems: &mut Problems) -> Option<Schema> {
    let Some(node) = table.node("schema") else {
        let help = "for example `schema = { properties = { id = { type = \"integer\" } } }`";
        problems.error_with(&table.span, format!("{} needs a `schema`", table.name), help);
        return None;
    };
    let mut inner = table::table(node, &format!("`schema` of {}", table.name), problems)?;
    let before = problems.count();
    let mut json = table::json(node, problems);
    if problems.count() > before {
        return None;
    }
    if let Json::Object(root) = &mut json {
        let own = root.entry("$defs").or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(own) = own {
            for (name, schema) in definitions {
                own.entry(name).or_insert_with(|| schema.clone());
            }
        }
    }
    if !check(node, &json, problems) {
        return None;
    }
    let schema = match Schema::compile(json) {
        Ok(schema) => schema,
        Err(faulty) => {
            let node = at(node, &faulty.at);
            match node.get_ref().as_str().filter(|_| faulty.at.tokens().last().is_some_and(|key| key == "type")) {
                Some(found) => {
                    let message = format!("JSON Schema has no type `{found}`");
                    problems.unknown(&node.span(), message, found, TYPES.into_iter());
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
                problems.unknown(&item.span(), format!("`required` names `{name}`, which is no property"), name, known);
            }
        }
    }
    Some(schema)
}

/// Reports references that lead nowhere or out of the file; `true` if there are none. `root` is the whole schema.
fn check(node: &Node<'_>, root: &Json, problems: &mut Problems) -> bool {
    match node.get_ref() {
        DeValue::Table(map) => {
            let mut clean = true;
            for (key, inner) in map {
                let key = key.get_ref().as_ref();
                match (key, inner.get_ref().as_str()) {
                    ("$ref", Some(target)) => clean &= leads(inner, target, root, problems),
                    _ if DATA.contains(&key) => {}
                    _ => clean &= check(inner, root, problems),
                }
            }
            clean
        }
        DeValue::Array(items) => {
            let mut clean = true;
            for item in items {
                clean &= check(item, root, problems);
            }
            clean
        }
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
            true
        }
    }
}

fn leads(node: &Node<'_>, target: &str, root: &Json, problems: &mut Problems) -> bool {
    let Some(pointer) = target.strip_prefix('#') else {
        let help = "write what it refers to as `[defs.NAME]` and `\"#/$defs/NAME\"` here";
        problems.error_with(&node.span(), format!("`{target}` is outside of this file and is not followed"), help);
        return false;
    };
    let found = root.pointer(pointer).is_some();
    if !found {
        let names = root.get("$defs").and_then(Json::as_object).into_iter().flat_map(|names| names.keys());
        let known: Vec<String> = names.map(|name| format!("#/$defs/{name}")).collect();
        let message = format!("`{target}` leads nowhere");
        problems.unknown(&node.span(), message, target, known.iter().map(String::as_str));
    }
    found
}

/// The node at `pointer` below `node`, or the deepest on the way to it.
fn at<'n, 'i>(node: &'n Node<'i>, pointer: &Pointer) -> &'n Node<'i> {
    let mut node = node;
    for token in pointer.tokens() {
        let next = match node.get_ref() {
            DeValue::Table(map) => map.get(token.as_str()),
            DeValue::Array(items) => token.parse().ok().and_then(|index: usize| items.get(index)),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => None,
        };
        let Some(next) = next else { break };
        node = next;
    }
    node
}
