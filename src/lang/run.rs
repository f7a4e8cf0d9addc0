//! The run machine: `step(&Plan, &mut RunState, Input) -> Vec<Effect>`. Pure.
//!
//! A run starts at the top of its function and goes on until it needs the world; then it gives an [`Effect`] and
//! waits for the [`Input`] that settles it. The journal's [`Entry`]s, fed again in order, bring a run back to where
//! it was.

pub mod args;
pub mod entry;
mod eval;
pub mod io;
pub mod limits;
mod machine;
pub mod past;
pub mod replay;
mod state;
mod trace;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use lf_module::value::Value;

pub use entry::Entry;
pub(crate) use eval::{fixed, scalar::duration as duration_text, time};
pub use io::{Address, Effect, Failure, Finish, Fired, Input, Request, Settlement, Test, Wait};
pub use past::{Open, Past};
pub use replay::{Replayed, replay};
pub use state::Came;
pub use state::RunState;
pub use trace::{trace, values};

use crate::plan::ir::{Listen, PlaceId, Plan};
use io::FailureKind;

/// Tells the machine what happened and lets it go on to its next effect or its end. Every failure is an
/// [`Effect::Finish`].
#[must_use]
pub fn step(plan: &Plan, state: &mut RunState, input: Input) -> Vec<Effect> {
    let went = machine::take(plan, state, input).and_then(|()| machine::go(plan, state));
    match went {
        Ok(effects) => effects,
        Err(failure) => {
            state.end();
            vec![Effect::Finish(Finish::Failed(failure))]
        }
    }
}

/// Asks a test of a wait, as a run of its own that only reads: `Finish::Done` with a boolean is its answer. `record`:
/// the change that is tested; `now`: the instant at which it is asked.
#[must_use]
pub fn ask(plan: &Plan, state: &mut RunState, test: &Test, record: Option<Value>, now: Timestamp) -> Vec<Effect> {
    match machine::ask(plan, state, test, record, now).and_then(|()| machine::go(plan, state)) {
        Ok(effects) => effects,
        Err(failure) => {
            state.end();
            vec![Effect::Finish(Finish::Failed(failure))]
        }
    }
}

/// Where in the text this effect, which the run wants, was given a field, if it sends it.
#[must_use]
pub fn given(plan: &Plan, state: &RunState, effect: &Address, field: &str) -> Option<PlaceId> {
    machine::given(plan, state, effect, field)
}

/// Whether a changed record is one that this listen fires for; `now` is the instant of the change.
///
/// # Errors
/// The [`Failure`] of the listen's WHERE: a field that is not as it was described, a number out of range.
pub fn matches(plan: &Plan, listen: &Listen, record: &Value, now: Timestamp) -> Result<bool, Failure> {
    let Some(function) = listen.filter else { return Ok(true) };
    let mut state = RunState::new();
    let fired = Fired { function, args: vec![record.clone()], now };
    match step(plan, &mut state, Input::Fired(fired)).pop() {
        Some(Effect::Finish(Finish::Done(Value::Bool(fits)))) => Ok(fits),
        Some(Effect::Finish(Finish::Failed(failure))) => Err(failure),
        Some(Effect::Finish(Finish::Done(_)) | Effect::Call { .. } | Effect::Await { .. }) | None => Err(Failure {
            kind: FailureKind::Program,
            message: "the WHERE of a listen can only look at the record that changed".to_owned(),
            place: Some(listen.place),
        }),
    }
}
