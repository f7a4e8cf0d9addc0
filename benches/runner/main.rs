//! What the shipped program does end to end: `listen-fire run` as a process of its own, on the triage project, against
//! the demo's two systems on loopback. By hand: `cargo bench -p listen-fire --bench runner [-- PART …]` with the parts
//! `start`, `idle`, `throughput`, `latency`, `first`.
//!
//! The systems run in this process and share the machine with the runner, so each part also says how much processor
//! time the runner itself took, and `throughput` what a plain HTTP client reaches with the same exchanges in the same
//! run.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark ends where it fails, and prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

mod bare;
mod ledger;
mod process;
mod project;

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use listen_fire::demo::Systems;

use self::{ledger::percentile, process::Runner, project::Project};

/// Companies that appear at once.
const AT_ONCE: usize = 2000;
/// Companies a second, and for how long, for the latencies.
const RATE: (u32, u32) = (40, 15);
/// Companies that are there at the first start.
const THERE: usize = 10_000;
/// How long an idle runner is left alone before it is measured.
const IDLE: Duration = Duration::from_secs(8);
/// Starts that are measured.
const STARTS: usize = 15;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|name| name == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if wanted("start") {
            start().await;
        }
        if wanted("idle") {
            idle(1).await;
            idle(100).await;
        }
        if wanted("throughput") {
            throughput().await;
        }
        if wanted("latency") {
            latency().await;
        }
        if wanted("first") {
            first().await;
        }
    });
}

/// From the process's start to the end of `--version`, and to the first request at the CRM.
async fn start() {
    let mut versions = Vec::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_listen-fire"));
        assert!(command.arg("--version").stdout(Stdio::null()).status().unwrap().success());
        versions.push(start.elapsed());
    }
    let mut firsts = Vec::new();
    let mut later = Vec::new();
    for _ in 0..STARTS {
        let project = Project::triage("");
        for times in [&mut firsts, &mut later] {
            let systems = Systems::start().await.unwrap();
            let (address, mut seen) = project::watched(systems.crm.router()).await;
            let start = Instant::now();
            let runner = Runner::start(&project, &format!("http://{address}/api"), &systems.tracker_url());
            times.push(seen.recv().await.unwrap() - start);
            runner.stop();
        }
    }
    println!("start ({STARTS} times, median / most)");
    for (what, times) in
        [("--version", versions), ("first request, new store", firsts), ("first request, store there", later)]
    {
        println!("    {what:<28} {:>9.1?} / {:.1?}", percentile(&times, 50), percentile(&times, 100));
    }
}

/// Memory of a runner whose systems have nothing new.
async fn idle(movements: usize) {
    let systems = Systems::start().await.unwrap();
    let project = Project::movements(movements);
    let runner = Runner::start(&project, &systems.crm_url(), &systems.tracker_url());
    project.baseline(movements).await;
    tokio::time::sleep(IDLE).await;
    let (memory, cpu) = (runner.memory(), runner.cpu());
    tokio::time::sleep(IDLE).await;
    let cpu = (runner.cpu() - cpu) / IDLE.as_secs_f64();
    println!("idle, {movements} movements, each polled every second");
    println!("    {memory}, {:.1} % of one processor", cpu * 100.0);
    runner.stop();
}

/// Runs a second, from the first change taken in to the last run done.
async fn throughput() {
    let systems = Systems::start().await.unwrap();
    let project = Project::triage("");
    let runner = Runner::start(&project, &systems.crm_url(), &systems.tracker_url());
    project.baseline(1).await;
    let (cpu, own) = (runner.cpu(), process::own_cpu());
    for number in 0..AT_ONCE {
        systems.crm.add(&project::company(number));
    }
    let runs = project.done(AT_ONCE).await;
    let (cpu, own) = (runner.cpu() - cpu, process::own_cpu() - own);
    let wall = ledger::span(&runs);
    println!("throughput, {AT_ONCE} companies at once, durable, defaults");
    let per = |seconds: f64| seconds * 1e6 / AT_ONCE as f64;
    let reached = AT_ONCE as f64 / wall;
    println!(
        "    {reached:.0} runs/s; {:.0} µs of processor a run in the runner, {:.0} µs in the systems and here; {}",
        per(cpu),
        per(own),
        runner.memory()
    );
    runner.stop();
    let bare = bare::exchanges(AT_ONCE).await;
    println!(
        "    the same exchanges by a plain client: {:.0}/s, {:.0} µs of processor each (both sides): {:.2} of it",
        bare.rate,
        bare.cpu * 1e6,
        reached / bare.rate
    );
}

/// From a change seen (before it is stored) to its write sent, at a rate that leaves the machine mostly idle.
async fn latency() {
    let systems = Systems::start().await.unwrap();
    let project = Project::triage("");
    let runner = Runner::telling(&project, &systems.crm_url(), &systems.tracker_url());
    project.baseline(1).await;
    let changes = (RATE.0 * RATE.1) as usize;
    let mut beat = tokio::time::interval(Duration::from_secs(1) / RATE.0);
    for number in 0..changes {
        beat.tick().await;
        systems.crm.add(&project::company(number));
    }
    let runs = project.done(changes).await;
    let told = runner.stop_and_read();
    let times = ledger::seen_to_sent(&runs, &told);
    println!("latency, {} companies a second, seen once a second, so about {} at a time", RATE.0, RATE.0);
    println!(
        "    change seen to first write sent: p50 {:.1?}, p99 {:.1?} ({} runs)",
        percentile(&times, 50),
        percentile(&times, 99),
        times.len()
    );
}

/// The most memory while everything that is there at the first start fires.
async fn first() {
    let systems = Systems::start().await.unwrap();
    for number in 0..THERE {
        systems.crm.add(&project::company(number));
    }
    let project = Project::triage(r#" { start: "all" }"#);
    let start = Instant::now();
    let runner = Runner::start(&project, &systems.crm_url(), &systems.tracker_url());
    let runs = project.done(THERE).await;
    println!("first start with start: \"all\", {THERE} companies");
    println!(
        "    {:.1} s, {:.1} s of processor in the runner, {} runs done; {}",
        start.elapsed().as_secs_f64(),
        runner.cpu(),
        runs.len(),
        runner.memory()
    );
    runner.stop();
}
