//! Places within a schema as it stands in the file: where its references lead, and the node at a pointer.

use serde_json::Value as Json;
use toml::de::DeValue;

use super::table::Node;
use crate::{pointer::Pointer, problem::Problems};

/// The types of JSON Schema.
pub(super) const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// Keys below which nothing is a schema.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Reports references that lead nowhere or out of the file; `true` if there are none. `root` is the whole schema.
pub(super) fn check(node: &Node<'_>, root: &Json, problems: &mut Problems) -> bool {
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
pub(super) fn at<'n, 'i>(node: &'n Node<'i>, pointer: &Pointer) -> &'n Node<'i> {
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
