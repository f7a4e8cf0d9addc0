//! `listen <mcp-url> <resource-uri>…`: the listen half of an MCP connection, used alone.
//!
//! Reads the arguments and lends the pump what it needs; what it does is `lf_mcp::pump`'s.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use clap::{Args, ValueEnum};
use lf_mcp::pump::{self, Era, Options, Rules, Target};
use lf_module::{CallError, Module as _, Ports, Throttle};
use smol_str::SmolStr;
use tokio::runtime::Builder;

mod lines;

use self::lines::Lines;
use super::{
    exit::{Exit, Failure},
    input,
    shell::Shell,
    start,
};
use crate::{
    host::clock::{Dice, System},
    project::registry,
};

const USAGE: &str = "usage: listen-fire listen [flags] <mcp-url> <resource-uri> [<resource-uri> …]";

/// Listen to resources of an MCP server: one line of JSON on standard output for each update, until stopped. What else
/// happens goes to standard error. No project is needed.
#[derive(Debug, Args)]
#[command(
    override_usage = "listen-fire listen [OPTIONS] <MCP-URL> <RESOURCE-URI>...",
    after_help = "Examples:\n  listen-fire listen https://cnvs.app/mcp cnvs://board/ID/state.json\n  \
                  listen-fire listen --ignore-author ai:claude --header \"Authorization: @env:AUTH\" URL URI\n\n\
                  Exit codes: 0 told to end, or the reader went away · 2 wrong usage"
)]
pub(super) struct Arguments {
    /// The server's URL
    #[arg(value_name = "MCP-URL")]
    url: Option<String>,
    /// What is watched
    #[arg(value_name = "RESOURCE-URI")]
    uris: Vec<String>,
    /// Do not tell updates whose last-touched item has this author (boards like cnvs.app's); may be given several times
    #[arg(long, value_name = "TAG")]
    ignore_author: Vec<String>,
    /// The same, for every author that begins so
    #[arg(long, value_name = "PREFIX")]
    ignore_author_prefix: Vec<String>,
    /// Take an update for an echo only if all that changed is by ignored authors and nothing disappeared
    #[arg(long)]
    strict_echo: bool,
    /// Do not read after a gap what may have changed in it
    #[arg(long)]
    no_resync: bool,
    /// Tell updates of what lies below a watched URI too
    #[arg(long)]
    include_subresources: bool,
    /// Everything that happens goes to standard output
    #[arg(long, short)]
    verbose: bool,
    /// Say on standard output when no stream could be held for so long
    #[arg(long, value_name = "SECONDS")]
    alert_after: Option<u64>,
    /// A header of every request, `Name: value`; the value may be `@env:VAR` or `@file:PATH`; may be given several times
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,
    /// Sign in with this credential of the project
    #[arg(long, value_name = "CREDENTIAL")]
    using: Option<String>,
    /// The generation of the protocol
    #[arg(long, value_name = "ERA", default_value = "auto")]
    era: Generation,
    /// Print the version and exit
    #[arg(long)]
    version: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Generation {
    Auto,
    Legacy,
    Modern,
}

pub(super) fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    if arguments.version {
        shell.output.line(env!("CARGO_PKG_VERSION"));
        return Ok(Exit::Done);
    }
    let quiet = shell.output.quiet();
    if quiet && arguments.verbose {
        return Err(Failure::usage("`--quiet` and `--verbose` contradict each other"));
    }
    let using = arguments.using.clone();
    let mut options = options(arguments, shell)?;
    if !quiet && shell.environment.log.is_some() {
        start::log(shell, "warn")?;
    }
    let failed = |why| Failure::new(Exit::Damaged, format!("cannot start: {why}"));
    // One thread: nothing here computes, and each further one costs memory.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let done = runtime.block_on(async {
        let (mut once, mut twice) = (start::Signals::new()?, start::Signals::new()?);
        let clock = Arc::new(System::new());
        let (random, throttle) = (Arc::new(Dice), Arc::new(NoHold));
        let mut ports = Ports { clock: clock.clone(), random, throttle, notes: None, keeper: None };
        if let Some(name) = using {
            sign(&mut options.target, &name, &mut ports, shell).await?;
        }
        let lines = Lines::start(quiet).map_err(failed)?;
        let gone = lines.gone();
        let stop = async {
            tokio::select! {
                () = once.next() => {}
                () = gone => {}
            }
        };
        tokio::select! {
            () = pump::run(options, ports, &lines, stop) => {}
            () = async { twice.next().await; twice.next().await } => return Ok(Exit::Done),
        }
        lines.finish(&*clock).await;
        Ok(Exit::Done)
    });
    // A name that is being looked up is not waited for.
    runtime.shutdown_background();
    done
}

fn options(arguments: Arguments, shell: &Shell) -> Result<Options, Failure> {
    let Some(url) = arguments.url else { return Err(Failure::usage(USAGE)) };
    let mut each: Vec<SmolStr> = Vec::new();
    for uri in arguments.uris.into_iter().map(SmolStr::from) {
        if uri.is_empty() {
            return Err(Failure::usage("a resource's URI is empty"));
        }
        if !each.contains(&uri) {
            each.push(uri);
        }
    }
    if each.is_empty() {
        return Err(Failure::usage(USAGE));
    }
    let mut target = Target::new(&url).map_err(Failure::usage)?;
    for header in &arguments.header {
        // What was meant as a value may be a secret: it is not repeated.
        let Some((name, value)) = header.split_once(':') else {
            return Err(Failure::usage("`--header` needs `Name: value`"));
        };
        let name = name.trim();
        let value = input::value_of(value.trim(), &format!("the header `{name}`"), shell)?;
        target.header(name, &value).map_err(Failure::usage)?;
    }
    let given = |list: Vec<String>| list.into_iter().filter(|one| !one.is_empty()).collect();
    Ok(Options {
        target,
        uris: each,
        rules: Rules {
            authors: given(arguments.ignore_author),
            prefixes: given(arguments.ignore_author_prefix),
            strict: arguments.strict_echo,
        },
        resync: !arguments.no_resync,
        parts: arguments.include_subresources,
        verbose: arguments.verbose,
        alert_after: arguments.alert_after.map(Duration::from_secs),
        era: match arguments.era {
            Generation::Auto => None,
            Generation::Legacy => Some(Era::Legacy),
            Generation::Modern => Some(Era::Modern),
        },
    })
}

async fn sign(target: &mut Target, name: &str, ports: &mut Ports, shell: &Shell) -> Result<(), Failure> {
    let opened = shell.look().await?;
    let (credentials, app) = (&opened.connector.credentials, opened.project.file.oauth.get(lf_mcp::NAME));
    let app = match app {
        Some(app) => Some(registry::oauth_app(app, credentials.app_secret(lf_mcp::NAME).await?)),
        None => None,
    };
    let module = lf_mcp::Mcp::new(app.clone());
    let Some(credential) = credentials.open(name, module.manifest()).await? else {
        let failure = Failure::usage(format!("there is no credential `{name}`"));
        return Err(failure.help("`listen-fire credential list` shows those of this project"));
    };
    ports.keeper = opened.connector.keeper(&module, &credential);
    match app {
        Some(app) if ports.keeper.is_some() => target.sign_in(&credential, app, ports).map_err(Failure::usage),
        Some(_) | None => target.sign(&credential).map_err(Failure::usage),
    }
}

/// The pump shares its server with nobody, and waits by rules of its own.
#[derive(Debug)]
struct NoHold;

#[async_trait]
impl Throttle for NoHold {
    async fn pass(&self, _deadline: Duration) -> Result<(), CallError> {
        Ok(())
    }

    async fn report(&self, _length: Duration, _why: &str) {}
}
