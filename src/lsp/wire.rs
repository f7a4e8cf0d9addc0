//! Messages on a pipe: a header with a length, then JSON. Bounded in every part. Knows no method.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::{Value, json};

/// The largest message that is read: a file at its largest, with every letter escaped.
const LARGEST: u64 = 64 << 20;
/// The longest header line, and how many of them.
const HEADER: u64 = 4 << 10;
const HEADERS: usize = 32;

/// Codes of the protocol.
pub(super) const PARSE: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const NOT_INITIALIZED: i64 = -32002;
pub(super) const CANCELLED: i64 = -32800;
pub(super) const FAILED: i64 = -32803;

/// What came.
#[derive(Debug)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notice {
        method: String,
        params: Value,
    },
    /// An answer to something that was asked of the editor, or nothing that is understood.
    Other,
    /// The body is no JSON, or no message.
    Broken,
}

/// The next message; `None` at the end.
///
/// # Errors
/// The pipe broke, or what comes is no message at all, so that where the next one begins is not known.
pub(super) fn read(from: &mut impl BufRead) -> io::Result<Option<Message>> {
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut length: Option<u64> = None;
    for count in 0.. {
        let mut line = Vec::new();
        from.by_ref().take(HEADER).read_until(b'\n', &mut line)?;
        if line.is_empty() && count == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") || count == HEADERS {
            return Err(damaged("a message without an end of its header"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse().map_err(|_| damaged("a message whose length is no number"))?);
        }
    }
    let length = length.ok_or_else(|| damaged("a message without a length"))?;
    if length > LARGEST {
        return Err(damaged("a message larger than 64 MiB"));
    }
    let mut body = Vec::new();
    from.by_ref().take(length).read_to_end(&mut body)?;
    if body.len() as u64 != length {
        return Ok(None);
    }
    Ok(Some(message(&body)))
}

fn message(body: &[u8]) -> Message {
    let Ok(Value::Object(mut object)) = serde_json::from_slice::<Value>(body) else { return Message::Broken };
    let params = object.remove("params").unwrap_or(Value::Null);
    let method = match object.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Message::Broken,
        None => return Message::Other,
    };
    match object.remove("id") {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notice { method, params },
    }
}

/// Writes one message.
///
/// # Errors
/// The pipe broke.
pub(super) fn write(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(to, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    to.flush()
}

pub(super) fn answer(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(super) fn refusal(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

pub(super) fn notice(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

#[cfg(test)]
mod tests {
    use super::{Message, read};

    fn of(text: &str) -> String {
        let mut from = text.as_bytes();
        let mut seen = Vec::new();
        loop {
            match read(&mut from) {
                Ok(Some(Message::Request { method, .. } | Message::Notice { method, .. })) => seen.push(method),
                Ok(Some(Message::Other)) => seen.push("other".to_owned()),
                Ok(Some(Message::Broken)) => seen.push("broken".to_owned()),
                Ok(None) => return seen.join(" "),
                Err(why) => return format!("{} ! {why}", seen.join(" ")),
            }
        }
    }

    #[test]
    fn a_body_that_is_no_message_costs_itself_alone() {
        let ok = "Content-Length: 22\r\n\r\n{\"method\":\"x\",\"id\":12}";
        assert_eq!(of(&format!("{ok}Content-Length: 3\r\n\r\n{{,}}{ok}")), "x broken x");
        assert_eq!(of(&format!("Content-Type: a\r\nCONTENT-LENGTH:2\r\n\r\n{{}}{ok}")), "other x");
    }

    #[test]
    fn what_has_no_length_or_too_much_of_it_ends_the_session() {
        assert_eq!(of("\r\n"), " ! a message without a length");
        assert_eq!(of("Content-Length: x\r\n\r\n"), " ! a message whose length is no number");
        assert_eq!(of("Content-Length: 99999999999\r\n\r\n"), " ! a message larger than 64 MiB");
        assert_eq!(of(&"a".repeat(10_000)), " ! a message without an end of its header");
        assert_eq!(of("Content-Length: 5\r\n\r\n{}"), "");
    }
}
