//! Batches of sources on their way in: what was seen, what is new, and where the source stands.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use sqlx::{Row as _, SqliteConnection};

use super::{
    codec::{column, kind, kind_code, name, parse, standing as standing_at, standing_columns, state_code, text},
    error::Failure,
    op::{NewRun, Op, TakeIn},
    rows::{Rows, Values},
    standing,
    writer::Listens,
};
use crate::store::{
    RunId, State,
    rules::{Standing, United, debounced, united},
};

pub(super) static ADD_LISTENS: Rows = Rows::new("INSERT INTO listen (name) VALUES ", 1, " ON CONFLICT DO NOTHING");
pub(super) static FIND_LISTENS: Rows =
    Rows::new("WITH v(name) AS (VALUES ", 1, ") SELECT l.name, l.id FROM v CROSS JOIN listen l ON l.name = v.name");

/// Learns the numbers of these listens, giving one to each that has none.
pub(super) async fn learn(
    connection: &mut SqliteConnection,
    listens: &mut Listens,
    names: BTreeSet<SmolStr>,
) -> Result<(), Failure> {
    let unknown: Vec<SmolStr> = names.into_iter().filter(|name| !listens.contains_key(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let bind = |values: &mut Values, name: &SmolStr| {
        values.bind(name.as_str());
    };
    ADD_LISTENS.over(&unknown, bind).run(connection).await?;
    for row in FIND_LISTENS.over(&unknown, bind).fetch(connection).await? {
        listens.insert(name(&row, 0)?, column(&row, 1)?);
    }
    Ok(())
}

/// A change that may be new, in the order in which it came.
struct Coming<'o> {
    batch: usize,
    listen: i64,
    run: &'o NewRun,
    standing: Standing,
    now: i64,
}

/// Takes in every batch among the changes.
pub(super) async fn take_in(
    connection: &mut SqliteConnection,
    listens: &mut Listens,
    ops: &mut [Op],
) -> Result<(), Failure> {
    let mut jobs: Vec<_> = ops
        .iter_mut()
        .filter_map(|op| match op {
            Op::TakeIn(job) => Some(job),
            Op::Append(_)
            | Op::Release(_)
            | Op::Renew(_)
            | Op::Order(_)
            | Op::Small(_)
            | Op::Prune(_)
            | Op::Claim(_) => None,
        })
        .collect();
    if jobs.is_empty() {
        return Ok(());
    }
    let names = jobs.iter().flat_map(|job| job.input.runs.iter().map(|run| &run.listen).chain([&job.input.listen]));
    learn(connection, listens, names.cloned().collect()).await?;
    let mut answers: Vec<Result<Vec<RunId>, _>> = Vec::with_capacity(jobs.len());
    let mut coming = Vec::new();
    let mut fulfilled = Vec::new();
    for (batch, job) in jobs.iter().enumerate() {
        let input = &job.input;
        let standing = |run: &NewRun| Standing::taken_in(run.state, run.reason.clone(), input.now);
        match input.runs.iter().map(standing).collect::<Result<Vec<_>, _>>() {
            Ok(standings) => {
                answers.push(Ok(Vec::new()));
                for (run, standing) in input.runs.iter().zip(standings) {
                    let listen = number(listens, &run.listen)?;
                    coming.push(Coming { batch, listen, run, standing, now: input.now });
                }
                fulfilled.extend(&input.fulfilled);
                remember(connection, number(listens, &input.listen)?, input).await?;
            }
            Err(refused) => answers.push(Err(refused)),
        }
    }
    let fulfil = |values: &mut Values, id: &i64| {
        values.bind(*id);
    };
    FULFIL.over(&fulfilled, fulfil).run(connection).await?;
    // Those that wait for more of their record go one by one.
    let (gathering, plain): (Vec<_>, Vec<_>) =
        coming.into_iter().partition(|coming| coming.run.debounce.is_some() && coming.standing.state == State::Ready);
    let mut new = insert(connection, plain).await?;
    for coming in gathering {
        new.extend(gather(connection, coming).await?);
    }
    for (batch, id) in new {
        if let Some(Ok(ids)) = answers.get_mut(batch) {
            ids.push(id);
        }
    }
    for (job, answer) in jobs.iter().zip(&answers) {
        if job.input.wakes && answer.as_ref().is_ok_and(|ids| !ids.is_empty()) {
            standing::wake(connection, &job.input.listen).await?;
        }
    }
    for (job, answer) in jobs.iter_mut().zip(answers) {
        job.answer = Some(answer);
    }
    Ok(())
}

pub(super) fn number(listens: &Listens, name: &SmolStr) -> Result<i64, Failure> {
    listens.get(name).copied().ok_or_else(|| Failure::Unusable(format!("the store lost the listen `{name}`")))
}

pub(super) static FULFIL: Rows = Rows::new("DELETE FROM expectation WHERE id IN (", 1, ")");
pub(super) const MOVE: &str =
    "UPDATE listen SET placed = 1, cursor = ?2, baseline_done = ?3, listing = ?4 WHERE id = ?1";
pub(super) static SEEN: Rows = Rows::new(
    "INSERT INTO seen (listen, key, version, record) VALUES ",
    4,
    " ON CONFLICT (listen, key) DO UPDATE SET version = excluded.version, record = excluded.record",
);
pub(super) static FORGET: Rows = Rows::new(
    "WITH v(listen, key) AS (VALUES ",
    2,
    ") DELETE FROM seen WHERE rowid IN (SELECT s.rowid FROM v CROSS JOIN seen s ON s.listen = v.listen AND s.key = v.key)",
);

/// Position and what was seen, of one batch: two of one listen must not be mixed.
async fn remember(connection: &mut SqliteConnection, listen: i64, batch: &TakeIn) -> Result<(), Failure> {
    if let Some(position) = &batch.position {
        sqlx::query(MOVE)
            .bind(listen)
            .bind(position.cursor.as_ref().map(|cursor| cursor.0.as_str()))
            .bind(position.baseline_done)
            .bind(position.listing)
            .execute(&mut *connection)
            .await?;
    }
    let see = |values: &mut Values, (key, version, record): &(SmolStr, SmolStr, String)| {
        values.bind(listen).bind(key.as_str()).bind(version.as_str()).bind(record.as_str());
    };
    SEEN.over(&batch.seen, see).run(connection).await?;
    let forget = |values: &mut Values, key: &SmolStr| {
        values.bind(listen).bind(key.as_str());
    };
    FORGET.over(&batch.forget, forget).run(connection).await?;
    Ok(())
}

pub(super) const LAST_DELIVERY: &str = "SELECT coalesce(max(id), 0) FROM delivery";
pub(super) static DELIVER: Rows =
    Rows::new("INSERT INTO delivery (listen, delivery, at) VALUES ", 3, " ON CONFLICT DO NOTHING");
pub(super) const DELIVERED: &str = "SELECT listen, delivery FROM delivery WHERE id > ?1";
pub(super) static OPEN: Rows = Rows::new(
    "WITH v(listen, key) AS (VALUES ",
    2,
    ") SELECT v.listen, v.key FROM v WHERE EXISTS \
     (SELECT 1 FROM run o WHERE o.listen = v.listen AND o.key = v.key AND o.state < 5)",
);
pub(super) const LAST_RUN: &str = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'run'";
pub(super) static RUNS: Rows = Rows::new(
    "INSERT INTO run (id, listen, key, delivery, kind, at, \"by\", depth, cause, state, reason, attempts, fence, \
     taken_in, finished, due, not_before) VALUES ",
    17,
    "",
);
pub(super) static CHANGES: Rows = Rows::new("INSERT INTO change (run, record, before, fields) VALUES ", 4, "");

/// Stores those that are new; answers their ids with the batch of each.
async fn insert(connection: &mut SqliteConnection, coming: Vec<Coming<'_>>) -> Result<Vec<(usize, RunId)>, Failure> {
    let deliver = |values: &mut Values, coming: &Coming<'_>| {
        values.bind(coming.listen).bind(coming.run.delivery.as_str()).bind(coming.now);
    };
    if coming.is_empty() {
        return Ok(Vec::new());
    }
    let last: i64 = sqlx::query(LAST_DELIVERY).fetch_one(&mut *connection).await?.try_get(0)?;
    let delivered = DELIVER.over(&coming, deliver).run(connection).await?;
    let mut new = coming;
    if usize::try_from(delivered).is_ok_and(|delivered| delivered < new.len()) {
        let mut fresh = BTreeSet::new();
        for row in sqlx::query(DELIVERED).bind(last).fetch_all(&mut *connection).await? {
            fresh.insert((column::<i64>(&row, 0)?, name(&row, 1)?));
        }
        new.retain(|coming| fresh.remove(&(coming.listen, coming.run.delivery.clone())));
    }
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let record = |values: &mut Values, coming: &Coming<'_>| {
        values.bind(coming.listen).bind(coming.run.key.as_str());
    };
    let mut open = BTreeSet::new();
    for row in OPEN.over(&new, record).fetch(connection).await? {
        open.insert((column::<i64>(&row, 0)?, name(&row, 1)?));
    }
    for coming in &mut new {
        if coming.standing.state.keeps_turn()
            && open.insert((coming.listen, coming.run.key.clone()))
            && coming.standing.state == State::Ready
        {
            coming.standing.due = Some(coming.standing.not_before.unwrap_or(0));
        }
    }
    let last: i64 = sqlx::query(LAST_RUN).fetch_one(&mut *connection).await?.try_get(0)?;
    let new: Vec<(i64, Coming<'_>)> = (last + 1..).zip(new).collect();
    RUNS.over(&new, bind_run).run(connection).await?;
    let change = |values: &mut Values, (id, coming): &(i64, Coming<'_>)| {
        let fields = coming.run.fields.as_ref().and_then(|fields| text(fields).ok());
        values.bind(*id).bind(coming.run.record.as_str()).bind(coming.run.before.as_deref()).bind(fields);
    };
    CHANGES.over(&new, change).run(connection).await?;
    Ok(new.into_iter().map(|(id, coming)| (coming.batch, RunId(id))).collect())
}

pub(super) const LAST_OF_RECORD: &str = concat!(
    "SELECT r.id, r.kind, r.taken_in, c.fields, ",
    standing_columns!(),
    " FROM run r JOIN change c ON c.run = r.id WHERE r.listen = ?1 AND r.key = ?2 AND r.state < 5 \
     ORDER BY r.id DESC LIMIT 1"
);
pub(super) const GATHER: &str = "UPDATE run SET kind = ?2, at = ?3, \"by\" = ?4, depth = max(depth, ?5), \
     cause = coalesce(?6, cause), not_before = ?7, due = CASE WHEN due IS NULL THEN NULL ELSE ?7 END WHERE id = ?1";
pub(super) const GATHER_CHANGE: &str = "UPDATE change SET record = ?2, fields = ?3 WHERE run = ?1";

/// A change that waits for more of its record: one with the record's last run, if that still waits, else a new run.
async fn gather(connection: &mut SqliteConnection, mut coming: Coming<'_>) -> Result<Vec<(usize, RunId)>, Failure> {
    let (run, now) = (coming.run, coming.now);
    let Some(length) = run.debounce else { return insert(connection, vec![coming]).await };
    let last = sqlx::query(LAST_OF_RECORD).bind(coming.listen).bind(run.key.as_str());
    let last = last.fetch_optional(&mut *connection).await?;
    let waits = match &last {
        Some(row) => standing_at(row, 4)?.is_gathering(),
        None => false,
    };
    let Some(row) = last.filter(|_| waits) else {
        coming.standing.not_before = Some(debounced(now, now, length));
        return insert(connection, vec![coming]).await;
    };
    let deliver = |values: &mut Values, coming: &&Coming<'_>| {
        values.bind(coming.listen).bind(coming.run.delivery.as_str()).bind(coming.now);
    };
    if DELIVER.over(&[&coming], deliver).run(&mut *connection).await? == 0 {
        return Ok(Vec::new());
    }
    let id: i64 = column(&row, 0)?;
    let fields: Option<Vec<SmolStr>> = match column::<Option<&str>>(&row, 3)? {
        Some(fields) => Some(parse(fields, "a change's fields")?),
        None => None,
    };
    let before = (kind(column(&row, 1)?)?, fields.as_deref());
    let United { kind, fields } = united(before, (kind(run.kind)?, run.fields.as_deref()));
    let until = debounced(column(&row, 2)?, now, length);
    sqlx::query(GATHER)
        .bind(id)
        .bind(kind_code(kind))
        .bind(run.at)
        .bind(run.by.as_deref())
        .bind(i64::from(run.depth))
        .bind(run.cause)
        .bind(until)
        .execute(&mut *connection)
        .await?;
    let fields = fields.map(|fields| text(&fields)).transpose()?;
    sqlx::query(GATHER_CHANGE).bind(id).bind(run.record.as_str()).bind(fields).execute(connection).await?;
    Ok(Vec::new())
}

fn bind_run(values: &mut Values, (id, coming): &(i64, Coming<'_>)) {
    let Coming { batch: _, listen, run, standing, now } = coming;
    values
        .bind(*id)
        .bind(*listen)
        .bind(run.key.as_str())
        .bind(run.delivery.as_str())
        .bind(run.kind)
        .bind(run.at)
        .bind(run.by.as_deref())
        .bind(i64::from(run.depth))
        .bind(run.cause)
        .bind(state_code(standing.state))
        .bind(standing.reason.as_deref())
        .bind(i64::from(standing.attempts))
        .bind(standing.fence)
        .bind(*now)
        .bind(standing.finished)
        .bind(standing.due)
        .bind(standing.not_before);
}
