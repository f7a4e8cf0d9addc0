//! The pump: the listen half of an MCP connection used alone. One line of JSON for each update of a watched
//! resource; everything else that happens goes aside.
//!
//! It decides what is told to whom: [`trigger`] (who touched it last), [`echo`] (whose updates are not told),
//! [`line`]. How the server is listened to is [`crate::subscription`]'s. It prints nothing itself.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use lf_module::{Clock, Ports, json};
use smol_str::SmolStr;
use tokio::sync::mpsc;

mod echo;
mod line;
mod target;
mod trigger;

pub use echo::Rules;
pub use target::Target;

pub use crate::era::Era;
use crate::{
    attempt::Wire,
    subscription::{self, Reason, Report, Seen, Subscription, Why, link::FAR, seen::hash},
};
use echo::Snapshot;
use line::Line;
use trigger::Shape;

/// How many reports wait for a consumer that waits itself.
const REPORTS: usize = 1024;

/// What a person asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server.
    pub target: Target,
    /// What is watched, in order, each once.
    pub uris: Vec<SmolStr>,
    /// Whose updates are not told.
    pub rules: Rules,
    /// A change in a gap is told.
    pub resync: bool,
    /// Updates of what lies below a watched resource count too.
    pub parts: bool,
    /// Everything goes to the reader of results.
    pub verbose: bool,
    /// How long the server may be lost before the reader of results is told.
    pub alert_after: Option<Duration>,
    /// The generation of the protocol, if it is not to be asked for.
    pub era: Option<Era>,
}

/// The reader of results is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// Where lines go. A line comes without its end.
#[async_trait]
pub trait Sink: Send + Sync + fmt::Debug {
    /// A line for the reader of results; waits until it is taken.
    ///
    /// # Errors
    /// Nobody will ever take it.
    async fn result(&self, line: String) -> Result<(), Gone>;
    /// A line for whoever looks after it. Never waits: what is not taken is lost.
    fn aside(&self, line: String);
}

/// Listens until `stop`, or until the reader of results is gone; then says good-bye to the server.
pub async fn run(options: Options, ports: Ports, sink: &dyn Sink, stop: impl Future<Output = ()>) {
    let (reports, mut from_reports) = mpsc::channel(REPORTS);
    // One at a time: what is pushed meanwhile is counted where it comes in.
    let (changes, mut from_changes) = mpsc::channel(1);
    let blocked = Arc::new(AtomicBool::new(false));
    let clock = ports.clock.clone();
    let listening = subscription::Options {
        looks: options.resync || options.rules.strict,
        first: false,
        parts: options.parts,
        era: options.era,
    };
    let transport =
        lf_transport::Options { http1: true, plain: options.target.plain(), ..lf_transport::Options::default() };
    let http = lf_transport::Client::new(transport, clock.clone());
    let endpoint = options.target.clone().endpoint();
    let wire = Wire { http, endpoint, ports, patience: FAR, hears: None, answers: None };
    let subscription = Subscription::new(wire, &options.uris, listening, reports, changes, blocked.clone(), None);
    let mut pump = Pump::new(&options, &*clock, sink, blocked);
    tokio::select! {
        biased;
        () = stop => {}
        () = Box::pin(subscription.run()) => {}
        Gone = pump.run(&mut from_reports, &mut from_changes) => {}
    }
    subscription.leave().await;
}

/// What is remembered of a resource.
#[derive(Debug, Default)]
struct Memory {
    hash: u64,
    board: Option<Snapshot>,
    /// It was told, or found to be an echo. A first look is neither: what it saw may yet be pushed.
    judged: bool,
}

/// What is made of what happens.
struct Pump<'a> {
    options: &'a Options,
    clock: &'a dyn Clock,
    sink: &'a dyn Sink,
    blocked: Arc<AtomicBool>,
    /// For strict echoes.
    memories: BTreeMap<SmolStr, Memory>,
    /// When the stream was opened that is open.
    open: Option<Duration>,
    /// Since when none was of use that was closed, and whether that was told.
    deaf: (Duration, bool),
}

impl<'a> Pump<'a> {
    fn new(options: &'a Options, clock: &'a dyn Clock, sink: &'a dyn Sink, blocked: Arc<AtomicBool>) -> Self {
        let deaf = (clock.monotonic(), false);
        Self { options, clock, sink, blocked, memories: BTreeMap::new(), open: None, deaf }
    }

    async fn run(&mut self, reports: &mut mpsc::Receiver<Report>, changes: &mut mpsc::Receiver<Seen>) -> Gone {
        loop {
            let (since, told) = self.deaf;
            let after = self.options.alert_after.filter(|_| self.open.is_none() && !told);
            let left = after.map(|after| (since + after).saturating_sub(self.clock.monotonic()));
            let told = tokio::select! {
                biased;
                Some(report) = reports.recv() => self.report(report).await,
                Some(seen) = changes.recv() => self.seen(seen).await,
                () = self.clock.sleep(left.unwrap_or_default()), if left.is_some() => self.alert().await,
            };
            if told.is_err() {
                return Gone;
            }
        }
    }

    fn line(&self, event: &str) -> Line {
        Line::new(self.clock.now(), event)
    }

    async fn result(&self, line: String) -> Result<(), Gone> {
        self.blocked.store(true, Ordering::Relaxed);
        let taken = self.sink.result(line).await;
        self.blocked.store(false, Ordering::Relaxed);
        taken
    }

    async fn aside(&self, line: Line) -> Result<(), Gone> {
        if self.options.verbose {
            return self.result(line.end()).await;
        }
        self.sink.aside(line.end());
        Ok(())
    }

    async fn report(&mut self, report: Report) -> Result<(), Gone> {
        let rules = &self.options.rules;
        let line = match report {
            Report::Connected => self
                .line("connected")
                .text("mcpUrl", &self.options.target.shown())
                .texts("ignoreAuthors", &rules.authors)
                .texts("ignorePrefixes", &rules.prefixes),
            Report::Opened { reopened } => {
                self.open = Some(self.clock.monotonic());
                self.line("stream_open").json("reopened", if reopened { "true" } else { "false" })
            }
            Report::Subscribed(uri) => self.line("subscribed").text("uri", &uri),
            Report::Closed { reason, held } => {
                // One that is opened again and again, and closed at once, is none.
                let now = self.clock.monotonic();
                let age = now.saturating_sub(self.open.take().unwrap_or(now));
                if held || self.options.alert_after.is_some_and(|after| age >= after) {
                    self.deaf = (now, false);
                }
                self.line("stream_closed").text("reason", Reason::name(reason))
            }
            Report::Still => self.line("still_watching"),
            Report::Error(message) => self.line("error").text("message", &message),
        };
        self.aside(line).await
    }

    /// There was no stream for too long: who waits for updates cannot know that none can come.
    async fn alert(&mut self) -> Result<(), Gone> {
        self.deaf.1 = true;
        let seconds = self.options.alert_after.unwrap_or_default().as_secs().to_string();
        self.result(self.line("listener_down").json("seconds", &seconds).end()).await
    }

    async fn seen(&mut self, seen: Seen) -> Result<(), Gone> {
        if seen.why == Why::Same {
            return Ok(());
        }
        let (told, fault) = self.judge(&seen);
        if let Some(fault) = fault {
            self.aside(self.line("filter_error").text("uri", &seen.uri).text("message", &fault)).await?;
        }
        let Some(trigger) = told else { return Ok(()) };
        if seen.why == Why::Gap && !self.options.resync {
            return Ok(());
        }
        let (count, resync) = match seen.why {
            Why::Pushed { count, gap: _ } => (count, false),
            Why::Gap => (1, true),
            Why::First | Why::Same => return Ok(()),
        };
        for _ in 0..count {
            let line = self.line("resource_updated").text("uri", &seen.uri).json("trigger", &trigger);
            let line = if resync { line.json("resync", "true") } else { line };
            self.result(line.end()).await?;
        }
        Ok(())
    }

    /// What triggered an update, as JSON text, unless it is not to be told; and why that could not be judged.
    fn judge(&mut self, seen: &Seen) -> (Option<String>, Option<String>) {
        let rules = &self.options.rules;
        let null = || Some("null".to_owned());
        // A first look is for comparing later, whoever did what is there.
        let first = seen.why == Why::First;
        let fault = |why: &str| Some(why.to_owned()).filter(|_| rules.active() && !first);
        let contents = match &seen.contents {
            Ok(contents) => contents,
            Err(trouble) => return (null(), fault(&trouble.message)),
        };
        let shape = Shape::of(contents);
        let items = match shape {
            Shape::Board(items) => items,
            Shape::Foreign => return (null(), None),
            Shape::Broken(why) => return (null(), fault(&why)),
        };
        let mut before = None;
        let mut same = false;
        // Parts of a resource are without number, so none is remembered, and each is told.
        if rules.strict && rules.active() && self.options.uris.contains(&seen.uri) {
            let now = hash(json::plain(contents).as_bytes());
            let memory = Memory { hash: now, board: Some(Snapshot::of(&items)), judged: !first };
            if let Some(old) = self.memories.insert(seen.uri.clone(), memory) {
                same = old.judged && old.hash == now;
                before = old.board;
            }
        }
        let told_anyway = matches!(seen.why, Why::Pushed { count: _, gap: true });
        if !told_anyway && echo::echo(rules, &items, before.as_ref(), same) {
            return (None, None);
        }
        (trigger::latest(&items).map(trigger::Item::trigger).or_else(null), None)
    }
}
