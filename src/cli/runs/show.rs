//! `runs show ID`: the whole story of a run, with the movement's lines beside what happened there and what each of
//! their expressions came to.

use std::collections::BTreeMap;

use clap::Args;
use lf_lang::run::Entry;
use serde_json::json;

use super::{list::object, story, values};
use crate::{
    cli::{
        exit::{Exit, Failure},
        shell::Shell,
    },
    store::RunId,
};

/// The whole story of a run: the change, each line that did something, what was sent and what came back, attempts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  listen-fire runs show 12\n  listen-fire runs show 12 --full   (long values whole)")]
pub(super) struct Arguments {
    /// The run's number
    id: i64,

    /// Cut nothing short
    #[arg(long)]
    full: bool,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.look().await?;
    let id = RunId(arguments.id);
    let Some((run, entries)) = opened.store.show(id).await? else { return Err(super::missing(id)) };
    let mut plans = BTreeMap::new();
    for entry in &entries {
        if let Entry::Started { plan, fired: _ } = entry
            && let Some(text) = opened.store.plan(plan).await?
        {
            plans.insert(plan.clone(), text);
        }
    }
    if shell.output.json {
        let (came, missed) = values::of(&plans, &entries, values::WHOLE);
        let came = came.iter().map(values::Line::json).collect();
        let mut whole = object(&run);
        if let Some(whole) = whole.as_object_mut() {
            whole.insert("change".into(), json!(run.record));
            whole.insert("before".into(), json!(run.before));
            whole.insert("journal".into(), json!(entries));
            let places = plans.iter().map(|(id, plan)| (id.0.to_string(), json!(plan.places)));
            whole.insert("places".into(), serde_json::Value::Object(places.collect()));
            whole.insert("values".into(), came);
            whole.insert("values_missed".into(), json!(missed));
        }
        shell.output.json(&whole);
        return Ok(Exit::Done);
    }
    let (shown, most) = if arguments.full { (usize::MAX, values::WHOLE) } else { (story::SHOWN, values::SOME) };
    story::tell(&shell.output, (&plans, shown), &run, &entries);
    values::tell(&shell.output, values::of(&plans, &entries, most), arguments.full);
    Ok(Exit::Done)
}
