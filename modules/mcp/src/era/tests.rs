//! The table of generations, row by row: each answer was seen at a real server.

use http::StatusCode;
use lf_module::json;
use lf_transport::Unreached;

use super::*;

fn result(text: &str) -> Outcome {
    Outcome::Answered(Ok(json::read(text.as_bytes()).unwrap()))
}

fn error(code: i64, supported: &[&str]) -> RpcError {
    let supported = supported.iter().map(|version| (*version).to_owned()).collect();
    RpcError { code, message: "no".to_owned(), supported }
}

fn status(code: u16, error: Option<RpcError>) -> Outcome {
    Outcome::Status(Status { code: StatusCode::from_u16(code).unwrap(), asked: None, text: String::new(), error })
}

#[test]
fn the_table_of_generations() {
    let subscribes = Told::Modern { subscribe: true };
    let table = [
        (
            result(r#"{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}}}"#),
            subscribes.clone(),
        ),
        (result(r#"{"supportedVersions":["2025-11-25","2026-07-28"]}"#), Told::Modern { subscribe: false }),
        (result(r#"{"supportedVersions":["2025-11-25"]}"#), Told::Legacy),
        (result("{}"), Told::Legacy),
        (Outcome::Answered(Err(error(-32022, &["2026-07-28"]))), subscribes.clone()),
        (status(400, Some(error(-32022, &["2026-07-28"]))), subscribes.clone()),
        (status(400, Some(error(-32022, &["2025-11-25"]))), Told::Legacy),
        (status(400, Some(error(-32020, &[]))), subscribes.clone()),
        (status(400, Some(error(-32021, &[]))), subscribes),
        (status(404, Some(error(-32601, &[]))), Told::Legacy),
        (Outcome::Answered(Err(error(-32601, &[]))), Told::Legacy),
        (status(400, Some(error(-32000, &[]))), Told::Legacy),
        (status(400, None), Told::Legacy),
        (status(404, None), Told::Legacy),
        (status(405, None), Told::Legacy),
        (status(406, None), Told::Legacy),
        (Outcome::Senseless("html".to_owned()), Told::Legacy),
        (status(308, None), Told::Nothing),
        (status(401, None), Told::Nothing),
        (status(403, None), Told::Nothing),
        (status(429, None), Told::Nothing),
        (status(502, None), Told::Nothing),
        (status(503, None), Told::Nothing),
        (status(500, None), Told::Perhaps),
        (Outcome::Failed(Failure::Timeout(Phase::FirstByte)), Told::Perhaps),
        (Outcome::Failed(Failure::Timeout(Phase::Connect)), Told::Nothing),
        (Outcome::Failed(Failure::NeverConnected(Unreached::Refused, String::new())), Told::Nothing),
        (Outcome::Failed(Failure::Lost(String::new())), Told::Nothing),
    ];
    for (outcome, expected) in table {
        assert_eq!(told(&outcome), expected, "{outcome:?}");
    }
}

#[test]
fn a_name_that_no_header_holds_is_wrapped() {
    let name = |text: &str| headers("resources/read", Some(text))[2].1.to_str().unwrap().to_owned();
    assert_eq!(name("memory://graph"), "memory://graph");
    assert_eq!(name("note://é"), "=?base64?bm90ZTovL8Op?=");
    assert_eq!(name(" a"), "=?base64?IGE=?=");
    assert_eq!(name("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
}
