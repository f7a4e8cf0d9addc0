//! Small changes by name, one statement each; and the steps of an upkeep.

use sqlx::{Row as _, SqliteConnection};

use super::{
    desk::Desk,
    error::Failure,
    op::{Op, Prune, Small},
    rows::{Rows, Values},
};
use crate::store::{Pruned, Sealed, rules::micros};

pub(super) async fn do_all(connection: &mut SqliteConnection, desk: &mut Desk, ops: &mut [Op]) -> Result<(), Failure> {
    for op in ops {
        match op {
            Op::Small(job) => {
                let changed = one(connection, &job.input).await? > 0;
                // They cancel runs, or make them such as may not be claimed.
                if matches!(&job.input, Small::DropListen { .. } | Small::Switch { .. }) {
                    desk.clear();
                    desk.refresh(connection).await?;
                }
                job.answer = Some(Ok(changed));
            }
            Op::Prune(job) => job.answer = Some(Ok(prune(connection, &job.input).await?)),
            Op::TakeIn(_) | Op::Append(_) | Op::Release(_) | Op::Renew(_) | Op::Order(_) | Op::Claim(_) => {}
        }
    }
    Ok(())
}

const FIND_LISTEN: &str = "SELECT id FROM listen WHERE name = ?1";
const CANCEL_ALL: &str = "UPDATE run SET fence = fence + (state = 1), state = 8, owner = NULL, not_before = NULL, \
     due = NULL, awaits = NULL, finished = ?2 WHERE listen = ?1 AND (state < 5 OR state = 9)";
const FORGET_ALL: &str = "DELETE FROM seen WHERE listen = ?1";
const UNPLACE: &str =
    "UPDATE listen SET placed = 0, cursor = NULL, baseline_done = 0, listing = 0, off = NULL WHERE id = ?1";
const SWITCH: &str = "INSERT INTO listen (name, off) SELECT ?1, ?2 \
     WHERE ?2 IS NOT NULL OR EXISTS (SELECT 1 FROM listen WHERE name = ?1) ON CONFLICT (name) DO UPDATE SET off = excluded.off WHERE (off IS NULL) <> (excluded.off IS NULL)";
const UNEXPECT: &str = "DELETE FROM expectation WHERE run = ?1 AND connection = ?2 AND ty = ?3 AND fields = ?4";
const IDENTITY: &str = "INSERT INTO identity (connection, ty, identity, key, at) VALUES (?1, ?2, ?3, ?4, ?5) \
     ON CONFLICT DO UPDATE SET key = excluded.key, at = excluded.at";
const PLAN: &str = "INSERT INTO plan (id, body, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
const DESCRIPTION: &str = "INSERT INTO description (connection, body, at) VALUES (?1, ?2, ?3) \
     ON CONFLICT DO UPDATE SET body = excluded.body, at = excluded.at";
const HOLD: &str = "INSERT INTO hold (connection, until, why) VALUES (?1, ?2, ?3) \
     ON CONFLICT DO UPDATE SET until = excluded.until, why = excluded.why WHERE excluded.until > until";
const LIFT: &str = "DELETE FROM hold WHERE connection = ?1";
const PUT: &str = "INSERT INTO credential (name, module, kind, key_id, sealed, last_used, works) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET module = excluded.module, kind = excluded.kind, \
     key_id = excluded.key_id, sealed = excluded.sealed, last_used = excluded.last_used, works = excluded.works, \
     locked_by = NULL, locked_until = NULL";
const REMOVE: &str = "DELETE FROM credential WHERE name = ?1";
const LOCK: &str = "UPDATE credential SET locked_by = ?2, locked_until = ?4 WHERE name = ?1 \
     AND (locked_until IS NULL OR locked_until <= ?3 OR locked_by = ?2)";
const UNLOCK: &str = "UPDATE credential SET locked_by = NULL, locked_until = NULL WHERE name = ?1 AND locked_by = ?2";
const RENEW: &str = "UPDATE credential SET key_id = ?3, sealed = ?4, locked_by = NULL, locked_until = NULL \
     WHERE name = ?1 AND locked_by = ?2";
const NOTE: &str = "INSERT INTO note (name, body, at) VALUES (?1, ?2, ?3) \
     ON CONFLICT DO UPDATE SET body = excluded.body, at = excluded.at";
const USED: &str = "UPDATE credential SET last_used = ?2, works = ?3 WHERE name = ?1";

/// Answers how many rows it touched.
async fn one(connection: &mut SqliteConnection, small: &Small) -> Result<u64, sqlx::Error> {
    let query = match small {
        Small::DropListen { listen, now } => return drop_listen(connection, listen, *now).await,
        Small::Switch { listen, off } => sqlx::query(SWITCH).bind(listen.as_str()).bind(*off),
        Small::Unexpect { run, connection: of, ty, fields } => {
            sqlx::query(UNEXPECT).bind(*run).bind(of.as_str()).bind(ty.as_str()).bind(fields.as_str())
        }
        Small::Identity { connection: of, ty, identity, key, at } => sqlx::query(IDENTITY)
            .bind(of.as_str())
            .bind(ty.as_str())
            .bind(identity.as_str())
            .bind(key.as_str())
            .bind(*at),
        Small::Plan { id, body, at } => sqlx::query(PLAN).bind(id.as_str()).bind(body.as_str()).bind(*at),
        Small::Description { connection: of, body, at } => {
            sqlx::query(DESCRIPTION).bind(of.as_str()).bind(body.as_str()).bind(*at)
        }
        Small::Hold { connection: of, until, why } => {
            sqlx::query(HOLD).bind(of.as_str()).bind(*until).bind(why.as_str())
        }
        Small::Lift { connection: of } => sqlx::query(LIFT).bind(of.as_str()),
        Small::PutCredential(credential) => {
            let Sealed { name, module, kind, key_id, sealed, last_used, works } = &**credential;
            sqlx::query(PUT)
                .bind(name.as_str())
                .bind(module.as_str())
                .bind(kind.as_str())
                .bind(key_id.as_str())
                .bind(sealed.as_slice())
                .bind(last_used.map(micros))
                .bind(*works)
        }
        Small::RemoveCredential { name } => sqlx::query(REMOVE).bind(name.as_str()),
        Small::LockCredential { name, owner, now, until } => {
            sqlx::query(LOCK).bind(name.as_str()).bind(owner.as_str()).bind(*now).bind(*until)
        }
        Small::UnlockCredential { name, owner } => sqlx::query(UNLOCK).bind(name.as_str()).bind(owner.as_str()),
        Small::RenewCredential { credential, owner } => sqlx::query(RENEW)
            .bind(credential.name.as_str())
            .bind(owner.as_str())
            .bind(credential.key_id.as_str())
            .bind(credential.sealed.as_slice()),
        Small::Note { name, body, at } => sqlx::query(NOTE).bind(name.as_str()).bind(body.as_str()).bind(*at),
        Small::UsedCredential { name, at, works } => sqlx::query(USED).bind(name.as_str()).bind(*at).bind(*works),
        #[cfg(test)]
        Small::LimitPages { pages } => sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"))),
    };
    Ok(query.execute(connection).await?.rows_affected())
}

async fn drop_listen(connection: &mut SqliteConnection, listen: &str, now: i64) -> Result<u64, sqlx::Error> {
    let Some(row) = sqlx::query(FIND_LISTEN).bind(listen).fetch_optional(&mut *connection).await? else {
        return Ok(0);
    };
    let id: i64 = row.try_get(0)?;
    sqlx::query(CANCEL_ALL).bind(id).bind(now).execute(&mut *connection).await?;
    sqlx::query(FORGET_ALL).bind(id).execute(&mut *connection).await?;
    Ok(sqlx::query(UNPLACE).bind(id).execute(connection).await?.rows_affected())
}

pub(super) static PRUNE_ENTRIES: Rows = Rows::new(
    "WITH v(id) AS (VALUES ",
    1,
    ") DELETE FROM entry WHERE place IN (SELECT e.place FROM v JOIN run r ON r.id = v.id AND r.state IN (5, 7, 8) \
     CROSS JOIN entry e ON e.place BETWEEN (v.id << 20) AND (v.id << 20) + 1048575)",
);
pub(super) static PRUNE_CHANGES: Rows = Rows::new(
    "WITH v(id) AS (VALUES ",
    1,
    ") DELETE FROM change WHERE run IN (SELECT r.id FROM v JOIN run r ON r.id = v.id AND r.state IN (5, 7, 8))",
);
pub(super) static PRUNE_RUNS: Rows = Rows::new(
    "WITH v(id) AS (VALUES ",
    1,
    ") DELETE FROM run WHERE id IN (SELECT id FROM v) AND state IN (5, 7, 8) RETURNING id",
);
/// Only the old end is looked at: ids grow with time.
const PRUNE_DELIVERIES: &str =
    "DELETE FROM delivery WHERE id IN (SELECT id FROM delivery ORDER BY id LIMIT 1000) AND at < ?1";
const PRUNE_IDENTITIES: &str = "DELETE FROM identity WHERE at < ?1";
const PRUNE_EXPECTATIONS: &str = "DELETE FROM expectation WHERE at < ?1";

async fn prune(connection: &mut SqliteConnection, step: &Prune) -> Result<Pruned, sqlx::Error> {
    let bind = |values: &mut Values, run: &i64| {
        values.bind(*run);
    };
    PRUNE_ENTRIES.over(&step.runs, bind).run(connection).await?;
    PRUNE_CHANGES.over(&step.runs, bind).run(connection).await?;
    let runs = PRUNE_RUNS.over(&step.runs, bind).fetch(connection).await?.len() as u64;
    let mut old = async |sql: &'static str, before: i64| -> Result<u64, sqlx::Error> {
        Ok(sqlx::query(sql).bind(before).execute(&mut *connection).await?.rows_affected())
    };
    Ok(Pruned {
        runs,
        deliveries: old(PRUNE_DELIVERIES, step.deliveries_before).await?,
        identities: old(PRUNE_IDENTITIES, step.deliveries_before).await?,
        expectations: old(PRUNE_EXPECTATIONS, step.expectations_before).await?,
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    FIND_LISTEN,
    CANCEL_ALL,
    FORGET_ALL,
    UNPLACE,
    SWITCH,
    UNEXPECT,
    IDENTITY,
    PLAN,
    DESCRIPTION,
    HOLD,
    LIFT,
    PUT,
    REMOVE,
    LOCK,
    UNLOCK,
    RENEW,
    NOTE,
    USED,
    PRUNE_DELIVERIES,
    PRUNE_IDENTITIES,
    PRUNE_EXPECTATIONS,
];
