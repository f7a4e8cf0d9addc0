//! The first movement of all, from typed tree to effects.

use lf_module::{Record, Value, call::Origin, schema::Count};

use super::build::*;
use crate::{
    check::typed::Movement,
    plan::{Plan, explain::explain},
    run::{Finish, Request, Settlement, io::Target},
    types::Ty,
};

fn triage() -> Movement {
    let name = || field(local(0, company()), "Name", Ty::Text);
    let issue = || local(1, Ty::Handle(on(TRACKER, "create_issue")));
    let found = || local(2, Ty::Position(on(TRACKER, "search_issues")));
    let mut search = hop(2, on(TRACKER, "search_issues"), Count::One);
    search.pins = vec![("query".into(), name())];
    let title = text(vec![lit("Follow up "), name()]);
    let summary = text(vec![field(found(), "count", Ty::Number), lit(" open; "), field(issue(), "text", Ty::Text)]);
    let body = vec![
        create(Some(1), on(TRACKER, "create_issue"), vec![entry("title", title), entry("team", lit("ENG"))]),
        each(path(vec![search], Count::One), vec![create(None, on(CRM, "Company"), vec![entry("Name", summary)])]),
    ];
    let mut movement = movement(vec![function("triage", &[("company", company())], 3, body)]);
    movement.listens.push(listen(0));
    movement
}

fn plan() -> Plan {
    compile(&triage())
}

fn answer(_: &str, request: &Request) -> Settlement {
    match request {
        Request::Read { ty, origin, pins, by: _ } => {
            assert_eq!((ty.as_str(), origin), ("search_issues", &Origin::Root));
            assert_eq!(*pins, [("query", Value::from("Acme"))].into_iter().collect::<Record>());
            let fields = [("query", Value::from("Acme")), ("count", num("2"))];
            Settlement::Records(vec![record("any", "search_issues", None, &fields)])
        }
        Request::Write(write) if write.ty == "create_issue" => {
            written("create_issue", None, &[("text", "ENG-1".into())])
        }
        Request::Write(_) => written("Company", Some("9"), &[]),
        Request::Delete { .. } | Request::Link { .. } => panic!("nothing is deleted"),
    }
}

#[test]
fn the_first_movement_runs_as_written() {
    let (calls, finish) = run_with(&plan(), vec![acme()], answer);
    assert_eq!(finish, Finish::Done(Value::Absent));
    let addresses: Vec<_> = calls.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!(
        addresses,
        ["triage/write tracker.create_issue", "triage/read tracker.search_issues", "triage/[#0]/write crm.Company"]
    );
    let Request::Write(last) = &calls[2].1 else { panic!("the last call is a write") };
    assert_eq!(last.target, Target::Create { origin: Origin::Root });
    assert_eq!(last.entries[0].value, Value::from("2 open; ENG-1"));
}

#[test]
fn the_plan_says_what_it_does() {
    insta::assert_snapshot!(explain(&plan()));
}

#[test]
fn a_listen_without_a_label_is_called_by_path_and_function() {
    assert_eq!(plan().listens[0].name, "crm-[:Company]-> fire triage");
}

#[test]
fn a_plan_comes_back_from_its_encoding_with_the_same_id() {
    let plan = plan();
    let encoded = serde_json::to_string(&plan).unwrap();
    let back: Plan = serde_json::from_str(&encoded).unwrap();
    assert_eq!(back, plan);
    assert_eq!(back.id(), plan.id());
    assert_eq!(compile(&triage()).id(), plan.id());
}
