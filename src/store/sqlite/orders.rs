//! What people order, one after the other: rare, so plain.

use lf_lang::run::Entry;
use sqlx::{Row as _, SqliteConnection};

use super::{
    codec::{self, first_place, last_place},
    desk::Desk,
    error::Failure,
    journal::missing,
    op::{Command, Op},
    standing,
};
use crate::store::StoreError;

pub(super) const JOURNAL: &str = "SELECT body FROM entry WHERE place BETWEEN ?1 AND ?2 ORDER BY place";
const ENTRY: &str = "INSERT INTO entry (place, body) VALUES (?1, ?2)";

pub(super) async fn carry_out(
    connection: &mut SqliteConnection,
    desk: &mut Desk,
    ops: &mut [Op],
) -> Result<(), Failure> {
    for op in ops {
        if let Op::Order(job) = op {
            job.answer = match one(connection, desk, &job.input).await? {
                Ok(()) => Some(Ok(())),
                Err(refused) => Some(Err(refused)),
            };
        }
    }
    Ok(())
}

async fn one(
    connection: &mut SqliteConnection,
    desk: &mut Desk,
    command: &Command,
) -> Result<Result<(), StoreError>, Failure> {
    let id = command.run;
    let Some(mut run) = desk.take(connection, &[id]).await?.remove(&id) else {
        return Ok(Err(missing(id)));
    };
    let rows = sqlx::query(JOURNAL).bind(first_place(id)).bind(last_place(id)).fetch_all(&mut *connection).await?;
    let entries: Vec<Entry> =
        rows.iter().map(|row| codec::parse(row.try_get(0)?, "a journal entry")).collect::<Result<_, StoreError>>()?;
    let ordered = match run.standing.order(id, &command.order, command.now, &entries) {
        Ok(ordered) => ordered,
        Err(refused) => return Ok(Err(refused)),
    };
    if let (Some(entry), Some(place)) = (&ordered.entry, run.next_place) {
        let body = codec::text(entry)?;
        sqlx::query(ENTRY).bind(place).bind(body).execute(&mut *connection).await?;
    }
    standing::store(connection, &[(id, &run.standing)]).await?;
    standing::reseat_turn(connection, run.listen, &run.key, ordered.floor.unwrap_or(0)).await?;
    Ok(Ok(()))
}
#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[JOURNAL, ENTRY];
