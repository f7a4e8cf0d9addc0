//! The changes that callers send to the one writer, each with its way back.

use std::time::Duration;

use jiff::Timestamp;
use smol_str::SmolStr;
use tokio::sync::oneshot;

use super::{codec::KeptRun, error::Failure};
use crate::store::{Fence, Order, Position, Pruned, Release, Room, RunId, State, StoreError};

/// One change, its answer once it is known, and the caller who waits for it.
#[derive(Debug)]
pub(super) struct Job<I, T> {
    pub(super) input: I,
    /// INVARIANT: sent only after the commit that holds the change.
    pub(super) answer: Option<Result<T, StoreError>>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<I, T> Job<I, T> {
    pub(super) fn new(input: I) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (caller, answer) = oneshot::channel();
        (Self { input, answer: None, caller }, answer)
    }

    fn tell(self) {
        let answer = self.answer.unwrap_or_else(|| Err(StoreError::Away("the store gave no answer".to_owned())));
        // A caller that went away does not take back what is durable.
        drop(self.caller.send(answer));
    }
}

#[derive(Debug)]
pub(super) struct TakeIn {
    pub(super) listen: SmolStr,
    /// Key, version, record as text.
    pub(super) seen: Vec<(SmolStr, SmolStr, String)>,
    pub(super) forget: Vec<SmolStr>,
    pub(super) runs: Vec<NewRun>,
    pub(super) fulfilled: Vec<i64>,
    pub(super) position: Option<Position>,
    pub(super) wakes: bool,
    pub(super) now: i64,
}

#[derive(Debug)]
pub(super) struct NewRun {
    pub(super) listen: SmolStr,
    pub(super) key: SmolStr,
    pub(super) delivery: SmolStr,
    pub(super) kind: i64,
    pub(super) record: String,
    pub(super) before: Option<String>,
    pub(super) at: i64,
    pub(super) by: Option<SmolStr>,
    pub(super) fields: Option<Vec<SmolStr>>,
    pub(super) debounce: Option<Duration>,
    pub(super) depth: u32,
    pub(super) cause: Option<i64>,
    pub(super) state: State,
    pub(super) reason: Option<String>,
}

#[derive(Debug)]
pub(super) struct Expectation {
    pub(super) watcher: SmolStr,
    pub(super) connection: SmolStr,
    pub(super) ty: SmolStr,
    pub(super) key: Option<SmolStr>,
    pub(super) fields: String,
    pub(super) run: i64,
    pub(super) listen: SmolStr,
    pub(super) depth: u32,
    pub(super) at: i64,
}

#[derive(Debug)]
pub(super) struct Append {
    pub(super) run: RunId,
    pub(super) fence: Fence,
    pub(super) entries: Vec<String>,
    pub(super) plan: Option<lf_lang::plan::PlanId>,
    /// Something is about to be sent.
    pub(super) intends: bool,
    pub(super) expect: Vec<Expectation>,
}

#[derive(Debug)]
pub(super) struct End {
    pub(super) run: RunId,
    pub(super) fence: Fence,
    /// Its entries are in `entries`.
    pub(super) release: Release,
    pub(super) entries: Vec<String>,
    pub(super) plan: Option<lf_lang::plan::PlanId>,
    pub(super) now: i64,
}

#[derive(Debug)]
pub(super) struct Renew {
    pub(super) claims: Vec<(RunId, Fence)>,
    pub(super) until: i64,
}

#[derive(Debug)]
pub(super) struct Claim {
    pub(super) owner: SmolStr,
    pub(super) room: Room,
    pub(super) now: i64,
    pub(super) lease: Duration,
}

/// A claimed run with its journal, still as text.
#[derive(Debug)]
pub(super) struct KeptClaim {
    pub(super) run: KeptRun,
    pub(super) fence: Fence,
    pub(super) entries: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) run: RunId,
    pub(super) order: Order,
    pub(super) now: Timestamp,
}

/// Small things by name. The answer is whether there was something.
#[derive(Debug)]
pub(super) enum Small {
    DropListen {
        listen: SmolStr,
        now: i64,
    },
    Switch {
        listen: SmolStr,
        /// Since when; `None` switches it on.
        off: Option<i64>,
    },
    Unexpect {
        run: i64,
        connection: SmolStr,
        ty: SmolStr,
        fields: String,
    },
    Identity {
        connection: SmolStr,
        ty: SmolStr,
        identity: SmolStr,
        key: SmolStr,
        at: i64,
    },
    Plan {
        id: SmolStr,
        body: String,
        at: i64,
    },
    Description {
        connection: SmolStr,
        body: String,
        at: i64,
    },
    Hold {
        connection: SmolStr,
        until: i64,
        why: String,
    },
    Lift {
        connection: SmolStr,
    },
    PutCredential(Box<crate::store::Sealed>),
    RemoveCredential {
        name: SmolStr,
    },
    LockCredential {
        name: SmolStr,
        owner: SmolStr,
        now: i64,
        until: i64,
    },
    UnlockCredential {
        name: SmolStr,
        owner: SmolStr,
    },
    RenewCredential {
        credential: Box<crate::store::Sealed>,
        owner: SmolStr,
    },
    Note {
        name: SmolStr,
        body: String,
        at: i64,
    },
    UsedCredential {
        name: SmolStr,
        at: i64,
        works: bool,
    },
    #[cfg(test)]
    LimitPages {
        pages: u32,
    },
}

/// One small step of an upkeep.
#[derive(Debug)]
pub(super) struct Prune {
    pub(super) runs: Vec<i64>,
    pub(super) deliveries_before: i64,
    pub(super) expectations_before: i64,
}

#[derive(Debug)]
pub(super) enum Op {
    TakeIn(Job<TakeIn, Vec<RunId>>),
    Append(Job<Append, ()>),
    Release(Job<End, ()>),
    Renew(Job<Renew, Vec<RunId>>),
    Order(Job<Command, ()>),
    Small(Job<Small, bool>),
    Prune(Job<Prune, Pruned>),
    Claim(Job<Claim, Vec<KeptClaim>>),
}

/// The same for every kind of change.
macro_rules! each {
    ($op:expr, $job:ident => $what:expr) => {
        match $op {
            Op::TakeIn($job) => $what,
            Op::Append($job) => $what,
            Op::Release($job) => $what,
            Op::Renew($job) => $what,
            Op::Order($job) => $what,
            Op::Small($job) => $what,
            Op::Prune($job) => $what,
            Op::Claim($job) => $what,
        }
    };
}

impl Op {
    /// Tells the caller.
    pub(super) fn tell(self) {
        each!(self, job => job.tell());
    }

    /// Its transaction failed: whatever was answered is void.
    pub(super) fn fail(&mut self, why: &Failure) {
        each!(self, job => job.answer = Some(Err(why.error())));
    }

    /// Its transaction was taken back and is tried again.
    pub(super) fn forget(&mut self) {
        each!(self, job => job.answer = None);
    }
}
