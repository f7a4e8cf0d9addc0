//! A server on loopback that costs as little as one can: a thread of its own, one write for each answer, calls answered
//! without being parsed. What a client adds to a call is seen best beside it. It knows enough of the protocol for any client.
#![expect(dead_code, reason = "each benchmark uses its part")]

use std::{
    io,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use lf_harness::{Received, mcp::Offer};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What the server's thread is called.
pub(crate) const THREAD: &str = "loopback";

/// A running server; it ends with the process.
#[derive(Debug)]
pub(crate) struct Loopback {
    /// Where it is.
    pub(crate) url: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    offer: Offer,
    /// Everything of the answer to a call but its id.
    call: (String, String),
    /// The pages of `tools/list`, as JSON text of lists; of the offer's own if there are none.
    pages: Vec<String>,
    keeps: AtomicBool,
    kept: Mutex<Vec<Vec<u8>>>,
    listed: Mutex<Option<SystemTime>>,
}

impl Loopback {
    /// Starts one. `pages`: what `tools/list` answers, as JSON texts of lists; none for what `offer` has.
    pub(crate) fn start(offer: Offer, pages: Vec<String>) -> Self {
        let shared = Arc::new(Shared {
            call: (r#"{"jsonrpc":"2.0","id":"#.to_owned(), format!(r#","result":{}}}"#, offer.answer)),
            offer,
            pages,
            keeps: AtomicBool::new(false),
            kept: Mutex::default(),
            listed: Mutex::default(),
        });
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = shared.clone();
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        drop(thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    drop(tokio::spawn(serve(stream, serving.clone())));
                }
            });
        }));
        Self { url, shared }
    }

    /// The requests that came while `during` ran, as their bytes.
    pub(crate) async fn kept<T>(&self, during: impl Future<Output = T>) -> (T, Vec<Vec<u8>>) {
        self.shared.keeps.store(true, Ordering::Relaxed);
        let done = during.await;
        self.shared.keeps.store(false, Ordering::Relaxed);
        (done, std::mem::take(&mut *self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// When the last byte of the list of tools was written.
    pub(crate) fn listed(&self) -> Option<SystemTime> {
        *self.shared.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut pending = Vec::with_capacity(64 << 10);
    loop {
        let (head, whole) = loop {
            if let Some(head) = find(&pending, b"\r\n\r\n").map(|at| at + 4) {
                let length = length(&pending[..head]);
                if pending.len() >= head + length {
                    break (head, head + length);
                }
            }
            if stream.read_buf(&mut pending).await? == 0 {
                return Ok(());
            }
        };
        let request = &pending[..whole];
        if shared.keeps.load(Ordering::Relaxed) {
            shared.kept.lock().unwrap_or_else(PoisonError::into_inner).push(request.to_vec());
        }
        let lists = find(&request[head..], b"\"tools/list\"").is_some();
        let answer = shared.answer(&request[..head], &request[head..]);
        stream.write_all(&answer).await?;
        if lists {
            *shared.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(SystemTime::now());
        }
        pending.drain(..whole);
    }
}

impl Shared {
    fn answer(&self, head: &[u8], body: &[u8]) -> Vec<u8> {
        if let (true, Some(id)) = (find(body, b"\"tools/call\"").is_some(), id(body)) {
            return ok(&format!("{}{id}{}", self.call.0, self.call.1), "");
        }
        if !head.starts_with(b"POST ") {
            return status("405 Method Not Allowed");
        }
        let received = Received {
            number: 0,
            connection: 0,
            method: "POST".to_owned(),
            path: "/mcp".to_owned(),
            headers: Vec::new(),
            body: body.to_vec(),
            at: Duration::ZERO,
        };
        if received.rpc_id().is_null() {
            return status("202 Accepted");
        }
        let legacy = self.offer.session.is_some();
        match received.rpc().as_str() {
            "server/discover" if legacy => {
                let error = json!({"code": -32601, "message": "not found"});
                let body = json!({"jsonrpc": "2.0", "id": received.rpc_id(), "error": error}).to_string();
                let length = body.len();
                format!(
                    "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
                )
                .into_bytes()
            }
            "tools/list" if !self.pages.is_empty() => {
                let page = received.json()["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
                let id = received.rpc_id();
                let next = if page + 1 < self.pages.len() {
                    format!(r#","nextCursor":"{}""#, page + 1)
                } else {
                    String::new()
                };
                ok(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{}{next}}}}}"#, self.pages[page]), "")
            }
            "initialize" => ok(&self.offer.body(&received), "Mcp-Session-Id: session-1\r\n"),
            _ => ok(&self.offer.body(&received), ""),
        }
    }
}

fn ok(body: &str, headers: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn status(line: &str) -> Vec<u8> {
    format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n").into_bytes()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The `Content-Length` of a head.
fn length(head: &[u8]) -> usize {
    let head = std::str::from_utf8(head).unwrap();
    let line = head.lines().find(|line| line.len() > 15 && line[..15].eq_ignore_ascii_case("content-length:"));
    line.map_or(0, |line| line[15..].trim().parse().unwrap())
}

/// The id of a call: the first of the message's own form or, in another, wherever it stands.
fn id(body: &[u8]) -> Option<&str> {
    let start = find(body, b"\"id\":")? + 5;
    let digits = body[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&body[start..start + digits]).ok().filter(|id| !id.is_empty())
}
