//! The real executable against real systems on loopback: arguments, exit codes, what is printed where, and what is
//! never printed. What movements mean is tested elsewhere.

mod bare;
mod check;
mod credential;
mod files;
mod fmt;
mod listens;
pub(crate) mod mcp;
mod mend;
mod oauth;
pub(crate) mod place;
mod plan;
mod run;
mod test;
