//! The runs that this program has claimed, in memory as the tables have them: a run under way is written to at every
//! step, and read only once.
//!
//! INVARIANT: what lies here is what the tables say. Emptied when another program wrote to the file, and after a
//! rollback; whoever changes a run by another way than through here forgets it.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use sqlx::{Row as _, SqliteConnection};

use super::{
    codec::{self, column, name, run_at, standing, standing_columns},
    error::Failure,
    rows::{Rows, Values},
};
use crate::store::{RunId, State, rules::Standing};

/// A run that a transaction works on.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) listen: i64,
    pub(super) key: SmolStr,
    pub(super) standing: Standing,
    /// Where its next journal entry goes; `None` when the journal is full.
    pub(super) next_place: Option<i64>,
    pub(super) changed: Changed,
}

/// What of its standing is to be written back. A narrow change leaves the indexes alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) plan: bool,
    pub(super) due: bool,
    /// All of it.
    pub(super) all: bool,
}

#[derive(Debug, Default)]
pub(super) struct Desk {
    /// SQLite's number that moves when another connection has written.
    version: Option<i64>,
    runs: BTreeMap<RunId, Loaded>,
    /// Listens that are switched off.
    off: BTreeSet<i64>,
}

pub(super) const VERSION: &str = "PRAGMA data_version";
pub(super) const OFF: &str = "SELECT id FROM listen WHERE off IS NOT NULL";

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

impl Desk {
    /// Inside a transaction: empties the desk if another program wrote since it was last looked at.
    pub(super) async fn refresh(&mut self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        let version = sqlx::query(VERSION).fetch_one(&mut *connection).await?.try_get(0)?;
        if self.version != Some(version) {
            self.clear();
            let off = sqlx::query(OFF).fetch_all(connection).await?;
            self.off = off.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?;
            self.version = Some(version);
        }
        Ok(())
    }

    pub(super) fn is_off(&self, listen: i64) -> bool {
        self.off.contains(&listen)
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.version = None;
    }

    /// Lays a run down; one that is not under way is not needed again.
    pub(super) fn put(&mut self, id: RunId, run: Loaded) {
        if run.standing.state == State::Running {
            self.runs.insert(id, Loaded { changed: Changed::default(), ..run });
        }
    }

    /// Takes these runs up, reading those that do not lie here.
    pub(super) async fn take(
        &mut self,
        connection: &mut SqliteConnection,
        runs: &[RunId],
    ) -> Result<BTreeMap<RunId, Loaded>, Failure> {
        let mut taken = BTreeMap::new();
        let mut missing = Vec::new();
        for id in runs {
            match self.runs.remove(id) {
                Some(run) => {
                    taken.insert(*id, run);
                }
                None => missing.push(*id),
            }
        }
        let bind = |values: &mut Values, run: &RunId| {
            values.bind(run.0);
        };
        for row in LOAD.over(&missing, bind).fetch(connection).await? {
            let id = RunId(column(&row, 0)?);
            let next = column::<Option<i64>>(&row, 3)?.map_or_else(|| codec::first_place(id), |last| last + 1);
            let run = Loaded {
                listen: column(&row, 1)?,
                key: name(&row, 2)?,
                next_place: (run_at(next) == id).then_some(next),
                standing: standing(&row, 4)?,
                changed: Changed::default(),
            };
            taken.insert(id, run);
        }
        Ok(taken)
    }
}
