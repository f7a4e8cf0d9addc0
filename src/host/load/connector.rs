//! From what a `connect` says to a connection: module, credential, settings, ports.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use lf_lang::check::{ConnectRequest, catalog::ConnectionKey};
use lf_module::{CallError, Clock, Connection, Credential, Keeper, Kind, Module, Ports, Random, Target};

use super::{
    keep::{Kept, Noted},
    old::Old,
};
use crate::{
    host::{Holds, Reconnect},
    project::{credentials::Credentials, lock::Locked, registry::Registry},
};

/// What connections are made with.
#[derive(Debug, Clone)]
pub struct Connector {
    pub registry: Registry,
    pub credentials: Credentials,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub holds: Holds,
}

impl Connector {
    /// Makes a connection of what the files ask for. Sends nothing.
    ///
    /// # Errors
    /// The module, the credential or the settings do not make one.
    pub async fn connect(&self, request: &ConnectRequest) -> Result<Arc<dyn Connection>, CallError> {
        let Some(module) = self.registry.get(&request.module) else {
            return Err(CallError::new(Kind::Limit, format!("the module `{}` cannot be used here", request.module)));
        };
        let credential = match &request.using {
            None => None,
            Some(name) => {
                let opened = self.credentials.open(name, module.manifest()).await;
                let opened = opened.map_err(|why| CallError::new(Kind::Credential, why.to_string()))?;
                let missing = || CallError::new(Kind::Credential, format!("there is no credential `{name}`"));
                Some(opened.ok_or_else(missing)?)
            }
        };
        let keeper = credential.as_ref().and_then(|credential| self.keeper(module.as_ref(), credential));
        self.make(module.as_ref(), request, credential, keeper)
    }

    /// Where a credential of the store is kept, if it is of a kind that is renewed while it is used.
    #[must_use]
    pub fn keeper(&self, module: &dyn Module, credential: &Credential) -> Option<Arc<dyn Keeper>> {
        let manifest = module.manifest();
        manifest.credentials.iter().find(|kind| kind.name == credential.kind && kind.signs_in)?;
        let (credentials, clock) = (self.credentials.clone(), self.clock.clone());
        // Nobody sits at a connection that a program made: a person signs in with `credential add`.
        Some(Arc::new(Kept::new(credentials, clock, manifest, &credential.name, None)))
    }

    /// The same with a credential in hand, and where it is kept if it is one that is renewed.
    ///
    /// # Errors
    /// The credential or the settings do not make one.
    pub fn make(
        &self,
        module: &dyn Module,
        request: &ConnectRequest,
        credential: Option<Credential>,
        keeper: Option<Arc<dyn Keeper>>,
    ) -> Result<Arc<dyn Connection>, CallError> {
        let throttle = self.holds.throttle(request.key.as_str());
        let store = self.credentials.store().clone();
        let notes = Noted { store, clock: self.clock.clone(), module: request.module.clone() };
        let ports = Ports {
            clock: self.clock.clone(),
            random: self.random.clone(),
            throttle,
            notes: Some(Arc::new(notes)),
            keeper,
        };
        let settings = request.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        module.connect(Target { id: request.key.as_str().into(), settings, credential, ports })
    }
}

/// Makes the connections of a program anew, with the credentials as they are then.
#[derive(Debug)]
pub struct Again {
    pub connector: Connector,
    pub requests: BTreeMap<ConnectionKey, ConnectRequest>,
    /// What those have to turn out to be that were not described when the program was loaded.
    pub expected: BTreeMap<ConnectionKey, Locked>,
}

#[async_trait]
impl Reconnect for Again {
    async fn reconnect(&self, connection: &ConnectionKey) -> Result<Arc<dyn Connection>, CallError> {
        let Some(request) = self.requests.get(connection) else {
            return Err(CallError::new(Kind::Limit, format!("`{connection}` is no connection of this program")));
        };
        let made = self.connector.connect(request).await?;
        Ok(match self.expected.get(connection) {
            None => made,
            Some(locked) => Arc::new(Old::new(made, locked.clone(), self.connector.clock.clone())),
        })
    }
}
