//! Shapes of schemas that break a naive mapping, and what becomes of them.

use lf_module::FieldType;
use serde_json::{Value as Json, json};

use super::{Lead, Schema};
use crate::pointer::Pointer;

/// The type of the one property `f`, as text, with `?` where it may be null.
fn mapped(property: &Json) -> String {
    let schema = Schema::compile(json!({
        "$defs": {
            "Name": { "type": "string", "description": "a name" },
            "Tree": { "type": "object", "properties": { "of": { "$ref": "#/$defs/Tree" } } },
            "Loop": { "anyOf": [{ "$ref": "#/$defs/Loop" }, { "type": "null" }] },
            "Turns": { "$ref": "#/$defs/Turns" },
            "Nest": { "type": "array", "items": { "$ref": "#/$defs/Nest" } },
        },
        "properties": { "f": property },
    }))
    .unwrap();
    let property = schema.property("f").unwrap();
    let null = if property.nullable { "?" } else { "" };
    format!("{}{null}", shown(&property.ty))
}

fn shown(ty: &FieldType) -> String {
    match ty {
        FieldType::Text => "text".into(),
        FieldType::Number => "number".into(),
        FieldType::Boolean => "boolean".into(),
        FieldType::Date => "date".into(),
        FieldType::Datetime => "datetime".into(),
        FieldType::Duration => "duration".into(),
        FieldType::Json => "json".into(),
        FieldType::File => "file".into(),
        FieldType::Choice(members) => members.join("|"),
        FieldType::List(item) => format!("{}[]", shown(item)),
    }
}

#[test]
fn each_shape_becomes_its_field() {
    for (property, expected) in [
        (json!({ "type": "string" }), "text"),
        (json!({ "type": "string", "format": "date" }), "date"),
        (json!({ "type": "string", "format": "date-time" }), "datetime"),
        (json!({ "type": "string", "contentEncoding": "base64" }), "file"),
        (json!({ "type": ["string", "null"], "contentEncoding": "base64", "contentMediaType": "image/png" }), "file?"),
        (json!({ "type": "array", "items": { "type": "string", "contentEncoding": "base64" } }), "file[]"),
        (json!({ "type": "string", "contentEncoding": "quoted-printable" }), "text"),
        (json!({ "type": "string", "contentMediaType": "text/html" }), "text"),
        (json!({ "type": "string", "format": "time" }), "text"),
        (json!({ "type": "string", "format": "duration" }), "text"),
        (json!({ "type": "string", "format": "uint64" }), "text"),
        (json!({ "type": "integer" }), "number"),
        (json!({ "type": "number" }), "number"),
        (json!({ "type": "boolean" }), "boolean"),
        (json!({ "type": ["string", "null"] }), "text?"),
        (json!({ "type": ["string", "number"] }), "json"),
        (json!({ "type": ["string", "number", "null"] }), "json?"),
        (json!({ "type": "null" }), "json?"),
        (json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), "number?"),
        (json!({ "oneOf": [{ "type": "null" }, { "$ref": "#/$defs/Name" }] }), "text?"),
        (json!({ "anyOf": [{}, { "type": "string" }] }), "json"),
        (json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }), "json"),
        (json!({ "allOf": [{ "$ref": "#/$defs/Name" }] }), "text"),
        (json!({ "$ref": "#/$defs/Name" }), "text"),
        (json!({ "$ref": "#/properties/f/properties/g", "properties": { "g": { "type": "boolean" } } }), "boolean"),
        (json!({ "$ref": "#/$defs/Tree" }), "json"),
        (json!({ "$ref": "#/$defs/Loop" }), "json?"),
        (json!({ "$ref": "#/$defs/Turns" }), "json?"),
        (json!({ "$ref": "#/$defs/Nest" }), "json"),
        (json!(true), "json?"),
        (json!({}), "json?"),
        (json!({ "type": "object" }), "json"),
        (json!({ "type": "object", "additionalProperties": { "type": "string" } }), "json"),
        (json!({ "enum": ["a", "b"] }), "a|b"),
        (json!({ "enum": ["a", null] }), "a?"),
        (json!({ "enum": [1, 0.5] }), "number"),
        (json!({ "enum": [true] }), "boolean"),
        (json!({ "enum": ["a", 1] }), "json"),
        (json!({ "const": "a" }), "a"),
        (json!({ "oneOf": [{ "const": "a", "title": "A" }, { "const": "b" }] }), "a|b"),
        (json!({ "type": "array" }), "json"),
        (json!({ "type": "array", "items": true }), "json"),
        (json!({ "type": "array", "items": { "type": "string" } }), "text[]"),
        (json!({ "type": "array", "items": { "enum": ["a"] } }), "a[]"),
        (json!({ "type": "array", "items": { "$ref": "#/$defs/Name" } }), "text[]"),
        (json!({ "type": "array", "items": { "type": ["string", "null"] } }), "json"),
        (json!({ "type": "array", "items": { "type": "array", "items": { "type": "string" } } }), "json"),
        (json!({ "type": "array", "prefixItems": [{ "type": "string" }] }), "json"),
    ] {
        assert_eq!(mapped(&property), expected, "{property}");
    }
}

#[test]
fn properties_are_gathered_from_references_and_all_of() {
    let schema = Schema::compile(json!({
        "$defs": { "Base": { "required": ["id"], "properties": { "id": { "type": "integer", "readOnly": true } } } },
        "allOf": [{ "$ref": "#/$defs/Base" }, { "properties": { "id": { "description": "later" }, "secret": { "writeOnly": true } } }],
        "properties": { "name": { "description": "own" } },
        "required": ["name", "secret"],
    }))
    .unwrap();
    let shown: Vec<_> = schema
        .properties
        .iter()
        .map(|p| (p.name.as_str(), p.required, p.read_only, p.write_only, p.doc.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            ("name", true, false, false, Some("own")),
            ("id", true, true, false, None),
            ("secret", true, false, true, None),
        ]
    );
    assert_eq!(schema.broken(&json!({ "name": 1, "id": 2 })), None, "what is only written is not missed");
    assert!(schema.broken(&json!({ "id": 2 })).is_some());
}

#[test]
fn a_composition_that_grows_without_end_is_bounded() {
    let twice = json!([{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/A" }]);
    let root = json!({ "$defs": { "A": { "allOf": twice, "properties": { "x": {} } } }, "allOf": twice });
    let properties = super::properties(&root);
    assert_eq!(properties.len(), 1);
}

#[test]
fn a_pointer_is_followed_as_far_as_the_schema_says() {
    let schema = Schema::compile(json!({ "properties": {
        "meta": { "properties": { "a/b": { "type": "string" } } },
        "open": { "type": "object" },
        "map": { "properties": { "x": {} }, "additionalProperties": { "type": "string" } },
    } }))
    .unwrap();
    let lead = |text: &str| schema.lead(&Pointer::parse(text).unwrap());
    assert_eq!(lead("/meta/a~1b"), Lead::Described(FieldType::Text));
    assert_eq!(lead("/open/anything/else"), Lead::Open);
    assert_eq!(lead("/map/other"), Lead::Open);
    assert_eq!(lead("/meta/c"), Lead::Nowhere { token: "c".into(), known: vec!["a/b".into()] });
    assert_eq!(
        lead("/nothing"),
        Lead::Nowhere { token: "nothing".into(), known: vec!["meta".into(), "open".into(), "map".into()] }
    );
}
