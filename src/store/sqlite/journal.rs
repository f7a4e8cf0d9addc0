//! Journal entries, ends of claims and renewals of one transaction, all together.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use sqlx::SqliteConnection;

use super::{
    desk::{Changed, Desk, Loaded},
    error::Failure,
    op::{Append, End, Expectation, Op, Renew},
    rows::{Rows, Values},
    standing,
};
use crate::store::{Park, Release, RunId, StoreError};

pub(super) static ENTRIES: Rows = Rows::new("INSERT INTO entry (place, body) VALUES ", 2, "");

pub(super) static EXPECT: Rows =
    Rows::new("INSERT INTO expectation (watcher, connection, ty, key, fields, run, listen, depth, at) VALUES ", 9, "");

/// What is to be written at the end.
#[derive(Default)]
struct Sheet<'o> {
    entries: Vec<(i64, &'o str)>,
    expect: Vec<&'o Expectation>,
    /// Records whose turn is free.
    turns: Vec<(i64, SmolStr)>,
    parked: Vec<(RunId, &'o Park)>,
}

pub(super) fn missing(run: RunId) -> StoreError {
    StoreError::Missing(format!("there is no run {run}"))
}

/// Does every append, release and renewal among the changes.
pub(super) async fn write(connection: &mut SqliteConnection, desk: &mut Desk, ops: &mut [Op]) -> Result<(), Failure> {
    let runs = named(ops);
    if runs.is_empty() {
        return Ok(());
    }
    let mut loaded = desk.take(connection, &runs).await?;
    let mut sheet = Sheet::default();
    for op in &mut *ops {
        match op {
            Op::Append(job) => {
                job.answer =
                    Some(loaded.get_mut(&job.input.run).ok_or_else(|| missing(job.input.run)).and_then(|run| {
                        if job.input.intends && desk.is_off(run.listen) {
                            run.standing.check(job.input.fence).and(Err(StoreError::Off))
                        } else {
                            append(run, &job.input, &mut sheet)
                        }
                    }));
            }
            Op::Release(job) => {
                job.answer = Some(
                    loaded
                        .get_mut(&job.input.run)
                        .ok_or_else(|| missing(job.input.run))
                        .and_then(|run| release(run, &job.input, &mut sheet)),
                );
            }
            Op::Renew(job) => {
                let Renew { claims, until } = &job.input;
                let mut lost = Vec::new();
                for (id, fence) in claims {
                    match loaded.get_mut(id).filter(|run| run.standing.is_held_by(*fence)) {
                        Some(run) => {
                            run.standing.due = Some(*until);
                            run.changed.due = true;
                        }
                        None => lost.push(*id),
                    }
                }
                job.answer = Some(Ok(lost));
            }
            Op::TakeIn(_) | Op::Order(_) | Op::Small(_) | Op::Prune(_) | Op::Claim(_) => {}
        }
    }
    put(connection, &sheet).await?;
    standing::write_back(connection, &loaded).await?;
    standing::pass_turn(connection, &sheet.turns, 0).await?;
    for (run, park) in sheet.parked {
        standing::wake_if_heard(connection, run, park).await?;
    }
    for (id, run) in loaded {
        desk.put(id, run);
    }
    Ok(())
}

/// The runs that these changes are about, each once.
fn named(ops: &[Op]) -> Vec<RunId> {
    let mut runs = BTreeSet::new();
    for op in ops {
        match op {
            Op::Append(job) => {
                runs.insert(job.input.run);
            }
            Op::Release(job) => {
                runs.insert(job.input.run);
            }
            Op::Renew(job) => runs.extend(job.input.claims.iter().map(|(run, _)| *run)),
            Op::TakeIn(_) | Op::Order(_) | Op::Small(_) | Op::Prune(_) | Op::Claim(_) => {}
        }
    }
    runs.into_iter().collect()
}

fn append<'o>(run: &mut Loaded, append: &'o Append, sheet: &mut Sheet<'o>) -> Result<(), StoreError> {
    run.standing.check(append.fence)?;
    add_entries(run, &append.entries, sheet)?;
    if let Some(plan) = &append.plan {
        run.standing.plan = Some(plan.clone());
        run.changed.plan = true;
    }
    sheet.expect.extend(&append.expect);
    Ok(())
}

fn release<'o>(run: &mut Loaded, end: &'o End, sheet: &mut Sheet<'o>) -> Result<(), StoreError> {
    let mut standing = run.standing.clone();
    standing.release(end.fence, end.release.clone(), end.now)?;
    add_entries(run, &end.entries, sheet)?;
    if let Some(plan) = &end.plan {
        standing.plan = Some(plan.clone());
    }
    run.standing = standing;
    run.changed = Changed { all: true, ..run.changed };
    sheet.turns.push((run.listen, run.key.clone()));
    if let Release::Park(park) = &end.release
        && !park.awaits.is_empty()
    {
        sheet.parked.push((end.run, park));
    }
    Ok(())
}

fn add_entries<'o>(run: &mut Loaded, entries: &'o [String], sheet: &mut Sheet<'o>) -> Result<(), StoreError> {
    let Some(first) = run.next_place else {
        return if entries.is_empty() { Ok(()) } else { Err(full()) };
    };
    let room = super::codec::last_place(super::codec::run_at(first)) - first;
    let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    // The last place stays free, so that the next one is always the run's own.
    if count > room {
        return Err(full());
    }
    sheet.entries.extend((first..).zip(entries.iter().map(String::as_str)));
    run.next_place = Some(first + count);
    Ok(())
}

fn full() -> StoreError {
    StoreError::State("the run's journal is full".to_owned())
}

async fn put(connection: &mut SqliteConnection, sheet: &Sheet<'_>) -> Result<(), sqlx::Error> {
    let entry = |values: &mut Values, (place, body): &(i64, &str)| {
        values.bind(*place).bind(*body);
    };
    ENTRIES.over(&sheet.entries, entry).run(connection).await?;
    let expectation = |values: &mut Values, expectation: &&Expectation| {
        values
            .bind(expectation.watcher.as_str())
            .bind(expectation.connection.as_str())
            .bind(expectation.ty.as_str())
            .bind(expectation.key.as_deref())
            .bind(expectation.fields.as_str())
            .bind(expectation.run)
            .bind(expectation.listen.as_str())
            .bind(i64::from(expectation.depth))
            .bind(expectation.at);
    };
    EXPECT.over(&sheet.expect, expectation).run(connection).await.map(drop)
}
