//! A person at a browser: the address is opened or printed, and one port of this machine waits for the browser to come
//! back. What it came back with is judged by whoever sent it.

use std::{
    fmt,
    net::Ipv4Addr,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use lf_module::{CallError, Clock, Kind, Person};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::Command,
};

use super::{exit::Failure, shell::Shell};
use crate::{host::clock::within, project::registry};

/// How long a person may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
/// As much of a request as is read, and for how long.
const LARGEST: usize = 16 << 10;
const REQUEST: Duration = Duration::from_secs(5);
const PATH: &str = "/callback";
const PAGE: &str = "listen-fire has the answer. This page can be closed.\n";

/// How the person gets to the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is opened, and printed.
    Open,
    /// It is printed.
    Print,
}

/// A person at a browser.
pub(super) struct Browser {
    way: Way,
    port: u16,
    clock: Arc<dyn Clock>,
    say: Arc<dyn Fn(&str) + Send + Sync>,
    /// The port, from the first time on: an app may be registered with it.
    listener: Mutex<Option<Arc<TcpListener>>>,
}

impl fmt::Debug for Browser {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Browser").field("way", &self.way).field("port", &self.port).finish_non_exhaustive()
    }
}

impl Browser {
    /// A person, if one is there.
    ///
    /// # Errors
    /// Nobody is: with the flag that says otherwise.
    pub(super) fn new(
        shell: &Shell,
        clock: &Arc<dyn Clock>,
        print: bool,
        port: Option<u16>,
    ) -> Result<Arc<Self>, Failure> {
        if !print && !shell.environment.stdin {
            let failure = Failure::usage("signing in needs a person at a browser, and standard input is no terminal");
            return Err(failure.help("run it on a terminal; or `--no-browser` prints the address and waits"));
        }
        let way = if print { Way::Print } else { Way::Open };
        // An address that is waited for is said in any case.
        let say = Arc::new(|text: &str| super::output::aside(text));
        Ok(Arc::new(Self { way, port: port.unwrap_or(0), clock: clock.clone(), say, listener: Mutex::new(None) }))
    }

    async fn listener(&self) -> Result<Arc<TcpListener>, CallError> {
        if let Some(listener) = &*self.listener.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(listener.clone());
        }
        let made = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await.map_err(|why| {
            let port = if self.port == 0 { String::new() } else { format!(" {}", self.port) };
            lost(format!("no port{port} of this machine can be listened to: {why}"))
        })?;
        let made = Arc::new(made);
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
        Ok(made)
    }
}

#[async_trait]
impl Person for Browser {
    async fn redirect(&self) -> Result<String, CallError> {
        let address = self.listener().await?.local_addr().map_err(|why| lost(why.to_string()))?;
        Ok(format!("http://{address}{PATH}"))
    }

    async fn visit(&self, address: &str, deadline: Duration) -> Result<String, CallError> {
        registry::check_oauth_address(address, "the address to sign in at").map_err(lost)?;
        let listener = self.listener().await?;
        (self.say)(&format!("sign in at {address}"));
        if self.way == Way::Open {
            open(address);
        }
        let left = deadline.saturating_sub(self.clock.monotonic());
        let back = within(&*self.clock, left, self.come_back(&listener)).await;
        back.unwrap_or_else(|| Err(lost("nobody signed in in time".to_owned())))
    }
}

impl Browser {
    /// Waits for the one request that brings an answer; whatever else knocks is sent away.
    async fn come_back(&self, listener: &TcpListener) -> Result<String, CallError> {
        let address = listener.local_addr().map_err(|why| lost(why.to_string()))?;
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { continue };
            let Some(path) = within(&*self.clock, REQUEST, request(&mut stream)).await.flatten() else { continue };
            let query = path.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('?'));
            let answers = |name: &str| query.is_some_and(|query| query.split('&').any(|part| part.starts_with(name)));
            let (status, text) =
                if answers("code=") || answers("error=") { ("200 OK", PAGE) } else { ("404 Not Found", "") };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
                 Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}",
                text.len()
            );
            // A browser that does not wait for the page has brought its answer all the same.
            drop(within(&*self.clock, REQUEST, stream.write_all(answer.as_bytes())).await);
            if !text.is_empty() {
                return Ok(format!("http://{address}{path}"));
            }
        }
    }
}

/// The path of a GET.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if head.len() > LARGEST || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    (words.next()? == "GET").then(|| words.next().map(str::to_owned)).flatten()
}

/// Opens the address as the system does, without a shell. It was printed, so nothing hangs on it.
fn open(address: &str) {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(before).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => drop(tokio::spawn(async move { child.wait().await })),
        Err(why) => tracing::debug!("no browser could be opened: {why}"),
    }
}

fn lost(message: String) -> CallError {
    CallError::new(Kind::Credential, message)
}
