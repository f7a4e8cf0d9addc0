//! How a command ends: its code, and what is said when it could not be done.

use std::process::ExitCode;

use lf_lang::{diag::Diagnostic, source::SourceMap};

use crate::{
    host::load::{LoadError, Unfit},
    project::{ProjectError, credentials::CredentialError},
    store::StoreError,
};

/// The exit codes, each with its one meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Done = 0,
    /// The thing asked about is not so: errors in a check, a failing test, a dead run.
    NotSo = 1,
    Usage = 2,
    /// A system could not be reached, or refused.
    System = 3,
    /// The project or its store is damaged, in use by another `run`, or of a newer version.
    Damaged = 4,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not be done.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    /// One line: lower-case start, no final period.
    pub(super) message: String,
    /// The way out.
    pub(super) help: Vec<String>,
    /// Faults with their places.
    pub(super) report: Option<(Box<SourceMap>, Vec<Diagnostic>)>,
}

impl Failure {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: Vec::new(), report: None }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        let message = error.to_string();
        match error {
            ProjectError::Missing(_) => Self::usage(message).help(format!(
                "a project is a folder with a `{}`; these two lines make one:\n  name = \"my-project\"\n  edition = 1",
                crate::project::FILE
            )),
            ProjectError::Damaged { path: _, sources, problems } => {
                Self { report: Some((sources, problems)), ..Self::new(Exit::Damaged, message) }
            }
            ProjectError::Io { what: _, why: _ } => Self::new(Exit::Damaged, message),
        }
    }
}

impl From<CredentialError> for Failure {
    fn from(error: CredentialError) -> Self {
        match error {
            CredentialError::Store(error) => error.into(),
            CredentialError::Vault(error) => Self::new(Exit::Damaged, error.to_string()),
            CredentialError::Given(message) => Self::usage(message),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Project(error) => error.into(),
            LoadError::Credential(error) => error.into(),
        }
    }
}

impl From<Unfit> for Failure {
    fn from(unfit: Unfit) -> Self {
        Self { help: unfit.help, ..Self::usage(unfit.why) }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::Missing(_) | StoreError::State(_) | StoreError::Off => Exit::NotSo,
            StoreError::Fenced | StoreError::Unusable(_) | StoreError::Away(_) => Exit::Damaged,
        };
        Self::new(exit, error.to_string())
    }
}
