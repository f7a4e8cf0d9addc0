//! The runner: from a change to its effects. Stores first, acts second.
//!
//! ```text
//! listeners ─▶ Inbox::take_in ─▶ dispatch ─▶ Runs::claim ─▶ executor ⇄ run::step
//!                                                           │  ▲
//!                                    journal: intent before ▼  │ settled after
//!                                                        perform ─▶ Connection::{read, write}
//! ```
//!
//! [`Host::start`] takes everything it needs as data and ports and gives a cheap [`Handle`]. It never reads a file,
//! the process's clock or its environment, knows no protocol and no SQL, and prints nothing: it tells [`News`].
#![deny(clippy::disallowed_methods)]

mod attempt;
mod breaker;
pub mod clock;
mod compare;
pub mod describe;
mod dispatch;
mod echo;
mod executor;
mod fired;
mod identities;
mod journal;
pub mod limiter;
mod listeners;
pub mod load;
mod looks;
pub mod news;
mod perform;
mod resolve;
mod service;
mod shutdown;
mod size;
mod trouble;
mod waits;
mod watches;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use lf_lang::{
    check::catalog::ConnectionKey,
    plan::{Plan, PlanId},
};
use lf_module::{CallError, Clock, Connection, Random, Record};
use smol_str::SmolStr;

pub use limiter::Holds;
pub use news::News;
pub use shutdown::{Handle, Summary};

use crate::store::Store;

/// Everything a runner is made of.
#[derive(Debug)]
pub struct Parts {
    /// The checked program and its hash.
    pub plan: Arc<Plan>,
    pub plan_id: PlanId,
    pub store: Arc<dyn Store>,
    /// One for each connection of the plan.
    pub connections: BTreeMap<ConnectionKey, Arc<dyn Connection>>,
    /// Makes a connection anew once its credential may have been mended; without it, only a restart does.
    pub reconnect: Option<Arc<dyn Reconnect>>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    /// The same as the connections' throttles were made of.
    pub holds: Holds,
    pub limits: Limits,
    pub options: Options,
    /// Subscribe before the start to miss nothing.
    pub news: News,
}

/// Makes a connection of what the project says now.
#[async_trait]
pub trait Reconnect: Send + Sync + fmt::Debug {
    /// # Errors
    /// Any [`CallError`]: the old one is kept.
    async fn reconnect(&self, connection: &ConnectionKey) -> Result<Arc<dyn Connection>, CallError>;
}

/// How this runner runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Ends by itself once each source was looked at once and nothing is left to do.
    pub once: bool,
    /// Reads, but sends no write: it says what it would send. The store must be a throw-away one.
    pub dry_run: bool,
    /// What a dry run takes for a write's answer, by connection and type: a value for each field that the system
    /// would fill in.
    pub imagined: BTreeMap<(SmolStr, SmolStr), Record>,
    /// Whether sources are listened to at all (`fire` runs without).
    pub listen: bool,
    /// Whether a WHERE that a source can look up is asked for so. Tests in the language state what a read answers.
    pub look_up: bool,
    /// How long running steps may take to end after a stop.
    pub drain: Duration,
    /// This runner's name in the store; unique among those that share it.
    pub owner: SmolStr,
    /// A runner that is silent for this long is taken over.
    pub lease: Duration,
    /// Runs side by side in all.
    pub concurrency: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            once: false,
            dry_run: false,
            imagined: BTreeMap::new(),
            listen: true,
            look_up: true,
            drain: Duration::from_secs(20),
            owner: "runner".into(),
            lease: Duration::from_secs(10),
            concurrency: 32,
        }
    }
}

/// What a run or a source may use. Each fails closed, with a message that names it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Calls to connections in one run.
    pub calls: u32,
    /// Records that one read may land on.
    pub rows: usize,
    /// Bytes of one value.
    pub value: usize,
    /// Bytes of the files of one write, together.
    pub file: usize,
    /// Bytes of one run's journal.
    pub journal: usize,
    /// How long one call may take, with the module's own retries.
    pub call: Duration,
    /// Runs of one listen that may wait before its source is asked for no more.
    pub waiting: u64,
    /// How deep a chain of changes that cause each other may get.
    pub depth: u32,
    /// How often one record may fire one listen in a minute.
    pub burst: u32,
    /// How long a change waits for a system that is away, from when it was taken in; after that its attempts count.
    pub away: Duration,
    /// How long a polled source that said nothing for three of its intervals is still waited for, before it is opened
    /// anew.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: 10_000,
            rows: 10_000,
            value: 8 << 20,
            file: 20 << 20,
            journal: 64 << 20,
            call: Duration::from_mins(1),
            waiting: 1000,
            depth: 8,
            burst: 600,
            away: Duration::from_hours(24),
            silence: Duration::from_mins(5),
        }
    }
}

/// The runner itself: only a way to start one.
#[derive(Debug)]
pub struct Host;

impl Host {
    /// Starts listening and working. Call it inside a tokio runtime; everything it starts ends with the handle's
    /// [`Handle::stop`], or by itself with `once`.
    #[must_use]
    pub fn start(parts: Parts) -> Handle {
        shutdown::start(parts)
    }
}
