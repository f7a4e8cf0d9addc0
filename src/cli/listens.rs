//! `listens …`: what each listen does, and the switch of one: off means off now, also for a runner in another process.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use lf_lang::{
    diag::suggest,
    plan::{self, ir::WATCH},
};
use serde_json::json;
use smol_str::SmolStr;

use super::{
    exit::{Exit, Failure},
    runs::when,
    shell::{Opened, Shell},
    start,
};
use crate::{
    host::load::{self, Ask},
    store::State,
};

/// Look at the listens, switch one off at once, and on again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire listens list\n  listen-fire listens disable triage\n  \
                        listen-fire listens enable triage")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Each listen: whether it is on, and how its changes stand
    List,
    /// Switch a listen off now: its source is not asked, nothing of it begins, what runs stops before its next effect
    #[command(after_help = "What came before waits and is kept; `listens enable` goes on where it was.\n\
                            Example:\n  listen-fire listens disable triage")]
    Disable(Named),
    /// Switch a listen on again: it goes on where it was
    #[command(after_help = "Example:\n  listen-fire listens enable triage")]
    Enable(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// Its label, or `PATH fire FUNCTION`, or the function
    listen: String,
}

pub(super) fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    match arguments.command {
        Command::List => start::blocking(shell, list(shell)),
        Command::Disable(named) => start::blocking(shell, switch(named, true, shell)),
        Command::Enable(named) => start::blocking(shell, switch(named, false, shell)),
    }
}

async fn list(shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    let off = opened.store.switched_off().await?;
    let counts = opened.store.counts().await?;
    let names = names(&opened, true).await?;
    if names.is_empty() {
        shell.output.note("no listen");
    }
    let count = |name: &SmolStr, states: &[State]| -> u64 {
        states.iter().filter_map(|state| counts.get(&(name.clone(), *state))).sum()
    };
    let mut rows = Vec::new();
    for name in &names {
        let waits = count(name, &[State::Ready, State::Retry]);
        let runs = count(name, &[State::Running]);
        let asks = count(name, &[State::Unsure, State::Held]);
        let (dead, done) = (count(name, &[State::Dead]), count(name, &[State::Done]));
        if shell.output.json {
            shell.output.json(&json!({
                "listen": name, "on": !off.contains_key(name), "off_since": off.get(name),
                "waiting": waits, "running": runs, "for_a_person": asks, "dead": dead, "done": done,
            }));
        }
        let stands = off.get(name).map_or_else(|| "on".to_owned(), |since| format!("off since {}", when(*since)));
        let numbers = [waits, runs, asks, dead, done].map(|number| number.to_string());
        rows.push([name.to_string(), stands].into_iter().chain(numbers).collect());
    }
    if !shell.output.json && !rows.is_empty() {
        shell.output.table(&["listen", "is", "waiting", "running", "for a person", "dead", "done"], rows);
    }
    Ok(Exit::Done)
}

async fn switch(Named { listen }: Named, off: bool, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.open().await?;
    let name = meant(&opened, &listen).await?;
    let now = opened.connector.clock.now();
    let changed = opened.store.switch(&name, off, now).await?;
    let way = if off { "off" } else { "on" };
    let already = if changed { "" } else { " already" };
    let open = opened.store.open(&name).await?;
    let (what, verb) = if open == 1 { ("change", "waits") } else { ("changes", "wait") };
    let then = match (open, off) {
        (0, _) => String::new(),
        (open, true) => format!("; {open} {what} {verb} until it is on again"),
        (open, false) => format!("; {open} {what} {verb} for a runner"),
    };
    shell.output.done(
        &format!("`{name}` is{already} switched {way}{then}"),
        &json!({ "listen": name, "on": !off, "changed": changed, "waiting": open }),
    );
    Ok(Exit::Done)
}

/// A line for each listen of a program that is switched off.
pub(super) async fn tell(opened: &Opened, shell: &Shell) -> Result<(), Failure> {
    let off: BTreeMap<SmolStr, Timestamp> = opened.store.switched_off().await?;
    for (name, since) in off {
        let since = when(since);
        shell.output.note(&format!("`{name}` is switched off since {since}; `listen-fire listens enable '{name}'`"));
    }
    Ok(())
}

/// The listen that a person means: its name, or the function that it fires. An emergency must not need a sound program
/// or a system that answers: the files tell which listen fires a function where they can, else the names alone do.
pub(super) async fn meant(opened: &Opened, name: &str) -> Result<SmolStr, Failure> {
    let known = names(opened, false).await?;
    if let Some(found) = known.get(name) {
        return Ok(found.clone());
    }
    let mut fired: BTreeMap<SmolStr, SmolStr> = known
        .into_iter()
        .filter(|known| !known.starts_with(WATCH))
        .map(|known| {
            let function = known.rsplit_once(" fire ").map(|(_, function)| function.into()).unwrap_or_default();
            (known, function)
        })
        .collect();
    fired.extend(in_files(opened).await);
    if fired.contains_key(name) {
        return Ok(name.into());
    }
    let firing: Vec<&SmolStr> = fired.iter().filter(|(_, function)| *function == name).map(|(of, _)| of).collect();
    match firing.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let failure = Failure::usage(format!("there is no listen `{name}`"));
            let near = fired.values().chain(fired.keys()).map(SmolStr::as_str).filter(|near| !near.is_empty());
            Err(match suggest::nearest(name, near) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure.help("`listen-fire listens list` shows them"),
            })
        }
        several => {
            let names: Vec<String> = several.iter().map(|of| format!("`{of}`")).collect();
            Err(Failure::usage(format!("`{name}` is fired by {}: say which", names.join(" and "))))
        }
    }
}

/// Each listen of the files with the function that it fires, if they are sound.
async fn in_files(opened: &Opened) -> Vec<(SmolStr, SmolStr)> {
    let loaded = load::load(&opened.project, &opened.connector, opened.modules.clone(), &[], Ask::Offline).await;
    let Ok(loaded) = loaded else { return Vec::new() };
    let Some(movement) = &loaded.movement else { return Vec::new() };
    let listens = plan::compile(movement, &loaded.sources).listens;
    listens.into_iter().map(|listen| (listen.name, listen.function)).collect()
}

/// Every listen that the store has heard of, and with `files` also those that the files have, if they are sound.
async fn names(opened: &Opened, files: bool) -> Result<BTreeSet<SmolStr>, Failure> {
    let mut names: BTreeSet<SmolStr> = opened.store.listens().await?.into_iter().collect();
    names.extend(opened.store.switched_off().await?.into_keys());
    names.extend(opened.store.counts().await?.into_keys().map(|(listen, _)| listen));
    if files {
        names.extend(in_files(opened).await.into_iter().map(|(name, _)| name));
    }
    Ok(names)
}
