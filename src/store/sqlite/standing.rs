//! Runs on the writer's table: read by id, changed by the shared rules, written back, and whose turn comes next.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use sqlx::SqliteConnection;

use super::{
    codec::{column, name, run_at, standing, standing_columns, state_code},
    error::Failure,
    rows::{Rows, Values},
};
use crate::store::{RunId, rules::Standing};

/// A run that a transaction works on.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) listen: i64,
    pub(super) key: SmolStr,
    pub(super) standing: Standing,
    /// Where its next journal entry goes; `None` when the journal is full.
    pub(super) next_place: Option<i64>,
    pub(super) changed: bool,
}

pub(super) static LOAD: Rows = Rows::new(
    "WITH wanted(id) AS (VALUES ",
    1,
    concat!(
        ") SELECT r.id, r.listen, r.key, (SELECT max(e.place) FROM entry e \
         WHERE e.place BETWEEN (r.id << 20) AND (r.id << 20) + 1048575), ",
        standing_columns!(),
        " FROM wanted w CROSS JOIN run r ON r.id = w.id"
    ),
);

/// Reads what is known of these runs.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    runs: &[RunId],
) -> Result<BTreeMap<RunId, Loaded>, Failure> {
    let bind = |values: &mut Values, run: &RunId| {
        values.bind(run.0);
    };
    let rows = LOAD.over(runs, bind).fetch(connection).await?;
    let mut loaded = BTreeMap::new();
    for row in &rows {
        let id = RunId(column(row, 0)?);
        let next = column::<Option<i64>>(row, 3)?.map_or_else(|| super::codec::first_place(id), |last| last + 1);
        loaded.insert(
            id,
            Loaded {
                listen: column(row, 1)?,
                key: name(row, 2)?,
                next_place: (run_at(next) == id).then_some(next),
                standing: standing(row, 4)?,
                changed: false,
            },
        );
    }
    Ok(loaded)
}

pub(super) static STORE: Rows = Rows::new(
    "WITH v(id, state, reason, attempts, not_before, fence, owner, plan, finished, due) AS (VALUES ",
    10,
    ") UPDATE run SET state = v.state, reason = v.reason, attempts = v.attempts, not_before = v.not_before, \
     fence = v.fence, owner = v.owner, plan = v.plan, finished = v.finished, due = v.due FROM v WHERE run.id = v.id",
);

/// Writes standings back.
pub(super) async fn store(
    connection: &mut SqliteConnection,
    standings: &[(RunId, &Standing)],
) -> Result<(), sqlx::Error> {
    let bind = |values: &mut Values, (id, standing): &(RunId, &Standing)| {
        values
            .bind(id.0)
            .bind(state_code(standing.state))
            .bind(standing.reason.as_deref())
            .bind(i64::from(standing.attempts))
            .bind(standing.not_before)
            .bind(standing.fence)
            .bind(standing.owner.as_deref())
            .bind(standing.plan.as_ref().map(|plan| plan.0.as_str()))
            .bind(standing.finished)
            .bind(standing.due);
    };
    STORE.over(standings, bind).run(connection).await
}

pub(super) static PASS_TURN: Rows = Rows::new(
    "WITH v(listen, key) AS (VALUES ",
    2,
    ") UPDATE run SET due = max(coalesce(not_before, 0), ?) WHERE id IN (SELECT (SELECT o.id FROM run o \
     WHERE o.listen = v.listen AND o.key = v.key AND o.state < 5 ORDER BY o.id LIMIT 1) FROM v) AND state IN (0, 2)",
);

/// Gives each record's turn to its oldest open run, to be claimed not before `floor`. INVARIANT: none of the record's
/// runs has it.
pub(super) async fn pass_turn(
    connection: &mut SqliteConnection,
    records: &[(i64, SmolStr)],
    floor: i64,
) -> Result<(), sqlx::Error> {
    let record = |values: &mut Values, (listen, key): &(i64, SmolStr)| {
        values.bind(*listen).bind(key.as_str());
    };
    let rest = |values: &mut Values| {
        values.bind(floor);
    };
    PASS_TURN.over_with(records, record, rest).run(connection).await
}

pub(super) const RUNNING: &str = "SELECT 1 FROM run WHERE listen = ?1 AND key = ?2 AND state < 5 AND state = 1 LIMIT 1";
pub(super) const TAKE_TURN: &str =
    "UPDATE run SET due = NULL WHERE listen = ?1 AND key = ?2 AND state < 5 AND due IS NOT NULL";

/// The same where another may have it: a person reopened an older run, or ended the one that had it.
pub(super) async fn reseat_turn(
    connection: &mut SqliteConnection,
    listen: i64,
    key: &SmolStr,
    floor: i64,
) -> Result<(), sqlx::Error> {
    let running = sqlx::query(RUNNING).bind(listen).bind(key.as_str()).fetch_optional(&mut *connection).await?;
    if running.is_some() {
        return Ok(());
    }
    sqlx::query(TAKE_TURN).bind(listen).bind(key.as_str()).execute(&mut *connection).await?;
    pass_turn(connection, &[(listen, key.clone())], floor).await
}
