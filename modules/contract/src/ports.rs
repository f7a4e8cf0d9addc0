//! What a module may ask of the host: time, chance, and the shared hold of its connection.
//!
//! A module never reads the clock, sleeps or draws by itself; with these ports a test runs a day in
//! milliseconds and gets the same result every time. Logging goes through `tracing`.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{error::CallError, module::Credential};

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

/// Small things that are worth knowing again, shared by all processes of a project: which generation of a protocol
/// a server speaks. Losing one costs a question, no more; never a secret.
#[async_trait]
pub trait Notes: Send + Sync + fmt::Debug {
    /// What was last noted under `name` by this module.
    async fn recall(&self, name: &str) -> Option<String>;
    /// Notes it.
    async fn note(&self, name: &str, text: &str);
}

/// Where a credential is kept that changes while it is used: a token that is renewed. All processes of a project
/// share it, and one of them at a time changes it.
#[async_trait]
pub trait Keeper: Send + Sync + fmt::Debug {
    /// The credential as it is kept now.
    ///
    /// # Errors
    /// It cannot be had.
    async fn current(&self) -> Result<Credential, CallError>;
    /// Takes the credential's lock, for at most `length`. `false`: another process has it.
    ///
    /// # Errors
    /// The store cannot be asked.
    async fn lock(&self, length: Duration) -> Result<bool, CallError>;
    /// Gives the lock back.
    async fn unlock(&self);
    /// Puts the credential in the place of the kept one and gives the lock back; durable on return. `false`: the lock
    /// was lost meanwhile, and nothing was changed.
    ///
    /// # Errors
    /// It cannot be kept.
    async fn replace(&self, credential: &Credential) -> Result<bool, CallError>;
    /// Who can sign in at a browser now; `None` where nobody is there.
    fn person(&self) -> Option<Arc<dyn Person>>;
}

/// A person at a browser.
#[async_trait]
pub trait Person: Send + Sync + fmt::Debug {
    /// The address that a browser is sent back to, on this machine.
    ///
    /// # Errors
    /// Nothing can listen here.
    async fn redirect(&self) -> Result<String, CallError>;
    /// Sends the person to `address` and gives the whole address that the browser came back with. Ends at `deadline`
    /// (of [`Clock::monotonic`]).
    ///
    /// # Errors
    /// Nobody came back.
    async fn visit(&self, address: &str, deadline: Duration) -> Result<String, CallError>;
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
    /// What the module knows from earlier; `None` where nothing is kept.
    pub notes: Option<Arc<dyn Notes>>,
    /// Where the connection's credential is kept; `None` where it cannot change.
    pub keeper: Option<Arc<dyn Keeper>>,
}
