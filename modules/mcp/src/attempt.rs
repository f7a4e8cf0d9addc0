//! One exchange with a server: a message is sent once, and what comes back becomes a plain value.
//!
//! The only file that uses the transport. It decides nothing: whether to send again is `classify`'s,
//! what a session means is `client`'s.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use lf_module::{Ports, Value, json};
use lf_transport::{
    Bounds, Client, Failure, Opened, Request, Sends, exchange::LARGEST_ERROR, retry_after::retry_after, secret_header,
};
use url::Url;

use crate::{
    Answers,
    endpoint::Endpoint,
    era::Era,
    message::{self, Incoming, RpcError},
    oauth::Signer,
    session::Session,
    stream::EventStream,
    text::{self, clean},
};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What compresses a stream may keep its events back.
pub(crate) const UNCOMPRESSED: HeaderValue = HeaderValue::from_static("identity");

/// About how many headers a request has.
const HEADERS: usize = 12;
/// How often a broken stream is taken up again for one request.
const RESUMES: u32 = 20;
/// The wait before that, where the server names none, and the longest that a server may name.
const RESUME_WAIT: Duration = Duration::from_millis(500);
const LONGEST_RESUME_WAIT: Duration = Duration::from_secs(60);
/// How many redirects of one request are followed, where any are.
const REDIRECTS: u32 = 5;
/// How many requests of the server are answered on one stream.
const ANSWERED: u32 = 100;
/// How long a message may take on which nothing hangs.
const ASIDE: Duration = Duration::from_secs(5);

/// What came of one message.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its answer.
    Answered(Result<Value, RpcError>),
    /// A good status for a message that wants no answer.
    Accepted,
    /// Another status than a good one.
    Status(Status),
    /// No answer at all.
    Failed(Failure),
    /// A good status without an answer in it.
    Senseless(String),
}

/// A status that is no good one.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) code: StatusCode,
    /// How long the server asks to be left alone.
    pub(crate) asked: Option<Duration>,
    /// What the server says about it, cleaned; empty if nothing.
    pub(crate) text: String,
    /// The same in the protocol's terms, if it was.
    pub(crate) error: Option<RpcError>,
}

/// What came of a request, with the session id that came with it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) outcome: Outcome,
    pub(crate) session_id: Option<HeaderValue>,
}

/// What is sent with a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope<'a> {
    pub(crate) era: Era,
    /// The session; `None` only before there is one.
    pub(crate) session: Option<&'a Session>,
    pub(crate) sends: Sends,
    /// Headers that belong to the message.
    pub(crate) extra: &'a [(HeaderName, HeaderValue)],
    /// Everything ends here; `None` only for a stream that is listened to.
    pub(crate) until: Option<Duration>,
}

/// Who is told of the server's notifications, wherever they come.
pub(crate) trait Hears: Send + Sync + fmt::Debug {
    /// One of them; with the id of its event, if it came as one with an id.
    fn notification(&self, method: &str, params: &Value, event: Option<&str>);
}

/// The way to one server.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) http: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) ports: Ports,
    /// How long the server may be silent.
    pub(crate) patience: Duration,
    /// Who is told of notifications.
    pub(crate) hears: Option<Arc<dyn Hears>>,
    /// Who answers what the server asks.
    pub(crate) answers: Option<Arc<dyn Answers>>,
}

impl Wire {
    /// What is declared to be answered, as JSON text.
    pub(crate) fn capabilities(&self) -> String {
        self.answers.as_ref().map_or_else(|| "{}".to_owned(), |answers| json::plain(&answers.capabilities()))
    }

    /// Sends a request and reads until its answer is there.
    pub(crate) async fn ask(&self, id: u64, message: Bytes, envelope: Envelope<'_>) -> Exchange {
        let mut session_id = None;
        let outcome = match self.post(message, envelope).await {
            Err(failure) => Outcome::Failed(failure),
            Ok(opened) => {
                session_id = opened.headers.get(SESSION_ID).cloned();
                match self.answer(id, opened, envelope).await {
                    Ok(answer) => Outcome::Answered(answer),
                    Err(outcome) => outcome,
                }
            }
        };
        Exchange { outcome, session_id }
    }

    /// Sends a message that wants no answer.
    pub(crate) async fn tell(&self, message: Bytes, envelope: Envelope<'_>) -> Outcome {
        match self.post(message, envelope).await {
            Err(failure) => Outcome::Failed(failure),
            Ok(opened) if opened.status.is_success() => Outcome::Accepted,
            Ok(opened) => self.status(opened).await,
        }
    }

    /// Sends a message on which nothing hangs. What comes of it is not told further.
    pub(crate) async fn mention(&self, message: Bytes, envelope: Envelope<'_>) {
        let latest = self.ports.clock.monotonic() + ASIDE;
        let until = Some(envelope.until.map_or(latest, |until| until.min(latest)));
        let outcome = self.tell(message, Envelope { until, sends: Sends::Safe, ..envelope }).await;
        if !matches!(outcome, Outcome::Accepted) {
            tracing::debug!("{}: a side message was not taken: {outcome:?}", crate::NAME);
        }
    }

    /// Sends a message and gives the head of its answer, whatever it is.
    pub(crate) async fn post(&self, message: Bytes, envelope: Envelope<'_>) -> Result<Opened, Failure> {
        let mut headers = self.headers(envelope);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // A server may refuse a request that does not accept both.
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        self.send(Method::POST, headers, Some(message), envelope).await
    }

    /// Asks for the session's stream, from where it broke if `last` says where.
    pub(crate) async fn get(&self, last: Option<&str>, envelope: Envelope<'_>) -> Result<Opened, Failure> {
        let mut headers = self.headers(envelope);
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::ACCEPT_ENCODING, UNCOMPRESSED);
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT_ID, last);
        }
        self.send(Method::GET, headers, None, envelope).await
    }

    /// Ends the session.
    pub(crate) async fn delete(&self, envelope: Envelope<'_>) -> Result<Opened, Failure> {
        self.send(Method::DELETE, self.headers(envelope), None, envelope).await
    }

    fn headers(&self, envelope: Envelope<'_>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.extend(self.endpoint.headers.iter().cloned());
        headers.extend(envelope.extra.iter().cloned());
        if let Some(session) = envelope.session {
            headers.insert(VERSION, HeaderValue::from_static(session.version));
            if let Some(id) = &session.id {
                headers.insert(SESSION_ID, id.clone());
            }
        }
        headers
    }

    async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
        envelope: Envelope<'_>,
    ) -> Result<Opened, Failure> {
        let mut request = Request { method, url: self.endpoint.url.clone(), headers, body, sends: envelope.sends };
        let bounds = Bounds { first_byte: self.patience, gap: self.patience, until: envelope.until };
        if self.endpoint.signer.is_none() && !self.endpoint.redirects {
            return self.http.open(request, &bounds).await;
        }
        for _ in 0..REDIRECTS {
            let opened = self.signed(&request, &bounds).await?;
            match self.redirected(&opened, &request.url) {
                Some(url) => request.url = url,
                None => return Ok(opened),
            }
        }
        self.signed(&request, &bounds).await
    }

    /// Sends it signed in, where a token is what signs in. A token that the server refuses is renewed once; a server
    /// that refuses has done nothing, so this is no repetition.
    async fn signed(&self, request: &Request, bounds: &Bounds) -> Result<Opened, Failure> {
        match &self.endpoint.signer {
            None => self.http.open(request.clone(), bounds).await,
            // Signing in is large and rare; requests are many, and one for each resource may be under way.
            Some(signer) => Box::pin(self.signed_by(signer, request, bounds)).await,
        }
    }

    async fn signed_by(&self, signer: &Arc<Signer>, request: &Request, bounds: &Bounds) -> Result<Opened, Failure> {
        let unsigned = |error| Failure::Unsigned(Box::new(error));
        let until = bounds.until.unwrap_or_else(|| self.ports.clock.monotonic() + self.patience);
        let mut pass = Box::pin(signer.pass(until)).await.map_err(unsigned)?;
        loop {
            let mut request = request.clone();
            if let Some(token) = &pass.token {
                request.headers.insert(header::AUTHORIZATION, secret_header(&format!("Bearer {}", token.expose()))?);
            }
            let opened = self.http.open(request, bounds).await?;
            let refused = Box::pin(signer.refused(opened.status, &opened.headers, &mut pass, until));
            if !refused.await.map_err(unsigned)? {
                return Ok(opened);
            }
        }
    }

    /// Where a redirect leads that may be followed: it asks for the same request again, and stays in the
    /// origin, so that no header leaves it.
    fn redirected(&self, opened: &Opened, from: &Url) -> Option<Url> {
        let same = matches!(opened.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        if !(same && self.endpoint.redirects) {
            return None;
        }
        let mut to = from.join(opened.headers.get(header::LOCATION)?.to_str().ok()?).ok()?;
        // A user in the URL signs in like a header does.
        to.set_username(from.username()).ok()?;
        to.set_password(from.password()).ok()?;
        (to.origin() == from.origin()).then_some(to)
    }

    pub(crate) async fn status(&self, opened: Opened) -> Outcome {
        let asked = retry_after(&opened.headers, &*self.ports.clock);
        let location = opened.headers.get(header::LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
        let body = opened.body.some(LARGEST_ERROR).await;
        let error = message::error_of(&body);
        let text = match (&error, location) {
            (Some(error), _) => error.message.clone(),
            (None, Some(to)) => format!("it redirects to {}, which is not followed", clean(&to, text::MESSAGE)),
            // A page for a browser says nothing in one line.
            (None, None) if body.trim_ascii_start().starts_with(b"<") => String::new(),
            (None, None) => clean(&String::from_utf8_lossy(&body), text::MESSAGE),
        };
        Outcome::Status(Status { code: opened.status, asked, text, error })
    }

    async fn answer(
        &self,
        id: u64,
        opened: Opened,
        envelope: Envelope<'_>,
    ) -> Result<Result<Value, RpcError>, Outcome> {
        if !opened.status.is_success() {
            return Err(self.status(opened).await);
        }
        let (status, kind) = (opened.status.as_u16(), media_type(&opened.headers));
        match kind.as_str() {
            "text/event-stream" => self.follow(id, EventStream::new(opened.body), envelope).await,
            "application/json" | "" => {
                let body = opened.body.all(message::LARGEST).await.map_err(Outcome::Failed)?;
                if body.trim_ascii().is_empty() {
                    return Err(Outcome::Senseless(format!("it answered {status} without a body")));
                }
                let messages =
                    message::parse(&body).map_err(|bad| Outcome::Senseless(format!("its answer is {bad}")))?;
                let mut answered = 0;
                let found = self.hear(id, messages, None, envelope, &mut answered).await;
                found.ok_or_else(|| Outcome::Senseless("it answered something else than what was asked".to_owned()))
            }
            other => {
                let other = clean(other, 80);
                Err(Outcome::Senseless(format!(
                    "it answered {status} with `{other}` where JSON or an event stream belongs"
                )))
            }
        }
    }

    /// Reads an event stream until the answer to `id`. If it ends before, and has given an event id, it is
    /// taken up again where it broke; that sends the request to nobody a second time.
    async fn follow(
        &self,
        id: u64,
        mut stream: EventStream,
        envelope: Envelope<'_>,
    ) -> Result<Result<Value, RpcError>, Outcome> {
        let mut last = None;
        let mut wait = RESUME_WAIT;
        let mut resumes = 0;
        let mut answered = 0;
        loop {
            match stream.next().await {
                Ok(Some(event)) => {
                    // In the newer generation a stream that breaks is lost.
                    last = event.id.clone().or(last).filter(|_| envelope.era == Era::Legacy);
                    wait = event.retry.map_or(wait, |millis| Duration::from_millis(millis).min(LONGEST_RESUME_WAIT));
                    // Data that is no JSON means nothing here; the deadline ends a stream of nothing else.
                    let messages = event.data.and_then(|data| message::parse(data.as_bytes()).ok()).unwrap_or_default();
                    if let Some(found) = self.hear(id, messages, event.id.as_deref(), envelope, &mut answered).await {
                        return Ok(found);
                    }
                }
                Ok(None) | Err(Failure::Lost(_)) => {
                    stream = self.resume(last.as_deref(), wait, &mut resumes, envelope).await?;
                }
                Err(failure) => return Err(Outcome::Failed(failure)),
            }
        }
    }

    async fn resume(
        &self,
        last: Option<&str>,
        wait: Duration,
        resumes: &mut u32,
        envelope: Envelope<'_>,
    ) -> Result<EventStream, Outcome> {
        let lost =
            |why: &str| Outcome::Failed(Failure::Lost(format!("the event stream ended without the answer{why}")));
        let Some(last) = last.filter(|last| HeaderValue::from_str(last).is_ok()) else { return Err(lost("")) };
        while *resumes < RESUMES {
            *resumes += 1;
            if envelope.until.is_some_and(|until| self.ports.clock.monotonic() + wait >= until) {
                break;
            }
            self.ports.clock.sleep(wait).await;
            match self.get(Some(last), Envelope { sends: Sends::Safe, ..envelope }).await {
                Ok(opened) if opened.status.is_success() && is_stream(&opened.headers) => {
                    return Ok(EventStream::new(opened.body));
                }
                Ok(opened) if opened.status.is_server_error() || opened.status == StatusCode::TOO_MANY_REQUESTS => {}
                Ok(opened) => return Err(lost(&format!(", and taking it up again gave {}", opened.status.as_u16()))),
                Err(_) => {}
            }
        }
        Err(lost(", and could not be taken up again"))
    }

    /// Goes through messages: gives the answer to `id` if it is among them, and answers what the server asks.
    pub(crate) async fn hear(
        &self,
        id: u64,
        messages: Vec<Incoming>,
        event: Option<&str>,
        envelope: Envelope<'_>,
        answered: &mut u32,
    ) -> Option<Result<Value, RpcError>> {
        let mut found = None;
        for message in messages {
            match message {
                Incoming::Response { id: Some(of), outcome } if of == id => found = found.or(Some(outcome)),
                Incoming::Response { id: None, outcome: Err(error) } => found = found.or(Some(Err(error))),
                // Servers of the newer generation ask in their results.
                Incoming::Request { id, method, params } if *answered < ANSWERED && envelope.era == Era::Legacy => {
                    *answered += 1;
                    let answer = self.answers.as_ref().and_then(|answers| answers.answer(&method, &params));
                    let reply = answer.map_or_else(|| message::reply(&id, &method), |it| message::answered(&id, &it));
                    self.mention(reply, envelope).await;
                }
                Incoming::Notification { method, params } => {
                    if let Some(hears) = &self.hears {
                        hears.notification(&method, &params, event);
                    }
                    tracing::debug!("{}: the server says `{}`", crate::NAME, clean(&method, 80));
                }
                // Another request's answer (replayed streams hold them), or nothing.
                Incoming::Response { .. } | Incoming::Request { .. } | Incoming::Nonsense => {}
            }
        }
        found
    }
}

/// Whether a body is an event stream.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    media_type(headers) == "text/event-stream"
}

/// The media type without its parameters, in lower case.
fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
