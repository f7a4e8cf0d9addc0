//! Lines of a command that never ends: each written whole, by a thread of its own, so that a reader that is slow
//! holds up nothing but itself.

use std::{
    io::{self, Write},
    thread,
    time::Duration,
};

use async_trait::async_trait;
use lf_mcp::pump::{Gone, Sink};
use lf_module::Clock;
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::sync::{mpsc, oneshot};

/// How many lines on standard error wait for a slow reader; more are lost, since nothing may wait for them.
const ASIDES: usize = 256;
/// How long until a full pipe that does not wait is tried again.
const FULL: Duration = Duration::from_millis(5);
/// How long the last line may take at the end.
const LAST: Duration = Duration::from_millis(500);

/// Standard output, and standard error unless that is to stay empty.
#[derive(Debug)]
pub(super) struct Lines {
    results: mpsc::Sender<String>,
    asides: Option<mpsc::Sender<String>>,
    done: oneshot::Receiver<()>,
}

impl Lines {
    /// Starts the threads.
    pub(super) fn start(quiet: bool) -> io::Result<Self> {
        // One line waits while another is written: what else waits is counted where it comes in.
        let (results, from_results) = mpsc::channel(1);
        let (finished, done) = oneshot::channel();
        writer("results", from_results, io::stdout, finished)?;
        let asides = if quiet {
            None
        } else {
            let (asides, from_asides) = mpsc::channel(ASIDES);
            let (finished, _) = oneshot::channel();
            writer("asides", from_asides, io::stderr, finished)?;
            Some(asides)
        };
        Ok(Self { results, asides, done })
    }

    /// Ends when the reader of standard output is gone.
    pub(super) fn gone(&self) -> impl Future<Output = ()> + use<> {
        let results = self.results.clone();
        async move {
            tokio::select! {
                () = results.closed() => {}
                () = hung_up() => {}
            }
        }
    }

    /// Lets a line that is being written be written.
    pub(super) async fn finish(self, clock: &dyn Clock) {
        let Self { results, asides, done } = self;
        drop((results, asides));
        tokio::select! {
            _ = done => {}
            () = clock.sleep(LAST) => {}
        }
    }
}

/// Ends when the other end of standard output is closed: whoever woke up on a line, and is done, takes this along
/// without another line. The file itself is left as it is, since other processes may share it.
#[cfg(target_os = "linux")]
#[expect(deprecated, reason = "it is unsound for a descriptor that is closed meanwhile; this one is never closed")]
async fn hung_up() {
    // What cannot be watched, like a file, has no other end.
    // A pipe's other end is told of as an error, a socket's as the end of writing. That it can be written to is of no
    // interest, but only with it the latter is told.
    const CLOSED: Interest = Interest::WRITABLE.add(Interest::ERROR);
    if let Ok(out) = AsyncFd::with_interest(io::stdout(), CLOSED) {
        while let Ok(mut guard) = out.ready(CLOSED).await {
            if guard.ready().is_error() || guard.ready().is_write_closed() {
                return;
            }
            guard.clear_ready();
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(not(target_os = "linux"))]
async fn hung_up() {
    std::future::pending::<()>().await;
}

/// Writes all of it, also to a pipe that whoever shares it has set not to wait: there a write fails while it is full.
fn whole(to: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match patiently(|| to.write(bytes))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = bytes.get(written..).unwrap_or_default(),
        }
    }
    patiently(|| to.flush())
}

fn patiently<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(FULL),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn writer<W: Write>(
    name: &str,
    mut lines: mpsc::Receiver<String>,
    to: impl FnOnce() -> W + Send + 'static,
    finished: oneshot::Sender<()>,
) -> io::Result<()> {
    let write = move || {
        let mut to = to();
        while let Some(mut line) = lines.blocking_recv() {
            line.push('\n');
            if whole(&mut to, line.as_bytes()).is_err() {
                // Nobody reads any more; that the channel closes says so.
                break;
            }
        }
        drop(lines);
        let _nobody_waits = finished.send(());
    };
    thread::Builder::new().name(name.to_owned()).stack_size(128 << 10).spawn(write).map(drop)
}

#[async_trait]
impl Sink for Lines {
    async fn result(&self, line: String) -> Result<(), Gone> {
        self.results.send(line).await.map_err(|_| Gone)
    }

    fn aside(&self, line: String) {
        if let Some(asides) = &self.asides {
            // Full or closed: it is lost, by intent.
            drop(asides.try_send(line));
        }
    }
}
