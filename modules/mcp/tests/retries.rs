//! The retry table, cell by cell: each fault at each request, judged by what the server received.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lf_harness::{Reply, Server, Step, World, faults::Fault, mcp::Offer, server::unused_port};
use lf_module::{Acted, CallError, Kind, call::Settings};

use crate::stage::{Stage, connect, credential, timeout, tools};

/// The four kinds of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize,
    List,
    Read,
    Write,
}

const REQUESTS: [Asked; 4] = [Asked::Initialize, Asked::List, Asked::Read, Asked::Write];

impl Asked {
    fn method(self, era: &str) -> &'static str {
        match self {
            Self::Initialize if era == "modern" => "server/discover",
            Self::Initialize => "initialize",
            Self::List => "tools/list",
            Self::Read | Self::Write => "tools/call",
        }
    }

    /// Brings the request about.
    async fn run(self, stage: &Stage) -> Result<(), CallError> {
        match self {
            Self::Initialize | Self::List => stage.describe().await.map(|_| ()),
            Self::Read => stage.search().await.map(|_| ()),
            Self::Write => stage.create().await.map(|_| ()),
        }
    }
}

/// What the table says of one cell.
#[derive(Debug, Clone, Copy)]
enum Cell {
    /// Sent again, after draws below 0.5, 1 and 2 seconds.
    Drawn,
    /// Sent again, after exactly so many seconds.
    Asked(u64),
    /// Never sent again; what was asked for was certainly not done.
    Once,
    /// Never sent again; what was asked for may have been done.
    Unknown,
}

/// fault, safe requests, writes
const TABLE: [(Fault, Cell, Cell); 20] = [
    (Fault::Status(429), Cell::Drawn, Cell::Drawn),
    (Fault::AskedSeconds(429, 3), Cell::Asked(3), Cell::Asked(3)),
    (Fault::AskedDate(429, 4), Cell::Asked(4), Cell::Asked(4)),
    (Fault::AskedRubbish(429), Cell::Drawn, Cell::Drawn),
    (Fault::Status(500), Cell::Drawn, Cell::Unknown),
    (Fault::Status(501), Cell::Once, Cell::Once),
    (Fault::Status(502), Cell::Drawn, Cell::Unknown),
    (Fault::Status(503), Cell::Drawn, Cell::Unknown),
    (Fault::AskedSeconds(503, 3), Cell::Asked(3), Cell::Asked(3)),
    (Fault::AskedDate(503, 4), Cell::Asked(4), Cell::Asked(4)),
    (Fault::AskedRubbish(503), Cell::Drawn, Cell::Unknown),
    (Fault::Status(504), Cell::Drawn, Cell::Unknown),
    (Fault::ResetBeforeHead, Cell::Drawn, Cell::Unknown),
    (Fault::ClosedBeforeHead, Cell::Drawn, Cell::Unknown),
    (Fault::ResetMidBody, Cell::Drawn, Cell::Unknown),
    (Fault::CutBody, Cell::Drawn, Cell::Unknown),
    (Fault::Silence, Cell::Drawn, Cell::Unknown),
    (Fault::Status(400), Cell::Once, Cell::Once),
    (Fault::Status(401), Cell::Once, Cell::Once),
    (Fault::Status(403), Cell::Once, Cell::Once),
];

const ERAS: [&str; 2] = ["legacy", "modern"];

fn offer(era: &str) -> Offer {
    if era == "modern" { Offer::modern(tools()) } else { Offer::of(tools()) }
}

/// A server of a generation that does `fault` to the first `times` requests of the kind, and everything else right.
fn stage(era: &'static str, fault: Fault, asked: Asked, times: usize) -> Stage {
    let offer = offer(era);
    let met = AtomicUsize::new(0);
    // A server that is only slow must not look silent.
    let mut settings = if fault == Fault::Silence { timeout(300) } else { Settings::new() };
    settings.extend(crate::stage::era(era));
    Stage::with(settings, move |received| {
        if received.rpc() == asked.method(era) && met.fetch_add(1, Ordering::SeqCst) < times {
            return fault.reply(offer.body(received).as_bytes());
        }
        offer.reply(received)
    })
}

fn drawn(count: usize) -> Vec<Duration> {
    [450, 900, 1800].into_iter().take(count).map(Duration::from_millis).collect()
}

fn gaps(stage: &Stage, method: &str) -> Vec<Duration> {
    stage.received(method).windows(2).map(|pair| pair[1].at - pair[0].at).collect()
}

async fn judge(era: &'static str, fault: Fault, asked: Asked, cell: Cell) {
    let label = format!("{fault:?} × {asked:?}, {era}");
    let lasting = stage(era, fault, asked, usize::MAX);
    let error = asked.run(&lasting).await.unwrap_err();
    let seen = lasting.received(asked.method(era)).len();
    let waits = match cell {
        Cell::Drawn => drawn(3),
        Cell::Asked(seconds) => vec![Duration::from_secs(seconds); 3],
        Cell::Once | Cell::Unknown => Vec::new(),
    };
    assert_eq!(seen, waits.len() + 1, "{label}: {error}");
    assert_eq!(lasting.world.sleeps(), waits, "{label}");
    for (gap, wait) in gaps(&lasting, asked.method(era)).into_iter().zip(&waits) {
        assert!(gap >= *wait, "{label}: {gap:?} after a wait of {wait:?}");
    }
    let ids: Vec<_> = lasting.received(asked.method(era)).iter().map(|one| one.rpc_id().to_string()).collect();
    assert!((1..ids.len()).all(|at| !ids[..at].contains(&ids[at])), "{label}: an id was used twice: {ids:?}");
    let acted = if matches!(cell, Cell::Unknown) { Acted::Maybe } else { Acted::No };
    assert_eq!(error.acted, acted, "{label}");
    assert_eq!(error.attempts as usize, seen, "{label}");
    assert_eq!(error.waited, waits.iter().sum::<Duration>(), "{label}");
    if let Cell::Asked(seconds) = cell {
        let reports: Vec<_> = lasting.world.reports().into_iter().map(|(length, _)| length).collect();
        assert_eq!(reports, vec![Duration::from_secs(seconds); 4], "{label}: each is told to every instance");
    } else {
        assert!(lasting.world.reports().is_empty(), "{label}");
    }
    if let Fault::Status(status) | Fault::AskedSeconds(status, _) = fault {
        assert!(error.message.contains(&status.to_string()), "{label}: {error}");
        assert_eq!(error.status, Some(i64::from(status)), "{label}");
    }
    if matches!(cell, Cell::Drawn | Cell::Asked(_)) {
        assert!(error.message.contains("4 attempts") && error.message.contains("waited"), "{label}: {error}");
        let passing = stage(era, fault, asked, 1);
        asked.run(&passing).await.unwrap_or_else(|error| unreachable(&label, &error));
        assert_eq!(passing.received(asked.method(era)).len(), 2, "{label}: it passes");
    }
}

#[expect(clippy::panic, reason = "the only thing left to do in a test")]
fn unreachable(label: &str, error: &CallError) {
    panic!("{label}: {error}");
}

#[tokio::test]
async fn a_fault_at_initialize() {
    for (fault, safe, _) in TABLE {
        for era in ERAS {
            judge(era, fault, Asked::Initialize, safe).await;
        }
    }
}

#[tokio::test]
async fn a_fault_at_the_list() {
    for (fault, safe, _) in TABLE {
        for era in ERAS {
            judge(era, fault, Asked::List, safe).await;
        }
    }
}

#[tokio::test]
async fn a_fault_at_a_read() {
    for (fault, safe, _) in TABLE {
        for era in ERAS {
            judge(era, fault, Asked::Read, safe).await;
        }
    }
}

#[tokio::test]
async fn a_fault_at_a_write() {
    for (fault, _, write) in TABLE {
        for era in ERAS {
            judge(era, fault, Asked::Write, write).await;
        }
    }
}

#[tokio::test]
async fn refused_is_sent_again_and_arrives_when_the_server_is_back() {
    for (era, asked) in ERAS.into_iter().flat_map(|era| REQUESTS.map(|asked| (era, asked))) {
        let port = unused_port().unwrap();
        let world = World::new(0.9);
        let offer = offer(era);
        let start = {
            let world = world.clone();
            move || {
                let offer = offer.clone();
                Server::on_port(port, world.clone(), move |received| offer.reply(received)).unwrap()
            }
        };
        let url = format!("http://127.0.0.1:{port}/mcp");
        let settings = crate::stage::era(era);
        let connection = connect(world.ports(), credential(&[("url", &url), ("token", "t")]), settings).unwrap();
        let mut stage = Stage { world: world.clone(), server: None, connection };
        if asked != Asked::Initialize {
            let before = start();
            stage.describe().await.unwrap();
            drop(before);
            tokio::task::yield_now().await;
        }
        let error = asked.run(&stage).await.unwrap_err();
        assert_eq!((error.kind, error.acted, error.attempts), (Kind::Passing, Acted::No, 4), "{asked:?}: {error}");
        assert_eq!(world.sleeps(), drawn(3), "{asked:?}");

        let back = Arc::new(Mutex::new(None));
        let slot = back.clone();
        world.during_sleeps(move |number| {
            if number == 5 {
                *slot.lock().unwrap() = Some(start());
            }
        });
        asked.run(&stage).await.unwrap();
        stage.server = back.lock().unwrap().take();
        assert_eq!(stage.received(asked.method(era)).len(), 1, "{asked:?} arrives once");
    }
}

#[tokio::test]
async fn a_name_that_is_not_found_is_tried_four_times() {
    for asked in REQUESTS {
        let world = World::new(0.9);
        let fields = [("url", "http://no-such-host.invalid/mcp"), ("token", "t")];
        let connection = connect(world.ports(), credential(&fields), Settings::new()).unwrap();
        let stage = Stage { world: world.clone(), server: None, connection };
        let error = asked.run(&stage).await.unwrap_err();
        assert_eq!((error.kind, error.acted, error.attempts), (Kind::Passing, Acted::No, 4), "{asked:?}: {error}");
        assert!(error.message.contains("name was not found"), "{error}");
        assert_eq!(world.sleeps(), drawn(3), "{asked:?}");
    }
}

#[tokio::test]
async fn ten_minutes_are_not_waited() {
    for (era, asked) in ERAS.into_iter().flat_map(|era| REQUESTS.map(|asked| (era, asked))) {
        let stage = stage(era, Fault::AskedSeconds(429, 600), asked, usize::MAX);
        let error = asked.run(&stage).await.unwrap_err();
        assert_eq!(stage.received(asked.method(era)).len(), 1, "{asked:?}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(600)));
        assert!(error.message.contains("600 s"), "{error}");
        assert!(stage.world.sleeps().is_empty());
        assert_eq!(stage.world.reports().len(), 1, "the other instances hear of it");
    }
}

#[tokio::test]
async fn twenty_seconds_are_waited_in_all() {
    for (era, asked) in ERAS.into_iter().flat_map(|era| REQUESTS.map(|asked| (era, asked))) {
        let stage = stage(era, Fault::AskedSeconds(503, 8), asked, usize::MAX);
        let error = asked.run(&stage).await.unwrap_err();
        assert_eq!(stage.received(asked.method(era)).len(), 3, "{asked:?}: eight and eight, and no more");
        assert_eq!(error.waited, Duration::from_secs(16));
    }
}

#[tokio::test]
async fn an_answer_that_trickles_ends_at_the_deadline() {
    let offer = Offer::of(tools());
    let stage = Stage::new(move |received| match received.rpc().as_str() {
        "tools/call" => Fault::Trickle.reply(offer.body(received).as_bytes()),
        _ => offer.reply(received),
    });
    stage.describe().await.unwrap();
    let call = stage.call_within(Duration::from_millis(600));
    let fields = crate::stage::record(&[("title", "t".into()), ("team", "ENG".into())]);
    let write = lf_module::Write::Create { ty: "create_issue".into(), origin: lf_module::call::Origin::Root, fields };
    let error = stage.connection.write(&write, &call).await.unwrap_err();
    assert_eq!(error.acted, Acted::Maybe, "{error}");
    assert_eq!(stage.received("tools/call").len(), 1);
}

/// Writes down what is logged.
#[derive(Default, Clone)]
struct Log(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _span: &tracing::span::Id, _values: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _span: &tracing::span::Id, _follows: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut message = String::new();
        event.record(&mut |_: &tracing::field::Field, value: &dyn std::fmt::Debug| message = format!("{value:?}"));
        self.0.lock().unwrap().push(message);
    }
    fn enter(&self, _span: &tracing::span::Id) {}
    fn exit(&self, _span: &tracing::span::Id) {}
}

#[tokio::test]
async fn each_retry_is_logged() {
    let log = Log::default();
    let stage = stage("legacy", Fault::Status(503), Asked::List, 2);
    let guard = tracing::subscriber::set_default(log.clone());
    stage.describe().await.unwrap();
    drop(guard);
    let said: Vec<_> = log.0.lock().unwrap().iter().filter(|line| line.contains("retrying")).cloned().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("@lf/mcp: retrying `tools/list` in 0.5 s (attempt 2 of 4)"), "{said:?}");
    assert!(said[0].contains("503"), "{said:?}");
}

#[tokio::test]
async fn a_server_that_closes_idle_connections_never_costs_a_write_its_outcome() {
    let offer = Offer::of(tools());
    let stage = Stage::new(move |received| {
        // Keep-alive is promised, and then the connection is closed all the same.
        let body = offer.body(received);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: keep-alive\r\n";
        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        Reply::steps(vec![Step::Send(answer.into_bytes()), Step::Close])
    });
    for _ in 0..50 {
        stage.search().await.unwrap();
        stage.create().await.unwrap();
    }
    assert_eq!(stage.received("tools/call").len(), 100);
}
