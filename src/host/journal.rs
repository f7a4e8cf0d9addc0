//! One run's journal, written in as few commits as its promises allow.
//!
//! Reads wait in memory for the next intent or the run's end: losing them costs asking again. A settled write is
//! made durable before anything else is waited for (R3).

use jiff::Timestamp;
use lf_lang::{
    plan::ir::PlaceId,
    run::{Entry, Settlement},
};
use lf_module::call::Origin;

use super::{service::Service, size};
use crate::store::{Expectation, Fence, RunId, StoreError};

pub(super) struct Journal<'a> {
    service: &'a Service,
    run: RunId,
    fence: Fence,
    waiting: Vec<Entry>,
    /// Whether a settled write waits.
    urgent: bool,
    bytes: usize,
    /// Where in the text what was changed was changed, for people.
    wrote: Vec<PlaceId>,
    /// When the run last sent a write.
    sent: Option<Timestamp>,
}

impl<'a> Journal<'a> {
    /// Over what is already kept.
    pub(super) fn new(service: &'a Service, run: RunId, fence: Fence, kept: &[Entry]) -> Self {
        let bytes = kept.iter().map(weight).fold(0, usize::saturating_add);
        let wrote = kept.iter().filter_map(changed_at).collect();
        let sent = kept.iter().filter_map(sent_at).next_back();
        Self { service, run, fence, waiting: Vec::new(), urgent: false, bytes, wrote, sent }
    }

    /// Adds an entry, durable with the next flush.
    pub(super) fn note(&mut self, entry: Entry) {
        self.bytes = self.bytes.saturating_add(weight(&entry));
        self.urgent |= matches!(
            &entry,
            Entry::Settled {
                settlement: Settlement::Written { .. }
                    | Settlement::Deleted
                    | Settlement::Linked
                    | Settlement::Declined { .. },
                ..
            } | Entry::Decided { .. }
        );
        self.wrote.extend(changed_at(&entry));
        self.sent = sent_at(&entry).or(self.sent);
        self.waiting.push(entry);
    }

    /// Where in the text the run changed something so far.
    pub(super) fn wrote(&self) -> &[PlaceId] {
        &self.wrote
    }

    /// When the run last sent a write.
    pub(super) fn last_sent(&self) -> Option<Timestamp> {
        self.sent
    }

    /// Whether the journal is larger than a run's may be.
    pub(super) fn is_over(&self) -> bool {
        self.bytes > self.service.limits.journal
    }

    /// Makes durable what must not be lost while the run waits for something else.
    pub(super) async fn settle(&mut self) -> Result<(), StoreError> {
        if self.urgent { self.flush(Vec::new()).await } else { Ok(()) }
    }

    /// Makes all of it durable, with what the next write is expected to show.
    pub(super) async fn flush(&mut self, expect: Vec<Expectation>) -> Result<(), StoreError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let entries = self.take();
        let (store, run, fence) = (&self.service.store, self.run, self.fence);
        let stored = self.service.patiently(|| store.append(run, fence, entries.clone(), expect.clone())).await;
        if let Err(StoreError::Off) = stored {
            // Nothing is sent; what was learned before is kept by whatever ends the claim.
            self.waiting = entries.into_iter().filter(|entry| !matches!(entry, Entry::Intent(_))).collect();
        }
        stored?;
        self.service.settled.notify_waiters();
        Ok(())
    }

    /// What waits, to be made durable by the release of the run.
    pub(super) fn take(&mut self) -> Vec<Entry> {
        self.urgent = false;
        std::mem::take(&mut self.waiting)
    }
}

fn sent_at(entry: &Entry) -> Option<Timestamp> {
    match entry {
        Entry::Intent(intent) => Some(intent.at),
        Entry::Started { .. }
        | Entry::Waiting(_)
        | Entry::Settled { .. }
        | Entry::Decided { .. }
        | Entry::Attempt { .. }
        | Entry::Finished { .. } => None,
    }
}

fn changed_at(entry: &Entry) -> Option<PlaceId> {
    let Entry::Settled { address: _, place, settlement, at: _ } = entry else { return None };
    match settlement {
        Settlement::Written { unchanged: false, .. } | Settlement::Deleted | Settlement::Linked => Some(*place),
        Settlement::Written { unchanged: true, .. }
        | Settlement::Records(_)
        | Settlement::Refused(_)
        | Settlement::Declined { .. }
        | Settlement::Woken { .. } => None,
    }
}

/// About how many bytes an entry takes.
fn weight(entry: &Entry) -> usize {
    const FRAME: usize = 128;
    let content = match entry {
        Entry::Started { plan: _, fired } => fired.args.iter().map(size::of).fold(0, usize::saturating_add),
        Entry::Intent(intent) => of_request(&intent.request).saturating_mul(2),
        Entry::Settled { settlement, .. } => match settlement {
            Settlement::Records(records) => records.iter().map(size::of).fold(0, usize::saturating_add),
            Settlement::Written { handle, .. } => size::of(handle),
            Settlement::Deleted | Settlement::Linked => 0,
            Settlement::Refused(failure) => failure.message.len(),
            Settlement::Declined { text, status: _ } => text.len(),
            Settlement::Woken { value, at: _ } => size::of(value),
        },
        Entry::Decided { why, .. } | Entry::Attempt { why, .. } => why.len(),
        Entry::Waiting(_) | Entry::Finished { .. } => 0,
    };
    content.saturating_add(FRAME)
}

fn of_request(request: &lf_lang::run::Request) -> usize {
    match request {
        lf_lang::run::Request::Read { ty: _, origin, pins, by } => {
            let origin = match origin {
                Origin::Root => 0,
                Origin::Record { key, .. } => key.0.len(),
            };
            size::of_record(pins).saturating_add(size::of_record(by)).saturating_add(origin)
        }
        lf_lang::run::Request::Write(write) => {
            write.entries.iter().map(|entry| size::of(&entry.value)).fold(0, usize::saturating_add)
        }
        lf_lang::run::Request::Delete { ty: _, key } => key.0.len(),
        lf_lang::run::Request::Link { tie, join: _ } => tie.key.0.len() + tie.to.0.len(),
    }
}
