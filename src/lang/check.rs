//! Tree to typed program: a pure function of the files and the catalog.

pub mod catalog;
pub mod typed;

pub use catalog::Catalog;
