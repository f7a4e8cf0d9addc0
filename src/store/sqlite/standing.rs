//! Runs written back to the writer's table once the shared rules have changed them, and whose turn comes next.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use sqlx::SqliteConnection;

use super::{
    codec::standing_code,
    desk::Loaded,
    rows::{Rows, Values},
};
use crate::store::{
    Park, RunId,
    rules::{Standing, awaited},
};

pub(super) static STORE: Rows = Rows::new(
    "WITH v(id, state, reason, attempts, not_before, fence, owner, plan, finished, due, awaits) AS (VALUES ",
    11,
    ") UPDATE run SET state = v.state, reason = v.reason, attempts = v.attempts, not_before = v.not_before, \
     fence = v.fence, owner = v.owner, plan = v.plan, finished = v.finished, due = v.due, awaits = v.awaits FROM v WHERE run.id = v.id",
);

/// Writes standings back.
pub(super) async fn store(
    connection: &mut SqliteConnection,
    standings: &[(RunId, &Standing)],
) -> Result<(), sqlx::Error> {
    let bind = |values: &mut Values, (id, standing): &(RunId, &Standing)| {
        values
            .bind(id.0)
            .bind(standing_code(standing))
            .bind(standing.reason.as_deref())
            .bind(i64::from(standing.attempts))
            .bind(standing.not_before)
            .bind(standing.fence)
            .bind(standing.owner.as_deref())
            .bind(standing.plan.as_ref().map(|plan| plan.0.as_str()))
            .bind(standing.finished)
            .bind(standing.due)
            .bind(standing.awaits.as_deref());
    };
    STORE.over(standings, bind).run(connection).await.map(drop)
}

pub(super) static PLAN: Rows = Rows::new("UPDATE run SET plan = ? WHERE id IN (", 1, ")");
pub(super) static DUE: Rows = Rows::new("UPDATE run SET due = ? WHERE id IN (", 1, ")");

/// Writes back what of these runs has changed.
pub(super) async fn write_back(
    connection: &mut SqliteConnection,
    runs: &BTreeMap<RunId, Loaded>,
) -> Result<(), sqlx::Error> {
    let mut whole = Vec::new();
    let mut plans: BTreeMap<&str, Vec<RunId>> = BTreeMap::new();
    let mut dues: BTreeMap<i64, Vec<RunId>> = BTreeMap::new();
    for (id, Loaded { standing, changed, .. }) in runs {
        if changed.all {
            whole.push((*id, standing));
            continue;
        }
        if let Some(plan) = standing.plan.as_ref().filter(|_| changed.plan) {
            plans.entry(&plan.0).or_default().push(*id);
        }
        if let Some(due) = standing.due.filter(|_| changed.due) {
            dues.entry(due).or_default().push(*id);
        }
    }
    store(connection, &whole).await?;
    let bind = |values: &mut Values, run: &RunId| {
        values.bind(run.0);
    };
    for (plan, runs) in plans {
        let first = |values: &mut Values| {
            values.bind(plan);
        };
        PLAN.over_after(&runs, first, bind).run(connection).await?;
    }
    for (due, runs) in dues {
        let first = |values: &mut Values| {
            values.bind(due);
        };
        DUE.over_after(&runs, first, bind).run(connection).await?;
    }
    Ok(())
}

pub(super) static PASS_TURN: Rows = Rows::new(
    "WITH v(listen, key) AS (VALUES ",
    2,
    ") UPDATE run SET due = max(coalesce(not_before, 0), ?) WHERE id IN (SELECT (SELECT o.id FROM run o \
     WHERE o.listen = v.listen AND o.key = v.key AND o.state < 5 ORDER BY o.id LIMIT 1) FROM v) AND state IN (-1, 0, 2)",
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
    PASS_TURN.over_with(records, record, rest).run(connection).await.map(drop)
}

pub(super) const WAKE: &str = "UPDATE run SET due = 0, not_before = NULL \
     WHERE awaits IS NOT NULL AND state IN (-1, 9) AND due IS NOT NULL AND instr(awaits, ?1) > 0";

/// Lets the parked runs look again that wait for this listen.
pub(super) async fn wake(connection: &mut SqliteConnection, listen: &str) -> Result<(), sqlx::Error> {
    sqlx::query(WAKE).bind(awaited(listen)).execute(connection).await.map(drop)
}

pub(super) const HEARD: &str = "SELECT 1 FROM run h JOIN listen l ON l.id = h.listen WHERE h.id > ?1 AND l.name = ?2";
pub(super) const WAKE_ONE: &str = "UPDATE run SET due = 0, not_before = NULL WHERE id = ?1 AND due IS NOT NULL";

/// Lets a run that was just parked look again if what it waits for came since it last looked.
pub(super) async fn wake_if_heard(
    connection: &mut SqliteConnection,
    run: RunId,
    park: &Park,
) -> Result<(), sqlx::Error> {
    for listen in &park.awaits {
        let heard =
            sqlx::query(HEARD).bind(park.after.0).bind(listen.as_str()).fetch_optional(&mut *connection).await?;
        if heard.is_some() {
            return sqlx::query(WAKE_ONE).bind(run.0).execute(connection).await.map(drop);
        }
    }
    Ok(())
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
