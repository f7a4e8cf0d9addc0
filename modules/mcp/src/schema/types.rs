//! One property's schema to one field type:
//!
//! string → text; string with `format: date` → date; number, integer → number; boolean → boolean; a
//! string enum → a choice; a string that is base64 → a file, which its property turns into a text;
//! an array of one of these → a list of it; anything else → json. A `null`
//! alternative is dropped.

use lf_module::{FieldType, Value};
use smol_str::SmolStr;

use super::{DEEPEST, Path, Reader, pointer};

impl<'a> Reader<'a, '_, '_> {
    /// The type of a property, and whether `null` is allowed beside it.
    pub(super) fn ty(&mut self, schema: &'a Value, at: &str, path: &mut Path) -> (FieldType, bool) {
        let nullable = is_null(schema.field("const")) || schema.field("nullable") == Some(&Value::Bool(true));
        let (ty, inner) = self.bare(schema, at, path);
        (ty, nullable || inner)
    }

    fn bare(&mut self, schema: &'a Value, at: &str, path: &mut Path) -> (FieldType, bool) {
        const JSON: (FieldType, bool) = (FieldType::Json, false);
        match schema {
            Value::Record(_) => {}
            // `true` allows everything.
            Value::Bool(true) => return JSON,
            Value::Absent
            | Value::Bool(false)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::List(_)
            | Value::Position(_)
            | Value::File(_) => {
                self.warnings.at(at, "it is not the schema of a value; taken as json");
                return JSON;
            }
        }
        if !self.step(at, at.matches('/').count().max(path.len())) {
            return JSON;
        }
        if let Some(reference) = schema.field("$ref").and_then(Value::as_text) {
            let Some(target) = self.follow(reference, at, path) else { return JSON };
            let found = self.ty(target, &pointer::place(self.base, reference), path);
            path.pop();
            return found;
        }
        if let Some(fixed) = schema.field("const") {
            return (of_values(std::slice::from_ref(fixed)), false);
        }
        if let Some(Value::List(values)) = schema.field("enum") {
            let nullable = values.iter().any(Value::is_absent);
            let values: Vec<_> = values.iter().filter(|value| !value.is_absent()).cloned().collect();
            return (of_values(&values), nullable);
        }
        let (declared, null) = declared(schema);
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::List(branches)) = schema.field(keyword) {
                let (ty, nullable) = self.alternatives(branches, &format!("{at}/{keyword}"), path);
                // Beside a type of its own, alternatives only narrow it, and only a choice shows that.
                if declared.is_empty() || matches!(ty, FieldType::Choice(_)) {
                    return (ty, nullable || null);
                }
            }
        }
        if let (true, Some(Value::List(parts))) = (declared.is_empty(), schema.field("allOf")) {
            return self.intersection(parts, &format!("{at}/allOf"), path);
        }
        let ty = match declared.as_slice() {
            ["string"] => {
                let word = |key: &str| schema.field(key).and_then(Value::as_text);
                match (word("format"), word("contentEncoding")) {
                    (Some("date"), _) => FieldType::Date,
                    (_, Some("base64")) | (Some("byte" | "binary"), None) => FieldType::File,
                    (_, _) => FieldType::Text,
                }
            }
            ["number" | "integer"] | ["number", "integer"] | ["integer", "number"] => FieldType::Number,
            ["boolean"] => FieldType::Boolean,
            ["array"] => self.list(schema, at, path),
            ["object"] | [] | [_, _, ..] => FieldType::Json,
            [_] => {
                self.warnings.at(at, "its `type` is none that JSON has; taken as json");
                FieldType::Json
            }
        };
        (ty, null)
    }

    /// An array of one of the plain types is a list of it; lists of lists, of objects and of mixtures are json.
    fn list(&mut self, schema: &'a Value, at: &str, path: &mut Path) -> FieldType {
        let Some(items @ Value::Record(_)) = schema.field("items") else { return FieldType::Json };
        if schema.field("prefixItems").is_some() {
            return FieldType::Json;
        }
        match self.ty(items, &format!("{at}/items"), path) {
            (FieldType::Json | FieldType::List(_) | FieldType::Datetime | FieldType::Duration, _) | (_, true) => {
                FieldType::Json
            }
            (FieldType::File, false) => FieldType::List(Box::new(FieldType::Text)),
            (
                plain @ (FieldType::Text
                | FieldType::Number
                | FieldType::Boolean
                | FieldType::Date
                | FieldType::Choice(_)),
                false,
            ) => FieldType::List(Box::new(plain)),
        }
    }

    /// One of several schemas: the one type that all of them have, or json.
    fn alternatives(&mut self, branches: &'a [Value], at: &str, path: &mut Path) -> (FieldType, bool) {
        let mut nullable = false;
        let mut found: Option<FieldType> = None;
        for (index, branch) in branches.iter().enumerate() {
            if only_null(branch) {
                nullable = true;
                continue;
            }
            let (ty, null) = self.ty(branch, &format!("{at}/{index}"), path);
            nullable |= null;
            found = Some(match found {
                None => ty,
                Some(other) => either(&other, &ty).unwrap_or(FieldType::Json),
            });
        }
        (found.unwrap_or(FieldType::Json), nullable)
    }

    /// All of several schemas: the one type that any of them names.
    fn intersection(&mut self, parts: &'a [Value], at: &str, path: &mut Path) -> (FieldType, bool) {
        let mut found = (FieldType::Json, false);
        if path.len() > DEEPEST {
            return found;
        }
        for (index, part) in parts.iter().enumerate() {
            let (ty, null) = self.ty(part, &format!("{at}/{index}"), path);
            match (&found.0, ty) {
                (_, FieldType::Json) => {}
                (FieldType::Json, ty) => found = (ty, null),
                (known, ty) if *known == ty => {}
                (FieldType::Text, choice @ FieldType::Choice(_)) => found.0 = choice,
                (FieldType::Text, file @ FieldType::File) => found.0 = file,
                (FieldType::Choice(_) | FieldType::File, FieldType::Text) => {}
                _ => return (FieldType::Json, false),
            }
        }
        found
    }
}

/// What both types are at once; `None` if they differ. Two choices are one of all their values.
pub(super) fn either(left: &FieldType, right: &FieldType) -> Option<FieldType> {
    if let (FieldType::Choice(left), FieldType::Choice(right)) = (left, right) {
        let more = right.iter().filter(|value| !left.contains(value));
        return Some(FieldType::Choice(left.iter().chain(more).cloned().collect()));
    }
    match (left, right) {
        (FieldType::File, FieldType::Text) | (FieldType::Text, FieldType::File) => Some(FieldType::Text),
        (left, right) => (left == right).then(|| left.clone()),
    }
}

/// Whether a schema may be one of an object.
pub(super) fn may_be_object(schema: &Value) -> bool {
    let (declared, _) = declared(schema);
    declared.is_empty() && !is_null(schema.field("type")) || declared.contains(&"object")
}

/// The declared types without `null`, and whether `null` was among them.
fn declared(schema: &Value) -> (Vec<&str>, bool) {
    let all: Vec<&str> = match schema.field("type") {
        Some(Value::Text(one)) => vec![one],
        Some(Value::List(several)) => several.iter().filter_map(Value::as_text).collect(),
        Some(_) | None => Vec::new(),
    };
    let null = all.contains(&"null");
    (all.into_iter().filter(|ty| *ty != "null").collect(), null)
}

fn is_null(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_absent)
}

fn only_null(schema: &Value) -> bool {
    let null_type = matches!(declared(schema), (types, true) if types.is_empty());
    let null_enum = matches!(schema.field("enum"), Some(Value::List(values))
        if !values.is_empty() && values.iter().all(Value::is_absent));
    null_type || null_enum || is_null(schema.field("const"))
}

/// The type of a fixed set of values: texts are a choice.
fn of_values(values: &[Value]) -> FieldType {
    let texts: Vec<SmolStr> = values.iter().filter_map(Value::as_text).map(SmolStr::from).collect();
    if values.is_empty() {
        FieldType::Json
    } else if texts.len() == values.len() {
        let mut unique: Vec<SmolStr> = Vec::new();
        for text in texts {
            if !unique.contains(&text) {
                unique.push(text);
            }
        }
        FieldType::Choice(unique)
    } else if values.iter().all(|value| matches!(value, Value::Number(_))) {
        FieldType::Number
    } else if values.iter().all(|value| matches!(value, Value::Bool(_))) {
        FieldType::Boolean
    } else {
        FieldType::Json
    }
}
