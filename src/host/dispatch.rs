//! Claims runs while there is room, keeps the claims alive, and ends them when the runner ends.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use jiff::Timestamp;
use smol_str::SmolStr;
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinSet},
};

use super::{
    clock::{later, until, within},
    executor::{self, Ended},
    service::Service,
};
use crate::store::{Claimed, Fence, Filter, Room, RunId, State, StoreError};

/// How long more runs are waited for to end, where others wait for their places: one claim then fills them together.
const GATHER: Duration = Duration::from_millis(2);
/// How often the store is asked for work that nobody told of: an order by a person, another runner's leavings.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Dispatch {
    service: Arc<Service>,
    running: BTreeMap<RunId, Running>,
    tasks: JoinSet<(RunId, Fence, Ended)>,
    /// Runs that came back because their connection is held.
    held_back: u64,
    /// The last claim filled every place there was.
    full: bool,
}

#[derive(Debug)]
struct Running {
    listen: SmolStr,
    fence: Fence,
    task: AbortHandle,
    /// The store said once that the claim is no more.
    lost: bool,
}

/// Runs until the runner stops; with `once`, until every source was looked at and nothing is left to do now.
pub(super) async fn run(service: Arc<Service>, mut looked: watch::Receiver<bool>) {
    let mut dispatch = Dispatch {
        service: service.clone(),
        running: BTreeMap::new(),
        tasks: JoinSet::new(),
        held_back: 0,
        full: false,
    };
    let mut renewal = service.clock.monotonic() + service.options.lease / 3;
    let mut look = service.clock.monotonic() + LOOK;
    while !service.stopping.is_cancelled() {
        if service.clock.monotonic() >= look || service.asked.swap(false, Ordering::Relaxed) {
            service.look_at_switches().await;
            look = service.clock.monotonic() + LOOK;
        }
        let before = (*looked.borrow_and_update(), dispatch.held_back);
        let claimed = match dispatch.claim().await {
            Ok(claimed) => claimed,
            Err(error) => {
                service.fatal(&error);
                break;
            }
        };
        let due = if dispatch.full { None } else { dispatch.next_due().await };
        if service.options.once && before.0 && claimed == 0 && dispatch.is_done(due).await {
            dispatch.say_what_is_left().await;
            break;
        }
        dispatch.wait(&mut looked, renewal, due).await;
        if service.clock.monotonic() >= renewal {
            dispatch.renew().await;
            renewal = service.clock.monotonic() + service.options.lease / 3;
        }
    }
    service.stopping.cancel();
    dispatch.drain().await;
}

impl Dispatch {
    /// Claims and starts what there is room for; answers how many.
    async fn claim(&mut self) -> Result<usize, StoreError> {
        let room = self.room();
        let places = room.total.min(room.listens.values().fold(0, |sum, room| sum.saturating_add(*room)));
        if places == 0 {
            self.full = true;
            return Ok(0);
        }
        let service = self.service.clone();
        let (store, options) = (&service.store, &service.options);
        let claims =
            service.patiently(|| store.claim(&options.owner, &room, service.clock.now(), options.lease)).await?;
        let claimed = claims.len();
        self.full = u32::try_from(claimed).is_ok_and(|claimed| claimed >= places);
        // Only of a listen that is on there are claims: it was switched on since the store was asked last.
        if claims.iter().any(|claim| service.is_off(&claim.run.listen)) {
            service.look_at_switches().await;
        }
        for claim in claims {
            self.start(claim);
        }
        Ok(claimed)
    }

    fn room(&self) -> Room {
        let options = &self.service.options;
        let running = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        let total = options.concurrency.saturating_sub(running);
        let mut listens: BTreeMap<SmolStr, u32> = BTreeMap::new();
        for listen in &self.service.plan.listens {
            let busy = self.running.values().filter(|running| running.listen == listen.name).count();
            let busy = u32::try_from(busy).unwrap_or(u32::MAX);
            listens.insert(listen.name.clone(), listen.concurrency.saturating_sub(busy));
        }
        listens.retain(|_, room| *room > 0);
        Room { listens, total }
    }

    fn start(&mut self, claim: Claimed) {
        let (id, fence, listen) = (claim.run.id, claim.fence, claim.run.listen.clone());
        let service = self.service.clone();
        let task = self.tasks.spawn(async move { (id, fence, executor::drive(&service, claim).await) });
        // Our own lease ran out and the run came back to us: the older task may write nothing more.
        if let Some(older) = self.running.insert(id, Running { listen, fence, task, lost: false }) {
            older.task.abort();
        }
    }

    /// Waits for anything that could make a difference.
    async fn wait(&mut self, looked: &mut watch::Receiver<bool>, renewal: Duration, due: Option<Timestamp>) {
        let service = self.service.clone();
        let mut longest = LOOK.min(renewal.saturating_sub(service.clock.monotonic()));
        if let Some(due) = due {
            longest = longest.min(until(service.clock.now(), due).max(Duration::from_millis(1)));
        }
        let done = tokio::select! {
            biased;
            () = service.stopping.cancelled() => None,
            Some(done) = self.tasks.join_next() => Some(done),
            () = service.work.notified() => None,
            Ok(()) = looked.changed() => None,
            () = service.clock.sleep(longest) => None,
        };
        if let Some(done) = done {
            self.end(done);
        }
        // Whatever else ended meanwhile makes room for one claim together.
        while let Some(done) = self.tasks.try_join_next() {
            self.end(done);
        }
        if self.full && !self.tasks.is_empty() {
            let enough = self.tasks.len() / 2;
            let gathered = async {
                while self.tasks.len() > enough
                    && let Some(done) = self.tasks.join_next().await
                {
                    self.end(done);
                }
            };
            // What has not ended by then goes on.
            let _all = within(service.clock.as_ref(), GATHER, gathered).await;
        }
    }

    /// When a run can become claimable by time alone.
    async fn next_due(&self) -> Option<Timestamp> {
        match self.service.store.next_due(self.service.clock.now()).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!("the store did not say what is due: {error}");
                None
            }
        }
    }

    fn end(&mut self, done: Result<(RunId, Fence, Ended), tokio::task::JoinError>) {
        match done {
            Ok((id, fence, ended)) => {
                self.held_back += u64::from(ended.held_back);
                if self.running.get(&id).is_some_and(|running| running.fence == fence) {
                    self.running.remove(&id);
                }
            }
            Err(error) if error.is_panic() => {
                tracing::error!("a run ended by a defect of listen-fire: {error}");
                self.service.tally().problem(format!("a run ended by a defect of listen-fire: {error}"));
                self.forget_ended();
            }
            Err(_) => self.forget_ended(),
        }
    }

    /// Tasks that ended without saying which they were: their claims run out by themselves.
    fn forget_ended(&mut self) {
        self.running.retain(|_, running| !running.task.is_finished());
    }

    async fn renew(&mut self) {
        let claims: Vec<(RunId, Fence)> = self.running.iter().map(|(id, running)| (*id, running.fence)).collect();
        if claims.is_empty() {
            return;
        }
        let end = later(self.service.clock.now(), self.service.options.lease);
        match self.service.store.renew(&claims, end).await {
            Ok(lost) => {
                for id in lost {
                    let Some(running) = self.running.get_mut(&id).filter(|running| !running.task.is_finished()) else {
                        continue;
                    };
                    // One that has just ended is lost too, and its task still has to say so. The fence keeps a task
                    // that was taken over from storing anything, so there is no hurry to end it.
                    if running.lost {
                        tracing::info!("run {id} was taken over or cancelled");
                        running.task.abort();
                    }
                    running.lost = true;
                }
            }
            Err(error) => tracing::warn!("the claims could not be renewed: {error}"),
        }
    }

    /// Whether nothing is left that this runner could do now or soon. A parked run goes on another day.
    async fn is_done(&self, due: Option<Timestamp>) -> bool {
        self.running.is_empty() && (due.is_none() || self.held_back > 0 || !self.is_something_timed().await)
    }

    /// Whether a run has a time to go on at that it does not wait for itself.
    async fn is_something_timed(&self) -> bool {
        let filter = Filter { states: vec![State::Ready, State::Retry], ..Filter::default() };
        match self.service.store.list(&filter).await {
            Ok(runs) => runs.iter().any(|run| run.not_before.is_some()),
            Err(error) => {
                tracing::warn!("the store did not say what is due: {error}");
                true
            }
        }
    }

    /// With `once`: changes that wait for a person, or for a connection that is held, are not done.
    async fn say_what_is_left(&self) {
        for listen in &self.service.plan.listens {
            match self.service.store.open(&listen.name).await {
                Ok(0) => {}
                Ok(left) => {
                    let changes = if left == 1 { "1 change waits".to_owned() } else { format!("{left} changes wait") };
                    let why = if self.service.is_off(&listen.name) {
                        "until it is switched on again"
                    } else {
                        "for a held connection, or behind a run of their record that waits or that a person decides on"
                    };
                    self.service.tally().problem(format!("`{}`: {changes} {why}", listen.name));
                }
                Err(error) => tracing::warn!("the store did not say what is left: {error}"),
            }
        }
    }

    /// Lets running steps end, then drops them where they stand.
    async fn drain(mut self) {
        let service = self.service.clone();
        let end = service.clock.monotonic() + service.options.drain;
        let mut renewal = service.clock.monotonic() + service.options.lease / 3;
        while !self.tasks.is_empty() && !service.abandon.is_cancelled() {
            let now = service.clock.monotonic();
            if now >= end {
                break;
            }
            if now >= renewal {
                self.renew().await;
                renewal = now + service.options.lease / 3;
            }
            let wait = end.min(renewal).saturating_sub(now);
            let done = tokio::select! {
                biased;
                done = self.tasks.join_next() => done,
                () = service.abandon.cancelled() => None,
                () = service.clock.sleep(wait) => None,
            };
            if let Some(done) = done {
                self.end(done);
            }
        }
        // What is left gives its run back at its next await.
        service.abandon.cancel();
        while let Some(done) = self.tasks.join_next().await {
            self.end(done);
        }
    }
}
