//! Bytes to [`Value`].

use smol_str::SmolStr;

use super::special;
use crate::{
    number::Number,
    value::{Record, Value},
};

/// Bounds of one reading.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of the whole text.
    pub bytes: usize,
    /// Nesting of arrays and objects.
    pub depth: usize,
}

impl Default for Limits {
    /// 64 MiB, 128 deep.
    fn default() -> Self {
        Self { bytes: 64 << 20, depth: 128 }
    }
}

/// Why a text is not JSON that we read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// More bytes than allowed.
    #[error("the JSON is larger than {0} bytes")]
    TooLarge(usize),
    /// More nesting than allowed.
    #[error("the JSON is nested deeper than {0} levels")]
    TooDeep(usize),
    /// Not JSON.
    #[error("not JSON at byte {at}: expected {expected}")]
    Syntax {
        /// The byte offset.
        at: usize,
        /// What would have fitted.
        expected: &'static str,
    },
    /// A journal value whose tag is not known.
    #[error("not a journal value: {0}")]
    Tag(&'static str),
}

/// Reads one JSON text within the default limits. Of an object's equal keys the last one counts.
///
/// # Errors
/// [`JsonError`] if the text is not JSON or passes a limit.
pub fn read(text: &[u8]) -> Result<Value, JsonError> {
    read_with(text, Limits::default())
}

/// Reads one JSON text within `limits`.
///
/// # Errors
/// [`JsonError`] if the text is not JSON or passes a limit.
pub fn read_with(text: &[u8], limits: Limits) -> Result<Value, JsonError> {
    if text.len() > limits.bytes {
        return Err(JsonError::TooLarge(limits.bytes));
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = Reader { text, at: 0, depth: 0, limits };
    let value = reader.value()?;
    reader.blanks();
    if reader.at < text.len() { Err(reader.error("the end")) } else { Ok(value) }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    limits: Limits,
}

impl<'a> Reader<'a> {
    fn error(&self, expected: &'static str) -> JsonError {
        JsonError::Syntax { at: self.at, expected }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, JsonError> {
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.error("a value"))
        }
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::Text),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Absent),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.error("a value")),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, JsonError>) -> Result<Value, JsonError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > self.limits.depth {
            return Err(JsonError::TooDeep(self.limits.depth));
        }
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        self.blanks();
        if self.eat(b']') {
            return Ok(Value::list(items));
        }
        loop {
            items.push(self.value()?);
            self.blanks();
            if self.eat(b']') {
                return Ok(Value::list(items));
            }
            if !self.eat(b',') {
                return Err(self.error("`,` or `]`"));
            }
        }
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        let mut record = Record::new();
        self.blanks();
        if self.eat(b'}') {
            return Ok(Value::record(record));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.error("a key"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.eat(b':') {
                return Err(self.error("`:`"));
            }
            let value = self.value()?;
            record.set(key, value);
            self.blanks();
            if self.eat(b'}') {
                return Ok(Value::record(record));
            }
            if !self.eat(b',') {
                return Err(self.error("`,` or `}`"));
            }
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        let number = std::str::from_utf8(digits).ok().and_then(Number::parse);
        number.map(Value::Number).ok_or(JsonError::Syntax { at: start, expected: "a number" })
    }

    fn string(&mut self) -> Result<SmolStr, JsonError> {
        self.at += 1;
        let plain = self.run()?;
        if self.eat(b'"') {
            return Ok(SmolStr::new(plain));
        }
        let mut text = plain.to_owned();
        loop {
            if self.eat(b'"') {
                return Ok(text.into());
            }
            if !self.eat(b'\\') {
                return Err(self.error("`\"`"));
            }
            text.push(self.escape()?);
            text.push_str(self.run()?);
        }
    }

    /// The text up to a quote, a backslash or something that may not stand in a string.
    fn run(&mut self) -> Result<&'a str, JsonError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = special(rest).unwrap_or(rest.len());
        let run = rest.get(..length).unwrap_or_default();
        let text = std::str::from_utf8(run)
            .map_err(|bad| JsonError::Syntax { at: self.at + bad.valid_up_to(), expected: "UTF-8" })?;
        self.at += length;
        Ok(text)
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let found = self.peek();
        self.at += 1;
        Ok(match found {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => {
                self.at -= 1;
                return Err(self.error("an escape"));
            }
        })
    }

    /// A lone surrogate is read as U+FFFD: it cannot be text, and one bad character should not cost the whole answer.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or('\u{fffd}'));
        }
        let before = self.at;
        if self.eat(b'\\') && self.eat(b'u') {
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let joined = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(joined).unwrap_or('\u{fffd}'));
            }
        }
        self.at = before;
        Ok('\u{fffd}')
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let parsed = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let code = parsed.ok_or_else(|| self.error("four hex digits"))?;
        self.at += 4;
        Ok(code)
    }
}
