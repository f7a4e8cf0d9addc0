//! A project: a folder with a `listen-fire.toml`. Where it is, what it says, and what lies in it.
//!
//! Reads and writes files of the project; never speaks to a system and never prints.

use std::{
    io,
    path::{Path, PathBuf},
};

use lf_lang::{diag::Diagnostic, source::SourceMap};

pub mod credentials;
pub mod edit;
pub mod file;
pub mod files;
pub mod lock;
pub mod registry;
pub mod vault;

pub use file::ProjectFile;

/// The file that makes a folder a project.
pub const FILE: &str = "listen-fire.toml";
/// The folder of what is not committed: the store, sealed credentials, the key.
pub const STATE: &str = ".listen-fire";

/// Why a project cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is none.
    #[error("{0}")]
    Missing(String),
    /// A file of it is not as it must be; each fault with its place.
    #[error("`{path}` has {} to mend", faults(problems))]
    Damaged { path: String, sources: Box<SourceMap>, problems: Vec<Diagnostic> },
    /// A file could not be read or written.
    #[error("{what}: {why}")]
    Io { what: String, why: io::Error },
}

fn faults(problems: &[Diagnostic]) -> String {
    match problems.len() {
        1 => "one fault".to_owned(),
        many => format!("{many} faults"),
    }
}

impl ProjectError {
    pub(crate) fn io(doing: &str, path: &Path, why: io::Error) -> Self {
        Self::Io { what: format!("cannot {doing} `{}`", path.display()), why }
    }
}

/// A project that was found and read.
#[derive(Debug, Clone)]
pub struct Project {
    /// Its folder, absolute.
    pub root: PathBuf,
    pub file: ProjectFile,
}

impl Project {
    /// The project that `from` lies in: the nearest folder upwards with a `listen-fire.toml`.
    ///
    /// # Errors
    /// There is none, or its file has faults.
    pub fn find(from: &Path) -> Result<Self, ProjectError> {
        let from = from.canonicalize().map_err(|why| ProjectError::io("look into", from, why))?;
        let found = from.ancestors().find(|folder| folder.join(FILE).is_file());
        let Some(root) = found else {
            let text = format!("no `{FILE}` in `{}` or a folder above it", from.display());
            return Err(ProjectError::Missing(text));
        };
        Self::read(root)
    }

    /// The project in exactly this folder.
    ///
    /// # Errors
    /// There is none, or its file has faults.
    pub fn open(folder: &Path) -> Result<Self, ProjectError> {
        if !folder.join(FILE).is_file() {
            return Err(ProjectError::Missing(format!("`{}` is no project: it has no `{FILE}`", folder.display())));
        }
        let root = folder.canonicalize().map_err(|why| ProjectError::io("look into", folder, why))?;
        Self::read(&root)
    }

    fn read(root: &Path) -> Result<Self, ProjectError> {
        let text = files::read(&root.join(FILE))?;
        let mut sources = SourceMap::default();
        let source = sources.add(FILE, text.as_str());
        let (file, problems) = file::parse(source, &text);
        if problems.is_empty() {
            return Ok(Self { root: root.to_owned(), file });
        }
        Err(ProjectError::Damaged { path: FILE.to_owned(), sources: Box::new(sources), problems })
    }

    /// The folder of what is not committed. It may not be there.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.root.join(STATE)
    }

    /// The same, made if it is not there: for its owner alone, and ignored by git.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make_state(&self) -> Result<PathBuf, ProjectError> {
        let folder = self.state();
        if folder.is_dir() {
            return Ok(folder);
        }
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Ok(()) => {}
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => return Ok(folder),
            Err(why) => return Err(ProjectError::io("make", &folder, why)),
        }
        let ignore = folder.join(".gitignore");
        std::fs::write(&ignore, "*\n").map_err(|why| ProjectError::io("write", &ignore, why))?;
        Ok(folder)
    }

    /// How a reader knows a file: relative to the project, with `/`; as it is where it lies outside.
    #[must_use]
    pub fn display(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if path.is_absolute() { path.display().to_string() } else { parts.join("/") }
    }
}
