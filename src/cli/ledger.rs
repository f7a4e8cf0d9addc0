//! The ledger as it happens: each piece of news as a line for a person, or as a JSON line.

use std::{future::Future, pin::pin};

use futures::FutureExt as _;
use jiff::Timestamp;
use lf_module::{Key, call::ChangeKind};
use serde_json::{Map, Value, json};

use super::output::{Output, Style};
use crate::{
    host::news::{Action, Item, Reader, Spot, Told, What},
    store::State,
};

/// Prints what is told until the host has ended, and gives what it came to.
pub(super) async fn print<T>(output: &Output, mut reader: Reader, ended: impl Future<Output = T>) -> T {
    let mut ended = pin!(ended);
    let came_to = loop {
        tokio::select! {
            biased;
            told = reader.next() => match told {
                Some(told) => show(output, told),
                None => break ended.await,
            },
            came_to = &mut ended => break came_to,
        }
    };
    // What was told last may not be read yet.
    while let Some(Some(told)) = reader.next().now_or_never() {
        show(output, told);
    }
    came_to
}

fn show(output: &Output, told: Told) {
    match told {
        Told::Item(item) if output.json => output.json(&object(&item)),
        Told::Item(item) => line(output, &item),
        Told::Missed(missed) => {
            output.note(&format!("{missed} lines came too fast to be shown; `runs list` has all"));
        }
    }
}

/// One piece of news as a line.
pub(super) fn line(output: &Output, item: &Item) {
    let (style, text) = words(&item.what);
    // What a system says stays on the line that it belongs to.
    let text = text.replace(['\n', '\t'], " ");
    let subject = match &item.run {
        Some(run) => format!("#{} {} {}", run.id, run.function, run.key),
        None => item.listen.to_string(),
    };
    let place = match spot(&item.what) {
        Some(spot) => format!("  {spot}"),
        None => String::new(),
    };
    let subject = if subject.is_empty() { String::new() } else { format!("  {subject}") };
    output.parts(&[
        (Some(Style::Dim), &clock(item.at)),
        (Some(Style::Bold), &subject),
        (None, "  "),
        (style, &text),
        (Some(Style::Dim), &place),
    ]);
}

/// The time of day, in UTC.
pub(super) fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

/// The word for a state, as `--state` takes it.
pub(super) fn state(state: State) -> &'static str {
    match state {
        State::Ready => "ready",
        State::Running => "running",
        State::Retry => "retry",
        State::Waiting => "waiting",
        State::Done => "done",
        State::Dead => "dead",
        State::Unsure => "unsure",
        State::Held => "held",
        State::Skipped => "skipped",
        State::Cancelled => "cancelled",
    }
}

/// The word for a kind of change.
pub(super) fn kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Updated => "updated",
        ChangeKind::Deleted => "deleted",
    }
}

/// How a state stands out.
pub(super) fn style(state: State) -> Option<Style> {
    match state {
        State::Done => Some(Style::Green),
        State::Dead | State::Unsure => Some(Style::Red),
        State::Retry | State::Held => Some(Style::Yellow),
        State::Ready | State::Running | State::Waiting => None,
        State::Skipped | State::Cancelled => Some(Style::Dim),
    }
}

fn because(reason: Option<&String>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

fn write(action: Action, connection: &str, ty: &str, key: Option<&Key>) -> String {
    let verb = match action {
        Action::Create => "write",
        Action::Update => "update",
        Action::Delete => "delete",
        Action::Link => "link",
        Action::Unlink => "unlink",
    };
    let key = key.map(|key| format!(" {key}")).unwrap_or_default();
    format!("{verb} {connection} {ty}{key}")
}

fn words(what: &What) -> (Option<Style>, String) {
    match what {
        What::Baseline { records: 1 } => (Some(Style::Dim), "first look: 1 record, remembered".to_owned()),
        What::Baseline { records } => (Some(Style::Dim), format!("first look: {records} records, remembered")),
        What::TakenIn { kind: changed, record, state: State::Ready, reason: _ } => {
            (None, format!("{} {record}", kind(*changed)))
        }
        What::TakenIn { kind: changed, record, state: went, reason } => {
            (style(*went), format!("{} {record} - {}{}", kind(*changed), state(*went), because(reason.as_ref())))
        }
        What::Began { attempt: 1 } => (Some(Style::Dim), "begins".to_owned()),
        What::Began { attempt } => (Some(Style::Dim), format!("begins again, attempt {attempt}")),
        What::Read { spot: _, connection, ty, asked, records } => {
            let records = if *records == 1 { "1 record".to_owned() } else { format!("{records} records") };
            (None, format!("read {connection} {ty} {asked} → {records}"))
        }
        What::Sending { spot: _, connection, ty, action, key, sent } => {
            (Some(Style::Dim), format!("{} ← {sent}", write(*action, connection, ty, key.as_ref())))
        }
        What::Wrote { spot: _, connection, ty, action, key, sent: _, answer, created, unchanged } => {
            let note = match (unchanged, created) {
                (true, _) => " (nothing differed, nothing was sent)",
                (false, true) => " (new)",
                (false, false) => "",
            };
            (None, format!("{} → {answer}{note}", write(*action, connection, ty, key.as_ref())))
        }
        What::WouldWrite { spot: _, connection, ty, action, key, sent } => {
            (Some(Style::Yellow), format!("would {} ← {sent}", write(*action, connection, ty, key.as_ref())))
        }
        What::Refused { spot: _, connection, why } => (Some(Style::Red), format!("{connection} refused: {why}")),
        What::Warning { message } => (Some(Style::Yellow), format!("warning: {message}")),
        What::Retry { attempt, of, next, why } => {
            (Some(Style::Yellow), format!("attempt {attempt} of {of} failed: {why}; again at {}", clock(*next)))
        }
        What::Parked { until: _, why } => (Some(Style::Dim), format!("waits: {why}")),
        What::Back { why } => (Some(Style::Dim), format!("back in its place: {why}")),
        What::Ended { state: ended, reason } => {
            (style(*ended), format!("{}{}", state(*ended), because(reason.as_ref())))
        }
        What::TakenOver => (Some(Style::Yellow), "another runner took it over".to_owned()),
        What::Held { connection, until, why } => {
            (Some(Style::Yellow), format!("{connection} is held until {}: {why}", clock(*until)))
        }
        What::SwitchedOff { since } => {
            (Some(Style::Yellow), format!("is switched off since {}: nothing of it is begun", clock(*since)))
        }
        What::SwitchedOn => (Some(Style::Green), "is switched on and goes on where it was".to_owned()),
        What::Unhealthy { failures: 0 | 1, why } => (Some(Style::Red), format!("unhealthy: {why}")),
        What::Unhealthy { failures, why } => {
            (Some(Style::Red), format!("unhealthy, {failures} failures in a row: {why}"))
        }
        What::Healthy => (Some(Style::Green), "healthy again".to_owned()),
        What::Fatal { why } => (Some(Style::Red), format!("the store failed: {why}")),
    }
}

fn spot(what: &What) -> Option<&Spot> {
    match what {
        What::Read { spot, .. }
        | What::Sending { spot, .. }
        | What::Wrote { spot, .. }
        | What::WouldWrite { spot, .. }
        | What::Refused { spot, .. } => spot.as_ref(),
        What::Baseline { .. }
        | What::TakenIn { .. }
        | What::Began { .. }
        | What::Warning { .. }
        | What::Retry { .. }
        | What::Parked { .. }
        | What::Back { .. }
        | What::Ended { .. }
        | What::TakenOver
        | What::Held { .. }
        | What::SwitchedOff { .. }
        | What::SwitchedOn
        | What::Unhealthy { .. }
        | What::Healthy
        | What::Fatal { .. } => None,
    }
}

/// One piece of news as an object with stable keys.
fn object(item: &Item) -> Value {
    let mut object = Map::new();
    object.insert("at".into(), json!(item.at));
    if !item.listen.is_empty() {
        object.insert("listen".into(), json!(item.listen));
    }
    if let Some(run) = &item.run {
        object.insert("run".into(), json!(run.id));
        object.insert("record".into(), json!(run.key));
        object.insert("function".into(), json!(run.function));
    }
    let (event, facts) = event(&item.what);
    object.insert("event".into(), json!(event));
    if let Value::Object(facts) = facts {
        object.extend(facts.into_iter().filter(|(_, fact)| !fact.is_null()));
    }
    if let Some(spot) = spot(&item.what) {
        object.insert("place".into(), json!(spot.to_string()));
        object.insert("text".into(), json!(spot.text));
    }
    Value::Object(object)
}

fn event(what: &What) -> (&'static str, Value) {
    let verb = |action: &Action| match action {
        Action::Create => "create",
        Action::Update => "update",
        Action::Delete => "delete",
        Action::Link => "link",
        Action::Unlink => "unlink",
    };
    match what {
        What::Baseline { records } => ("baseline", json!({ "records": records })),
        What::TakenIn { kind: changed, record, state: went, reason } => {
            ("taken_in", json!({ "kind": kind(*changed), "change": record, "state": state(*went), "reason": reason }))
        }
        What::Began { attempt } => ("began", json!({ "attempt": attempt })),
        What::Read { spot: _, connection, ty, asked, records } => {
            ("read", json!({ "connection": connection, "type": ty, "asked": asked, "records": records }))
        }
        What::Sending { spot: _, connection, ty, action, key, sent } => (
            "sending",
            json!({ "connection": connection, "type": ty, "action": verb(action), "key": key, "sent": sent }),
        ),
        What::Wrote { spot: _, connection, ty, action, key, sent, answer, created, unchanged } => (
            "wrote",
            json!({ "connection": connection, "type": ty, "action": verb(action), "key": key, "sent": sent,
                    "answer": answer, "created": created, "unchanged": unchanged }),
        ),
        What::WouldWrite { spot: _, connection, ty, action, key, sent } => (
            "would_write",
            json!({ "connection": connection, "type": ty, "action": verb(action), "key": key, "sent": sent }),
        ),
        What::Refused { spot: _, connection, why } => ("refused", json!({ "connection": connection, "why": why })),
        What::Warning { message } => ("warning", json!({ "message": message })),
        What::Retry { attempt, of, next, why } => {
            ("retry", json!({ "attempt": attempt, "of": of, "next": next, "why": why }))
        }
        What::Parked { until, why } => ("waiting", json!({ "until": until, "why": why })),
        What::Back { why } => ("back", json!({ "why": why })),
        What::Ended { state: ended, reason } => ("ended", json!({ "state": state(*ended), "reason": reason })),
        What::TakenOver => ("taken_over", json!({})),
        What::Held { connection, until, why } => {
            ("held", json!({ "connection": connection, "until": until, "why": why }))
        }
        What::SwitchedOff { since } => ("switched_off", json!({ "since": since })),
        What::SwitchedOn => ("switched_on", json!({})),
        What::Unhealthy { failures, why } => ("unhealthy", json!({ "failures": failures, "why": why })),
        What::Healthy => ("healthy", json!({})),
        What::Fatal { why } => ("fatal", json!({ "why": why })),
    }
}
