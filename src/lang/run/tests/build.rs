//! Typed programs by hand, and a world that answers.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use lf_module::{
    Key, Position, Record, Value,
    call::{ChangeKind, Start},
    schema::Count,
};

use crate::{
    check::{
        catalog::ConnectionKey,
        typed::{
            Builtin, Connection, Entry, EntryMode, Expr, ExprKind, Function, FunctionId, Hop, Item, Listen,
            ListenSettings, LocalId, Movement, Op, Param, Path, PathStart, Statement, StatementKind, Write,
            WriteTarget,
        },
    },
    plan::{self, Plan},
    run::{Effect, Finish, Fired, Input, Request, RunState, Settlement, step},
    source::{SourceId, SourceMap, Span},
    types::{ConnectionId, Ty, TypeRef},
};

pub(super) const CRM: ConnectionId = ConnectionId(0);
pub(super) const TRACKER: ConnectionId = ConnectionId(1);

pub(super) fn span() -> Span {
    Span::new(SourceId(0), 0, 1)
}

pub(super) fn on(connection: ConnectionId, ty: &str) -> TypeRef {
    TypeRef { connection, ty: ty.into() }
}

pub(super) fn company() -> Ty {
    Ty::Position(on(CRM, "Company"))
}

pub(super) fn expr(ty: Ty, kind: ExprKind) -> Expr {
    Expr { ty, span: span(), kind }
}

pub(super) fn lit(value: impl Into<Value>) -> Expr {
    let value = value.into();
    let ty = match &value {
        Value::Absent => Ty::Absent,
        Value::Bool(_) => Ty::Boolean,
        Value::Number(_) => Ty::Number,
        Value::Text(_) => Ty::Text,
        Value::Date(_) => Ty::Date,
        Value::DateTime(_) => Ty::Datetime,
        Value::Duration(_) => Ty::Duration,
        Value::List(_) => Ty::List(Box::new(Ty::Json)),
        Value::Record(_) | Value::Position(_) => Ty::Json,
        Value::File(_) => Ty::File,
    };
    expr(ty, ExprKind::Literal(value))
}

pub(super) fn number(digits: &str) -> Expr {
    lit(num(digits))
}

pub(super) fn num(digits: &str) -> Value {
    Value::Number(digits.parse().unwrap())
}

pub(super) fn local(id: u32, ty: Ty) -> Expr {
    expr(ty, ExprKind::Local(LocalId(id)))
}

pub(super) fn field(base: Expr, name: &str, ty: Ty) -> Expr {
    expr(ty, ExprKind::Field { base: Box::new(base), name: name.into() })
}

pub(super) fn text(parts: Vec<Expr>) -> Expr {
    expr(Ty::Text, ExprKind::Interpolate(parts))
}

pub(super) fn binary(op: Op, left: Expr, right: Expr, ty: Ty) -> Expr {
    expr(ty, ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) })
}

pub(super) fn builtin(builtin: Builtin, args: Vec<Expr>) -> Expr {
    expr(Ty::Json, ExprKind::Builtin { builtin, args })
}

pub(super) fn list(items: Vec<Expr>) -> Expr {
    let ty = items.first().map_or(Ty::EmptyList, |first| Ty::List(Box::new(first.ty.clone())));
    expr(ty, ExprKind::List(items.into_iter().map(Item::One).collect()))
}

pub(super) fn call(function: u32, args: Vec<Expr>, ty: Ty) -> Expr {
    expr(ty, ExprKind::Call { function: FunctionId(function), args })
}

pub(super) fn statement(kind: StatementKind) -> Statement {
    Statement { span: span(), kind }
}

pub(super) fn bind(id: u32, value: Expr) -> Statement {
    statement(StatementKind::Bind { local: LocalId(id), value })
}

pub(super) fn give(value: Expr) -> Statement {
    statement(StatementKind::Return(Some(value)))
}

pub(super) fn entry(field: &str, value: Expr) -> Entry {
    Entry { field: field.into(), span: span(), mode: EntryMode::Set, value }
}

pub(super) fn create(bound: Option<u32>, on: TypeRef, entries: Vec<Entry>) -> Statement {
    let write = Write { span: span(), on, target: WriteTarget::Create, unique: Vec::new(), entries };
    statement(StatementKind::Write { bind: bound.map(LocalId), write, refused: None })
}

pub(super) fn hop(id: u32, on: TypeRef, count: Count) -> Hop {
    let edge = on.ty.clone();
    let local = LocalId(id);
    Hop {
        span: span(),
        local,
        on,
        edge,
        count,
        pins: Vec::new(),
        by: Vec::new(),
        filter: None,
        order: Vec::new(),
        limit: None,
    }
}

pub(super) fn path(hops: Vec<Hop>, count: Count) -> Path {
    let connection = hops[0].on.connection;
    Path { span: span(), start: PathStart::Root(connection), hops, count }
}

pub(super) fn each(path: Path, body: Vec<Statement>) -> Statement {
    statement(StatementKind::Each { path, body })
}

pub(super) fn function(name: &str, params: &[(&str, Ty)], locals: u32, body: Vec<Statement>) -> Function {
    let params = params.iter().zip(0..).map(|((name, ty), id)| Param {
        local: LocalId(id),
        name: (*name).into(),
        ty: ty.clone(),
    });
    Function { name: name.into(), span: span(), doc: None, params: params.collect(), returns: None, locals, body }
}

pub(super) fn connection(name: &str, module: &str) -> Connection {
    let key = ConnectionKey::new(module, Some(name), &BTreeMap::new());
    let using = Some(name.into());
    Connection { key, name: name.into(), module: module.into(), using, settings: BTreeMap::new(), span: span() }
}

pub(super) fn movement(functions: Vec<Function>) -> Movement {
    Movement {
        connections: vec![connection("crm", "#acme_crm"), connection("tracker", "@lf/mcp")],
        constants: Vec::new(),
        functions,
        listens: Vec::new(),
        imported: Vec::new(),
        tests: Vec::new(),
    }
}

pub(super) fn listen(fire: u32) -> Listen {
    Listen {
        span: span(),
        label: None,
        on: on(CRM, "Company"),
        pins: Vec::new(),
        filter: None,
        fire: FunctionId(fire),
        with_change: false,
        settings: ListenSettings {
            kinds: vec![ChangeKind::Created, ChangeKind::Updated],
            fields: Vec::new(),
            every: SignedDuration::from_secs(30),
            start: Start::Now,
            concurrency: 4,
            retry: 3,
            echo: false,
            depth: None,
            timeout: SignedDuration::from_mins(10),
            go: false,
            debounce: None,
        },
    }
}

pub(super) fn compile(movement: &Movement) -> Plan {
    let mut sources = SourceMap::default();
    sources.add("triage.mvt", "x");
    plan::compile(movement, &sources)
}

/// A record as a connection gives it.
pub(super) fn record(connection: &str, ty: &str, key: Option<&str>, fields: &[(&str, Value)]) -> Value {
    let fields: Record = fields.iter().map(|(name, value)| (*name, value.clone())).collect();
    let key = key.map(|key| Key(key.into()));
    Value::Position(Arc::new(Position { connection: connection.into(), ty: ty.into(), key, fields }))
}

pub(super) fn acme() -> Value {
    record("#acme_crm using crm", "Company", Some("1"), &[("Name", "Acme".into())])
}

pub(super) fn written(ty: &str, key: Option<&str>, fields: &[(&str, Value)]) -> Settlement {
    Settlement::Written { handle: record("any", ty, key, fields), created: true, unchanged: false }
}

pub(super) fn now() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

pub(super) fn fired(args: Vec<Value>) -> Fired {
    Fired { function: plan::ir::FunctionIndex(0), args, now: now() }
}

/// Runs to the end, answering each call; gives the calls and the end.
pub(super) fn run_with(
    plan: &Plan,
    args: Vec<Value>,
    mut answer: impl FnMut(&str, &Request) -> Settlement,
) -> (Vec<(String, Request)>, Finish) {
    let mut state = RunState::new();
    let mut calls = Vec::new();
    let mut effects = step(plan, &mut state, Input::Fired(fired(args)));
    loop {
        match effects.pop().expect("a step has an effect") {
            Effect::Finish(finish) => return (calls, finish),
            Effect::Await { address, .. } => panic!("`{address}` is waited for"),
            Effect::Call { address, request, .. } => {
                let settlement = answer(&address.0, &request);
                calls.push((address.0.to_string(), request));
                effects = step(plan, &mut state, Input::Settled { address, settlement });
            }
        }
    }
}

/// The value of an expression in a run.
pub(super) fn value_of(value: Expr) -> Result<Value, crate::run::Failure> {
    let plan = compile(&movement(vec![function("f", &[], 0, vec![give(value)])]));
    match run_with(&plan, Vec::new(), |address, _| panic!("asked for {address}")).1 {
        Finish::Done(value) => Ok(value),
        Finish::Failed(failure) => Err(failure),
    }
}
