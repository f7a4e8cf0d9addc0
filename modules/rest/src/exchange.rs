//! One request through the retry driver, and what its answer means.
//!
//! The table of README.md, "What is sent again", is this file. It knows nothing of records.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use lf_module::{
    CallError, Kind, Value, json,
    retry::{Attempt, Job, Policy, drive},
};
use lf_transport::{Bounds, Failure, Phase, Sends, exchange::LARGEST_ERROR, retry_after::retry_after};

use crate::{request::Outgoing, system::System, template::scalar};

/// How much of a refusal's text is shown.
const SHOWN: usize = 300;

/// What sending a request twice would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Safety {
    /// Nothing: it changes nothing.
    Read,
    /// Nothing more than sending it once.
    Repeatable,
    /// It could do it twice.
    Once,
}

/// A good answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    /// The body; absent if it was empty, and why if it is not JSON.
    pub(crate) body: Result<Value, String>,
}

impl Answer {
    /// The body of an answer to a read, which has to be JSON.
    pub(crate) fn json(self, what: &str) -> Result<Value, CallError> {
        self.body.map_err(|why| CallError::new(Kind::Drift, format!("{what} answered with {why}")))
    }
}

/// Sends it, again where that is harmless, and waits for a good answer.
pub(crate) async fn send(
    system: &System,
    outgoing: &Outgoing,
    safety: Safety,
    deadline: Duration,
) -> Result<Answer, CallError> {
    let job = Job { module: &system.module, what: outgoing.what.trim_matches('`'), deadline };
    drive(&system.ports, &Policy::default(), job, |_| attempt(system, outgoing, safety, deadline)).await
}

async fn attempt(system: &System, outgoing: &Outgoing, safety: Safety, deadline: Duration) -> Attempt<Answer> {
    let sends = if safety == Safety::Read { Sends::Safe } else { Sends::Write };
    let Outgoing { what: _, method, url, headers, body } = outgoing.clone();
    let request = lf_transport::Request { method, url, headers, body, sends };
    let patience = Duration::from_secs(60);
    let bounds = Bounds { first_byte: patience, gap: Duration::from_secs(30), until: Some(deadline) };
    let opened = match system.client.open(request, &bounds).await {
        Ok(opened) => opened,
        Err(failure) => return failed(&outgoing.what, &failure, safety),
    };
    let (status, headers) = (opened.status, opened.headers);
    if !status.is_success() {
        let body = opened.body.some(LARGEST_ERROR).await;
        return refused(system, outgoing, safety, status, &headers, &body);
    }
    let limit = usize::try_from(system.model.limits.bytes).unwrap_or(usize::MAX);
    match opened.body.all(limit).await {
        Ok(bytes) => Attempt::Done(Answer { headers, body: parse(&bytes) }),
        Err(failure) => failed(&outgoing.what, &failure, safety),
    }
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Absent);
    }
    json::read_with(bytes, json::Limits { bytes: usize::MAX, ..json::Limits::default() }).map_err(|why| match why {
        json::JsonError::Syntax { .. } => format!("what is {why}"),
        json::JsonError::TooLarge(_) | json::JsonError::TooDeep(_) | json::JsonError::Tag(_) => {
            format!("what cannot be read: {why}")
        }
    })
}

/// No answer, or not all of one.
fn failed(what: &str, failure: &Failure, safety: Safety) -> Attempt<Answer> {
    let kind = match failure {
        Failure::NeverConnected(..)
        | Failure::NotConnected(_)
        | Failure::Tls(_)
        | Failure::Timeout(Phase::Connect | Phase::FirstByte | Phase::Gap | Phase::Whole)
        | Failure::Lost(_) => Kind::Passing,
        Failure::Unsigned(error) => error.kind,
        Failure::Blocked(_) | Failure::Unsendable(_) | Failure::TooLarge(_) => Kind::Limit,
    };
    let error = CallError::new(kind, format!("{what}: {failure}"));
    let error = if failure.may_have_arrived() && safety != Safety::Read { error.maybe_acted() } else { error };
    let again = match failure {
        Failure::NeverConnected(..) => true,
        Failure::NotConnected(_)
        | Failure::Timeout(Phase::Connect | Phase::FirstByte | Phase::Gap | Phase::Whole)
        | Failure::Lost(_) => safety != Safety::Once,
        Failure::Tls(_)
        | Failure::Blocked(_)
        | Failure::Unsendable(_)
        | Failure::Unsigned(_)
        | Failure::TooLarge(_) => false,
    };
    if again { Attempt::Again { error, asked: None } } else { Attempt::Stop(error) }
}

/// An answer that is not a success.
fn refused(
    system: &System,
    outgoing: &Outgoing,
    safety: Safety,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Attempt<Answer> {
    let asked = retry_after(headers, &*system.ports.clock);
    let parsed = json::read(body).unwrap_or_default();
    let model = &system.model;
    let told = model.error_message.as_ref().and_then(|at| scalar(at.of(&parsed)?));
    let text = told.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let text = shown(&system.without_secrets(&text));
    let (what, code) = (&outgoing.what, status.as_u16());
    let message = match (status, text.is_empty()) {
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, true) => {
            format!("{what} answered {code}: the system refused the credential")
        }
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, false) => {
            format!("{what} answered {code}, the system refused the credential: {text}")
        }
        (status, _) if status.is_redirection() => {
            format!("{what} answered {code}, a redirect, which is not followed; change `base_url` or the path")
        }
        (_, true) => format!("{what} answered {code}"),
        (_, false) => format!("{what} answered {code}: {text}"),
    };
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Kind::Credential,
        StatusCode::TOO_MANY_REQUESTS => Kind::Passing,
        StatusCode::NOT_IMPLEMENTED => Kind::Refused,
        status if status.is_server_error() => Kind::Passing,
        _ => Kind::Refused,
    };
    let mut error = CallError::new(kind, message);
    error.status = Some(code.into());
    error.retry_after = asked;
    error.field = model.error_field.as_ref().and_then(|at| scalar(at.of(&parsed)?));
    // A 429 and a 503 with a time are said before anything is done; so is every 4xx and a 501.
    let never_did =
        status == StatusCode::TOO_MANY_REQUESTS || (status == StatusCode::SERVICE_UNAVAILABLE && asked.is_some());
    let broke = kind == Kind::Passing && !never_did;
    if safety != Safety::Read && (broke || status.is_redirection()) {
        error = error.maybe_acted();
    }
    if never_did || (broke && safety != Safety::Once) {
        // Only a 429 and a 503 say when to come back; a time beside another status is none of theirs.
        Attempt::Again { error, asked: asked.filter(|_| never_did) }
    } else {
        Attempt::Stop(error)
    }
}

/// One line of at most [`SHOWN`] characters.
fn shown(text: &str) -> String {
    let mut line = String::new();
    for (count, character) in text.split_whitespace().flat_map(|word| word.chars().chain([' '])).enumerate() {
        if count == SHOWN {
            return format!("{}…", line.trim_end());
        }
        if !character.is_control() {
            line.push(character);
        }
    }
    line.trim_end().to_owned()
}
