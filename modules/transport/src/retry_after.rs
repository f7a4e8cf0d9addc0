//! `Retry-After`: how long a system asks to be left alone.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};
use lf_module::Clock;

/// A longer value is not read: no length and no date needs so much.
const LONGEST: usize = 128;

/// What `headers` ask for: whole seconds or an HTTP date. The response's own `Date` is "now" where it
/// is given, so that a wrong clock on either side does not count; a date that is past is no wait.
/// What is neither is as if it were not there. Of several values the first that can be read counts.
#[must_use]
pub fn retry_after(headers: &HeaderMap, clock: &dyn Clock) -> Option<Duration> {
    let local = || SystemTime::try_from(clock.now()).ok();
    let now = headers.get(header::DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    headers.get_all(header::RETRY_AFTER).iter().find_map(|value| {
        let text = value.to_str().ok().filter(|text| text.len() <= LONGEST)?.trim();
        parse(text, || now.or_else(local))
    })
}

fn parse(text: &str, now: impl Fn() -> Option<SystemTime>) -> Option<Duration> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than can be counted are still a request to stay away.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now()?).unwrap_or_default())
}

#[cfg(test)]
mod tests;
