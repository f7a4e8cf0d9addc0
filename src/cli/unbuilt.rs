//! Commands that are named but not built yet: refused, never pretended.

use std::ffi::OsString;

use clap::Args;

use super::exit::Failure;

/// Whatever a command that is not built was given.
#[derive(Debug, Args)]
pub(super) struct Unbuilt {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

/// The refusal of a command, a flag or a form of one.
pub(super) fn refused(what: &str) -> Failure {
    Failure::usage(format!("`{what}` is not built yet"))
}
