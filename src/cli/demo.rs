//! `demo`: two systems on loopback, one movement between them, and the ledger as it happens.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use lf_module::{Clock, Credential, Secret};

use super::{
    exit::{Exit, Failure},
    ledger,
    output::Style,
    run,
    shell::{Opened, Shell},
    start,
};
use crate::{
    demo::{self, Systems},
    host::{
        Host, News, Options,
        news::{Reader, Told, What},
    },
    project::ProjectError,
};

/// Companies that appear in the CRM, in turn.
const NAMES: [&str; 8] = [
    "Juniper Bakery",
    "Harbour Books",
    "Alder Cycles",
    "Lantern Films",
    "Quarry Coffee",
    "Saltmarsh Tea",
    "Orchard Press",
    "Copper Kettle",
];

/// How long `--once` waits for the two systems to see everything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Watch a whole movement run: a CRM and an issue tracker (an MCP server) on this machine, a project that connects them,
/// and new companies every few seconds. Needs no network and leaves nothing behind.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  listen-fire demo\n  listen-fire demo --once        (the first company, then exit)\n  \
                        listen-fire demo --keep /tmp/triage   (the project stays, to look at)"
)]
pub(super) struct Arguments {
    /// Stop after the first company; exit 0 only if both systems saw all of it
    #[arg(long)]
    once: bool,
    /// Seconds between two companies
    #[arg(long, value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// Make the project in this folder, which must be new or empty, and keep it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let folder = Folder::make(arguments.keep.as_deref().map(|folder| shell.absolute(folder)))?;
    start::runtime(shell, "warn")?.block_on(work(arguments, &folder.path, shell))
}

async fn work(arguments: &Arguments, folder: &Path, shell: &Shell) -> Result<Exit, Failure> {
    let failed = |why: io::Error| Failure::new(Exit::Damaged, format!("the demo cannot start: {why}"));
    let systems = Systems::start().await.map_err(failed)?;
    demo::write_project(folder).map_err(failed)?;
    let opened = shell.open_at(folder).await?;
    credentials(&opened, &systems).await?;
    shell.output.summary(Style::Dim, &format!("a CRM (REST)               {}", systems.crm_url()));
    shell.output.summary(Style::Dim, &format!("an issue tracker (MCP)     {}", systems.tracker_url()));
    shell.output.summary(Style::Dim, &format!("a project that joins them  {}", folder.display()));
    let ready = match run::program(&opened, &[], shell).await? {
        Ok(ready) => ready,
        Err(exit) => return Ok(exit),
    };
    shell.output.summary(Style::Green, "check: no mistakes");
    let _lock = opened.lock_runner()?;
    let news = News::new();
    let (printed, watched) = (news.subscribe(), news.subscribe());
    let options = Options { owner: "demo".into(), drain: Duration::from_secs(5), ..Options::default() };
    let limits = &opened.project.file.limits;
    let parts = ready.parts(opened.connector.clone(), Arc::clone(&opened.store), limits, options, news);
    let host = Host::start(parts);
    let mut signals = start::Signals::new()?;
    let clock = Arc::clone(&opened.connector.clock);
    let driven = async {
        let seen = tokio::select! {
            seen = drive(arguments, &systems, watched, clock.as_ref()) => seen,
            () = signals.next() => None,
        };
        host.stop();
        seen
    };
    let (summary, seen) = tokio::join!(ledger::print(&shell.output, printed, host.wait()), driven);
    saw(&systems, shell);
    if let Some(why) = summary.fatal {
        return Err(Failure::new(Exit::Damaged, format!("the store failed: {why}")));
    }
    match seen {
        Some(false) => Err(Failure::new(Exit::NotSo, "the two systems did not see the issue and the second write")),
        Some(true) | None => Ok(Exit::Done),
    }
}

/// The systems' credentials, sealed in the project as `credential add` does it.
async fn credentials(opened: &Opened, systems: &Systems) -> Result<(), Failure> {
    let given = [
        ("#acme_crm", "acme", "api", vec![("url", systems.crm_url()), ("client", "listen-fire demo".to_owned())]),
        ("@lf/mcp", "linear", "mcp_token", vec![("url", systems.tracker_url()), ("token", demo::TOKEN.to_owned())]),
    ];
    for (module, name, kind, fields) in given {
        let fields = fields.into_iter().map(|(field, value)| (field.into(), Secret::new(value))).collect();
        let credential = Credential { name: name.into(), kind: kind.into(), fields };
        let sealed = opened.connector.credentials.seal(module, &credential)?;
        opened.store.put(&sealed).await?;
    }
    Ok(())
}

/// Adds companies once the movement listens. With `--once`: whether both systems saw what the movement does for the
/// first one. Without: never ends.
async fn drive(arguments: &Arguments, systems: &Systems, mut news: Reader, clock: &dyn Clock) -> Option<bool> {
    while let Some(told) = news.next().await {
        if matches!(told, Told::Item(item) if matches!(item.what, What::Baseline { .. })) {
            break;
        }
    }
    if arguments.once {
        let [first, ..] = NAMES;
        systems.crm.add(first);
        return Some(tokio::select! {
            seen = both_saw(systems, news) => seen,
            () = clock.sleep(PATIENCE) => false,
        });
    }
    for name in NAMES.iter().cycle() {
        systems.crm.add(name);
        clock.sleep(Duration::from_secs(arguments.every)).await;
    }
    None
}

/// Waits until a run has ended, the tracker has an issue and the CRM a second company.
async fn both_saw(systems: &Systems, mut news: Reader) -> bool {
    while let Some(told) = news.next().await {
        let ended = matches!(told, Told::Item(item) if matches!(item.what, What::Ended { .. }));
        if ended {
            return !systems.tracker.issues().is_empty() && systems.crm.companies().len() > 1;
        }
    }
    false
}

/// What the two systems hold now, from their own memory.
fn saw(systems: &Systems, shell: &Shell) {
    let issues = systems.tracker.issues();
    let companies = systems.crm.companies();
    let mut lines = vec![format!("the tracker was searched {} times and holds", systems.tracker.searches())];
    lines.extend(issues.iter().map(|issue| format!("  {}  {}", issue.id, issue.title)));
    lines.push("the CRM holds".to_owned());
    lines.extend(companies.iter().map(|company| format!("  {}  {}", company.id, company.name)));
    for line in lines {
        shell.output.summary(Style::Dim, &line);
    }
}

/// The demo's folder: a new one that goes when the demo ends, unless it was asked for.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn make(asked: Option<PathBuf>) -> Result<Self, Failure> {
        let keep = asked.is_some();
        let path = asked.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("listen-fire-demo-{}", uuid::Uuid::now_v7().simple()))
        });
        let cannot =
            |why: io::Error| Failure::from(ProjectError::Io { what: format!("cannot make `{}`", path.display()), why });
        fs::create_dir_all(&path).map_err(cannot)?;
        if fs::read_dir(&path).map_err(cannot)?.next().is_some() {
            let taken = format!("`{}` is not empty", path.display());
            return Err(Failure::usage(taken).help("give `--keep` a folder that is new or empty"));
        }
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // A folder that cannot be removed is left in the place for temporary ones.
            let _removed = fs::remove_dir_all(&self.path).is_ok();
        }
    }
}
