//! Handing out the runs whose turn it is.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use sqlx::SqliteConnection;

use super::{
    codec::{ASIDE, KeptRun, column, first_place, name, run_at, run_columns},
    desk::{Changed, Desk, Loaded},
    error::Failure,
    op::{Claim, KeptClaim, Op},
    rows::{Rows, Values},
    standing, taking,
    writer::Listens,
};
use crate::store::{RunId, rules::later};

/// Those that wait for no time, by id; and those past their time, by that time.
pub(super) static CLAIMABLE: Rows = Rows::new(
    "WITH room(listen) AS (VALUES ",
    1,
    ") SELECT r.listen, r.due, r.id, r.state FROM room CROSS JOIN run r WHERE r.id IN \
     (SELECT c.id FROM run c WHERE c.listen = room.listen AND c.due = 0 ORDER BY c.id LIMIT ?) \
     UNION ALL SELECT r.listen, r.due, r.id, r.state FROM room CROSS JOIN run r WHERE r.id IN \
     (SELECT c.id FROM run c WHERE c.listen = room.listen AND c.due > 0 AND c.due <= ? ORDER BY c.due, c.id LIMIT ?)",
);
pub(super) static WHOLE: Rows = Rows::new(
    "WITH wanted(id) AS (VALUES ",
    1,
    concat!(
        ") SELECT ",
        run_columns!(),
        " FROM wanted w CROSS JOIN run r ON r.id = w.id JOIN listen l ON l.id = r.listen JOIN change c ON c.run = r.id"
    ),
);
pub(super) static JOURNALS: Rows = Rows::new(
    "WITH wanted(id) AS (VALUES ",
    1,
    ") SELECT e.place, e.body FROM wanted w CROSS JOIN entry e \
     ON e.place BETWEEN (w.id << 20) AND (w.id << 20) + 1048575",
);

pub(super) static CLAIM: Rows =
    Rows::new("UPDATE run SET state = 1, owner = ?, fence = fence + 1, awaits = NULL, due = ? WHERE id IN (", 1, ")");

/// Does every claim among the changes, one after the other.
pub(super) async fn claim(
    connection: &mut SqliteConnection,
    listens: &mut Listens,
    desk: &mut Desk,
    ops: &mut [Op],
) -> Result<(), Failure> {
    for op in ops {
        if let Op::Claim(job) = op {
            job.answer = Some(Ok(one(connection, listens, desk, &job.input).await?));
        }
    }
    Ok(())
}

async fn one(
    connection: &mut SqliteConnection,
    listens: &mut Listens,
    desk: &mut Desk,
    claim: &Claim,
) -> Result<Vec<KeptClaim>, Failure> {
    let chosen = choose(connection, listens, desk, claim).await?;
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let bind = |values: &mut Values, run: &RunId| {
        values.bind(run.0);
    };
    let until = later(claim.now, claim.lease);
    let mut claimed = BTreeMap::new();
    for row in WHOLE.over(&chosen, bind).fetch(connection).await? {
        let mut run = KeptRun::read(&row)?;
        let fence = run.standing.claim(&claim.owner, until);
        claimed.insert(run.id, KeptClaim { run, fence, entries: Vec::new() });
    }
    let first = |values: &mut Values| {
        values.bind(claim.owner.as_str()).bind(until);
    };
    CLAIM.over_after(&chosen, first, bind).run(connection).await?;
    // A run at its first attempt has no journal yet, and most are.
    let begun: Vec<RunId> = claimed.values().filter(|claim| claim.fence.0 > 1).map(|claim| claim.run.id).collect();
    let mut entries: Vec<(i64, String)> = Vec::new();
    for row in JOURNALS.over(&begun, bind).fetch(connection).await? {
        entries.push((column(&row, 0)?, column(&row, 1)?));
    }
    entries.sort_unstable_by_key(|(place, _)| *place);
    let mut last = BTreeMap::new();
    for (place, entry) in entries {
        if let Some(claim) = claimed.get_mut(&run_at(place)) {
            claim.entries.push(entry);
            last.insert(run_at(place), place);
        }
    }
    for (id, claim) in &claimed {
        let next = last.get(id).map_or_else(|| first_place(*id), |last| last + 1);
        let run = Loaded {
            listen: taking::number(listens, claim.run.listen())?,
            key: claim.run.key().clone(),
            standing: claim.run.standing.clone(),
            next_place: (run_at(next) == *id).then_some(next),
            changed: Changed::default(),
        };
        desk.put(*id, run);
    }
    Ok(claimed.into_values().collect())
}

/// Of each listen that is on and has room, the oldest of those that may be claimed; of all, the oldest.
async fn choose(
    connection: &mut SqliteConnection,
    listens: &mut Listens,
    desk: &Desk,
    claim: &Claim,
) -> Result<Vec<RunId>, Failure> {
    let room = &claim.room;
    let named: Vec<(&SmolStr, u32)> =
        room.listens.iter().filter(|(_, room)| **room > 0).map(|(name, room)| (name, *room)).collect();
    if named.is_empty() || room.total == 0 {
        return Ok(Vec::new());
    }
    taking::learn(connection, listens, named.iter().map(|(name, _)| (*name).clone()).collect()).await?;
    let mut rooms = BTreeMap::new();
    for (name, room) in named {
        let listen = taking::number(listens, name)?;
        if !desk.is_off(listen) {
            rooms.insert(listen, room);
        }
    }
    let numbers: Vec<i64> = rooms.keys().copied().collect();
    let most = i64::from(rooms.values().copied().max().unwrap_or(0).min(room.total));
    let bind = |values: &mut Values, listen: &i64| {
        values.bind(*listen);
    };
    let rows = CLAIMABLE
        .over_with(&numbers, bind, |values| {
            values.bind(most).bind(claim.now).bind(most);
        })
        .fetch(connection)
        .await?;
    let (mut ready, mut past) = (BTreeMap::<i64, Due>::new(), BTreeMap::<i64, Due>::new());
    for row in &rows {
        let due = column(row, 1)?;
        let found = if due == 0 { &mut ready } else { &mut past };
        found.entry(column(row, 0)?).or_default().push((due, RunId(column(row, 2)?)));
    }
    let mut candidates: BTreeMap<i64, Vec<RunId>> = BTreeMap::new();
    let mut aside = false;
    for row in &rows {
        aside |= column::<i64>(row, 3)? == ASIDE;
    }
    for (listen, mut runs) in ready.into_iter().chain(past) {
        runs.sort_unstable();
        let room = rooms.get(&listen).copied().unwrap_or(0) as usize;
        candidates.entry(listen).or_default().extend(runs.into_iter().take(room).map(|(_, run)| run));
    }
    let mut chosen = Vec::new();
    for (listen, mut runs) in candidates {
        runs.sort_unstable();
        runs.truncate(rooms.get(&listen).copied().unwrap_or(0) as usize);
        chosen.append(&mut runs);
    }
    chosen.sort_unstable();
    chosen.truncate(room.total as usize);
    if aside {
        take_back(connection, &mut chosen).await?;
    }
    Ok(chosen)
}

pub(super) static RECORDS: Rows = Rows::new(
    "WITH wanted(id) AS (VALUES ",
    1,
    ") SELECT r.id, r.listen, r.key, r.state, EXISTS (SELECT 1 FROM run o WHERE o.listen = r.listen AND o.key = r.key \
     AND o.state < 5 AND o.state = 1) FROM wanted w CROSS JOIN run r ON r.id = w.id ORDER BY r.state = 9 DESC, r.id",
);

/// Parked runs that did not keep their record's turn take it back; one whose record is worked on waits.
async fn take_back(connection: &mut SqliteConnection, chosen: &mut Vec<RunId>) -> Result<(), Failure> {
    let bind = |values: &mut Values, run: &RunId| {
        values.bind(run.0);
    };
    let mut taken: BTreeSet<(i64, SmolStr)> = BTreeSet::new();
    let mut left = Vec::new();
    for row in RECORDS.over(chosen, bind).fetch(connection).await? {
        let record = (column(&row, 1)?, name(&row, 2)?);
        let (aside, busy) = (column::<i64>(&row, 3)? == ASIDE, column::<bool>(&row, 4)?);
        if taken.contains(&record) || aside && busy {
            left.push(RunId(column(&row, 0)?));
        } else if aside {
            sqlx::query(standing::TAKE_TURN).bind(record.0).bind(record.1.as_str()).execute(&mut *connection).await?;
            taken.insert(record);
        }
    }
    chosen.retain(|run| !left.contains(run));
    Ok(())
}

/// When they are due, and which.
type Due = Vec<(i64, RunId)>;
