//! Requests to one server: a session around them, the retry driver under them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lf_module::{
    Call, CallError, Kind, Value,
    retry::{self, Attempt, Job, Policy},
};
use lf_transport::Sends;
use tokio::sync::Mutex;

use crate::{
    attempt::{Envelope, Exchange, Outcome, Wire},
    classify::{self, Verdict},
    message::{self, RpcError},
    session::{self, Session},
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
    /// JSON text.
    pub(crate) params: &'a str,
    pub(crate) sends: Sends,
    /// The request as a person reads it: `tools/call create_issue`.
    pub(crate) what: &'a str,
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
}

/// A server, with the session that is open with it.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) wire: Wire,
    policy: Policy,
    /// Held while a session is opened, so that many calls open one.
    session: Mutex<Option<Arc<Session>>>,
    /// Every attempt has an id of its own: one that was used may not be used again in its session.
    ids: AtomicU64,
}

impl Client {
    pub(crate) fn new(wire: Wire) -> Self {
        Self { wire, policy: Policy::default(), session: Mutex::new(None), ids: AtomicU64::new(1) }
    }

    /// Sends a request and gives its answer, or the server's refusal of it.
    ///
    /// A session that is lost is opened anew, and a request that changes nothing is then sent once more.
    /// A write is not: a 404 from something in front of the server may come after the call was done.
    pub(crate) async fn request(&self, ask: Ask<'_>, call: &Call) -> Result<Reply, CallError> {
        let mut renewed = false;
        loop {
            let session = self.session(call).await?;
            let job = Job { module: crate::NAME, what: ask.what, deadline: call.deadline };
            let mut attempts = 0;
            let attempt = |number| {
                attempts = number;
                self.attempt(&session, ask, call)
            };
            let lost = match retry::drive(&self.wire.ports, &self.policy, job, attempt).await? {
                Got::Answer(answer) => return Ok(Reply { answer, attempts }),
                Got::SessionDoubted(error) => {
                    self.forget(&session, call).await;
                    return Err(error);
                }
                Got::SessionGone(error) => error,
            };
            self.forget(&session, call).await;
            match ask.sends {
                Sends::Safe if renewed => return Err(lost),
                Sends::Safe => renewed = true,
                Sends::Write => return Err(self.unconfirmed(ask, lost, call).await),
            }
        }
    }

    /// The session, opened if there is none.
    pub(crate) async fn session(&self, call: &Call) -> Result<Arc<Session>, CallError> {
        let clock = &*self.wire.ports.clock;
        let Ok(mut slot) = lf_transport::by(clock, call.deadline, self.session.lock()).await else {
            return Err(CallError::passing("the session was still being opened when the time was over"));
        };
        if let Some(session) = &*slot {
            return Ok(session.clone());
        }
        let session = self.open(call).await?;
        *slot = Some(session.clone());
        Ok(session)
    }

    /// Drops `gone`, unless another call has opened a new one meanwhile.
    async fn forget(&self, gone: &Arc<Session>, call: &Call) {
        // Who holds the lock for long is opening a session, and then there is none to forget.
        let lock = lf_transport::by(&*self.wire.ports.clock, call.deadline, self.session.lock());
        let Ok(mut slot) = lock.await else { return };
        if slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, gone)) {
            *slot = None;
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

    async fn open(&self, call: &Call) -> Result<Arc<Session>, CallError> {
        let params = session::initialize();
        let ask = Ask { method: "initialize", params: &params, sends: Sends::Safe, what: "initialize" };
        let job = |what| Job { module: crate::NAME, what, deadline: call.deadline };
        let ports = &self.wire.ports;
        let opened = retry::drive(ports, &self.policy, job("initialize"), |_| self.initialize(ask, call)).await?;
        // Nothing but this may come next.
        let what = "notifications/initialized";
        retry::drive(ports, &self.policy, job(what), |_| self.initialized(&opened, what, call)).await?;
        Ok(opened)
    }

    async fn initialize(&self, ask: Ask<'_>, call: &Call) -> Attempt<Arc<Session>> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let envelope = self.envelope(None, Sends::Safe, call);
        let Exchange { outcome, session_id } =
            self.wire.ask(id, message::request(id, ask.method, ask.params), envelope).await;
        if let Outcome::Answered(Ok(answer)) = outcome {
            return match Session::of(answer, session_id) {
                Ok(session) => Attempt::Done(session),
                Err(error) => Attempt::Stop(error),
            };
        }
        let refused = |error: CallError| match &outcome {
            // A server of the revision without sessions knows no `initialize`.
            Outcome::Answered(Err(RpcError { code: -32022 | -32601, .. })) => CallError {
                message: format!(
                    "{}; servers that speak only revisions after {} are not spoken to yet",
                    error.message,
                    session::ASKED
                ),
                kind: Kind::Limit,
                ..error
            },
            Outcome::Answered(_)
            | Outcome::Accepted
            | Outcome::Status(_)
            | Outcome::Failed(_)
            | Outcome::Senseless(_) => error,
        };
        match self.judge(&outcome, ask, false) {
            (Verdict::Again(asked), error) => Attempt::Again { error, asked },
            (Verdict::Answer | Verdict::Stop | Verdict::SessionGone, error) => Attempt::Stop(refused(error)),
        }
    }

    async fn initialized(&self, session: &Session, what: &str, call: &Call) -> Attempt<()> {
        let ask = Ask { method: what, params: "{}", sends: Sends::Safe, what };
        let envelope = self.envelope(Some(session), Sends::Safe, call);
        let outcome = self.wire.tell(message::notification(what, None), envelope).await;
        match self.judge(&outcome, ask, false) {
            (Verdict::Answer, _) => Attempt::Done(()),
            (Verdict::Again(asked), error) => Attempt::Again { error, asked },
            (Verdict::Stop | Verdict::SessionGone, error) => Attempt::Stop(error),
        }
    }

    async fn attempt(&self, session: &Session, ask: Ask<'_>, call: &Call) -> Attempt<Got> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let envelope = self.envelope(Some(session), ask.sends, call);
        let Exchange { outcome, session_id: _ } =
            self.wire.ask(id, message::request(id, ask.method, ask.params), envelope).await;
        if let Outcome::Answered(answer) = outcome {
            return Attempt::Done(Got::Answer(answer));
        }
        if classify::timed_out(&outcome) {
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

    /// Tells the server that an answer is not waited for any more: hanging up alone does not say it.
    async fn farewell(&self, id: u64, session: &Session, call: &Call) {
        let until = Some(call.deadline.min(self.wire.ports.clock.monotonic() + FAREWELL));
        let params = format!(r#"{{"requestId":{id},"reason":"timed out"}}"#);
        let message = message::notification("notifications/cancelled", Some(&params));
        self.wire.mention(message, Envelope { session: Some(session), sends: Sends::Safe, extra: &[], until }).await;
    }

    /// The error without what the server said back of the secret.
    pub(crate) fn discreet(&self, error: CallError) -> CallError {
        CallError { message: self.wire.endpoint.without_secrets(error.message), ..error }
    }

    fn envelope<'a>(&self, session: Option<&'a Session>, sends: Sends, call: &Call) -> Envelope<'a> {
        let left = call.deadline.saturating_sub(self.wire.ports.clock.monotonic());
        let until = Some(call.deadline.saturating_sub(RESERVE.min(left / 10)));
        Envelope { session, sends, extra: &[], until }
    }

    fn judge(&self, outcome: &Outcome, ask: Ask<'_>, session: bool) -> (Verdict, CallError) {
        let verdict = classify::verdict(outcome, ask.sends, session);
        let error = classify::error(outcome, ask.sends, ask.what, &self.wire.endpoint.credential);
        (verdict, self.discreet(error))
    }
}
