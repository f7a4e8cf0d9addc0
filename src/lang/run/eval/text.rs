//! The text built-ins. A character is what a reader takes for one (a grapheme cluster).

use lf_module::value::{Record, Value};
use regex::Regex;
use smol_str::SmolStr;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{limits, program, scalar};
use crate::run::{io::Failure, state::Scratch};

/// Patterns that a run keeps compiled.
const PATTERNS: usize = 64;

pub(super) fn length(text: &str) -> usize {
    text.graphemes(true).count()
}

/// From `start` up to, not with, `end`; negative positions count from the end.
pub(super) fn slice(text: &str, start: i64, end: Option<i64>) -> SmolStr {
    let length = i64::try_from(length(text)).unwrap_or(i64::MAX);
    let place = |at: i64| if at < 0 { at.saturating_add(length).max(0) } else { at.min(length) };
    let (start, end) = (place(start), end.map_or(length, place));
    let count = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
    let skip = usize::try_from(start).unwrap_or(0);
    text.graphemes(true).skip(skip).take(count).collect::<String>().into()
}

/// An empty separator splits into characters.
pub(super) fn split(text: &str, separator: &str) -> Result<Value, Failure> {
    let mut parts = Vec::new();
    let mut push = |part: &str| {
        parts.push(Value::from(part));
        limits::members(parts.len())
    };
    if separator.is_empty() {
        text.graphemes(true).try_for_each(&mut push)?;
    } else {
        text.split(separator).try_for_each(&mut push)?;
    }
    limits::list(parts)
}

pub(super) fn join(items: &[Value], separator: &str) -> Result<Value, Failure> {
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        scalar::write(&mut out, item)?;
        if out.len() > limits::BYTES {
            break;
        }
    }
    limits::text(out)
}

/// Every occurrence; nothing is replaced where there is nothing to look for.
pub(super) fn replace(text: &str, from: &str, to: &str) -> Result<Value, Failure> {
    if from.is_empty() {
        return limits::text(text);
    }
    let count = text.matches(from).count();
    let size = text.len().saturating_sub(count * from.len()).saturating_add(count.saturating_mul(to.len()));
    if size > limits::BYTES {
        return Err(program("a value can be at most 8 MiB large".to_owned()));
    }
    limits::text(text.replace(from, to))
}

/// Lower case, accents dropped, everything but letters and digits one dash.
pub(super) fn slug(text: &str) -> SmolStr {
    let mut out = String::new();
    let mut gap = false;
    for character in text.nfkd().filter(|character| !is_combining_mark(*character)).flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            if gap && !out.is_empty() {
                out.push('-');
            }
            gap = false;
            out.push(character);
        } else if character != '\'' && character != '’' {
            gap = true;
        }
    }
    out.nfc().collect::<String>().into()
}

/// `MATCH(text, "regex")`: the first match and its groups, in time linear in the text.
pub(super) fn find(scratch: &mut Scratch, text: &str, pattern: &str) -> Result<Value, Failure> {
    if !scratch.patterns.contains_key(pattern) {
        // The engine bounds the size of a pattern by itself, and runs in time linear in the text.
        let built = Regex::new(pattern).map_err(|wrong| {
            let why = wrong.to_string();
            let why = why.lines().last().unwrap_or_default();
            program(format!("`MATCH` cannot use the pattern \"{pattern}\": {}", why.trim_start_matches("error: ")))
        })?;
        if scratch.patterns.len() >= PATTERNS {
            let _oldest = scratch.patterns.pop_first();
        }
        scratch.patterns.insert(pattern.into(), built);
    }
    let found = scratch.patterns.get(pattern).and_then(|pattern| pattern.captures(text));
    let Some(found) = found else { return Ok(Value::Absent) };
    let part = |index: usize| Value::from(found.get(index).map_or("", |part| part.as_str()));
    let groups = (1..found.len()).map(part).collect();
    let record: Record = [("text", part(0)), ("groups", limits::list(groups)?)].into_iter().collect();
    Ok(Value::record(record))
}
