//! A module: what it is called, which credentials it takes, and how data becomes a connection.

use std::{fmt, sync::Arc};

use indexmap::IndexMap;
use jiff::Timestamp;
use smol_str::SmolStr;

use crate::{
    call::Settings, connection::Connection, error::CallError, ports::Ports, schema::FieldType, secret::Secret,
};

/// What a module says of itself without any connection.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// `@lf/mcp`, `#acme_crm`.
    pub name: SmolStr,
    /// One line.
    pub doc: String,
    /// The kinds of credential it takes; empty if it takes none.
    pub credentials: Vec<CredentialKind>,
    /// Whether `connect … using` may be left out.
    pub credential_optional: bool,
    /// The settings that a `connect` may give in braces.
    pub settings: Vec<Setting>,
}

/// One setting of a `connect`.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its key.
    pub name: SmolStr,
    /// The type of its literal.
    pub ty: FieldType,
    /// One line.
    pub doc: String,
}

/// One kind of credential.
#[derive(Debug, Clone)]
pub struct CredentialKind {
    /// Its name, given to `credential add --credential`.
    pub name: SmolStr,
    /// One line.
    pub doc: String,
    /// What is asked for.
    pub fields: Vec<CredentialField>,
    /// Why it cannot be added as things stand, with the command that changes that.
    pub refusal: Option<String>,
    /// What is asked for is not enough: a person signs in with it, at a browser.
    pub signs_in: bool,
}

/// One field of a credential.
#[derive(Debug, Clone)]
pub struct CredentialField {
    /// Its name, given to `--set`.
    pub name: SmolStr,
    /// What to ask for.
    pub doc: String,
    /// It is typed unseen and never shown.
    pub secret: bool,
    /// It may not be left out.
    pub required: bool,
}

/// A credential, opened.
#[derive(Debug, Clone)]
pub struct Credential {
    /// Its name in the project.
    pub name: SmolStr,
    /// Its kind.
    pub kind: SmolStr,
    /// Its fields. All are kept as secrets, also those that are not secret by themselves.
    pub fields: IndexMap<SmolStr, Secret>,
}

impl Credential {
    /// The field `name`, if it was given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.fields.get(name)
    }
}

/// What a connection is made of.
#[derive(Debug, Clone)]
pub struct Target {
    /// The connection's identity in the project, for messages and positions.
    pub id: SmolStr,
    /// The literal settings of the `connect`.
    pub settings: Settings,
    /// The credential named by `using`.
    pub credential: Option<Credential>,
    /// What the host lends.
    pub ports: Ports,
}

/// Fixed code for one kind of system.
pub trait Module: Send + Sync + fmt::Debug {
    /// What it is and takes.
    fn manifest(&self) -> &Manifest;

    /// What can be said of a credential without asking its system: how old a token is. Never a secret.
    fn about(&self, credential: &Credential, now: Timestamp) -> Vec<(String, String)> {
        let _ = (credential, now);
        Vec::new()
    }

    /// Makes a connection of data. Sends nothing: the first call does.
    ///
    /// # Errors
    /// [`crate::Kind::Limit`] if the data cannot make a connection (a URL that is none, a missing field).
    fn connect(&self, target: Target) -> Result<Arc<dyn Connection>, CallError>;
}
