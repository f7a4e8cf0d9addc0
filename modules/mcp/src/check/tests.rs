//! What is found, and what a hostile schema cannot do.

use super::*;

fn value(text: &str) -> Value {
    json::read(text.as_bytes()).unwrap()
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
    let checker = Checker::new(schema);
    let property = |text: &str| checker.misfit(&value(text)).unwrap().property.unwrap();
    assert_eq!(property(r#"{"r":1,"a/b":{"n":"x"}}"#), "a/b");
    assert_eq!(property(r#"{"a/b":{}}"#), "r");
}

#[test]
fn alternatives_that_multiply_are_not_tried() {
    let bomb = chain(40, |next| format!(r#"{{"anyOf":[{{"$ref":"{next}"}},{{"$ref":"{next}"}}]}}"#));
    assert_eq!(Checker::new(bomb).misfit(&value("[1]")), None);
    // The same by a recursion that the value drives.
    let one = r##"{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}}}"##;
    let recursive = value(&format!(r##"{{"$ref":"#/$defs/n","$defs":{{"n":{{"oneOf":[{one},{one}]}}}}}}"##));
    let deep = format!("{}1{}", r#"{"x":"#.repeat(60), "}".repeat(60));
    assert_eq!(Checker::new(recursive).misfit(&value(&deep)), None);
}

#[test]
fn long_chains_and_circles_end() {
    let long = chain(2000, |next| format!(r#"{{"properties":{{"x":{{"$ref":"{next}"}}}}}}"#));
    assert_eq!(Checker::new(long).misfit(&value(r#"{"x":{"x":1}}"#)), None);
    for circle in
        [r##"{"$ref":"#"}"##, r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##]
    {
        assert_eq!(Checker::new(value(circle)).misfit(&value("{}")), None);
    }
}

#[test]
fn an_ordinary_check_is_affordable() {
    let people = chain(3, |next| format!(r#"{{"type":"object","additionalProperties":{{"$ref":"{next}"}}}}"#));
    let wrong = r#"{"a":{"b":{"c":1}}}"#;
    assert!(Checker::new(people).misfit(&value(wrong)).is_some());
    let many = format!("[{}]", vec!["1"; 5000].join(","));
    let list = Checker::new(value(r#"{"type":"array","items":{"type":"string"}}"#));
    assert!(list.misfit(&value(&many)).is_some());
}
