//! The one HTTP client under the modules that speak HTTP.
//!
//! One exchange becomes a plain value: an [`Answer`], or a [`Failure`] that says how far it got. It never
//! sends anything twice: no redirects, no retries, and for writes no pooled connection, so a write
//! whose outcome is unknown is one that a server may really have seen. It knows no protocol above HTTP
//! and decides no retry; that is the module's table and [`lf_module::retry`].
//!
//! Reading order: [`exchange`] (what is asked and answered), [`failure`] (how it fails), [`client`],
//! [`guard`] (which addresses are not reached), [`retry_after`].
#![deny(clippy::disallowed_methods)]

pub mod client;
pub mod exchange;
pub mod failure;
pub mod guard;
pub mod retry_after;
mod timer;

pub use client::{Client, Options};
pub use exchange::{Answer, Body, Opened, Request, Sends, secret_header};
pub use failure::{Failure, Phase, Unreached};
pub use timer::{Bounds, by};
