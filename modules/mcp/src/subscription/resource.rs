//! The watched resources: what was pushed for each, what is read for it, and whether that is news.
//!
//! A push is a counter, never a kept body: pushes that come while a read runs share the next one. Reading
//! is the same code for a push, for the first look and for the look after a gap; whether anything is
//! told of it is the consumer's affair.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indexmap::IndexMap;
use lf_module::{Value, json};
use smol_str::SmolStr;
use tokio::sync::{Notify, Semaphore, mpsc};

use crate::{
    attempt::Hears,
    subscription::{
        Options, Report, Reports, Seen, Why,
        link::{Link, Trouble},
        seen::{SeenIds, hash},
        verdict::Then,
    },
};

pub(crate) const UPDATED: &str = "notifications/resources/updated";
/// How many parts of one resource wait to be read; what is pushed beyond counts as the resource itself.
const PARTS: usize = 256;
/// How often a look after a gap is tried, and the waits between.
const LOOKS: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How many resources are looked at at once: hundreds may be watched, and a server that is just back has enough to do.
const LOOKING: usize = 8;

/// One watched resource.
#[derive(Debug)]
struct Resource {
    uri: SmolStr,
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// How often each was pushed: the resource itself, and parts of it.
    pushed: IndexMap<SmolStr, u64>,
    /// It has to be looked at: after a gap, or for the first time.
    look: bool,
    /// A look found news, and left telling it to a push that came meanwhile.
    gap: bool,
    /// The content when it was last read.
    hash: Option<u64>,
}

/// What is to be done next.
enum Work {
    Pushed { uri: SmolStr, count: u64, gap: bool },
    Look,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Resources {
    all: Vec<Resource>,
    options: Options,
    /// Who hears what is not about resources.
    also: Option<Arc<dyn Hears>>,
    /// Whose messages count: those with the id of this subscription, in the newer generation.
    only: Mutex<Option<u64>>,
    ids: Mutex<SeenIds>,
    looking: Semaphore,
}

impl Hears for Resources {
    /// What comes on the answer to a request counts like what comes on the stream.
    fn notification(&self, method: &str, params: &Value, event: Option<&str>) {
        if let Some(event) = event {
            self.note(event);
        }
        self.heard(method, params);
    }
}

impl Resources {
    pub(crate) fn new(uris: &[SmolStr], options: Options, also: Option<Arc<dyn Hears>>) -> Self {
        let resource = |uri: &SmolStr| Resource { uri: uri.clone(), state: Mutex::default(), wake: Notify::new() };
        Self {
            all: uris.iter().map(resource).collect(),
            options,
            also,
            only: Mutex::default(),
            ids: Mutex::default(),
            looking: Semaphore::new(LOOKING),
        }
    }

    /// What was there when a resource was last looked at.
    pub(crate) fn known(&self, uri: &SmolStr, hash: u64) {
        for resource in self.all.iter().filter(|resource| resource.uri == *uri) {
            lock(&resource.state).hash = Some(hash);
        }
    }

    /// Whether it is heard that the list of tools changes.
    pub(crate) fn hears_lists(&self) -> bool {
        self.also.is_some()
    }

    pub(crate) fn uris(&self) -> impl Iterator<Item = &SmolStr> {
        self.all.iter().map(|resource| &resource.uri)
    }

    /// Whether a message is of the subscription that is open. All are, where messages name none.
    pub(crate) fn ours(&self, params: &Value) -> bool {
        let Some(only) = *lock(&self.only) else { return true };
        match params.field("_meta").and_then(|meta| meta.field("io.modelcontextprotocol/subscriptionId")) {
            Some(Value::Number(id)) => id.as_i64().and_then(|id| u64::try_from(id).ok()) == Some(only),
            Some(Value::Text(id)) => *id == only.to_string(),
            Some(_) | None => false,
        }
    }

    /// From now on the messages of this subscription count, or all.
    pub(crate) fn only(&self, id: Option<u64>) {
        *lock(&self.only) = id;
    }

    /// Notes an event id; whether it was new.
    pub(crate) fn note(&self, event: &str) -> bool {
        lock(&self.ids).note(event)
    }

    /// A new session gives ids of its own.
    pub(crate) fn forget_ids(&self) {
        *lock(&self.ids) = SeenIds::default();
    }

    /// Takes a notification in. What is no update of a watched resource is nothing.
    pub(crate) fn heard(&self, method: &str, params: &Value) {
        if !self.ours(params) {
            return;
        }
        if method != UPDATED {
            if let Some(also) = &self.also {
                also.notification(method, params, None);
            }
            return;
        }
        let Some(uri) = params.field("uri").and_then(Value::as_text) else { return };
        let Some(resource) = self.watched(uri) else { return };
        let mut state = lock(&resource.state);
        let full = state.pushed.len() >= PARTS && !state.pushed.contains_key(uri);
        let key = if full { resource.uri.clone() } else { uri.into() };
        *state.pushed.entry(key).or_default() += 1;
        drop(state);
        resource.wake.notify_one();
    }

    /// Takes in what was taken in before: the resource is looked at.
    pub(crate) fn heard_again(&self, method: &str, params: &Value) {
        let uri = params.field("uri").and_then(Value::as_text).unwrap_or_default();
        if let Some(resource) = self.watched(uri)
            && method == UPDATED
            && self.options.looks
        {
            lock(&resource.state).look = true;
            resource.wake.notify_one();
        }
    }

    fn watched(&self, uri: &str) -> Option<&Resource> {
        let exact = self.all.iter().find(|resource| resource.uri == uri);
        if exact.is_some() || !self.options.parts {
            return exact;
        }
        self.all.iter().filter(|resource| below(uri, &resource.uri)).max_by_key(|resource| resource.uri.len())
    }

    /// There was a time in which pushes were lost: everything is looked at.
    pub(crate) fn look(&self) {
        if !self.options.looks {
            return;
        }
        for resource in &self.all {
            lock(&resource.state).look = true;
            resource.wake.notify_one();
        }
    }

    /// Reads each resource whenever there is something to read it for, for ever.
    pub(crate) async fn follow(&self, link: &Link, changes: &mpsc::Sender<Seen>, reports: &Reports) {
        let each = self.all.iter().map(|resource| self.follow_one(resource, link, changes, reports));
        let mut all: futures::stream::FuturesUnordered<_> = each.collect();
        while futures::StreamExt::next(&mut all).await.is_some() {}
        std::future::pending::<()>().await;
    }

    async fn follow_one(&self, resource: &Resource, link: &Link, changes: &mpsc::Sender<Seen>, reports: &Reports) {
        loop {
            resource.wake.notified().await;
            while let Some(work) = self.next(resource) {
                let seen = match work {
                    Work::Pushed { uri, count, gap } => {
                        let contents = link.read(&uri).await;
                        if uri == resource.uri
                            && let Ok(contents) = &contents
                        {
                            lock(&resource.state).hash = Some(content(contents));
                        }
                        Some(Seen { uri, why: Why::Pushed { count, gap }, contents })
                    }
                    Work::Look => self.looked(resource, link, reports).await,
                };
                if let Some(seen) = seen
                    && changes.send(seen).await.is_err()
                {
                    return;
                }
            }
        }
    }

    fn next(&self, resource: &Resource) -> Option<Work> {
        let mut state = lock(&resource.state);
        let Some((uri, count)) = state.pushed.shift_remove_index(0) else {
            return std::mem::take(&mut state.look).then_some(Work::Look);
        };
        let whole = uri == resource.uri;
        // Reading it for the push is looking at it. What was there before the gap may have been changed by
        // others since, so the push is told whoever did it.
        let looked = whole && std::mem::take(&mut state.look) && state.hash.is_some();
        let gap = whole && (std::mem::take(&mut state.gap) || looked);
        Some(Work::Pushed { uri, count, gap })
    }

    /// A look: news, if the content is another than when it was last read.
    async fn looked(&self, resource: &Resource, link: &Link, reports: &Reports) -> Option<Seen> {
        for look in 1.. {
            let turn = tokio::select! {
                biased;
                turn = self.looking.acquire() => turn.ok(),
                // A push does not wait for a look, and reading for it is looking.
                () = resource.wake.notified() => {
                    lock(&resource.state).look = true;
                    return None;
                }
            };
            let read = link.read(&resource.uri).await;
            drop(turn);
            let trouble: Trouble = match read {
                Ok(contents) => {
                    let mut state = lock(&resource.state);
                    let new = content(&contents);
                    let old = state.hash.replace(new);
                    let why = match old {
                        None => Why::First,
                        Some(old) if old == new => Why::Same,
                        Some(_) if state.pushed.contains_key(&resource.uri) => {
                            state.gap = true;
                            return None;
                        }
                        Some(_) => Why::Gap,
                    };
                    return Some(Seen { uri: resource.uri.clone(), why, contents: Ok(contents) });
                }
                Err(trouble) => trouble,
            };
            if trouble.then == Then::Lost {
                // The next session looks.
                return None;
            }
            if look == LOOKS {
                // Without a first look there is nothing to compare with, and nothing is missed by that alone.
                if self.options.first || lock(&resource.state).hash.is_some() {
                    let when = if self.options.first { "" } else { " after a gap" };
                    let message = format!("`{}` could not be read{when}: {}", resource.uri, trouble.message);
                    reports.say(Report::Error(message));
                }
                return None;
            }
            tokio::select! {
                () = link.clock().sleep(LOOK_AGAIN * look) => {}
                // The same.
                () = resource.wake.notified() => {
                    lock(&resource.state).look = true;
                    return None;
                }
            }
        }
        None
    }
}

/// Whether `uri` lies below `of`.
fn below(uri: &str, of: &str) -> bool {
    let Some(rest) = uri.strip_prefix(of) else { return false };
    !rest.is_empty() && (of.ends_with('/') || rest.starts_with(['/', '?', '#']))
}

pub(crate) fn content(contents: &Value) -> u64 {
    hash(json::plain(contents).as_bytes())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a63_what_lies_below_a_resource() {
        assert!(below("file:///a/b", "file:///a"));
        assert!(below("file:///a/b", "file:///a/"));
        assert!(below("board://1?part=2", "board://1"));
        assert!(below("board://1#2", "board://1"));
        assert!(!below("file:///ab", "file:///a"));
        assert!(!below("file:///a", "file:///a"));
        assert!(!below("file:///", "file:///a"));
    }
}
