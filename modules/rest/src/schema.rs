//! The JSON Schema of a type: compiled once, and read as fields.
//!
//! The schema is kept as it was written; fields are derived from it and never written back. What the
//! mapping does not understand becomes `json`, never an error.

use std::fmt;

use lf_module::FieldType;
use serde_json::Value as Json;
use smol_str::SmolStr;

use crate::pointer::Pointer;

/// References followed, or alternatives entered, on one path before it is taken for a circle.
const DEEPEST: usize = 16;
/// Parts of one `allOf` tree that are looked at.
const MOST_PARTS: usize = 256;

/// A compiled schema.
pub(crate) struct Schema {
    root: Json,
    validator: jsonschema::Validator,
    pub(crate) properties: Vec<Property>,
}

/// One top-level property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) name: SmolStr,
    pub(crate) ty: FieldType,
    pub(crate) doc: Option<String>,
    pub(crate) nullable: bool,
    pub(crate) required: bool,
    pub(crate) read_only: bool,
    pub(crate) write_only: bool,
    /// Of what stands in it as base64.
    pub(crate) media_type: Option<SmolStr>,
}

impl Property {
    /// Whether it is a file, or a list of files.
    pub(crate) fn holds_file(&self) -> bool {
        match &self.ty {
            FieldType::File => true,
            FieldType::List(item) => **item == FieldType::File,
            FieldType::Text
            | FieldType::Number
            | FieldType::Boolean
            | FieldType::Date
            | FieldType::Datetime
            | FieldType::Duration
            | FieldType::Json
            | FieldType::Choice(_) => false,
        }
    }
}

/// Where a pointer leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// To something described.
    Described(FieldType),
    /// Into something that the schema leaves open.
    Open,
    /// Nowhere: this token is not among these properties.
    Nowhere { token: String, known: Vec<String> },
}

/// What is wrong with a schema, and where in it.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) at: Pointer,
    pub(crate) why: String,
}

impl Schema {
    /// Compiles the schema of a record.
    pub(crate) fn compile(root: Json) -> Result<Self, Faulty> {
        let properties = properties(&root);
        let validator = jsonschema::options().build(&for_answers(&root, &properties)).map_err(|error| Faulty {
            at: Pointer::parse(error.instance_path().as_str()).unwrap_or_default(),
            why: error.to_string(),
        })?;
        Ok(Self { root, validator, properties })
    }

    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// The first place where `record` breaks the schema: its pointer within the record, and how.
    pub(crate) fn broken(&self, record: &Json) -> Option<(String, String)> {
        let error = self.validator.iter_errors(record).next()?;
        Some((error.instance_path().as_str().to_owned(), error.masked().to_string()))
    }

    /// Follows a pointer through the schema.
    pub(crate) fn lead(&self, pointer: &Pointer) -> Lead {
        let mut node = &self.root;
        for token in pointer.tokens() {
            node = resolve(node, &self.root);
            let Some(properties) = node.get("properties").and_then(Json::as_object) else {
                return Lead::Open;
            };
            let Some(next) = properties.get(token) else {
                let open = node.get("additionalProperties").is_some_and(|more| more != &Json::Bool(false))
                    || node.get("allOf").is_some();
                if open {
                    return Lead::Open;
                }
                let known = properties.keys().cloned().collect();
                return Lead::Nowhere { token: token.clone(), known };
            };
            node = next;
        }
        Lead::Described(field_type(node, &self.root, 0).0)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Schema").field("properties", &self.properties).finish_non_exhaustive()
    }
}

fn properties(root: &Json) -> Vec<Property> {
    let mut found: Vec<Property> = Vec::new();
    let mut parts = MOST_PARTS;
    gather(root, root, &mut parts, &mut found);
    found
}

/// An answer does not hold what is only written, also where the schema requires it.
fn for_answers(root: &Json, properties: &[Property]) -> Json {
    let mut schema = root.clone();
    if let Some(required) = schema.get_mut("required").and_then(Json::as_array_mut) {
        required.retain(|name| !properties.iter().any(|property| property.write_only && *name == *property.name));
    }
    schema
}

/// Properties of `node` and of what it refers to or is composed of with `allOf`; the first of a name counts.
fn gather(node: &Json, root: &Json, parts: &mut usize, found: &mut Vec<Property>) {
    let Some(left) = parts.checked_sub(1) else { return };
    *parts = left;
    let node = resolve(node, root);
    let required: Vec<&str> =
        node.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    for (name, schema) in node.get("properties").and_then(Json::as_object).into_iter().flatten() {
        if found.iter().any(|property| property.name == *name) {
            continue;
        }
        let (ty, nullable) = field_type(schema, root, 0);
        let resolved = resolve(schema, root);
        let flag = |key: &str| [schema, resolved].iter().any(|node| node.get(key) == Some(&Json::Bool(true)));
        let doc = [schema, resolved].iter().find_map(|node| node.get("description")?.as_str()).map(str::to_owned);
        found.push(Property {
            name: name.into(),
            ty,
            doc,
            nullable,
            required: required.contains(&name.as_str()),
            read_only: flag("readOnly"),
            write_only: flag("writeOnly"),
            media_type: media_type(schema, root, 0),
        });
    }
    for part in node.get("allOf").and_then(Json::as_array).into_iter().flatten() {
        gather(part, root, parts, found);
    }
    for property in found.iter_mut() {
        property.required |= required.contains(&property.name.as_str());
    }
}

/// Follows local references; whatever cannot be followed is left as it is.
fn resolve<'s>(node: &'s Json, root: &'s Json) -> &'s Json {
    let mut node = node;
    for _ in 0..DEEPEST {
        let target = node.get("$ref").and_then(Json::as_str).and_then(|target| target.strip_prefix('#'));
        let Some(next) = target.and_then(|pointer| root.pointer(pointer)) else { return node };
        node = next;
    }
    node
}

/// The field's type, and whether the schema admits `null`.
fn field_type(node: &Json, root: &Json, depth: usize) -> (FieldType, bool) {
    if depth > DEEPEST {
        return (FieldType::Json, true);
    }
    let node = resolve(node, root);
    for key in ["anyOf", "oneOf"] {
        let Some(parts) = node.get(key).and_then(Json::as_array) else { continue };
        let (nulls, rest): (Vec<&Json>, Vec<&Json>) = parts.iter().partition(|part| is_null(part));
        let nullable = !nulls.is_empty();
        if let [only] = rest.as_slice() {
            let (ty, inner) = field_type(only, root, depth + 1);
            return (ty, nullable || inner);
        }
        let constants: Option<Vec<SmolStr>> =
            rest.iter().map(|part| part.get("const")?.as_str().map(SmolStr::new)).collect();
        let choice = constants.filter(|constants| !constants.is_empty());
        return (choice.map_or(FieldType::Json, FieldType::Choice), nullable);
    }
    if let Some([only]) = node.get("allOf").and_then(Json::as_array).map(Vec::as_slice)
        && node.get("type").is_none()
    {
        return field_type(only, root, depth + 1);
    }
    if let Some(members) = node.get("enum").and_then(Json::as_array) {
        return one_of(members);
    }
    if let Some(text) = node.get("const").and_then(Json::as_str) {
        return (FieldType::Choice(vec![text.into()]), false);
    }
    let (name, nullable) = type_name(node);
    let ty = match name {
        Some("string") if is_base64(node) => FieldType::File,
        Some("string") => match node.get("format").and_then(Json::as_str) {
            Some("date") => FieldType::Date,
            Some("date-time") => FieldType::Datetime,
            _ => FieldType::Text,
        },
        Some("number" | "integer") => FieldType::Number,
        Some("boolean") => FieldType::Boolean,
        Some("array") => match node.get("items").map(|items| field_type(items, root, depth + 1)) {
            Some((FieldType::Json | FieldType::List(_), _) | (_, true)) | None => FieldType::Json,
            Some((item, false)) => FieldType::List(Box::new(item)),
        },
        _ => FieldType::Json,
    };
    // What is opaque may also be `null`, unless its type says otherwise.
    (ty, nullable || name.is_none())
}

fn is_base64(node: &Json) -> bool {
    node.get("contentEncoding").and_then(Json::as_str).is_some_and(|name| name.eq_ignore_ascii_case("base64"))
}

/// What base64 in it, or in its members, holds.
fn media_type(node: &Json, root: &Json, depth: usize) -> Option<SmolStr> {
    if depth > DEEPEST / 4 {
        return None;
    }
    let node = resolve(node, root);
    if let Some(name) = node.get("contentMediaType").and_then(Json::as_str) {
        return Some(name.into());
    }
    let alternatives = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| node.get(key)?.as_array()).flatten();
    let mut parts = alternatives.chain(node.get("items"));
    parts.find_map(|part| media_type(part, root, depth + 1))
}

fn one_of(members: &[Json]) -> (FieldType, bool) {
    let nullable = members.iter().any(Json::is_null);
    let rest: Vec<&Json> = members.iter().filter(|member| !member.is_null()).collect();
    let texts: Option<Vec<SmolStr>> = rest.iter().map(|member| member.as_str().map(SmolStr::new)).collect();
    let ty = match texts.filter(|texts| !texts.is_empty()) {
        Some(texts) => FieldType::Choice(texts),
        None if !rest.is_empty() && rest.iter().all(|member| member.is_number()) => FieldType::Number,
        None if !rest.is_empty() && rest.iter().all(|member| member.is_boolean()) => FieldType::Boolean,
        None => FieldType::Json,
    };
    (ty, nullable)
}

fn is_null(node: &Json) -> bool {
    node.get("type").and_then(Json::as_str) == Some("null") || node.get("const") == Some(&Json::Null)
}

/// The one type beside `null`, and whether `null` is there.
fn type_name(node: &Json) -> (Option<&str>, bool) {
    match node.get("type") {
        Some(Json::String(name)) => (Some(name), name == "null"),
        Some(Json::Array(names)) => {
            let rest: Vec<&str> = names.iter().filter_map(Json::as_str).filter(|name| *name != "null").collect();
            let nullable = rest.len() < names.len();
            if let [only] = rest.as_slice() { (Some(only), nullable) } else { (Some("several"), nullable) }
        }
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests;
