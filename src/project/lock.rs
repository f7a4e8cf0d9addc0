//! `listen-fire.lock`: what each connection said of itself, committed, so that a check needs no network and a drift
//! shows as a diff. Sorted, one field a line; no secrets, no times.

use std::{collections::BTreeMap, path::PathBuf};

use lf_lang::check::catalog::ConnectionKey;
use lf_module::{Description, TypeShape};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use super::{Project, ProjectError, files};

mod difference;
pub use difference::differences;

/// The file's name.
pub const FILE: &str = "listen-fire.lock";
const FORMAT: u64 = 1;
/// A line is broken up when it would be longer.
const WIDE: usize = 110;

/// One connection, as it was last described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locked {
    pub module: SmolStr,
    /// The credential's name and kind, so that an offline check knows it without the vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub using: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SmolStr>,
    /// Of what follows.
    pub hash: String,
    #[serde(default)]
    pub warnings: Vec<String>,
    pub types: Vec<TypeShape>,
}

impl Locked {
    /// What is kept of a description: types by name; facts about the server's version come and go, and stay out.
    #[must_use]
    pub fn new(module: &str, using: Option<&str>, kind: Option<&str>, description: &Description) -> Self {
        let mut types = description.types.clone();
        types.sort_by(|one, other| one.name.cmp(&other.name));
        let mut warnings = description.warnings.clone();
        warnings.sort();
        let mut locked = Self {
            module: module.into(),
            using: using.map(Into::into),
            kind: kind.map(Into::into),
            hash: String::new(),
            warnings,
            types,
        };
        locked.hash = locked.digest();
        locked
    }

    /// The description that an offline check works with.
    #[must_use]
    pub fn description(&self) -> Description {
        Description { types: self.types.clone(), warnings: self.warnings.clone(), facts: Vec::new() }
    }

    fn digest(&self) -> String {
        // Of what is written, so that a later version with one more fact about types reads the file all the same.
        let text = without_defaults(json!({ "types": self.types, "warnings": self.warnings })).to_string();
        let digest = Sha256::digest(text.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{hex}")
    }
}

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    pub connections: BTreeMap<ConnectionKey, Locked>,
}

#[derive(Deserialize)]
struct Written {
    format: u64,
    connections: BTreeMap<ConnectionKey, Locked>,
}

impl Lock {
    /// Where it lies.
    #[must_use]
    pub fn path(project: &Project) -> PathBuf {
        project.root.join(FILE)
    }

    /// The project's lock; empty if there is none yet.
    ///
    /// # Errors
    /// It cannot be read, is of a newer version, or was changed by hand.
    pub fn read(project: &Project) -> Result<Self, ProjectError> {
        let path = Self::path(project);
        if !path.exists() {
            return Ok(Self::default());
        }
        Self::parse(&files::read(&path)?).map_err(|why| ProjectError::io("use", &path, std::io::Error::other(why)))
    }

    /// The lock of a text.
    ///
    /// # Errors
    /// It is of a newer version, or was changed by hand.
    pub fn parse(text: &str) -> Result<Self, String> {
        let again = "delete it and run `listen-fire check`";
        let value: Value = serde_json::from_str(text).map_err(|why| format!("it is damaged ({why}); {again}"))?;
        match value.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => {}
            Some(newer) if newer > FORMAT => return Err(format!("it is of format {newer}, newer than this program's")),
            Some(_) | None => return Err(format!("it has no `format`; {again}")),
        }
        let written: Written =
            serde_json::from_value(value).map_err(|why| format!("it is damaged ({why}); {again}"))?;
        debug_assert_eq!(written.format, FORMAT);
        for (key, locked) in &written.connections {
            if locked.digest() != locked.hash {
                return Err(format!("`{key}` does not match its hash; {again}"));
            }
        }
        Ok(Self { connections: written.connections })
    }

    /// Writes the file, whole or not at all, and only if it says something else now. Whether it did.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, project: &Project) -> Result<bool, ProjectError> {
        let path = Self::path(project);
        let text = self.text();
        if path.exists() && files::read(&path).is_ok_and(|present| present == text) {
            return Ok(false);
        }
        files::replace(&path, &text)?;
        Ok(true)
    }

    fn text(&self) -> String {
        let connections: Map<String, Value> = self
            .connections
            .iter()
            .map(|(key, locked)| (key.to_string(), without_defaults(serde_json::to_value(locked).unwrap_or_default())))
            .collect();
        let mut text = String::new();
        layout(&json!({ "format": FORMAT, "connections": connections }), 0, &mut text);
        text.push('\n');
        text
    }
}

/// Leaves out what a reader fills in by itself: `false`, `null` and empty lists of types and fields.
fn without_defaults(mut locked: Value) -> Value {
    for shape in locked.get_mut("types").and_then(Value::as_array_mut).into_iter().flatten() {
        for field in shape.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
            prune(field);
        }
        prune(shape);
    }
    locked
}

fn prune(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(items) => !items.is_empty(),
            Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
        });
    }
}

/// JSON for diffs: what fits on a line stands on one.
fn layout(value: &Value, indent: usize, out: &mut String) {
    let flat = value.to_string();
    let (open, close, items): (char, char, Vec<(Option<&String>, &Value)>) = match value {
        Value::Object(object) => ('{', '}', object.iter().map(|(name, value)| (Some(name), value)).collect()),
        Value::Array(array) => ('[', ']', array.iter().map(|value| (None, value)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return out.push_str(&flat),
    };
    // The outer four levels (file, connections, connection, its list of types) are never on one line.
    if items.is_empty() || (indent > 3 && flat.len() + 2 * indent <= WIDE) {
        return out.push_str(&flat);
    }
    out.push(open);
    for (number, (name, value)) in items.into_iter().enumerate() {
        out.push_str(if number == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(indent + 1));
        if let Some(name) = name {
            out.push_str(&Value::String(name.clone()).to_string());
            out.push_str(": ");
        }
        layout(value, indent + 1, out);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(indent));
    out.push(close);
}

#[cfg(test)]
mod tests;
