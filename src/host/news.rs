//! What happens, as it happens: for `run` and `demo` to print, for tests to compare.
//!
//! News are told once and kept nowhere; the ledger in the store is the record. A reader that is too slow is told how
//! many it missed. Nothing here holds a secret: values are what movements read and wrote, cut to a readable length.

use jiff::Timestamp;
use lf_module::{Key, Record, Value, call::ChangeKind, json};
use smol_str::SmolStr;
use tokio::sync::broadcast;

use crate::store::{RunId, State};

/// How many news a reader may lag behind.
const KEPT: usize = 4096;
/// How many characters of a value are shown.
const SHOWN: usize = 300;

/// Where news are told. Clones tell the same readers.
#[derive(Debug, Clone)]
pub struct News {
    sender: broadcast::Sender<Item>,
}

impl News {
    #[must_use]
    pub fn new() -> Self {
        Self { sender: broadcast::Sender::new(KEPT) }
    }

    /// Reads all that is told from now on.
    #[must_use]
    pub fn subscribe(&self) -> Reader {
        Reader { receiver: self.sender.subscribe() }
    }

    pub(crate) fn tell(&self, item: Item) {
        // Nobody listening is fine.
        let _heard = self.sender.send(item).is_ok();
    }
}

impl Default for News {
    fn default() -> Self {
        Self::new()
    }
}

/// One reader of the news.
#[derive(Debug)]
pub struct Reader {
    receiver: broadcast::Receiver<Item>,
}

impl Reader {
    /// The next item; `None` when the host has ended and all is read.
    pub async fn next(&mut self) -> Option<Told> {
        match self.receiver.recv().await {
            Ok(item) => Some(Told::Item(Box::new(item))),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Told::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// What a reader gets.
#[derive(Debug, Clone)]
pub enum Told {
    Item(Box<Item>),
    /// So many were told faster than they were read.
    Missed(u64),
}

/// One piece of news.
#[derive(Debug, Clone)]
pub struct Item {
    pub at: Timestamp,
    /// The listen it is about; empty where it is about a connection.
    pub listen: SmolStr,
    /// The run it is about.
    pub run: Option<Subject>,
    pub what: What,
}

/// A run, as people know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub id: RunId,
    /// The record that changed.
    pub key: Key,
    /// The function that was fired.
    pub function: SmolStr,
}

/// A line of a movement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub file: SmolStr,
    pub line: u32,
    pub text: SmolStr,
}

impl std::fmt::Display for Spot {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.file, self.line)
    }
}

/// What was done to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Create,
    Update,
    Delete,
    Link,
    Unlink,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum What {
    /// The first look at a source: so many records were remembered and did not fire.
    Baseline { records: u64 },
    /// A change was stored. `state` is where it went: `Ready`, `Skipped` or `Held` (then with the reason).
    TakenIn { kind: ChangeKind, record: String, state: State, reason: Option<String> },
    /// A run started, or went on (`attempt` from 1).
    Began { attempt: u32 },
    /// A read landed on so many records.
    Read { spot: Option<Spot>, connection: SmolStr, ty: SmolStr, asked: String, records: usize },
    /// A write is being sent.
    Sending { spot: Option<Spot>, connection: SmolStr, ty: SmolStr, action: Action, key: Option<Key>, sent: String },
    /// A write was answered. `unchanged`: nothing differed, so nothing was sent.
    Wrote {
        spot: Option<Spot>,
        connection: SmolStr,
        ty: SmolStr,
        action: Action,
        key: Option<Key>,
        sent: String,
        answer: String,
        created: bool,
        unchanged: bool,
    },
    /// A write that a dry run did not send.
    WouldWrite { spot: Option<Spot>, connection: SmolStr, ty: SmolStr, action: Action, key: Option<Key>, sent: String },
    /// The system said no.
    Refused { spot: Option<Spot>, connection: SmolStr, why: String },
    /// The system did it and had something to add.
    Warning { message: String },
    /// The attempt failed; the next one is at `next`.
    Retry { attempt: u32, of: u32, next: Timestamp, why: String },
    /// The run waits, at the latest until then before it looks again.
    Parked { until: Timestamp, why: String },
    /// The run went back to its place, uncounted.
    Back { why: String },
    /// The run is over: `Done`, `Dead` or `Unsure`.
    Ended { state: State, reason: Option<String> },
    /// Another runner took the run over.
    TakenOver,
    /// A connection is held.
    Held { connection: SmolStr, until: Timestamp, why: String },
    /// A person switched the listen off: nothing of it is begun.
    SwitchedOff { since: Timestamp },
    /// It goes on where it was.
    SwitchedOn,
    /// A source failed three times in a row, or says nothing any more.
    Unhealthy { failures: u32, why: String },
    /// A source that was unhealthy works again.
    Healthy,
    /// The store failed; the runner stops.
    Fatal { why: String },
}

/// Fields for people, cut to a readable length.
#[must_use]
pub fn show(record: &Record) -> String {
    cut(&json::plain(&Value::record(record.clone())), SHOWN)
}

/// At most `most` characters, with a mark where something was left out.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    let mut start: String = text.chars().take(most).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}
