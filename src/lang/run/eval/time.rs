//! Dates, instants, durations and zones. Zone data is the one inside the program, so that a run replays the same on
//! every machine.

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, Time},
    tz::{Offset, TimeZone, TimeZoneDatabase},
};
use lf_module::value::Value;

use super::{drift, limits, number, pattern, program, scalar};
use crate::run::io::Failure;

const DAY: i64 = 86_400;

fn zone(name: &str, doing: &str) -> Result<TimeZone, Failure> {
    let found = TimeZoneDatabase::bundled().get(name);
    found.map_err(|_| program(format!("`{doing}` does not know the zone \"{name}\"; one is `Europe/Berlin`")))
}

/// `2026-01-05`, else absent.
pub(crate) fn date(text: &str) -> Value {
    let text = text.trim();
    // The parser also takes what has a time behind it; a date is a day and nothing else.
    let plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.parse::<Date>().ok().filter(|_| plain).map_or(Value::Absent, Value::Date)
}

/// RFC 3339, with its offset: `2026-01-05T09:00:00Z`, else absent.
pub(crate) fn datetime(text: &str) -> Value {
    let text = text.trim();
    let plain = !text.contains('[');
    text.parse::<Timestamp>().ok().filter(|_| plain).map_or(Value::Absent, Value::DateTime)
}

/// `1h30m` as the language writes it, or ISO 8601 (`PT1H30M`), else absent.
pub(crate) fn duration(text: &str) -> Value {
    let text = text.trim();
    if text.starts_with(['P', 'p']) || text.starts_with("-P") {
        return text.parse::<SignedDuration>().ok().map_or(Value::Absent, Value::Duration);
    }
    units(text).map_or(Value::Absent, Value::Duration)
}

fn units(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let mut total: i64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let count: i64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let millis: i64 = match rest.get(..letters)? {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return None,
        };
        rest = rest.get(letters..)?;
        total = total.checked_add(count.checked_mul(millis)?)?;
    }
    Some(SignedDuration::from_millis(if negative { -total } else { total }))
}

/// A datetime moved by a duration, or a date moved by whole days.
pub(super) fn shift(value: &Value, length: SignedDuration, sign: &str) -> Result<Value, Failure> {
    if let Value::DateTime(instant) = value {
        return instant.checked_add(length).map(Value::DateTime).map_err(|_| number::overflow(sign));
    }
    let Value::Date(date) = value else {
        return Err(drift(format!("`{sign}` cannot move {}", scalar::kind(value))));
    };
    if length.as_nanos() % (i128::from(DAY) * 1_000_000_000) != 0 {
        let length = scalar::duration(length);
        return Err(program(format!("a date can be moved by whole days only, not by {length}")));
    }
    date.checked_add(length).map(Value::Date).map_err(|_| number::overflow(sign))
}

/// Whether the datetime lies no more than that before or after now.
pub(super) fn within(left: &Value, right: &Value, now: Timestamp) -> Result<bool, Failure> {
    let (Value::DateTime(instant), Value::Duration(length)) = (left, right) else {
        let (left, right) = (scalar::kind(left), scalar::kind(right));
        return Err(drift(format!("`WITHIN` needs a datetime and a duration; they are {left} and {right}")));
    };
    Ok(instant.duration_since(now).abs() <= *length)
}

pub(super) fn today(now: Timestamp, name: &str, doing: &str) -> Result<Value, Failure> {
    Ok(Value::Date(now.to_zoned_datetime(zone(name, doing)?).date()))
}

/// That time of that day in that zone. A time that the clocks leave out is as much later as they are put forward; one
/// that comes twice is the first.
pub(super) fn at_time(date: Date, clock: &str, name: &str) -> Result<Value, Failure> {
    let zone = zone(name, "AT_TIME")?;
    let time = clock_time(clock)
        .or_else(|| clock.parse().ok())
        .ok_or_else(|| program(format!("`AT_TIME` needs a time of day such as \"09:00\", not \"{clock}\"")))?;
    let zoned = date.to_datetime(time).to_zoned_datetime(zone).map_err(|_| number::overflow("AT_TIME"))?;
    Ok(Value::DateTime(zoned.timestamp()))
}

/// `9:00`, `09:00` or `09:00:30`.
fn clock_time(text: &str) -> Option<Time> {
    let mut parts = text.trim().split(':').map(|part| {
        let fits = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i8>().ok().filter(|_| fits)
    });
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next());
    let second = second.map_or(Some(0), |second| second)?;
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, second, 0).ok()
}

/// `FORMAT(temporal, "YYYY-MM-DD", zone?)`; without a zone in UTC.
pub(super) fn format(value: &Value, pattern: &str, name: Option<&str>) -> Result<Value, Failure> {
    let zone = name.map_or(Ok(TimeZone::UTC), |name| zone(name, "FORMAT"))?;
    let moment = if let Value::Date(date) = value {
        pattern::Moment { date: *date, time: Time::midnight(), offset: Offset::UTC }
    } else {
        let Value::DateTime(instant) = value else {
            return Err(drift(format!("`FORMAT` needs a date or a datetime; it is {}", scalar::kind(value))));
        };
        let zoned = instant.to_zoned_datetime(zone);
        pattern::Moment { date: zoned.date(), time: zoned.time(), offset: zoned.offset() }
    };
    limits::text(pattern::write(pattern, &moment).map_err(program)?)
}
