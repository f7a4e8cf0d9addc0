//! Requests of a sign-in: to addresses that a person wrote, or that a system on the net named, which are held to
//! stricter rules. No redirects, bounded answers, and no header of the server's ever goes along.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use lf_module::{CallError, Clock, Kind};
use lf_transport::{Bounds, Client, Failure, Options, Request, Sends, guard, retry_after::retry_after};
use serde_json::Value;
use url::Url;

use super::places;
use crate::text::{self, clean};

/// The largest document that is read.
const LARGEST: usize = 1 << 20;
/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The ways out.
#[derive(Debug)]
pub(crate) struct Net {
    clock: Arc<dyn Clock>,
    /// For addresses that a person wrote.
    own: Client,
    /// For addresses that a system named: not into a private network.
    public: Client,
}

impl Net {
    pub(crate) fn new(options: &Options, clock: &Arc<dyn Clock>) -> Self {
        let public = Options { public: true, ..options.clone() };
        Self {
            clock: clock.clone(),
            own: Client::new(options.clone(), clock.clone()),
            public: Client::new(public, clock.clone()),
        }
    }

    /// Sends a request once. `home`: it may lead into a private network.
    pub(crate) async fn send(&self, request: Request, home: bool, until: Duration) -> Result<Answer, CallError> {
        let url = request.url.clone();
        let bounds =
            Bounds { first_byte: PATIENCE, gap: PATIENCE, until: Some(until.min(self.clock.monotonic() + PATIENCE)) };
        let client = if home { &self.own } else { &self.public };
        let answer = async {
            let opened = client.open(request, &bounds).await?;
            Ok(Answer { status: opened.status, headers: opened.headers, body: opened.body.all(LARGEST).await? })
        };
        let answer = answer.await.map_err(|failure| failed(&url, &failure))?;
        let turned_away =
            answer.status == StatusCode::TOO_MANY_REQUESTS || answer.status == StatusCode::SERVICE_UNAVAILABLE;
        if turned_away || answer.status.is_server_error() {
            let asked = retry_after(&answer.headers, &*self.clock);
            let message = format!("`{}` answered {}", url.authority(), answer.status.as_u16());
            return Err(CallError { retry_after: asked, ..CallError::passing(message) });
        }
        Ok(answer)
    }

    /// A document of metadata: `None` where there is none, whatever a server says instead of it.
    pub(crate) async fn document(&self, url: &Url, home: bool, until: Duration) -> Result<Option<Value>, CallError> {
        if !places::secure(url) {
            return Err(refused(format!("`{url}` would be read without encryption")));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let request = Request { method: Method::GET, url: url.clone(), headers, body: None, sends: Sends::Safe };
        let answer = self.send(request, home, until).await?;
        if !answer.status.is_success() {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&answer.body).ok().filter(Value::is_object))
    }

    /// Posts JSON, for a registration.
    pub(crate) async fn post(&self, url: &Url, body: &Value, home: bool, until: Duration) -> Result<Answer, CallError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let body = Some(Bytes::from(body.to_string()));
        let request = Request { method: Method::POST, url: url.clone(), headers, body, sends: Sends::Write };
        self.send(request, home, until).await
    }

    /// Whether addresses that `server` names may lead into a private network: where it is in one itself.
    pub(crate) async fn at_home(server: &Url) -> bool {
        guard::leads_home(server).await
    }
}

/// A refusal that no waiting mends.
pub(crate) fn refused(message: String) -> CallError {
    CallError::new(Kind::Credential, message)
}

/// What a system said, for a message.
pub(crate) fn said(body: &[u8]) -> String {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let told = serde_json::from_slice::<Value>(body).ok().and_then(|value| {
        let error = text(&value, "error")?;
        Some(match text(&value, "error_description") {
            Some(more) => format!("{error}: {more}"),
            None => error,
        })
    });
    clean(&told.unwrap_or_default(), text::MESSAGE)
}

fn failed(url: &Url, failure: &Failure) -> CallError {
    let message = format!("`{}` could not be asked: {failure}", url.authority());
    match failure {
        Failure::Blocked(_) | Failure::Unsendable(_) | Failure::TooLarge(_) => refused(message),
        Failure::Unsigned(error) => (**error).clone(),
        Failure::NeverConnected(..)
        | Failure::NotConnected(_)
        | Failure::Tls(_)
        | Failure::Timeout(_)
        | Failure::Lost(_) => CallError::passing(message),
    }
}
