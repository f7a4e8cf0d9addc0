//! The machine, run over hand-made typed programs and scripted answers.

mod basics;
mod build;
mod builtins;
mod paths;
mod seed;
