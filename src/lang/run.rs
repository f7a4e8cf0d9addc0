//! The run machine: `step(&Plan, &mut RunState, Input) -> Vec<Effect>`. Pure.
//!
//! A run starts at the top of its function and goes on until it needs the world; then it gives an [`Effect`] and
//! waits for the [`Input`] that settles it. The journal's [`Entry`]s, fed again in order, bring a run back to where
//! it was.

pub mod entry;
pub mod io;

pub use entry::Entry;
pub use io::{Address, Effect, Failure, Finish, Fired, Input, Request, Settlement};
