//! Questions to the store, asked beside the writer. Nothing here changes anything.

use std::collections::BTreeMap;

use futures::TryStreamExt as _;
use jiff::Timestamp;
use lf_lang::{
    plan::{Plan, PlanId},
    run::Entry,
};
use lf_module::{Cursor, Description, Key};
use smol_str::SmolStr;
use sqlx::{
    Arguments as _, AssertSqlSafe, SqlitePool,
    sqlite::{SqliteArguments, SqliteRow},
};

use super::{
    claim::JOURNALS,
    codec::{self, KeptRun, column, first_place, last_place, name, run_at, run_columns, state_code},
    orders::JOURNAL,
    rows::{Rows, Values},
};
use crate::store::{
    Filter, Met, Position, Retention, Run, RunId, Sealed, Seen, State, StoreError, Watched,
    rules::{earlier, instant, micros},
};

const POSITION: &str = "SELECT cursor, baseline_done, listing FROM listen WHERE name = ?1 AND placed";
const LISTENS: &str = "SELECT l.name FROM listen l \
     WHERE l.placed OR EXISTS (SELECT 1 FROM run r WHERE r.listen = l.id AND r.state < 5) \
     OR EXISTS (SELECT 1 FROM run r WHERE r.listen = l.id AND r.state = 9) ORDER BY l.name";
const COUNT_SEEN: &str = "SELECT count(*) FROM seen WHERE listen = (SELECT id FROM listen WHERE name = ?1)";
const KEYS: &str = "SELECT key FROM seen WHERE listen = (SELECT id FROM listen WHERE name = ?1) AND key >= ?2 \
     ORDER BY key LIMIT 1000";
const EXPECTATIONS: &str = "SELECT id, watcher, connection, ty, key, fields, run, listen, depth, at FROM expectation \
     WHERE watcher = ?1 AND id > ?2 ORDER BY id";
const WATCHED: &str = "SELECT count(*) FROM expectation WHERE watcher = ?1";
const OPEN: &str = "SELECT (SELECT count(*) FROM run r WHERE r.listen = l.id AND r.state < 5) \
     - (SELECT count(*) FROM run r WHERE r.listen = l.id AND r.state IN (-1, 3, 4)) FROM listen l WHERE l.name = ?1";
const NEXT_DUE: &str = "SELECT min((SELECT min(r.due) FROM run r WHERE r.listen = l.id AND r.due > ?1)) \
     FROM listen l WHERE l.off IS NULL";
const SWITCHED_OFF: &str = "SELECT name, off FROM listen WHERE off IS NOT NULL";
const IDENTITY: &str = "SELECT key FROM identity WHERE connection = ?1 AND ty = ?2 AND identity = ?3";
const SHOW: &str = concat!(
    "SELECT ",
    run_columns!(),
    " FROM run r JOIN listen l ON l.id = r.listen JOIN change c ON c.run = r.id WHERE r.id = ?1"
);
const COUNTS: &str = "SELECT l.name, r.state, count(*) FROM run r JOIN listen l ON l.id = r.listen GROUP BY 1, 2";
const PLAN: &str = "SELECT body FROM plan WHERE id = ?1";
const DESCRIPTION: &str = "SELECT body, at FROM description WHERE connection = ?1";
const HELD: &str = "SELECT until, why FROM hold WHERE connection = ?1";
const HOLDS: &str = "SELECT connection, until, why FROM hold WHERE until > ?1 ORDER BY connection";
const NOTED: &str = "SELECT body FROM note WHERE name = ?1";
const CREDENTIAL: &str = "SELECT name, module, kind, key_id, sealed, last_used, works FROM credential WHERE name = ?1";
const CREDENTIALS: &str = "SELECT name, module, kind, key_id, sealed, last_used, works FROM credential ORDER BY name";
const OVER: &str = "SELECT id FROM run WHERE state IN (5, 7, 8) AND (finished < ?1 OR id <= ?2) ORDER BY id LIMIT 500";
const SPARE: &str = "SELECT id FROM run WHERE state IN (5, 7, 8) ORDER BY id DESC LIMIT 1 OFFSET ?1";

pub(super) static SEEN: Rows = Rows::new(
    "WITH v(listen, key) AS (VALUES ",
    2,
    ") SELECT s.key, s.version, s.record FROM v JOIN listen l ON l.name = v.listen \
     CROSS JOIN seen s ON s.listen = l.id AND s.key = v.key",
);

pub(super) static VERSIONS: Rows = Rows::new(
    "WITH v(listen, key) AS (VALUES ",
    2,
    ") SELECT s.key, s.version FROM v JOIN listen l ON l.name = v.listen \
     CROSS JOIN seen s ON s.listen = l.id AND s.key = v.key",
);

/// The connections that read.
#[derive(Debug, Clone)]
pub(super) struct Reader(pub(super) SqlitePool);

/// Inbox.
impl Reader {
    pub(super) async fn position(&self, listen: &str) -> Result<Option<Position>, StoreError> {
        let row = sqlx::query(POSITION).bind(listen).fetch_optional(&self.0).await?;
        row.map(|row| {
            Ok(Position {
                cursor: column::<Option<String>>(&row, 0)?.map(Cursor),
                baseline_done: column(&row, 1)?,
                listing: column(&row, 2)?,
            })
        })
        .transpose()
    }

    pub(super) async fn listens(&self) -> Result<Vec<SmolStr>, StoreError> {
        sqlx::query(LISTENS).fetch_all(&self.0).await?.iter().map(|row| name(row, 0)).collect()
    }

    pub(super) async fn seen(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, Seen>, StoreError> {
        let bind = |values: &mut Values, key: &Key| {
            values.bind(listen).bind(key.0.as_str());
        };
        let mut connection = self.0.acquire().await?;
        let rows = SEEN.over(keys, bind).fetch(&mut connection).await?;
        rows.iter().map(|row| seen(row).map(|seen| (seen.key.clone(), seen))).collect()
    }

    pub(super) async fn versions(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, SmolStr>, StoreError> {
        let bind = |values: &mut Values, key: &Key| {
            values.bind(listen).bind(key.0.as_str());
        };
        let mut connection = self.0.acquire().await?;
        let rows = VERSIONS.over(keys, bind).fetch(&mut connection).await?;
        rows.iter().map(|row| Ok((Key(name(row, 0)?), name(row, 1)?))).collect()
    }

    pub(super) async fn unmet(&self, listen: &str, met: &Met, limit: u32) -> Result<Vec<Seen>, StoreError> {
        let mut snapshot = self.0.begin().await?;
        let kept: i64 = column(&sqlx::query(COUNT_SEEN).bind(listen).fetch_one(&mut *snapshot).await?, 0)?;
        let (mut gone, mut after) = (Vec::new(), SmolStr::default());
        // Everything met is kept, so as many are kept as were met where nothing is gone: the usual case.
        let mut more = usize::try_from(kept).is_ok_and(|kept| kept != met.len());
        while more && gone.len() < limit as usize {
            let rows = sqlx::query(KEYS).bind(listen).bind(after.as_str()).fetch_all(&mut *snapshot).await?;
            let keys = rows.iter().map(|row| name(row, 0).map(Key)).collect::<Result<Vec<_>, _>>()?;
            match keys.last() {
                // The text right behind it.
                Some(last) => after = format!("{last}\0").into(),
                None => more = false,
            }
            gone.extend(keys.into_iter().filter(|key| !met.has(key)));
        }
        snapshot.rollback().await?;
        gone.truncate(limit as usize);
        let mut seen = self.seen(listen, &gone).await?;
        Ok(gone.iter().filter_map(|key| seen.remove(key)).collect())
    }

    pub(super) async fn expectations(&self, watcher: &str, after: i64) -> Result<Watched, StoreError> {
        let row = sqlx::query(WATCHED).bind(watcher).fetch_one(&self.0).await?;
        let mut watched = Watched { total: column::<i64>(&row, 0)?.unsigned_abs(), after: Vec::new() };
        if watched.total > 0 {
            // There may be thousands, and a row as it comes is much larger than what it holds.
            let mut rows = sqlx::query(EXPECTATIONS).bind(watcher).bind(after).fetch(&self.0);
            while let Some(row) = rows.try_next().await? {
                watched.after.push(codec::expectation(&row)?);
            }
        }
        Ok(watched)
    }

    pub(super) async fn open(&self, listen: &str) -> Result<u64, StoreError> {
        let row = sqlx::query(OPEN).bind(listen).fetch_optional(&self.0).await?;
        row.map_or(Ok(0), |row| column::<i64>(&row, 0).map(i64::unsigned_abs))
    }

    pub(super) async fn switched_off(&self) -> Result<BTreeMap<SmolStr, Timestamp>, StoreError> {
        let rows = sqlx::query(SWITCHED_OFF).fetch_all(&self.0).await?;
        rows.iter().map(|row| Ok((name(row, 0)?, instant(column(row, 1)?)))).collect()
    }
}

fn seen(row: &SqliteRow) -> Result<Seen, StoreError> {
    Ok(Seen { key: Key(name(row, 0)?), version: name(row, 1)?, record: codec::record(column(row, 2)?)? })
}

/// Runs.
impl Reader {
    pub(super) async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query(NEXT_DUE).bind(micros(now)).fetch_one(&self.0).await?;
        Ok(column::<Option<i64>>(&row, 0)?.map(instant))
    }

    pub(super) async fn identity(&self, of: &str, ty: &str, identity: &str) -> Result<Option<Key>, StoreError> {
        let row = sqlx::query(IDENTITY).bind(of).bind(ty).bind(identity).fetch_optional(&self.0).await?;
        row.map(|row| name(&row, 0).map(Key)).transpose()
    }
}

/// Ledger.
impl Reader {
    pub(super) async fn list(&self, filter: &Filter) -> Result<Vec<Run>, StoreError> {
        let (sql, values) = listing(filter)?;
        let mut rows = sqlx::query_with(AssertSqlSafe(sql), values).fetch(&self.0);
        let mut runs = Vec::new();
        while let Some(row) = rows.try_next().await? {
            runs.push(KeptRun::read(&row)?.run()?);
        }
        Ok(runs)
    }

    pub(super) async fn show(&self, run: RunId) -> Result<Option<(Run, Vec<Entry>)>, StoreError> {
        let mut snapshot = self.0.begin().await?;
        let Some(row) = sqlx::query(SHOW).bind(run.0).fetch_optional(&mut *snapshot).await? else {
            return Ok(None);
        };
        let entries =
            sqlx::query(JOURNAL).bind(first_place(run)).bind(last_place(run)).fetch_all(&mut *snapshot).await?;
        snapshot.rollback().await?;
        let entries =
            entries.iter().map(|row| codec::parse(column(row, 0)?, "a journal entry")).collect::<Result<_, _>>()?;
        Ok(Some((KeptRun::read(&row)?.run()?, entries)))
    }

    pub(super) async fn journals(&self, runs: &[RunId]) -> Result<BTreeMap<RunId, Vec<Entry>>, StoreError> {
        let bind = |values: &mut Values, run: &RunId| {
            values.bind(run.0);
        };
        let mut connection = self.0.acquire().await?;
        let mut entries = Vec::new();
        for row in JOURNALS.over(runs, bind).fetch(&mut connection).await? {
            entries.push((column::<i64>(&row, 0)?, codec::parse(column(&row, 1)?, "a journal entry")?));
        }
        entries.sort_unstable_by_key(|(place, _)| *place);
        let mut journals: BTreeMap<RunId, Vec<Entry>> = BTreeMap::new();
        for (place, entry) in entries {
            journals.entry(run_at(place)).or_default().push(entry);
        }
        Ok(journals)
    }

    pub(super) async fn counts(&self) -> Result<BTreeMap<(SmolStr, State), u64>, StoreError> {
        let rows = sqlx::query(COUNTS).fetch_all(&self.0).await?;
        let mut counts = BTreeMap::new();
        for row in &rows {
            let state = codec::state(column(row, 1)?)?;
            *counts.entry((name(row, 0)?, state)).or_default() += column::<i64>(row, 2)?.unsigned_abs();
        }
        Ok(counts)
    }
}

/// The statement of a filter: only the conditions that it has, so that an index can serve it.
fn listing(filter: &Filter) -> Result<(String, SqliteArguments), StoreError> {
    let mut sql = concat!(
        "SELECT ",
        run_columns!(),
        " FROM run r JOIN listen l ON l.id = r.listen JOIN change c ON c.run = r.id WHERE true"
    )
    .to_owned();
    let mut values = SqliteArguments::default();
    let add = |sql: &mut String, condition: &str, value: Result<(), sqlx::error::BoxDynError>| {
        sql.push_str(condition);
        value.map_err(|why| StoreError::State(why.to_string()))
    };
    if let Some(listen) = &filter.listen {
        add(&mut sql, " AND r.listen = (SELECT id FROM listen WHERE name = ?)", values.add(listen.as_str()))?;
    }
    if filter.listen.is_none() && !filter.states.contains(&State::Skipped) {
        sql.push_str(" AND l.name NOT LIKE 'await %'");
    }
    if let Some(key) = &filter.key {
        add(&mut sql, " AND r.key = ?", values.add(key.as_str()))?;
    }
    if let Some(since) = filter.since {
        add(&mut sql, " AND r.taken_in >= ?", values.add(micros(since)))?;
    }
    if let Some(after) = filter.after {
        add(&mut sql, " AND r.id > ?", values.add(after.0))?;
    }
    if !filter.states.is_empty() {
        let mut states: Vec<String> = filter.states.iter().map(|state| state_code(*state).to_string()).collect();
        if filter.states.contains(&State::Waiting) {
            states.push(codec::ASIDE.to_string());
        }
        sql.push_str(" AND r.state IN (");
        sql.push_str(&states.join(", "));
        sql.push(')');
    }
    sql.push_str(if filter.oldest_first { " ORDER BY r.id" } else { " ORDER BY r.id DESC" });
    if filter.limit > 0 {
        add(&mut sql, " LIMIT ?", values.add(i64::from(filter.limit)))?;
    }
    Ok((sql, values))
}

/// Facts and credentials.
impl Reader {
    pub(super) async fn plan(&self, id: &PlanId) -> Result<Option<Plan>, StoreError> {
        let row = sqlx::query(PLAN).bind(id.0.as_str()).fetch_optional(&self.0).await?;
        row.map(|row| codec::parse(column(&row, 0)?, "a plan")).transpose()
    }

    pub(super) async fn description(&self, of: &str) -> Result<Option<(Description, Timestamp)>, StoreError> {
        let row = sqlx::query(DESCRIPTION).bind(of).fetch_optional(&self.0).await?;
        row.map(|row| Ok((codec::parse(column(&row, 0)?, "a description")?, instant(column(&row, 1)?)))).transpose()
    }

    pub(super) async fn held(&self, of: &str) -> Result<Option<(Timestamp, String)>, StoreError> {
        let row = sqlx::query(HELD).bind(of).fetch_optional(&self.0).await?;
        row.map(|row| Ok((instant(column(&row, 0)?), column(&row, 1)?))).transpose()
    }

    pub(super) async fn holds(&self, now: Timestamp) -> Result<Vec<(SmolStr, Timestamp, String)>, StoreError> {
        let rows = sqlx::query(HOLDS).bind(micros(now)).fetch_all(&self.0).await?;
        rows.iter().map(|row| Ok((name(row, 0)?, instant(column(row, 1)?), column(row, 2)?))).collect()
    }

    pub(super) async fn noted(&self, of: &str) -> Result<Option<String>, StoreError> {
        let row = sqlx::query(NOTED).bind(of).fetch_optional(&self.0).await?;
        row.map(|row| column(&row, 0)).transpose()
    }

    pub(super) async fn credential(&self, name: &str) -> Result<Option<Sealed>, StoreError> {
        let row = sqlx::query(CREDENTIAL).bind(name).fetch_optional(&self.0).await?;
        row.as_ref().map(sealed).transpose()
    }

    pub(super) async fn credentials(&self) -> Result<Vec<Sealed>, StoreError> {
        sqlx::query(CREDENTIALS).fetch_all(&self.0).await?.iter().map(sealed).collect()
    }
}

fn sealed(row: &SqliteRow) -> Result<Sealed, StoreError> {
    Ok(Sealed {
        name: name(row, 0)?,
        module: name(row, 1)?,
        kind: name(row, 2)?,
        key_id: name(row, 3)?,
        sealed: column(row, 4)?,
        last_used: column::<Option<i64>>(row, 5)?.map(instant),
        works: column(row, 6)?,
    })
}

/// Upkeep.
impl Reader {
    /// Up to 500 runs that are past their time, and the id at and below which there are too many.
    pub(super) async fn over(&self, before: i64, spare: i64) -> Result<Vec<i64>, StoreError> {
        let rows = sqlx::query(OVER).bind(before).bind(spare).fetch_all(&self.0).await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// The newest run that is one too many; 0 if there is none.
    pub(super) async fn spare(&self, retention: &Retention) -> Result<i64, StoreError> {
        let Some(most) = retention.most else { return Ok(0) };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let row = sqlx::query(SPARE).bind(most).fetch_optional(&self.0).await?;
        row.map_or(Ok(0), |row| column(&row, 0))
    }
}

/// When a retention's runs, deliveries and expectations are past their time.
pub(super) fn cutoffs(retention: &Retention, now: Timestamp) -> (i64, i64, i64) {
    let now = micros(now);
    (earlier(now, retention.runs), earlier(now, retention.deliveries), earlier(now, retention.expectations))
}

#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    let everything = Filter {
        listen: Some("l".into()),
        states: vec![State::Ready, State::Done],
        key: Some("k".into()),
        since: Some(Timestamp::UNIX_EPOCH),
        after: Some(RunId(1)),
        oldest_first: true,
        limit: 1,
    };
    let texts = [
        POSITION,
        LISTENS,
        COUNT_SEEN,
        KEYS,
        EXPECTATIONS,
        WATCHED,
        OPEN,
        SWITCHED_OFF,
        NEXT_DUE,
        IDENTITY,
        SHOW,
        COUNTS,
        PLAN,
        DESCRIPTION,
        HELD,
        HOLDS,
        NOTED,
        CREDENTIAL,
        CREDENTIALS,
        OVER,
        SPARE,
    ];
    let listings = [&everything, &Filter::default()].map(|filter| listing(filter).map(|(sql, _)| sql));
    texts.into_iter().map(str::to_owned).chain(listings.into_iter().flatten()).collect()
}
