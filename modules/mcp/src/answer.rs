//! The answer of a call: from what the server said to the fields of the tool's type.

use lf_module::{FieldType, Record, Value, json};
use smol_str::SmolStr;

use crate::{
    text::{self, clean},
    tools::{Expected, Tool},
};

/// An answer, read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The call was done.
    Done {
        /// The answer's fields.
        fields: Record,
        /// Fields that the server's own schema promises and the answer does not hold.
        missing: Vec<SmolStr>,
        /// What does not fit the output schema.
        warnings: Vec<String>,
    },
    /// The server refused the call, with this text.
    Refused(String),
}

impl Answer {
    /// Reads the result of `tools/call`.
    pub(crate) fn read(tool: &Tool, result: &Value) -> Self {
        let no_parts = Value::list(Vec::new());
        let content = result.field("content").filter(|content| !content.is_absent()).unwrap_or(&no_parts);
        let text = text_of(content);
        if result.field("isError") == Some(&Value::Bool(true)) {
            return Self::Refused(refusal(&text, content));
        }
        let mut warnings = Vec::new();
        let structured = structured(tool, result, content, &mut warnings);
        let mut fields = Record::new();
        let mut missing = Vec::new();
        for Expected { name, ty, promised } in tool.expected() {
            let value = match name.as_str() {
                "text" => Some(Value::text(text.as_str())),
                "content" => Some(content.clone()),
                "structured" => structured.clone(),
                _ => structured.as_ref().and_then(|whole| whole.field(name)).and_then(|value| fit(ty, value)),
            };
            match value {
                Some(value) => fields.set(name.clone(), value),
                None if *promised => missing.push(name.clone()),
                None => {}
            }
        }
        Self::Done { fields, missing, warnings }
    }
}

/// The structured answer: as given, or as the only text part that is JSON.
fn structured(tool: &Tool, result: &Value, content: &Value, warnings: &mut Vec<String>) -> Option<Value> {
    let output = tool.output.as_ref()?;
    let name = &tool.name;
    let given = result.field("structuredContent").filter(|value| !value.is_absent()).cloned();
    let Some(value) = given.or_else(|| lone_json(content)) else {
        warnings.push(format!("`{name}` answered without the structured answer that its output schema promises"));
        return None;
    };
    if let Some(misfit) = output.checker.misfit(&value) {
        warnings.push(format!("`{name}` answered what its output schema does not allow: {}", misfit.why));
    }
    Some(value)
}

fn lone_json(content: &Value) -> Option<Value> {
    let Value::List(parts) = content else { return None };
    let [part] = parts.as_slice() else { return None };
    let value = json::read(part_text(part)?.as_bytes()).ok()?;
    matches!(value, Value::Record(_) | Value::List(_)).then_some(value)
}

fn part_text(part: &Value) -> Option<&str> {
    (part.field("type").and_then(Value::as_text) == Some("text")).then_some(())?;
    part.field("text").and_then(Value::as_text)
}

fn text_of(content: &Value) -> String {
    let Value::List(parts) = content else { return String::new() };
    let mut all = String::new();
    for (at, text) in parts.iter().filter_map(part_text).enumerate() {
        if at > 0 {
            all.push('\n');
        }
        all.push_str(text);
    }
    all
}

fn refusal(text: &str, content: &Value) -> String {
    let text = if text.trim().is_empty() { json::plain(content) } else { text.to_owned() };
    let text = clean(&text, text::MESSAGE);
    if text.is_empty() || text == "[]" { "it gave no reason".to_owned() } else { text }
}

/// A JSON value as a value of `ty`; `None` if it is none.
fn fit(ty: &FieldType, value: &Value) -> Option<Value> {
    match (ty, value) {
        (_, Value::Absent) => None,
        (FieldType::Json, any) => Some(any.clone()),
        (FieldType::Text, Value::Text(_))
        | (FieldType::Number, Value::Number(_))
        | (FieldType::Boolean, Value::Bool(_)) => Some(value.clone()),
        (FieldType::Choice(choices), Value::Text(text)) => choices.contains(text).then(|| value.clone()),
        (FieldType::Date, Value::Text(text)) => text.parse().ok().map(Value::Date),
        (FieldType::List(inner), Value::List(items)) => {
            items.iter().map(|item| fit(inner, item)).collect::<Option<Vec<_>>>().map(Value::list)
        }
        _ => None,
    }
}
