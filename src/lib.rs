//! listen-fire: small typed programs over the systems a team already uses. The shell around the language.
//!
//! `lf-lang` is pure and decides; this crate carries out. Read in this order: [`store`] (what must survive).

pub mod project;
pub mod store;
