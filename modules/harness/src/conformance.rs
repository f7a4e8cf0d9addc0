//! What the contract promises, asked of a real module over a real connection.
//!
//! A module's tests prepare a system, say what is in it ([`Subject`]), and every promise of `lf_module` that can
//! be seen from outside is tried. It knows no protocol: whatever needs one is a closure of the subject's.
//! It panics nowhere; what is broken is listed, and so is what could not be tried.

mod describing;
mod files;
mod listening;
mod reading;
mod refusing;
mod tying;
mod writing;

use std::{fmt, future::Future, sync::Arc, time::Duration};

use lf_module::{Call, CallError, Connection, Description, FieldType, Key, Landed, Ports, Record, TypeShape, Value};
use smol_str::SmolStr;

use crate::World;

/// Makes a connection out of ports.
pub type Connect = Box<dyn Fn(Ports) -> Result<Arc<dyn Connection>, CallError> + Send + Sync>;

/// What is tried.
pub struct Subject {
    /// A connection to the prepared system.
    pub connect: Connect,
    /// A connection to a system that takes requests and never answers.
    pub hanging: Option<Connect>,
    /// The first request of a write is the write itself (no session or token is asked for before it), so
    /// that on a hanging system nobody can know whether it was done.
    pub writes_at_once: bool,
    /// What is in the system.
    pub kinds: Vec<Kind>,
    /// Texts that nothing may show.
    pub secrets: Vec<String>,
}

/// What is known of one type of the prepared system.
#[derive(Debug, Clone, Default)]
pub struct Kind {
    /// The type.
    pub ty: SmolStr,
    /// What a read of it pins.
    pub pins: Record,
    /// How many records a read lands on.
    pub records: Option<usize>,
    /// A key that no record has.
    pub missing: Option<Key>,
    /// Fields of a record that can be created, where that is tried.
    pub create: Option<Record>,
    /// Fields that the created record is then given.
    pub update: Option<Record>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// Promises that were tried and kept.
    pub kept: Vec<String>,
    /// Promises that were broken, and how.
    pub broken: Vec<String>,
    /// What could not be tried, and why.
    pub untried: Vec<String>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Subject").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Report {
    fn promise(&mut self, what: impl fmt::Display, kept: Result<(), String>) {
        match kept {
            Ok(()) => self.kept.push(what.to_string()),
            Err(how) => self.broken.push(format!("{what}: {how}")),
        }
    }

    fn untried(&mut self, what: impl fmt::Display, why: &str) {
        self.untried.push(format!("{what}: {why}"));
    }
}

/// Tries everything.
pub async fn run(subject: &Subject) -> Report {
    let mut report = Report::default();
    let world = World::new(0.5);
    let connection = match (subject.connect)(world.ports()) {
        Ok(connection) => connection,
        Err(error) => {
            report.promise("a connection is made", Err(error.message));
            return report;
        }
    };
    let mut trial = Trial { subject, world, connection, shown: Vec::new(), report };
    trial.show(&trial.connection.clone());
    let call = trial.call();
    let description = match trial.connection.describe(&call).await {
        Ok(description) => description,
        Err(error) => {
            trial.report.promise("the system describes itself", Err(error.message));
            return trial.report;
        }
    };
    describing::check(&mut trial, &description).await;
    for kind in &subject.kinds {
        let Some(shape) = description.get(&kind.ty) else {
            trial.report.promise("the subject's types are described", Err(format!("`{}` is not", kind.ty)));
            continue;
        };
        reading::check(&mut trial, kind, shape, &description).await;
        files::check(&mut trial, kind, shape).await;
        // A record that is written may stay: listening first, while it is known what is there.
        listening::check(&mut trial, kind, shape).await;
        writing::check(&mut trial, kind, shape).await;
        tying::check(&mut trial, kind, shape).await;
        refusing::check(&mut trial, kind, shape).await;
    }
    refusing::deadlines(&mut trial, &description).await;
    trial.secrets();
    trial.report
}

/// One run of the suite.
struct Trial<'a> {
    subject: &'a Subject,
    world: Arc<World>,
    connection: Arc<dyn Connection>,
    /// Everything that could be printed so far.
    shown: Vec<String>,
    report: Report,
}

impl Trial<'_> {
    /// A call that may take a minute.
    fn call(&self) -> Call {
        let ports = self.world.ports();
        Call { deadline: ports.clock.monotonic() + Duration::from_secs(60), idempotency: Some("conformance".into()) }
    }

    /// A call with an idempotency key of its own.
    fn fresh_call(&self, key: &str) -> Call {
        Call { idempotency: Some(key.into()), ..self.call() }
    }

    fn show(&mut self, what: &impl fmt::Debug) {
        self.shown.push(format!("{what:?}"));
    }

    fn secrets(&mut self) {
        let found = self.subject.secrets.iter().find(|secret| self.shown.iter().any(|text| text.contains(*secret)));
        let kept = match found {
            Some(secret) => Err(format!("`{secret}` was shown")),
            None => Ok(()),
        };
        self.report.promise("no secret is shown by an error or by `Debug`", kept);
    }
}

/// Waits at most `length` of real time: a module that hangs must not hang its tests.
async fn within<F: Future>(length: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(length, future).await.ok()
}

/// What is wrong with a record, if anything.
fn unfit(shape: &TypeShape, landed: &Landed) -> Option<String> {
    for field in shape.fields.iter().filter(|field| field.readable) {
        match landed.fields.get(&field.name).filter(|value| !value.is_absent()) {
            None if !field.optional => return Some(format!("`{}` is promised and absent", field.name)),
            Some(value) if !fits(value, &field.ty) => return Some(format!("`{}` is not of its type", field.name)),
            None | Some(_) => {}
        }
    }
    if let Some((name, _)) = landed.fields.iter().find(|(name, _)| shape.field(name).is_none()) {
        return Some(format!("`{name}` is not described"));
    }
    match (&shape.key, &landed.key) {
        (Some(name), None) => Some(format!("the key `{name}` is missing")),
        (None, Some(key)) => Some(format!("there is a key `{key}`, but the type has none")),
        (Some(name), Some(key)) => match landed.fields.get(name) {
            Some(Value::Text(text)) if *text != key.0 => {
                Some(format!("the key is `{key}`, the field `{name}` `{text}`"))
            }
            Some(Value::Number(number)) if number.to_string() != key.0 => {
                Some(format!("the key is `{key}`, the field `{name}` {number}"))
            }
            Some(_) | None => None,
        },
        (None, None) => None,
    }
}

fn fits(value: &Value, ty: &FieldType) -> bool {
    match (ty, value) {
        (FieldType::Choice(members), Value::Text(text)) => members.contains(text),
        (FieldType::List(item), Value::List(items)) => items.iter().all(|value| fits(value, item)),
        (FieldType::Text, Value::Text(_))
        | (FieldType::Number, Value::Number(_))
        | (FieldType::Boolean, Value::Bool(_))
        | (FieldType::Date, Value::Date(_))
        | (FieldType::Datetime, Value::DateTime(_))
        | (FieldType::Duration, Value::Duration(_))
        | (FieldType::File, Value::File(_))
        | (FieldType::Json, _) => true,
        (
            FieldType::Text
            | FieldType::Number
            | FieldType::Boolean
            | FieldType::Date
            | FieldType::Datetime
            | FieldType::Duration
            | FieldType::File
            | FieldType::Choice(_)
            | FieldType::List(_),
            _,
        ) => false,
    }
}

/// Another value of the same kind, which no prepared record has.
fn other(value: &Value) -> Option<Value> {
    match value {
        Value::Text(text) => Some(Value::text(format!("{text} (not there)"))),
        Value::Number(_) => Some(Value::from(987_654_321_987_i64)),
        Value::Absent
        | Value::Bool(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::Record(_)
        | Value::Position(_)
        | Value::File(_) => None,
    }
}

/// Whether every field of `wanted` is in `found` as it was wanted.
fn holds(found: &Record, wanted: &Record) -> Result<(), String> {
    for (name, value) in wanted.iter() {
        let found = found.get(name).unwrap_or(&Value::Absent);
        if found != value && !same_bytes(found, value) {
            return Err(format!("`{name}` is {found:?}, written was {value:?}"));
        }
    }
    Ok(())
}

/// A file that was written elsewhere holds the same, and is somewhere else.
fn same_bytes(found: &Value, written: &Value) -> bool {
    match (found, written) {
        (Value::File(found), Value::File(written)) => found.is_like(written),
        (Value::List(found), Value::List(written)) => {
            found.len() == written.len() && found.iter().zip(written.iter()).all(|(one, other)| same_bytes(one, other))
        }
        (found, written) => found == written,
    }
}

/// The names of a description that stand twice.
fn twice<'a>(names: impl Iterator<Item = &'a SmolStr>) -> Option<SmolStr> {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name)).cloned()
}

/// The types by name, for closures that need one.
fn readable(description: &Description) -> Option<&TypeShape> {
    description.types.iter().find(|shape| shape.readable)
}

#[cfg(test)]
mod tests;
