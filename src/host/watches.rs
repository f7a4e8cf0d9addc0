//! The sources that runs wait for: those of this program, and those that runs of an older text still wait for.

use std::collections::BTreeSet;

use lf_lang::plan::{
    Plan, PlanId,
    ir::{Listen, WATCH},
};
use smol_str::SmolStr;

use super::service::Service;
use crate::store::{Filter, Run, State, StoreError};

/// The states of a run that may wait again.
const OPEN: [State; 6] = [State::Ready, State::Running, State::Retry, State::Waiting, State::Unsure, State::Held];

/// Whether this listen is a watch: it is heard, and fires nothing.
pub(super) fn is_watch(listen: &str) -> bool {
    listen.starts_with(WATCH)
}

/// Everything to be heard. What nobody waits for any more is forgotten.
pub(super) async fn of(service: &Service) -> Result<Vec<Listen>, StoreError> {
    let mut watches = service.plan.watches.clone();
    let known = service.patiently(|| service.store.listens()).await?;
    let present = |watches: &[Listen], name: &SmolStr| watches.iter().any(|watch| watch.name == *name);
    let mut older: Vec<SmolStr> = known.into_iter().filter(|name| is_watch(name) && !present(&watches, name)).collect();
    if older.is_empty() {
        return Ok(watches);
    }
    for id in older_plans(service).await? {
        let Some(plan) = service.patiently(|| service.store.plan(&id)).await? else { continue };
        for watch in &plan.watches {
            if older.contains(&watch.name) && !present(&watches, &watch.name) {
                match moved(service, &plan, watch) {
                    Some(watch) => watches.push(watch),
                    None => {
                        let line = format!("`{}` is waited for, and no file connects its system any more", watch.name);
                        service.tally().problem(line);
                    }
                }
                older.retain(|name| *name != watch.name);
            }
        }
    }
    for name in older {
        service.patiently(|| service.store.drop_listen(&name, service.clock.now())).await?;
    }
    Ok(watches)
}

/// The older texts that open runs go by.
async fn older_plans(service: &Service) -> Result<BTreeSet<PlanId>, StoreError> {
    let filter = Filter { states: OPEN.to_vec(), ..Filter::default() };
    let runs: Vec<Run> = service.patiently(|| service.store.list(&filter)).await?;
    Ok(runs.into_iter().filter_map(|run| run.plan).filter(|plan| *plan != service.plan_id).collect())
}

/// A watch of another plan, in this one.
fn moved(service: &Service, plan: &Plan, watch: &Listen) -> Option<Listen> {
    let key = &plan.connection(watch.connection)?.key;
    let here = service.plan.connections.iter().position(|connection| connection.key == *key)?;
    let connection = lf_lang::types::ConnectionId(u32::try_from(here).ok()?);
    Some(Listen { connection, ..watch.clone() })
}

/// Whether a run is open that may wait: else what is heard now is about none.
pub(super) async fn anybody(service: &Service) -> Result<bool, StoreError> {
    let filter = Filter { states: OPEN.to_vec(), limit: 1, ..Filter::default() };
    Ok(!service.patiently(|| service.store.list(&filter)).await?.is_empty())
}
