//! FORMAT's patterns: `YYYY-MM-DD HH:mm`. What a letter means is said in one table; a letter that means nothing is
//! refused, and `[…]` holds text.

use std::fmt::Write as _;

use jiff::{
    civil::{Date, Time},
    tz::Offset,
};

/// What is written.
pub(super) struct Moment {
    pub(super) date: Date,
    /// A date has no time of day.
    pub(super) clock: Option<(Time, Offset)>,
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
        if first == '[' {
            let inner = rest.strip_prefix('[').unwrap_or_default();
            let (text, after) =
                inner.split_once(']').ok_or_else(|| format!("`FORMAT`: a `[` of \"{pattern}\" is not closed"))?;
            out.push_str(text);
            rest = after;
            continue;
        }
        let length = rest.chars().take_while(|next| *next == first).count() * first.len_utf8();
        let (run, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        if first.is_ascii_alphabetic() {
            part(&mut out, run, moment, pattern)?;
        } else {
            out.push_str(run);
        }
    }
    Ok(out)
}

fn part(out: &mut String, run: &str, moment: &Moment, pattern: &str) -> Result<(), String> {
    let Moment { date, clock } = moment;
    let date_part = match run {
        "YYYY" => Some(write!(out, "{:04}", date.year())),
        "YY" => Some(write!(out, "{:02}", date.year().rem_euclid(100))),
        "MMMM" => Some(out.write_str(month(*date))),
        "MMM" => Some(out.write_str(short(month(*date)))),
        "MM" => Some(write!(out, "{:02}", date.month())),
        "M" => Some(write!(out, "{}", date.month())),
        "DD" => Some(write!(out, "{:02}", date.day())),
        "D" => Some(write!(out, "{}", date.day())),
        "dddd" => Some(out.write_str(day(*date))),
        "ddd" => Some(out.write_str(short(day(*date)))),
        _ => None,
    };
    if date_part.is_some() {
        return Ok(());
    }
    let known = matches!(run, "HH" | "H" | "hh" | "h" | "A" | "mm" | "m" | "ss" | "s" | "SSS" | "Z");
    if !known {
        return Err(format!(
            "`FORMAT` does not know `{run}` in \"{pattern}\"; text stands in brackets, as in \"[week] DD\""
        ));
    }
    let Some((time, offset)) = clock else {
        return Err(format!("`FORMAT`: a date has no time of day, so `{run}` in \"{pattern}\" means nothing"));
    };
    let twelve = (time.hour() + 11).rem_euclid(12) + 1;
    let _never_fails = match run {
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
        _ => {
            let seconds = offset.seconds();
            let sign = if seconds < 0 { '-' } else { '+' };
            let minutes = seconds.abs() / 60;
            write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
    };
    Ok(())
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
