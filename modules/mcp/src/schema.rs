//! JSON Schema to fields: the page's table, and nothing beyond it.
//!
//! The raw schema stays what counts: fields are derived from it and never written back. Nothing kills
//! more than itself: what cannot be understood becomes one `json` field with a warning.

pub(crate) mod pointer;
mod types;

use indexmap::IndexMap;
use lf_module::{FieldType, Value};
use smol_str::SmolStr;

use crate::text::{self, clean};

/// Schemas nested deeper, or larger in all, are not followed further.
const DEEPEST: usize = 48;
const LARGEST: usize = 20_000;

/// Keywords that say something about a value. A root without any of them, but with others, is no schema.
const KEYWORDS: [&str; 24] = [
    "$ref",
    "$dynamicRef",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "if",
    "maxProperties",
    "minProperties",
    "not",
    "oneOf",
    "patternProperties",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "unevaluatedProperties",
    "nullable",
];
/// Those that say nothing about it.
const ANNOTATIONS: [&str; 14] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "id",
    "readOnly",
    "title",
    "writeOnly",
];

/// One top-level property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) ty: FieldType,
    pub(crate) required: bool,
    /// The schema admits `null` beside the type.
    pub(crate) nullable: bool,
    /// A text that is base64, so that the bytes of a file can be given for it.
    pub(crate) base64: bool,
    pub(crate) doc: Option<String>,
}

pub(crate) type Properties = IndexMap<SmolStr, Property>;

/// What could not be understood in one tool, with the place.
#[derive(Debug)]
pub(crate) struct Warnings<'a> {
    pub(crate) tool: &'a str,
    pub(crate) said: &'a mut Vec<String>,
}

impl Warnings<'_> {
    pub(crate) fn at(&mut self, pointer: &str, what: &str) {
        let (tool, pointer) = (clean(self.tool, 128), clean(pointer, 200));
        self.said.push(format!("tool `{tool}`, at `{pointer}`: {what}"));
    }
}

/// The top-level properties of an object schema; `at` is where it stands in the tool.
///
/// # Errors
/// Why it is not the schema of an object.
pub(crate) fn properties(schema: &Value, at: &str, warnings: &mut Warnings<'_>) -> Result<Properties, &'static str> {
    let mut reader = Reader { root: schema, base: at, warnings, left: LARGEST };
    reader.object(schema, at, &mut Vec::new())
}

/// One walk over one schema.
struct Reader<'a, 'w, 't> {
    root: &'a Value,
    /// Where the root stands in the tool: references are relative to it.
    base: &'w str,
    warnings: &'w mut Warnings<'t>,
    /// How many more schemas are looked at.
    left: usize,
}

/// The references on the way to where a walk is, to see a recursion.
type Path = Vec<SmolStr>;

impl<'a> Reader<'a, '_, '_> {
    /// Counts one step down; `false` if it goes too far.
    fn step(&mut self, at: &str, depth: usize) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth > DEEPEST {
            if self.left > 0 || depth <= DEEPEST {
                self.warnings.at(at, "the schema goes on further than is followed; what is below is json");
            }
            return false;
        }
        true
    }

    /// Follows `reference`, unless the way there came through it already.
    fn follow(&mut self, reference: &str, at: &str, path: &mut Path) -> Option<&'a Value> {
        if path.iter().any(|seen| seen == reference) {
            return None;
        }
        let found = pointer::resolve(self.root, reference);
        if found.is_none() {
            let reference = clean(reference, 120);
            self.warnings.at(at, &format!("`{reference}` leads nowhere in this schema; taken as json"));
        }
        path.push(reference.into());
        found
    }

    fn object(&mut self, schema: &'a Value, at: &str, path: &mut Path) -> Result<Properties, &'static str> {
        let Value::Record(record) = schema else { return Err("it is not the schema of an object") };
        if let Some(reference) = record.get("$ref").and_then(Value::as_text) {
            if path.len() > DEEPEST {
                return Err("it goes on further than is followed");
            }
            let target = self.follow(reference, at, path).ok_or("it refers to what is not there")?;
            let inner = pointer::place(self.base, reference);
            let found = self.object(target, &inner, path);
            path.pop();
            let mut all = found?;
            merge_all(&mut all, self.members(schema, at, path));
            return Ok(all);
        }
        if !types::may_be_object(schema) {
            return Err("its type is not `object`");
        }
        let known = |key: &SmolStr| KEYWORDS.contains(&key.as_str());
        let harmless = |key: &SmolStr| ANNOTATIONS.contains(&key.as_str()) || key.starts_with("x-");
        let foreign = |key: &SmolStr| !harmless(key);
        if record.0.keys().any(foreign) && !record.0.keys().any(known) {
            return Err("it is not a JSON Schema");
        }
        Ok(self.members(schema, at, path))
    }

    /// The properties that a schema names: its own, those of every `allOf`, and as optional ones those of
    /// alternatives and conditions. Which of them go together is for the check of the raw schema.
    fn members(&mut self, schema: &'a Value, at: &str, path: &mut Path) -> Properties {
        let mut all = self.own(schema, at, path);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let Some(Value::List(branches)) = schema.field(keyword) else { continue };
            let mut alternatives: Option<Properties> = None;
            for (index, branch) in branches.iter().enumerate() {
                let at = format!("{at}/{keyword}/{index}");
                let Some(found) = self.branch(branch, &at, path) else { continue };
                if keyword == "allOf" {
                    merge_all(&mut all, found);
                } else {
                    alternatives = Some(match alternatives {
                        None => found,
                        Some(others) => merge_any(others, found),
                    });
                }
            }
            merge_all(&mut all, alternatives.unwrap_or_default());
        }
        for keyword in ["then", "else"] {
            let at = format!("{at}/{keyword}");
            let found = schema.field(keyword).and_then(|branch| self.branch(branch, &at, path));
            let mut found = found.unwrap_or_default();
            // What is there already says more about its type than a condition does.
            found.retain(|name, property| {
                property.required = false;
                !all.contains_key(name)
            });
            merge_all(&mut all, found);
        }
        all
    }

    fn branch(&mut self, branch: &'a Value, at: &str, path: &mut Path) -> Option<Properties> {
        if !matches!(branch, Value::Record(_)) || !self.step(at, at.matches('/').count()) {
            return None;
        }
        let Some(reference) = branch.field("$ref").and_then(Value::as_text) else {
            return types::may_be_object(branch).then(|| self.members(branch, at, path));
        };
        let target = self.follow(reference, at, path)?;
        let inner = pointer::place(self.base, reference);
        let found = if path.len() > DEEPEST { None } else { self.branch(target, &inner, path) };
        path.pop();
        found
    }

    fn own(&mut self, schema: &'a Value, at: &str, path: &mut Path) -> Properties {
        let mut own = Properties::new();
        match schema.field("properties") {
            Some(Value::Record(properties)) => {
                for (name, property) in properties.iter() {
                    let at = format!("{at}/properties/{}", pointer::escape(name));
                    let (ty, nullable) = self.ty(property, &at, path);
                    let base64 = ty == FieldType::File;
                    let ty = if base64 { FieldType::Text } else { ty };
                    let property = Property { ty, required: false, nullable, base64, doc: doc(property) };
                    own.insert(name.clone(), property);
                }
            }
            None | Some(Value::Absent) => {}
            Some(_) => self.warnings.at(&format!("{at}/properties"), "it is not an object; taken as no properties"),
        }
        match schema.field("required") {
            Some(Value::List(names)) => {
                for name in names.iter().filter_map(Value::as_text) {
                    let unknown =
                        || Property { ty: FieldType::Json, required: true, nullable: false, base64: false, doc: None };
                    own.entry(name.into()).or_insert_with(unknown).required = true;
                }
            }
            None | Some(Value::Absent) => {}
            Some(_) => self.warnings.at(&format!("{at}/required"), "it is not a list; taken as nothing required"),
        }
        own
    }
}

/// Both hold: required in one is required, and the type that says more counts.
fn merge_all(all: &mut Properties, more: Properties) {
    for (name, property) in more {
        match all.get_mut(&name) {
            None => {
                all.insert(name, property);
            }
            Some(known) => {
                known.required |= property.required;
                known.nullable &= property.nullable;
                if known.ty == FieldType::Json {
                    known.ty = property.ty;
                }
                known.base64 |= property.base64;
                known.doc = known.doc.take().or(property.doc);
            }
        }
    }
}

/// One of both holds: required is what is required in both, and two types are a union unless both are
/// choices (the tags by which the alternatives differ).
fn merge_any(mut left: Properties, mut right: Properties) -> Properties {
    for (name, property) in &mut left {
        match right.shift_remove(name) {
            None => property.required = false,
            Some(other) => {
                property.required &= other.required;
                property.nullable |= other.nullable;
                property.base64 &= other.base64;
                property.ty = types::either(&property.ty, &other.ty).unwrap_or(FieldType::Json);
            }
        }
    }
    left.extend(right.into_iter().map(|(name, property)| (name, Property { required: false, ..property })));
    left
}

/// What a schema says about itself in words.
pub(crate) fn doc(schema: &Value) -> Option<String> {
    let text = ["description", "title"].into_iter().find_map(|key| schema.field(key).and_then(Value::as_text))?;
    Some(clean(text, text::DOC)).filter(|doc| !doc.is_empty())
}

#[cfg(test)]
mod tests;
