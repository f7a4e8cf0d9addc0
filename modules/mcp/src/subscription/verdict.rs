//! What an answer means for a listener: whether its session is still there, and how long to wait.
//!
//! A table over plain facts.

use http::StatusCode;
use lf_module::Kind;
use lf_transport::Failure;

use crate::{
    attempt::{Outcome, Status},
    classify,
    subscription::backoff::Wait,
};

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Something that opens: there is no session to lose.
    Opening,
    /// The stream of a session.
    Stream,
    /// Something inside a session; whether the server gave it an id.
    Inside { session: bool },
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It failed this time.
    Wait(Wait),
    /// The server does not know the session any more.
    Lost,
    /// The server thinks that the stream is open already.
    Busy,
}

/// Looks a failed outcome up.
pub(crate) fn then(asked: Asked, outcome: &Outcome) -> Then {
    match outcome {
        Outcome::Status(status) => of_status(asked, status),
        Outcome::Failed(Failure::Unsigned(error)) => Then::Wait(match error.kind {
            Kind::Passing => Wait::Failed(error.retry_after),
            Kind::Refused | Kind::Credential | Kind::Drift | Kind::Limit => Wait::Cap,
        }),
        Outcome::Answered(_) | Outcome::Accepted | Outcome::Failed(_) | Outcome::Senseless(_) => {
            Then::Wait(Wait::Failed(None))
        }
    }
}

fn of_status(asked: Asked, status: &Status) -> Then {
    let lost = match (asked, status.code.as_u16()) {
        (Asked::Stream, 400 | 404 | 405 | 410) | (Asked::Inside { session: true }, 404 | 410) => true,
        // Servers that say 400 where the protocol has 404.
        (Asked::Inside { session: true }, 400) => classify::speaks_of_session(&status.text),
        (Asked::Stream, 409) => return Then::Busy,
        (Asked::Opening | Asked::Stream | Asked::Inside { .. }, _) => false,
    };
    if lost {
        return Then::Lost;
    }
    Then::Wait(match status.code {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Wait::Cap,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Wait::Failed(status.asked),
        _ => Wait::Failed(None),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lf_transport::Phase;

    use super::*;

    fn status(code: u16, text: &str) -> Outcome {
        let asked = Some(Duration::from_secs(7));
        let code = StatusCode::from_u16(code).unwrap();
        Outcome::Status(Status { code, asked, text: text.to_owned(), error: None })
    }

    #[test]
    fn a44_what_loses_a_session() {
        const INSIDE: Asked = Asked::Inside { session: true };
        const BARE: Asked = Asked::Inside { session: false };
        let failed = Then::Wait(Wait::Failed(None));
        let asked = Then::Wait(Wait::Failed(Some(Duration::from_secs(7))));
        let cap = Then::Wait(Wait::Cap);
        // status, text, the answer on opening, on the stream, inside a session, without a session
        let table = [
            (400, "", failed, Then::Lost, failed, failed),
            (400, "No valid Session ID provided", failed, Then::Lost, Then::Lost, failed),
            (401, "", cap, cap, cap, cap),
            (403, "", cap, cap, cap, cap),
            (404, "", failed, Then::Lost, Then::Lost, failed),
            (405, "", failed, Then::Lost, failed, failed),
            (409, "", failed, Then::Busy, failed, failed),
            (410, "", failed, Then::Lost, Then::Lost, failed),
            (429, "", asked, asked, asked, asked),
            (500, "", failed, failed, failed, failed),
            (503, "", asked, asked, asked, asked),
        ];
        for (code, text, opening, stream, inside, bare) in table {
            let found = [Asked::Opening, Asked::Stream, INSIDE, BARE].map(|asked| then(asked, &status(code, text)));
            assert_eq!(found, [opening, stream, inside, bare], "{code} {text}");
        }
        assert_eq!(then(INSIDE, &Outcome::Failed(Failure::Timeout(Phase::Whole))), failed);
    }
}
