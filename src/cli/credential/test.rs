//! `credential test NAME`: whether the system takes it.

use std::sync::Arc;

use clap::Args;
use lf_module::{CallError, Credential, Kind, Module};

use crate::{
    cli::{
        exit::{Exit, Failure},
        shell::{Opened, Shell},
    },
    host::{
        Holds, describe,
        load::{self, Connector},
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
    let answer = attempt(&opened, module.as_ref(), credential).await;
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
pub(super) async fn attempt(opened: &Opened, module: &dyn Module, credential: Credential) -> Result<usize, CallError> {
    let (name, manifest) = (credential.name.clone(), module.manifest());
    let request = load::bare(&manifest.name, Some(&name));
    // What holds the connection may be the credential that this one replaces.
    let clock = opened.connector.clock.clone();
    let holds = Holds::new(Arc::new(MemoryStore::default()), clock);
    let connection = Connector { holds, ..opened.connector.clone() }.make(module, &request, Some(credential), None)?;
    Ok(describe::one(opened.connector.clock.as_ref(), connection.as_ref()).await?.types.len())
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
