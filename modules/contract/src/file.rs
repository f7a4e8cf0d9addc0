//! A file of a system: what is known of it and how to find it again. Its bytes are asked for when they are written
//! somewhere ([`crate::Connection::bytes`]), and travel with that one write only.
//!
//! Also the one way in which bytes stand in JSON, base64, so that every module reads and writes it alike.

use std::{fmt, sync::Arc};

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

/// The longest token of a module's own making in a file, in bytes.
pub const LONGEST_TOKEN: usize = 8 << 10;

/// With or without padding: both are met.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A file of one connection.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// The identity of the connection that gave it, and that is asked for its bytes.
    pub connection: SmolStr,
    /// Where it is. Only the module that made it can read it. At most [`LONGEST_TOKEN`].
    pub token: SmolStr,
    /// Its name, if it has one.
    pub name: Option<SmolStr>,
    /// Its media type, if the system says.
    pub media_type: Option<SmolStr>,
    /// How many bytes it has.
    pub size: u64,
    /// The SHA-256 of its bytes in hex, if the module saw them: bytes that do not have it are another file's.
    pub digest: Option<SmolStr>,
    /// The bytes, in a [`crate::Write`] that is being sent and nowhere else. Never journalled.
    pub bytes: Option<Arc<Vec<u8>>>,
}

impl File {
    /// A file whose bytes were seen.
    #[must_use]
    pub fn seen(connection: impl Into<SmolStr>, token: impl Into<SmolStr>, bytes: &[u8]) -> Self {
        Self {
            connection: connection.into(),
            token: token.into(),
            name: None,
            media_type: None,
            size: length(bytes),
            digest: Some(digest(bytes)),
            bytes: None,
        }
    }

    /// Whether these are the bytes that it had when it was read, as far as can be told.
    #[must_use]
    pub fn had(&self, bytes: &[u8]) -> bool {
        self.size == length(bytes) && self.digest.as_ref().is_none_or(|known| *known == digest(bytes))
    }

    /// Whether both are known to hold the same bytes, under names that do not contradict each other. Where they are does
    /// not matter, nor what type a system takes them to have.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let agree = |one: &Option<SmolStr>, two: &Option<SmolStr>| one.is_none() || two.is_none() || one == two;
        self.size == other.size
            && self.digest.is_some()
            && self.digest == other.digest
            && agree(&self.name, &other.name)
    }

    /// What it is called in a message: its name, else what it is.
    #[must_use]
    pub fn called(&self) -> String {
        match (&self.name, &self.media_type) {
            (Some(name), _) => format!("the file `{name}`"),
            (None, Some(media_type)) => format!("the file of type `{media_type}`"),
            (None, None) => "the file".to_owned(),
        }
    }
}

impl fmt::Debug for File {
    /// Without its bytes.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("File")
            .field("connection", &self.connection)
            .field("token", &self.token)
            .field("name", &self.name)
            .field("media_type", &self.media_type)
            .field("size", &self.size)
            .field("digest", &self.digest)
            .field("bytes", &self.bytes.as_ref().map(|bytes| bytes.len()))
            .finish()
    }
}

/// The SHA-256 of bytes, in hex.
#[must_use]
pub fn digest(bytes: &[u8]) -> SmolStr {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value & 15)).map_or('0', |digit| char::from(*digit));
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Bytes as they stand in JSON.
#[must_use]
pub fn to_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Bytes that stand in JSON as base64, with or without padding and line breaks; `None` if they are none.
#[must_use]
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        let joined: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        return BASE64.decode(joined).ok();
    }
    BASE64.decode(text).ok()
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
