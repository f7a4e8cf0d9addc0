//! What the checker knows of the world: described connections, installed modules, credentials. Data, handed in.
//!
//! Nothing here asks a system anything. The loader collects the connections that files import
//! ([`ConnectionKey`]), describes each once, and hands the result in.

use std::{collections::BTreeMap, fmt};

use lf_module::{Description, json, value::Value};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// The identity of a connection: same module, credential and settings are one connection (one graph).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionKey(SmolStr);

impl ConnectionKey {
    /// ``#acme_crm using acme``, ``@lf/mcp using linear {"timeout":"PT10S"}``.
    #[must_use]
    pub fn new(module: &str, using: Option<&str>, settings: &BTreeMap<SmolStr, Value>) -> Self {
        let mut text = module.to_owned();
        if let Some(using) = using {
            text.push_str(" using ");
            text.push_str(using);
        }
        if !settings.is_empty() {
            let record = settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            text.push(' ');
            text.push_str(&json::canonical(&Value::record(record)));
        }
        Self(text.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConnectionKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Everything the checker knows of the world.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Catalog {
    /// The modules that this project can use, by name (`@lf/mcp`, `#acme_crm`).
    pub modules: BTreeMap<SmolStr, ModuleFacts>,
    /// The project's credentials, by name. Never their values.
    pub credentials: BTreeMap<SmolStr, CredentialFacts>,
    /// What each connection said of itself.
    pub connections: BTreeMap<ConnectionKey, Described>,
}

/// What the checker needs to know of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModuleFacts {
    /// Known but not installed: `listen-fire connect NAME` does that.
    pub not_installed: bool,
    /// Whether it takes a credential.
    pub takes_credential: bool,
    /// Whether a credential may be left out.
    pub credential_optional: bool,
    /// The settings of `connect … { }` and the types of their literals.
    pub settings: BTreeMap<SmolStr, lf_module::FieldType>,
}

/// What the checker needs to know of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialFacts {
    pub module: SmolStr,
    pub kind: SmolStr,
}

/// The answer to "what are you?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Described {
    Yes(Description),
    /// It could not be described.
    No {
        /// The system answered and said no (else it could not be reached).
        refused: bool,
        /// One sentence: what was asked, what came back.
        why: String,
        /// What `--offline` would use, if there is something.
        offline: Option<String>,
    },
}
