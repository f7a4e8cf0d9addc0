//! From paths to a plan: read, describe, check, compile. What `run` and `check` share, so that what one refuses the
//! other refuses.
//!
//! Starts nothing and prints nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use lf_lang::{
    check::{
        self, Catalog, ConnectRequest, Program,
        catalog::{ConnectionKey, CredentialFacts, Described},
        connections,
        typed::Movement,
    },
    diag::{Diagnostic, Severity, codes},
    source::{SourceId, SourceMap, Span},
    syntax::ast,
};
use lf_module::{CallError, Connection, Description, Kind};
use smol_str::SmolStr;

use super::describe;
use crate::project::{
    Project, ProjectError,
    credentials::CredentialError,
    lock::{self, Lock, Locked, differences},
    registry::Registry,
};

pub mod by_hand;
pub mod connector;
pub mod earlier;
mod imagined;
pub mod keep;
mod old;
pub mod ready;
mod sources;
mod unfit;

pub use by_hand::ByHand;
pub use connector::{Again, Connector};
pub use ready::Ready;
pub use unfit::Unfit;

/// How the systems are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Describe; the lock file takes up what is new.
    Refresh,
    /// The same; where a system cannot be described now, whatever the reason, the lock file's description serves.
    RefreshOrOld,
    /// Describe, and compare with the lock file, which stays.
    Locked,
    /// Ask nobody: the lock file's descriptions.
    Offline,
}

/// What could not be done at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Credential(#[from] CredentialError),
}

/// What a connection has become since it was locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub connection: ConnectionKey,
    /// One for each difference.
    pub lines: Vec<String>,
}

/// A program, loaded.
#[derive(Debug)]
pub struct Loaded {
    pub sources: SourceMap,
    /// How many movement files there are.
    pub files: usize,
    pub problems: Vec<Diagnostic>,
    pub catalog: Catalog,
    /// `None` if there are errors.
    pub movement: Option<Movement>,
    pub requests: BTreeMap<ConnectionKey, ConnectRequest>,
    pub connections: BTreeMap<ConnectionKey, Arc<dyn Connection>>,
    /// Where the lock file and the systems differ.
    pub drift: Vec<Drift>,
    /// Connections that could not be described and whose description is the lock file's, and why.
    pub old: Vec<(ConnectionKey, CallError)>,
    /// The lock file as it should be now; save it with [`Lock::save`].
    pub lock: Lock,
}

impl Loaded {
    /// How many problems are of that severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }
}

/// Loads the files at `paths`, which are absolute; all files of the project if there are none. `sources` and `problems`
/// hold what reading the project's modules gave.
///
/// # Errors
/// A file or the store cannot be read. Faults in the files are no error: they are [`Loaded::problems`].
pub async fn load(
    project: &Project,
    connector: &Connector,
    (mut map, module_problems): (SourceMap, Vec<Diagnostic>),
    paths: &[PathBuf],
    ask: Ask,
) -> Result<Loaded, LoadError> {
    let sources = sources::read(project, paths, &mut map)?;
    let requests = connections(&sources.files);
    let before = Lock::read(project)?;
    let mut catalog = Catalog { modules: connector.registry.facts(), ..Catalog::default() };
    credentials(&mut catalog, connector, &before, &requests).await?;

    let mut world = World { connector, ask, before, catalog, connections: BTreeMap::new(), drift: vec![], old: vec![] };
    let mut lock = world.describe(&requests).await;
    let World { before, mut catalog, connections, mut drift, old, .. } = world;
    let asked: BTreeSet<_> = requests.iter().map(|request| &request.key).collect();
    let program = Program { map: &map, files: &sources.files, roots: &sources.roots };
    let checked = check::check(&program, &catalog);
    let mut problems = module_problems;
    problems.extend(sources.problems);
    problems.extend(checked.problems);
    once(&mut problems, &map, &connector.registry);
    problems.sort_by_key(|problem| (problem.primary.span, problem.code));
    let sound = !problems.iter().any(|problem| problem.severity == Severity::Error);
    // A mistake in a file may hide what connects it: only a sound program takes something out of the lock file.
    if sound && paths.is_empty() && ask != Ask::Offline {
        for key in before.connections.keys().filter(|key| !asked.contains(key)) {
            lock.connections.remove(key);
            drift.push(Drift { connection: key.clone(), lines: vec!["- no file connects it any more".to_owned()] });
        }
    }
    catalog.connections.retain(|key, _| asked.contains(key));
    Ok(Loaded {
        files: sources.files.len(),
        problems,
        movement: checked.movement.filter(|_| sound),
        requests: requests.into_iter().map(|request| (request.key.clone(), request)).collect(),
        sources: map,
        catalog,
        connections,
        drift,
        old,
        lock,
    })
}

/// A module whose file has faults is reported there, once.
pub fn once(problems: &mut Vec<Diagnostic>, map: &SourceMap, registry: &Registry) {
    problems.retain(|problem| {
        let text = || map.get(problem.primary.span.source).map(|file| file.slice(problem.primary.span));
        problem.code != codes::MOV_MODULE_UNKNOWN || !text().is_some_and(|name| registry.broken(name))
    });
}

/// What is known of these connections without asking a system: what the lock file says.
///
/// # Errors
/// The lock file or the store cannot be read.
pub async fn offline(
    project: &Project,
    connector: &Connector,
    requests: &[ConnectRequest],
) -> Result<Catalog, LoadError> {
    let before = Lock::read(project)?;
    let mut catalog = Catalog { modules: connector.registry.facts(), ..Catalog::default() };
    credentials(&mut catalog, connector, &before, requests).await?;
    let ask = Ask::Offline;
    let mut world = World { connector, ask, before, catalog, connections: BTreeMap::new(), drift: vec![], old: vec![] };
    world.describe(requests).await;
    Ok(world.catalog)
}

/// Fills in the credentials that the checker may hear of: sealed, given by the environment, or known to the lock file.
async fn credentials(
    catalog: &mut Catalog,
    connector: &Connector,
    lock: &Lock,
    requests: &[ConnectRequest],
) -> Result<(), LoadError> {
    // On a fresh clone only the lock file knows them; what is really there wins.
    for locked in lock.connections.values() {
        if let (Some(name), Some(kind)) = (&locked.using, &locked.kind) {
            let facts = CredentialFacts { module: locked.module.clone(), kind: kind.clone() };
            catalog.credentials.insert(name.clone(), facts);
        }
    }
    for sealed in connector.credentials.sealed().await? {
        catalog.credentials.insert(sealed.name, CredentialFacts { module: sealed.module, kind: sealed.kind });
    }
    for request in requests {
        let (Some(name), Some(module)) = (&request.using, connector.registry.get(&request.module)) else { continue };
        match connector.credentials.given_facts(name, module.manifest()) {
            Ok(None) => {}
            Ok(Some(facts)) => drop(catalog.credentials.insert(name.clone(), facts)),
            // Malformed: the connection says so when it is made.
            Err(_) => {
                let facts = CredentialFacts { module: request.module.clone(), kind: SmolStr::default() };
                catalog.credentials.insert(name.clone(), facts);
            }
        }
    }
    Ok(())
}

struct World<'w> {
    connector: &'w Connector,
    ask: Ask,
    before: Lock,
    catalog: Catalog,
    connections: BTreeMap<ConnectionKey, Arc<dyn Connection>>,
    drift: Vec<Drift>,
    old: Vec<(ConnectionKey, CallError)>,
}

impl World<'_> {
    /// Describes every connection that can be made, and gives the lock file as it is then.
    async fn describe(&mut self, requests: &[ConnectRequest]) -> Lock {
        let mut lock = self.before.clone();
        let requests: Vec<_> = requests.iter().filter(|request| self.fits(request)).collect();
        if self.ask == Ask::Offline {
            for request in requests {
                self.offline(request);
            }
            return lock;
        }
        let mut made = Vec::new();
        let mut answers = BTreeMap::new();
        for request in &requests {
            // The credential is read anew, so a refusal of the one before says nothing.
            self.connector.holds.mended(request.key.as_str()).await;
            match self.connector.connect(request).await {
                Ok(connection) => made.push((request.key.clone(), connection)),
                Err(why) => drop(answers.insert(request.key.clone(), Err(why))),
            }
        }
        self.connections.extend(made.iter().cloned());
        answers.extend(describe::all(self.connector.clock.as_ref(), made).await);
        for request in requests {
            match answers.remove(&request.key) {
                Some(Ok(description)) => self.described(request, description, &mut lock),
                Some(Err(why)) => self.failed(request, &why),
                None => {}
            }
            self.keep(&request.key).await;
        }
        lock
    }

    /// What was described is known to every process of the project: what a call finds changed is compared with it.
    async fn keep(&self, key: &ConnectionKey) {
        let Some(Described::Yes(description)) = self.catalog.connections.get(key) else { return };
        if self.ask == Ask::Locked {
            return;
        }
        let (store, now) = (self.connector.credentials.store(), self.connector.clock.now());
        if let Err(error) = store.save_description(key.as_str(), description, now).await {
            tracing::warn!("the description of {key} could not be kept: {error}");
        }
    }

    /// Whether module and credential fit; if not, the checker reports it and nobody is asked.
    fn fits(&self, request: &ConnectRequest) -> bool {
        let Some(facts) = self.catalog.modules.get(&request.module) else { return false };
        let credential = match &request.using {
            None => facts.credential_optional || !facts.takes_credential,
            Some(name) => self.catalog.credentials.get(name).is_some_and(|facts| facts.module == request.module),
        };
        credential && !facts.not_installed
    }

    fn offline(&mut self, request: &ConnectRequest) {
        let described = match self.before.connections.get(&request.key) {
            Some(locked) => Described::Yes(locked.description()),
            None => Described::No {
                refused: false,
                why: format!("`{}` has no description of it; check once without `--offline`", lock::FILE),
                offline: None,
            },
        };
        self.catalog.connections.insert(request.key.clone(), described);
    }

    fn described(&mut self, request: &ConnectRequest, description: Description, lock: &mut Lock) {
        let kind = request.using.as_ref().and_then(|name| self.catalog.credentials.get(name));
        let kind = kind.map(|facts| facts.kind.as_str());
        let now = Locked::new(&request.module, request.using.as_deref(), kind, &description);
        let lines = match self.before.connections.get(&request.key) {
            Some(before) => differences(before, &now),
            None => vec!["+ described for the first time".to_owned()],
        };
        if !lines.is_empty() {
            self.drift.push(Drift { connection: request.key.clone(), lines });
        }
        lock.connections.insert(request.key.clone(), now);
        self.catalog.connections.insert(request.key.clone(), Described::Yes(description));
    }

    fn failed(&mut self, request: &ConnectRequest, why: &CallError) {
        let key = request.key.clone();
        let locked = self.before.connections.get(&key);
        if let (Ask::RefreshOrOld, Some(locked)) = (self.ask, locked)
            && let Some(connection) = self.connections.remove(&key)
        {
            let old = old::Old::new(connection, locked.clone(), self.connector.clock.clone());
            self.connections.insert(key.clone(), Arc::new(old));
            self.old.push((key.clone(), why.clone()));
            self.catalog.connections.insert(key, Described::Yes(locked.description()));
            return;
        }
        let refused = matches!(why.kind, Kind::Refused | Kind::Credential);
        let offline = locked.map(|_| format!("the description in `{}`", lock::FILE));
        self.catalog.connections.insert(key, Described::No { refused, why: why.message.clone(), offline });
    }
}

/// Every connection that the project's files import, each once.
///
/// # Errors
/// A file cannot be read.
pub fn requests(project: &Project) -> Result<Vec<ConnectRequest>, ProjectError> {
    Ok(connections(&sources::read(project, &[], &mut SourceMap::default())?.files))
}

/// The connections that the project's files call by a name, each once; and every name that they use.
///
/// # Errors
/// A file cannot be read.
pub fn named(project: &Project, name: &str) -> Result<(Vec<ConnectRequest>, BTreeSet<SmolStr>), ProjectError> {
    let sources = sources::read(project, &[], &mut SourceMap::default())?;
    let mut found: Vec<ConnectRequest> = Vec::new();
    let mut names = BTreeSet::new();
    for file in sources.files {
        for item in file.items {
            let ast::Item::Connection(connection) = &item else { continue };
            names.insert(connection.name.text.clone());
            if connection.name.text == name {
                let alone = ast::File { source: file.source, items: vec![item], comments: Vec::new() };
                let new =
                    connections(&[alone]).into_iter().filter(|one| found.iter().all(|other| other.key != one.key));
                let new: Vec<_> = new.collect();
                found.extend(new);
            }
        }
    }
    Ok((found, names))
}

/// A connection of a module without settings, for a command that names a credential or a module.
#[must_use]
pub fn bare(module: &str, using: Option<&str>) -> ConnectRequest {
    let settings = BTreeMap::new();
    let key = ConnectionKey::new(module, using, &settings);
    let span = Span::new(SourceId(0), 0, 0);
    ConnectRequest { key, module: module.into(), using: using.map(Into::into), settings, span }
}
