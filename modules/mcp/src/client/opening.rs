//! Finding out which generation of the protocol a server speaks, and opening a session where it has any.

use std::sync::{Arc, atomic::Ordering};

use lf_module::{
    Call, CallError, Kind,
    retry::{self, Attempt, Job},
};
use lf_transport::Sends;

use super::{Ask, Client, beside};
use crate::{
    attempt::{Envelope, Exchange, Outcome},
    classify::{self, Verdict},
    era::{self, Era, Told},
    message::{self, RpcError},
    rounds,
    session::{self, Session},
};

/// What the question for the generation came to.
enum Found {
    Modern(Arc<Session>),
    /// The older one; whether anything proved it.
    Legacy {
        proved: bool,
    },
}

impl Client {
    /// Agrees with the server on how to speak. What it speaks is remembered in `known`.
    pub(super) async fn open(&self, known: &mut Option<Era>, call: &Call) -> Result<Arc<Session>, CallError> {
        let mut guessed = false;
        let noted = if self.era.is_none() && known.is_none() { self.recall().await } else { None };
        if self.era.or(*known).or(noted) != Some(Era::Legacy) {
            match self.discover(call).await? {
                Found::Modern(session) => {
                    *known = Some(Era::Modern);
                    return Ok(session);
                }
                Found::Legacy { proved } => {
                    *known = Some(Era::Legacy);
                    guessed = !proved;
                }
            }
        }
        let opened = self.initialize(call).await;
        match &opened {
            Ok(_) => {
                *known = Some(Era::Legacy);
                if self.era.is_none() && noted.is_none() {
                    self.note("legacy").await;
                }
            }
            // It has changed its generation, or what it said proved nothing.
            Err(error) if guessed || matches!(error.kind, Kind::Refused | Kind::Limit) => {
                *known = None;
                if noted.is_some() {
                    self.note("").await;
                }
            }
            Err(_) => {}
        }
        opened
    }

    /// That a server has sessions saves the question. That it has none does not: its answer is needed anyway.
    async fn recall(&self) -> Option<Era> {
        let said = self.wire.ports.notes.as_ref()?.recall(&self.wire.endpoint.note()).await?;
        (said == "legacy").then_some(Era::Legacy)
    }

    async fn note(&self, text: &str) {
        if let Some(notes) = &self.wire.ports.notes {
            notes.note(&self.wire.endpoint.note(), text).await;
        }
    }

    async fn discover(&self, call: &Call) -> Result<Found, CallError> {
        let job = Job { module: crate::NAME, what: era::PROBE, deadline: call.deadline };
        retry::drive(&self.wire.ports, &self.policy, job, |_| self.discover_once(call)).await
    }

    async fn discover_once(&self, call: &Call) -> Attempt<Found> {
        let mut outcome = self.probe(call).await;
        if matches!(error_of(&outcome), Some(error) if error.code == era::UNSUPPORTED_VERSION)
            && matches!(era::told(&outcome), Told::Modern { .. })
        {
            // It names the revision that was asked with, so asking with it again tells more.
            outcome = self.probe(call).await;
        }
        let modern = self.era == Some(Era::Modern);
        let told = era::told(&outcome);
        let error = classify::error(&outcome, Sends::Safe, era::PROBE, &self.wire.endpoint.credential);
        let error = self.discreet(error);
        match told {
            Told::Modern { subscribe: _ } => {
                let answer = match outcome {
                    Outcome::Answered(answer) => answer.ok(),
                    Outcome::Accepted | Outcome::Status(_) | Outcome::Failed(_) | Outcome::Senseless(_) => None,
                };
                Attempt::Done(Found::Modern(Session::discovered(answer)))
            }
            Told::Legacy if modern => Attempt::Stop(CallError {
                kind: Kind::Limit,
                message: format!(
                    "{}; the server does not speak revision {}: leave out `era`, or set it to \"legacy\"",
                    error.message,
                    era::MODERN
                ),
                ..error
            }),
            Told::Legacy => Attempt::Done(Found::Legacy { proved: true }),
            Told::Perhaps if !modern => Attempt::Done(Found::Legacy { proved: false }),
            Told::Perhaps | Told::Nothing => match classify::verdict(&outcome, Sends::Safe, false) {
                Verdict::Again(asked) => Attempt::Again { error, asked },
                Verdict::Answer | Verdict::Stop | Verdict::SessionGone => Attempt::Stop(error),
            },
        }
    }

    async fn probe(&self, call: &Call) -> Outcome {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let params = rounds::params("{}", "", &era::meta(&self.wire.capabilities()));
        let mut until = self.until(call);
        if self.era.is_none() {
            // A server of the older generation may say nothing at all to what it does not know.
            until = until.min(self.wire.ports.clock.monotonic() + era::PATIENCE);
        }
        let extra = era::headers(era::PROBE, None);
        let envelope =
            Envelope { era: Era::Modern, session: None, sends: Sends::Safe, extra: &extra, until: Some(until) };
        self.wire.ask(id, message::request(id, era::PROBE, &params), envelope).await.outcome
    }

    async fn initialize(&self, call: &Call) -> Result<Arc<Session>, CallError> {
        let params = session::initialize(&self.wire.capabilities());
        let ask = Ask::plain("initialize", &params);
        let job = |what| Job { module: crate::NAME, what, deadline: call.deadline };
        let ports = &self.wire.ports;
        let opened = retry::drive(ports, &self.policy, job("initialize"), |_| self.initialize_once(ask, call)).await?;
        // Nothing but this may come next.
        let what = "notifications/initialized";
        retry::drive(ports, &self.policy, job(what), |_| self.initialized(&opened, what, call)).await?;
        if self.wire.answers.is_some() {
            drop(tokio::spawn(beside::answer(self.wire.clone(), Arc::downgrade(&opened))));
        }
        Ok(opened)
    }

    fn legacy<'a>(&self, session: Option<&'a Session>, call: &Call) -> Envelope<'a> {
        Envelope { era: Era::Legacy, session, sends: Sends::Safe, extra: &[], until: Some(self.until(call)) }
    }

    async fn initialize_once(&self, ask: Ask<'_>, call: &Call) -> Attempt<Arc<Session>> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let request = message::request(id, ask.method, ask.params);
        let Exchange { outcome, session_id } = self.wire.ask(id, request, self.legacy(None, call)).await;
        if let Outcome::Answered(Ok(answer)) = outcome {
            return match Session::of(answer, session_id) {
                Ok(session) => Attempt::Done(session),
                Err(error) => Attempt::Stop(error),
            };
        }
        match self.judge(&outcome, ask, false) {
            (Verdict::Again(asked), error) => Attempt::Again { error, asked },
            (Verdict::Answer | Verdict::Stop | Verdict::SessionGone, error) => {
                // A server of the newer generation knows no `initialize`.
                let foreign = error_of(&outcome).is_some_and(|error| matches!(error.code, -32022 | -32601));
                Attempt::Stop(if foreign && self.era == Some(Era::Legacy) {
                    let message = format!(
                        "{}; the server does not speak a revision with sessions: leave out `era`, or set it to \"modern\"",
                        error.message
                    );
                    CallError { kind: Kind::Limit, message, ..error }
                } else {
                    error
                })
            }
        }
    }

    async fn initialized(&self, session: &Session, what: &str, call: &Call) -> Attempt<()> {
        let ask = Ask::plain(what, "{}");
        let outcome = self.wire.tell(message::notification(what, None), self.legacy(Some(session), call)).await;
        match self.judge(&outcome, ask, false) {
            (Verdict::Answer, _) => Attempt::Done(()),
            (Verdict::Again(asked), error) => Attempt::Again { error, asked },
            (Verdict::Stop | Verdict::SessionGone, error) => Attempt::Stop(error),
        }
    }
}

/// The error in the protocol's terms, with whatever status it came.
fn error_of(outcome: &Outcome) -> Option<&RpcError> {
    match outcome {
        Outcome::Answered(Err(error)) => Some(error),
        Outcome::Status(status) => status.error.as_ref(),
        Outcome::Answered(Ok(_)) | Outcome::Accepted | Outcome::Failed(_) | Outcome::Senseless(_) => None,
    }
}
