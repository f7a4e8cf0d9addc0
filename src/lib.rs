//! listen-fire: small typed programs over the systems a team already uses. The shell around the language.
//!
//! `lf-lang` is pure and decides; this crate carries out. Read in this order: [`host`] (from a change to its effects),
//! [`store`] (what must survive).

pub mod host;
pub mod project;
pub mod store;
