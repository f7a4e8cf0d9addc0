//! A well-behaved MCP server for tests to break: it answers every method as it should, and a script
//! puts a fault in front of what it wants. It holds no opinion of what a client does.

use serde_json::{Value, json};

use crate::server::{Received, Reply};

/// What the server offers.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The entries of `tools/list`.
    pub tools: Value,
    /// The session id that it gives; `None` if it keeps no sessions.
    pub session: Option<String>,
    /// The revision that it answers to `initialize`.
    pub version: String,
    /// The result of every `tools/call`.
    pub answer: Value,
}

impl Offer {
    /// A server of these tools with a session.
    #[must_use]
    pub fn of(tools: Value) -> Self {
        Self {
            tools,
            session: Some("session-1".to_owned()),
            version: "2025-11-25".to_owned(),
            answer: json!({"content": [{"type": "text", "text": "done"}], "structuredContent": {"count": 2}}),
        }
    }

    /// The result of one request.
    #[must_use]
    pub fn result(&self, received: &Received) -> Value {
        match received.rpc().as_str() {
            "initialize" => json!({
                "protocolVersion": self.version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
            "tools/list" => json!({"tools": self.tools}),
            "tools/call" => self.answer.clone(),
            _ => json!({}),
        }
    }

    /// The whole JSON-RPC answer to one request.
    #[must_use]
    pub fn body(&self, received: &Received) -> String {
        json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": self.result(received)}).to_string()
    }

    /// The whole HTTP answer to one request.
    #[must_use]
    pub fn reply(&self, received: &Received) -> Reply {
        if received.method != "POST" {
            return Reply::status(405);
        }
        if received.rpc_id().is_null() {
            return Reply::status(202);
        }
        let reply = Reply::raw_json(self.body(received));
        match &self.session {
            Some(session) if received.rpc() == "initialize" => reply.header("Mcp-Session-Id", session),
            Some(_) | None => reply,
        }
    }
}
