//! One attempt at one run: what every call of it shares. Bounds, counts and names; it decides nothing about retries.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use lf_lang::{
    plan::{
        Plan,
        ir::{Listen, PlaceId},
    },
    run::{Failure, io::FailureKind},
    types::ConnectionId,
};
use lf_module::{Call, CallError, Connection, Kind};
use smol_str::SmolStr;

use super::{
    breaker::Broken,
    clock::{spoken, within},
    news::{Spot, Subject, What},
    perform::Asked,
    service::{self, Service},
    trouble::Trouble,
};
use crate::store::Run;

/// A hold that ends sooner than this is waited for inside the call.
const SHORT_HOLD: Duration = Duration::from_secs(5);
/// How much later than its deadline a call is cut off; a module that keeps its promise never sees it.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) service: &'a Service,
    pub(super) plan: &'a Plan,
    pub(super) listen: &'a Listen,
    pub(super) run: &'a Run,
    pub(super) subject: Subject,
    /// Of the clock's monotonic time: when the run has used up its own work.
    pub(super) deadline: Duration,
    calls: AtomicU32,
}

/// One connection of the run's plan.
#[derive(Debug, Clone)]
pub(super) struct Link {
    /// Its key: what positions, holds and expectations name.
    pub(super) id: SmolStr,
    /// What the author calls it.
    pub(super) name: SmolStr,
    pub(super) connection: Arc<dyn Connection>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        service: &'a Service,
        plan: &'a Plan,
        listen: &'a Listen,
        run: &'a Run,
        subject: Subject,
    ) -> Self {
        let deadline = service.clock.monotonic() + listen.timeout;
        Self { service, plan, listen, run, subject, deadline, calls: AtomicU32::new(0) }
    }

    pub(super) fn tell(&self, what: What) {
        self.service.tell(&self.run.listen, Some(&self.subject), what);
    }

    pub(super) fn spot(&self, place: PlaceId) -> Option<Spot> {
        service::spot(self.plan, place)
    }

    /// The connection, ready to be asked.
    pub(super) async fn link(&self, id: ConnectionId, place: PlaceId) -> Result<Link, Trouble> {
        let gone = |name: &str| {
            Trouble::Failed(Failure {
                kind: FailureKind::Program,
                message: format!("the connection `{name}` is no longer part of the program that is running"),
                place: Some(place),
            })
        };
        let Some(named) = self.plan.connection(id) else { return Err(gone("?")) };
        let (clock, once) = (&self.service.clock, self.service.options.once);
        if !once
            && let Err((until, why)) = self.service.breakers.pass(named.key.as_str(), self.run.id, clock.monotonic())
        {
            return Err(self.away(&named.name, until, why));
        }
        if let Some((until, why)) = self.service.holds.held(named.key.as_str()).await
            && super::clock::until(self.service.clock.now(), until) > SHORT_HOLD
        {
            return Err(Trouble::Held { connection: named.name.clone(), until, why });
        }
        self.service.mend(&named.key).await;
        let connection = self.service.connection(&named.key).ok_or_else(|| gone(&named.name))?;
        Ok(Link { id: named.key.as_str().into(), name: named.name.clone(), connection })
    }

    /// How long the next call may take.
    pub(super) fn allowance(&self) -> Duration {
        self.service.limits.call.min(self.deadline.saturating_sub(self.service.clock.monotonic()))
    }

    /// Counts one more call.
    pub(super) fn call(&self, place: PlaceId, idempotency: Option<SmolStr>) -> Result<Call, Trouble> {
        let most = self.service.limits.calls;
        if self.calls.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(limit(place, format!("the run made more than {most} calls, the limit for one run")));
        }
        let length = self.allowance();
        if length.is_zero() {
            let message = format!("the run took longer than {}, its `timeout`", spoken(self.listen.timeout));
            return Err(limit(place, message));
        }
        Ok(Call { deadline: self.service.clock.monotonic() + length, idempotency })
    }

    /// What the call answers, or an error a moment after its deadline.
    pub(super) async fn bounded<T>(
        &self,
        call: &Call,
        link: &Link,
        asked: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let length = call.deadline.saturating_sub(self.service.clock.monotonic()) + GRACE;
        let answer = within(self.service.clock.as_ref(), length, asked).await;
        let answer = answer.unwrap_or_else(|| {
            Err(CallError::passing(format!("`{}` gave no answer within {}", link.name, spoken(length))).maybe_acted())
        });
        if answer.is_ok() {
            self.service.works(&link.id).await;
        }
        answer
    }

    fn away(&self, connection: &SmolStr, until: Duration, why: String) -> Trouble {
        let clock = &self.service.clock;
        let until = super::clock::later(clock.now(), until.saturating_sub(clock.monotonic()));
        Trouble::Away { connection: connection.clone(), until, why }
    }

    /// A failure that may pass: the run's own trouble, unless the connection is held or its system is away for others
    /// too.
    async fn passing(&self, link: &Link, failure: Failure, error: &CallError) -> Trouble {
        let service = self.service;
        // Held by what another call learned: this one sent nothing.
        if error.attempts == 0
            && let Some((until, why)) = service.holds.held(&link.id).await
        {
            return Trouble::Held { connection: link.name.clone(), until, why };
        }
        let later = Trouble::Later { failure, wait: error.retry_after };
        // What runs once uses its attempts and ends; so does what has waited for as long as it may.
        let waited = super::clock::until(self.run.taken_in, service.clock.now());
        if service.options.once || waited >= service.limits.away {
            return later;
        }
        let (now, random) = (service.clock.monotonic(), service.random.as_ref());
        match service.breakers.failed(&link.id, self.run.id, error, now, random) {
            Broken::No => later,
            Broken::Until(until) => self.away(&link.name, until, error.message.clone()),
            Broken::Anew { until, times } => {
                let length = until.saturating_sub(service.clock.monotonic());
                service.holds.away(&link.id, length, &error.message).await;
                let away = self.away(&link.name, until, error.message.clone());
                // While the pauses grow, and then now and then.
                if let Trouble::Away { connection: _, until, why } = &away
                    && (times < 5 || times.is_multiple_of(20))
                {
                    let told = What::Held { connection: link.id.clone(), until: *until, why: why.clone() };
                    service.tell("", None, told);
                }
                away
            }
        }
    }

    /// What follows from a call that failed and did not act. `Ok`: the system was described anew and is as it was for
    /// this type, so the call is made once more.
    pub(super) async fn failed(
        &self,
        link: &Link,
        ty: &str,
        asked: &Asked<'_>,
        error: CallError,
        drifted: &mut bool,
    ) -> Result<(), Trouble> {
        let place = Some(asked.blamed(self.plan, &error));
        let failure = Failure { kind: FailureKind::Call(error.kind), message: error.message.clone(), place };
        match error.kind {
            Kind::Refused | Kind::Limit => Err(Trouble::Refused { failure, said: error.message, status: error.status }),
            Kind::Passing => Err(self.passing(link, failure, &error).await),
            Kind::Credential => {
                let until = self.service.lock_out(&link.id, &error.message).await;
                Err(Trouble::Held { connection: link.name.clone(), until, why: error.message })
            }
            Kind::Drift if *drifted => Err(Trouble::Failed(failure)),
            Kind::Drift => {
                *drifted = true;
                let call = self.call(asked.place, None)?;
                let described = self.bounded(&call, link, link.connection.describe(&call)).await;
                let known = self.service.shape(&link.id, ty).await;
                match (described, known) {
                    (Ok(now), Some(known)) if now.get(ty) == Some(&known) => Ok(()),
                    (Ok(_), Some(_)) => Err(Trouble::Failed(Failure {
                        message: format!(
                            "{}; `{ty}` of `{}` is not as it was described (MOV_DRIFT): run `listen-fire check`",
                            failure.message, link.name
                        ),
                        ..failure
                    })),
                    (Ok(_), None) => Ok(()),
                    (Err(_), _) => Err(Trouble::Failed(failure)),
                }
            }
        }
    }
}

/// A limit was reached: the run is over, and says which.
pub(super) fn limit(place: PlaceId, message: String) -> Trouble {
    Trouble::Failed(Failure { kind: FailureKind::Call(Kind::Limit), message, place: Some(place) })
}
