//! A scripted HTTP/1.1 server on loopback, for what no library server does: reset before the head,
//! cut a body, trickle, never answer, close an idle connection. It writes down every request that it
//! read, so that a test judges by what the *server* saw. It knows no protocol above HTTP.
//!
//! Raw sockets on purpose; requests need a `Content-Length` if they have a body.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lf_module::Clock;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

/// The largest request that is read.
const LARGEST: usize = 32 << 20;

/// One request, as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// Its number at this server, from 0.
    pub number: usize,
    /// The number of the TCP connection that it came on, from 0.
    pub connection: usize,
    /// `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// When it was read, by the server's clock.
    pub at: Duration,
}

impl Received {
    /// The first header called `name` (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The JSON-RPC method of the body; empty if there is none.
    #[must_use]
    pub fn rpc(&self) -> String {
        self.json().get("method").and_then(|method| method.as_str()).unwrap_or_default().to_owned()
    }

    /// The JSON-RPC id of the body; `null` if there is none.
    #[must_use]
    pub fn rpc_id(&self) -> serde_json::Value {
        self.json().get("id").cloned().unwrap_or_default()
    }
}

/// One thing that the server does on a connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends the bytes at once.
    Send(Vec<u8>),
    /// Sends the bytes one by one, with a pause after each.
    Trickle(Vec<u8>, Duration),
    /// Does nothing for a while.
    Wait(Duration),
    /// Aborts the connection: the client gets a reset.
    Reset,
    /// Aborts it at once; what was sent just before may be lost.
    Abort,
    /// Ends the connection in order.
    Close,
    /// Says nothing more until the client goes away.
    Silence,
    /// Does what comes through a channel, until that is closed or the client goes away.
    Feed(Feed),
}

/// The far end of a channel of steps: what a stream says is told while it is open.
#[derive(Debug, Clone)]
pub struct Feed(Arc<Mutex<Option<UnboundedReceiver<Step>>>>);

impl Feed {
    /// A channel: what is sent into it, the connection does.
    #[must_use]
    pub fn new() -> (UnboundedSender<Step>, Self) {
        let (sender, receiver) = unbounded_channel();
        (sender, Self(Arc::new(Mutex::new(Some(receiver)))))
    }
}

/// What is answered to one request.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    before: Vec<Step>,
    instead: Option<Vec<Step>>,
    cut: Option<(usize, Step)>,
    trickle: Option<Duration>,
    length: bool,
    after: Option<Step>,
}

impl Reply {
    /// A status without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            before: Vec::new(),
            instead: None,
            cut: None,
            trickle: None,
            length: true,
            after: None,
        }
    }

    /// 200 with a JSON body.
    #[must_use]
    pub fn json(value: &serde_json::Value) -> Self {
        Self::raw_json(value.to_string())
    }

    /// 200 with a body that is said to be JSON.
    #[must_use]
    pub fn raw_json(text: impl Into<Vec<u8>>) -> Self {
        Self::status(200).header("Content-Type", "application/json").body(text)
    }

    /// 200 with an event stream that ends when the connection does. `stream` is the text as it is sent.
    #[must_use]
    pub fn events(stream: impl Into<Vec<u8>>) -> Self {
        let mut reply = Self::status(200).header("Content-Type", "text/event-stream").body(stream);
        reply.length = false;
        reply.after = Some(Step::Close);
        reply
    }

    /// Nothing but these steps.
    #[must_use]
    pub fn steps(steps: Vec<Step>) -> Self {
        Self { instead: Some(steps), ..Self::status(0) }
    }

    /// A reset before any byte of an answer.
    #[must_use]
    pub fn reset() -> Self {
        Self::steps(vec![Step::Reset])
    }

    /// No answer, ever.
    #[must_use]
    pub fn silence() -> Self {
        Self::steps(vec![Step::Silence])
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.before.push(Step::Wait(wait));
        self
    }

    /// Sends only `bytes` of the body, then does `step`.
    #[must_use]
    pub fn cut(mut self, bytes: usize, step: Step) -> Self {
        self.cut = Some((bytes, step));
        self
    }

    /// Sends the body byte by byte.
    #[must_use]
    pub fn trickle(mut self, every: Duration) -> Self {
        self.trickle = Some(every);
        self
    }

    /// Does `step` when the answer is sent; without this the connection is kept for the next request.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.after = Some(step);
        self
    }

    fn into_steps(self) -> Vec<Step> {
        if let Some(steps) = self.instead {
            return steps;
        }
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", self.status);
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if self.length {
            head.extend(["Content-Length: ", &self.body.len().to_string(), "\r\n"]);
        }
        if !self.length || self.after.is_some() || self.cut.is_some() {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");
        let mut steps = self.before;
        steps.push(Step::Send(head.into_bytes()));
        let mut body = self.body;
        let end = match self.cut {
            Some((bytes, step)) => {
                body.truncate(bytes);
                Some(step)
            }
            None => self.after,
        };
        steps.push(match self.trickle {
            Some(every) => Step::Trickle(body, every),
            None => Step::Send(body),
        });
        steps.extend(end);
        steps
    }
}

type Script = dyn Fn(&Received) -> Reply + Send + Sync;

/// A running server. Dropping it closes the port.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Received>>>,
    accepted: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts on a free port of 127.0.0.1. Needs a runtime around it.
    ///
    /// # Errors
    /// If the port cannot be had.
    pub fn start(
        clock: Arc<dyn Clock>,
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::on_port(0, clock, script)
    }

    /// Starts on `port`, one that [`unused_port`] gave.
    ///
    /// # Errors
    /// If the port cannot be had.
    pub fn on_port(
        port: u16,
        clock: Arc<dyn Clock>,
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let accepted = Arc::new(AtomicUsize::new(0));
        let script: Arc<Script> = Arc::new(script);
        let (entries, count) = (log.clone(), accepted.clone());
        let task = tokio::spawn(async move {
            // The connections end with the server.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let connection = count.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve(stream, connection, entries.clone(), script.clone(), clock.clone()));
            }
        });
        Ok(Self { address, log, accepted, task })
    }

    /// `http://127.0.0.1:PORT` and `path`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What arrived so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many TCP connections were accepted so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A port of 127.0.0.1 on which nobody listens.
///
/// # Errors
/// If there is none.
pub fn unused_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// A connection that breaks has said all that it has to say; the log holds what was read.
async fn serve(
    mut stream: TcpStream,
    connection: usize,
    log: Arc<Mutex<Vec<Received>>>,
    script: Arc<Script>,
    clock: Arc<dyn Clock>,
) {
    // Head and body may go out separately; without this each answer waits for an acknowledgement.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut pending = Vec::new();
    while let Ok(Some(mut request)) = read(&mut stream, &mut pending).await {
        request.connection = connection;
        request.at = clock.monotonic();
        {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            request.number = log.len();
            log.push(request.clone());
        }
        for step in script(&request).into_steps() {
            if !matches!(act(&mut stream, step).await, Ok(true)) {
                return;
            }
        }
    }
}

/// Does one step; `false` ends the connection.
async fn act(stream: &mut TcpStream, step: Step) -> io::Result<bool> {
    match step {
        Step::Send(bytes) => stream.write_all(&bytes).await?,
        Step::Trickle(bytes, every) => {
            for byte in bytes {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(every).await;
            }
        }
        Step::Wait(length) => tokio::time::sleep(length).await,
        Step::Reset => {
            // What was sent before should arrive before the reset overtakes it.
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.set_zero_linger()?;
            return Ok(false);
        }
        Step::Abort => {
            stream.set_zero_linger()?;
            return Ok(false);
        }
        Step::Close => {
            stream.shutdown().await?;
            return Ok(false);
        }
        Step::Silence => {
            let mut rest = [0; 256];
            while stream.read(&mut rest).await? > 0 {}
            return Ok(false);
        }
        Step::Feed(feed) => {
            let receiver = feed.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut receiver) = receiver else { return Ok(false) };
            let mut rest = [0; 256];
            loop {
                let step = tokio::select! {
                    biased;
                    step = receiver.recv() => step,
                    read = stream.read(&mut rest) => match read? {
                        0 => return Ok(false),
                        _ => continue,
                    },
                };
                let Some(step) = step else { return Ok(false) };
                if !Box::pin(act(stream, step)).await? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// The next request; `None` when the client is done or sends what is none.
async fn read(stream: &mut TcpStream, pending: &mut Vec<u8>) -> io::Result<Option<Received>> {
    let end = loop {
        if let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if pending.len() > LARGEST || stream.read_buf(pending).await? == 0 {
            return Ok(None);
        }
    };
    let rest = pending.split_off(end + 4);
    let head = String::from_utf8_lossy(pending).into_owned();
    *pending = rest;
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path)) = (first.next(), first.next()) else { return Ok(None) };
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Received {
        number: 0,
        connection: 0,
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body: Vec::new(),
        at: Duration::ZERO,
    };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while pending.len() < length {
        if length > LARGEST || stream.read_buf(pending).await? == 0 {
            return Ok(None);
        }
    }
    let rest = pending.split_off(length);
    request.body = std::mem::replace(pending, rest);
    Ok(Some(request))
}
