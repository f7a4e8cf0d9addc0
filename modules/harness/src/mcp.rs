//! A well-behaved MCP server for tests to break: it answers every method as it should, and a script
//! puts a fault in front of what it wants. It holds no opinion of what a client does.

use serde_json::{Value, json};

use crate::server::{Received, Reply};

const MODERN: &str = "2026-07-28";

/// What the server offers.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The entries of `tools/list`.
    pub tools: Value,
    /// The session id that it gives; `None` if it keeps no sessions.
    pub session: Option<String>,
    /// The revision that it speaks; with 2026-07-28 it knows no `initialize`, and each request has to say so.
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

    /// The same server in the revision without sessions.
    #[must_use]
    pub fn modern(tools: Value) -> Self {
        Self { session: None, version: MODERN.to_owned(), ..Self::of(tools) }
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
            "server/discover" => json!({
                "supportedVersions": [self.version],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
                "resultType": "complete",
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
        if let Some(refusal) = self.foreign(received) {
            return refusal;
        }
        let reply = Reply::raw_json(self.body(received));
        match &self.session {
            Some(session) if received.rpc() == "initialize" => reply.header("Mcp-Session-Id", session),
            Some(_) | None => reply,
        }
    }

    /// The refusal of what the server's generation does not know.
    fn foreign(&self, received: &Received) -> Option<Reply> {
        let refusal = |status, code: i64| {
            let error = json!({"code": code, "message": "not like this", "data": {"supported": [self.version]}});
            let body = json!({"jsonrpc": "2.0", "id": received.rpc_id(), "error": error});
            Some(Reply::status(status).header("Content-Type", "application/json").body(body.to_string()))
        };
        if self.version != MODERN {
            return if received.rpc() == "server/discover" { refusal(404, -32601) } else { None };
        }
        let body = received.json();
        let name = body.pointer("/params/name").or_else(|| body.pointer("/params/uri"));
        let version = body.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        if received.rpc() == "initialize" {
            return refusal(404, -32601);
        }
        if received.header("mcp-protocol-version") != Some(MODERN) || version != Some(&json!(MODERN)) {
            return refusal(400, -32022);
        }
        let agrees = received.header("mcp-method") == Some(&received.rpc())
            && received.header("mcp-name") == name.and_then(Value::as_str);
        if agrees { None } else { refusal(400, -32020) }
    }
}
