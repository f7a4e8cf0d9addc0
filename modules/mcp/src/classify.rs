//! The retry table: what one outcome means for a request that changes nothing, and for one that may.
//!
//! A pure function of plain facts. The HTTP status comes first; what stands in a body never changes
//! the class of an outcome.

use std::time::Duration;

use http::StatusCode;
use lf_module::{CallError, Kind};
use lf_transport::{Failure, Phase, Sends};

use crate::attempt::{Outcome, Status};

/// What to do after one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is answered.
    Answer,
    /// It may be sent again, after as long as the server asked, if it asked.
    Again(Option<Duration>),
    /// It failed for good.
    Stop,
    /// The server does not know the session any more.
    SessionGone,
}

/// Looks one outcome up. `session`: whether a session id was sent.
pub(crate) fn verdict(outcome: &Outcome, sends: Sends, session: bool) -> Verdict {
    match outcome {
        Outcome::Answered(_) | Outcome::Accepted => Verdict::Answer,
        Outcome::Senseless(_) => Verdict::Stop,
        Outcome::Status(status) => of_status(status, sends, session),
        Outcome::Failed(failure) => of_failure(failure, sends),
    }
}

fn of_status(status: &Status, sends: Sends, session: bool) -> Verdict {
    let safe_only = || match sends {
        Sends::Safe => Verdict::Again(None),
        Sends::Write => Verdict::Stop,
    };
    match status.code {
        // Turned away before anything was done.
        StatusCode::TOO_MANY_REQUESTS => Verdict::Again(status.asked),
        StatusCode::SERVICE_UNAVAILABLE if status.asked.is_some() => Verdict::Again(status.asked),
        StatusCode::NOT_IMPLEMENTED => Verdict::Stop,
        code if code.is_server_error() => safe_only(),
        StatusCode::NOT_FOUND if session => Verdict::SessionGone,
        // Servers that say 400 where the protocol has 404. That is no proof, so a write stays refused.
        StatusCode::BAD_REQUEST if session && sends == Sends::Safe && speaks_of_session(&status.text) => {
            Verdict::SessionGone
        }
        _ => Verdict::Stop,
    }
}

fn of_failure(failure: &Failure, sends: Sends) -> Verdict {
    match failure {
        Failure::NeverConnected(..) => Verdict::Again(None),
        Failure::Unsigned(error) if error.kind == Kind::Passing => Verdict::Again(error.retry_after),
        Failure::Unsigned(_) => Verdict::Stop,
        Failure::NotConnected(_) | Failure::Timeout(_) | Failure::Lost(_) => match sends {
            Sends::Safe => Verdict::Again(None),
            Sends::Write => Verdict::Stop,
        },
        Failure::Tls(_) | Failure::Blocked(_) | Failure::Unsendable(_) | Failure::TooLarge(_) => Verdict::Stop,
    }
}

/// Whether an error text says that the session is the trouble.
pub(crate) fn speaks_of_session(text: &str) -> bool {
    text.to_ascii_lowercase().contains("session")
}

/// The error of an outcome that is no answer. `what` is the request as a person reads it.
pub(crate) fn error(outcome: &Outcome, sends: Sends, what: &str, credential: &str) -> CallError {
    // The whole story of a sign-in is told where it happened.
    if let Outcome::Failed(Failure::Unsigned(error)) = outcome {
        return CallError { message: format!("`{what}`: {}", error.message), ..(**error).clone() };
    }
    let (kind, maybe, message, code) = match outcome {
        Outcome::Status(status) => of_error_status(status, credential),
        Outcome::Failed(failure) => {
            let kind = match failure {
                Failure::Unsigned(error) => error.kind,
                Failure::Blocked(_) | Failure::Unsendable(_) | Failure::TooLarge(_) => Kind::Limit,
                Failure::NeverConnected(..)
                | Failure::NotConnected(_)
                | Failure::Tls(_)
                | Failure::Timeout(_)
                | Failure::Lost(_) => Kind::Passing,
            };
            (kind, failure.may_have_arrived(), failure.to_string(), None)
        }
        Outcome::Senseless(why) => (Kind::Refused, true, format!("the server broke the protocol: {why}"), None),
        Outcome::Answered(Err(error)) => {
            let message = format!("the server refused it: {} (error {})", error.message, error.code);
            (Kind::Refused, false, message, Some(error.code))
        }
        Outcome::Answered(Ok(_)) | Outcome::Accepted => (Kind::Limit, false, "it was answered".to_owned(), None),
    };
    let maybe = maybe && sends == Sends::Write;
    let unknown = if maybe { "; whether it was done is unknown, so it is not sent again" } else { "" };
    let error = CallError { status: code, ..CallError::new(kind, format!("`{what}`: {message}{unknown}")) };
    if maybe { error.maybe_acted() } else { error }
}

fn of_error_status(status: &Status, credential: &str) -> (Kind, bool, String, Option<i64>) {
    let code = status.code;
    let reason = code.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    let text = if status.text.is_empty() { String::new() } else { format!(": {}", status.text) };
    let said = format!("{}{reason}{text}", code.as_u16());
    let (kind, maybe, message) = match code {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let refused = if credential.is_empty() {
                "the server wants a credential".to_owned()
            } else {
                format!("the server refused the credential `{credential}`")
            };
            (Kind::Credential, false, format!("{refused}: {said}"))
        }
        StatusCode::TOO_MANY_REQUESTS => (Kind::Passing, false, format!("the server answered {said}")),
        StatusCode::NOT_IMPLEMENTED => (Kind::Refused, false, format!("the server answered {said}")),
        code if code.is_server_error() => {
            let turned_away = code == StatusCode::SERVICE_UNAVAILABLE && status.asked.is_some();
            (Kind::Passing, !turned_away, format!("the server answered {said}"))
        }
        _ => (Kind::Refused, false, format!("the server answered {said}")),
    };
    (kind, maybe, message, Some(i64::from(code.as_u16())))
}

/// Whether the server should be told that the answer is not waited for any more.
pub(crate) fn timed_out(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(Failure::Timeout(Phase::FirstByte | Phase::Gap | Phase::Whole)))
}

#[cfg(test)]
mod tests;
