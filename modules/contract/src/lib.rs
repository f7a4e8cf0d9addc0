//! The contract between listen-fire and the systems it speaks to.
//!
//! A *module* is fixed code that knows one kind of system. A *connection* is data (where, and which
//! credential) that a module turns into something that can describe itself, be read, be written and
//! be listened to. This crate holds the traits and the plain data of that border and nothing else:
//! no protocol, no store, no plan, no run. A module sees this crate alone; the host sees modules
//! through it alone.
//!
//! Read in this order: [`value`], [`schema`], [`call`], [`error`], [`module`], [`connection`].
#![warn(missing_docs)]

pub mod call;
pub mod connection;
pub mod error;
pub mod json;
pub mod module;
pub mod number;
pub mod ports;
pub mod retry;
pub mod schema;
pub mod secret;
pub mod value;

pub use call::{Batch, Call, Cursor, Event, Key, Landed, Listen, Page, Read, Repeat, Start, Write, Written};
pub use connection::{Connection, Source};
pub use error::{Acted, CallError, Kind};
pub use module::{Credential, CredentialKind, Manifest, Module, Target};
pub use number::Number;
pub use ports::{Clock, Ports, Random, Throttle};
pub use schema::{Description, Field, FieldType, TypeShape};
pub use secret::Secret;
pub use value::{Position, Record, Value};
