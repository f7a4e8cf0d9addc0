//! Which generation of the protocol a server speaks, from its answer to the one question that both
//! generations answer differently, and what a request of the newer one carries.
//!
//! A table over plain facts; it sends nothing and remembers nothing.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue};
use lf_module::Value;
use lf_transport::{Failure, Phase};

use crate::{
    attempt::{Outcome, Status},
    message::{self, RpcError},
};

/// The revision of the newer generation that is spoken.
pub(crate) const MODERN: &str = "2026-07-28";
/// The question.
pub(crate) const PROBE: &str = "server/discover";

pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
pub(crate) const HEADERS_DISAGREE: i64 = -32020;
const CAPABILITY_MISSING: i64 = -32021;

/// A generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With `initialize`, sessions and a stream beside them: 2025-03-26 to 2025-11-25.
    Legacy,
    /// Without either: 2026-07-28.
    Modern,
}

impl Era {
    /// The request by which a server says what it is.
    pub(crate) fn opening(self) -> &'static str {
        match self {
            Self::Legacy => "initialize",
            Self::Modern => PROBE,
        }
    }
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// The server speaks the newer generation. Whether it says that resources can be subscribed to.
    Modern { subscribe: bool },
    /// It has to be asked in the older way.
    Legacy,
    /// The same, but nothing proves it: not to be remembered where that fails.
    Perhaps,
    /// It says nothing of it: to be asked again.
    Nothing,
}

/// Reads the answer to [`PROBE`].
pub(crate) fn told(outcome: &Outcome) -> Told {
    match outcome {
        Outcome::Answered(Ok(result)) => {
            let versions = message::texts(result.field("supportedVersions"));
            if versions.iter().any(|version| version == MODERN) {
                return Told::Modern { subscribe: subscribes(result.field("capabilities")) };
            }
            // Some answer the question and then take nothing but `initialize`.
            Told::Legacy
        }
        Outcome::Answered(Err(error)) => of_error(error).unwrap_or(Told::Legacy),
        Outcome::Status(status) => of_status(status),
        Outcome::Accepted | Outcome::Senseless(_) => Told::Legacy,
        // A server that never answers what it does not know.
        Outcome::Failed(Failure::Timeout(Phase::FirstByte | Phase::Gap | Phase::Whole)) => Told::Perhaps,
        Outcome::Failed(_) => Told::Nothing,
    }
}

fn of_error(error: &RpcError) -> Option<Told> {
    match error.code {
        HEADERS_DISAGREE | CAPABILITY_MISSING => Some(Told::Modern { subscribe: true }),
        UNSUPPORTED_VERSION if error.supported.iter().any(|version| version == MODERN) => {
            Some(Told::Modern { subscribe: true })
        }
        _ => None,
    }
}

fn of_status(status: &Status) -> Told {
    match status.code.as_u16() {
        300..=399 | 401 | 403 | 429 | 502..=504 => Told::Nothing,
        // Some break over what they do not know; `initialize` they know.
        500.. => Told::Perhaps,
        _ => status.error.as_ref().and_then(of_error).unwrap_or(Told::Legacy),
    }
}

/// Whether `capabilities` say that resources can be subscribed to.
pub(crate) fn subscribes(capabilities: Option<&Value>) -> bool {
    let resources = capabilities.and_then(|all| all.field("resources"));
    resources.and_then(|resources| resources.field("subscribe")) == Some(&Value::Bool(true))
}

/// The `_meta` of a request, as JSON text; `capabilities` is JSON text.
pub(crate) fn meta(capabilities: &str) -> String {
    let version = message::quoted(env!("CARGO_PKG_VERSION"));
    format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientInfo":{{"name":"listen-fire","version":{version}}},"io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#
    )
}

/// The headers of a request; `name` is what it is about, where its method has such a thing.
pub(crate) fn headers(method: &str, name: Option<&str>) -> Vec<(HeaderName, HeaderValue)> {
    let header = |name, value: &str| (HeaderName::from_static(name), sendable(value));
    let mut headers = vec![header("mcp-protocol-version", MODERN), header("mcp-method", method)];
    headers.extend(name.map(|name| header("mcp-name", name)));
    headers
}

/// A header's value: as it is, or wrapped where a header could not hold it as it is.
pub(crate) fn sendable(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let wrapped = || format!("=?base64?{}?=", STANDARD.encode(text));
    let value = if plain { HeaderValue::from_str(text) } else { HeaderValue::try_from(wrapped()) };
    // Neither form holds a byte that a header cannot.
    value.unwrap_or(HeaderValue::from_static(""))
}

/// How long the question may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
