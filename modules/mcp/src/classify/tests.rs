//! The table, row by row, for safe requests and for writes.

use lf_module::{Acted, Value};
use lf_transport::Unreached;

use super::*;
use crate::message::RpcError;

fn status(code: u16, asked: Option<u64>, text: &str) -> Outcome {
    Outcome::Status(Status {
        code: StatusCode::from_u16(code).unwrap(),
        asked: asked.map(Duration::from_secs),
        text: text.to_owned(),
        error: None,
    })
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failed(failure)
}

fn why() -> String {
    "why".to_owned()
}

#[test]
fn the_table() {
    use Verdict::{Again, Answer, SessionGone, Stop};
    let three = Some(Duration::from_secs(3));
    // outcome, safe, write, whether a stopped write may have acted
    let table: Vec<(Outcome, Verdict, Verdict, bool)> = vec![
        (Outcome::Answered(Ok(Value::Absent)), Answer, Answer, false),
        (
            Outcome::Answered(Err(RpcError { code: -32603, message: why(), supported: Vec::new() })),
            Answer,
            Answer,
            false,
        ),
        (status(429, None, ""), Again(None), Again(None), false),
        (status(429, Some(3), ""), Again(three), Again(three), false),
        (status(503, Some(3), ""), Again(three), Again(three), false),
        (status(503, None, ""), Again(None), Stop, true),
        (status(500, None, ""), Again(None), Stop, true),
        // `Retry-After` on another status is not what the table speaks of.
        (status(500, Some(3), ""), Again(None), Stop, true),
        (status(502, None, ""), Again(None), Stop, true),
        (status(504, None, ""), Again(None), Stop, true),
        (status(599, None, ""), Again(None), Stop, true),
        (status(501, None, ""), Stop, Stop, false),
        (status(400, None, "no"), Stop, Stop, false),
        (status(400, None, "No valid session ID provided"), SessionGone, Stop, false),
        (status(404, None, ""), SessionGone, SessionGone, false),
        (status(401, None, ""), Stop, Stop, false),
        (status(403, None, ""), Stop, Stop, false),
        (status(307, None, ""), Stop, Stop, false),
        (status(408, None, ""), Stop, Stop, false),
        (failed(Failure::NeverConnected(Unreached::Refused, why())), Again(None), Again(None), false),
        (failed(Failure::NeverConnected(Unreached::NameNotFound, why())), Again(None), Again(None), false),
        (failed(Failure::NotConnected(why())), Again(None), Stop, false),
        (failed(Failure::Lost(why())), Again(None), Stop, true),
        (failed(Failure::Timeout(Phase::Connect)), Again(None), Stop, false),
        (failed(Failure::Timeout(Phase::FirstByte)), Again(None), Stop, true),
        (failed(Failure::Timeout(Phase::Gap)), Again(None), Stop, true),
        (failed(Failure::Timeout(Phase::Whole)), Again(None), Stop, true),
        (failed(Failure::Tls(why())), Stop, Stop, false),
        (failed(Failure::Blocked(why())), Stop, Stop, false),
        (failed(Failure::TooLarge(1)), Stop, Stop, true),
        (Outcome::Senseless(why()), Stop, Stop, true),
    ];
    for (outcome, safe, write, maybe) in table {
        assert_eq!(verdict(&outcome, Sends::Safe, true), safe, "{outcome:?}");
        assert_eq!(verdict(&outcome, Sends::Write, true), write, "{outcome:?}");
        let expected = if maybe { Acted::Maybe } else { Acted::No };
        assert_eq!(error(&outcome, Sends::Write, "x", "c").acted, expected, "{outcome:?}");
        assert_eq!(error(&outcome, Sends::Safe, "x", "c").acted, Acted::No, "{outcome:?}");
    }
}

#[test]
fn without_a_session_nothing_is_a_lost_session() {
    assert_eq!(verdict(&status(404, None, ""), Sends::Safe, false), Verdict::Stop);
    assert_eq!(verdict(&status(400, None, "no session"), Sends::Safe, false), Verdict::Stop);
}
