//! Whether a schema surely compiles, seen without compiling it.
//!
//! A server may have thousands of tools, and a movement calls a few of them: compiling all schemas to say which of them
//! cannot be used would take most of the time of describing. So the ordinary shapes are recognised in one walk, and only
//! what is not among them is compiled to find out. "Yes" has to be right; "no" costs only time.

use std::collections::HashSet;

use lf_module::Value;

use super::Patterns;

/// More values than this in one `enum` are not compared here.
const MANY: usize = 500;

/// Whether `schema` surely compiles.
pub(super) fn compiles(schema: &Value, patterns: &mut Patterns) -> bool {
    Walk { root: schema, patterns }.schema(schema, true)
}

struct Walk<'a> {
    root: &'a Value,
    patterns: &'a mut Patterns,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, root: bool) -> bool {
        match schema {
            Value::Bool(_) => true,
            Value::Record(keywords) => keywords.iter().all(|(keyword, value)| self.keyword(keyword, value, root)),
            Value::Absent
            | Value::Number(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::List(_)
            | Value::Position(_)
            | Value::File(_) => false,
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, root: bool) -> bool {
        match keyword {
            "type" => types(value),
            "title" | "description" | "$comment" | "format" => value.as_text().is_some(),
            "properties" | "$defs" | "definitions" => self.named(value),
            "additionalProperties" | "items" | "not" | "if" | "then" | "else" | "contains" | "propertyNames" => {
                self.schema(value, false)
            }
            "allOf" | "anyOf" | "oneOf" => self.several(value),
            "required" => {
                matches!(value, Value::List(names) if names.iter().all(|name| name.as_text().is_some()) && distinct(names))
            }
            "enum" => matches!(value, Value::List(all) if !all.is_empty() && distinct(all)) && ordinary(value),
            "const" | "default" | "example" | "nullable" => ordinary(value),
            "examples" => matches!(value, Value::List(_)) && ordinary(value),
            "deprecated" | "readOnly" | "writeOnly" | "uniqueItems" => matches!(value, Value::Bool(_)),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                matches!(value, Value::Number(_)) && ordinary(value)
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => count(value),
            "pattern" => value.as_text().is_some_and(|pattern| self.patterns.has(pattern)),
            "$ref" => value.as_text().is_some_and(|reference| self.leads(reference)),
            "$schema" => root && value.as_text().is_some_and(known),
            other => other.starts_with("x-") && ordinary(value),
        }
    }

    fn named(&mut self, schemas: &Value) -> bool {
        matches!(schemas, Value::Record(all) if all.iter().all(|(_, schema)| self.schema(schema, false)))
    }

    fn several(&mut self, schemas: &Value) -> bool {
        matches!(schemas, Value::List(all) if !all.is_empty() && all.iter().all(|schema| self.schema(schema, false)))
    }

    /// Whether a reference leads to one of the root's own schemas, and not from there on to another.
    fn leads(&self, reference: &str) -> bool {
        let Some(way) = reference.strip_prefix("#/") else { return false };
        let Some((place, name)) = way.split_once('/') else { return false };
        let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
        matches!(place, "$defs" | "definitions" | "properties")
            && name.chars().all(plain)
            && matches!(self.root.field(place).and_then(|all| all.field(name)), Some(Value::Record(found)) if found.get("$ref").is_none())
    }
}

fn types(value: &Value) -> bool {
    let one = |ty: &Value| {
        matches!(ty.as_text(), Some("array" | "boolean" | "integer" | "null" | "number" | "object" | "string"))
    };
    let Value::List(several) = value else { return one(value) };
    !several.is_empty() && several.iter().all(one) && distinct(several)
}

/// A whole number that is written as one.
fn count(value: &Value) -> bool {
    matches!(value, Value::Number(number) if number.as_decimal().is_some_and(|it| it.scale() == 0)
        && number.as_i64().is_some_and(|count| (0..1 << 31).contains(&count)))
}

/// The dialects in which all that is taken here means the same.
fn known(dialect: &str) -> bool {
    matches!(
        dialect.strip_suffix('#').unwrap_or(dialect),
        "https://json-schema.org/draft/2020-12/schema"
            | "https://json-schema.org/draft/2019-09/schema"
            | "http://json-schema.org/draft-07/schema"
    )
}

fn distinct(values: &[Value]) -> bool {
    let texts: HashSet<&str> = values.iter().filter_map(Value::as_text).collect();
    if texts.len() == values.len() {
        return true;
    }
    values.len() <= MANY
        && values.iter().enumerate().all(|(at, value)| !values.iter().skip(at + 1).any(|it| it == value))
}

/// Whether every number of a value is in the range of all libraries.
fn ordinary(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_decimal().is_some(),
        Value::List(items) => items.iter().all(ordinary),
        Value::Record(record) => record.iter().all(|(_, value)| ordinary(value)),
        Value::Absent
        | Value::Bool(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Position(_)
        | Value::File(_) => true,
    }
}
