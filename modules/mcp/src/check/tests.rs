//! What is found, and what a hostile schema cannot do.

use lf_module::json::read;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn checker(schema: Value) -> Checker {
    Checker::new(schema, &mut Patterns::default())
}

fn value(text: &str) -> Value {
    read(text.as_bytes()).unwrap()
}

/// `$defs` of `d0`, `d1` … each made of the next by `body`, and a root that is `d0`.
fn chain(length: usize, body: impl Fn(&str) -> String) -> Value {
    let defs: Vec<String> =
        (0..length).map(|at| format!(r#""d{at}":{}"#, body(&format!("#/$defs/d{}", at + 1)))).collect();
    value(&format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{length}":{{"type":"string"}}}}}}"##, defs.join(",")))
}

#[test]
fn the_property_that_does_not_fit_is_named() {
    let schema = value(
        r#"{"type":"object","properties":{"a/b":{"type":"object","properties":{"n":{"type":"integer"}}}},
            "required":["r"],"additionalProperties":false}"#,
    );
    let checker = checker(schema);
    let property = |text: &str| checker.misfit(&value(text)).unwrap().property.unwrap();
    assert_eq!(property(r#"{"r":1,"a/b":{"n":"x"}}"#), "a/b");
    assert_eq!(property(r#"{"a/b":{}}"#), "r");
}

#[test]
fn alternatives_that_multiply_are_not_tried() {
    let bomb = chain(40, |next| format!(r#"{{"anyOf":[{{"$ref":"{next}"}},{{"$ref":"{next}"}}]}}"#));
    assert_eq!(checker(bomb).misfit(&value("[1]")), None);
    // The same by a recursion that the value drives.
    let one = r##"{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}}}"##;
    let recursive = value(&format!(r##"{{"$ref":"#/$defs/n","$defs":{{"n":{{"oneOf":[{one},{one}]}}}}}}"##));
    let deep = format!("{}1{}", r#"{"x":"#.repeat(60), "}".repeat(60));
    assert_eq!(checker(recursive).misfit(&value(&deep)), None);
}

#[test]
fn long_chains_and_circles_end() {
    let long = chain(2000, |next| format!(r#"{{"properties":{{"x":{{"$ref":"{next}"}}}}}}"#));
    assert_eq!(checker(long).misfit(&value(r#"{"x":{"x":1}}"#)), None);
    for circle in
        [r##"{"$ref":"#"}"##, r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##]
    {
        assert_eq!(checker(value(circle)).misfit(&value("{}")), None);
    }
}

#[test]
fn an_ordinary_check_is_affordable() {
    let people = chain(3, |next| format!(r#"{{"type":"object","additionalProperties":{{"$ref":"{next}"}}}}"#));
    let wrong = r#"{"a":{"b":{"c":1}}}"#;
    assert!(checker(people).misfit(&value(wrong)).is_some());
    let many = format!("[{}]", vec!["1"; 5000].join(","));
    let list = checker(value(r#"{"type":"array","items":{"type":"string"}}"#));
    assert!(list.misfit(&value(&many)).is_some());
}

/// Schemas of the keywords that are known here, right and wrong ones.
fn schemas() -> impl Strategy<Value = serde_json::Value> {
    let odd = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(2.5),
        json!(2),
        json!(5_000_000_000_u64),
        json!(""),
        json!("a"),
        json!("string"),
        json!("^a+$"),
        json!("(("),
        json!("\\d{2}"),
        json!("#/$defs/a"),
        json!("#/properties/b"),
        json!("#/$defs/no"),
        json!("#"),
        json!("http://x/y"),
        json!("http://json-schema.org/draft-07/schema#"),
        json!("http://json-schema.org/draft-04/schema"),
        json!([]),
        json!(["a", "b"]),
        json!(["a", "a"]),
        json!(["string", "null"]),
        json!([1, 2]),
        json!([{}, true]),
        json!({}),
    ]);
    let keyword = prop::sample::select(vec![
        "type",
        "title",
        "properties",
        "$defs",
        "definitions",
        "additionalProperties",
        "items",
        "not",
        "if",
        "contains",
        "allOf",
        "anyOf",
        "required",
        "enum",
        "const",
        "default",
        "examples",
        "readOnly",
        "uniqueItems",
        "minimum",
        "exclusiveMaximum",
        "minLength",
        "maxItems",
        "pattern",
        "format",
        "$ref",
        "$schema",
        "$id",
        "x-own",
        "nullable",
        "dependencies",
        "multipleOf",
    ]);
    let leaf = prop_oneof![
        odd,
        Just(json!({"type": "string", "maxLength": 9})),
        Just(json!({"type": ["object", "null"], "required": ["a"]})),
        Just(json!({"enum": ["x", 1, null]})),
        Just(json!({"$ref": "#/$defs/a", "title": "t"})),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let named = prop::collection::vec((prop::sample::select(vec!["a", "b", "no"]), inner.clone()), 1..4)
            .prop_map(|all| all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect());
        let of =
            prop_oneof![inner.clone(), named, prop::collection::vec(inner, 1..3).prop_map(serde_json::Value::from)];
        prop::collection::vec((keyword.clone(), of), 0..6)
            .prop_map(|all| all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    })
}

/// Values that fit some of them.
fn values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.0),
        json!(-1.5),
        json!(1e300),
        json!("a"),
        json!("x"),
        json!("aaaaaaaaaaaa"),
    ]);
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), inner), 0..4)
                .prop_map(|all| all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn what_surely_compiles_does(schema in schemas()) {
        let ours = value(&schema.to_string());
        if sure::compiles(&ours, &mut Patterns::default()) {
            prop_assert_eq!(compile(&ours).err(), None);
        }
    }

    #[test]
    fn values_are_judged_as_the_library_judges_its_own(schema in schemas(), of in values()) {
        let theirs = jsonschema::options().offline().should_validate_formats(false).build(&schema);
        let checker = checker(value(&schema.to_string()));
        prop_assert_eq!(checker.unusable().is_some(), theirs.is_err());
        if let Ok(theirs) = theirs {
            let of_ours = value(&of.to_string());
            if cost::linear(&checker.schema) || cost::affordable(&checker.schema, &of_ours) {
                prop_assert_eq!(checker.misfit(&of_ours).is_none(), theirs.is_valid(&of), "{}", checker.misfit(&of_ours).map(|it| it.why).unwrap_or_default());
            }
        }
    }
}

#[test]
fn ordinary_schemas_are_not_compiled_to_be_listed() {
    let ordinary = [
        r#"{"type":"object","properties":{"a":{"type":["string","null"],"description":"d","maxLength":9}},"required":["a"]}"#,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"P":{"properties":{"p":{"$ref":"#/$defs/P"}}}},
            "properties":{"a":{"$ref":"#/$defs/P"},"b":{"pattern":"^[a-z]+$"},"c":{"anyOf":[{"const":1},{"enum":["x",null]}]}},
            "additionalProperties":false}"##,
        "true",
    ];
    for schema in ordinary {
        assert!(sure::compiles(&value(schema), &mut Patterns::default()), "{schema}");
    }
    for odd in
        [r#"{"$id":"https://x.example/y"}"#, r#"{"type":"text"}"#, r#"{"pattern":"(("}"#, r#"{"minLength":1.5}"#, "7"]
    {
        assert!(!sure::compiles(&value(odd), &mut Patterns::default()), "{odd}");
    }
}
