//! A scripted world for texts that check: each connection answers just as it is described, in one of several faces, and
//! takes nothing that its description does not allow. Knows no movement.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, civil};
use lf_lang::{
    check::{
        Catalog, Program,
        catalog::{ConnectionKey, Described},
        check,
        typed::EntryMode,
    },
    diag::{Code, Severity},
    plan::{self, Plan, ir::Listen},
    run::{
        Effect, Failure, Finish, Fired, Input, Request, RunState, Settlement, Test, Wait,
        io::{FailureKind, Target, WriteRequest},
        matches, step,
    },
    source::SourceMap,
    syntax,
    types::ConnectionId,
};
use lf_module::{
    FieldType, File, Key, Position, Record, TypeShape, Value,
    call::{ChangeKind, Origin},
    schema::Count,
};

/// How many different worlds a program is run in.
pub(crate) const FACES: u64 = 5;

/// Calls of one run after which it is left alone.
const MOST_CALLS: usize = 200;

/// What a check may leave to the run: arithmetic, limits, and what only the values decide.
const FACTS: &[&str] = &[
    "by zero",
    "is outside the range of numbers",
    "has more than 28 digits",
    "calls nest deeper than",
    "steps",
    "a list can have at most",
    "a value can be at most",
    "a value can nest at most",
    "`ONLY` found",
    "needs a whole number",
    "by whole days only",
];

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Became {
    /// The codes of its errors, in the order of the text.
    Refused(Vec<Code>),
    /// It ran in every face; how many of its runs came to their end, and how many calls they made.
    Ran { done: usize, calls: usize },
    /// What no checked program may do.
    Broke(String),
}

/// Checks one file and runs each of its listens in every face of the world.
pub(crate) fn run(catalog: &Catalog, text: &str) -> Became {
    let mut sources = SourceMap::default();
    let id = sources.add("scripted.mvt", text);
    let parsed = syntax::parse(sources.get(id).expect("just added"));
    let mut refused: Vec<Code> = errors(&parsed.problems).collect();
    let files = [parsed.file];
    let checked = check(&Program { map: &sources, files: &files, roots: &[id] }, catalog);
    refused.extend(errors(&checked.problems));
    let Some(movement) = checked.movement.filter(|_| refused.is_empty()) else { return Became::Refused(refused) };
    let plan = plan::compile(&movement, &sources);
    let (mut done, mut calls) = (0, 0);
    for face in 0..FACES {
        for listen in &plan.listens {
            let mut world = World { catalog, plan: &plan, face, calls: 0 };
            match world.fire(listen) {
                Ok(end) => done += usize::from(end),
                Err(why) => return Became::Broke(why),
            }
            calls += world.calls;
        }
    }
    Became::Ran { done, calls }
}

fn errors(problems: &[lf_lang::diag::Diagnostic]) -> impl Iterator<Item = Code> + '_ {
    problems.iter().filter(|problem| problem.severity == Severity::Error).map(|problem| problem.code)
}

struct World<'w> {
    catalog: &'w Catalog,
    plan: &'w Plan,
    face: u64,
    calls: usize,
}

fn now() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().expect("an instant")
}

impl World<'_> {
    /// Runs what one change fires; whether it came to its end.
    fn fire(&mut self, listen: &Listen) -> Result<bool, String> {
        let shape = self.shape(listen.connection, &listen.ty)?.clone();
        let mut record = self.record(listen.connection, &shape, 0);
        if let Value::Position(position) = &record {
            let mut fields = position.fields.clone();
            for (name, value) in &listen.pins {
                fields.set(name.clone(), value.clone());
            }
            record = if listen.kinds.contains(&ChangeKind::Deleted) {
                Value::record(fields)
            } else {
                Value::Position(Arc::new(Position { fields, ..position.as_ref().clone() }))
            };
        }
        if let Err(failure) = matches(self.plan, listen, &record, now()) {
            self.fact(&failure)?;
        }
        let mut args = vec![record];
        if listen.with_change {
            args.push(self.change());
        }
        let mut state = RunState::new();
        let fired = Fired { function: listen.fire, args, now: now() };
        let mut effects = step(self.plan, &mut state, Input::Fired(fired));
        for _ in 0..MOST_CALLS {
            match effects.pop() {
                Some(Effect::Finish(Finish::Done(_))) => return Ok(true),
                Some(Effect::Finish(Finish::Failed(failure))) => return self.fact(&failure).map(|()| false),
                Some(Effect::Call { address, connection, request, declines, .. }) => {
                    self.calls += 1;
                    let answer = self.answer(connection, &request)?;
                    let settlement = if declines { self.maybe_declined(answer) } else { answer };
                    effects = step(self.plan, &mut state, Input::Settled { address, settlement });
                }
                Some(Effect::Await { address, wait, .. }) => {
                    let Some(value) = self.wait(&wait)? else { return Ok(false) };
                    let settlement = Settlement::Woken { value, at: now() };
                    effects = step(self.plan, &mut state, Input::Settled { address, settlement });
                }
                None => return Err("a step without an effect".to_owned()),
            }
        }
        Ok(false)
    }

    /// A write that may be refused, is in two of the faces.
    fn maybe_declined(&self, answer: Settlement) -> Settlement {
        match self.face {
            1 => Settlement::Declined { text: "no".into(), status: Some(422) },
            3 => Settlement::Declined { text: String::new(), status: None },
            _ => answer,
        }
    }

    /// What a wait gives: in some faces its time is over. `None` where a test of it failed for a fact of the world.
    fn wait(&mut self, wait: &Wait) -> Result<Option<Value>, String> {
        match wait {
            Wait::Sleep { .. } => Ok(Some(Value::Absent)),
            Wait::First { watch, test, .. } => {
                let watch = &self.plan.watches[*watch as usize];
                let shape = self.shape(watch.connection, &watch.ty)?.clone();
                for row in 1..=self.face {
                    let record = self.record(watch.connection, &shape, row);
                    match self.ask(test, Some(record.clone()))? {
                        Some(true) => return Ok(Some(record)),
                        Some(false) => {}
                        None => return Ok(None),
                    }
                }
                Ok(Some(Value::Absent))
            }
            Wait::Until { test, .. } => Ok(self.ask(test, None)?.map(Value::Bool)),
        }
    }

    fn ask(&mut self, test: &Test, record: Option<Value>) -> Result<Option<bool>, String> {
        let mut state = RunState::new();
        let mut effects = lf_lang::run::ask(self.plan, &mut state, test, record, now());
        loop {
            match effects.pop() {
                Some(Effect::Finish(Finish::Done(Value::Bool(holds)))) => return Ok(Some(holds)),
                Some(Effect::Finish(Finish::Failed(failure))) => return self.fact(&failure).map(|()| None),
                Some(Effect::Call { address, connection, request, .. }) if request.is_read() => {
                    self.calls += 1;
                    let settlement = self.answer(connection, &request)?;
                    effects = step(self.plan, &mut state, Input::Settled { address, settlement });
                }
                other => return Err(format!("a test of a wait gives {other:?}")),
            }
        }
    }

    /// A failure that no check can foresee; any other is a promise broken.
    fn fact(&self, failure: &Failure) -> Result<(), String> {
        let place = failure.place.and_then(|place| self.plan.places.get(place.0 as usize));
        let line = place.map_or("", |place| place.text.as_str());
        let told = line.contains("ERROR(")
            || failure.message.starts_with("wanted ")
            || FACTS.iter().any(|fact| failure.message.contains(fact));
        if failure.kind == FailureKind::Program && told {
            return Ok(());
        }
        Err(format!("face {}: {:?}: {} at `{line}`", self.face, failure.kind, failure.message))
    }

    fn shape(&self, connection: ConnectionId, ty: &str) -> Result<&TypeShape, String> {
        let key = &self.plan.connections.get(connection.0 as usize).ok_or("an unknown connection")?.key;
        let Some(Described::Yes(description)) = self.catalog.connections.get(key) else {
            return Err(format!("`{key}` is not described"));
        };
        description.get(ty).ok_or_else(|| format!("`{key}` has no type `{ty}`"))
    }

    fn key(&self, connection: ConnectionId) -> &ConnectionKey {
        &self.plan.connections[connection.0 as usize].key
    }

    fn answer(&self, connection: ConnectionId, request: &Request) -> Result<Settlement, String> {
        match request {
            Request::Read { ty, origin, pins, by: _ } => self.read(connection, ty, origin, pins),
            Request::Write(write) => self.write(connection, write),
            Request::Delete { ty, key: _ } => {
                if self.shape(connection, ty)?.deletable {
                    Ok(Settlement::Deleted)
                } else {
                    Err(format!("a `{ty}` is deleted, which its description does not allow"))
                }
            }
            Request::Link { tie, join: _ } => {
                let edge = self.shape(connection, &tie.ty)?.edge(&tie.edge);
                if edge.is_some_and(|edge| edge.linkable) {
                    Ok(Settlement::Linked)
                } else {
                    Err(format!("`{}` is linked by `{}`, which its description does not allow", tie.ty, tie.edge))
                }
            }
        }
    }

    fn read(&self, connection: ConnectionId, ty: &str, origin: &Origin, pins: &Record) -> Result<Settlement, String> {
        let shape = self.shape(connection, ty)?;
        let count = match origin {
            Origin::Root => shape.count,
            Origin::Record { ty: from, key: _, edge } => {
                let edge = self.shape(connection, from)?.edge(edge);
                let edge = edge.ok_or_else(|| format!("`{from}` has no edge to `{ty}`"))?;
                if edge.target != ty {
                    return Err(format!("the edge `{}` of `{from}` does not lead to `{ty}`", edge.name));
                }
                edge.count
            }
        };
        if matches!(origin, Origin::Root) && !shape.readable {
            return Err(format!("`{ty}` is read, which its description does not allow"));
        }
        for pin in shape.pins.iter().filter(|pin| pin.required) {
            if pins.get(&pin.field).is_none() {
                return Err(format!("`{ty}` is read without its pin `{}`", pin.field));
            }
        }
        for (name, value) in pins.iter() {
            let field = shape.field(name).filter(|_| shape.pin(name).is_some());
            let field = field.ok_or_else(|| format!("`{ty}` has no pin `{name}`"))?;
            fits(&field.ty, value).map_err(|why| format!("the pin `{name}` of `{ty}`: {why}"))?;
        }
        let rows = match count {
            Count::One => 1,
            Count::Optional => self.face % 2,
            Count::Many => self.face % 4,
        };
        let row = |row: u64| {
            let record = self.record(connection, shape, row + 1);
            let Value::Position(position) = &record else { return record };
            let mut position = position.as_ref().clone();
            for (name, value) in pins.iter() {
                position.fields.set(name.clone(), value.clone());
            }
            Value::Position(Arc::new(position))
        };
        Ok(Settlement::Records((0..rows).map(row).collect()))
    }

    fn write(&self, connection: ConnectionId, write: &WriteRequest) -> Result<Settlement, String> {
        let ty = &write.ty;
        let shape = self.shape(connection, ty)?;
        let creates = match &write.target {
            Target::Create { origin } => {
                self.creates(connection, ty, origin)?;
                true
            }
            Target::Update { key: _ } => false,
        };
        if !creates && !shape.updatable {
            return Err(format!("`{ty}` is written, which its description does not allow"));
        }
        let mut fields = Record::new();
        for entry in &write.entries {
            let field = shape.field(&entry.field).filter(|field| field.writable);
            let field = field.ok_or_else(|| format!("`{ty}` has no field `{}` to write", entry.field))?;
            if entry.value.is_absent() {
                let may_be = field.clearable || field.ty == FieldType::Json;
                if entry.mode != EntryMode::SetOrClear || !may_be {
                    return Err(format!("`{}` of `{ty}` is written without a value", entry.field));
                }
            } else {
                let file = field.takes_file && matches!(entry.value, Value::File(_));
                let fitting = if file { Ok(()) } else { fits(&field.ty, &entry.value) };
                fitting.map_err(|why| format!("`{}` of `{ty}`: {why}", entry.field))?;
            }
            fields.set(entry.field.clone(), entry.value.clone());
        }
        for field in shape.fields.iter().filter(|field| creates && field.required) {
            if fields.get(&field.name).is_none() {
                return Err(format!("`{ty}` is written without `{}`", field.name));
            }
        }
        for fields in &write.unique {
            let names: Vec<_> = fields.iter().map(|(name, _)| name.clone()).collect();
            if !shape.find_by.contains(&names) {
                return Err(format!("`{ty}` cannot be found by {names:?}"));
            }
        }
        let Value::Position(answer) = self.record(connection, shape, 9) else { return Err("no record".to_owned()) };
        let mut answer = answer.as_ref().clone();
        for (name, value) in fields.iter().filter(|(name, _)| shape.field(name).is_some_and(|field| !field.readable)) {
            answer.fields.set(name.clone(), value.clone());
        }
        let handle = Value::Position(Arc::new(answer));
        Ok(Settlement::Written { handle, created: creates && self.face != 2, unchanged: false })
    }

    /// Whether a record may be made at the root, or under another one.
    fn creates(&self, connection: ConnectionId, ty: &str, origin: &Origin) -> Result<(), String> {
        let allowed = match origin {
            Origin::Root => self.shape(connection, ty)?.writable,
            Origin::Record { ty: owner, key: _, edge } => {
                let edge = self.shape(connection, owner)?.edge(edge);
                edge.is_some_and(|edge| edge.creatable && edge.target == ty)
            }
        };
        if allowed { Ok(()) } else { Err(format!("a `{ty}` is made where its description does not allow it")) }
    }

    /// One record as it is described.
    fn record(&self, connection: ConnectionId, shape: &TypeShape, row: u64) -> Value {
        let mut fields = Record::new();
        for (place, field) in (0_u64..).zip(&shape.fields).filter(|(_, field)| field.readable) {
            let seed = self.face * 131 + row * 31 + place * 7;
            let value = if field.optional && seed.is_multiple_of(2) { Value::Absent } else { value(&field.ty, seed) };
            fields.set(field.name.clone(), value);
        }
        let id = format!("{}{row}", shape.name);
        let key = shape.key.as_ref().map(|name| {
            fields.set(name.clone(), Value::text(id.as_str()));
            Key(id.into())
        });
        let connection = self.key(connection).as_str().into();
        Value::Position(Arc::new(Position { connection, ty: shape.name.clone(), key, fields }))
    }

    fn change(&self) -> Value {
        let maybe = |value: Value| if self.face.is_multiple_of(2) { value } else { Value::Absent };
        Value::record(Record::from_iter([
            ("kind", Value::text("updated")),
            ("fields", Value::list(vec![Value::text("Name")])),
            ("before", maybe(Value::record(Record::from_iter([("Name", Value::text("old"))])))),
            ("at", Value::DateTime(now())),
            ("by", maybe(Value::text("someone"))),
        ]))
    }
}

fn value(ty: &FieldType, seed: u64) -> Value {
    let pick = |ways: u64| usize::try_from(seed % ways).expect("few ways");
    let number = |digits: &str| Value::Number(digits.parse().expect("digits"));
    match ty {
        FieldType::Text => Value::text(["Acme", "", "é 𝄞 \"x\"", "a.b@example.org", "12"][pick(5)]),
        FieldType::Number => number(["0", "3", "-2.5", "9007199254740993", "1e3"][pick(5)]),
        FieldType::Boolean => Value::Bool(pick(2) == 0),
        FieldType::Date => Value::Date(civil::date(2024, 2, 29)),
        FieldType::Datetime => Value::DateTime(now()),
        FieldType::Duration => Value::Duration(SignedDuration::from_secs(90)),
        FieldType::File => {
            let named = |name: &str| (!name.is_empty()).then(|| name.into());
            let bytes = [b"a".as_slice(), b"", b"\xff\x00"][pick(3)];
            let (name, media_type) = (named(["a.txt", "", "é.pdf"][pick(3)]), named(["text/plain", ""][pick(2)]));
            Value::file(File { name, media_type, ..File::seen("a system", seed.to_string(), bytes) })
        }
        FieldType::Json => match pick(6) {
            0 => Value::text("t"),
            // JSON's own `null`, which is not the same as a field that is not there.
            5 => Value::Absent,
            1 => number("1"),
            2 => Value::Bool(true),
            3 => Value::list(vec![Value::Absent, number("2")]),
            _ => Value::record(Record::from_iter([("Name", Value::text("n")), ("b", Value::Absent)])),
        },
        FieldType::Choice(members) => Value::Text(members[pick(members.len() as u64)].clone()),
        FieldType::List(member) => Value::list((0..seed % 3).map(|place| value(member, seed + place)).collect()),
    }
}

/// Whether a value is exactly of a described type.
fn fits(ty: &FieldType, value: &Value) -> Result<(), String> {
    let fits = match (ty, value) {
        (FieldType::Text, Value::Text(_))
        | (FieldType::Number, Value::Number(_))
        | (FieldType::Boolean, Value::Bool(_))
        | (FieldType::Date, Value::Date(_))
        | (FieldType::Datetime, Value::DateTime(_))
        | (FieldType::Duration, Value::Duration(_))
        | (FieldType::File, Value::File(_)) => true,
        (FieldType::Json, value) => value.files().is_empty(),
        (FieldType::Choice(members), Value::Text(text)) => members.contains(text),
        (FieldType::List(member), Value::List(items)) => items.iter().all(|item| self::fits(member, item).is_ok()),
        (
            FieldType::Text
            | FieldType::Number
            | FieldType::Boolean
            | FieldType::Date
            | FieldType::Datetime
            | FieldType::Duration
            | FieldType::File
            | FieldType::Choice(_)
            | FieldType::List(_),
            _,
        ) => false,
    };
    if fits { Ok(()) } else { Err(format!("{value:?} is no {ty:?}")) }
}
