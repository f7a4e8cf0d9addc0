//! The way to a server for a listener: one request at a time, each with a deadline, none sent twice.
//!
//! It knows which session is open, in whichever generation, and tells when a request found it gone. When
//! to open one, and when to ask again, is not decided here.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};
use lf_module::{Clock, Value};
use lf_transport::{Opened, Sends};
use tokio::sync::Notify;

use crate::{
    attempt::{self, Envelope, Exchange, Outcome, Wire},
    classify,
    era::{self, Era, Told},
    message,
    session::{self, Session},
    stream::EventStream,
    subscription::{
        backoff::Wait,
        verdict::{self, Asked, Then},
    },
};

/// How long any request may take; for a stream, until its head.
const DEADLINE: Duration = Duration::from_secs(30);
/// How long saying good-bye may take.
const GOODBYE: Duration = Duration::from_secs(2);
/// The capabilities of a listener.
const NOTHING: &str = "{}";
/// The network's own timers, which must not fire before the ones above.
pub(crate) const FAR: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many answers to the server's own requests are under way at once; what is asked beyond waits in vain.
const REPLIES: usize = 16;

/// A session of the older generation, and whether a request found it gone.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) session: Arc<Session>,
    pub(crate) lost: Notify,
}

/// How requests are sent just now.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Nowhere,
    /// A session is there, but nothing may be asked in it yet.
    Opening(Arc<Inside>),
    Legacy(Arc<Inside>),
    Modern,
}

/// Why something did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) then: Then,
    pub(crate) message: String,
    /// The HTTP status, if that was it.
    pub(crate) status: Option<u16>,
    /// The protocol's own error code, if there was one.
    pub(crate) code: Option<i64>,
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { then: Then::Wait(Wait::Failed(None)), message: message.into(), status: None, code: None }
    }
}

/// The way to one server.
#[derive(Debug)]
pub(crate) struct Link {
    wire: Wire,
    ids: AtomicU64,
    place: Mutex<Place>,
    replying: AtomicUsize,
}

/// What `work` gives, or `None` once `length` is over.
pub(crate) async fn within<T>(clock: &dyn Clock, length: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep(length) => None,
    }
}

impl Link {
    pub(crate) fn new(wire: Wire) -> Self {
        Self { wire, ids: AtomicU64::new(1), place: Mutex::new(Place::Nowhere), replying: AtomicUsize::new(0) }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.wire.ports.clock
    }

    pub(crate) fn unit(&self) -> f64 {
        self.wire.ports.random.unit()
    }

    pub(crate) fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn slot(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, place: Place) {
        *self.slot() = place;
    }

    fn envelope<'a>(&self, session: Option<&'a Session>, extra: &'a [(HeaderName, HeaderValue)]) -> Envelope<'a> {
        let era = if extra.is_empty() { Era::Legacy } else { Era::Modern };
        Envelope { era, session, sends: Sends::Safe, extra, until: Some(self.clock().monotonic() + FAR) }
    }

    /// Asks which generation the server speaks.
    pub(crate) async fn probe(&self) -> (Told, Trouble) {
        let id = self.id();
        let extra = era::headers(era::PROBE, None);
        let params = format!(r#"{{"_meta":{}}}"#, era::meta(NOTHING));
        let asking = self.wire.ask(id, message::request(id, era::PROBE, &params), self.envelope(None, &extra));
        match within(self.clock(), era::PATIENCE, asking).await {
            Some(Exchange { outcome, session_id: _ }) => {
                (era::told(&outcome), self.trouble(Asked::Opening, &outcome, era::PROBE))
            }
            None => (Told::Perhaps, late(era::PROBE)),
        }
    }

    /// Opens a session of the older generation.
    pub(crate) async fn open(&self) -> Result<Arc<Inside>, Trouble> {
        let id = self.id();
        let message = message::request(id, "initialize", &session::initialize(NOTHING));
        let asking = self.wire.ask(id, message, self.envelope(None, &[]));
        let Some(Exchange { outcome, session_id }) = within(self.clock(), DEADLINE, asking).await else {
            return Err(late("initialize"));
        };
        let Outcome::Answered(Ok(answer)) = outcome else {
            return Err(self.trouble(Asked::Opening, &outcome, "initialize"));
        };
        let session = Session::of(answer, session_id).map_err(|error| Trouble::new(error.message))?;
        let inside = Arc::new(Inside { session, lost: Notify::new() });
        self.enter(Place::Opening(inside.clone()));
        let what = "notifications/initialized";
        let telling = self.wire.tell(message::notification(what, None), self.envelope(Some(&inside.session), &[]));
        let told = within(self.clock(), DEADLINE, telling).await;
        let trouble = match told {
            Some(Outcome::Accepted) => return Ok(inside),
            Some(outcome) => self.trouble(Asked::Opening, &outcome, what),
            None => late(what),
        };
        self.leave().await;
        Err(trouble)
    }

    /// Ends a session at the server, as far as that can be had in a short time.
    async fn close(&self, inside: &Inside) {
        if inside.session.id.is_some() {
            let ending = self.wire.delete(self.envelope(Some(&inside.session), &[]));
            // A server may refuse it, and it may be gone; both are fine.
            drop(within(self.clock(), GOODBYE, ending).await);
        }
    }

    /// Says good-bye, wherever it is just now.
    pub(crate) async fn leave(&self) {
        let place = std::mem::replace(&mut *self.slot(), Place::Nowhere);
        if let Place::Opening(inside) | Place::Legacy(inside) = place {
            self.close(&inside).await;
        }
    }

    /// Opens the session's stream, from where it broke if `last` says where.
    pub(crate) async fn stream(&self, inside: &Inside, last: Option<&str>) -> Result<EventStream, Trouble> {
        // It lasts, and must not hang on a connection that died unseen: it gets one of its own.
        let envelope = Envelope { sends: Sends::Write, until: None, ..self.envelope(Some(&inside.session), &[]) };
        let what = "the event stream";
        let opened = within(self.clock(), DEADLINE, self.wire.get(last, envelope)).await.ok_or_else(|| late(what))?;
        self.events(opened, Asked::Stream, what).await
    }

    /// Opens the stream of a subscription of the newer generation.
    pub(crate) async fn listen(&self, id: u64, uris: &str, lists: bool) -> Result<EventStream, Trouble> {
        let what = "subscriptions/listen";
        let mut extra = era::headers(what, None);
        extra.push((header::ACCEPT_ENCODING, attempt::UNCOMPRESSED));
        let lists = if lists { r#","toolsListChanged":true"# } else { "" };
        let meta = era::meta(NOTHING);
        let params = format!(r#"{{"notifications":{{"resourceSubscriptions":{uris}{lists}}},"_meta":{meta}}}"#);
        let envelope = Envelope { sends: Sends::Write, until: None, ..self.envelope(None, &extra) };
        let posting = self.wire.post(message::request(id, what, &params), envelope);
        let opened = within(self.clock(), DEADLINE, posting).await.ok_or_else(|| late(what))?;
        self.events(opened, Asked::Opening, what).await
    }

    async fn events(
        &self,
        opened: Result<Opened, lf_transport::Failure>,
        asked: Asked,
        what: &str,
    ) -> Result<EventStream, Trouble> {
        let opened = opened.map_err(|failure| self.trouble(asked, &Outcome::Failed(failure), what))?;
        if !opened.status.is_success() {
            let outcome = within(self.clock(), DEADLINE, self.wire.status(opened)).await.ok_or_else(|| late(what))?;
            return Err(self.trouble(asked, &outcome, what));
        }
        if attempt::is_stream(&opened.headers) {
            return Ok(EventStream::new(opened.body));
        }
        let body = within(self.clock(), GOODBYE, opened.body.some(lf_transport::exchange::LARGEST_ERROR)).await;
        if let Some(error) = body.and_then(|body| message::error_of(&body)) {
            return Err(self.trouble(asked, &Outcome::Answered(Err(error)), what));
        }
        let trouble = Trouble::new(format!("`{what}`: the server answered with something that is no event stream"));
        Err(match asked {
            // As good as none.
            Asked::Stream => Trouble { then: Then::Lost, status: Some(405), ..trouble },
            Asked::Opening | Asked::Inside { .. } => trouble,
        })
    }

    /// Subscribes a session to a resource.
    pub(crate) async fn subscribe(&self, inside: &Arc<Inside>, uri: &str) -> Result<(), Trouble> {
        let place = Place::Legacy(inside.clone());
        self.ask(&place, "resources/subscribe", uri).await.map(drop)
    }

    /// Reads a resource: its contents.
    pub(crate) async fn read(&self, uri: &str) -> Result<Value, Trouble> {
        let place = self.slot().clone();
        let answer = self.ask(&place, "resources/read", uri).await.inspect_err(|trouble| {
            if let (Then::Lost, Place::Legacy(inside)) = (trouble.then, &place) {
                inside.lost.notify_one();
            }
        })?;
        let Some(contents @ Value::List(_)) = answer.field("contents") else {
            return Err(Trouble::new("`resources/read`: the server broke the protocol: its answer has no contents"));
        };
        Ok(contents.clone())
    }

    async fn ask(&self, place: &Place, method: &str, uri: &str) -> Result<Value, Trouble> {
        let id = self.id();
        let mut params = format!(r#"{{"uri":{}"#, message::quoted(uri));
        let (session, extra) = match place {
            Place::Nowhere | Place::Opening(_) => {
                return Err(Trouble::new(format!("`{method}`: there is no session just now")));
            }
            Place::Legacy(inside) => (Some(&*inside.session), Vec::new()),
            Place::Modern => {
                params.extend([r#","_meta":"#, &era::meta(NOTHING)]);
                (None, era::headers(method, Some(uri)))
            }
        };
        params.push('}');
        let asked = Asked::Inside { session: session.is_some_and(|session| session.id.is_some()) };
        let asking = self.wire.ask(id, message::request(id, method, &params), self.envelope(session, &extra));
        let exchange = within(self.clock(), DEADLINE, asking).await;
        let outcome = exchange.ok_or_else(|| late(method))?.outcome;
        let Outcome::Answered(Ok(answer)) = outcome else {
            return Err(self.trouble(asked, &outcome, method));
        };
        Ok(answer)
    }

    /// Answers a request of the server, beside everything else.
    pub(crate) fn reply(self: &Arc<Self>, inside: &Arc<Inside>, id: &Value, method: &str) {
        if self.replying.fetch_add(1, Ordering::Relaxed) >= REPLIES {
            self.replying.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let (link, inside, reply) = (self.clone(), inside.clone(), message::reply(id, method));
        drop(tokio::spawn(async move {
            link.send_reply(&inside, reply).await;
            link.replying.fetch_sub(1, Ordering::Relaxed);
        }));
    }

    async fn send_reply(&self, inside: &Inside, reply: Bytes) {
        let telling = self.wire.tell(reply, self.envelope(Some(&inside.session), &[]));
        let Some(outcome) = within(self.clock(), DEADLINE, telling).await else { return };
        let asked = Asked::Inside { session: inside.session.id.is_some() };
        if verdict::then(asked, &outcome) == Then::Lost {
            inside.lost.notify_one();
        }
    }

    fn trouble(&self, asked: Asked, outcome: &Outcome, what: &str) -> Trouble {
        let error = classify::error(outcome, Sends::Safe, what, &self.wire.endpoint.credential);
        let (status, code) = match outcome {
            Outcome::Status(status) => (Some(status.code.as_u16()), status.error.as_ref().map(|error| error.code)),
            Outcome::Answered(Err(error)) => (None, Some(error.code)),
            Outcome::Answered(Ok(_)) | Outcome::Accepted | Outcome::Failed(_) | Outcome::Senseless(_) => (None, None),
        };
        Trouble { then: verdict::then(asked, outcome), message: error.message, status, code }
    }
}

fn late(what: &str) -> Trouble {
    Trouble::new(format!("`{what}`: no answer came in time"))
}
