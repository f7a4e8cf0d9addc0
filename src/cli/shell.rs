//! What every command has: the output, the environment, and the project with all that is needed to speak to its
//! systems. Assembles; decides nothing.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use lf_lang::{diag::Diagnostic, diag::Severity, source::SourceMap};

use super::{
    environment::Environment,
    exit::{Exit, Failure},
    output::Output,
    unbuilt,
};
use crate::{
    host::{
        Holds,
        clock::{Dice, System},
        load::Connector,
    },
    project::{Project, credentials::Credentials, file, registry::Registry},
    store::{
        Store, StoreError,
        memory::MemoryStore,
        sqlite::{Durability, RunLock, SqliteStore},
    },
};

/// Where the project is.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// The project's folder, instead of the one that the current folder lies in
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// What every command has.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) output: Output,
    pub(super) environment: Environment,
    folder: Option<PathBuf>,
}

/// A project, and what is needed to speak to its systems.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) project: Project,
    pub(super) store: Arc<dyn Store>,
    /// The same, where it is a file.
    pub(super) file: Option<SqliteStore>,
    pub(super) connector: Connector,
    /// What reading the project's own modules gave.
    pub(super) modules: (SourceMap, Vec<Diagnostic>),
}

impl Shell {
    pub(super) fn new(output: Output, place: Arguments, environment: Environment) -> Self {
        Self { output, environment, folder: place.project }
    }

    /// The project that the command is about.
    pub(super) fn project(&self) -> Result<Project, Failure> {
        let found = match &self.folder {
            Some(folder) => Project::open(&self.absolute(folder)),
            None => Project::find(&self.environment.folder),
        };
        found.map_err(Failure::from)
    }

    /// A path as the process sees it.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.environment.folder.join(path)
    }

    /// The project with its store, for a command that keeps something in it.
    pub(super) async fn open(&self) -> Result<Opened, Failure> {
        let project = self.project()?;
        let file = store(&project).await?;
        self.with(project, Some(file)).await
    }

    /// The project in that very folder, with its store.
    pub(super) async fn open_at(&self, folder: &Path) -> Result<Opened, Failure> {
        let project = Project::open(folder)?;
        let file = store(&project).await?;
        self.with(project, Some(file)).await
    }

    /// The same, for a command that only looks: where nothing was ever stored, nothing is made.
    pub(super) async fn look(&self) -> Result<Opened, Failure> {
        self.look_over(self.project()?).await
    }

    /// The same for the project in that very folder.
    pub(super) async fn look_at(&self, folder: &Path) -> Result<Opened, Failure> {
        self.look_over(Project::open(folder)?).await
    }

    async fn look_over(&self, project: Project) -> Result<Opened, Failure> {
        let path = state_file(&project)?;
        // A store that may not be looked at is not a store that is not there.
        let there = path
            .try_exists()
            .map_err(|why| Failure::new(Exit::Damaged, format!("`{}` cannot be opened: {why}", path.display())))?;
        let file = if there { Some(store(&project).await?) } else { None };
        self.with(project, file).await
    }

    /// The project alone, for a command that asks nobody and keeps nothing.
    pub(super) async fn offline(&self) -> Result<Opened, Failure> {
        self.with(self.project()?, None).await
    }

    async fn with(&self, project: Project, file: Option<SqliteStore>) -> Result<Opened, Failure> {
        let store: Arc<dyn Store> = match &file {
            Some(file) => Arc::new(file.clone()),
            None => Arc::new(MemoryStore::default()),
        };
        let key_file = project.state().join("key");
        let credentials = Credentials::new(self.environment.given.clone(), store.clone(), key_file);
        let mut secrets = BTreeMap::new();
        for module in project.file.oauth.keys() {
            match credentials.app_secret(module).await {
                Ok(secret) => secrets.extend(secret.map(|secret| (module.clone(), secret))),
                // What needs it will say so; the rest of the project is as it was.
                Err(why) => self.output.note(&format!("the secret of the OAuth app of `{module}`: {why}")),
            }
        }
        let mut sources = SourceMap::default();
        let (registry, problems) = Registry::load(&project, &secrets, &mut sources)?;
        let clock = Arc::new(System::new());
        let holds = Holds::new(store.clone(), clock.clone());
        let connector = Connector { registry, credentials, clock, random: Arc::new(Dice), holds };
        Ok(Opened { project, store, file, connector, modules: (sources, problems) })
    }
}

impl Opened {
    /// Takes the project for this process, as its one runner.
    pub(super) fn lock_runner(&self) -> Result<Option<RunLock>, StoreError> {
        self.file.as_ref().map(SqliteStore::lock_runner).transpose()
    }

    /// The faults of the project's own modules, for a command that cannot go on with them.
    pub(super) fn whole_modules(&mut self) -> Result<(), Failure> {
        let (sources, problems) = std::mem::take(&mut self.modules);
        if problems.iter().all(|problem| problem.severity != Severity::Error) {
            return Ok(());
        }
        let failure = Failure::new(Exit::Damaged, "a module of this project has faults");
        Err(Failure { report: Some((Box::new(sources), problems)), ..failure })
    }
}

async fn store(project: &Project) -> Result<SqliteStore, Failure> {
    project.make_state()?;
    let durability = match project.file.store.durability {
        file::Durability::Full => Durability::Full,
        file::Durability::Normal => Durability::Normal,
    };
    Ok(SqliteStore::open(&state_file(project)?, durability).await?)
}

fn state_file(project: &Project) -> Result<PathBuf, Failure> {
    match project.file.store.url.as_deref() {
        None => Ok(project.state().join("state.db")),
        Some(url) => match url.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(project.root.join(path)),
            Some(_) | None => Err(unbuilt::refused("[store] url")
                .help("leave it out for `.listen-fire/state.db`, or write `sqlite:` and a path")),
        },
    }
}
