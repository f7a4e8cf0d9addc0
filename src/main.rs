//! The executable: runs the command line and returns its exit code.

use std::process::ExitCode;

use listen_fire::cli::{self, Environment};

fn main() -> ExitCode {
    cli::main(std::env::args_os(), Environment::read())
}
