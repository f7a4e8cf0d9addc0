//! A well-behaved MCP server whose resources can be watched, in both generations of the protocol, with
//! handles for what a server does by itself: it pushes, closes streams, forgets sessions. A test puts faults
//! in front of what it wants. It holds no opinion of what a client does.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lf_module::Clock;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::server::{Feed, Received, Reply, Server, Step};

const MODERN: &str = "2026-07-28";

/// What a server is like.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    /// It speaks the generation with sessions.
    pub legacy: bool,
    /// It speaks the generation without.
    pub modern: bool,
    /// It gives session ids.
    pub sessions: bool,
    /// Its messages have event ids, and it replays.
    pub replays: bool,
    /// It says that resources can be subscribed to.
    pub says_so: bool,
}

impl Habits {
    /// Sessions, no event ids.
    pub const LEGACY: Self = Self { legacy: true, modern: false, sessions: true, replays: false, says_so: true };
    /// Without sessions.
    pub const MODERN: Self = Self { legacy: false, modern: true, ..Self::LEGACY };
}

type Fault = Box<dyn FnMut(&Received) -> Option<Reply> + Send>;

/// A handle on what the server holds.
#[derive(Clone)]
pub struct Watched {
    habits: Habits,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    resources: BTreeMap<String, String>,
    sessions: BTreeMap<String, Session>,
    listens: Vec<Listen>,
    count: u64,
    reads: u64,
    fault: Option<Fault>,
    /// Only these are honoured; all if there is none.
    honours: Option<BTreeSet<String>>,
}

#[derive(Default)]
struct Session {
    uris: BTreeSet<String>,
    stream: Option<UnboundedSender<Step>>,
    /// What was said, by event id.
    said: Vec<(u64, String)>,
}

struct Listen {
    id: Value,
    uris: BTreeSet<String>,
    stream: UnboundedSender<Step>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Watched").field("habits", &self.habits).finish_non_exhaustive()
    }
}

impl Watched {
    /// A server of these resources, each with a text.
    #[must_use]
    pub fn new(habits: Habits, uris: &[&str]) -> Self {
        let resources = uris.iter().map(|uri| ((*uri).to_owned(), format!("the text of {uri}"))).collect();
        Self { habits, state: Arc::new(Mutex::new(State { resources, ..State::default() })) }
    }

    /// Serves it on `port`; 0 is any.
    ///
    /// # Errors
    /// If the port cannot be had.
    pub fn serve(&self, port: u16, clock: Arc<dyn Clock>) -> io::Result<Server> {
        let watched = self.clone();
        Server::on_port(port, clock, move |received| watched.answer(received))
    }

    /// What comes first to every request; without an answer of its own the server answers.
    pub fn fault(&self, fault: impl FnMut(&Received) -> Option<Reply> + Send + 'static) {
        self.state().fault = Some(Box::new(fault));
    }

    /// No faults any more.
    pub fn heal(&self) {
        self.state().fault = None;
    }

    /// Honours subscriptions to these only, in the newer generation.
    pub fn honour(&self, uris: &[&str]) {
        self.state().honours = Some(uris.iter().map(|uri| (*uri).to_owned()).collect());
    }

    /// Changes a resource without a word.
    pub fn write(&self, uri: &str, text: impl Into<String>) {
        self.state().resources.insert(uri.to_owned(), text.into());
    }

    /// Tells every subscriber of `uri`. How many had a stream to be told on.
    pub fn push(&self, uri: &str) -> usize {
        self.push_as(uri, uri)
    }

    /// Tells every subscriber of `uri` that `of` was updated.
    pub fn push_as(&self, uri: &str, of: &str) -> usize {
        let mut state = self.state();
        let State { sessions, listens, count, .. } = &mut *state;
        let mut told = 0;
        for session in sessions.values_mut().filter(|session| session.uris.contains(uri)) {
            *count += 1;
            let message = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": of}});
            let event = if self.habits.replays { event(Some(*count), &message) } else { event(None, &message) };
            if self.habits.replays {
                session.said.push((*count, event.clone()));
            }
            told += usize::from(send(session.stream.as_ref(), event));
        }
        for listen in listens.iter().filter(|listen| listen.uris.contains(uri)) {
            let params = json!({"uri": of, "_meta": {"io.modelcontextprotocol/subscriptionId": listen.id}});
            let message = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params});
            told += usize::from(send(Some(&listen.stream), event(None, &message)));
        }
        told
    }

    /// Changes a resource and tells its subscribers.
    pub fn change(&self, uri: &str, text: impl Into<String>) -> usize {
        self.write(uri, text);
        self.push(uri)
    }

    /// Sends raw text on every stream.
    pub fn say(&self, text: &str) {
        self.act(&Step::Send(text.as_bytes().to_vec()));
    }

    /// Does something on every stream.
    pub fn act(&self, step: &Step) {
        let state = self.state();
        let streams = state.sessions.values().filter_map(|session| session.stream.as_ref());
        for stream in streams.chain(state.listens.iter().map(|listen| &listen.stream)) {
            // A stream that the client left is none.
            drop(stream.send(step.clone()));
        }
    }

    /// Ends every stream: in order, or by a reset.
    pub fn end_streams(&self, step: &Step) {
        self.act(step);
        let mut state = self.state();
        state.sessions.values_mut().for_each(|session| session.stream = None);
        state.listens.clear();
    }

    /// Forgets every session, and ends its stream.
    pub fn forget(&self) {
        self.end_streams(&Step::Close);
        self.state().sessions.clear();
    }

    /// How often a resource was read.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.state().reads
    }

    /// How many streams are open.
    #[must_use]
    pub fn streams(&self) -> usize {
        let state = self.state();
        let open = |stream: &UnboundedSender<Step>| !stream.is_closed();
        let sessions = state.sessions.values().filter(|session| session.stream.as_ref().is_some_and(open));
        sessions.count() + state.listens.iter().filter(|listen| open(&listen.stream)).count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to one request.
    #[must_use]
    pub fn answer(&self, received: &Received) -> Reply {
        let mut state = self.state();
        let mut fault = state.fault.take();
        let reply = fault.as_mut().and_then(|fault| fault(received));
        state.fault = fault;
        if let Some(reply) = reply {
            return reply;
        }
        let session = received.header("mcp-session-id").unwrap_or_default().to_owned();
        match received.method.as_str() {
            "GET" if self.habits.legacy => self.open(&mut state, &session, received),
            "DELETE" if self.habits.legacy => {
                state.sessions.remove(&session);
                Reply::status(204)
            }
            "POST" => self.post(&mut state, &session, received),
            _ => Reply::status(405),
        }
    }

    fn post(&self, state: &mut State, session: &str, received: &Received) -> Reply {
        let (body, id) = (received.json(), received.rpc_id());
        let result = |result: Value| Reply::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        let error = |status: u16, code: i64, message: &str| {
            let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
            Reply::status(status).header("Content-Type", "application/json").body(body.to_string())
        };
        let capabilities =
            if self.habits.says_so { json!({"resources": {"subscribe": true}}) } else { json!({"resources": {}}) };
        let modern = received.header("mcp-protocol-version") == Some(MODERN);
        let method = received.rpc();
        let uri = body.pointer("/params/uri").and_then(Value::as_str).unwrap_or_default().to_owned();
        state.reads += u64::from(method == "resources/read");
        let read = |state: &State| match state.resources.get(&uri) {
            Some(text) => result(json!({"contents": [{"uri": uri, "text": text}]})),
            None => error(if modern { 400 } else { 200 }, -32002, "no such resource"),
        };
        match (method.as_str(), modern) {
            (_, true) if !self.habits.modern => error(400, -32000, "Bad Request: Server not initialized"),
            ("server/discover", true) => result(json!({"supportedVersions": [MODERN], "capabilities": capabilities})),
            ("resources/read", true) => read(state),
            ("subscriptions/listen", true) => listen(state, &body, id.clone()),
            (_, true) => error(404, -32601, "no such method"),
            (_, false) if !self.habits.legacy => error(400, -32022, "unsupported protocol version"),
            ("initialize", false) => {
                state.count += 1;
                let reply = result(json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": capabilities,
                    "serverInfo": {"name": "watched", "version": "1"},
                }));
                let session = if self.habits.sessions { format!("session-{}", state.count) } else { String::new() };
                state.sessions.insert(session.clone(), Session::default());
                if self.habits.sessions { reply.header("Mcp-Session-Id", &session) } else { reply }
            }
            _ if !state.sessions.contains_key(session) => error(404, -32001, "Session not found"),
            _ if id.is_null() || method.is_empty() => Reply::status(202),
            ("resources/subscribe", false) => {
                if let Some(session) = state.sessions.get_mut(session) {
                    session.uris.insert(uri);
                }
                result(json!({}))
            }
            ("resources/read", false) => read(state),
            _ => error(200, -32601, "no such method"),
        }
    }

    fn open(&self, state: &mut State, name: &str, received: &Received) -> Reply {
        let Some(session) = state.sessions.get_mut(name) else { return Reply::status(404) };
        let (stream, feed) = Feed::new();
        if self.habits.replays {
            state.count += 1;
            send(Some(&stream), format!("id: {}\ndata:\n\n", state.count));
            if let Some(last) = received.header("last-event-id").and_then(|last| last.parse::<u64>().ok()) {
                for (_, event) in session.said.iter().filter(|(id, _)| *id > last) {
                    send(Some(&stream), event.clone());
                }
            }
        }
        session.stream = Some(stream);
        stream_of(feed)
    }
}

fn listen(state: &mut State, body: &Value, id: Value) -> Reply {
    let asked = body.pointer("/params/notifications/resourceSubscriptions").and_then(Value::as_array);
    let asked = asked.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let uris: BTreeSet<_> =
        asked.filter(|uri| state.honours.as_ref().is_none_or(|honours| honours.contains(uri))).collect();
    let (stream, feed) = Feed::new();
    let acknowledged = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {
            "notifications": {"resourceSubscriptions": uris},
            "_meta": {"io.modelcontextprotocol/subscriptionId": id},
        },
    });
    send(Some(&stream), event(None, &acknowledged));
    state.listens.push(Listen { id, uris, stream });
    stream_of(feed)
}

/// The head of a stream, and what is fed into it.
#[must_use]
pub fn stream_of(feed: Feed) -> Reply {
    let head = "HTTP/1.1 200 Scripted\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    Reply::steps(vec![Step::Send(head.as_bytes().to_vec()), Step::Feed(feed)])
}

fn event(id: Option<u64>, message: &Value) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: message\n{id}data: {message}\n\n")
}

fn send(stream: Option<&UnboundedSender<Step>>, text: String) -> bool {
    stream.is_some_and(|stream| stream.send(Step::Send(text.into_bytes())).is_ok())
}
