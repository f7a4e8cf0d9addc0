//! The store in one SQLite file of the project, for one machine: no set-up, durable by default.
//!
//! One task writes and puts concurrent changes into one transaction ([`writer`]); a few connections read beside it.
//! Any number of programs may have the file open; only one of them may [`SqliteStore::lock_runner`].

mod claim;
mod codec;
mod desk;
mod error;
mod journal;
mod op;
mod open;
mod orders;
mod reads;
mod rows;
mod small;
mod standing;
mod taking;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_lang::{
    plan::{Plan, PlanId},
    run::Entry,
};
use lf_module::{Description, Key};
use smol_str::SmolStr;
use sqlx::{Connection as _, SqliteConnection};

pub use self::open::RunLock;
use self::{
    op::{Op, Small},
    reads::Reader,
    writer::Writer,
};
use super::{
    Claimed, Credentials, Expectation, Facts, Fence, Filter, Inbox, Ledger, Met, NewRun, Order, Park, Position, Pruned,
    Release, Retention, Room, Run, RunId, Runs, Sealed, Seen, State, StoreError, TakeIn, Upkeep, Watched,
    rules::{self, micros},
};

/// What a power cut may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing that was acknowledged.
    #[default]
    Full,
    /// The last moments. A crash of the process takes nothing.
    Normal,
}

/// A project's store in one file.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    path: PathBuf,
    writer: Writer,
    reader: Reader,
}

impl SqliteStore {
    /// Opens the file, making it and its folder if they are not there. Needs a running tokio runtime.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] if it is damaged, of a newer version or of something else.
    pub async fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        open::prepare(path)?;
        let options = open::options(path, durability);
        open::migrate(path, &options).await?;
        let connection = SqliteConnection::connect_with(&options).await?;
        let reader = Reader(open::readers(&options));
        Ok(Self { path: path.to_owned(), writer: Writer::start(connection, options), reader })
    }

    /// Takes the project for this process, as its one runner.
    ///
    /// # Errors
    /// [`StoreError::Unusable`], naming the process that has it.
    pub fn lock_runner(&self) -> Result<RunLock, StoreError> {
        RunLock::take(&self.path)
    }

    /// The process that is the project's runner now, if one is.
    ///
    /// # Errors
    /// It cannot be found out.
    pub fn runner(&self) -> Result<Option<String>, StoreError> {
        RunLock::holder(&self.path)
    }

    /// Writes all that is in it to a new file, as it is at this moment, and opens that.
    ///
    /// # Errors
    /// The file is there already, or cannot be written.
    pub async fn copy_to(&self, path: &Path) -> Result<Self, StoreError> {
        open::prepare(path)?;
        let mut connection = SqliteConnection::connect_with(&open::options(&self.path, Durability::Full)).await?;
        let target = path.to_str().ok_or_else(|| StoreError::Unusable("the copy's path is not text".to_owned()))?;
        sqlx::query("VACUUM INTO ?").bind(target).execute(&mut connection).await?;
        connection.close().await?;
        Self::open(path, Durability::Normal).await
    }

    async fn small(&self, small: Small) -> Result<bool, StoreError> {
        self.writer.send(Op::Small, small).await
    }
}

fn coming(run: NewRun) -> op::NewRun {
    op::NewRun {
        listen: run.listen,
        key: run.key.0,
        delivery: run.delivery,
        kind: codec::kind_code(run.kind),
        record: codec::record_text(run.record),
        before: run.before.map(codec::record_text),
        at: micros(run.at),
        by: run.by,
        fields: run.fields,
        debounce: run.debounce,
        depth: run.depth,
        cause: run.cause.map(|cause| cause.0),
        state: run.state,
        reason: run.reason,
    }
}

fn expected(expectation: Expectation) -> op::Expectation {
    op::Expectation {
        watcher: expectation.watcher,
        connection: expectation.connection,
        ty: expectation.ty,
        key: expectation.key.map(|key| key.0),
        fields: codec::record_text(expectation.fields),
        run: expectation.run.0,
        listen: expectation.listen,
        depth: expectation.depth,
        at: micros(expectation.at),
    }
}

#[async_trait]
impl Inbox for SqliteStore {
    async fn position(&self, listen: &str) -> Result<Option<Position>, StoreError> {
        self.reader.position(listen).await
    }

    async fn listens(&self) -> Result<Vec<SmolStr>, StoreError> {
        self.reader.listens().await
    }

    async fn drop_listen(&self, listen: &str, now: Timestamp) -> Result<(), StoreError> {
        self.small(Small::DropListen { listen: listen.into(), now: micros(now) }).await.map(drop)
    }

    async fn seen(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, Seen>, StoreError> {
        self.reader.seen(listen, keys).await
    }

    async fn versions(&self, listen: &str, keys: &[Key]) -> Result<BTreeMap<Key, SmolStr>, StoreError> {
        self.reader.versions(listen, keys).await
    }

    async fn unmet(&self, listen: &str, met: &Met, limit: u32) -> Result<Vec<Seen>, StoreError> {
        self.reader.unmet(listen, met, limit).await
    }

    async fn take_in(&self, listen: &str, batch: TakeIn, now: Timestamp) -> Result<Vec<RunId>, StoreError> {
        let seen = |seen: Seen| (seen.key.0, seen.version, codec::record_text(seen.record));
        let input = op::TakeIn {
            listen: listen.into(),
            seen: batch.seen.into_iter().map(seen).collect(),
            forget: batch.forget.into_iter().map(|key| key.0).collect(),
            runs: batch.runs.into_iter().map(coming).collect(),
            fulfilled: batch.fulfilled,
            position: batch.position,
            wakes: batch.wakes,
            now: micros(now),
        };
        self.writer.send(Op::TakeIn, input).await
    }

    async fn expectations(&self, watcher: &str, after: i64) -> Result<Watched, StoreError> {
        self.reader.expectations(watcher, after).await
    }

    async fn open(&self, listen: &str) -> Result<u64, StoreError> {
        self.reader.open(listen).await
    }

    async fn switch(&self, listen: &str, off: bool, now: Timestamp) -> Result<bool, StoreError> {
        self.small(Small::Switch { listen: listen.into(), off: off.then(|| micros(now)) }).await
    }

    async fn switched_off(&self) -> Result<BTreeMap<SmolStr, Timestamp>, StoreError> {
        self.reader.switched_off().await
    }
}

#[async_trait]
impl Runs for SqliteStore {
    async fn claim(
        &self,
        owner: &str,
        room: &Room,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Vec<Claimed>, StoreError> {
        let input = op::Claim { owner: owner.into(), room: room.clone(), now: micros(now), lease };
        let claimed = self.writer.send(Op::Claim, input).await?;
        claimed
            .into_iter()
            .map(|claim| {
                let entries = codec::entries(&claim.entries)?;
                Ok(Claimed { run: claim.run.run()?, fence: claim.fence, entries })
            })
            .collect()
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.reader.next_due(now).await
    }

    async fn renew(&self, claims: &[(RunId, Fence)], until: Timestamp) -> Result<Vec<RunId>, StoreError> {
        self.writer.send(Op::Renew, op::Renew { claims: claims.to_vec(), until: micros(until) }).await
    }

    async fn append(
        &self,
        run: RunId,
        fence: Fence,
        entries: Vec<Entry>,
        expect: Vec<Expectation>,
    ) -> Result<(), StoreError> {
        let input = op::Append {
            run,
            fence,
            plan: rules::plan_of(&entries).cloned(),
            intends: rules::intends(&entries),
            entries: codec::entry_texts(&entries)?,
            expect: expect.into_iter().map(expected).collect(),
        };
        self.writer.send(Op::Append, input).await
    }

    async fn unexpect(&self, run: RunId, refused: &Expectation) -> Result<(), StoreError> {
        let write = Small::Unexpect {
            run: run.0,
            connection: refused.connection.clone(),
            ty: refused.ty.clone(),
            fields: codec::record_text(refused.fields.clone()),
        };
        self.small(write).await.map(drop)
    }

    async fn release(&self, run: RunId, fence: Fence, mut release: Release, now: Timestamp) -> Result<(), StoreError> {
        let entries = std::mem::take(match &mut release {
            Release::End { entries, .. }
            | Release::Retry { entries, .. }
            | Release::Back { entries, .. }
            | Release::Park(Park { entries, .. }) => entries,
        });
        let input = op::End {
            run,
            fence,
            release,
            plan: rules::plan_of(&entries).cloned(),
            entries: codec::entry_texts(&entries)?,
            now: micros(now),
        };
        self.writer.send(Op::Release, input).await
    }

    async fn identity(&self, connection: &str, ty: &str, identity: &str) -> Result<Option<Key>, StoreError> {
        self.reader.identity(connection, ty, identity).await
    }

    async fn remember_identity(
        &self,
        connection: &str,
        ty: &str,
        identity: &str,
        key: &Key,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let small = Small::Identity {
            connection: connection.into(),
            ty: ty.into(),
            identity: identity.into(),
            key: key.0.clone(),
            at: micros(now),
        };
        self.small(small).await.map(drop)
    }
}

#[async_trait]
impl Ledger for SqliteStore {
    async fn list(&self, filter: &Filter) -> Result<Vec<Run>, StoreError> {
        self.reader.list(filter).await
    }

    async fn show(&self, run: RunId) -> Result<Option<(Run, Vec<Entry>)>, StoreError> {
        self.reader.show(run).await
    }

    async fn journals(&self, runs: &[RunId]) -> Result<BTreeMap<RunId, Vec<Entry>>, StoreError> {
        self.reader.journals(runs).await
    }

    async fn counts(&self) -> Result<BTreeMap<(SmolStr, State), u64>, StoreError> {
        self.reader.counts().await
    }

    async fn order(&self, run: RunId, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.writer.send(Op::Order, op::Command { run, order, now }).await
    }
}

#[async_trait]
impl Facts for SqliteStore {
    async fn save_plan(&self, id: &PlanId, plan: &Plan, now: Timestamp) -> Result<(), StoreError> {
        let small = Small::Plan { id: id.0.clone(), body: codec::text(plan)?, at: micros(now) };
        self.small(small).await.map(drop)
    }

    async fn plan(&self, id: &PlanId) -> Result<Option<Plan>, StoreError> {
        self.reader.plan(id).await
    }

    async fn save_description(
        &self,
        connection: &str,
        description: &Description,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let small =
            Small::Description { connection: connection.into(), body: codec::text(description)?, at: micros(now) };
        self.small(small).await.map(drop)
    }

    async fn description(&self, connection: &str) -> Result<Option<(Description, Timestamp)>, StoreError> {
        self.reader.description(connection).await
    }

    async fn hold(&self, connection: &str, until: Timestamp, why: &str) -> Result<(), StoreError> {
        let small = Small::Hold { connection: connection.into(), until: micros(until), why: why.to_owned() };
        self.small(small).await.map(drop)
    }

    async fn held(&self, connection: &str) -> Result<Option<(Timestamp, String)>, StoreError> {
        self.reader.held(connection).await
    }

    async fn lift(&self, connection: &str) -> Result<(), StoreError> {
        self.small(Small::Lift { connection: connection.into() }).await.map(drop)
    }

    async fn holds(&self, now: Timestamp) -> Result<Vec<(SmolStr, Timestamp, String)>, StoreError> {
        self.reader.holds(now).await
    }

    async fn note(&self, name: &str, text: &str, now: Timestamp) -> Result<(), StoreError> {
        self.small(Small::Note { name: name.into(), body: text.to_owned(), at: micros(now) }).await.map(drop)
    }

    async fn noted(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.reader.noted(name).await
    }
}

#[async_trait]
impl Credentials for SqliteStore {
    async fn put(&self, credential: &Sealed) -> Result<(), StoreError> {
        self.small(Small::PutCredential(Box::new(credential.clone()))).await.map(drop)
    }

    async fn get(&self, name: &str) -> Result<Option<Sealed>, StoreError> {
        self.reader.credential(name).await
    }

    async fn all(&self) -> Result<Vec<Sealed>, StoreError> {
        self.reader.credentials().await
    }

    async fn remove(&self, name: &str) -> Result<bool, StoreError> {
        self.small(Small::RemoveCredential { name: name.into() }).await
    }

    async fn used(&self, name: &str, at: Timestamp, works: bool) -> Result<(), StoreError> {
        if self.small(Small::UsedCredential { name: name.into(), at: micros(at), works }).await? {
            Ok(())
        } else {
            Err(StoreError::Missing(format!("there is no credential `{name}`")))
        }
    }

    async fn lock(&self, name: &str, owner: &str, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
        let (now, until) = (micros(now), micros(until));
        self.small(Small::LockCredential { name: name.into(), owner: owner.into(), now, until }).await
    }

    async fn unlock(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        self.small(Small::UnlockCredential { name: name.into(), owner: owner.into() }).await.map(drop)
    }

    async fn reseal(&self, credential: &Sealed, owner: &str) -> Result<bool, StoreError> {
        self.small(Small::RenewCredential { credential: Box::new(credential.clone()), owner: owner.into() }).await
    }
}

#[async_trait]
impl Upkeep for SqliteStore {
    async fn prune(&self, retention: &Retention, now: Timestamp) -> Result<Pruned, StoreError> {
        let (runs_before, deliveries_before, expectations_before) = reads::cutoffs(retention, now);
        let spare = self.reader.spare(retention).await?;
        let mut pruned = Pruned::default();
        loop {
            let runs = self.reader.over(runs_before, spare).await?;
            let step = op::Prune { runs, deliveries_before, expectations_before };
            let Pruned { runs, deliveries, identities, expectations } = self.writer.send(Op::Prune, step).await?;
            pruned.runs += runs;
            pruned.deliveries += deliveries;
            pruned.identities += identities;
            pruned.expectations += expectations;
            if runs == 0 && deliveries == 0 {
                return Ok(pruned);
            }
        }
    }
}
