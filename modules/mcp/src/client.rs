//! Requests to one server: what was agreed with it around them, the retry driver under them.
//!
//! How a server is found to speak one generation or the other, and a session is opened, is [`opening`]'s.

mod beside;
mod opening;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use lf_module::{
    Call, CallError, Kind, Value,
    retry::{self, Attempt, Job, Policy},
};
use lf_transport::Sends;
use tokio::sync::Mutex;

use crate::{
    attempt::{Envelope, Exchange, Outcome, Status, Wire},
    classify::{self, Verdict},
    era::{self, Era},
    message::{self, RpcError},
    rounds::{self, Turn},
    session::Session,
};

/// What is kept back of a call's time, so that a server can still be told that its answer is not
/// waited for.
const RESERVE: Duration = Duration::from_millis(500);
/// How long that may take where there is more time.
const FAREWELL: Duration = Duration::from_secs(2);

/// One request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    /// JSON text, of an object.
    pub(crate) params: &'a str,
    pub(crate) sends: Sends,
    /// The request as a person reads it: `tools/call create_issue`.
    pub(crate) what: &'a str,
    /// What it is about, where its method has such a thing.
    pub(crate) name: Option<&'a str>,
    /// Parameters that also go as headers.
    pub(crate) headers: &'a [(HeaderName, HeaderValue)],
}

impl<'a> Ask<'a> {
    /// A request that changes nothing and is about nothing in particular.
    pub(crate) fn plain(method: &'a str, params: &'a str) -> Self {
        Self { method, params, sends: Sends::Safe, what: method, name: None, headers: &[] }
    }
}

/// An answer, or the server's refusal in the protocol's terms.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: Result<Value, RpcError>,
    /// How many requests it took.
    pub(crate) attempts: u32,
}

/// What a row of attempts ended with.
enum Got {
    Answer(Result<Value, RpcError>),
    /// The server does not know the session.
    SessionGone(CallError),
    /// A refusal that speaks of the session.
    SessionDoubted(CallError),
    /// The server does not speak the generation, and did nothing.
    EraGone(CallError),
    /// It seems not to.
    EraDoubted(CallError),
}

/// What is known of the server.
#[derive(Debug, Default)]
struct Known {
    era: Option<Era>,
    session: Option<Arc<Session>>,
}

/// A server, with what was agreed with it.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) wire: Arc<Wire>,
    /// The generation, if it is not to be asked for.
    era: Option<Era>,
    policy: Policy,
    /// Held while a session is opened, so that many calls open one.
    known: Mutex<Known>,
    /// Every attempt has an id of its own: one that was used may not be used again in its session.
    ids: AtomicU64,
}

impl Client {
    pub(crate) fn new(wire: Wire, era: Option<Era>) -> Self {
        Self { wire: Arc::new(wire), era, policy: Policy::default(), known: Mutex::default(), ids: AtomicU64::new(1) }
    }

    /// The generation, if the connection says which.
    pub(crate) fn era(&self) -> Option<Era> {
        self.era
    }

    /// Sends a request and gives its answer, or the server's refusal of it.
    ///
    /// A session that is lost is opened anew, and a request that changes nothing is then sent once more.
    /// A write is not: a 404 from something in front of the server may come after the call was done.
    /// Where a server asks back, the same request follows with what it asked for; that is no retry.
    pub(crate) async fn request(&self, ask: Ask<'_>, call: &Call) -> Result<Reply, CallError> {
        let mut renewed = false;
        let mut rounds = 0;
        let mut more = String::new();
        loop {
            let session = self.session(call).await?;
            let job = Job { module: crate::NAME, what: ask.what, deadline: call.deadline };
            let mut attempts = 0;
            let attempt = |number| {
                attempts = number;
                self.attempt(&session, ask, &more, call)
            };
            let lost = match retry::drive(&self.wire.ports, &self.policy, job, attempt).await? {
                Got::Answer(Ok(result)) if session.era == Era::Modern => {
                    match self.turn(ask, result, rounds)? {
                        Ok(answer) => return Ok(Reply { answer: Ok(answer), attempts }),
                        Err(members) => more = members,
                    }
                    rounds += 1;
                    continue;
                }
                Got::Answer(answer) => return Ok(Reply { answer, attempts }),
                Got::SessionDoubted(error) => {
                    self.forget(&session, None, call).await;
                    return Err(error);
                }
                Got::EraGone(error) if !renewed => {
                    self.forget(&session, Some(Era::Modern), call).await;
                    tracing::debug!("{}: the generation is asked for again: {}", crate::NAME, error.message);
                    (renewed, rounds, more) = (true, 0, String::new());
                    continue;
                }
                Got::EraDoubted(error) | Got::EraGone(error) => {
                    self.forget(&session, Some(Era::Modern), call).await;
                    return Err(CallError { attempts, ..error });
                }
                Got::SessionGone(error) => {
                    self.forget(&session, None, call).await;
                    error
                }
            };
            match ask.sends {
                Sends::Safe if renewed => return Err(lost),
                Sends::Safe => renewed = true,
                Sends::Write => return Err(self.unconfirmed(ask, lost, call).await),
            }
        }
    }

    /// Reads a result of the newer generation: the answer, or what the same request is sent with again.
    fn turn(&self, ask: Ask<'_>, result: Value, rounds: u32) -> Result<Result<Value, String>, CallError> {
        let what = ask.what;
        match rounds::turn(result, self.wire.answers.as_deref()) {
            Turn::Complete(answer) => Ok(Ok(answer)),
            Turn::Again(more) if rounds < rounds::ROUNDS => Ok(Err(more)),
            Turn::Again(_) => {
                let message = format!("`{what}`: the server asked for more {} times in a row", rounds::ROUNDS + 1);
                Err(CallError::refused(message))
            }
            Turn::Asks(method) => {
                Err(CallError::refused(format!("`{what}`: the server asks for `{method}`, which is not offered here")))
            }
            Turn::Foreign(why) => {
                let error = CallError::refused(format!("`{what}`: the server broke the protocol: {why}"));
                Err(if ask.sends == Sends::Write { error.maybe_acted() } else { error })
            }
        }
    }

    /// What was agreed with the server, agreed now if nothing was.
    pub(crate) async fn session(&self, call: &Call) -> Result<Arc<Session>, CallError> {
        // Only where one is being opened is there anything to wait for.
        if let Ok(known) = self.known.try_lock()
            && let Some(session) = &known.session
        {
            return Ok(session.clone());
        }
        let clock = &*self.wire.ports.clock;
        let Ok(mut known) = lf_transport::by(clock, call.deadline, self.known.lock()).await else {
            return Err(CallError::passing("the session was still being opened when the time was over"));
        };
        if let Some(session) = &known.session {
            return Ok(session.clone());
        }
        let session = self.open(&mut known.era, call).await?;
        known.session = Some(session.clone());
        Ok(session)
    }

    /// Drops `gone`, and the generation if it is `era`, unless another call has agreed on something new meanwhile.
    async fn forget(&self, gone: &Arc<Session>, era: Option<Era>, call: &Call) {
        // Who holds the lock for long is opening a session, and then there is none to forget.
        let lock = lf_transport::by(&*self.wire.ports.clock, call.deadline, self.known.lock());
        let Ok(mut known) = lock.await else { return };
        if known.session.as_ref().is_some_and(|current| Arc::ptr_eq(current, gone)) {
            known.session = None;
            known.era = known.era.filter(|known| Some(*known) != era);
        }
    }

    async fn unconfirmed(&self, ask: Ask<'_>, lost: CallError, call: &Call) -> CallError {
        let renewal = match self.session(call).await {
            Ok(_) => "a new session was opened".to_owned(),
            Err(error) => format!("a new one could not be opened ({})", error.message),
        };
        let message = format!(
            "`{}`: the server did not know the session any more; {renewal}, and the call was not sent again, since \
             the server may have done it",
            ask.what
        );
        CallError { kind: Kind::Passing, message, ..lost }.maybe_acted()
    }

    async fn attempt(&self, session: &Session, ask: Ask<'_>, more: &str, call: &Call) -> Attempt<Got> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let mut extra = Vec::new();
        let request = match session.era {
            Era::Legacy => message::request(id, ask.method, ask.params),
            Era::Modern => {
                extra = era::headers(ask.method, ask.name);
                extra.extend(ask.headers.iter().cloned());
                let meta = era::meta(&self.wire.capabilities());
                message::request(id, ask.method, &rounds::params(ask.params, more, &meta))
            }
        };
        let envelope = Envelope {
            era: session.era,
            session: Some(session),
            sends: ask.sends,
            extra: &extra,
            until: Some(self.until(call)),
        };
        let Exchange { outcome, session_id: _ } = self.wire.ask(id, request, envelope).await;
        let outcome = match outcome {
            Outcome::Answered(Err(error)) if of_another_era(session, &error) => {
                let outcome = Outcome::Answered(Err(error));
                return Attempt::Done(Got::EraGone(self.judge(&outcome, ask, false).1));
            }
            Outcome::Answered(answer) => return Attempt::Done(Got::Answer(answer)),
            Outcome::Status(status) if session.era == Era::Modern => match self.modern_status(session, ask, status) {
                Ok(got) => return Attempt::Done(got),
                Err(outcome) => outcome,
            },
            Outcome::Accepted | Outcome::Status(_) | Outcome::Failed(_) | Outcome::Senseless(_) => outcome,
        };
        if classify::timed_out(&outcome) && session.era == Era::Legacy {
            self.farewell(id, session, call).await;
        }
        let known = session.id.is_some();
        match self.judge(&outcome, ask, known) {
            (Verdict::Again(asked), error) => Attempt::Again { error, asked },
            (Verdict::SessionGone, error) => Attempt::Done(Got::SessionGone(error)),
            (Verdict::Answer | Verdict::Stop, error) => match &outcome {
                Outcome::Status(status)
                    if known && status.code.as_u16() == 400 && classify::speaks_of_session(&status.text) =>
                {
                    Attempt::Done(Got::SessionDoubted(error))
                }
                Outcome::Answered(_)
                | Outcome::Accepted
                | Outcome::Status(_)
                | Outcome::Failed(_)
                | Outcome::Senseless(_) => Attempt::Stop(error),
            },
        }
    }

    /// What a bad status of the newer generation means, where that is not in the retry table: ordinary refusals come
    /// with one, and a server of the older generation answers in its own way.
    fn modern_status(&self, session: &Session, ask: Ask<'_>, status: Status) -> Result<Got, Outcome> {
        let ordinary = status.code.is_client_error() && !matches!(status.code.as_u16(), 401 | 403 | 429);
        let (text, code) = (status.text.clone(), status.code.as_u16());
        match status.error.clone().filter(|_| ordinary) {
            Some(error) if of_another_era(session, &error) => {
                Ok(Got::EraGone(self.judge(&Outcome::Status(status), ask, false).1))
            }
            Some(error) if error.code != -32000 && !classify::speaks_of_session(&text) => Ok(Got::Answer(Err(error))),
            Some(_) => Ok(Got::EraDoubted(self.judge(&Outcome::Status(status), ask, false).1)),
            None if matches!(code, 400 | 404..=406) => {
                Ok(Got::EraDoubted(self.judge(&Outcome::Status(status), ask, false).1))
            }
            None => Err(Outcome::Status(status)),
        }
    }

    /// Tells the server that an answer is not waited for any more: hanging up alone does not say it.
    async fn farewell(&self, id: u64, session: &Session, call: &Call) {
        let until = Some(call.deadline.min(self.wire.ports.clock.monotonic() + FAREWELL));
        let params = format!(r#"{{"requestId":{id},"reason":"timed out"}}"#);
        let message = message::notification("notifications/cancelled", Some(&params));
        let envelope = Envelope { era: Era::Legacy, session: Some(session), sends: Sends::Safe, extra: &[], until };
        self.wire.mention(message, envelope).await;
    }

    /// The error without what the server said back of the secret.
    pub(crate) fn discreet(&self, error: CallError) -> CallError {
        CallError { message: self.wire.endpoint.without_secrets(error.message), ..error }
    }

    /// When a call's last request has to be answered.
    fn until(&self, call: &Call) -> Duration {
        let left = call.deadline.saturating_sub(self.wire.ports.clock.monotonic());
        call.deadline.saturating_sub(RESERVE.min(left / 10))
    }

    fn judge(&self, outcome: &Outcome, ask: Ask<'_>, session: bool) -> (Verdict, CallError) {
        let verdict = classify::verdict(outcome, ask.sends, session);
        let error = classify::error(outcome, ask.sends, ask.what, &self.wire.endpoint.credential);
        (verdict, self.discreet(error))
    }
}

/// Whether the server says that it does not speak the newer generation (any more).
fn of_another_era(session: &Session, error: &RpcError) -> bool {
    session.era == Era::Modern && error.code == era::UNSUPPORTED_VERSION
}
