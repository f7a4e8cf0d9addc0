//! Writes, updates, deletes, and the handles that come back.

use std::sync::Arc;

use lf_module::{Key, Value};

use super::build::*;
use crate::{
    check::typed::{EntryMode, Expr, LocalId, StatementKind, Write, WriteTarget},
    run::{
        Finish, Request, Settlement,
        io::{FailureKind, Target, WriteRequest},
    },
    types::Ty,
};

fn handle(id: u32) -> Expr {
    local(id, Ty::Handle(on(CRM, "Company")))
}

fn sent(calls: &[(String, Request)], index: usize) -> &WriteRequest {
    let Request::Write(write) = &calls[index].1 else { panic!("a write: {:?}", calls[index]) };
    write
}

#[test]
fn a_handle_has_the_answer_created_and_a_key_to_update_and_delete_by() {
    let update = Write {
        span: span(),
        on: on(CRM, "Company"),
        target: WriteTarget::Update(handle(0)),
        unique: Vec::new(),
        entries: vec![entry("Name", text(vec![field(handle(0), "Name", Ty::Text), lit("!")]))],
    };
    let body = vec![
        create(Some(0), on(CRM, "Company"), vec![entry("Name", lit("Acme"))]),
        statement(StatementKind::Write { bind: Some(LocalId(1)), write: update, refused: None }),
        statement(StatementKind::Delete { target: handle(0) }),
        give(list(vec![field(handle(0), "created", Ty::Boolean), field(handle(1), "created", Ty::Boolean)])),
    ];
    let plan = compile(&movement(vec![function("f", &[], 2, body)]));
    let mut round = 0;
    let (calls, finish) = run_with(&plan, Vec::new(), |_, request| {
        round += 1;
        if matches!(request, Request::Delete { .. }) {
            return Settlement::Deleted;
        }
        let handle = record("c", "Company", Some("7"), &[("Name", "Acme".into())]);
        Settlement::Written { handle, created: round == 1, unchanged: false }
    });
    assert_eq!(finish, Finish::Done(Value::list(vec![true.into(), false.into()])));
    assert_eq!(sent(&calls, 1).target, Target::Update { key: Key("7".into()) });
    assert_eq!(sent(&calls, 1).entries[0].value, "Acme!".into());
    assert_eq!(calls[2].1, Request::Delete { ty: "Company".into(), key: Key("7".into()) });
    let addresses: Vec<_> = calls.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!(addresses, ["f/write crm.Company", "f/update crm.Company", "f/delete crm.Company"]);
}

#[test]
fn a_field_left_out_of_an_answer_is_drift_only_where_it_is_used() {
    let body = |used: Expr| {
        let text = field(local(0, Ty::Handle(on(TRACKER, "create_issue"))), "text", Ty::Text);
        let asked = expr(Ty::Boolean, crate::check::typed::ExprKind::Exists(Box::new(text.clone())));
        let result = if used.ty == Ty::Boolean { asked } else { text };
        vec![create(Some(0), on(TRACKER, "create_issue"), vec![]), give(result)]
    };
    let run = |used: Expr| {
        let plan = compile(&movement(vec![function("f", &[], 1, body(used))]));
        run_with(&plan, Vec::new(), |_, _| written("create_issue", None, &[])).1
    };
    assert_eq!(run(lit(true)), Finish::Done(false.into()));
    let Finish::Failed(failure) = run(lit("t")) else { panic!("it fails") };
    assert_eq!(failure.message, "`text` of `tracker-[:create_issue]->` was described as text; what is there is absent");
}

#[test]
fn a_text_outside_its_choice_is_drift() {
    let stage = field(local(0, company()), "Stage", Ty::Choice(vec!["new".into(), "won".into()]));
    let plan = compile(&movement(vec![function("f", &[("company", company())], 1, vec![give(stage)])]));
    let company = record("c", "Company", Some("1"), &[("Stage", "lost".into())]);
    let Finish::Failed(failure) = run_with(&plan, vec![company], |_, _| panic!("no call")).1 else { panic!("fails") };
    assert_eq!(
        failure.message,
        "`Stage` of `crm-[:Company]->` was described as one of \"new\" | \"won\"; what is there is \"lost\""
    );
}

#[test]
fn absent_values_go_as_their_entry_says() {
    let absent = || local(0, Ty::Text.optional());
    let modes = [
        ("Skip", EntryMode::SetOrSkip),
        ("Clear", EntryMode::SetOrClear),
        ("Fill", EntryMode::Fill),
        ("Add", EntryMode::Add),
    ];
    let entries = modes.map(|(field, mode)| {
        let mut made = entry(field, absent());
        made.mode = mode;
        made
    });
    let run = |entries| {
        let body = vec![create(None, on(CRM, "Company"), entries)];
        let plan = compile(&movement(vec![function("f", &[("x", Ty::Text.optional())], 1, body)]));
        run_with(&plan, vec![Value::Absent], |_, _| written("Company", None, &[]))
    };
    let (calls, _) = run(entries.to_vec());
    let left: Vec<_> = sent(&calls, 0).entries.iter().map(|entry| (entry.field.as_str(), &entry.value)).collect();
    assert_eq!(left, [("Clear", &Value::Absent)]);

    let (calls, finish) = run(vec![entry("Name", absent())]);
    assert!(calls.is_empty());
    let Finish::Failed(failure) = finish else { panic!("it fails") };
    assert_eq!(failure.message, "`Name` of `crm-[:Company]->` needs a value; there is none");
}

#[test]
fn identity_leaves_out_lines_with_blank_or_absent_keys() {
    let write = Write {
        span: span(),
        on: on(CRM, "Company"),
        target: WriteTarget::Create,
        unique: vec![vec!["Name".into()], vec!["Site".into()], vec!["Name".into(), "Nick".into()]],
        entries: vec![entry("Name", lit("Acme")), entry("Site", lit("  ")), {
            let mut nick = entry("Nick", lit(Value::Absent));
            nick.mode = EntryMode::SetOrSkip;
            nick
        }],
    };
    let body = vec![statement(StatementKind::Write { bind: None, write, refused: None })];
    let plan = compile(&movement(vec![function("f", &[], 0, body)]));
    let (calls, _) = run_with(&plan, Vec::new(), |_, _| written("Company", None, &[]));
    assert_eq!(sent(&calls, 0).unique, [[("Name", Value::from("Acme"))].into_iter().collect()]);
}

#[test]
fn a_refusal_ends_the_run_with_its_own_words() {
    let plan = compile(&movement(vec![function("f", &[], 0, vec![create(None, on(CRM, "Company"), vec![])])]));
    let (_, finish) = run_with(&plan, Vec::new(), |_, _| {
        Settlement::Refused(crate::run::Failure {
            kind: FailureKind::Call(lf_module::Kind::Refused),
            message: "no room".to_owned(),
            place: None,
        })
    });
    let Finish::Failed(failure) = finish else { panic!("it fails") };
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Call(lf_module::Kind::Refused), "no room"));
    let place = plan.place(failure.place.expect("a place")).expect("a known place");
    assert_eq!((place.file.as_str(), place.line, place.says.as_str()), ("triage.mvt", 1, "write crm-[:Company]->"));
}

#[test]
fn a_record_without_a_key_cannot_be_changed() {
    let body = vec![statement(StatementKind::Delete { target: local(0, company()) })];
    let plan = compile(&movement(vec![function("f", &[("company", company())], 1, body)]));
    let keyless = record("c", "Company", None, &[]);
    let Finish::Failed(failure) = run_with(&plan, vec![keyless], |_, _| panic!("no call")).1 else { panic!("fails") };
    assert_eq!(failure.message, "a record of `Company` has no key, so it cannot be deleted");
}

#[test]
fn appending_to_a_shared_list_leaves_the_other_alone() {
    // Lists are shared between slots; `...` and gathering must copy before they grow.
    let one = || list(vec![lit("a")]);
    let grown = expr(
        Ty::List(Box::new(Ty::Text)),
        crate::check::typed::ExprKind::List(vec![
            crate::check::typed::Item::Spread(local(0, Ty::List(Box::new(Ty::Text)))),
            crate::check::typed::Item::One(lit("b")),
        ]),
    );
    let ty = || Ty::List(Box::new(Ty::Text));
    let body = vec![bind(0, one()), bind(1, grown), give(list(vec![local(0, ty()), local(1, ty())]))];
    let plan = compile(&movement(vec![function("f", &[], 2, body)]));
    let Finish::Done(Value::List(lists)) = run_with(&plan, Vec::new(), |_, _| panic!("no call")).1 else {
        panic!("lists")
    };
    let lists: Arc<Vec<Value>> = lists;
    assert_eq!(lists[0], Value::list(vec!["a".into()]));
    assert_eq!(lists[1], Value::list(vec!["a".into(), "b".into()]));
}
