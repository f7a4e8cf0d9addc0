//! JSON-RPC 2.0: messages to text, and text to messages. Numbers keep their digits, so nothing here
//! goes through a general JSON library.

use bytes::Bytes;
use lf_module::{
    Value,
    json::{self, JsonError, Limits},
};

use crate::text::{self, clean};

/// Nothing that a server sends is nested deeper than this and still read.
const DEPTH: usize = 128;
/// The largest answer that is read: long lists of tools come in one piece.
pub(crate) const LARGEST: usize = 32 << 20;

/// The error member of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RpcError {
    /// Its code.
    pub(crate) code: i64,
    /// Its message, cleaned.
    pub(crate) message: String,
    /// The revisions that its data names as supported.
    pub(crate) supported: Vec<String>,
}

/// A message from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// An answer. An error may come without an id; then it belongs to the request on whose answer it came.
    Response { id: Option<u64>, outcome: Result<Value, RpcError> },
    /// The server asks something; its id is any JSON.
    Request { id: Value, method: String, params: Value },
    /// The server tells something.
    Notification { method: String, params: Value },
    /// JSON, but no message. Servers do send such things, and they mean nothing.
    Nonsense,
}

/// Reads one message or a batch of them.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Incoming>, JsonError> {
    let limits = Limits { bytes: LARGEST, depth: DEPTH };
    let read = json::read_with(text, limits)?;
    if let Value::List(messages) = &read {
        return Ok(messages.iter().map(incoming).collect());
    }
    Ok(vec![incoming(&read)])
}

fn incoming(message: &Value) -> Incoming {
    let id = message.field("id").filter(|id| !id.is_absent());
    let method = message.field("method").and_then(Value::as_text).map(str::to_owned);
    let params = || message.field("params").cloned().unwrap_or(Value::Absent);
    match (method, id) {
        (Some(method), Some(id)) => Incoming::Request { id: id.clone(), method, params: params() },
        (Some(method), None) => Incoming::Notification { method, params: params() },
        (None, id) => {
            let outcome = if let Some(error) = message.field("error").filter(|error| !error.is_absent()) {
                Err(rpc_error(error))
            } else if let Some(result) = message.field("result") {
                Ok(result.clone())
            } else {
                return Incoming::Nonsense;
            };
            // An id that is not one of ours fits no request, but must not pass for a missing one.
            let ours = |id: &Value| match id {
                Value::Number(number) => number.as_i64().and_then(|id| u64::try_from(id).ok()).unwrap_or(u64::MAX),
                Value::Absent
                | Value::Bool(_)
                | Value::Text(_)
                | Value::Date(_)
                | Value::DateTime(_)
                | Value::Duration(_)
                | Value::List(_)
                | Value::Record(_)
                | Value::Position(_)
                | Value::File(_) => u64::MAX,
            };
            Incoming::Response { id: id.map(ours), outcome }
        }
    }
}

fn rpc_error(error: &Value) -> RpcError {
    let code = match error.field("code") {
        Some(Value::Number(code)) => code.as_i64().unwrap_or_default(),
        Some(_) | None => 0,
    };
    let message = error.field("message").and_then(Value::as_text).unwrap_or_default();
    let supported = error.field("data").and_then(|data| data.field("supported"));
    RpcError { code, message: clean(message, text::MESSAGE), supported: texts(supported) }
}

/// The texts of a list; nothing of what is no list.
pub(crate) fn texts(list: Option<&Value>) -> Vec<String> {
    let Some(Value::List(items)) = list else { return Vec::new() };
    items.iter().filter_map(Value::as_text).map(str::to_owned).collect()
}

/// The error in the body of an answer whose status is no good one.
pub(crate) fn error_of(body: &[u8]) -> Option<RpcError> {
    parse(body).ok()?.into_iter().find_map(|message| match message {
        Incoming::Response { id: _, outcome } => outcome.err(),
        Incoming::Request { .. } | Incoming::Notification { .. } | Incoming::Nonsense => None,
    })
}

/// A request; `params` is JSON text.
pub(crate) fn request(id: u64, method: &str, params: &str) -> Bytes {
    let mut message = String::with_capacity(params.len() + method.len() + 64);
    message.push_str(r#"{"jsonrpc":"2.0","id":"#);
    message.push_str(&id.to_string());
    message.push_str(r#","method":"#);
    quote(&mut message, method);
    message.push_str(r#","params":"#);
    message.push_str(params);
    message.push('}');
    message.into()
}

/// A notification; `params` is JSON text.
pub(crate) fn notification(method: &str, params: Option<&str>) -> Bytes {
    let method = quoted(method);
    match params {
        Some(params) => format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
    .into()
}

/// The answer to a request of the server.
pub(crate) fn answered(id: &Value, result: &Value) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, json::plain(id), json::plain(result)).into()
}

/// What is answered to a request of the server: a ping gets its answer, and nothing else was offered.
pub(crate) fn reply(id: &Value, method: &str) -> Bytes {
    let id = json::plain(id);
    if method == "ping" {
        return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into();
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"not offered by this client"}}}}"#).into()
}

/// The parameters of a call, as JSON text.
pub(crate) fn call(name: &str, arguments: &Value) -> String {
    let mut params = String::with_capacity(256);
    params.push_str(r#"{"name":"#);
    quote(&mut params, name);
    params.push_str(r#","arguments":"#);
    json::write_plain(&mut params, arguments);
    params.push('}');
    params
}

/// Writes a JSON string literal.
fn quote(out: &mut String, text: &str) {
    json::write_plain(out, &Value::text(text));
}

/// A JSON string literal.
pub(crate) fn quoted(text: &str) -> String {
    json::plain(&Value::text(text))
}
