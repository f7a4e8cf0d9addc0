//! Walks: what is read, in which order records come, and what each effect is called.

use lf_module::{Kind, Value, call::Origin, schema::Count};

use super::build::*;
use crate::{
    check::typed::{ExprKind, Op, Statement},
    run::{Finish, Request, Settlement, io::FailureKind},
    types::Ty,
};

fn people(rows: &[(Option<&str>, Value)]) -> Settlement {
    let person = |(key, age): &(Option<&str>, Value)| {
        record("c", "Person", *key, &[("Age", age.clone()), ("Name", key.unwrap_or("nobody").into())])
    };
    Settlement::Records(rows.iter().map(person).collect())
}

fn name_of(id: u32) -> crate::check::typed::Expr {
    field(local(id, Ty::Position(on(CRM, "Person"))), "Name", Ty::Text)
}

fn note(id: u32) -> Statement {
    create(None, on(TRACKER, "note"), vec![entry("of", name_of(id))])
}

fn sends(calls: &[(String, Request)]) -> Vec<&str> {
    calls.iter().filter(|(_, request)| !request.is_read()).map(|(address, _)| address.as_str()).collect()
}

fn answers(rows: Vec<(Option<&'static str>, Value)>) -> impl FnMut(&str, &Request) -> Settlement {
    move |_, request| if request.is_read() { people(&rows) } else { written("note", None, &[]) }
}

#[test]
fn iterations_are_called_by_key_and_the_same_key_by_occurrence() {
    let body = vec![each(path(vec![hop(0, on(CRM, "Person"), Count::Many)], Count::Many), vec![note(0)])];
    let plan = compile(&movement(vec![function("f", &[], 1, body)]));
    let rows = vec![(Some("a/b"), num("1")), (Some("x"), num("1")), (Some("a/b"), num("1")), (None, num("1"))];
    let (calls, _) = run_with(&plan, Vec::new(), answers(rows));
    assert_eq!(
        sends(&calls),
        [
            "f/[a%2Fb]/write tracker.note",
            "f/[x]/write tracker.note",
            "f/[a%2Fb~2]/write tracker.note",
            "f/[#3]/write tracker.note"
        ]
    );
}

#[test]
fn filter_order_and_limit_are_done_here() {
    let age = || field(local(0, Ty::Position(on(CRM, "Person"))), "Age", Ty::Number.optional());
    let mut landing = hop(0, on(CRM, "Person"), Count::Many);
    landing.filter = Some(binary(Op::NotEqual, name_of(0), lit("c"), Ty::Boolean));
    landing.order = vec![(age(), true)];
    landing.limit = Some(4);
    let body = vec![each(path(vec![landing], Count::Many), vec![note(0)])];
    let plan = compile(&movement(vec![function("f", &[], 1, body)]));
    let rows = vec![
        (Some("d"), num("5")),
        (Some("n"), Value::Absent),
        (Some("c"), num("9")),
        (Some("b"), num("10")),
        (Some("a"), num("5")),
        (Some("z"), num("1")),
    ];
    let (calls, _) = run_with(&plan, Vec::new(), answers(rows));
    let order: Vec<_> = sends(&calls).iter().map(|address| address.split(['[', ']']).nth(1).unwrap()).collect();
    assert_eq!(order, ["b", "a", "d", "z"], "descending, ties by key, absent last and cut off");
}

#[test]
fn a_filter_that_calls_or_reads_gives_what_a_pure_one_would() {
    // is_old(p) returns p.Age > 3
    let age = field(local(0, Ty::Position(on(CRM, "Person"))), "Age", Ty::Number);
    let is_old = function(
        "is_old",
        &[("p", Ty::Position(on(CRM, "Person")))],
        1,
        vec![give(binary(Op::Greater, age, number("3"), Ty::Boolean))],
    );
    let mut landing = hop(0, on(CRM, "Person"), Count::Many);
    landing.filter = Some(call(1, vec![local(0, Ty::Position(on(CRM, "Person")))], Ty::Boolean));
    landing.order = vec![(name_of(0), true)];
    landing.limit = Some(2);
    let body = vec![each(path(vec![landing], Count::Many), vec![note(0)])];
    let plan = compile(&movement(vec![function("f", &[], 1, body), is_old]));
    let rows = ["a", "b", "c", "d"].into_iter().zip(2..).map(|(key, age)| (Some(key), Value::from(age)));
    let (calls, finish) = run_with(&plan, Vec::new(), answers(rows.collect()));
    assert_eq!(finish, Finish::Done(Value::Absent));
    assert_eq!(sends(&calls), ["f/[d]/write tracker.note", "f/[c]/write tracker.note"]);
}

#[test]
fn each_record_of_a_hop_is_walked_from_and_a_value_gathers_all() {
    let mut second = hop(1, on(CRM, "Person"), Count::Many);
    second.edge = "People".into();
    let whole = path(vec![hop(0, on(CRM, "Company"), Count::Many), second], Count::Many);
    let all = expr(Ty::List(Box::new(Ty::Position(on(CRM, "Person")))), ExprKind::Read(Box::new(whole)));
    let names = field(all, "Name", Ty::List(Box::new(Ty::Text)));
    let plan = compile(&movement(vec![function("f", &[], 2, vec![give(names)])]));
    let mut origins = Vec::new();
    let (calls, finish) = run_with(&plan, Vec::new(), |_, request| {
        let Request::Read { origin, .. } = request else { panic!("only reads") };
        origins.push(origin.clone());
        match origin {
            Origin::Root => {
                Settlement::Records(["1", "2"].map(|key| record("c", "Company", Some(key), &[])).into_iter().collect())
            }
            Origin::Record { key, .. } => people(&[(Some(if key.0 == "1" { "p" } else { "q" }), num("1"))]),
        }
    });
    assert_eq!(finish, Finish::Done(Value::list(vec!["p".into(), "q".into()])));
    let addresses: Vec<_> = calls.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!(addresses, ["f/read crm.Company", "f/[1]/read crm.Company.People", "f/[2]/read crm.Company.People"]);
    assert!(matches!(&origins[1], Origin::Record { ty, edge, .. } if ty == "Company" && edge == "People"));
}

#[test]
fn what_need_not_be_read_is_not_read() {
    let exists = || {
        let landing = path(vec![hop(0, on(CRM, "Person"), Count::Many)], Count::Many);
        let read = expr(Ty::List(Box::new(Ty::Position(on(CRM, "Person")))), ExprKind::Read(Box::new(landing)));
        expr(Ty::Boolean, ExprKind::Exists(Box::new(read)))
    };
    let cases = [
        (binary(Op::And, lit(false), exists(), Ty::Boolean), 0, false),
        (binary(Op::And, lit(true), exists(), Ty::Boolean), 1, true),
        (binary(Op::Or, lit(true), exists(), Ty::Boolean), 0, true),
        (binary(Op::Or, exists(), exists(), Ty::Boolean), 1, true),
    ];
    for (condition, reads, result) in cases {
        let plan = compile(&movement(vec![function("f", &[], 1, vec![give(condition)])]));
        let (calls, finish) = run_with(&plan, Vec::new(), |_, _| people(&[(Some("a"), num("1"))]));
        assert_eq!((calls.len(), finish), (reads, Finish::Done(result.into())));
    }
}

#[test]
fn more_records_than_described_is_drift() {
    let landing = path(vec![hop(0, on(CRM, "Person"), Count::One)], Count::One);
    let plan = compile(&movement(vec![function("f", &[], 1, vec![each(landing, vec![])])]));
    let rows = vec![(Some("a"), num("1")), (Some("b"), num("1"))];
    let Finish::Failed(failure) = run_with(&plan, Vec::new(), answers(rows)).1 else { panic!("it fails") };
    assert_eq!(failure.kind, FailureKind::Call(Kind::Drift));
    assert_eq!(failure.message, "`crm-[:Person]->` was described as one record; there are 2");
    assert!(failure.place.is_some());
}

#[test]
fn an_absent_pin_is_tested_here() {
    let mut landing = hop(1, on(CRM, "Person"), Count::Many);
    landing.pins = vec![("Age".into(), local(0, Ty::Number.optional()))];
    let body = vec![each(path(vec![landing], Count::Many), vec![note(1)])];
    let plan = compile(&movement(vec![function("f", &[("age", Ty::Number.optional())], 2, body)]));
    let rows = vec![(Some("a"), num("1")), (Some("b"), Value::Absent)];
    let (calls, _) = run_with(&plan, vec![Value::Absent], answers(rows));
    let Request::Read { pins, .. } = &calls[0].1 else { panic!("a read first") };
    assert!(pins.is_empty());
    assert_eq!(sends(&calls), ["f/[b]/write tracker.note"]);
}

#[test]
fn ten_thousand_records_take_work_in_proportion() {
    let mut landing = hop(0, on(CRM, "Person"), Count::Many);
    landing.order = vec![(name_of(0), false)];
    let body = vec![each(path(vec![landing], Count::Many), vec![note(0)])];
    let plan = compile(&movement(vec![function("f", &[], 1, body)]));
    let steps = |count: u32| {
        let mut state = crate::run::RunState::with_steps(u64::from(count) * 25 + 1000);
        let rows = (0..count).map(|key| record("c", "Person", Some(&key.to_string()), &[("Name", "same".into())]));
        let rows = Settlement::Records(rows.collect());
        let mut effects = crate::run::step(&plan, &mut state, crate::run::Input::Fired(fired(Vec::new())));
        let mut writes = 0;
        while let Some(crate::run::Effect::Call { address, request, .. }) = effects.pop() {
            let settlement = if request.is_read() { rows.clone() } else { written("note", None, &[]) };
            writes += u32::from(!request.is_read());
            effects = crate::run::step(&plan, &mut state, crate::run::Input::Settled { address, settlement });
        }
        assert!(state.is_over());
        writes
    };
    assert_eq!((steps(100), steps(10_000)), (100, 10_000));
}

/// What stands before a step is evaluated before it: no effect comes before a failure that the text puts first.
#[test]
fn an_effect_waits_for_what_stands_before_it() {
    let noting = function("noting", &[], 0, vec![create(None, on(TRACKER, "note"), vec![]), give(number("1"))]);
    let fails = || binary(Op::Divide, number("1"), number("0"), Ty::Number);
    let notes = || call(1, Vec::new(), Ty::Number);
    for (value, writes) in [(list(vec![fails(), notes()]), 0), (list(vec![notes(), fails()]), 1)] {
        let plan = compile(&movement(vec![function("f", &[], 0, vec![give(value)]), noting.clone()]));
        let (calls, finish) = run_with(&plan, Vec::new(), |_, _| written("note", None, &[]));
        assert!(matches!(finish, Finish::Failed(_)));
        assert_eq!(calls.len(), writes);
    }
}
