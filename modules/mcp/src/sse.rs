//! Bytes to server-sent events, byte by byte, so that no split of the stream can matter.
//!
//! It gives every block that says anything, also one of only an id or only a `retry`: a server primes
//! a stream with those. It knows nothing of what the data holds.

/// The largest block that is kept.
pub(crate) const LARGEST: usize = 32 << 20;

/// One block of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event` field.
    pub(crate) name: Option<String>,
    /// The data lines, joined by line feeds.
    pub(crate) data: Option<String>,
    /// The `id` field, if this block has one.
    pub(crate) id: Option<String>,
    /// The `retry` field in milliseconds.
    pub(crate) retry: Option<u64>,
}

/// A block grew larger than is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge(pub(crate) usize);

/// The state between two pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    pending: Event,
    size: usize,
    /// The last line ended with a carriage return, so a line feed that follows belongs to it.
    returned: bool,
    /// A byte-order mark may stand before the very first line.
    begun: bool,
}

impl Parser {
    /// Takes the next piece and gives the blocks that it completes.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        for &byte in piece {
            let returned = std::mem::replace(&mut self.returned, byte == b'\r');
            match byte {
                b'\n' if returned => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                other => {
                    self.size += 1;
                    if self.size > LARGEST {
                        return Err(TooLarge(LARGEST));
                    }
                    self.line.push(other);
                }
            }
        }
        Ok(events)
    }

    /// What is left when the stream ends without its last blank line. Whether it is whole is for the
    /// reader of the data to say: a JSON text that parses is.
    pub(crate) fn finish(mut self) -> Option<Event> {
        let last = if self.line.is_empty() { None } else { self.end_line() };
        last.or_else(|| self.dispatch())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let value = line.get(colon + 1..).unwrap_or_default();
                (line.get(..colon).unwrap_or_default(), value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => match &mut self.pending.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&text());
                }
                None => self.pending.data = Some(text()),
            },
            b"event" => self.pending.name = Some(text()),
            b"id" if !value.contains(&0) => self.pending.id = Some(text()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => self.pending.retry = text().parse().ok(),
            // A comment, or a field that means nothing here.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        self.size = 0;
        let event = std::mem::take(&mut self.pending);
        (event.data.is_some() || event.id.is_some() || event.retry.is_some()).then_some(event)
    }
}

#[cfg(test)]
mod tests;
