//! JSON in and out of [`Value`], digit for digit, bounded.
//!
//! The general JSON library rounds numbers that do not fit 64 bits; the language promises the same
//! digits or a refusal, so reading is done here: one pass over the bytes, a depth limit, no recursion
//! past it, and numbers kept as written. Two forms are written: *plain* (what other systems read) and
//! *tagged* (the journal's: it also keeps apart what plain JSON cannot, a date from a text).

mod read;
mod tagged;
#[cfg(test)]
mod tests;
mod write;

pub use read::{JsonError, Limits, read, read_with};
pub use tagged::{decode, encode};
pub use write::{canonical, plain, write_plain};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;

use crate::value::{Record, Value};

/// Where the first byte is that may not stand in a string as it is: a quote, a backslash, a control character. Looked for
/// in blocks, for which the compiler has instructions.
fn special(text: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let is_special = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let clean = |block: &&[u8]| !block.iter().fold(false, |any, byte| any | is_special(byte));
    let skipped = text.chunks_exact(BLOCK).take_while(clean).count() * BLOCK;
    text.get(skipped..)?.iter().position(is_special).map(|at| skipped + at)
}

impl Serialize for Value {
    /// The tagged form, as a raw JSON value: only for formats of `serde_json`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(encode(self)).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        decode(raw.get()).map_err(D::Error::custom)
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::record(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Record(record) = Value::deserialize(deserializer)? else {
            return Err(D::Error::custom("expected an object"));
        };
        Ok(std::sync::Arc::unwrap_or_clone(record))
    }
}
