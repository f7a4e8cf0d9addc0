//! No schema panics the reader, and none keeps it busy. What each shape becomes is in `tests/cases/shapes`.

use proptest::prelude::*;

use super::*;

fn schema() -> impl Strategy<Value = serde_json::Value> {
    let references = prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/x", "y", "#/%4"]);
    let types = prop::sample::select(vec!["string", "object", "array", "null", "integer", "odd"]);
    let leaf = prop_oneof![
        Just(serde_json::json!(true)),
        Just(serde_json::json!(null)),
        Just(serde_json::json!(7)),
        references.prop_map(|to| serde_json::json!({"$ref": to})),
        types.prop_map(|ty| serde_json::json!({"type": ty})),
        Just(serde_json::json!({"enum": ["a", null, "b"]})),
    ];
    let keys = prop::sample::select(vec![
        "a",
        "b",
        "properties",
        "$defs",
        "items",
        "required",
        "then",
        "allOf",
        "anyOf",
        "oneOf",
        "type",
    ]);
    leaf.prop_recursive(5, 60, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_as_fields_or_refused(schema in schema()) {
        let schema = lf_module::json::read(schema.to_string().as_bytes()).unwrap();
        let mut said = Vec::new();
        let mut warnings = Warnings { tool: "t", said: &mut said };
        let _either = properties(&schema, "/inputSchema", &mut warnings);
    }
}

#[test]
fn references_that_multiply_are_cut_off() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let defs: Vec<String> = (0..40)
            .map(|at| {
                let next = format!("#/$defs/d{}", at + 1);
                format!(r#""d{at}":{{"{keyword}":[{{"$ref":"{next}"}},{{"$ref":"{next}"}}],"properties":{{"p":{{"$ref":"{next}"}}}}}}"#)
            })
            .collect();
        let text = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":{{"type":"string"}}}}}}"##, defs.join(","));
        let schema = lf_module::json::read(text.as_bytes()).unwrap();
        let mut said = Vec::new();
        let read = properties(&schema, "/inputSchema", &mut Warnings { tool: "t", said: &mut said });
        assert!(read.is_ok_and(|fields| fields.contains_key("p")), "{keyword}");
        assert!(said.len() < 50, "{keyword}: {} warnings", said.len());
    }
}

#[test]
fn a_root_behind_more_references_than_are_followed_is_refused() {
    let defs: Vec<String> = (0..5000).map(|at| format!(r##""d{at}":{{"$ref":"#/$defs/d{}"}}"##, at + 1)).collect();
    let text = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d5000":{{}}}}}}"##, defs.join(","));
    let schema = lf_module::json::read(text.as_bytes()).unwrap();
    let mut said = Vec::new();
    assert!(properties(&schema, "/inputSchema", &mut Warnings { tool: "t", said: &mut said }).is_err());
}
