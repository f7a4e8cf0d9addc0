//! Real stores, real peers on loopback, the real executable. Nothing here is simulated.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a failed test may end where it stands"
)]

mod cli;
mod examples;
mod hostile;
mod kill;
mod listen;
mod lsp;
mod peers;
mod store_contract;
mod store_crash;
mod store_equal;
mod store_facts;
mod store_sample;
mod store_waits;
