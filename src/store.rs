//! What must survive: narrow traits in plain data. No SQL, no row types, no plan, no connection in any signature.
//!
//! A method that changes something returns when the change is durable, and makes all of it or none. Commits of
//! concurrent callers are grouped. A *fence* is the number that a claim handed out: once a run or a listen was taken over, every
//! write under the old fence is refused with [`StoreError::Fenced`].
//!
//! One file, because the traits share their data and are read as one contract.

pub mod memory;
mod rules;
pub mod sqlite;

use std::{
    collections::{BTreeMap, HashSet, hash_map::DefaultHasher},
    fmt,
    hash::{Hash as _, Hasher as _},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_lang::{
    plan::{Plan, PlanId},
    run::Entry,
};
use lf_module::{Cursor, Description, Key, Record, call::ChangeKind};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// One delivered change of one listen, and everything done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The number of a claim; grows with each take-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else took over: stop, write nothing more.
    #[error("this run was taken over by another runner")]
    Fenced,
    /// There is no such run, listen or credential.
    #[error("{0}")]
    Missing(String),
    /// The run is not in a state that allows this.
    #[error("{0}")]
    State(String),
    /// The store is damaged, of a newer version, or held by another `run`: exit code 4.
    #[error("{0}")]
    Unusable(String),
    /// The disk is full or the database is away: nothing was written; trying again may help.
    #[error("{0}")]
    Away(String),
    /// The listen is switched off: nothing of it is begun.
    #[error("the listen is switched off")]
    Off,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waiting for its turn, or for a time before it.
    Ready,
    /// Claimed by a runner.
    Running,
    /// Failed; another attempt at `not_before`.
    Retry,
    /// Parked until `not_before`, or until what it waits for is heard.
    Waiting,
    /// Ended well.
    Done,
    /// Its attempts are used up, or it failed for good.
    Dead,
    /// A write of unknown outcome; a person decides. Keeps its record's turn.
    Unsure,
    /// Too deep a chain of causes, or a burst; a person decides. Keeps its record's turn: what came later would
    /// otherwise fire before it.
    Held,
    /// Not run, for a reason (echo, filter, kind).
    Skipped,
    /// A person ended it.
    Cancelled,
}

impl State {
    /// Every state, in the order above.
    pub const ALL: [Self; 10] = [
        Self::Ready,
        Self::Running,
        Self::Retry,
        Self::Waiting,
        Self::Done,
        Self::Dead,
        Self::Unsure,
        Self::Held,
        Self::Skipped,
        Self::Cancelled,
    ];

    /// As people read and write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Retry => "retry",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Unsure => "unsure",
            Self::Held => "held",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether a run in it keeps its record's turn: later changes of the record wait. A parked run may have been told
    /// not to.
    #[must_use]
    pub fn keeps_turn(self) -> bool {
        match self {
            Self::Ready | Self::Running | Self::Retry | Self::Waiting | Self::Unsure | Self::Held => true,
            Self::Done | Self::Dead | Self::Skipped | Self::Cancelled => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A change to be taken in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    pub listen: SmolStr,
    pub key: Key,
    /// The same (listen, delivery) is taken in once.
    pub delivery: SmolStr,
    pub kind: ChangeKind,
    pub record: Record,
    pub before: Option<Record>,
    pub at: Timestamp,
    pub by: Option<SmolStr>,
    /// The names of the fields that an update changed; `None` where nobody can tell.
    pub fields: Option<Vec<SmolStr>>,
    /// It waits that long for another change of its record, which it is then one with; ten times as long in all.
    pub debounce: Option<Duration>,
    pub depth: u32,
    pub cause: Option<RunId>,
    /// `Ready`, or `Skipped`/`Held` with the reason.
    pub state: State,
    pub reason: Option<String>,
}

/// What a source last showed of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub key: Key,
    /// The system's version, else the content's SHA-256.
    pub version: SmolStr,
    pub record: Record,
}

/// One batch of a source, to be stored whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TakeIn {
    /// Records seen, to remember (replacing what was known of their keys).
    pub seen: Vec<Seen>,
    /// Keys that are gone.
    pub forget: Vec<Key>,
    pub runs: Vec<NewRun>,
    /// Expectations that a change of this batch fulfilled.
    pub fulfilled: Vec<i64>,
    /// The position after the batch; `None` leaves it.
    pub position: Option<Position>,
    /// Parked runs that wait for this listen look again, if a run of the batch is new.
    pub wakes: bool,
}

/// Where a listen stands in its source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub cursor: Option<Cursor>,
    /// The first listing is through.
    pub baseline_done: bool,
    /// It is in the middle of a listing: what came before is not known to whoever goes on from here.
    pub listing: bool,
}

/// Which records a look at a whole source has met, in memory: looking again at what did not change writes nothing. As
/// hashes, eight bytes for a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Met(HashSet<u64>);

impl Met {
    pub fn add(&mut self, key: &Key) {
        self.0.insert(hash(key));
    }

    pub fn remove(&mut self, key: &Key) {
        self.0.remove(&hash(key));
    }

    #[must_use]
    pub fn has(&self, key: &Key) -> bool {
        self.0.contains(&hash(key))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn hash(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub listen: SmolStr,
    pub key: Key,
    pub delivery: SmolStr,
    pub kind: ChangeKind,
    pub record: Record,
    pub before: Option<Record>,
    pub at: Timestamp,
    pub by: Option<SmolStr>,
    /// The names of the fields that an update changed; `None` where nobody can tell.
    pub fields: Option<Vec<SmolStr>>,
    pub depth: u32,
    pub cause: Option<RunId>,
    pub state: State,
    pub reason: Option<String>,
    /// Attempts that came to an end; one that a crash or a take-over cut off is not counted.
    pub attempts: u32,
    pub not_before: Option<Timestamp>,
    pub plan: Option<PlanId>,
    /// The runner that has it.
    pub owner: Option<SmolStr>,
    pub taken_in: Timestamp,
    pub finished: Option<Timestamp>,
}

/// A run in a runner's hands.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub run: Run,
    pub fence: Fence,
    /// What happened in it so far.
    pub entries: Vec<Entry>,
}

/// How a claim ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Release {
    /// The run is over, with its last entries, appended in the same transaction. `Done`, `Dead`, `Unsure`.
    End { state: State, reason: Option<String>, entries: Vec<Entry> },
    /// Another attempt at that time; this one is counted.
    Retry { at: Timestamp, reason: String, entries: Vec<Entry> },
    /// Back to `Ready` at that time without counting an attempt (held connection, shutdown).
    Back { at: Option<Timestamp>, reason: Option<String>, entries: Vec<Entry> },
    /// Parked. Attempts are counted anew from here.
    Park(Park),
}

/// How a run waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Park {
    /// When it goes on by itself.
    pub at: Timestamp,
    /// The listens whose next run wakes it.
    pub awaits: Vec<SmolStr>,
    /// The last of their runs that it has looked at: one after it wakes it at once.
    pub after: RunId,
    /// Later changes of its record do not wait for it.
    pub go: bool,
    pub reason: String,
    pub entries: Vec<Entry>,
}

/// A write of ours whose change a source may show us: (connection, type, key or pending create, values). One for each
/// listen that will see it, since each matches it once by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The listen that will see the change.
    pub watcher: SmolStr,
    pub connection: SmolStr,
    pub ty: SmolStr,
    /// `None` while a create is pending.
    pub key: Option<Key>,
    /// The values written.
    pub fields: Record,
    /// The run that writes, the listen that fired it, and its depth.
    pub run: RunId,
    pub listen: SmolStr,
    pub depth: u32,
    /// When it was written: one that never came is given up after a while.
    pub at: Timestamp,
}

/// What a listen watches for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    pub total: u64,
    /// Of those, the ones that were asked for, oldest first, with their ids.
    pub after: Vec<(i64, Expectation)>,
}

/// Changes on their way in.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Where the listen stands; `None` before its first start.
    async fn position(&self, listen: &str) -> Result<Option<Position>, StoreError>;
    /// Every listen with a position or open runs.
    async fn listens(&self) -> Result<Vec<SmolStr>, StoreError>;
    /// Drops a listen that is no more: position, what was seen, open runs become `Cancelled`.
    async fn drop_listen(&self, listen: &str, now: Timestamp) -> Result<(), StoreError>;
    /// What was last seen under these keys.
    async fn seen(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, Seen>, StoreError>;
    /// The versions last seen under these keys.
    async fn versions(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, SmolStr>, StoreError>;
    /// What is remembered and was not met, by key, at most `limit`: gone, if the look was at everything. Everything
    /// met must be remembered.
    async fn unmet(&self, listen: &str, met: &Met, limit: u32) -> Result<Vec<Seen>, StoreError>;
    /// Stores a batch: in one transaction, durable on return. Returns the ids of the runs that are new. A change with a
    /// `debounce` whose record's last run still waits for its own is one with that, and no new run.
    async fn take_in(&self, listen: &str, batch: TakeIn, now: Timestamp) -> Result<Vec<RunId>, StoreError>;
    /// Open expectations that this listen watches for: how many, and those with a larger id than `after`.
    async fn expectations(&self, watcher: &str, after: i64) -> Result<Watched, StoreError>;
    /// How many runs of the listen wait or run (`Ready`, `Running`, `Retry`): what holds its source back.
    async fn open(&self, listen: &str) -> Result<u64, StoreError>;
    /// Switches a listen off, since `now`, or on again. Of one that is off nothing is claimed from here on, and no
    /// intent is taken into a journal. Answers whether it was the other way before.
    async fn switch(&self, listen: &str, off: bool, now: Timestamp) -> Result<bool, StoreError>;
    /// The listens that are switched off, and since when.
    async fn switched_off(&self) -> Result<BTreeMap<SmolStr, Timestamp>, StoreError>;
}

/// Room for claims: how many more runs of each listen, and in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    pub listens: BTreeMap<SmolStr, u32>,
    pub total: u32,
}

/// Runs under way.
#[async_trait]
pub trait Runs: Send + Sync {
    /// Claims runs whose turn it is (`Ready`, or `Retry` past its time; the oldest open run of its listen and key; its
    /// listen has room), oldest first. A run whose lease ran out is claimed again with a higher fence. One that is
    /// parked and over its time takes the turn back, once no other of its record runs.
    ///
    /// Of each listen, as many as it has room for of those that wait for no time (by id) and of those past their
    /// time (by that time) are looked at, and the oldest of both are taken: no claim walks a whole backlog.
    async fn claim(
        &self,
        owner: &str,
        room: &Room,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Vec<Claimed>, StoreError>;
    /// When the next run can become claimable by time alone (a retry, a lease end), of the listens that are on.
    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError>;
    /// Keeps claims alive. Answers the runs that were taken over, or ended, in between: stop those.
    async fn renew(&self, claims: &[(RunId, Fence)], until: Timestamp) -> Result<Vec<RunId>, StoreError>;
    /// Appends to the journal, in order. An [`Entry::Started`] among them also marks the run's plan. `expect`:
    /// stored with the intent, in the same transaction. An intent of a listen that is switched off is refused with
    /// [`StoreError::Off`], and all that came with it.
    async fn append(
        &self,
        run: RunId,
        fence: Fence,
        entries: Vec<Entry>,
        expect: Vec<Expectation>,
    ) -> Result<(), StoreError>;
    /// The expected write was refused: nothing will show. For every watcher of the same run, connection, type and
    /// values.
    async fn unexpect(&self, run: RunId, refused: &Expectation) -> Result<(), StoreError>;
    /// Ends a claim. The next open run of the same listen and key gets its turn.
    async fn release(&self, run: RunId, fence: Fence, release: Release, now: Timestamp) -> Result<(), StoreError>;
    /// Keys just created under an identity, consulted beside the system's own find (R12).
    async fn identity(&self, connection: &str, ty: &str, identity: &str) -> Result<Option<Key>, StoreError>;
    /// Remembers one.
    async fn remember_identity(
        &self,
        connection: &str,
        ty: &str,
        identity: &str,
        key: &Key,
        now: Timestamp,
    ) -> Result<(), StoreError>;
}

/// Which runs to list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Without one, all but what is only heard for those who wait; that too where the skipped are asked for.
    pub listen: Option<String>,
    pub states: Vec<State>,
    pub key: Option<String>,
    pub since: Option<Timestamp>,
    /// Ids above this one only.
    pub after: Option<RunId>,
    /// Oldest first instead of newest first.
    pub oldest_first: bool,
    /// At most this many; 0: all.
    pub limit: u32,
}

/// What a person does to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Try a dead, unsure or held run again, from what its journal holds.
    Retry,
    /// The same, with the present text.
    RetryCurrent,
    /// The write in flight was done (as the person saw in the system): appends [`Entry::Decided`] for the last open
    /// intent, and the run is `Ready`.
    SettleDone,
    /// The write in flight was not done: the same with `done: false`, so it is sent again.
    SettleAgain,
    /// End it. A running one is taken from its runner; the record's next run waits until the claim's lease is over.
    Cancel,
}

/// The ledger, for people.
#[async_trait]
pub trait Ledger: Send + Sync {
    async fn list(&self, filter: &Filter) -> Result<Vec<Run>, StoreError>;
    async fn show(&self, run: RunId) -> Result<Option<(Run, Vec<Entry>)>, StoreError>;
    /// What happened in each of these runs; of one that is not kept there is nothing.
    async fn journals(&self, runs: &[RunId]) -> Result<BTreeMap<RunId, Vec<Entry>>, StoreError>;
    /// How many runs of each listen are in each state.
    async fn counts(&self) -> Result<BTreeMap<(SmolStr, State), u64>, StoreError>;
    async fn order(&self, run: RunId, order: Order, now: Timestamp) -> Result<(), StoreError>;
}

/// Programs, descriptions, holds, credentials: small things by name.
#[async_trait]
pub trait Facts: Send + Sync {
    async fn save_plan(&self, id: &PlanId, plan: &Plan, now: Timestamp) -> Result<(), StoreError>;
    async fn plan(&self, id: &PlanId) -> Result<Option<Plan>, StoreError>;
    async fn save_description(
        &self,
        connection: &str,
        description: &Description,
        now: Timestamp,
    ) -> Result<(), StoreError>;
    async fn description(&self, connection: &str) -> Result<Option<(Description, Timestamp)>, StoreError>;
    /// Holds a connection until then; of two holds the one that ends later stays.
    async fn hold(&self, connection: &str, until: Timestamp, why: &str) -> Result<(), StoreError>;
    async fn held(&self, connection: &str) -> Result<Option<(Timestamp, String)>, StoreError>;
    async fn lift(&self, connection: &str) -> Result<(), StoreError>;
    /// Every hold that lasts beyond `now`, by connection.
    async fn holds(&self, now: Timestamp) -> Result<Vec<(SmolStr, Timestamp, String)>, StoreError>;
    /// Remembers something small that all processes should know; never a secret.
    async fn note(&self, name: &str, text: &str, now: Timestamp) -> Result<(), StoreError>;
    async fn noted(&self, name: &str) -> Result<Option<String>, StoreError>;
}

/// A sealed credential; only the vault can open it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub name: SmolStr,
    pub module: SmolStr,
    pub kind: SmolStr,
    pub key_id: SmolStr,
    /// Nonce and ciphertext.
    pub sealed: Vec<u8>,
    pub last_used: Option<Timestamp>,
    /// Whether it worked when last tried.
    pub works: Option<bool>,
}

/// Sealed credentials.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Whoever had the lock of one of that name has it no more.
    async fn put(&self, credential: &Sealed) -> Result<(), StoreError>;
    async fn get(&self, name: &str) -> Result<Option<Sealed>, StoreError>;
    async fn all(&self) -> Result<Vec<Sealed>, StoreError>;
    /// Whether there was one.
    async fn remove(&self, name: &str) -> Result<bool, StoreError>;
    async fn used(&self, name: &str, at: Timestamp, works: bool) -> Result<(), StoreError>;
    /// Takes the credential's lock for `owner` until then, if nobody has it at `now`. Whether it was taken.
    async fn lock(&self, name: &str, owner: &str, now: Timestamp, until: Timestamp) -> Result<bool, StoreError>;
    /// Gives it back, if it is still the owner's.
    async fn unlock(&self, name: &str, owner: &str) -> Result<(), StoreError>;
    /// Seals new content into the credential and gives its lock back; `false` if the lock is not the owner's any more:
    /// then nothing changed. When it was used and whether it worked stays as it is.
    async fn reseal(&self, credential: &Sealed, owner: &str) -> Result<bool, StoreError>;
}

/// How long things that are over are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// `Done`, `Skipped` and `Cancelled` runs, with their journals. `Dead` ones stay until a person decides.
    pub runs: Duration,
    /// The same, beyond this many of the newest.
    pub most: Option<u64>,
    /// Delivery ids and identities, which outlive their runs: within this time nothing is taken in twice.
    pub deliveries: Duration,
    /// Expectations that never came.
    pub expectations: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_hours(24);
        Self { runs: DAY * 30, most: None, deliveries: DAY * 30, expectations: DAY }
    }
}

/// What an upkeep removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub runs: u64,
    pub deliveries: u64,
    pub identities: u64,
    pub expectations: u64,
}

/// Keeping the store small.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Removes what is past its time, in small transactions so that work goes on beside it.
    async fn prune(&self, retention: &Retention, now: Timestamp) -> Result<Pruned, StoreError>;
}

/// Everything a store is.
pub trait Store: Inbox + Runs + Ledger + Facts + Credentials + Upkeep + fmt::Debug {}
impl<T: Inbox + Runs + Ledger + Facts + Credentials + Upkeep + fmt::Debug> Store for T {}
