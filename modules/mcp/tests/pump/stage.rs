//! A pump on a moved clock, the server that it listens to, and all that it says.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use lf_harness::{Fast, Received, Server, Watched, watched::Habits};
use lf_mcp::pump::{self, Gone, Options, Rules, Sink, Target};
use serde_json::Value as Json;
use tokio::{
    sync::{Semaphore, oneshot},
    task::JoinHandle,
};

pub(crate) const A: &str = "board://a/state.json";
pub(crate) const B: &str = "board://b/state.json";

/// What was said, to whom.
#[derive(Debug)]
pub(crate) struct Lines {
    results: Mutex<Vec<String>>,
    asides: Mutex<Vec<String>>,
    /// How many more lines the reader of results takes.
    room: Semaphore,
    gone: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Sink for Lines {
    async fn result(&self, line: String) -> Result<(), Gone> {
        if self.gone.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(Gone);
        }
        self.room.acquire().await.unwrap().forget();
        self.results.lock().unwrap().push(line);
        Ok(())
    }

    fn aside(&self, line: String) {
        self.asides.lock().unwrap().push(line);
    }
}

pub(crate) struct Stage {
    pub(crate) clock: Arc<Fast>,
    pub(crate) watched: Watched,
    pub(crate) server: Option<Server>,
    pub(crate) lines: Arc<Lines>,
    stop: Option<oneshot::Sender<()>>,
    pump: JoinHandle<()>,
    port: u16,
}

/// A server with habits, and the options of a pump that listens to it.
pub(crate) struct Setting {
    pub(crate) clock: Arc<Fast>,
    pub(crate) watched: Watched,
    pub(crate) server: Server,
    pub(crate) options: Options,
}

impl Setting {
    pub(crate) fn new(habits: Habits) -> Self {
        let clock = Fast::new(0.5);
        let watched = Watched::new(habits, &[A, B]);
        let server = watched.serve(0, clock.clone()).unwrap();
        let options = Options {
            target: Target::new(&server.url("/mcp")).unwrap(),
            uris: vec![A.into(), B.into()],
            rules: Rules::default(),
            resync: true,
            parts: false,
            verbose: false,
            alert_after: None,
            era: None,
        };
        Self { clock, watched, server, options }
    }

    /// Only the first resource is watched.
    pub(crate) fn one(mut self) -> Self {
        self.options.uris.truncate(1);
        self
    }

    pub(crate) fn with(mut self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.options);
        self
    }

    pub(crate) fn ignoring(self, authors: &[&str]) -> Self {
        let authors = authors.iter().map(|author| (*author).to_owned()).collect();
        self.with(|options| options.rules.authors = authors)
    }

    /// Starts the pump, without letting any time pass.
    pub(crate) fn start(self) -> Stage {
        let lines = Arc::new(Lines {
            results: Mutex::default(),
            asides: Mutex::default(),
            room: Semaphore::new(1 << 20),
            gone: std::sync::atomic::AtomicBool::new(false),
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let (sink, ports, options) = (lines.clone(), self.clock.ports(), self.options);
        let pump = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            pump::run(options, ports, &*sink, stopped).await;
        });
        let port = self.server.url("").rsplit(':').next().unwrap().parse().unwrap();
        Stage {
            clock: self.clock,
            watched: self.watched,
            server: Some(self.server),
            lines,
            stop: Some(stop),
            pump,
            port,
        }
    }

    /// Starts the pump and lets it subscribe.
    pub(crate) async fn listening(self) -> Stage {
        let stage = self.start();
        stage.pass(1).await;
        assert_eq!(stage.watched.streams(), 1, "{:#?}", stage.asides());
        stage
    }
}

fn parsed(lines: &Mutex<Vec<String>>) -> Vec<Json> {
    let lines = lines.lock().unwrap();
    let parse = |line: &String| {
        let parsed: Json = serde_json::from_str(line).unwrap();
        let first: Vec<_> = parsed.as_object().unwrap().keys().take(2).cloned().collect();
        assert_eq!(first, ["ts", "event"], "a16: {line}");
        parsed
    };
    lines.iter().map(parse).collect()
}

impl Stage {
    pub(crate) async fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn pass_millis(&self, millis: u64) {
        self.clock.pass(Duration::from_millis(millis)).await;
    }

    /// The lines for the reader of results.
    pub(crate) fn results(&self) -> Vec<Json> {
        parsed(&self.lines.results)
    }

    /// The other lines.
    pub(crate) fn asides(&self) -> Vec<Json> {
        parsed(&self.lines.asides)
    }

    /// The events of the other lines, in order.
    pub(crate) fn happened(&self) -> Vec<String> {
        self.asides().iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
    }

    /// How often something happened.
    pub(crate) fn count(&self, event: &str) -> usize {
        self.happened().iter().filter(|happened| *happened == event).count()
    }

    /// The messages of a kind of line.
    pub(crate) fn messages(&self, event: &str) -> Vec<String> {
        let lines = self.asides();
        let lines = lines.iter().filter(|line| line["event"] == event);
        lines.map(|line| line["message"].as_str().unwrap().to_owned()).collect()
    }

    /// Why streams were closed.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let lines = self.asides();
        let closed = lines.iter().filter(|line| line["event"] == "stream_closed");
        closed.map(|line| line["reason"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.server.as_ref().unwrap().received()
    }

    /// What the server got with this JSON-RPC method, or this HTTP method.
    pub(crate) fn got(&self, method: &str) -> Vec<Received> {
        let all = self.received();
        all.into_iter().filter(|one| one.rpc() == method || (one.rpc().is_empty() && one.method == method)).collect()
    }

    /// All that the server got, in order: the JSON-RPC method, or the HTTP method where there is none.
    pub(crate) fn order(&self) -> Vec<String> {
        let name = |one: &Received| if one.rpc().is_empty() { one.method.clone() } else { one.rpc() };
        self.received().iter().map(name).collect()
    }

    /// The reader of results takes so many lines more, and then none.
    pub(crate) fn room(&self, lines: usize) {
        let all = self.lines.room.available_permits();
        self.lines.room.forget_permits(all);
        self.lines.room.add_permits(lines);
    }

    /// The reader of results goes away.
    pub(crate) fn leave(&self) {
        self.lines.gone.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    pub(crate) fn ended(&self) -> bool {
        self.pump.is_finished()
    }

    /// The server dies.
    pub(crate) fn kill(&mut self) {
        self.server = None;
    }

    /// It comes back, knowing no session.
    pub(crate) fn revive(&mut self) {
        self.watched.forget();
        self.server = Some(self.watched.serve(self.port, self.clock.clone()).unwrap());
    }
}

/// A board of texts: id, author, time.
pub(crate) fn board(texts: &[(&str, &str, &str)]) -> String {
    let texts: Vec<_> = texts
        .iter()
        .map(|(id, author, at)| serde_json::json!({"id": id, "author": author, "last_updated": at}))
        .collect();
    serde_json::json!({"texts": texts, "lines": [], "images": []}).to_string()
}
