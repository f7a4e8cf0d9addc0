//! A session: what was agreed with a server, and how it is opened. With a server of the newer generation nothing is
//! opened: what it said of itself stands for it.

use std::sync::Arc;

use http::HeaderValue;
use lf_module::{CallError, Kind, Value};

use crate::{
    era::{self, Era},
    message,
    text::{self, clean},
};

/// The revision that is asked for, and those that are spoken.
pub(crate) const ASKED: &str = "2025-11-25";
const SPOKEN: [&str; 4] = [ASKED, "2025-06-18", "2025-03-26", "2024-11-05"];

/// What was agreed.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) era: Era,
    /// The negotiated revision: it goes with every later request.
    pub(crate) version: &'static str,
    /// The server's id of the session, if it keeps any. As good as a credential: never shown.
    pub(crate) id: Option<HeaderValue>,
    /// What the server calls itself.
    pub(crate) server: String,
    /// Its version of itself.
    pub(crate) server_version: String,
    /// The whole answer to `initialize` or `server/discover`, for `describe --raw`.
    pub(crate) raw: Value,
}

/// The parameters of `initialize`; `capabilities` is JSON text.
pub(crate) fn initialize(capabilities: &str) -> String {
    let version = message::quoted(env!("CARGO_PKG_VERSION"));
    format!(
        r#"{{"protocolVersion":"{ASKED}","capabilities":{capabilities},"clientInfo":{{"name":"listen-fire","version":{version}}}}}"#
    )
}

impl Session {
    /// Reads the answer to `initialize`.
    pub(crate) fn of(answer: Value, id: Option<HeaderValue>) -> Result<Arc<Self>, CallError> {
        let offered = answer.field("protocolVersion").and_then(Value::as_text).unwrap_or_default();
        let Some(version) = SPOKEN.into_iter().find(|version| *version == offered) else {
            let offered = clean(offered, 40);
            return Err(CallError::new(
                Kind::Limit,
                format!(
                    "`initialize`: the server speaks revision `{offered}` of the protocol; spoken here are {}",
                    SPOKEN.join(", ")
                ),
            ));
        };
        let id = match id {
            Some(id) if !id.is_empty() && id.as_bytes().iter().all(u8::is_ascii_graphic) => {
                let mut id = id;
                id.set_sensitive(true);
                Some(id)
            }
            Some(_) => {
                return Err(CallError::refused("`initialize`: the server gave a session id that cannot be sent back"));
            }
            None => None,
        };
        let (server, server_version) = about(answer.field("serverInfo"));
        Ok(Arc::new(Self { era: Era::Legacy, version, id, server, server_version, raw: answer }))
    }

    /// Reads the answer to `server/discover`; a server may answer it with an error and speak the generation.
    pub(crate) fn discovered(answer: Option<Value>) -> Arc<Self> {
        let raw = answer.unwrap_or(Value::Absent);
        let meta = || raw.field("_meta").and_then(|meta| meta.field("io.modelcontextprotocol/serverInfo"));
        let (server, server_version) = about(raw.field("serverInfo").or_else(meta));
        Arc::new(Self { era: Era::Modern, version: era::MODERN, id: None, server, server_version, raw })
    }
}

/// What a server calls itself, and its version of itself.
fn about(facts: Option<&Value>) -> (String, String) {
    let fact = |name: &str| {
        let text = facts.and_then(|facts| facts.field(name)).and_then(Value::as_text);
        clean(text.unwrap_or_default(), text::MESSAGE)
    };
    (fact("name"), fact("version"))
}
