//! `lf-rest` against scripted systems on loopback: the contract's conformance suite, then each promise of the
//! README that has a protocol in it, judged by what the server received.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "what a test's own functions expect is part of the test"
)]

mod conformance;
mod crm;
mod examples;
mod files;
mod following;
mod holding;
mod listing;
mod requests;
mod writing;
