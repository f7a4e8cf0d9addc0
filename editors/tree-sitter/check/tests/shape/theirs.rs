//! The shape of the grammar's tree.

use tree_sitter::Node;

use super::{Declared, Shape};
use crate::tree;

/// Nodes that have a shape, the field whose place counts, and the tag. All others are seen through.
const SHAPES: [(&str, &str, &str); 34] = [
    ("bind", "", "bind"),
    ("write", "", "write"),
    ("refused", "", "refused"),
    ("delete", "", "delete"),
    ("return", "", "return"),
    ("if", "", "if"),
    ("await", "", "await"),
    ("link", "", "link"),
    ("each", "", "each"),
    ("block", "", "block"),
    ("given", "", "line"),
    ("after", "", "line"),
    ("answer", "", "line"),
    ("expect", "", "line"),
    ("binary_expression", "operator", "binary"),
    ("unary_expression", "operator", "unary"),
    ("type_test", "type", "is"),
    ("cast", "type", "as"),
    ("exists", "", "exists"),
    ("member", "name", "member"),
    ("path", "", "path"),
    ("hop", "edge", "hop"),
    ("call", "", "call"),
    ("closure", "", "closure"),
    ("choice", "", "choice"),
    ("list", "", "list"),
    ("record", "", "record"),
    ("text", "", "text"),
    ("number", "", "number"),
    ("duration", "", "duration"),
    ("true", "", "boolean"),
    ("false", "", "boolean"),
    ("null", "", "null"),
    ("spread", "", "spread"),
];

/// What is no part of the shape: `lf-lang` keeps these as types, texts and counts.
const CLOSED: [&str; 5] = ["type", "limit", "import", "label", "source"];

pub(super) fn declared(text: &str) -> Vec<Declared> {
    let tree = tree(text);
    let mut cursor = tree.walk();
    let root = tree.root_node();
    let found = root.named_children(&mut cursor).filter(|node| !node.kind().contains("comment") && !node.is_extra());
    found.map(|node| declaration(&node)).collect()
}

fn declaration(node: &Node<'_>) -> Declared {
    let (kind, name) = match node.kind() {
        "import" => ("import", "source"),
        "connection" => ("connection", "name"),
        "type_declaration" => ("type", "name"),
        "function" => ("function", "name"),
        "listen" => ("listen", "function"),
        "binding" => ("binding", "name"),
        "test" => ("test", "name"),
        other => panic!("a {other} is no declaration"),
    };
    let name = node.child_by_field_name(name).unwrap_or_else(|| panic!("the {kind} has no {name}"));
    Declared { kind, name: bytes(&name), bytes: bytes(node), inside: inside(node) }
}

fn bytes(node: &Node<'_>) -> (usize, usize) {
    (node.start_byte(), node.end_byte())
}

fn inside(node: &Node<'_>) -> Vec<Shape> {
    let mut found = Vec::new();
    let mut cursor = node.walk();
    for (place, child) in node.children(&mut cursor).enumerate() {
        let field = node.field_name_for_child(u32::try_from(place).expect("few children")).unwrap_or_default();
        // the name of a test and the label of a listen are texts too
        let heads = matches!(node.kind(), "test" | "listen") && child.kind() == "text";
        if !child.is_named() || heads || CLOSED.contains(&child.kind()) || CLOSED.contains(&field) {
            continue;
        }
        match SHAPES.iter().find(|(kind, ..)| *kind == child.kind()) {
            None => found.extend(inside(&child)),
            Some((_, field, tag)) => {
                let marked = child.child_by_field_name(field);
                let at = marked.map_or(child.start_byte(), |marked| marked.start_byte());
                // of what is spread `lf-lang` keeps the value alone
                let at = if *tag == "spread" { 0 } else { at };
                found.push(Shape { tag, at, inside: inside(&child) });
            }
        }
    }
    found
}
