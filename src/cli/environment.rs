//! What the process is told from outside, read once, here, and passed on as data.

use std::{
    collections::BTreeMap,
    fmt,
    io::{IsTerminal as _, stderr, stdin, stdout},
    path::PathBuf,
};

use lf_module::Secret;

use crate::project::{
    credentials::{Given, PREFIX},
    vault,
};

/// The environment of the process.
#[derive(Clone, Default)]
pub struct Environment {
    /// The key and the credentials that are given in variables.
    pub given: Given,
    /// `NO_COLOR` is there and not empty.
    pub no_color: bool,
    /// `LISTEN_FIRE_LOG`.
    pub log: Option<String>,
    /// The folder the command was given in.
    pub folder: PathBuf,
    /// Whether each of the three is a terminal.
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Environment")
            .field("given", &self.given)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Environment {
    /// Reads it.
    #[must_use]
    pub fn read() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let credentials: BTreeMap<_, _> = std::env::vars_os()
            .filter_map(|(name, value)| {
                let name = name.into_string().ok()?.strip_prefix(PREFIX)?.to_owned();
                Some((name, Secret::new(value.into_string().ok()?)))
            })
            .collect();
        Self {
            given: Given {
                key: set(vault::SETTING).map(Secret::new),
                next_key: set(vault::NEXT).map(Secret::new),
                credentials,
            },
            no_color: set("NO_COLOR").is_some(),
            log: set("LISTEN_FIRE_LOG"),
            folder: std::env::current_dir().unwrap_or_else(|_| ".".into()),
            stdin: stdin().is_terminal(),
            stdout: stdout().is_terminal(),
            stderr: stderr().is_terminal(),
        }
    }

    /// Colours of `--help`, which is printed before `--color` is known.
    #[must_use]
    pub(super) fn colors_of_help(&self) -> clap::ColorChoice {
        if self.no_color { clap::ColorChoice::Never } else { clap::ColorChoice::Auto }
    }
}

/// The value of a variable that `--set field=@env:NAME` names.
pub(super) fn variable(name: &str) -> Option<Secret> {
    std::env::var(name).ok().map(Secret::new)
}
