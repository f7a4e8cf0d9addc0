//! `credential test NAME`: whether the system takes it.

use std::sync::Arc;

use clap::Args;
use lf_module::{Call, CallError, Connection, Credential, Keeper, Kind, Module, Person};

use crate::{
    cli::{
        exit::{Exit, Failure},
        shell::{Opened, Shell},
        sign_in,
    },
    host::{
        Holds, describe,
        load::{self, Connector, keep::Fresh},
    },
    store::memory::MemoryStore,
};

/// Try a credential against its system: the connection describes itself with it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  listen-fire credential test linear")]
pub(super) struct Arguments {
    /// Its name
    name: String,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    let name = arguments.name.as_str();
    let sealed = opened.store.get(name).await?;
    let Some(sealed) = sealed else { return Err(super::unknown(&opened, name).await?) };
    let module = super::module(&opened, &sealed.module)?;
    let credential = opened.connector.credentials.open(name, module.manifest()).await?;
    let Some(credential) = credential else { return Err(super::unknown(&opened, name).await?) };
    let keeper = opened.connector.keeper(module.as_ref(), &credential);
    let answer = attempt(&opened, module.as_ref(), credential, keeper).await;
    let refused = answer.as_ref().is_err_and(|why| why.kind == Kind::Credential);
    if answer.is_ok() || refused {
        opened.store.used(name, opened.connector.clock.now(), !refused).await?;
    }
    match answer {
        Ok(types) => {
            let text = format!("`{name}` works: {types} types");
            shell.output.done(&text, &serde_json::json!({ "name": name, "works": true, "types": types }));
            Ok(Exit::Done)
        }
        Err(why) => Err(failed(name, &why)),
    }
}

/// Describes the system with the credential; how many types it has.
pub(super) async fn attempt(
    opened: &Opened,
    module: &dyn Module,
    credential: Credential,
    keeper: Option<Arc<dyn Keeper>>,
) -> Result<usize, CallError> {
    let connection = connection(opened, module, credential, keeper)?;
    Ok(describe::one(opened.connector.clock.as_ref(), connection.as_ref()).await?.types.len())
}

/// Signs a person in, and describes the system if it is to be tried; the credential that comes of it.
pub(super) async fn sign_in(
    opened: &Opened,
    module: &dyn Module,
    credential: Credential,
    person: Arc<dyn Person>,
    tried: bool,
) -> Result<Credential, CallError> {
    let fresh = Arc::new(Fresh::new(credential.clone(), Some(person)));
    let connection = connection(opened, module, credential, Some(fresh.clone()))?;
    let call = Call { deadline: opened.connector.clock.monotonic() + sign_in::PATIENCE, idempotency: None };
    connection.sign_in(&call).await?;
    if tried {
        // Describing it may show that more has to be asked for, so a person's time is given to it.
        connection.describe(&call).await?;
    }
    Ok(fresh.credential())
}

fn connection(
    opened: &Opened,
    module: &dyn Module,
    credential: Credential,
    keeper: Option<Arc<dyn Keeper>>,
) -> Result<Arc<dyn Connection>, CallError> {
    let request = load::bare(&module.manifest().name, Some(&credential.name));
    // What holds the connection may be the credential that this one replaces.
    let holds = Holds::new(Arc::new(MemoryStore::default()), opened.connector.clock.clone());
    Connector { holds, ..opened.connector.clone() }.make(module, &request, Some(credential), keeper)
}

/// What is said of a credential that does not work.
pub(super) fn failed(name: &str, why: &CallError) -> Failure {
    let what = match why.kind {
        Kind::Credential | Kind::Refused => "was refused",
        Kind::Passing | Kind::Drift => "could not be tried",
        Kind::Limit => "cannot be used",
    };
    Failure::new(Exit::System, format!("`{name}` {what}: {}", why.message))
}
