//! listen-fire: small typed programs over the systems a team already uses. The shell around the language.
//!
//! `lf-lang` is pure and decides; this crate carries out. Read in this order: [`store`] (what must survive), [`host`]
//! (from a change to its effects), [`project`] (what a person wrote down), [`testing`] (tests in the language), [`cli`] (the
//! way in), [`lsp`] (an editor), [`demo`].

pub mod cli;
pub mod demo;
pub mod host;
pub mod lsp;
pub mod project;
pub mod store;
pub mod testing;
