//! What a module may ask of the host: time, chance, and the shared hold of its connection.
//!
//! A module never reads the clock, sleeps or draws by itself; with these ports a test runs a day in
//! milliseconds and gets the same result every time. Logging goes through `tracing`.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::CallError;

/// Time.
#[async_trait]
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock, for dates that other systems read.
    fn now(&self) -> Timestamp;
    /// A clock that only grows, for deadlines and waits. Its zero is the process's own.
    fn monotonic(&self) -> Duration;
    /// Waits.
    async fn sleep(&self, length: Duration);
}

/// Chance.
pub trait Random: Send + Sync + fmt::Debug {
    /// Uniform in `0.0 .. 1.0`.
    fn unit(&self) -> f64;
}

/// The hold that all runners share for one connection.
#[async_trait]
pub trait Throttle: Send + Sync + fmt::Debug {
    /// Waits while the connection is held, at most until `deadline` (of [`Clock::monotonic`]).
    ///
    /// # Errors
    /// [`crate::Kind::Passing`] if the hold outlasts the deadline; nothing was sent.
    async fn pass(&self, deadline: Duration) -> Result<(), CallError>;
    /// The system asked to be left alone for `length`; every instance will keep to it.
    async fn report(&self, length: Duration, why: &str);
}

/// What the host lends a module for one connection.
#[derive(Debug, Clone)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// The connection's shared hold.
    pub throttle: Arc<dyn Throttle>,
}
