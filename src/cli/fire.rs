//! `fire FUNCTION --record …`: one function, by hand, through the same path as a real change.

use std::time::Duration;

use clap::Args;

use super::{
    exit::{Exit, Failure},
    ledger, run,
    shell::{Opened, Shell},
    start,
};
use crate::{
    host::{Host, News, Options, load::ByHand},
    project::files,
    store::{RunId, State, TakeIn},
};

/// How long `fire` waits for a run that another runner does.
const PATIENCE: Duration = Duration::from_mins(10);

/// Fire one function by hand with a record. It is stored, run and kept in the ledger like a real change.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire fire triage --record '{\"id\": \"c1\", \"Name\": \"Acme\"}'\n  \
                        listen-fire fire triage --record @company.json")]
pub(super) struct Arguments {
    /// The function; a listen fires it
    function: String,
    /// The record as JSON, or `@FILE`
    #[arg(long, value_name = "JSON|@FILE")]
    record: String,
    /// The record as it was before, as JSON or `@FILE`: then it is an update
    #[arg(long, value_name = "JSON|@FILE")]
    before: Option<String>,
    /// The listen that fires it, if there are several
    #[arg(long, value_name = "LISTEN")]
    listen: Option<String>,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    start::blocking(shell, work(arguments, shell))
}

async fn work(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let read = |given: &String| match given.strip_prefix('@') {
        Some(path) => files::read(&shell.absolute(path.as_ref())).map_err(|why| Failure::usage(why.to_string())),
        None => Ok(given.clone()),
    };
    let record = read(&arguments.record)?;
    let before = arguments.before.as_ref().map(read).transpose()?;
    let opened = shell.open().await?;
    let ready = match run::program(&opened, &[], shell).await? {
        Ok(ready) => ready,
        Err(exit) => return Ok(exit),
    };
    let now = opened.connector.clock.now();
    let hand = ByHand {
        function: &arguments.function,
        record: &record,
        before: before.as_deref(),
        listen: arguments.listen.as_deref(),
    };
    let (change, unlike) = ready.by_hand(&hand, now)?;
    if let Some(unlike) = unlike {
        shell.output.note(&unlike);
    }
    // With a runner at work on this store, it is that one's to run; else it runs here.
    let lock = opened.lock_runner();
    let listen = change.listen.clone();
    if opened.store.switched_off().await?.contains_key(&listen) {
        let why = format!("the listen `{listen}` is switched off, so nothing fires `{}`", arguments.function);
        return Err(Failure::new(Exit::NotSo, why).help(format!("`listen-fire listens enable '{listen}'`")));
    }
    let taken = TakeIn { runs: vec![change], ..TakeIn::default() };
    let [id] = opened.store.take_in(&listen, taken, now).await?.try_into().unwrap_or([RunId(0)]);
    let Ok(_lock) = lock else {
        shell.output.note(&format!("#{id} is stored; the runner of this project runs it"));
        return wait(&opened, id, shell).await;
    };
    let news = News::new();
    let reader = news.subscribe();
    let options = Options {
        once: true,
        listen: false,
        owner: format!("fire-{}", std::process::id()).into(),
        ..Options::default()
    };
    let parts = ready.parts(opened.connector.clone(), opened.store.clone(), &opened.project.file.limits, options, news);
    let host = Host::start(parts);
    ledger::print(&shell.output, reader, host.wait()).await;
    end(&opened, id).await?.ok_or_else(|| {
        Failure::new(Exit::NotSo, format!("#{id} did not end")).help(format!("`listen-fire runs show {id}` says why"))
    })
}

/// Waits until another runner has ended the run.
async fn wait(opened: &Opened, id: RunId, shell: &Shell) -> Result<Exit, Failure> {
    let clock = &opened.connector.clock;
    let until = clock.monotonic() + PATIENCE;
    while clock.monotonic() < until {
        if let Some(exit) = end(opened, id).await? {
            shell.output.note(&format!("`listen-fire runs show {id}` has the story"));
            return Ok(exit);
        }
        clock.sleep(Duration::from_millis(200)).await;
    }
    Err(Failure::new(Exit::NotSo, format!("#{id} has not ended within {} minutes", PATIENCE.as_secs() / 60)))
}

/// How the run ended; `None` while it goes on.
async fn end(opened: &Opened, id: RunId) -> Result<Option<Exit>, Failure> {
    let Some((run, _)) = opened.store.show(id).await? else { return Ok(Some(Exit::NotSo)) };
    Ok(match run.state {
        State::Ready | State::Running | State::Retry => None,
        // It goes on in whatever runs when its wait is over.
        State::Done | State::Skipped | State::Waiting => Some(Exit::Done),
        State::Dead | State::Unsure | State::Held | State::Cancelled => Some(Exit::NotSo),
    })
}
