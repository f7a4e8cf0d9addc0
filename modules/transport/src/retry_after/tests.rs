//! Seconds, dates, rubbish.

use http::HeaderValue;
use lf_harness::World;

use super::*;

fn asked(values: &[&str], date: Option<&str>) -> Option<Duration> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(header::RETRY_AFTER, HeaderValue::from_str(value).unwrap());
    }
    if let Some(date) = date {
        headers.insert(header::DATE, HeaderValue::from_str(date).unwrap());
    }
    retry_after(&headers, &*World::new(0.0))
}

#[test]
fn values() {
    let noon = Some("Mon, 05 Jan 2026 12:00:00 GMT");
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let long = "1".repeat(129);
    let table: [(&[&str], Option<&str>, Option<Duration>); 15] = [
        (&["3"], None, seconds(3)),
        (&[" 3 "], None, seconds(3)),
        (&["0"], None, seconds(0)),
        (&["Mon, 05 Jan 2026 12:00:07 GMT"], noon, seconds(7)),
        (&["Monday, 05-Jan-26 12:00:07 GMT"], noon, seconds(7)),
        (&["Mon, 05 Jan 2026 11:00:00 GMT"], noon, seconds(0)),
        (&["Mon, 05 Jan 1998 11:00:00 GMT"], None, seconds(0)),
        (&["-1"], noon, None),
        (&["1.5"], noon, None),
        (&["soon"], noon, None),
        (&[""], noon, None),
        (&[&long], noon, None),
        (&["99999999999999999999999"], noon, seconds(u64::from(u32::MAX))),
        (&["soon", "4"], noon, seconds(4)),
        (&[], noon, None),
    ];
    for (values, date, expected) in table {
        assert_eq!(asked(values, date), expected, "{values:?}");
    }
}
