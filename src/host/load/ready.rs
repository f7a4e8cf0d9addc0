//! From a loaded program to a runner's parts: the plan, the limits of the project, and the listens that are no more.

use std::{collections::BTreeSet, sync::Arc};

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

    /// Of the listens that are no more, those that a person names, to be dropped, and those that are left over. What is
    /// gone already is neither.
    ///
    /// # Errors
    /// The store cannot be read; or a listen is in the files, or another may be meant.
    pub async fn over(&self, store: &dyn Store, named: &[String]) -> Result<Result<Over, Unfit>, StoreError> {
        let vanished = self.vanished(store).await?;
        let (drop, left): (Vec<SmolStr>, Vec<SmolStr>) =
            vanished.into_iter().partition(|listen| named.iter().any(|name| listen.as_str() == name));
        for name in named.iter().filter(|name| !drop.iter().any(|listen| listen.as_str() == name.as_str())) {
            if self.plan.listens.iter().any(|present| present.name == name) {
                return Ok(Err(Unfit::new(format!("the listen `{name}` is in the files: it is not dropped"))));
            }
            let unknown = Unfit::new(format!("there is no listen `{name}` to drop"));
            let unknown = unknown.near(name, left.iter().map(SmolStr::as_str));
            if !unknown.help.is_empty() {
                return Ok(Err(unknown));
            }
        }
        Ok(Ok(Over { drop, left }))
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

/// Listens that no file has any more.
#[derive(Debug)]
pub struct Over {
    pub drop: Vec<SmolStr>,
    pub left: Vec<SmolStr>,
}

impl Over {
    /// What to do about those that are left over: their changes would be left lying.
    #[must_use]
    pub fn unfit(&self) -> Option<Unfit> {
        let first = self.left.first()?;
        let names: Vec<_> = self.left.iter().map(|listen| format!("`{listen}`")).collect();
        let (noun, verb) = if names.len() == 1 { ("listen", "has") } else { ("listens", "have") };
        let names = names.join(", ");
        let why = format!("no file has the {noun} {names} any more, which {verb} a position or open changes");
        let kept = format!("if it was renamed, let it keep its name: `listen as \"{first}\" to …`");
        let drops: Vec<_> = self.drop.iter().chain(&self.left).map(|listen| format!("--drop '{listen}'")).collect();
        Some(Unfit { why, help: vec![kept, format!("if it is over: `listen-fire run {}`", drops.join(" "))] })
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
