//! One task per listen: asks its source, compares, judges causes, and stores each batch whole before the next is asked
//! for. A source that fails or falls silent is asked again later and never stops the others.

mod awaited;
mod intake;

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

use jiff::Timestamp;
use lf_lang::{check::catalog::ConnectionKey, plan::ir::Listen};
use lf_module::{
    Batch, CallError, Event, Kind, Record, Source,
    call::{Listen as Request, Start},
    schema::How,
};
use smol_str::SmolStr;

use self::awaited::Awaited;
use super::{
    clock::{spoken, within},
    compare::{self, Delta, Known, Shown, Sight},
    news::What,
    service::Service,
    watches,
};
use crate::store::{Met, Position, Seen, StoreError, TakeIn};

/// How many keys of a listing are looked up, or found gone, at once.
const PAGE: usize = 500;
/// A polled source may say nothing for three of its intervals, and for this long.
const QUIET: Duration = Duration::from_secs(30);
/// After how many failures in a row a source is unhealthy.
const UNHEALTHY: u32 = 3;

/// Listens until the runner stops; with `once`, until the source was looked at once.
pub(super) async fn listen(service: Arc<Service>, listen: Listen) {
    let Some(connection) = service.plan.connection(listen.connection).map(|at| at.key.clone()) else { return };
    let position = match service.patiently(|| service.store.position(&listen.name)).await {
        Ok(position) => position.unwrap_or_default(),
        Err(error) => return service.fatal(&error),
    };
    let whole = !position.listing;
    let mut listener = Listener {
        service: &service,
        listen: &listen,
        connection,
        position,
        quiet: None,
        writable: None,
        failures: 0,
        refused: false,
        unhealthy: false,
        known: 0,
        met: Met::default(),
        whole,
        passed_by: BTreeMap::new(),
        awaited: Awaited::default(),
        bursts: BTreeMap::new(),
        began: service.clock.now(),
        amid: false,
    };
    listener.describe().await;
    let went = listener.run().await;
    service.looks.end(&listen.name);
    match went {
        Ok(()) => {}
        // Another store error than "away": nothing can be promised any more.
        Err(Stop::Store(error)) => service.fatal(&error),
        Err(Stop::Stopping) => {}
    }
}

struct Listener<'a> {
    service: &'a Service,
    listen: &'a Listen,
    connection: ConnectionKey,
    position: Position,
    /// How long a source that works says nothing at most; `None` where silence says nothing (a stream).
    quiet: Option<Duration>,
    /// The fields that a write can set; `None` if the type was never described.
    writable: Option<Vec<SmolStr>>,
    failures: u32,
    /// The system refused the credential.
    refused: bool,
    unhealthy: bool,
    /// Records that the baseline remembered.
    known: u64,
    /// What the listing under way has shown.
    met: Met,
    /// Whether it was followed from its beginning: only then is what it did not show gone.
    whole: bool,
    /// How many looks passed each expectation by.
    passed_by: BTreeMap<i64, u32>,
    /// What our own writes are expected to show here.
    awaited: Awaited,
    /// When each record's current minute began, and how often it fired in it.
    bursts: BTreeMap<lf_module::Key, (Duration, u32)>,
    /// When the look under way began, at the earliest.
    began: Timestamp,
    /// A listing is under way.
    amid: bool,
}

/// Why a listener ends.
enum Stop {
    Stopping,
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Listener<'_> {
    async fn describe(&mut self) {
        let shape = self.service.shape(self.connection.as_str(), &self.listen.ty).await;
        let how =
            shape.as_ref().and_then(|shape| shape.listenable.as_ref()).map_or(How::Poll, |listening| listening.how);
        self.quiet = match how {
            How::Poll => Some(self.listen.every.saturating_mul(3).max(QUIET)),
            How::Push | How::Webhook | How::Clock => None,
        };
        self.writable = shape
            .map(|shape| shape.fields.iter().filter(|field| field.writable).map(|field| field.name.clone()).collect());
    }

    async fn run(&mut self) -> Result<(), Stop> {
        loop {
            self.room().await?;
            // It was looked at in the only way that there is: a person wants nothing of it.
            if self.service.options.once && self.service.is_off(&self.listen.name) {
                return Ok(());
            }
            (self.began, self.amid) = (self.service.clock.now(), false);
            let Some(mut source) = self.open().await? else {
                if self.gives_up() {
                    return Ok(());
                }
                continue;
            };
            loop {
                self.room().await?;
                let Some(answer) = self.next(source.as_mut()).await? else { break };
                match answer {
                    Ok(batch) => {
                        let over = batch.events.is_empty()
                            || batch.events.iter().any(|event| matches!(event, Event::ListingEnded { .. }));
                        self.amid = !over && batch.events.iter().any(|event| matches!(event, Event::Listed(_)));
                        self.take(batch).await?;
                        self.worked().await;
                        if over {
                            self.looked();
                        }
                        if over && self.service.options.once {
                            return Ok(());
                        }
                    }
                    Err(error) => {
                        let anew = self.failed(error).await?;
                        if self.gives_up() {
                            return Ok(());
                        }
                        // Opened anew, it looks at once.
                        if anew || self.service.looks.wants().has(&self.listen.name) {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// A look is stored whole, and the next begins.
    fn looked(&mut self) {
        let service = self.service;
        if watches::is_watch(&self.listen.name) {
            service.looks.looked(&self.listen.name, self.began);
        }
        self.began = service.clock.now();
    }

    /// Waits until no more runs of this listen wait than may (R6), its connection is not held, and nobody has switched
    /// it off.
    async fn room(&self) -> Result<(), Stop> {
        loop {
            let service = self.service;
            let settled = service.settled.notified();
            let open = service.patiently(|| service.store.open(&self.listen.name)).await?;
            let off = service.is_off(&self.listen.name);
            let held = off || service.holds.held(self.connection.as_str()).await.is_some();
            if open < service.limits.waiting && !held {
                return if service.stopping.is_cancelled() { Err(Stop::Stopping) } else { Ok(()) };
            }
            if held && service.options.once {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = service.stopping.cancelled() => return Err(Stop::Stopping),
                () = settled => {}
                () = service.clock.sleep(Duration::from_secs(1)) => {}
            }
        }
    }

    /// A source at the stored position; `None` if it could not be opened (said and waited for).
    async fn open(&mut self) -> Result<Option<Box<dyn Source>>, Stop> {
        self.service.mend(&self.connection).await;
        let request = Request {
            ty: self.listen.ty.clone(),
            pins: self.listen.pins.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Record>(),
            every: self.listen.every,
            from: self.position.cursor.clone(),
        };
        let opened = match self.service.connection(&self.connection) {
            Some(connection) => connection.listen(request),
            None => Err(CallError::new(Kind::Limit, format!("`{}` is not connected", self.connection))),
        };
        match opened {
            Ok(source) => Ok(Some(source)),
            Err(error) => {
                let _anew = self.failed(error).await?;
                Ok(None)
            }
        }
    }

    /// What the source says next; `None` if the listen was switched off meanwhile, or a deadline wants a look now. Opened
    /// anew, the source looks at once and goes on from what is stored.
    async fn next(&mut self, source: &mut dyn Source) -> Result<Option<Result<Batch, CallError>>, Stop> {
        let service = self.service;
        let mut switches = service.switches();
        let off = switches.wait_for(|off| off.contains_key(&self.listen.name));
        let (mut wants, began, amid) = (service.looks.wants(), self.began, self.amid);
        // A listing under way is not begun anew, or a long one would never end.
        let wanted = async {
            if amid {
                std::future::pending::<()>().await;
            }
            wants.later(&self.listen.name, began).await;
        };
        let asked = async {
            let Some(quiet) = self.quiet else { return source.next().await };
            let mut answer = source.next();
            if let Some(answer) = within(service.clock.as_ref(), quiet, &mut answer).await {
                return answer;
            }
            // It may still be reading a long listing, so it is told and waited for a while.
            self.ill(&format!("the source said nothing for {}", spoken(quiet)));
            let answer = within(service.clock.as_ref(), service.limits.silence, answer).await;
            answer.unwrap_or_else(|| {
                let silence = spoken(quiet.saturating_add(service.limits.silence));
                // Whatever it waits for, a source opened anew does not.
                Err(CallError::new(Kind::Drift, format!("the source said nothing for {silence}")))
            })
        };
        tokio::select! {
            biased;
            () = service.stopping.cancelled() => Err(Stop::Stopping),
            Ok(_) = off => Ok(None),
            () = wanted => Ok(None),
            answer = asked => Ok(Some(answer)),
        }
    }

    /// Says once that the source is unhealthy.
    fn ill(&mut self, why: &str) {
        if !self.unhealthy {
            self.unhealthy = true;
            let what = What::Unhealthy { failures: self.failures, why: why.to_owned() };
            self.service.tell(&self.listen.name, None, what);
        }
    }

    /// Waits after a failure, longer each time. Answers whether the source is to be opened anew.
    async fn failed(&mut self, error: CallError) -> Result<bool, Stop> {
        let service = self.service;
        self.failures = self.failures.saturating_add(1);
        self.refused = error.kind == Kind::Credential;
        tracing::warn!("{}: {}", self.listen.name, error.message);
        if self.failures >= UNHEALTHY || error.kind == Kind::Drift {
            self.ill(&error.message);
        }
        let anew = match error.kind {
            Kind::Credential => {
                let _until = service.lock_out(&self.connection.as_str().into(), &error.message).await;
                true
            }
            Kind::Drift | Kind::Limit => true,
            Kind::Refused | Kind::Passing => false,
        };
        if self.gives_up() {
            service.tally().problem(format!("`{}` could not be looked at: {}", self.listen.name, error.message));
            return Ok(anew);
        }
        let longest = self.listen.every.max(Duration::from_mins(1));
        let ceiling = Duration::from_secs(1).saturating_mul(1 << (self.failures - 1).min(8)).min(longest);
        let delay = ceiling / 2 + (ceiling / 2).mul_f64(service.random.unit().clamp(0.0, 1.0));
        let delay = delay.max(error.retry_after.unwrap_or_default());
        tokio::select! {
            biased;
            () = service.stopping.cancelled() => Err(Stop::Stopping),
            () = service.clock.sleep(delay) => Ok(anew),
        }
    }

    /// With `once` a source gets three tries, and one where trying again does not help.
    fn gives_up(&self) -> bool {
        self.service.options.once && (self.failures >= UNHEALTHY || self.refused)
    }

    async fn worked(&mut self) {
        if self.unhealthy {
            self.service.tell(&self.listen.name, None, What::Healthy);
        }
        (self.failures, self.refused, self.unhealthy) = (0, false, false);
        self.service.works(self.connection.as_str()).await;
    }

    /// Stores a batch: each part up to the end of a listing by itself, the position with the last.
    async fn take(&mut self, batch: Batch) -> Result<(), Stop> {
        let (mut part, mut listing) = (Vec::new(), false);
        for event in batch.events {
            match event {
                Event::ListingEnded { complete } => {
                    let part = std::mem::take(&mut part);
                    self.part(part, None).await?;
                    self.listing_ended(complete, batch.cursor.clone()).await?;
                    listing = false;
                }
                Event::Listed(_) => {
                    listing = true;
                    part.push(event);
                }
                Event::Changed(_) => part.push(event),
            }
        }
        let moved = batch.cursor.is_some() && batch.cursor != self.position.cursor;
        let listing = listing || self.position.listing;
        let position = moved.then(|| Position { cursor: batch.cursor, listing, ..self.position.clone() });
        self.part(part, position).await
    }

    /// Everything that was seen is stored; what a whole listing did not show is gone.
    async fn listing_ended(&mut self, complete: bool, cursor: Option<lf_module::Cursor>) -> Result<(), Stop> {
        let service = self.service;
        let met = std::mem::take(&mut self.met);
        while complete && self.whole && self.position.baseline_done {
            let (name, page) = (&self.listen.name, u32::try_from(PAGE).unwrap_or(u32::MAX));
            let unmet = service.patiently(|| service.store.unmet(name, &met, page)).await?;
            if unmet.is_empty() {
                break;
            }
            let mark = self.mark();
            let forget = unmet.iter().map(|seen| seen.key.clone()).collect();
            let gone: Vec<Delta> = unmet.into_iter().map(|seen| compare::gone(seen, &mark)).collect();
            self.store(TakeIn { forget, ..TakeIn::default() }, gone).await?;
        }
        self.whole = true;
        let before = self.position.clone();
        let mut after = Position { baseline_done: true, listing: false, ..before.clone() };
        if cursor.is_some() {
            after.cursor = cursor;
        }
        // A look that showed nothing new costs no commit.
        if after == before {
            return Ok(());
        }
        self.store(TakeIn { position: Some(after), ..TakeIn::default() }, Vec::new()).await?;
        if !before.baseline_done {
            service.tell(&self.listen.name, None, What::Baseline { records: self.known });
        }
        Ok(())
    }

    /// Compares and stores events between two ends of listings.
    async fn part(&mut self, events: Vec<Event>, position: Option<Position>) -> Result<(), Stop> {
        let mut events = events.into_iter().peekable();
        while events.peek().is_some() {
            let page: Vec<Event> = events.by_ref().take(PAGE).collect();
            let position = if events.peek().is_none() { position.clone() } else { None };
            let (batch, deltas) = self.compare(page).await?;
            // In a listing a position is worth a commit only with what it is the position of.
            let position = position.filter(|position| !position.listing || batch != TakeIn::default());
            self.store(TakeIn { position, ..batch }, deltas).await?;
        }
        match position.filter(|position| !position.listing) {
            // Nothing but a new position came.
            Some(position) if position != self.position => {
                self.store(TakeIn { position: Some(position), ..TakeIn::default() }, Vec::new()).await
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn compare(&mut self, events: Vec<Event>) -> Result<(TakeIn, Vec<Delta>), Stop> {
        let (service, name) = (self.service, &self.listen.name);
        let shown: Vec<Shown> = events
            .into_iter()
            .filter_map(|event| match event {
                Event::Changed(changed) => Some(Shown::changed(changed)),
                Event::Listed(landed) => Some(Shown::listed(landed)),
                Event::ListingEnded { .. } => None,
            })
            .collect();
        let keys: Vec<_> = shown.iter().map(|shown| shown.key.clone()).collect();
        let mut known = Known::new(service.patiently(|| service.store.versions(name, &keys)).await?);
        // Most are as they were; of those nothing but the version is read.
        let other: Vec<_> = shown.iter().filter(|shown| !known.is_same(shown)).map(|shown| shown.key.clone()).collect();
        if !other.is_empty() {
            known.learn(service.patiently(|| service.store.seen(name, &other)).await?);
        }
        let fires = self.position.baseline_done || self.listen.start == Start::All;
        let mark = self.mark();
        let (mut batch, mut deltas) = (TakeIn::default(), Vec::new());
        for shown in shown {
            match compare::sight(shown, &known, fires, &mark) {
                Sight::Same(key) => self.met.add(&key),
                Sight::Known(seen) => {
                    self.known += 1;
                    self.met.add(&seen.key);
                    remember(&mut batch, &mut known, seen);
                }
                Sight::Change(delta) => {
                    match delta.seen() {
                        Some(seen) => {
                            self.met.add(&seen.key);
                            remember(&mut batch, &mut known, seen);
                        }
                        None => {
                            self.met.remove(&delta.key);
                            known.forget(&delta.key);
                            batch.seen.retain(|known| known.key != delta.key);
                            batch.forget.push(delta.key.clone());
                        }
                    }
                    deltas.push(*delta);
                }
            }
        }
        Ok((batch, deltas))
    }

    /// Tells this look from every other.
    fn mark(&self) -> String {
        let mut mark = String::new();
        // Writing to a string cannot fail.
        let _written = write!(mark, "{:x}", self.service.clock.now().as_microsecond()).is_ok();
        mark
    }
}

fn remember(batch: &mut TakeIn, known: &mut Known, seen: Seen) {
    batch.seen.retain(|earlier| earlier.key != seen.key);
    batch.forget.retain(|gone| *gone != seen.key);
    known.set(seen.clone());
    batch.seen.push(seen);
}
