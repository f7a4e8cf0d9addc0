//! How plain data stands in the tables: small integers for states and kinds, JSON text for records and entries.
//!
//! Encoding is done by the caller and decoding after the answer, so that the one writer only moves text.

use lf_lang::run::Entry;
use lf_module::{Key, Record, Value, call::ChangeKind, json};
use serde::{Serialize, de::DeserializeOwned};
use smol_str::SmolStr;
use sqlx::{Row as _, sqlite::SqliteRow};

use crate::store::{
    Expectation, Run, RunId, State, StoreError,
    rules::{Standing, instant},
};

/// Entries of one run lie side by side: `run << JOURNAL_BITS | number`.
const JOURNAL_BITS: u32 = 20;

/// The place of a run's first entry.
pub(super) fn first_place(run: RunId) -> i64 {
    run.0 << JOURNAL_BITS
}

/// The last place that is a run's.
pub(super) fn last_place(run: RunId) -> i64 {
    first_place(run) | ((1 << JOURNAL_BITS) - 1)
}

/// Whose entry stands at a place.
pub(super) fn run_at(place: i64) -> RunId {
    RunId(place >> JOURNAL_BITS)
}

/// The number of a parked run that does not keep its record's turn.
pub(super) const ASIDE: i64 = 9;

/// A standing's number.
pub(super) fn standing_code(standing: &Standing) -> i64 {
    if standing.aside { ASIDE } else { state_code(standing.state) }
}

/// A state's number; those below 5 keep their record's turn, -1, 0 and 2 may be claimed. The SQL says the same.
pub(super) fn state_code(state: State) -> i64 {
    match state {
        State::Waiting => -1,
        State::Ready => 0,
        State::Running => 1,
        State::Retry => 2,
        State::Unsure => 3,
        State::Held => 4,
        State::Done => 5,
        State::Dead => 6,
        State::Skipped => 7,
        State::Cancelled => 8,
    }
}

pub(super) fn state(code: i64) -> Result<State, StoreError> {
    if code == ASIDE {
        return Ok(State::Waiting);
    }
    State::ALL.into_iter().find(|state| state_code(*state) == code).ok_or_else(|| damaged("a run's state"))
}

pub(super) fn kind_code(kind: ChangeKind) -> i64 {
    match kind {
        ChangeKind::Created => 0,
        ChangeKind::Updated => 1,
        ChangeKind::Deleted => 2,
    }
}

pub(super) fn kind(code: i64) -> Result<ChangeKind, StoreError> {
    match code {
        0 => Ok(ChangeKind::Created),
        1 => Ok(ChangeKind::Updated),
        2 => Ok(ChangeKind::Deleted),
        _ => Err(damaged("a change's kind")),
    }
}

/// What is there cannot be read.
pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::Unusable(format!("the store is damaged: {what} cannot be read"))
}

pub(super) fn record_text(record: Record) -> String {
    json::encode(&Value::record(record))
}

pub(super) fn record(text: &str) -> Result<Record, StoreError> {
    match json::decode(text) {
        Ok(Value::Record(record)) => Ok(std::sync::Arc::unwrap_or_clone(record)),
        Ok(
            Value::Absent
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::List(_)
            | Value::Position(_)
            | Value::File(_),
        )
        | Err(_) => Err(damaged("a record")),
    }
}

/// JSON text of anything else.
pub(super) fn text<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|why| StoreError::State(format!("this cannot be kept: {why}")))
}

pub(super) fn parse<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| damaged(what))
}

pub(super) fn entry_texts(entries: &[Entry]) -> Result<Vec<String>, StoreError> {
    entries.iter().map(text).collect()
}

pub(super) fn entries<'t>(texts: impl IntoIterator<Item = &'t String>) -> Result<Vec<Entry>, StoreError> {
    texts.into_iter().map(|text| parse(text, "a journal entry")).collect()
}

/// A column, whose absence or wrong type is damage.
pub(super) fn column<'r, T>(row: &'r SqliteRow, at: usize) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    row.try_get(at).map_err(|why| damaged(&why.to_string()))
}

pub(super) fn small(row: &SqliteRow, at: usize) -> Result<u32, StoreError> {
    u32::try_from(column::<i64>(row, at)?).map_err(|_| damaged("a small number"))
}

pub(super) fn name(row: &SqliteRow, at: usize) -> Result<SmolStr, StoreError> {
    column::<&str>(row, at).map(SmolStr::new)
}

pub(super) fn optional_name(row: &SqliteRow, at: usize) -> Result<Option<SmolStr>, StoreError> {
    Ok(column::<Option<&str>>(row, at)?.map(SmolStr::new))
}

/// The columns that [`standing`] reads, in its order.
macro_rules! standing_columns {
    () => {
        "r.state, r.reason, r.attempts, r.not_before, r.fence, r.owner, r.plan, r.finished, r.due, \
         r.awaits"
    };
}
pub(super) use standing_columns;

pub(super) fn standing(row: &SqliteRow, from: usize) -> Result<Standing, StoreError> {
    Ok(Standing {
        state: state(column(row, from)?)?,
        reason: column(row, from + 1)?,
        attempts: small(row, from + 2)?,
        not_before: column(row, from + 3)?,
        fence: column(row, from + 4)?,
        owner: optional_name(row, from + 5)?,
        plan: optional_name(row, from + 6)?.map(lf_lang::plan::PlanId),
        finished: column(row, from + 7)?,
        due: column(row, from + 8)?,
        awaits: column(row, from + 9)?,
        aside: column::<i64>(row, from)? == ASIDE,
    })
}

/// The columns that [`KeptRun::read`] reads, in its order, of `run r`, `listen l` and `change c`.
macro_rules! run_columns {
    () => {
        concat!(
            "r.id, l.name, r.key, r.delivery, r.kind, r.at, r.\"by\", r.depth, r.cause, r.taken_in, c.record, \
             c.before, c.fields, ",
            $crate::store::sqlite::codec::standing_columns!()
        )
    };
}
pub(super) use run_columns;

/// A run as it stands in the tables, with its record still as text.
#[derive(Debug)]
pub(super) struct KeptRun {
    pub(super) id: RunId,
    listen: SmolStr,
    key: Key,
    delivery: SmolStr,
    kind: i64,
    at: i64,
    by: Option<SmolStr>,
    depth: u32,
    cause: Option<i64>,
    taken_in: i64,
    record: String,
    before: Option<String>,
    fields: Option<String>,
    pub(super) standing: Standing,
}

impl KeptRun {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: RunId(column(row, 0)?),
            listen: name(row, 1)?,
            key: Key(name(row, 2)?),
            delivery: name(row, 3)?,
            kind: column(row, 4)?,
            at: column(row, 5)?,
            by: optional_name(row, 6)?,
            depth: small(row, 7)?,
            cause: column(row, 8)?,
            taken_in: column(row, 9)?,
            record: column(row, 10)?,
            before: column(row, 11)?,
            fields: column(row, 12)?,
            standing: standing(row, 13)?,
        })
    }

    pub(super) fn listen(&self) -> &SmolStr {
        &self.listen
    }

    pub(super) fn key(&self) -> &SmolStr {
        &self.key.0
    }

    pub(super) fn run(self) -> Result<Run, StoreError> {
        Ok(Run {
            id: self.id,
            listen: self.listen,
            key: self.key,
            delivery: self.delivery,
            kind: kind(self.kind)?,
            record: record(&self.record)?,
            before: self.before.as_deref().map(record).transpose()?,
            at: instant(self.at),
            by: self.by,
            fields: self.fields.as_deref().map(|fields| parse(fields, "a change's fields")).transpose()?,
            depth: self.depth,
            cause: self.cause.map(RunId),
            state: self.standing.state,
            reason: self.standing.reason,
            attempts: self.standing.attempts,
            not_before: self.standing.not_before.map(instant),
            plan: self.standing.plan,
            owner: self.standing.owner,
            taken_in: instant(self.taken_in),
            finished: self.standing.finished.map(instant),
        })
    }
}

/// Columns: id, watcher, connection, ty, key, fields, run, listen, depth, at.
pub(super) fn expectation(row: &SqliteRow) -> Result<(i64, Expectation), StoreError> {
    Ok((
        column(row, 0)?,
        Expectation {
            watcher: name(row, 1)?,
            connection: name(row, 2)?,
            ty: name(row, 3)?,
            key: optional_name(row, 4)?.map(Key),
            fields: record(column(row, 5)?)?,
            run: RunId(column(row, 6)?),
            listen: name(row, 7)?,
            depth: small(row, 8)?,
            at: instant(column(row, 9)?),
        },
    ))
}
