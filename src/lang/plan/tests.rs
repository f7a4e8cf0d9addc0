//! From text to plan to effects: the texts of `tests/corpus/plan`, explained and run in a world that is as it was
//! described.

mod world;

use lf_module::Value;

use super::{
    Plan, compile,
    explain::explain,
    ir::{FunctionIndex, Op, PlaceId},
};
use crate::{
    check::{Catalog, Program, check, typed::Movement},
    diag::Diagnostic,
    run::{Effect, Failure, Finish, Fired, Input, RunState, io::FailureKind, step},
    source::SourceMap,
    syntax,
};

const TEXTS: [(&str, &str); 7] = [
    ("lazy", include_str!("../../../tests/corpus/plan/lazy.mvt")),
    ("triage", include_str!("../../../tests/corpus/plan/triage.mvt")),
    ("values", include_str!("../../../tests/corpus/plan/values.mvt")),
    ("walks", include_str!("../../../tests/corpus/plan/walks.mvt")),
    ("closures", include_str!("../../../tests/corpus/plan/closures.mvt")),
    ("links", include_str!("../../../tests/corpus/plan/links.mvt")),
    ("writes", include_str!("../../../tests/corpus/plan/writes.mvt")),
];

fn catalog() -> Catalog {
    serde_json::from_str(include_str!("../../../tests/corpus/catalogs/acme.json")).unwrap()
}

fn plan_of(name: &str, text: &str) -> Plan {
    let (movement, map) = movement_of(name, text);
    compile(&movement, &map)
}

fn movement_of(name: &str, text: &str) -> (Movement, SourceMap) {
    let mut map = SourceMap::default();
    let id = map.add(format!("{name}.mvt"), text);
    let parsed = syntax::parse(map.get(id).unwrap());
    let show = |problems: &[Diagnostic]| {
        let file = map.get(id).unwrap();
        let show = |problem: &Diagnostic| format!("{} at `{}`", problem.headline, file.slice(problem.primary.span));
        problems.iter().map(show).collect::<Vec<_>>().join("\n")
    };
    assert!(parsed.problems.is_empty(), "{name}: {}", show(&parsed.problems));
    let files = [parsed.file];
    let checked = check(&Program { map: &map, files: &files, roots: &[id] }, &catalog());
    let movement = checked.movement.unwrap_or_else(|| panic!("{name}: {}", show(&checked.problems)));
    (movement, map)
}

/// Runs what the first listen fires; gives a line for each effect.
fn trace(plan: &Plan, catalog: &Catalog, seed: u32) -> (Vec<String>, Result<Value, Failure>) {
    let world = world::World { plan, catalog, seed };
    let listen = &plan.listens[0];
    let mut args = vec![world.record(listen.connection, &listen.ty, 0)];
    if listen.with_change {
        args.push(world::change());
    }
    let now = "2026-01-05T09:00:00Z".parse().unwrap();
    let mut state = RunState::new();
    let mut effects = step(plan, &mut state, Input::Fired(Fired { function: listen.fire, args, now }));
    let mut lines = Vec::new();
    loop {
        match effects.pop().expect("a step has an effect") {
            Effect::Await { address, .. } => panic!("`{address}` is waited for"),
            Effect::Finish(Finish::Done(value)) => return (lines, Ok(value)),
            Effect::Finish(Finish::Failed(failure)) => return (lines, Err(failure)),
            Effect::Call { address, place, connection, request, .. } => {
                let place = plan.place(place).expect("a place");
                lines.push(format!(
                    "{address}\n  {}:{} {}\n  {}",
                    place.line,
                    place.column,
                    place.says,
                    world::show(&request)
                ));
                let settlement = world.answer(connection, &request);
                effects = step(plan, &mut state, Input::Settled { address, settlement });
            }
        }
    }
}

#[test]
fn plans_are_explained() {
    for (name, text) in TEXTS {
        insta::assert_snapshot!(name, explain(&plan_of(name, text)));
    }
}

#[test]
fn plans_run() {
    for (name, text) in TEXTS {
        // In the first world there is nobody to walk through.
        let seed = if name == "closures" { 2 } else { 1 };
        let (lines, finish) = trace(&plan_of(name, text), &catalog(), seed);
        insta::assert_snapshot!(format!("{name}_run"), format!("{}\n{finish:?}\n", lines.join("\n")));
    }
}

/// What a clean check promises: in a world that is as described, only the program's own faults end a run.
#[test]
fn a_clean_check_meets_no_surprise() {
    let catalog = catalog();
    for (name, text) in TEXTS {
        let plan = plan_of(name, text);
        for seed in 0..200 {
            if let Err(failure) = trace(&plan, &catalog, seed).1 {
                assert_eq!(failure.kind, FailureKind::Program, "{name}, seed {seed}: {}", failure.message);
            }
        }
    }
}

#[test]
fn a_comment_makes_no_new_version() {
    for (name, text) in TEXTS {
        let commented =
            text.replace("\nfunction", "\n// said\n\n/// documented\nfunction").replace(", team:", ",\n    team:");
        let (before, after) = (plan_of(name, text), plan_of("renamed", &commented));
        assert_ne!(before.places, after.places);
        assert_eq!(before.id(), after.id());
    }
    let (one, other) = (TEXTS[1].1, TEXTS[1].1.replace("Follow up", "Look at"));
    assert_ne!(plan_of("one", one).id(), plan_of("other", &other).id());
}

#[test]
fn each_field_that_leaves_has_its_place() {
    let text = TEXTS[1].1;
    let plan = plan_of("triage", text);
    let at = |place: PlaceId| {
        let place = plan.place(place).unwrap();
        let line = text.lines().nth(place.line as usize - 1).unwrap();
        (place.field.as_str(), line.chars().skip(place.column as usize - 1).collect::<String>())
    };
    let mut fields = Vec::new();
    for step in plan.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.0) {
        if let Op::Write(write) = &step.op {
            for entry in &write.entries {
                let (field, found) = at(entry.place);
                assert!(field == entry.field && found.starts_with(&format!("{field}: ")), "{field}: {found}");
                fields.push(field.to_owned());
            }
        }
        if let Op::Read(read) = &step.op {
            for pin in &read.pins {
                assert_eq!(at(pin.place), ("query", "company.Name]-> {".to_owned()));
                fields.push(pin.field.to_string());
            }
        }
    }
    assert_eq!(fields, ["title", "team", "query", "Name", "Employees", "Tags", "Tier", "Active"]);
}

#[test]
fn functions_are_found_by_name() {
    let plan = plan_of(TEXTS[0].0, TEXTS[0].1);
    assert_eq!(plan.function_by_name("decide"), Some(FunctionIndex(2)));
    assert_eq!(plan.function_by_name("triage"), None);
    let open = plan.function(plan.function_by_name("open").unwrap()).unwrap();
    assert_eq!((open.params[0].name.as_str(), open.params[0].text.as_str()), ("name", "text"));
    assert_eq!(open.returns.as_deref(), Some("number"));
}

/// A name, how deep, and the text of a body that deep.
type Deep = (&'static str, usize, fn(usize) -> String);

/// What the parser lets through is checked, compiled, stored, explained and run on the stack of a test.
#[test]
fn the_deepest_program_runs() {
    let head =
        "// catalog: acme\ncrm = connect #acme_crm using acme\nfunction f(company: <crm-[:Company]->>): <number> {\n";
    let tail = "\n}\nlisten to crm-[:Company]-> fire f\n";
    // One more of each would be too deep for the parser; arms may be any number.
    let shapes: &[Deep] = &[
        ("brackets", 127, |depth| format!("return {}1{}", "(".repeat(depth), ")".repeat(depth))),
        ("chain", 255, |depth| format!("return 1{}", " + 1".repeat(depth))),
        ("junction", 253, |depth| {
            format!("return IF company.Active{} THEN 1 ELSE 2 END", " AND company.Active".repeat(depth))
        }),
        ("signs", 254, |depth| format!("return {}1", "-".repeat(depth))),
        ("negations", 252, |depth| format!("return IF {}true THEN 1 ELSE 2 END", "NOT ".repeat(depth))),
        ("lists", 62, |depth| format!("return LENGTH({}1{})", "[".repeat(depth), "]".repeat(depth))),
        ("records", 62, |depth| format!("return LENGTH([{}1{}])", "{ a: ".repeat(depth), " }".repeat(depth))),
        ("calls", 125, |depth| format!("return {}1{}", "ABS(".repeat(depth), ")".repeat(depth))),
        ("texts", 60, |depth| format!("return LENGTH({}1{})", "\"${".repeat(depth), "}\"".repeat(depth))),
        ("choices", 125, |depth| {
            format!("return {}1{}", "IF company.Active THEN ".repeat(depth), " ELSE 2 END".repeat(depth))
        }),
        ("closures", 28, |depth| {
            let open: String = (0..depth).map(|at| format!("MAP([1], (_x{at}) => ")).collect();
            format!("return LENGTH({open}[1]{})", ")".repeat(depth))
        }),
        ("reductions", 28, |depth| {
            let open: String = (0..depth).map(|at| format!("REDUCE([1], [], (_a{at}, _b{at}) => ")).collect();
            format!("return LENGTH({open}[1]{})", ")".repeat(depth))
        }),
        ("closures of blocks", 28, |depth| {
            let open: String = (0..depth).map(|at| format!("MAP([1], (_x{at}) => {{ return ")).collect();
            format!("return LENGTH({open}[1]{})", " })".repeat(depth))
        }),
        ("right", 127, |depth| format!("return {}1{}", "(1 + ".repeat(depth), ")".repeat(depth))),
        ("blocks", 127, |depth| {
            format!("{}return 1{}\nreturn 2", "if company.Active {\n".repeat(depth), "\n}".repeat(depth))
        }),
        ("arms", 1000, |depth| {
            format!("return IF company.Active THEN 1{} ELSE 0 END", " ELSE IF company.Active THEN 2".repeat(depth))
        }),
    ];
    for (name, depth, shape) in shapes {
        let text = format!("{head}{}{tail}", shape(*depth));
        let (movement, map) = movement_of(name, &text);
        let plan = compile(&movement, &map);
        let finish = trace(&plan, &catalog(), 1).1;
        assert!(finish.is_ok(), "{name}: {finish:?}");
        let encoded = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&encoded).unwrap(), plan);
        assert!(!explain(&plan).is_empty());
    }
}
