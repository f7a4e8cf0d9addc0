//! The movement language: text to tree to typed program to plan, and the machine that runs a plan.
//!
//! Pure: no clock, disk, network, environment or chance. Everything here is a function of its arguments.
//!
//! ```text
//! source::SourceFile ──syntax::parse──▶ ast::File
//! ast::File + check::Catalog ──check::check──▶ typed::Movement (or problems)
//! typed::Movement ──plan::compile──▶ plan::Plan
//! ast::File + check::Catalog ──check::study::Study──▶ what names mean ──editor──▶ an editor's answers
//! plan::Plan + run::RunState + run::Input ──run::step──▶ Vec<run::Effect>
//! ```
//!
//! Read the modules in this order; each border has one type, each arrow one function.
#![deny(clippy::disallowed_methods)]

pub mod check;
pub mod diag;
pub mod editor;
pub mod plan;
pub mod run;
pub mod source;
pub mod stated;
pub mod syntax;
pub mod types;
