//! The demo's second system: an issue tracker that is an MCP server (streamable HTTP, sessions), in memory, on loopback.
//!
//! Two tools: `create_issue` changes things, `search_issues` is read-only and has an output schema. It knows nothing of
//! listen-fire and takes nothing from `@lf/mcp`: what the demo prints is a real exchange of two sides.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use serde_json::{Value, json};

/// The tracker's one token.
pub const TOKEN: &str = "demo-token";

const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// One issue.
#[derive(Debug, Clone)]
pub struct Issue {
    pub id: String,
    pub title: String,
    pub team: String,
}

#[derive(Debug, Default)]
struct Data {
    issues: Vec<Issue>,
    sessions: HashSet<String>,
    searches: usize,
}

/// The tracker. Cheap to clone; all clones are the same system.
#[derive(Debug, Clone, Default)]
pub struct Tracker(Arc<Mutex<Data>>);

impl Tracker {
    /// Every issue, oldest first.
    #[must_use]
    pub fn issues(&self) -> Vec<Issue> {
        self.with(|data| data.issues.clone())
    }

    /// How many searches were answered.
    #[must_use]
    pub fn searches(&self) -> usize {
        self.with(|data| data.searches)
    }

    /// The MCP endpoint.
    pub fn router(&self) -> Router {
        Router::new().route("/mcp", post(message).delete(end)).with_state(self.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Data) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id").and_then(|id| id.to_str().ok())
}

fn refuse(status: StatusCode, id: &Value, code: i64, text: &str) -> Response {
    (status, Json(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } }))).into_response()
}

fn result(id: &Value, result: &Value) -> Response {
    Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}

async fn end(State(tracker): State<Tracker>, headers: HeaderMap) -> StatusCode {
    let known = session(&headers).is_some_and(|id| tracker.with(|data| data.sessions.remove(id)));
    if known { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
}

async fn message(State(tracker): State<Tracker>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let id = body.get("id").cloned().unwrap_or(Value::Null);
    let expected = format!("Bearer {TOKEN}");
    if headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()) != Some(expected.as_str()) {
        return refuse(StatusCode::UNAUTHORIZED, &id, -32001, "the token is not known");
    }
    let method = body.get("method").and_then(Value::as_str).unwrap_or_default();
    let empty = Value::Null;
    let params = body.get("params").unwrap_or(&empty);
    if method == "initialize" {
        return initialize(&tracker, &id, params);
    }
    match session(&headers) {
        None => return refuse(StatusCode::BAD_REQUEST, &id, -32000, "no session id was sent"),
        Some(known) if tracker.with(|data| data.sessions.contains(known)) => {}
        Some(_) => return refuse(StatusCode::NOT_FOUND, &id, -32001, "session not found"),
    }
    match method {
        "ping" => result(&id, &json!({})),
        "tools/list" => result(&id, &tools()),
        "tools/call" => call(&tracker, &id, params),
        notification if notification.starts_with("notifications/") => StatusCode::ACCEPTED.into_response(),
        _ => refuse(StatusCode::OK, &id, -32601, "no such method"),
    }
}

fn initialize(tracker: &Tracker, id: &Value, params: &Value) -> Response {
    let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let version = VERSIONS.into_iter().find(|version| *version == asked).unwrap_or("2025-11-25");
    let session = uuid::Uuid::now_v7().simple().to_string();
    tracker.with(|data| data.sessions.insert(session.clone()));
    let answer = json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "demo-tracker", "version": env!("CARGO_PKG_VERSION") },
    });
    ([("Mcp-Session-Id", session)], result(id, &answer)).into_response()
}

fn tools() -> Value {
    json!({ "tools": [
        {
            "name": "create_issue",
            "description": "Open an issue.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "title": { "type": "string", "description": "One line." },
                    "team": { "type": "string", "enum": ["ENG", "OPS"] },
                },
                "required": ["title", "team"],
            },
            "annotations": { "readOnlyHint": false, "destructiveHint": false },
        },
        {
            "name": "search_issues",
            "description": "Issues whose title holds the query.",
            "inputSchema": {
                "type": "object",
                "properties": { "query": { "type": "string" }, "limit": { "type": ["integer", "null"] } },
                "required": ["query"],
            },
            "outputSchema": {
                "type": "object",
                "properties": { "count": { "type": "integer" }, "ids": { "type": "array", "items": { "type": "string" } } },
                "required": ["count", "ids"],
            },
            "annotations": { "readOnlyHint": true },
        },
    ] })
}

fn call(tracker: &Tracker, id: &Value, params: &Value) -> Response {
    let empty = Value::Null;
    let arguments = params.get("arguments").unwrap_or(&empty);
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match params.get("name").and_then(Value::as_str) {
        Some("create_issue") => match (text("title"), text("team")) {
            (Some(title), Some(team @ ("ENG" | "OPS"))) => {
                let issue = tracker.with(|data| {
                    let issue = Issue {
                        id: format!("{team}-{}", data.issues.len() + 1),
                        title: title.into(),
                        team: team.into(),
                    };
                    data.issues.push(issue.clone());
                    issue
                });
                result(id, &json!({ "content": [{ "type": "text", "text": issue.id }] }))
            }
            _ => failed(id, "create_issue takes a title and a team, ENG or OPS"),
        },
        Some("search_issues") => {
            let Some(query) = text("query") else { return failed(id, "search_issues takes a query") };
            let ids: Vec<String> = tracker.with(|data| {
                data.searches += 1;
                data.issues.iter().filter(|issue| issue.title.contains(query)).map(|issue| issue.id.clone()).collect()
            });
            let found = json!({ "count": ids.len(), "ids": ids });
            let content = json!([{ "type": "text", "text": found.to_string() }]);
            result(id, &json!({ "content": content, "structuredContent": found }))
        }
        _ => failed(id, "there is no such tool"),
    }
}

fn failed(id: &Value, text: &str) -> Response {
    result(id, &json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
}
