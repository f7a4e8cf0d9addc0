//! Numbers, absence, handles, drift, limits: what one expression or one call is worth.

use lf_module::{Kind, Value};

use super::build::*;
use crate::{
    check::typed::{Builtin, Op},
    run::{Effect, Finish, Input, RunState, io::FailureKind, step},
    types::Ty,
};

#[test]
fn decimals_are_exact() {
    let sum = binary(Op::Add, number("0.1"), number("0.2"), Ty::Number);
    assert_eq!(value_of(binary(Op::Equal, sum, number("0.3"), Ty::Boolean)).unwrap(), Value::Bool(true));
    assert_eq!(value_of(text(vec![number("9007199254740993")])).unwrap(), "9007199254740993".into());
}

#[test]
fn what_cannot_be_calculated_names_the_operation() {
    let cases = [
        (Op::Divide, "1", "0", "`/` by zero"),
        (Op::Remainder, "1", "0", "`%` by zero"),
        (Op::Multiply, "70000000000000000000000000000", "2", "the result of `*` is outside the range of numbers"),
        (Op::Add, "1e400", "1", "`+` cannot calculate with 1e400: it has more than 28 digits"),
    ];
    for (op, left, right, message) in cases {
        let failure = value_of(binary(op, number(left), number(right), Ty::Number)).unwrap_err();
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Program, message));
    }
}

#[test]
fn a_described_field_that_is_missing_is_drift_where_it_is_used() {
    let name = field(local(0, company()), "Name", Ty::Text);
    let used = function("f", &[("company", company())], 1, vec![give(name.clone())]);
    let bare = record("#acme_crm using crm", "Company", Some("1"), &[]);
    let plan = compile(&movement(vec![used]));
    let Finish::Failed(failure) = run_with(&plan, vec![bare.clone()], |_, _| panic!("no call")).1 else {
        panic!("it fails")
    };
    assert_eq!(failure.kind, FailureKind::Call(Kind::Drift));
    assert_eq!(failure.message, "`Name` of `crm-[:Company]->` was described as text; what is there is absent");

    let asked = builtin(Builtin::Coalesce, vec![name, lit("?")]);
    let plan = compile(&movement(vec![function("f", &[("company", company())], 1, vec![give(asked)])]));
    assert_eq!(run_with(&plan, vec![bare], |_, _| panic!("no call")).1, Finish::Done("?".into()));
}

#[test]
fn endless_recursion_ends_naming_the_chain() {
    let body = vec![bind(0, call(0, Vec::new(), Ty::Text))];
    let plan = compile(&movement(vec![function("again", &[], 1, body)]));
    let Finish::Failed(failure) = run_with(&plan, Vec::new(), |_, _| panic!("no call")).1 else { panic!("it fails") };
    assert_eq!(failure.message, "calls nest deeper than 64: again → again → again → again → … → again → again");
}

#[test]
fn a_program_without_effects_ends() {
    // Each of 60 calls calls the next one twice.
    let functions = (0..60).map(|id| {
        let next = |_| call(id + 1, Vec::new(), Ty::Number);
        let body = if id == 59 { give(number("1")) } else { give(list((0..2).map(next).collect())) };
        function(&format!("f{id}"), &[], 0, vec![body])
    });
    let plan = compile(&movement(functions.collect()));
    let mut state = RunState::with_steps(10_000);
    let effects = step(&plan, &mut state, Input::Fired(fired(Vec::new())));
    let [Effect::Finish(Finish::Failed(failure))] = effects.as_slice() else { panic!("it fails") };
    assert_eq!(failure.message, "the run took more than 10000 steps");
}
