//! One write: resolved against what is there, journalled as an intent, sent, settled.

use std::fmt::Write as _;

use jiff::Timestamp;
use lf_lang::{
    plan::ir::Listen,
    run::{
        Entry, Failure, Request, Settlement,
        entry::{Intent, Sending},
        io::{FailureKind, Target, WriteRequest},
    },
};
use lf_module::{Key, Kind, Landed, Record, Write, Written, call::Origin};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use super::{
    Asked, files, may_send_again,
    sending::{as_write, is_looked_up, over, position, sent, shape, written_type},
    settled,
};
use crate::{
    host::{
        attempt::{Attempt, Link},
        clock::{later, until},
        identities::Held,
        journal::Journal,
        news::{Action, What, show},
        resolve,
        trouble::Trouble,
    },
    store::Expectation,
};

/// What a write comes to.
pub(super) enum Resolved {
    Unchanged {
        key: Option<Key>,
        fields: Record,
        created: bool,
    },
    /// `base`: the record as it is, for the handle. `created`: whether it is new by this effect.
    Send {
        sending: Sending,
        base: Record,
        created: bool,
    },
}

pub(super) struct Change<'a> {
    attempt: &'a Attempt<'a>,
    asked: &'a Asked<'a>,
    link: &'a Link,
    idempotency: SmolStr,
}

impl<'a> Change<'a> {
    pub(super) fn new(attempt: &'a Attempt<'a>, asked: &'a Asked<'a>, link: &'a Link) -> Self {
        Self { attempt, asked, link, idempotency: idempotency(attempt, asked) }
    }

    fn ty(&self) -> &SmolStr {
        written_type(&self.asked.request)
    }

    /// Takes the locks of its identities.
    pub(super) async fn lock(&self) -> Option<Held> {
        let Request::Write(WriteRequest { unique, .. }) = &self.asked.request else { return None };
        if unique.is_empty() {
            return None;
        }
        let name = |by: &Record| format!("{}\u{0}{}\u{0}{}", self.link.id, self.ty(), resolve::identity(by));
        Some(self.attempt.service.identities.lock(unique.iter().map(name).collect()).await)
    }

    pub(super) async fn resolve(&self, open: Option<&Intent>) -> Result<Resolved, Trouble> {
        if let Some(open) = open
            && !is_looked_up(&open.request)
        {
            let created = matches!(open.sending, Sending::Create { .. });
            return Ok(Resolved::Send { sending: open.sending.clone(), base: Record::new(), created });
        }
        match &self.asked.request {
            Request::Delete { ty: _, key } => {
                let sending = Sending::Delete { key: key.clone(), idempotency: self.idempotency.clone() };
                Ok(Resolved::Send { sending, base: Record::new(), created: false })
            }
            Request::Link { tie, join } => {
                let sending = Sending::Link { tie: tie.clone(), join: *join, idempotency: self.idempotency.clone() };
                Ok(Resolved::Send { sending, base: Record::new(), created: false })
            }
            Request::Write(write) => match &write.target {
                Target::Create { origin } if write.unique.is_empty() => Ok(self.create(write, origin)),
                Target::Create { .. } => self.unique(write, open).await,
                Target::Update { key } => self.update(write, key).await,
            },
            Request::Read { ty, .. } => Err(Trouble::Failed(Failure {
                kind: FailureKind::Journal,
                message: format!("a read of `{ty}` was to be written"),
                place: Some(self.asked.place),
            })),
        }
    }

    fn create(&self, write: &WriteRequest, origin: &Origin) -> Resolved {
        let fields = resolve::created(&write.entries);
        let sending = Sending::Create { origin: origin.clone(), fields, idempotency: self.idempotency.clone() };
        Resolved::Send { sending, base: Record::new(), created: true }
    }

    async fn update(&self, write: &WriteRequest, key: &Key) -> Result<Resolved, Trouble> {
        let current = match self.get(key).await {
            Ok(Some(landed)) => Some(landed.fields),
            Ok(None) => {
                let message = format!("the record `{key}` of `{}` is gone; there is nothing to change", self.ty());
                let failure = self.failure(FailureKind::Call(Kind::Refused), message.clone());
                return Err(Trouble::Refused { failure, said: message, status: None });
            }
            // A system that cannot show one record: nothing is compared, all of it is sent.
            Err(Trouble::Refused { .. }) if resolve::is_blind(&write.entries) => None,
            Err(trouble) => return Err(trouble),
        };
        Ok(self.against(write, key.clone(), current.as_ref(), false))
    }

    fn against(&self, write: &WriteRequest, key: Key, current: Option<&Record>, created: bool) -> Resolved {
        let fields = resolve::changed(&write.entries, current);
        let base = current.cloned().unwrap_or_default();
        if fields.is_empty() {
            return Resolved::Unchanged { key: Some(key), fields: base, created };
        }
        let sending = Sending::Update { key, fields, idempotency: self.idempotency.clone() };
        Resolved::Send { sending, base, created }
    }

    /// Looks the identity up: where it stands, the record is changed; else it is created.
    async fn unique(&self, write: &WriteRequest, open: Option<&Intent>) -> Result<Resolved, Trouble> {
        let mut found = Vec::new();
        for by in &write.unique {
            found.extend(self.remembered(by).await?);
            found.extend(self.find(by).await?);
        }
        // A create of ours was in flight: what stands there now is what it made.
        let created = open.is_some_and(|open| matches!(open.sending, Sending::Create { .. }));
        let records = resolve::distinct(found);
        match records.as_slice() {
            [] => Ok(self.create(write, &Origin::Root)),
            [Landed { key: Some(key), version: _, fields }] => {
                Ok(self.against(write, key.clone(), Some(fields), created))
            }
            [Landed { key: None, .. }] => {
                let message = format!("the `{}` found by `unique by` has no key, so it cannot be changed", self.ty());
                Err(Trouble::Failed(self.failure(FailureKind::Program, message)))
            }
            many => {
                let keys: Vec<&str> =
                    many.iter().map(|landed| landed.key.as_ref().map_or("(no key)", |key| key.0.as_str())).collect();
                let message = format!(
                    "`unique by` meets {} records of `{}`: {}; make them one, then retry the run",
                    many.len(),
                    self.ty(),
                    keys.join(", ")
                );
                Err(Trouble::Failed(self.failure(FailureKind::Program, message)))
            }
        }
    }

    /// The record that was just created under this identity, if it still has it.
    async fn remembered(&self, by: &Record) -> Result<Option<Landed>, Trouble> {
        let (service, identity) = (self.attempt.service, resolve::identity(by));
        let key = service.patiently(|| service.store.identity(&self.link.id, self.ty(), &identity)).await?;
        let Some(key) = key else { return Ok(None) };
        let landed = match self.get(&key).await {
            Ok(landed) => landed,
            // It cannot be asked for by key: the system's own find decides.
            Err(Trouble::Refused { .. }) => None,
            Err(trouble) => return Err(trouble),
        };
        Ok(landed.filter(|landed| {
            by.iter().all(|(field, value)| landed.fields.get(field).is_none_or(|there| there == value))
        }))
    }

    async fn get(&self, key: &Key) -> Result<Option<Landed>, Trouble> {
        let (attempt, link, asked, mut drifted) = (self.attempt, self.link, self.asked, false);
        loop {
            let call = attempt.call(asked.place, None)?;
            match attempt.bounded(&call, link, link.connection.get(self.ty(), key, &call)).await {
                Ok(landed) => return Ok(landed),
                Err(error) => attempt.failed(link, self.ty(), asked, error, &mut drifted).await?,
            }
        }
    }

    async fn find(&self, by: &Record) -> Result<Vec<Landed>, Trouble> {
        let (attempt, link, asked, mut drifted) = (self.attempt, self.link, self.asked, false);
        loop {
            let call = attempt.call(asked.place, None)?;
            match attempt.bounded(&call, link, link.connection.find(self.ty(), by, &call)).await {
                Ok(found) => return Ok(found),
                Err(error) => attempt.failed(link, self.ty(), asked, error, &mut drifted).await?,
            }
        }
    }

    /// Journals, sends, settles.
    pub(super) async fn send(
        &self,
        journal: &mut Journal<'_>,
        sending: &Sending,
        base: Record,
        created: bool,
    ) -> Result<Settlement, Trouble> {
        let (attempt, service) = (self.attempt, self.attempt.service);
        // What is read again after a crash does no harm, so the intent comes after it.
        let write = files::fetched(attempt, self.asked, as_write(self.ty(), sending)).await?;
        let mut call = attempt.call(self.asked.place, Some(sending.idempotency().clone()))?;
        let now = service.clock.now();
        let end = later(now, attempt.allowance());
        journal.note(Entry::Intent(Box::new(Intent {
            address: self.asked.address.clone(),
            place: self.asked.place,
            connection: self.asked.connection,
            request: self.asked.request.clone(),
            sending: sending.clone(),
            at: now,
            until: end,
        })));
        let expectations = self.expectations(sending, now);
        // Sent again it may show again, so it is expected again.
        journal.flush(expectations.clone()).await?;
        let (action, key) = shape(&write);
        attempt.tell(What::Sending {
            spot: attempt.spot(self.asked.place),
            connection: self.link.name.clone(),
            ty: self.ty().clone(),
            action,
            key,
            sent: sent(&write),
        });
        let mut drifted = false;
        loop {
            // INVARIANT: nothing is sent past the intent's deadline; whoever takes over relies on it.
            let left = until(service.clock.now(), end);
            if left.is_zero() {
                self.void(journal, &expectations, "its time was over before it was sent").await;
                let message = "storing what was about to be sent took too long; nothing was sent".to_owned();
                let failure = self.failure(FailureKind::Call(Kind::Passing), message);
                return Err(Trouble::Later { failure, wait: None });
            }
            call.deadline = call.deadline.min(service.clock.monotonic() + left);
            match attempt.bounded(&call, self.link, self.link.connection.write(&write, &call)).await {
                Ok(written) => return self.settle(journal, &write, written, base, created).await,
                Err(error) if error.may_have_acted() => {
                    let again = may_send_again(self.link, &self.asked.request, &write);
                    let message = format!("{}; whether it was done is not known; sent {}", error.message, sent(&write));
                    let place = Some(self.asked.blamed(attempt.plan, &error));
                    let failure = Failure { place, ..self.failure(FailureKind::Unknown, message) };
                    return Err(Trouble::Unknown { failure, again, until: end });
                }
                Err(error) => {
                    let why = error.message.clone();
                    if let Err(trouble) = attempt.failed(self.link, self.ty(), self.asked, error, &mut drifted).await {
                        self.void(journal, &expectations, &why).await;
                        return Err(trouble.of(&sent(&write)));
                    }
                }
            }
        }
    }

    async fn settle(
        &self,
        journal: &mut Journal<'_>,
        write: &Write,
        written: Written,
        base: Record,
        created: bool,
    ) -> Result<Settlement, Trouble> {
        let (attempt, service) = (self.attempt, self.attempt.service);
        let Written { key, created: is_new, version: _, fields: answer, warnings } = written;
        for message in warnings {
            attempt.tell(What::Warning { message });
        }
        let (action, target) = shape(write);
        let key = key.or(target);
        attempt.tell(What::Wrote {
            spot: attempt.spot(self.asked.place),
            connection: self.link.name.clone(),
            ty: self.ty().clone(),
            action,
            key: key.clone(),
            sent: sent(write),
            answer: show(&answer),
            created: created || is_new,
            unchanged: false,
        });
        let settlement = match write {
            Write::Delete { .. } => Settlement::Deleted,
            Write::Link(_) | Write::Unlink(_) => Settlement::Linked,
            Write::Create { ty: _, origin: _, fields } | Write::Update { ty: _, key: _, fields } => {
                Settlement::Written {
                    handle: position(self.link, self.ty(), key.clone(), over(over(base, fields), &answer)),
                    created: created || is_new,
                    unchanged: false,
                }
            }
        };
        journal.note(settled(attempt, self.asked, settlement.clone()));
        if action == Action::Create
            && let Some(key) = &key
            && let Request::Write(WriteRequest { unique, .. }) = &self.asked.request
            && !unique.is_empty()
        {
            // Before the identity's lock is given back: the next find may not show it yet.
            journal.flush(Vec::new()).await?;
            let now = service.clock.now();
            for by in unique {
                let identity = resolve::identity(by);
                service
                    .patiently(|| service.store.remember_identity(&self.link.id, self.ty(), &identity, key, now))
                    .await?;
            }
        }
        Ok(settlement)
    }

    pub(super) fn unchanged(&self, key: Option<Key>, fields: Record, created: bool) -> Settlement {
        self.attempt.tell(What::Wrote {
            spot: self.attempt.spot(self.asked.place),
            connection: self.link.name.clone(),
            ty: self.ty().clone(),
            action: Action::Update,
            key: key.clone(),
            sent: "{}".to_owned(),
            answer: show(&fields),
            created,
            unchanged: true,
        });
        Settlement::Written { handle: position(self.link, self.ty(), key, fields), created, unchanged: true }
    }

    pub(super) fn dry(&self, sending: &Sending, base: Record, created: bool) -> Settlement {
        let write = as_write(self.ty(), sending);
        let (action, key) = shape(&write);
        self.attempt.tell(What::WouldWrite {
            spot: self.attempt.spot(self.asked.place),
            connection: self.link.name.clone(),
            ty: self.ty().clone(),
            action,
            key: key.clone(),
            sent: sent(&write),
        });
        match &write {
            Write::Delete { .. } => Settlement::Deleted,
            Write::Link(_) | Write::Unlink(_) => Settlement::Linked,
            Write::Create { ty: _, origin: _, fields } | Write::Update { ty: _, key: _, fields } => {
                let imagined = &self.attempt.service.options.imagined;
                let imagined =
                    imagined.get(&(self.link.id.clone(), self.ty().clone())).into_iter().flat_map(Record::iter);
                // What is there stays over what is imagined, what is written over both.
                let mut known: Record = imagined.map(|(name, value)| (name.clone(), value.clone())).collect();
                for (name, value) in base.0 {
                    known.set(name, value);
                }
                let answer = over(known, fields);
                let handle = position(self.link, self.ty(), key, answer);
                Settlement::Written { handle, created, unchanged: false }
            }
        }
    }

    /// The write certainly was not carried out.
    async fn void(&self, journal: &mut Journal<'_>, expectations: &[Expectation], why: &str) {
        let service = self.attempt.service;
        journal.note(Entry::Decided {
            address: self.asked.address.clone(),
            done: false,
            why: why.to_owned(),
            at: service.clock.now(),
        });
        let Some(expectation) = expectations.first() else { return };
        if let Err(error) = service.store.unexpect(self.attempt.run.id, expectation).await {
            tracing::warn!("an expectation could not be taken back: {error}");
        }
    }

    /// What each listen on this type will be shown of the write.
    fn expectations(&self, sending: &Sending, now: Timestamp) -> Vec<Expectation> {
        let service = self.attempt.service;
        let (key, fields) = match sending {
            Sending::Create { origin: _, fields, idempotency: _ } => (None, fields.clone()),
            Sending::Update { key, fields, idempotency: _ } => (Some(key.clone()), fields.clone()),
            Sending::Delete { key, idempotency: _ } => (Some(key.clone()), Record::new()),
            // Nobody can tell which fields a system shows to have changed by it.
            Sending::Link { .. } => return Vec::new(),
        };
        let watches = |listen: &&Listen| {
            listen.ty == *self.ty()
                && service.plan.connection(listen.connection).is_some_and(|at| at.key.as_str() == self.link.id)
        };
        let expectation = |listen: &Listen| Expectation {
            watcher: listen.name.clone(),
            connection: self.link.id.clone(),
            ty: self.ty().clone(),
            key: key.clone(),
            fields: fields.clone(),
            run: self.attempt.run.id,
            listen: self.attempt.run.listen.clone(),
            depth: self.attempt.run.depth,
            at: now,
        };
        service.plan.listens.iter().filter(watches).map(expectation).collect()
    }

    fn failure(&self, kind: FailureKind, message: String) -> Failure {
        Failure { kind, message, place: Some(self.asked.place) }
    }
}

/// The key under which a system recognises this effect. The run's own number is not enough: a store that was begun
/// anew counts from one again; and a call that was refused and is made again is another, since a system may remember
/// its no under the key.
fn idempotency(attempt: &Attempt<'_>, asked: &Asked<'_>) -> SmolStr {
    let run = attempt.run;
    let mut hash = Sha256::new();
    for part in [&run.listen, &run.delivery, &run.key.0, &asked.address.0] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.update(run.id.0.to_be_bytes());
    hash.update(run.taken_in.as_microsecond().to_be_bytes());
    if asked.refusals > 0 {
        hash.update(asked.refusals.to_be_bytes());
    }
    let mut text = String::with_capacity(36);
    text.push_str("lf-");
    for byte in hash.finalize().iter().take(16) {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}").is_ok();
    }
    text.into()
}
