//! What holds for every program: the plan does what the tree says, compiling is deterministic, and a journal's prefix
//! brings a run back to where it was.

use std::collections::BTreeSet;

use lf_module::Value;
use proptest::prelude::*;

use super::{
    build::*,
    generate,
    reference::{Reference, Stop},
    world,
};
use crate::{
    plan::{Plan, ir::PlaceId},
    run::{
        Effect, Entry, Finish, Input, Request, RunState, Settlement,
        entry::{Intent, Sending},
        replay, step,
    },
};

/// One run to its end, journalled.
fn journal(plan: &Plan) -> (Vec<Entry>, Vec<Effect>) {
    let start = fired(vec![num("1")]);
    let mut entries = vec![Entry::Started { plan: plan.id(), fired: start.clone() }];
    let mut all = Vec::new();
    let mut state = RunState::new();
    let mut effects = step(plan, &mut state, Input::Fired(start));
    loop {
        let effect = effects.pop().expect("a step has an effect");
        all.push(effect.clone());
        let Effect::Call { address, place, connection, request, .. } = effect else { break };
        if !request.is_read() {
            let sending = Sending::Delete { key: lf_module::Key("x".into()), idempotency: "x".into() };
            let address = address.clone();
            let request = request.clone();
            let (at, until) = (now(), now());
            entries.push(Entry::Intent(Box::new(Intent { address, place, connection, request, sending, at, until })));
        }
        let settlement = world::answer(&request);
        entries.push(settled(&address, place, settlement.clone()));
        effects = step(plan, &mut state, Input::Settled { address, settlement });
    }
    let Some(Effect::Finish(finish)) = all.last() else { panic!("a run ends") };
    entries.push(Entry::Finished { finish: finish.clone(), at: now() });
    (entries, all)
}

fn settled(address: &crate::run::Address, place: PlaceId, settlement: Settlement) -> Entry {
    Entry::Settled { address: address.clone(), place, settlement, at: now() }
}

/// What follows when a replayed run goes on in the same world.
fn rest(plan: &Plan, mut state: RunState, mut effects: Vec<Effect>) -> Vec<Effect> {
    let mut all = Vec::new();
    loop {
        let effect = effects.pop().expect("a step has an effect");
        all.push(effect.clone());
        let Effect::Call { address, request, .. } = effect else { return all };
        let settlement = world::answer(&request);
        effects = step(plan, &mut state, Input::Settled { address, settlement });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_plan_does_what_the_tree_says(bytes in proptest::collection::vec(any::<u8>(), 0..240)) {
        let movement = generate::program(&bytes);
        let plan = compile(&movement);
        let mut reference = Reference { movement: &movement, asked: Vec::new() };
        let meant = reference.call(0, vec![num("1")]);
        let (calls, finish) = run_with(&plan, vec![num("1")], |_, request| world::answer(request));
        let requests: Vec<Request> = calls.iter().map(|(_, request)| request.clone()).collect();
        prop_assert_eq!(requests, reference.asked);
        match (meant, finish) {
            (Ok(value) | Err(Stop::Return(value)), Finish::Done(done)) => prop_assert_eq!(value, done),
            (Err(Stop::Fail(why)), Finish::Failed(failure)) => prop_assert_eq!(why, failure.message),
            (Ok(value) | Err(Stop::Return(value)), Finish::Failed(failure)) => {
                prop_assert!(false, "{:?} against {:?}", value, failure);
            }
            (Err(Stop::Fail(why)), Finish::Done(value)) => prop_assert!(false, "{} against {:?}", why, value),
        }
        let addresses: BTreeSet<_> = calls.iter().map(|(address, _)| address).collect();
        prop_assert_eq!(addresses.len(), calls.len(), "no two effects share an address");
    }

    #[test]
    fn what_a_source_filters_and_what_is_filtered_here_is_the_same(
        bytes in proptest::collection::vec(any::<u8>(), 0..240),
    ) {
        let here = compile(&generate::unpinned(&bytes));
        let (kept, kept_end) = run_with(&here, vec![num("1")], |_, request| world::answer(request));
        let untold = |calls: Vec<(String, Request)>| -> Vec<Request> {
            let plain = |(_, mut request): (String, Request)| {
                if let Request::Read { pins, by, .. } = &mut request {
                    (*pins, *by) = (lf_module::Record::new(), lf_module::Record::new());
                }
                request
            };
            calls.into_iter().map(plain).collect()
        };
        let kept = untold(kept);
        for sent in [generate::program(&bytes), generate::looked_up(&bytes)] {
            let (asked, end) = run_with(&compile(&sent), vec![num("1")], |_, request| world::pinned(request));
            prop_assert_eq!(&untold(asked), &kept);
            match (&end, &kept_end) {
                (Finish::Done(one), Finish::Done(other)) => prop_assert_eq!(one, other),
                (Finish::Failed(one), Finish::Failed(other)) => prop_assert_eq!(&one.message, &other.message),
                (one, other) => prop_assert!(false, "{:?} against {:?}", one, other),
            }
        }
    }

    #[test]
    fn compiling_twice_gives_one_plan(bytes in proptest::collection::vec(any::<u8>(), 0..240)) {
        let (first, second) = (compile(&generate::program(&bytes)), compile(&generate::program(&bytes)));
        prop_assert_eq!(first.id(), second.id());
        let encoded = serde_json::to_string(&first).unwrap();
        let back: Plan = serde_json::from_str(&encoded).unwrap();
        prop_assert_eq!(back.id(), first.id());
        prop_assert_eq!(&back, &first);
        let _text = crate::plan::explain::explain(&first);
    }

    #[test]
    fn every_prefix_of_a_journal_goes_on_to_the_same_effects(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let plan = compile(&generate::program(&bytes));
        let (entries, all) = journal(&plan);
        // Every prefix of a short journal, and some of a long one.
        let stride = 1 + entries.len() / 40;
        for length in (1..=entries.len()).step_by(stride) {
            let prefix = &entries[..length];
            let replayed = replay(&plan, prefix).map_err(|failure| TestCaseError::fail(failure.message))?;
            let open = matches!(prefix.last(), Some(Entry::Intent(_)));
            prop_assert_eq!(replayed.open.is_some(), open);
            let rest = rest(&plan, replayed.state, replayed.effects);
            prop_assert_eq!(&rest[..], &all[replayed.answered..]);
        }
    }

    #[test]
    fn a_retry_keeps_writes_and_what_led_to_them(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let plan = compile(&generate::program(&bytes));
        let (mut entries, all) = journal(&plan);
        entries.pop();
        let last_write = entries.iter().rposition(|entry| {
            matches!(entry, Entry::Settled { settlement: Settlement::Written { .. }, .. })
        });
        let kept = &entries[..last_write.map_or(1, |last| last + 1)];
        let kept = kept.iter().filter(|entry| matches!(entry, Entry::Settled { .. })).count();
        entries.push(Entry::Attempt { number: 2, why: "away".to_owned(), at: now() });
        let replayed = replay(&plan, &entries).map_err(|failure| TestCaseError::fail(failure.message))?;
        prop_assert_eq!(replayed.answered, kept);
        let rest = rest(&plan, replayed.state, replayed.effects);
        prop_assert_eq!(&rest[..], &all[replayed.answered..]);
    }

    #[test]
    fn a_journal_of_another_program_never_panics(
        one in proptest::collection::vec(any::<u8>(), 0..80),
        other in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let (entries, _) = journal(&compile(&generate::program(&one)));
        let _either = replay(&compile(&generate::program(&other)), &entries);
    }
}

#[test]
fn a_journal_that_does_not_fit_shows_both_sides() {
    let note = |of: &str| create(None, on(TRACKER, "note"), vec![entry("of", lit(of))]);
    let plan =
        |of: &str| compile(&movement(vec![function("f", &[("n", crate::types::Ty::Number)], 1, vec![note(of)])]));
    let (entries, _) = journal(&plan("a"));
    let failure = replay(&plan("b"), &entries).unwrap_err();
    assert_eq!(failure.kind, crate::run::io::FailureKind::Journal);
    assert!(failure.message.contains("\"a\"") && failure.message.contains("\"b\""), "{}", failure.message);

    let empty = compile(&movement(vec![function("f", &[("n", crate::types::Ty::Number)], 1, vec![])]));
    let failure = replay(&empty, &entries).unwrap_err();
    assert_eq!(
        failure.message,
        "the journal holds an answer for `f/write tracker.note`; the run asks for nothing: it is done"
    );
    let twice = [&entries[..3], &entries[2..]].concat();
    assert_eq!(replay(&plan("a"), &twice).unwrap_err().message, "the journal settles `f/write tracker.note` twice");
    assert!(replay(&plan("a"), &entries[1..]).is_err());
    assert!(replay(&plan("a"), &[]).is_err());
}

#[test]
fn a_refused_call_is_made_again_and_a_decided_one_is_told() {
    let note = create(None, on(TRACKER, "note"), vec![entry("of", lit("a"))]);
    let plan = compile(&movement(vec![function("f", &[("n", crate::types::Ty::Number)], 1, vec![note])]));
    let (entries, _) = journal(&plan);
    let Entry::Settled { address, place, .. } = &entries[2] else { panic!("an answer") };
    let refusal = crate::run::Failure {
        kind: crate::run::io::FailureKind::Call(lf_module::Kind::Refused),
        message: "no".to_owned(),
        place: None,
    };
    let refused = [entries[..2].to_vec(), vec![settled(address, *place, Settlement::Refused(refusal))]].concat();
    let replayed = replay(&plan, &refused).unwrap();
    assert!(matches!(replayed.effects[..], [Effect::Call { .. }]) && replayed.open.is_none());

    let decided = |done| {
        let decided = Entry::Decided { address: address.clone(), done, why: "seen".to_owned(), at: now() };
        replay(&plan, &[entries[..2].to_vec(), vec![decided]].concat()).unwrap().open.map(|open| open.done)
    };
    assert_eq!((decided(true), decided(false)), (Some(true), None));
}

#[test]
fn an_input_that_does_not_fit_fails_as_journal() {
    let plan = compile(&movement(vec![function("f", &[], 1, vec![])]));
    let mut state = RunState::new();
    let done = step(&plan, &mut state, Input::Fired(fired(Vec::new())));
    assert_eq!(done, [Effect::Finish(Finish::Done(Value::Absent))]);
    let again = step(&plan, &mut state, Input::Fired(fired(Vec::new())));
    assert!(matches!(&again[..], [Effect::Finish(Finish::Failed(failure))]
        if failure.kind == crate::run::io::FailureKind::Journal));
    let mut state = RunState::new();
    let wrong = step(&plan, &mut state, Input::Fired(fired(vec![num("1")])));
    assert!(matches!(&wrong[..], [Effect::Finish(Finish::Failed(failure))]
        if failure.message == "`f` takes 0 arguments and was given 1"));
}

#[test]
fn an_attempt_with_a_write_in_flight_keeps_what_led_to_it() {
    let landing = hop(1, on(CRM, "Person"), lf_module::schema::Count::Many);
    let landing = crate::check::typed::Path {
        span: span(),
        start: crate::check::typed::PathStart::Root(CRM),
        hops: vec![landing],
        count: lf_module::schema::Count::Many,
    };
    let body = vec![each(landing, vec![]), create(None, on(TRACKER, "note"), vec![entry("of", lit("a"))])];
    let plan = compile(&movement(vec![function("f", &[("n", crate::types::Ty::Number)], 2, body)]));
    let (entries, _) = journal(&plan);
    assert!(matches!(entries[2], Entry::Intent(_)));
    let attempt = || Entry::Attempt { number: 2, why: "away".to_owned(), at: now() };
    let answered = |entries: Vec<Entry>| {
        let replayed = replay(&plan, &entries).unwrap();
        (replayed.answered, replayed.open.is_some())
    };
    assert_eq!(answered([entries[..3].to_vec(), vec![attempt()]].concat()), (1, true));
    assert_eq!(answered([entries[..2].to_vec(), vec![attempt()]].concat()), (0, false));
    // A finished run that somebody tries again, and one that goes on with another text.
    let again = [entries.clone(), vec![attempt()]].concat();
    assert_eq!(answered(again.clone()), (2, false));
    let Entry::Started { fired, .. } = &entries[0] else { panic!("a start") };
    let moved = Entry::Started { plan: crate::plan::PlanId("other".into()), fired: fired.clone() };
    assert_eq!(answered([again, vec![moved]].concat()), (2, false));
}
