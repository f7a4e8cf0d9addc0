//! From a loaded program to a runner's parts: the plan, the limits of the project, and the listens that are no more.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use lf_lang::plan::{self, Plan, PlanId, ir::WATCH};
use smol_str::SmolStr;

use super::{Again, Connector, Loaded, Unfit, imagined};
use crate::{
    host::{Limits, News, Options, Parts},
    project::file::LimitSettings,
    store::{Store, StoreError},
};

/// A program without errors, compiled.
#[derive(Debug)]
pub struct Ready {
    pub plan: Arc<Plan>,
    pub id: PlanId,
    pub loaded: Loaded,
}

impl Ready {
    /// Compiles what was loaded; gives it back if it has errors.
    ///
    /// # Errors
    /// The program has errors.
    pub fn new(loaded: Loaded) -> Result<Self, Box<Loaded>> {
        let Some(movement) = &loaded.movement else { return Err(Box::new(loaded)) };
        let plan = Arc::new(plan::compile(movement, &loaded.sources));
        Ok(Self { id: plan.id(), plan, loaded })
    }

    /// Listens of the store with a position or open changes that this program does not have.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn vanished(&self, store: &dyn Store) -> Result<Vec<SmolStr>, StoreError> {
        let present: BTreeSet<_> = self.plan.listens.iter().map(|listen| &listen.name).collect();
        let known = store.listens().await?;
        // What runs wait for goes with them.
        Ok(known.into_iter().filter(|listen| !present.contains(listen) && !listen.starts_with(WATCH)).collect())
    }

    /// Refuses to run while the store knows listens that the program does not have: their changes would be left.
    ///
    /// # Errors
    /// The store cannot be read; or the listens, and what to do.
    pub async fn refuse_vanished(&self, store: &dyn Store) -> Result<Result<(), Unfit>, StoreError> {
        let vanished = self.vanished(store).await?;
        let Some(first) = vanished.first() else { return Ok(Ok(())) };
        let names: Vec<_> = vanished.iter().map(|listen| format!("`{listen}`")).collect();
        let names = names.join(", ");
        let why = format!("no file has the listen {names} any more, which has a position or open changes");
        let kept = format!("if it was renamed, let it keep its name: `listen as \"{first}\" to …`");
        Ok(Err(Unfit { why, help: vec![kept, format!("if it is over: `listen-fire run --drop '{first}'`")] }))
    }

    /// Drops a listen that is no more, with its position and its open changes.
    ///
    /// # Errors
    /// The store cannot be changed; or the program has the listen, or nobody knows it.
    pub async fn forget(
        &self,
        store: &dyn Store,
        listen: &str,
        now: Timestamp,
    ) -> Result<Result<(), Unfit>, StoreError> {
        let vanished = self.vanished(store).await?;
        if vanished.iter().any(|gone| gone == listen) {
            return store.drop_listen(listen, now).await.map(Ok);
        }
        if self.plan.listens.iter().any(|present| present.name == listen) {
            return Ok(Err(Unfit::new(format!("the listen `{listen}` is in the files: it is not dropped"))));
        }
        let unknown = Unfit::new(format!("there is no listen `{listen}` to drop"));
        Ok(Err(unknown.near(listen, vanished.iter().map(SmolStr::as_str))))
    }

    /// What a runner is made of.
    #[must_use]
    pub fn parts(
        &self,
        connector: Connector,
        store: Arc<dyn Store>,
        settings: &LimitSettings,
        options: Options,
        news: News,
    ) -> Parts {
        let imagined = if options.dry_run { imagined::answers(&self.loaded.catalog) } else { options.imagined };
        let concurrency = settings.concurrency.unwrap_or(options.concurrency);
        let options = Options { imagined, concurrency, ..options };
        let old = self.loaded.old.iter().filter_map(|(key, _)| self.loaded.lock.connections.get_key_value(key));
        let expected = old.map(|(key, locked)| (key.clone(), locked.clone())).collect();
        Parts {
            plan: self.plan.clone(),
            plan_id: self.id.clone(),
            store,
            connections: self.loaded.connections.clone(),
            clock: connector.clock.clone(),
            random: connector.random.clone(),
            holds: connector.holds.clone(),
            reconnect: Some(Arc::new(Again { connector, requests: self.loaded.requests.clone(), expected })),
            limits: limits(settings),
            options,
            news,
        }
    }
}

/// What a run may use, as the project says.
pub(crate) fn limits(settings: &LimitSettings) -> Limits {
    let default = Limits::default();
    Limits {
        calls: settings.calls.unwrap_or(default.calls),
        rows: settings.rows.unwrap_or(default.rows),
        value: settings.value.unwrap_or(default.value),
        file: settings.file.unwrap_or(default.file),
        journal: settings.journal.unwrap_or(default.journal),
        call: settings.call.unwrap_or(default.call),
        waiting: settings.waiting.unwrap_or(default.waiting),
        depth: settings.depth.unwrap_or(default.depth),
        burst: settings.burst.unwrap_or(default.burst),
        away: settings.away.unwrap_or(default.away),
        silence: default.silence,
    }
}
