//! Changes by asking again and again.
//!
//! The source holds no truth: where it stands is in the cursor of each batch, and a source opened there
//! gives what follows. It never decides what changed; the host compares. Every state is set after the
//! last wait of `next`, so a `next` that is dropped has done nothing.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use jiff::{Timestamp, ToSpan as _, civil::Date};
use lf_module::{Batch, CallError, Cursor, Event, Kind, Landed, Listen, Number, Source, Value};
use serde::{Deserialize, Serialize};

use crate::{
    model::{Follow, Grows, List, Type},
    paging::{Got, Listing, Place, pinned},
    request::Given,
    system::System,
    template::scalar,
};

/// For so long no system forgets where its next page is; a refusal in that time means something else.
const FRESH: Duration = Duration::from_secs(60);

/// Where a source stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Standing {
    /// The first listing is through.
    based: bool,
    /// What the next look asks from; `None` asks for everything.
    since: Option<String>,
    /// The next page of the look that is under way.
    page: Option<Place>,
    /// The greatest value that this look has seen.
    top: Option<String>,
    /// When this look began, by our clock.
    began: Option<Timestamp>,
}

/// A polled source.
#[derive(Debug)]
pub(crate) struct Polling {
    system: Arc<System>,
    listen: Listen,
    at: Standing,
    /// When the place of the next page was learnt; `None` if it comes from a stored cursor.
    learnt: Option<Duration>,
    /// When the next look is due.
    due: Option<Duration>,
    seen: Seen,
}

/// Which keys the looks at the whole list have met, as hashes: eight bytes for a record.
#[derive(Debug, Default)]
struct Seen {
    /// Of the last whole look of this source.
    before: Option<Vec<u64>>,
    /// Of the look under way, and whether it began in this source.
    now: Vec<u64>,
    whole: bool,
}

impl Polling {
    /// A source at the stored cursor.
    pub(crate) fn open(system: Arc<System>, listen: Listen) -> Result<Self, CallError> {
        let ty = system.ty(&listen.ty)?;
        if ty.follow.is_none() || ty.list.is_none() {
            let why = format!("`{}` cannot be listened to: the module declares no `listen`", ty.name);
            return Err(CallError::new(Kind::Limit, why));
        }
        pinned(ty, &listen.pins)?;
        let at: Standing = match &listen.from {
            None => Standing::default(),
            Some(Cursor(text)) => serde_json::from_str(text)
                .map_err(|_| CallError::new(Kind::Limit, "the stored position is not one of this module"))?,
        };
        let seen = Seen { whole: at.page.is_none(), ..Seen::default() };
        Ok(Self { system, listen, at, learnt: None, due: None, seen })
    }

    /// Asks for the page at which the source stands.
    async fn look(&self, ty: &Type, list: &List, follow: &Follow) -> Result<Got, CallError> {
        let extra: Vec<(String, String)> = match (follow, &self.at.since) {
            (Follow::Cursor { parameter, .. }, Some(since)) => vec![(parameter.clone(), since.clone())],
            (Follow::Cursor { .. } | Follow::List, _) => Vec::new(),
        };
        let given = Given { fields: Some(&self.listen.pins), ..Given::default() };
        let deadline = self.system.ports.clock.monotonic() + Duration::from_secs(self.system.model.limits.seconds);
        let place = self.at.page.clone().unwrap_or_default();
        Listing { ty, list, given, extra: &extra }.page(&self.system, &place, deadline).await
    }

    /// Takes a page in: the events, and the place after them.
    fn take(&mut self, follow: &Follow, began: Timestamp, got: Got) -> Result<Batch, CallError> {
        let mut at = self.at.clone();
        at.began = Some(began);
        let mut events = Vec::with_capacity(got.records.len() + 1);
        for (landed, raw) in got.records {
            if let Follow::Cursor { field, grows, .. } = follow {
                let value = field.of(&raw).filter(|value| !value.is_absent());
                at.top = later(at.top.take(), value, *grows)?;
            }
            if matches!(follow, Follow::List) {
                self.seen.meet(&landed);
            }
            events.push(Event::Listed(landed));
        }
        let pages = self.at.page.as_ref().map_or(0, |place| place.pages) + 1;
        let ended = got.next.is_none();
        at.page = got.next;
        if ended {
            match follow {
                Follow::List => {
                    let complete = self.seen.end(pages, !at.based);
                    events.push(Event::ListingEnded { complete });
                }
                Follow::Cursor { grows, overlap, .. } => {
                    // Ends the baseline, and tells a host that looks once that this was it.
                    events.push(Event::ListingEnded { complete: false });
                    // One page is one moment at the system; several are not.
                    let length = self.system.ports.clock.now().duration_since(began).as_secs().max(0);
                    let took = if pages > 1 { length.saturating_add(1) } else { 0 };
                    let top = at.top.take();
                    at.since = match top {
                        Some(top) => Some(earlier(&top, *grows, took, *overlap)),
                        None => at.since.take(),
                    };
                }
            }
            at.based = true;
            at.began = None;
            let unit = self.system.ports.random.unit();
            self.due = Some(self.system.ports.clock.monotonic() + self.listen.every.mul_f64(0.9 + 0.2 * unit));
        }
        self.learnt = Some(self.system.ports.clock.monotonic());
        self.at = at;
        let cursor = serde_json::to_string(&self.at).map(Cursor);
        let cursor = cursor.map_err(|_| CallError::new(Kind::Limit, "the position cannot be remembered"))?;
        Ok(Batch { events, cursor: Some(cursor) })
    }

    /// Whether the system refused a page because its place is too old, as the cursors of many systems become.
    fn forgotten(&self, error: &CallError) -> bool {
        let age = self.learnt.map(|learnt| self.system.ports.clock.monotonic().saturating_sub(learnt));
        self.at.page.is_some()
            && age.is_none_or(|age| age >= FRESH)
            && matches!(error.status, Some(400 | 404 | 410 | 422))
    }

    async fn wait(&self) {
        let clock = &self.system.ports.clock;
        let left = self.due.unwrap_or_default().saturating_sub(clock.monotonic());
        if !left.is_zero() {
            clock.sleep(left).await;
        }
    }
}

#[async_trait]
impl Source for Polling {
    async fn next(&mut self) -> Result<Batch, CallError> {
        let system = self.system.clone();
        let ty = system.ty(&self.listen.ty)?;
        let (Some(list), Some(follow)) = (&ty.list, &ty.follow) else {
            return Err(CallError::new(Kind::Limit, format!("`{}` cannot be listened to", ty.name)));
        };
        if self.at.page.is_none() {
            self.wait().await;
        }
        let began = self.at.began.filter(|_| self.at.page.is_some()).unwrap_or_else(|| system.ports.clock.now());
        let got = match self.look(ty, list, follow).await {
            Err(error) if self.forgotten(&error) => {
                tracing::warn!(
                    "{}: the next page of `{}` is not known any more; listing anew: {error}",
                    system.module,
                    ty.name
                );
                self.at.page = None;
                self.at.top = None;
                self.seen = Seen { whole: true, before: self.seen.before.take(), now: Vec::new() };
                self.look(ty, list, follow).await?
            }
            other => other?,
        };
        self.take(follow, began, got)
    }
}

impl Seen {
    fn meet(&mut self, landed: &Landed) {
        if let Some(key) = &landed.key {
            let mut hasher = DefaultHasher::new();
            key.hash(&mut hasher);
            self.now.push(hasher.finish());
        }
    }

    /// Ends a look; says whether what it did not meet is gone.
    ///
    /// A list of several pages can lose a record between two of them while others are deleted. So a look is
    /// taken for complete only if it met everything that the look before it met: what is missing then was
    /// missed twice. At the very first look there is nothing that could be missing.
    fn end(&mut self, pages: u64, first: bool) -> bool {
        let mut now = std::mem::take(&mut self.now);
        now.sort_unstable();
        now.dedup();
        let agrees = self.before.as_ref().is_some_and(|before| before.iter().all(|key| now.binary_search(key).is_ok()));
        let complete = first || (self.whole && (pages == 1 || agrees));
        self.before = self.whole.then_some(now);
        self.whole = true;
        complete
    }
}

/// The greater of the two.
fn later(top: Option<String>, value: Option<&Value>, grows: Grows) -> Result<Option<String>, CallError> {
    let Some(value) = value else { return Ok(top) };
    let text = scalar(value).unwrap_or_default();
    let unreadable = || CallError::new(Kind::Drift, "the field that is listened by holds no number, date or date-time");
    let is_later = match (grows, top.as_deref()) {
        (Grows::Number, top) => {
            let found = Number::parse(&text).and_then(|number| number.as_decimal()).ok_or_else(unreadable)?;
            top.and_then(Number::parse).and_then(|top| top.as_decimal()).is_none_or(|top| found > top)
        }
        (Grows::Date, top) => {
            let found: Date = text.parse().map_err(|_| unreadable())?;
            top.and_then(|top| top.parse::<Date>().ok()).is_none_or(|top| found > top)
        }
        (Grows::Datetime, top) => {
            let found: Timestamp = text.parse().map_err(|_| unreadable())?;
            top.and_then(|top| top.parse::<Timestamp>().ok()).is_none_or(|top| found > top)
        }
    };
    Ok(if is_later { Some(text) } else { top })
}

/// Where the next look starts: `top`, less the overlap, less the time that this look took. A record that changed
/// while the pages were read has a value of that time at least, by the system's own clock.
fn earlier(top: &str, grows: Grows, took: i64, overlap: u64) -> String {
    let overlap = i64::try_from(overlap).unwrap_or(i64::MAX);
    if overlap == 0 && took == 0 {
        // As the system wrote it.
        return top.to_owned();
    }
    let less = match grows {
        Grows::Number => {
            let number = Number::parse(top).and_then(|number| number.as_decimal());
            number.and_then(|number| number.checked_sub(overlap.into())).map(|number| number.to_string())
        }
        Grows::Date => {
            let days = overlap.saturating_add(i64::from(took > 0)).min(3_000_000);
            top.parse::<Date>().ok().map(|date| date.saturating_sub(days.days()).to_string())
        }
        Grows::Datetime => {
            let seconds = overlap.saturating_add(took);
            let back = jiff::SignedDuration::from_secs(seconds);
            top.parse::<Timestamp>().ok().and_then(|at| at.checked_sub(back).ok()).map(|at| at.to_string())
        }
    };
    less.unwrap_or_else(|| top.to_owned())
}

#[cfg(test)]
mod tests;
