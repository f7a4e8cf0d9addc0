//! FORMAT's patterns: `YYYY-MM-DD HH:mm`. What a letter means is said here, which there are where they are checked; a letter that means nothing is
//! refused, and `[…]` holds text.

use std::fmt::Write as _;

use jiff::{
    civil::{Date, Time},
    tz::Offset,
};

use crate::check::PATTERN_PARTS as PARTS;

/// What is written. A date is its midnight in UTC.
pub(super) struct Moment {
    pub(super) date: Date,
    pub(super) time: Time,
    pub(super) offset: Offset,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The moment in a pattern's form, or what is wrong with the pattern.
pub(super) fn write(pattern: &str, moment: &Moment) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some((text, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            out.push_str(text);
            rest = after;
        } else if let Some((name, after)) = PARTS.iter().find_map(|name| Some((*name, rest.strip_prefix(name)?))) {
            part(&mut out, name, moment);
            rest = after;
        } else if first.is_ascii_alphabetic() {
            return Err(format!(
                "`FORMAT`: `{first}` in \"{pattern}\" stands for nothing; text stands in brackets, as in \"[week] DD\""
            ));
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    Ok(out)
}

fn part(out: &mut String, name: &str, moment: &Moment) {
    let Moment { date, time, offset } = moment;
    let twelve = (time.hour() + 11).rem_euclid(12) + 1;
    let _never_fails = match name {
        "YYYY" => write!(out, "{:04}", date.year()),
        "YY" => write!(out, "{:02}", date.year().rem_euclid(100)),
        "MMMM" => out.write_str(month(*date)),
        "MMM" => out.write_str(short(month(*date))),
        "MM" => write!(out, "{:02}", date.month()),
        "M" => write!(out, "{}", date.month()),
        "DD" => write!(out, "{:02}", date.day()),
        "D" => write!(out, "{}", date.day()),
        "dddd" => out.write_str(day(*date)),
        "ddd" => out.write_str(short(day(*date))),
        "HH" => write!(out, "{:02}", time.hour()),
        "H" => write!(out, "{}", time.hour()),
        "hh" => write!(out, "{twelve:02}"),
        "h" => write!(out, "{twelve}"),
        "A" => out.write_str(if time.hour() < 12 { "AM" } else { "PM" }),
        "mm" => write!(out, "{:02}", time.minute()),
        "m" => write!(out, "{}", time.minute()),
        "ss" => write!(out, "{:02}", time.second()),
        "s" => write!(out, "{}", time.second()),
        "SSS" => write!(out, "{:03}", time.millisecond()),
        "Z" => zone(out, *offset),
        // `T` stands for itself, as in ISO 8601.
        other => out.write_str(other),
    };
}

/// `Z` in UTC, else `+02:00`.
fn zone(out: &mut String, offset: Offset) -> std::fmt::Result {
    let seconds = offset.seconds();
    if seconds == 0 {
        return out.write_str("Z");
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

fn month(date: Date) -> &'static str {
    usize::try_from(date.month() - 1).ok().and_then(|index| MONTHS.get(index)).copied().unwrap_or_default()
}

fn day(date: Date) -> &'static str {
    let index = date.weekday().to_monday_zero_offset();
    usize::try_from(index).ok().and_then(|index| DAYS.get(index)).copied().unwrap_or_default()
}

fn short(name: &'static str) -> &'static str {
    name.get(..3).unwrap_or(name)
}
