//! Shapes of schemas that servers really use: each file of `shapes/` is a `tools/list` answer with the
//! fields that a movement sees. A case is added by adding a file.
//!
//! A field is written `in NAME: TYPE` (an argument) or `out NAME: TYPE` (of the answer), with `required`
//! behind an argument that must be given and `doubtful` behind an answer that may lack it. `text` and
//! `content`, which every answer has, are named only where they are left out. `reads` names the tools that are read.

use lf_harness::mcp::Offer;
use lf_module::{FieldType, TypeShape};
use serde_json::Value as Json;

use crate::stage::Stage;

fn written(ty: &FieldType) -> String {
    match ty {
        FieldType::Text => "text".to_owned(),
        FieldType::Number => "number".to_owned(),
        FieldType::Boolean => "boolean".to_owned(),
        FieldType::Date => "date".to_owned(),
        FieldType::Json => "json".to_owned(),
        FieldType::Choice(values) => format!("choice {}", values.join("|")),
        FieldType::List(inner) => format!("list of {}", written(inner)),
        FieldType::Datetime | FieldType::Duration => "a type that the page does not have".to_owned(),
    }
}

fn fields(shape: &TypeShape) -> Vec<String> {
    let argument = |name: &str| shape.pin(name).is_some() || shape.field(name).is_some_and(|field| field.writable);
    let mut lines = Vec::new();
    for field in &shape.fields {
        let (name, ty) = (&field.name, written(&field.ty));
        if argument(name) {
            let required = field.required || shape.pin(name).is_some_and(|pin| pin.required);
            lines.push(format!("in {name}: {ty}{}", if required { " required" } else { "" }));
        } else if name != "text" && name != "content" {
            lines.push(format!("out {name}: {ty}{}", if field.doubtful { " doubtful" } else { "" }));
        }
    }
    for left_out in ["text", "content"].into_iter().filter(|name| argument(name)) {
        assert!(shape.fields.iter().filter(|field| field.name == left_out).count() == 1);
        lines.push(format!("without the answer's {left_out}"));
    }
    lines
}

/// What is not as the case expects, one line each.
async fn judge(case: &Json) -> Vec<String> {
    let stage = Stage::good(Offer::of(case["tools"].clone()));
    let description = stage.describe().await.unwrap();
    let expected = case["expect"].as_object().unwrap();
    let mut wrong = Vec::new();
    let names: Vec<_> = description.types.iter().map(|shape| shape.name.as_str()).collect();
    if names != expected.keys().collect::<Vec<_>>() {
        wrong.push(format!("tools: {names:?}"));
    }
    for shape in &description.types {
        let lines: Vec<_> =
            expected[shape.name.as_str()].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        if fields(shape) != lines {
            wrong.push(format!("{}: {:?}", shape.name, fields(shape)));
        }
    }
    if let Some(expected) = case["reads"].as_array() {
        let reads = description.types.iter().filter(|shape| shape.readable);
        let reads: Vec<_> = reads.map(|shape| Json::from(shape.name.as_str())).collect();
        let writes = description.types.iter().filter(|shape| shape.writable).count();
        if reads != *expected || reads.len() + writes != description.types.len() {
            wrong.push(format!("read: {reads:?}, written: {writes}"));
        }
    }
    let warned = case["warn"].as_array().cloned().unwrap_or_default();
    let fits = |(said, expected): (&String, &Json)| said.contains(expected.as_str().unwrap());
    if description.warnings.len() != warned.len() || !description.warnings.iter().zip(&warned).all(fits) {
        wrong.push(format!("warnings: {:?}", description.warnings));
    }
    wrong
}

#[tokio::test]
async fn every_shape_is_seen_as_expected() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shapes");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 30, "the cases are there");
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy();
        let case = serde_json::from_slice(&text).unwrap();
        wrong.extend(judge(&case).await.into_iter().map(|line| format!("{name}: {line}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
