//! `IS`, `AS`, comparison, listens' conditions, constants, and arguments from JSON.

use lf_module::{
    Value, json,
    schema::{Description, Field, FieldType, TypeShape},
};

use super::build::*;
use crate::{
    check::{
        catalog::{Catalog, Described},
        typed::{Constant, ConstantId, ExprKind, Op},
    },
    run::{Finish, args::decode_args, matches},
    types::Ty,
};

fn parsed(text: &str) -> Value {
    json::decode(text).unwrap()
}

fn is(value: &str, ty: Ty) -> bool {
    let operand = Box::new(lit(parsed(value)));
    value_of(expr(Ty::Boolean, ExprKind::Is { operand, ty })).unwrap() == Value::Bool(true)
}

fn r#as(value: &str, ty: Ty) -> Value {
    let operand = Box::new(lit(parsed(value)));
    value_of(expr(ty.clone().optional(), ExprKind::As { operand, ty })).unwrap()
}

fn person() -> Ty {
    Ty::Record(vec![("name".into(), Ty::Text), ("born".into(), Ty::Date.optional())])
}

#[test]
fn as_is_exact_and_reads_iso_dates() {
    assert_eq!(r#as("\"3\"", Ty::Number), Value::Absent);
    assert_eq!(r#as("3", Ty::Number), num("3"));
    assert_eq!(r#as("\"2026-01-05\"", Ty::Date), parsed("{\"$date\":\"2026-01-05\"}"));
    assert_eq!(r#as("\"soon\"", Ty::Date), Value::Absent);
    assert_eq!(r#as("{\"name\":\"A\",\"extra\":1}", person()), parsed("{\"name\":\"A\",\"born\":null}"));
    assert_eq!(r#as("{\"born\":\"2026-01-05\"}", person()), Value::Absent);
    assert_eq!(r#as("[1, \"2\"]", Ty::List(Box::new(Ty::Number))), Value::Absent);
    assert_eq!(r#as("\"c\"", Ty::Choice(vec!["a".into(), "b".into()])), Value::Absent);
    assert_eq!(r#as("null", Ty::Json), Value::Absent);
}

#[test]
fn is_looks_at_the_value() {
    assert!(is("\"a\"", Ty::Choice(vec!["a".into()])));
    assert!(!is("\"2026-01-05\"", Ty::Date));
    assert!(is("{\"name\":\"A\"}", person()) && !is("{\"name\":1}", person()));
    assert!(is("null", Ty::Absent) && !is("null", Ty::Text) && is("null", Ty::Text.optional()));
    let crm = "{\"$pos\":[\"#acme_crm using crm\",\"Company\",\"1\",{}]}";
    assert!(is(crm, company()));
    assert!(!is(crm, Ty::Position(on(TRACKER, "Company"))), "another connection is another graph");
}

#[test]
fn comparison_is_by_worth_and_by_key() {
    let cases = [
        ("1.50", Op::Equal, "1.5", true),
        ("null", Op::Equal, "null", true),
        ("\"a\"", Op::Equal, "null", false),
        ("1e400", Op::Equal, "1e400", true),
        ("{\"a\":1,\"b\":null}", Op::Equal, "{\"a\":1.0}", true),
        ("{\"a\":1}", Op::Equal, "{\"a\":1,\"b\":2}", false),
        ("{\"$pos\":[\"c\",\"T\",\"1\",{\"x\":1}]}", Op::Equal, "{\"$pos\":[\"c\",\"T\",\"1\",{\"x\":2}]}", true),
        ("{\"$pos\":[\"c\",\"T\",\"1\",{}]}", Op::Equal, "{\"$pos\":[\"d\",\"T\",\"1\",{}]}", false),
        ("\"Z\"", Op::Less, "\"a\"", true),
        ("{\"$date\":\"2026-01-05\"}", Op::LessEqual, "{\"$date\":\"2026-01-05\"}", true),
        ("2", Op::In, "[1, 2.0]", true),
        ("[1, 2]", Op::Contains, "3", false),
        ("\"abc\"", Op::Contains, "\"bc\"", true),
        ("{\"$at\":\"2026-01-05T10:00:00Z\"}", Op::Within, "{\"$for\":\"PT1H\"}", true),
        ("{\"$at\":\"2026-01-05T07:59:59Z\"}", Op::Within, "{\"$for\":\"PT1H\"}", false),
    ];
    for (left, op, right, expected) in cases {
        let found = value_of(binary(op, lit(parsed(left)), lit(parsed(right)), Ty::Boolean));
        assert_eq!(found, Ok(Value::Bool(expected)), "{left} {op:?} {right}");
    }
}

#[test]
fn temporal_arithmetic() {
    let cases = [
        ("{\"$at\":\"2026-01-05T10:00:00Z\"}", Op::Add, "{\"$for\":\"PT30M\"}", "{\"$at\":\"2026-01-05T10:30:00Z\"}"),
        ("{\"$date\":\"2026-02-28\"}", Op::Add, "{\"$for\":\"PT24H\"}", "{\"$date\":\"2026-03-01\"}"),
        ("{\"$date\":\"2026-03-01\"}", Op::Subtract, "{\"$for\":\"PT48H\"}", "{\"$date\":\"2026-02-27\"}"),
        ("{\"$for\":\"PT1H\"}", Op::Subtract, "{\"$for\":\"PT2H\"}", "{\"$for\":\"-PT1H\"}"),
        ("{\"$date\":\"2026-03-01\"}", Op::Subtract, "{\"$date\":\"2026-02-27\"}", "{\"$for\":\"PT48H\"}"),
    ];
    for (left, op, right, expected) in cases {
        let found = value_of(binary(op, lit(parsed(left)), lit(parsed(right)), Ty::Datetime));
        assert_eq!(found, Ok(parsed(expected)), "{left} {op:?} {right}");
    }
    let half =
        binary(Op::Add, lit(parsed("{\"$date\":\"2026-01-05\"}")), lit(parsed("{\"$for\":\"PT12H\"}")), Ty::Date);
    assert_eq!(value_of(half).unwrap_err().message, "a date can be moved by whole days only, not by 12h");
}

#[test]
fn a_listen_fires_for_what_its_where_says() {
    let name = || field(local(0, company()), "Name", Ty::Text);
    let mut movement = movement(vec![function("f", &[("company", company())], 1, vec![])]);
    movement.constants.push(Constant { name: "wanted".into(), value: lit("Acme") });
    let constant = expr(Ty::Text, ExprKind::Constant(ConstantId(0)));
    let mut one = listen(0);
    one.pins = vec![("Region".into(), constant.clone())];
    one.filter = Some(binary(Op::Equal, name(), constant, Ty::Boolean));
    let mut broken = listen(0);
    broken.label = Some("broken".into());
    broken.pins = vec![("Age".into(), binary(Op::Divide, number("1"), number("0"), Ty::Number))];
    movement.listens = vec![one, broken];
    let plan = compile(&movement);
    assert_eq!(plan.listens[0].pins["Region"], "Acme".into());
    assert_eq!(matches(&plan, &plan.listens[0], &acme(), now()), Ok(true));
    let other = record("c", "Company", Some("2"), &[("Name", "Other".into())]);
    assert_eq!(matches(&plan, &plan.listens[0], &other, now()), Ok(false));
    assert_eq!(matches(&plan, &plan.listens[1], &other, now()).unwrap_err().message, "`/` by zero");
    assert_eq!(plan.listens[1].name, "broken");
    assert_eq!(plan.function_by_name("where of crm-[:Company]-> fire f"), None);
    insta::assert_snapshot!(crate::plan::explain::explain(&plan));
}

fn catalog() -> Catalog {
    let field = |name: &str, ty: FieldType, optional: bool| Field {
        name: name.into(),
        ty,
        doc: None,
        readable: true,
        writable: true,
        required: false,
        optional,
        doubtful: false,
        clearable: false,
        takes_file: false,
    };
    let company = TypeShape {
        name: "Company".into(),
        key: Some("id".into()),
        fields: vec![
            field("id", FieldType::Number, false),
            field("Name", FieldType::Text, false),
            field("Since", FieldType::Date, true),
            field("Tags", FieldType::List(Box::new(FieldType::Choice(vec!["a".into()]))), true),
        ],
        ..TypeShape::default()
    };
    let key = movement(Vec::new()).connections[0].key.clone();
    let description = Description { types: vec![company], ..Description::default() };
    let mut catalog = Catalog::default();
    catalog.connections.insert(key, Described::Yes(description));
    catalog
}

#[test]
fn json_becomes_the_arguments_of_a_function() {
    let since = field(local(0, company()), "Since", Ty::Date.optional());
    let one = function("one", &[("company", company())], 1, vec![give(since)]);
    let two = function("two", &[("n", Ty::Number), ("when", Ty::Datetime)], 2, vec![]);
    let plan = compile(&movement(vec![one, two]));
    let (one, two) = (plan.function_by_name("one").unwrap(), plan.function_by_name("two").unwrap());
    let decode = |function, text: &str| decode_args(&plan, function, &json::read(text.as_bytes()).unwrap(), &catalog());

    let given = "{\"id\": 1.0, \"Name\": \"Acme\", \"Since\": \"2026-01-05\", \"Tags\": [\"a\"]}";
    let args = decode(one, given).unwrap();
    let Value::Position(position) = &args[0] else { panic!("a record") };
    assert_eq!(position.key.as_ref().unwrap().0, "1");
    assert_eq!(decode(one, &format!("{{\"company\": {given}}}")).unwrap(), args);
    assert_eq!(run_with(&plan, args, |_, _| panic!("no call")).1, Finish::Done(parsed("{\"$date\":\"2026-01-05\"}")));
    assert_eq!(
        decode(two, "{\"n\": 1, \"when\": \"2026-01-05T09:00:00Z\"}").unwrap(),
        [num("1"), Value::DateTime(now())]
    );

    let takes = "(`one` takes `company: crm-[:Company]->`)";
    let wrong = [
        ("{\"id\": 1, \"name\": \"A\"}", format!("`Company` has no field `name`; did you mean `Name`? {takes}")),
        ("{\"id\": 1}", format!("`Name` of `Company` is missing {takes}")),
        ("{\"id\": \"1\", \"Name\": \"A\"}", format!("`id` of `Company` should be number; it is \"1\" {takes}")),
        (
            "{\"id\": 1, \"Name\": \"A\", \"Tags\": [\"b\"]}",
            format!("`Tags` of `Company` should be (\"a\")[]; it is [\"b\"] {takes}"),
        ),
        ("7", format!("a record of `crm-[:Company]->` is an object; it is a number {takes}")),
    ];
    for (given, message) in wrong {
        assert_eq!(decode(one, given).unwrap_err(), message);
    }
    assert_eq!(decode(two, "{\"n\": 1, \"wen\": 2}").unwrap_err(), "`two` takes `n`, `when`; `wen` is none of them");
}

/// A comment, an empty line or another file name makes no new version.
#[test]
fn places_take_no_part_in_the_id() {
    let made = |path: &str, start: u32| {
        let mut sources = crate::source::SourceMap::default();
        let id = sources.add(path, "\n\n\nx\n");
        let mut function = function("f", &[], 0, vec![give(lit("a"))]);
        let moved = crate::source::Span::new(id, start, start + 1);
        function.span = moved;
        for statement in &mut function.body {
            statement.span = moved;
        }
        crate::plan::compile(&movement(vec![function]), &sources)
    };
    let (here, there) = (made("a.mvt", 0), made("b.mvt", 3));
    assert_ne!(here.places, there.places);
    assert_eq!(here.id(), there.id());
    assert_eq!((there.places[0].line, there.places[0].column, there.places[0].text.as_str()), (4, 1, "x"));
}
