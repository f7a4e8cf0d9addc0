//! Arguments that also go as headers: `x-mcp-header` in a tool's schema, of the newer generation.
//!
//! A tool that breaks the rules about them may not be offered at all, so breaking one is an error here.

use std::collections::BTreeSet;

use http::{HeaderName, HeaderValue};
use lf_module::{Value, json};
use smol_str::SmolStr;

use crate::{era, text::clean};

const MARK: &str = "x-mcp-header";
/// Schemas nested deeper are not looked through, and more headers than this are not sent.
const DEEPEST: usize = 64;
const MOST: usize = 64;
/// Where a schema holds one more, and where it holds several, by name or in a list.
const ONE: [&str; 10] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedProperties",
];
const SEVERAL: [&str; 8] =
    ["$defs", "allOf", "anyOf", "definitions", "dependentSchemas", "oneOf", "patternProperties", "prefixItems"];

/// An argument that also goes as a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    name: HeaderName,
    /// The way to it, from property to property.
    path: Vec<SmolStr>,
}

/// Those that `schema` names.
///
/// # Errors
/// The rule that it breaks.
pub(crate) fn declared(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut walk = Walk { found: Vec::new(), names: BTreeSet::new(), path: Vec::new() };
    walk.schema(schema, true, 0)?;
    Ok(walk.found)
}

/// The headers of a call with `arguments`. What is absent gets none.
pub(crate) fn of(declared: &[ParamHeader], arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
    let value = |header: &ParamHeader| {
        let value = header.path.iter().try_fold(arguments, |inside, step| inside.field(step))?;
        let text = match value {
            Value::Text(text) => text.to_string(),
            Value::Number(_) | Value::Bool(_) => json::plain(value),
            Value::Absent
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::List(_)
            | Value::Record(_)
            | Value::Position(_)
            | Value::File(_) => return None,
        };
        Some((header.name.clone(), era::sendable(&text)))
    };
    declared.iter().filter_map(value).collect()
}

struct Walk {
    found: Vec<ParamHeader>,
    /// In lower case.
    names: BTreeSet<String>,
    path: Vec<SmolStr>,
}

impl Walk {
    /// `plain`: only properties lead here from the root.
    fn schema(&mut self, schema: &Value, plain: bool, depth: usize) -> Result<(), String> {
        let Value::Record(keywords) = schema else { return Ok(()) };
        if depth > DEEPEST {
            return Ok(());
        }
        if let Some(name) = keywords.get(MARK) {
            self.mark(schema, name, plain)?;
        }
        if let Some(Value::Record(properties)) = keywords.get("properties") {
            for (name, property) in properties.iter() {
                self.path.push(name.clone());
                self.schema(property, plain, depth + 1)?;
                self.path.pop();
            }
        }
        for inner in ONE.iter().filter_map(|keyword| keywords.get(keyword)) {
            self.schema(inner, false, depth + 1)?;
        }
        for several in SEVERAL.iter().filter_map(|keyword| keywords.get(keyword)) {
            match several {
                Value::List(all) => all.iter().try_for_each(|inner| self.schema(inner, false, depth + 1))?,
                Value::Record(all) => all.iter().try_for_each(|(_, inner)| self.schema(inner, false, depth + 1))?,
                Value::Absent
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Text(_)
                | Value::Date(_)
                | Value::DateTime(_)
                | Value::Duration(_)
                | Value::Position(_)
                | Value::File(_) => {}
            }
        }
        Ok(())
    }

    fn mark(&mut self, schema: &Value, name: &Value, plain: bool) -> Result<(), String> {
        let shown = clean(&json::plain(name), 80);
        let name = name.as_text().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| format!("its `{MARK}` is no name: {shown}"))?;
        let header = HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes())
            .map_err(|_| format!("its `{MARK}` {shown} cannot be part of a header's name"))?;
        if !plain || self.path.is_empty() {
            return Err(format!("its `{MARK}` {shown} is at something else than a property"));
        }
        if !primitive(schema) {
            return Err(format!("its `{MARK}` {shown} is at something else than a text, an integer or a boolean"));
        }
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(format!("its `{MARK}` {shown} is there twice"));
        }
        if self.found.len() >= MOST {
            return Err(format!("it has more than {MOST} of `{MARK}`"));
        }
        self.found.push(ParamHeader { name: header, path: self.path.clone() });
        Ok(())
    }
}

fn primitive(schema: &Value) -> bool {
    let plain = |ty: &str| matches!(ty, "string" | "integer" | "boolean");
    match schema.field("type") {
        Some(Value::Text(ty)) => plain(ty),
        Some(Value::List(types)) => {
            let types: Vec<_> = types.iter().filter_map(Value::as_text).filter(|ty| *ty != "null").collect();
            matches!(types.as_slice(), [ty] if plain(ty))
        }
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        json::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_schema_that_breaks_a_rule() {
        let table = [
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#, "is no name"),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#, "is no name"),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}}"#, "header's name"),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"R\u00e9gion"}}}"#, "header's name"),
            (r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#, "else than a text"),
            (r#"{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"A"}}}"#, "else than a text"),
            (r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#, "else than a text"),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                "twice",
            ),
            (
                r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
                "else than a prop",
            ),
            (r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#, "else than a prop"),
            (r#"{"type":"string","x-mcp-header":"A"}"#, "else than a prop"),
        ];
        for (schema, expected) in table {
            let why = declared(&read(schema)).unwrap_err();
            assert!(why.contains(expected), "{schema}: {why}");
        }
    }

    #[test]
    fn what_is_sent() {
        let schema = read(
            r#"{"properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "x-mcp-header":{"type":"string"},
                "inner":{"type":"object","properties":{"n":{"type":["integer","null"],"x-mcp-header":"N"}}},
                "yes":{"type":"boolean","x-mcp-header":"Yes"},
                "none":{"type":"string","x-mcp-header":"None"},
                "free":{"type":"object","default":{"x-mcp-header":"Free"}}
            }}"#,
        );
        let arguments = read(r#"{"region":" é","inner":{"n":9007199254740993},"yes":false,"none":null}"#);
        let sent = of(&declared(&schema).unwrap(), &arguments);
        let sent: Vec<_> = sent.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        let expected =
            [("mcp-param-region", "=?base64?IMOp?="), ("mcp-param-n", "9007199254740993"), ("mcp-param-yes", "false")];
        assert_eq!(sent, expected);
    }
}
