//! The module against a scripted server. Every judgement is made on what that server received.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up should stop")]
#![expect(clippy::indexing_slicing, reason = "what a test looks for and does not find should stop it")]

mod calls;
mod cases;
mod conformance;
mod credentials;
mod eras;
mod hostile;
mod listing;
mod oauth;
mod pump;
mod resources;
mod retries;
mod sessions;
mod stage;
mod streams;
mod suite;
