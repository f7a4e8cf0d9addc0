//! What the tests of modules share: a scripted loopback server, its faults, and ports of a test's own
//! making, and the suite that asks a module for what the contract promises. For tests only; nothing here
//! knows a module.

pub mod authorization;
pub mod conformance;
pub mod fast;
pub mod faults;
pub mod mcp;
pub mod ports;
pub mod server;
pub mod watched;

pub use fast::Fast;
pub use ports::World;
pub use server::{Feed, Received, Reply, Server, Step};
pub use watched::Watched;
