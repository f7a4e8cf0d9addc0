//! The two ports through which a module keeps something: notes of what it found out, and a credential that is renewed
//! while it is used. Both live in the store, so that all processes of a project share them.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use lf_module::{CallError, Clock, Credential, Keeper, Kind, Manifest, Notes, Person};
use smol_str::SmolStr;

use crate::{
    host::clock::later,
    project::credentials::{CredentialError, Credentials},
    store::Store,
};

/// What a module noted, under its own name.
#[derive(Debug)]
pub(super) struct Noted {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) module: SmolStr,
}

#[async_trait]
impl Notes for Noted {
    async fn recall(&self, name: &str) -> Option<String> {
        match self.store.noted(&format!("{} {name}", self.module)).await {
            Ok(noted) => noted,
            Err(error) => {
                tracing::warn!("a note could not be read: {error}");
                None
            }
        }
    }

    async fn note(&self, name: &str, text: &str) {
        if let Err(error) = self.store.note(&format!("{} {name}", self.module), text, self.clock.now()).await {
            tracing::warn!("a note could not be kept: {error}");
        }
    }
}

/// A credential in the store.
pub(super) struct Kept {
    credentials: Credentials,
    clock: Arc<dyn Clock>,
    manifest: Manifest,
    name: SmolStr,
    /// Who takes its lock: every connection by itself, so that two of one process exclude each other too.
    owner: String,
    person: Option<Arc<dyn Person>>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Kept").field("name", &self.name).field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Kept {
    pub(super) fn new(
        credentials: Credentials,
        clock: Arc<dyn Clock>,
        manifest: &Manifest,
        name: &SmolStr,
        person: Option<Arc<dyn Person>>,
    ) -> Self {
        let owner = format!("{} {}", std::process::id(), uuid::Uuid::now_v7().simple());
        Self { credentials, clock, manifest: manifest.clone(), name: name.clone(), owner, person }
    }
}

#[async_trait]
impl Keeper for Kept {
    async fn current(&self) -> Result<Credential, CallError> {
        let opened = self.credentials.open(&self.name, &self.manifest).await.map_err(refused)?;
        opened.ok_or_else(|| {
            CallError::new(Kind::Credential, format!("the credential `{}` is not there any more", self.name))
        })
    }

    async fn lock(&self, length: Duration) -> Result<bool, CallError> {
        let now = self.clock.now();
        let taken = self.credentials.store().lock(&self.name, &self.owner, now, later(now, length)).await;
        taken.map_err(|error| refused(error.into()))
    }

    async fn unlock(&self) {
        if let Err(error) = self.credentials.store().unlock(&self.name, &self.owner).await {
            tracing::warn!("the lock of the credential `{}` could not be given back: {error}", self.name);
        }
    }

    async fn replace(&self, credential: &Credential) -> Result<bool, CallError> {
        let sealed = self.credentials.seal(&self.manifest.name, credential).map_err(refused)?;
        let kept = self.credentials.store().reseal(&sealed, &self.owner).await;
        kept.map_err(|error| refused(error.into()))
    }

    fn person(&self) -> Option<Arc<dyn Person>> {
        self.person.clone()
    }
}

fn refused(error: CredentialError) -> CallError {
    match error {
        CredentialError::Store(error) => CallError::passing(error.to_string()),
        CredentialError::Vault(error) => CallError::new(Kind::Credential, error.to_string()),
        CredentialError::Given(why) => CallError::new(Kind::Credential, why),
    }
}

/// A credential that is not in the store yet: what a sign-in makes of it is taken from here.
#[derive(Debug)]
pub struct Fresh {
    credential: Mutex<Credential>,
    person: Option<Arc<dyn Person>>,
}

impl Fresh {
    #[must_use]
    pub fn new(credential: Credential, person: Option<Arc<dyn Person>>) -> Self {
        Self { credential: Mutex::new(credential), person }
    }

    /// The credential as it is now.
    #[must_use]
    pub fn credential(&self) -> Credential {
        self.credential.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Keeper for Fresh {
    async fn current(&self) -> Result<Credential, CallError> {
        Ok(self.credential())
    }

    async fn lock(&self, _length: Duration) -> Result<bool, CallError> {
        Ok(true)
    }

    async fn unlock(&self) {}

    async fn replace(&self, credential: &Credential) -> Result<bool, CallError> {
        *self.credential.lock().unwrap_or_else(PoisonError::into_inner) = credential.clone();
        Ok(true)
    }

    fn person(&self) -> Option<Arc<dyn Person>> {
        self.person.clone()
    }
}
