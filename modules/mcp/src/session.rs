//! A session: what was agreed with a server, and how it is opened.

use std::sync::Arc;

use http::HeaderValue;
use lf_module::{CallError, Kind, Value};

use crate::{
    message,
    text::{self, clean},
};

/// The revision that is asked for, and those that are spoken.
pub(crate) const ASKED: &str = "2025-11-25";
const SPOKEN: [&str; 4] = [ASKED, "2025-06-18", "2025-03-26", "2024-11-05"];

/// What was agreed.
#[derive(Debug)]
pub(crate) struct Session {
    /// The negotiated revision: it goes with every later request.
    pub(crate) version: &'static str,
    /// The server's id of the session, if it keeps any. As good as a credential: never shown.
    pub(crate) id: Option<HeaderValue>,
    /// What the server calls itself.
    pub(crate) server: String,
    /// Its version of itself.
    pub(crate) server_version: String,
    /// The whole answer to `initialize`, for `describe --raw`.
    pub(crate) raw: Value,
}

/// The parameters of `initialize`. No capability is declared: nothing of what they stand for is built.
pub(crate) fn initialize() -> String {
    let version = message::quoted(env!("CARGO_PKG_VERSION"));
    format!(
        r#"{{"protocolVersion":"{ASKED}","capabilities":{{}},"clientInfo":{{"name":"listen-fire","version":{version}}}}}"#
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
        let about = |field: &str| {
            let text = answer.field("serverInfo").and_then(|about| about.field(field)).and_then(Value::as_text);
            clean(text.unwrap_or_default(), text::MESSAGE)
        };
        let (server, server_version) = (about("name"), about("version"));
        Ok(Arc::new(Self { version, id, server, server_version, raw: answer }))
    }
}
