//! From the first task to the last: start, drain, end.

use std::sync::{Arc, atomic::Ordering};

use tokio::{sync::watch, task::JoinSet};

use super::{
    Parts, clock, dispatch, listeners,
    news::{News, Reader},
    service::Service,
    watches,
};

/// A running host. Clones are the same host; dropping them all does not stop it.
#[derive(Debug, Clone)]
pub struct Handle {
    service: Arc<Service>,
    ended: watch::Receiver<Option<Summary>>,
}

/// What a host did from start to end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Changes stored, whatever became of them.
    pub taken_in: u64,
    /// Of those: not run (echo), or held (depth, burst).
    pub skipped: u64,
    pub held: u64,
    /// Runs that ended here.
    pub done: u64,
    pub dead: u64,
    pub unsure: u64,
    /// Attempts that failed and will be, or were, made again.
    pub retried: u64,
    /// One line for each dead or unsure run and each source that failed, the first hundred.
    pub problems: Vec<String>,
    /// The store failed, so everything ended.
    pub fatal: Option<String>,
}

impl Summary {
    pub(super) fn problem(&mut self, line: String) {
        if self.problems.len() < 100 {
            self.problems.push(line);
        }
    }
}

impl Handle {
    /// Everything that is told from now on.
    #[must_use]
    pub fn subscribe(&self) -> Reader {
        self.service.news.subscribe()
    }

    /// The sink itself, for a caller that tells others.
    #[must_use]
    pub fn news(&self) -> News {
        self.service.news.clone()
    }

    /// Fetches nothing more, lets running steps end for as long as the options say, gives the rest back. At once;
    /// [`Handle::wait`] waits.
    pub fn stop(&self) {
        self.service.stopping.cancel();
    }

    /// Looks for work now, not at the next turn: a person changed the store.
    pub fn wake(&self) {
        self.service.asked.store(true, Ordering::Relaxed);
        self.service.work.notify_one();
    }

    /// Waits for the end.
    pub async fn wait(&self) -> Summary {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(summary) => summary.clone().unwrap_or_default(),
            // The supervising task was dropped with its runtime.
            Err(_) => self.service.tally().clone(),
        }
    }
}

pub(super) fn start(parts: Parts) -> Handle {
    let service = Arc::new(Service::new(parts));
    let (tell, ended) = watch::channel(None);
    let supervised = service.clone();
    let _detached = tokio::spawn(async move {
        supervise(supervised.clone()).await;
        let summary = supervised.tally().clone();
        tell.send_replace(Some(summary));
    });
    Handle { service, ended }
}

async fn supervise(service: Arc<Service>) {
    let saved =
        service.patiently(|| service.store.save_plan(&service.plan_id, &service.plan, service.clock.now())).await;
    if let Err(error) = saved {
        service.fatal(&error);
        return;
    }
    service.look_at_switches().await;
    let mut sources = JoinSet::new();
    if service.options.listen {
        for listen in service.plan.listens.clone() {
            sources.spawn(listeners::listen(service.clone(), listen));
        }
        match watches::of(&service).await {
            Ok(watches) => {
                for watch in watches {
                    service.looks.begin(&watch.name);
                    sources.spawn(listeners::listen(service.clone(), watch));
                }
            }
            Err(error) => return service.fatal(&error),
        }
    }
    let (all_looked, looked) = watch::channel(false);
    let dispatcher = tokio::spawn(dispatch::run(service.clone(), looked));
    let upkeep = tokio::spawn(prune(service.clone()));
    while let Some(ended) = sources.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            service.tally().problem("a source ended by a defect of listen-fire; restart to listen again".into());
            tracing::error!("a listener ended by a defect: {error}");
        }
    }
    all_looked.send_replace(true);
    if let Err(error) = dispatcher.await {
        service.tally().problem("the dispatcher ended by a defect of listen-fire".into());
        tracing::error!("the dispatcher ended by a defect: {error}");
    }
    service.stopping.cancel();
    service.abandon.cancel();
    if let Err(error) = upkeep.await {
        tracing::error!("upkeep ended by a defect: {error}");
    }
}

/// Removes what is past its time, every hour.
async fn prune(service: Arc<Service>) {
    const EVERY: std::time::Duration = std::time::Duration::from_hours(1);
    let retention = crate::store::Retention::default();
    loop {
        if clock::within(service.clock.as_ref(), EVERY, service.stopping.cancelled()).await.is_some() {
            return;
        }
        match service.store.prune(&retention, service.clock.now()).await {
            Ok(pruned) => tracing::debug!("removed what was past its time: {pruned:?}"),
            Err(error) => tracing::warn!("what is past its time could not be removed: {error}"),
        }
    }
}
