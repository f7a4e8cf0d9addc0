//! How many durable changes a second the SQLite store takes from the source to the end of their run, with many
//! callers at once. By hand: `cargo bench -p listen-fire --bench store`; a quiet machine, a real disk.
//!
//! For each change: take it in, claim it, append its start and a write's intent, release it with the write's outcome.
//! Each step waits until it is durable, as a runner does. Beside it, in the same run, a bare program ([`bare`]).
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark ends where it fails, and prints")]

mod bare;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use lf_lang::{
    plan::{
        PlanId,
        ir::{FunctionIndex, PlaceId},
    },
    run::{
        Address, Entry, Finish, Fired, Request, Settlement,
        entry::{Intent, Sending},
    },
    types::ConnectionId,
};
use lf_module::{Key, Record, Value, call::ChangeKind};
use listen_fire::store::{
    Claimed, Inbox as _, NewRun, Release, Room, Runs as _, State, TakeIn,
    sqlite::{Durability, SqliteStore},
};
use tokio::sync::Semaphore;

/// One load.
struct Load {
    name: &'static str,
    durability: Durability,
    /// Runs under way at once.
    concurrency: usize,
    /// Changes in one batch of a source.
    batch: usize,
    /// Sources that hand over at once.
    sources: usize,
    changes: usize,
}

const LOADS: &[Load] = &[
    Load {
        name: "one change after the other",
        durability: Durability::Full,
        concurrency: 1,
        batch: 1,
        sources: 1,
        changes: 500,
    },
    Load {
        name: "64 runs, 16 hooks",
        durability: Durability::Full,
        concurrency: 64,
        batch: 1,
        sources: 16,
        changes: 10_000,
    },
    Load {
        name: "512 runs, 256 hooks",
        durability: Durability::Full,
        concurrency: 512,
        batch: 1,
        sources: 256,
        changes: 40_000,
    },
    Load {
        name: "512 runs, polled by 500",
        durability: Durability::Full,
        concurrency: 512,
        batch: 500,
        sources: 2,
        changes: 40_000,
    },
    Load {
        name: "512 runs, 256 hooks, normal",
        durability: Durability::Normal,
        concurrency: 512,
        batch: 1,
        sources: 256,
        changes: 40_000,
    },
];

/// What the bare program keeps of a change: about as long as a change's record here.
const BODY: &str = r#"{"Name":"Company 7","Domain":"company-7.example","Stage":"qualified","Employees":7,"Notes":"Met at the fair; wants to see the whole flow before the end of the quarter."}"#;

#[derive(Default)]
struct Times {
    take_in: Mutex<Vec<Duration>>,
    claim: Mutex<Vec<Duration>>,
    append: Mutex<Vec<Duration>>,
    release: Mutex<Vec<Duration>>,
}

async fn timed<T>(times: &Mutex<Vec<Duration>>, work: impl Future<Output = T>) -> T {
    let start = Instant::now();
    let answer = work.await;
    times.lock().unwrap().push(start.elapsed());
    answer
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for load in LOADS {
        runtime.block_on(measure(load));
    }
}

async fn measure(load: &Load) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("state.db"), load.durability).await.unwrap());
    let times = Arc::new(Times::default());
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let per_source = load.changes / load.sources;
    let sources: Vec<_> = (0..load.sources)
        .map(|source| tokio::spawn(hand_over(store.clone(), times.clone(), source, per_source, load.batch)))
        .collect();
    run_all(&store, &times, load.concurrency, per_source * load.sources).await;
    for source in sources {
        source.await.unwrap();
    }
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let changes = (per_source * load.sources) as f64;
    let full = load.durability == Durability::Full;
    let (bare, bare_cpu) = bare::measure(full, load.concurrency, load.changes, BODY).await;
    println!(
        "{:<28} {:>7.0} changes/s, {:.1} µs of processor each   bare {bare:>7.0}, {:.1} µs   {:.2} of it; processor {:.1} times",
        load.name,
        changes / wall,
        cpu * 1e6 / changes,
        bare_cpu * 1e6,
        changes / wall / bare,
        cpu / changes / bare_cpu,
    );
    for (name, times) in
        [("take in", &times.take_in), ("claim", &times.claim), ("append", &times.append), ("release", &times.release)]
    {
        let mut times = times.lock().unwrap().clone();
        times.sort_unstable();
        let at = |hundredths: usize| times.get(times.len() * hundredths / 100).copied().unwrap_or_default();
        println!("    {name:<10} p50 {:>9.2?}   p99 {:>9.2?}   ({} times)", at(50), at(99), times.len());
    }
}

async fn hand_over(store: Arc<SqliteStore>, times: Arc<Times>, source: usize, changes: usize, batch: usize) {
    let mut handed = 0;
    while handed < changes {
        let runs = (0..batch.min(changes - handed)).map(|n| change(source, handed + n)).collect();
        let batch = TakeIn { runs, ..TakeIn::default() };
        handed += timed(&times.take_in, store.take_in("listen", batch, Timestamp::now())).await.unwrap().len();
    }
}

async fn run_all(store: &Arc<SqliteStore>, times: &Arc<Times>, concurrency: usize, changes: usize) {
    let free = Arc::new(Semaphore::new(concurrency));
    let mut begun = 0;
    while begun < changes {
        let first = free.clone().acquire_owned().await.unwrap();
        drop(first);
        let places = u32::try_from(free.available_permits()).unwrap();
        let room = Room { listens: [("listen".into(), places)].into(), total: places };
        let claim = store.claim("bench", &room, Timestamp::now(), Duration::from_secs(60));
        for claim in timed(&times.claim, claim).await.unwrap() {
            begun += 1;
            let (store, times, place) = (store.clone(), times.clone(), free.clone().acquire_owned().await.unwrap());
            tokio::spawn(async move {
                run(&store, &times, claim).await;
                drop(place);
            });
        }
    }
    drop(free.acquire_many(u32::try_from(concurrency).unwrap()).await.unwrap());
}

async fn run(store: &SqliteStore, times: &Times, claim: Claimed) {
    let (id, fence, now) = (claim.run.id, claim.fence, Timestamp::now());
    let fired = Fired { function: FunctionIndex(0), args: vec![Value::record(claim.run.record)], now };
    let begin = vec![Entry::Started { plan: PlanId("0123456789abcdef".repeat(4).into()), fired }, intent(now)];
    timed(&times.append, store.append(id, fence, begin, Vec::new())).await.unwrap();
    let handle = Value::record(company(7));
    let settlement = Settlement::Written { handle, created: true, unchanged: false };
    let finished = vec![
        Entry::Settled { address: Address("3/acme/0".into()), place: PlaceId(1), settlement, at: now },
        Entry::Finished { finish: Finish::Done(Value::Absent), at: now },
    ];
    let end = Release::End { state: State::Done, reason: None, entries: finished };
    timed(&times.release, store.release(id, fence, end, now)).await.unwrap();
}

fn company(number: usize) -> Record {
    [
        ("Name", Value::text(format!("Company {number}"))),
        ("Domain", Value::text(format!("company-{number}.example"))),
        ("Stage", Value::text("qualified")),
        ("Employees", Value::from(number as i64)),
        ("Notes", Value::text("Met at the fair; wants to see the whole flow before the end of the quarter.")),
    ]
    .into_iter()
    .collect()
}

fn change(source: usize, number: usize) -> NewRun {
    NewRun {
        listen: "listen".into(),
        key: Key(format!("{source}-{number}").into()),
        delivery: format!("delivery-{source}-{number}").into(),
        kind: ChangeKind::Created,
        record: company(number),
        before: None,
        fields: None,
        debounce: None,
        at: Timestamp::now(),
        by: None,
        depth: 0,
        cause: None,
        state: State::Ready,
        reason: None,
    }
}

fn intent(now: Timestamp) -> Entry {
    Entry::Intent(Box::new(Intent {
        address: Address("3/acme/0".into()),
        place: PlaceId(1),
        connection: ConnectionId(0),
        request: Request::Delete { ty: "create_issue".into(), key: Key("1".into()) },
        sending: Sending::Create {
            origin: lf_module::call::Origin::Root,
            fields: company(1),
            idempotency: "0123456789abcdef0123456789abcdef".into(),
        },
        at: now,
        until: now,
    }))
}

/// What this process used of the processors so far; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    ticks / 100.0
}
