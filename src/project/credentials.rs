//! The project's credentials: sealed ones in the store, and those that come whole from the environment in CI.
//!
//! One from the environment wins over a sealed one of the same name. Values leave only as [`Credential`], to be handed
//! to a module; no error holds one.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use indexmap::IndexMap;
use lf_lang::{check::catalog::CredentialFacts, diag::suggest};
use lf_module::{Credential, CredentialKind, Manifest, Secret};
use smol_str::SmolStr;

use super::{
    file::quoted,
    vault::{Vault, VaultError},
};
use crate::store::{Sealed, Store, StoreError};

mod rotate;

pub use rotate::Rotated;

/// What the environment gives, read once at the edge.
#[derive(Clone, Default)]
pub struct Given {
    /// `LISTEN_FIRE_KEY`.
    pub key: Option<Secret>,
    /// `LISTEN_FIRE_KEY_NEXT`: what takes its place.
    pub next_key: Option<Secret>,
    /// Each `LISTEN_FIRE_CREDENTIAL_<NAME>`: the part after the last `_` of the prefix, and its JSON.
    pub credentials: BTreeMap<String, Secret>,
}

/// What the variables of credentials begin with.
pub const PREFIX: &str = "LISTEN_FIRE_CREDENTIAL_";

impl fmt::Debug for Given {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.credentials.keys().collect();
        out.debug_struct("Given").field("key", &self.key).field("credentials", &names).finish()
    }
}

/// Why a credential cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was given does not make a credential of this kind.
    #[error("{0}")]
    Given(String),
}

/// The credentials of one project.
#[derive(Debug, Clone)]
pub struct Credentials {
    given: Given,
    store: Arc<dyn Store>,
    key_file: PathBuf,
}

impl Credentials {
    #[must_use]
    pub fn new(given: Given, store: Arc<dyn Store>, key_file: PathBuf) -> Self {
        Self { given, store, key_file }
    }

    /// Where they are kept.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Every sealed credential, by name.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn sealed(&self) -> Result<Vec<Sealed>, CredentialError> {
        Ok(self.store.all().await?)
    }

    /// The variables of the environment that hold a credential, in full.
    pub fn variables(&self) -> impl Iterator<Item = String> {
        self.given.credentials.keys().map(|name| format!("{PREFIX}{name}"))
    }

    /// The variable that gives `name`, if one does.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<String> {
        let variable = variable(name);
        self.given.credentials.contains_key(&variable).then(|| format!("{PREFIX}{variable}"))
    }

    /// What the checker needs to know of the credential that a `connect` of `module` names.
    ///
    /// # Errors
    /// What the environment gives is no credential of that module.
    pub fn given_facts(&self, name: &str, manifest: &Manifest) -> Result<Option<CredentialFacts>, CredentialError> {
        let Some(text) = self.given.credentials.get(&variable(name)) else { return Ok(None) };
        let (module, credential) = from_json(name, text, manifest)?;
        Ok(Some(CredentialFacts { module, kind: credential.kind }))
    }

    /// Opens `name` for a connection of the module. `None` if there is none of that name.
    ///
    /// # Errors
    /// It is sealed with another key, or the environment's is malformed.
    pub async fn open(&self, name: &str, manifest: &Manifest) -> Result<Option<Credential>, CredentialError> {
        if let Some(text) = self.given.credentials.get(&variable(name)) {
            return Ok(Some(from_json(name, text, manifest)?.1));
        }
        let Some(sealed) = self.store.get(name).await? else { return Ok(None) };
        Ok(Some(self.unseal(&sealed)?))
    }

    /// The secret of a module's OAuth app, if one was sealed.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn app_secret(&self, module: &str) -> Result<Option<Secret>, CredentialError> {
        let name = app_name(module);
        let Some(sealed) = self.store.get(&name).await? else { return Ok(None) };
        Ok(self.unseal(&sealed)?.fields.swap_remove("client_secret"))
    }

    /// Seals the secret of a module's OAuth app.
    ///
    /// # Errors
    /// It cannot be kept.
    pub async fn keep_app_secret(&self, module: &str, secret: Secret) -> Result<(), CredentialError> {
        let fields = [("client_secret".into(), secret)].into_iter().collect();
        let app = Credential { name: app_name(module), kind: APP.into(), fields };
        Ok(self.store.put(&self.seal(module, &app)?).await?)
    }

    /// Opens a sealed credential.
    ///
    /// # Errors
    /// It was sealed with another key, or changed since.
    pub fn unseal(&self, sealed: &Sealed) -> Result<Credential, CredentialError> {
        // In the middle of a rotation either key may be the one.
        if let Some(next) = self.next_vault()?.filter(|next| *next.id() == sealed.key_id) {
            return Ok(next.unseal(sealed)?);
        }
        let Some(vault) = Vault::open(self.given.key.as_ref(), &self.key_file)? else {
            return Err(VaultError::Missing { name: sealed.name.clone(), path: self.key_file.clone() }.into());
        };
        Ok(vault.unseal(sealed)?)
    }

    /// The key that is taking the place of the present one, while that goes on.
    fn next_vault(&self) -> Result<Option<Vault>, CredentialError> {
        Ok(match (&self.given.key, &self.given.next_key) {
            (Some(_), None) => None,
            (Some(_), next) => Vault::open(next.as_ref(), &self.key_file)?,
            (None, _) => Vault::open(None, &self.next_file())?,
        })
    }

    fn next_file(&self) -> PathBuf {
        self.key_file.with_extension("next")
    }

    /// Seals a credential under the project's key, which is made if there is none yet.
    ///
    /// # Errors
    /// The key cannot be had.
    pub fn seal(&self, module: &str, credential: &Credential) -> Result<Sealed, CredentialError> {
        let vault = match self.next_vault()? {
            Some(next) => next,
            None => Vault::open_or_make(self.given.key.as_ref(), &self.key_file)?,
        };
        Ok(vault.seal(module, credential)?)
    }
}

/// The kind of what an OAuth app keeps.
pub const APP: &str = "oauth_app";

/// The name under which the secret of a module's OAuth app is kept: one that no person can give to a credential.
#[must_use]
pub fn app_name(module: &str) -> SmolStr {
    format!("`{module}`").into()
}

/// `linear` is given by `LISTEN_FIRE_CREDENTIAL_LINEAR`.
fn variable(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' }).collect()
}

/// A credential from `{"module": …, "kind": …, field: …}`; without a kind, the one whose fields fit.
fn from_json(name: &str, text: &Secret, manifest: &Manifest) -> Result<(SmolStr, Credential), CredentialError> {
    let variable = format!("`{PREFIX}{}`", variable(name));
    let wrong = |why: &str| CredentialError::Given(format!("{variable} {why}"));
    let fields: IndexMap<SmolStr, serde_json::Value> =
        serde_json::from_str(text.expose()).map_err(|_| wrong("is not a JSON object"))?;
    let mut texts = IndexMap::new();
    for (field, value) in fields {
        let serde_json::Value::String(value) = value else {
            return Err(wrong(&format!("has a `{field}` that is not a text")));
        };
        texts.insert(field, Secret::new(value));
    }
    let module = texts.shift_remove("module").map_or_else(|| manifest.name.clone(), |module| module.expose().into());
    if module != manifest.name {
        // A credential opens its own module only; the checker says so with the place.
        let kind = texts.shift_remove("kind").map(|kind| kind.expose().into()).unwrap_or_default();
        return Ok((module, Credential { name: name.into(), kind, fields: texts }));
    }
    let kind = match texts.shift_remove("kind") {
        Some(kind) => kind_of(manifest, kind.expose()).map_err(|why| wrong(&format!("names a kind: {why}")))?,
        None => {
            let kinds: Vec<_> =
                manifest.credentials.iter().filter(|kind| kind.refusal.is_none() && !kind.signs_in).collect();
            let mut fitting = kinds.iter().copied().filter(|kind| misfit(kind, &texts).is_none());
            match (fitting.next(), fitting.next(), kinds.as_slice()) {
                (Some(kind), None, _) => kind,
                (None, None, [kind]) => *kind,
                (None, _, _) => return Err(wrong("fits no kind of credential; say which with `kind`")),
                (Some(_), _, _) => return Err(wrong("fits several kinds of credential; say which with `kind`")),
            }
        }
    };
    if let Some(refusal) = &kind.refusal {
        return Err(wrong(&format!("cannot be used: {refusal}")));
    }
    if kind.signs_in {
        let kind = &kind.name;
        return Err(wrong(&format!(
            "is of the kind `{kind}`, which a person signs in for at a browser, so it cannot come \
                                   from a variable"
        )));
    }
    if let Some(why) = misfit(kind, &texts) {
        return Err(wrong(&why));
    }
    Ok((module, Credential { name: name.into(), kind: kind.name.clone(), fields: texts }))
}

/// The kind of that name.
///
/// # Errors
/// There is none: which was meant, or which there are.
pub fn kind_of<'m>(manifest: &'m Manifest, name: &str) -> Result<&'m CredentialKind, String> {
    if let Some(kind) = manifest.credentials.iter().find(|kind| kind.name == name) {
        return Ok(kind);
    }
    let names: Vec<_> = manifest.credentials.iter().map(|kind| kind.name.as_str()).collect();
    let help = match suggest::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "it takes none".to_owned(),
        None => format!("it has {}", quoted(&names)),
    };
    Err(format!("`{}` has no credential kind `{name}`; {help}", manifest.name))
}

/// Why the kind has no field of that name; `None` if it has.
#[must_use]
pub fn unknown(kind: &CredentialKind, field: &str) -> Option<String> {
    let names: Vec<_> = kind.fields.iter().map(|field| field.name.as_str()).collect();
    if names.contains(&field) {
        return None;
    }
    let near = suggest::nearest(field, names.iter().copied());
    let help = near.map_or_else(|| format!("it has {}", quoted(&names)), |near| format!("did you mean `{near}`?"));
    Some(format!("has a field `{field}` that `{}` does not have; {help}", kind.name))
}

/// Why these fields do not make a credential of the kind: one unknown, or one missing.
#[must_use]
pub fn misfit(kind: &CredentialKind, fields: &IndexMap<SmolStr, Secret>) -> Option<String> {
    if let Some(why) = fields.keys().find_map(|field| unknown(kind, field)) {
        return Some(why);
    }
    let missing = kind
        .fields
        .iter()
        .find(|field| field.required && fields.get(&field.name).is_none_or(|value| value.expose().trim().is_empty()));
    missing.map(|field| format!("lacks `{}` ({})", field.name, field.doc))
}

#[cfg(test)]
mod tests;
