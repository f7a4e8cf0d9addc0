//! `doctor`: the project, its store, its credentials and each of its connections, looked over; what is wrong, and the
//! command that mends it. It changes nothing but what a description finds out, and asks no system that asked to be left
//! alone.

use clap::Args;
use futures::{StreamExt as _, stream};
use lf_lang::{check::ConnectRequest, diag::Severity};
use lf_module::{CallError, Description, Kind};
use serde::Serialize;
use smol_str::SmolStr;

use super::{
    exit::{Exit, Failure},
    output::Style,
    shell::{Opened, Shell},
};
use crate::{
    host::{describe, load},
    project::ProjectError,
    store::State,
};

/// How many systems are asked at once.
const ASKED: usize = 8;

/// Look the project, its store, its credentials and its connections over: which protocol each server speaks, whether a
/// connection is held, how old a token is, what is wrong and the command that mends it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  listen-fire doctor\n  listen-fire doctor --json\n\nExit codes: 0 all is well · 1 \
                        something has to be mended · 3 a system is away or refused · 4 the project or its store is damaged"
)]
pub(super) struct Arguments {
    /// Ask no system: look at what is here
    #[arg(long)]
    offline: bool,
}

/// Something that is wrong, and what mends it.
#[derive(Debug, Clone, Serialize)]
struct Wrong {
    what: String,
    mend: Option<String>,
    #[serde(skip)]
    exit: Exit,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Found {
    kind: &'static str,
    name: String,
    facts: Vec<(String, String)>,
    wrong: Vec<Wrong>,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    let mut found = vec![project(&opened), store(&opened).await?];
    found.extend(credentials(&opened).await?);
    shell.output.progress("asking the connections …");
    let connections = connections(&opened, arguments.offline).await;
    shell.output.progress("");
    found.extend(connections?);
    let exit = found.iter().flat_map(|one| &one.wrong).map(|wrong| wrong.exit).max_by_key(|exit| *exit as u8);
    let exit = exit.unwrap_or(Exit::Done);
    if shell.output.json {
        for one in &found {
            let facts: serde_json::Map<_, _> =
                one.facts.iter().map(|(name, fact)| (name.replace(' ', "_"), fact.as_str().into())).collect();
            let (kind, name, wrong) = (one.kind, &one.name, &one.wrong);
            shell.output.json(&serde_json::json!({ "kind": kind, "name": name, "facts": facts, "wrong": wrong }));
        }
        return Ok(exit);
    }
    for one in &found {
        show(one, shell);
    }
    let wrong: usize = found.iter().map(|one| one.wrong.len()).sum();
    match wrong {
        0 => shell.output.summary(Style::Green, "all is well"),
        1 => shell.output.summary(Style::Red, "1 thing to mend"),
        many => shell.output.summary(Style::Red, &format!("{many} things to mend")),
    }
    Ok(exit)
}

fn show(one: &Found, shell: &Shell) {
    let (style, mark) = if one.wrong.is_empty() { (Style::Green, "✓") } else { (Style::Red, "✗") };
    shell.output.parts(&[(Some(style), mark), (None, " "), (Some(Style::Bold), &format!("{} {}", one.kind, one.name))]);
    for (name, fact) in &one.facts {
        shell.output.parts(&[(Some(Style::Dim), &format!("    {name}: ")), (None, fact)]);
    }
    for wrong in &one.wrong {
        shell.output.parts(&[(Some(Style::Red), "    wrong: "), (None, &wrong.what)]);
        if let Some(mend) = &wrong.mend {
            shell.output.parts(&[(Some(Style::Bold), "    mend: "), (None, mend)]);
        }
    }
}

fn fact(name: &str, text: impl Into<String>) -> (String, String) {
    (name.to_owned(), text.into())
}

fn wrong(exit: Exit, what: impl Into<String>, mend: impl Into<Option<String>>) -> Wrong {
    Wrong { what: what.into(), mend: mend.into(), exit }
}

fn project(opened: &Opened) -> Found {
    let project = &opened.project;
    let installed: Vec<_> = project.file.modules.iter().map(SmolStr::as_str).collect();
    let mut facts = vec![fact("folder", project.root.display().to_string())];
    if !installed.is_empty() {
        facts.push(fact("modules", installed.join(", ")));
    }
    let faults = opened.modules.1.iter().filter(|problem| problem.severity == Severity::Error).count();
    let mut found = Found { kind: "project", name: project.file.name.to_string(), facts, wrong: Vec::new() };
    if faults > 0 {
        let what = format!("{faults} faults in the project's own modules");
        found.wrong.push(wrong(Exit::Damaged, what, "listen-fire check".to_owned()));
    }
    found
}

/// The store was opened, so it is whole and of this version.
async fn store(opened: &Opened) -> Result<Found, Failure> {
    let mut facts = Vec::new();
    let mut found = Vec::new();
    match &opened.file {
        None => facts.push(fact("state", "nothing is stored yet")),
        Some(file) => {
            let runner = match file.runner()? {
                Some(process) => format!("process {process}"),
                None => "none".to_owned(),
            };
            facts.push(fact("runner", runner));
        }
    }
    let counts = opened.store.counts().await?;
    let of =
        |state: State| counts.iter().filter(|((_, found), _)| *found == state).map(|(_, count)| count).sum::<u64>();
    for state in [State::Dead, State::Unsure, State::Held] {
        let count = of(state);
        if count > 0 {
            let what = format!("{count} {state} {} for a person", if count == 1 { "run waits" } else { "runs wait" });
            found.push(wrong(Exit::NotSo, what, format!("listen-fire runs list --state {state}")));
        }
    }
    facts.push(fact("waiting runs", (of(State::Ready) + of(State::Retry)).to_string()));
    Ok(Found { kind: "store", name: opened.project.file.name.to_string(), facts, wrong: found })
}

async fn credentials(opened: &Opened) -> Result<Vec<Found>, Failure> {
    let (credentials, now) = (&opened.connector.credentials, opened.connector.clock.now());
    let mut all = Vec::new();
    for sealed in credentials.sealed().await? {
        let mut facts = vec![fact("module", sealed.module.as_str()), fact("kind", sealed.kind.as_str())];
        let mut faults = Vec::new();
        let again = format!(
            "listen-fire credential add --module {} {} --credential {}",
            sealed.module, sealed.name, sealed.kind
        );
        match credentials.unseal(&sealed) {
            Ok(credential) => {
                let module = opened.connector.registry.get(&sealed.module);
                facts.extend(module.map(|module| module.about(&credential, now)).unwrap_or_default());
            }
            Err(why) => faults.push(wrong(Exit::Damaged, why.to_string(), again.clone())),
        }
        if let Some(variable) = credentials.given(&sealed.name) {
            facts.push(fact("overridden by", variable));
        } else if sealed.works == Some(false) {
            faults.push(wrong(Exit::System, "it was refused when it was last tried", again));
        }
        all.push(Found { kind: "credential", name: sealed.name.to_string(), facts, wrong: faults });
    }
    Ok(all)
}

async fn connections(opened: &Opened, offline: bool) -> Result<Vec<Found>, Failure> {
    let requests = match load::requests(&opened.project) {
        // Nothing is written yet.
        Err(ProjectError::Missing(_)) => Vec::new(),
        found => found?,
    };
    let asked = requests.iter().map(|request| one(opened, request, offline));
    Ok(stream::iter(asked).buffered(ASKED).collect().await)
}

async fn one(opened: &Opened, request: &ConnectRequest, offline: bool) -> Found {
    let mut found = Found { kind: "connection", name: request.key.to_string(), facts: Vec::new(), wrong: Vec::new() };
    let held = opened.connector.holds.held(request.key.as_str()).await;
    match held {
        Some((until, why)) => {
            let at = until.strftime("%Y-%m-%d %H:%M:%S UTC");
            found.facts.push(fact("held until", at.to_string()));
            found.facts.push(fact("held because", why));
            return found;
        }
        None => found.facts.push(fact("held", "no")),
    }
    if offline {
        return found;
    }
    let answer = match opened.connector.connect(request).await {
        Ok(connection) => describe::one(opened.connector.clock.as_ref(), connection.as_ref()).await,
        Err(why) => Err(why),
    };
    match answer {
        Ok(Description { types, warnings, facts }) => {
            found.facts.extend(facts);
            found.facts.push(fact("types", types.len().to_string()));
            found.facts.extend(warnings.into_iter().map(|warning| fact("warning", warning)));
        }
        Err(why) => found.wrong.push(unwell(request, &why)),
    }
    found
}

fn unwell(request: &ConnectRequest, why: &CallError) -> Wrong {
    let using = request.using.as_deref();
    let mend = match (why.kind, using) {
        (Kind::Credential, Some(name)) => {
            Some(format!("listen-fire credential add --module {} {name}", request.module))
        }
        (Kind::Limit, _) | (Kind::Credential, None) => Some("listen-fire check".to_owned()),
        (Kind::Refused | Kind::Passing | Kind::Drift, _) => None,
    };
    wrong(Exit::System, why.message.clone(), mend)
}
