//! A second meaning of a typed program: the tree, walked as it stands. Slow, recursive, without addresses.
//!
//! Knows what the generator makes and nothing more.
#![expect(clippy::wildcard_enum_match_arm, reason = "what the generator does not make ends the test")]

use std::collections::BTreeMap;

use lf_module::{Number, Record, Value, call::Origin, schema::Count};
use rust_decimal::Decimal;

use super::world;
use crate::{
    check::typed::{
        Builtin, ClosureBody, Expr, ExprKind, Movement, Op, Path, PathStart, Statement, StatementKind, Through, Way,
        Write, WriteTarget,
    },
    run::{
        Request,
        io::{Entry, Target, WriteRequest},
    },
};

pub(super) enum Stop {
    Return(Value),
    Fail(String),
}

type Eval = Result<Value, Stop>;

pub(super) struct Reference<'m> {
    pub(super) movement: &'m Movement,
    pub(super) asked: Vec<Request>,
}

type Locals = BTreeMap<u32, Value>;

fn decimal(value: &Value) -> Decimal {
    let Value::Number(number) = value else { panic!("a number: {value:?}") };
    number.as_decimal().unwrap()
}

fn boolean(value: &Value) -> bool {
    let Value::Bool(flag) = value else { panic!("a boolean: {value:?}") };
    *flag
}

fn items(value: &Value) -> &[Value] {
    let Value::List(items) = value else { panic!("a list: {value:?}") };
    items
}

fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => decimal(other).normalize().to_string(),
    }
}

fn number(decimal: Decimal) -> Value {
    Value::Number(Number::from(decimal.normalize()))
}

impl Reference<'_> {
    pub(super) fn call(&mut self, function: u32, args: Vec<Value>) -> Eval {
        let function = &self.movement.functions[function as usize];
        let mut locals: Locals = function.params.iter().map(|param| param.local.0).zip(args).collect();
        match self.block(&function.body, &mut locals) {
            Ok(()) => Ok(Value::Absent),
            Err(Stop::Return(value)) => Ok(value),
            Err(fail) => Err(fail),
        }
    }

    fn block(&mut self, statements: &[Statement], locals: &mut Locals) -> Result<(), Stop> {
        statements.iter().try_for_each(|statement| self.statement(statement, locals))
    }

    fn statement(&mut self, statement: &Statement, locals: &mut Locals) -> Result<(), Stop> {
        match &statement.kind {
            StatementKind::Bind { local, value } => {
                let value = self.expr(value, locals)?;
                locals.insert(local.0, value);
            }
            StatementKind::Do(value) => drop(self.expr(value, locals)?),
            StatementKind::Write { bind, write, refused: None } => {
                let handle = self.write(write, locals)?;
                bind.map(|local| locals.insert(local.0, handle));
            }
            StatementKind::Each { path, body } => {
                self.each(path, locals, &mut |this, locals| this.block(body, locals))?;
            }
            StatementKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    if boolean(&self.expr(condition, locals)?) {
                        return self.block(body, locals);
                    }
                }
                if let Some(body) = otherwise {
                    self.block(body, locals)?;
                }
            }
            StatementKind::Return(value) => {
                let value = value.as_ref().map_or(Ok(Value::Absent), |value| self.expr(value, locals))?;
                return Err(Stop::Return(value));
            }
            StatementKind::Fail(why) => {
                let why = self.expr(why, locals)?;
                return Err(Stop::Fail(plain(&why)));
            }
            StatementKind::Delete { .. }
            | StatementKind::Link { .. }
            | StatementKind::Write { .. }
            | StatementKind::Await { .. } => {
                panic!("not generated")
            }
        }
        Ok(())
    }

    fn write(&mut self, write: &Write, locals: &mut Locals) -> Eval {
        let target = match &write.target {
            WriteTarget::Create => Target::Create { origin: Origin::Root },
            WriteTarget::Update(record) => {
                let Value::Position(record) = self.expr(record, locals)? else { panic!("a record") };
                Target::Update { key: record.key.clone().unwrap() }
            }
            WriteTarget::CreateUnder { .. } => panic!("not generated"),
        };
        let mut entries = Vec::new();
        for entry in &write.entries {
            let value = self.expr(&entry.value, locals)?;
            entries.push(Entry { field: entry.field.clone(), mode: entry.mode, value });
        }
        let request = WriteRequest { ty: write.on.ty.clone(), target, entries, unique: Vec::new() };
        let request = Request::Write(request);
        self.asked.push(request.clone());
        let crate::run::Settlement::Written { handle, .. } = world::answer(&request) else { panic!("written") };
        Ok(handle)
    }

    fn each(
        &mut self,
        path: &Path,
        locals: &mut Locals,
        body: &mut dyn FnMut(&mut Self, &mut Locals) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let from = match &path.start {
            PathStart::Root(_) => None,
            PathStart::Record(record) => Some(self.expr(record, locals)?),
        };
        self.hops(path, 0, from, locals, body)
    }

    fn hops(
        &mut self,
        path: &Path,
        index: usize,
        from: Option<Value>,
        locals: &mut Locals,
        body: &mut dyn FnMut(&mut Self, &mut Locals) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Some(hop) = path.hops.get(index) else { return body(self, locals) };
        let origin = match from {
            None => Origin::Root,
            Some(Value::Position(from)) => {
                let key = from.key.clone().unwrap();
                Origin::Record { ty: from.ty.clone(), key, edge: hop.edge.clone() }
            }
            Some(other) => panic!("a record: {other:?}"),
        };
        let mut pins = Record::new();
        for (name, pin) in &hop.pins {
            pins.set(name.clone(), self.expr(pin, locals)?);
        }
        let request = Request::Read { ty: hop.on.ty.clone(), origin, pins, by: Record::new() };
        self.asked.push(request.clone());
        let crate::run::Settlement::Records(records) = world::answer(&request) else { panic!("records") };
        let mut kept = Vec::new();
        for record in records {
            locals.insert(hop.local.0, record.clone());
            if let Some(filter) = &hop.filter
                && !boolean(&self.expr(filter, locals)?)
            {
                continue;
            }
            let keys = hop.order.iter().map(|(key, _)| self.expr(key, locals)).collect::<Result<Vec<_>, _>>()?;
            kept.push((keys, record));
        }
        if !hop.order.is_empty() {
            kept.sort_by(|(left, left_record), (right, right_record)| {
                let mut order = std::cmp::Ordering::Equal;
                for ((left, right), (_, descending)) in left.iter().zip(right).zip(&hop.order) {
                    let one = match (left, right) {
                        (Value::Text(left), Value::Text(right)) => left.cmp(right),
                        (left, right) => decimal(left).cmp(&decimal(right)),
                    };
                    order = order.then(if *descending { one.reverse() } else { one });
                }
                let key = |record: &Value| match record {
                    Value::Position(position) => position.key.clone(),
                    other => panic!("a record: {other:?}"),
                };
                order.then(key(left_record).cmp(&key(right_record)))
            });
        }
        if let Some(limit) = hop.limit {
            kept.truncate(usize::try_from(limit).unwrap());
        }
        for (_, record) in kept {
            locals.insert(hop.local.0, record.clone());
            self.hops(path, index + 1, Some(record), locals, body)?;
        }
        Ok(())
    }

    fn landed(&mut self, path: &Path, locals: &mut Locals) -> Result<Vec<Value>, Stop> {
        let last = path.hops.last().unwrap().local.0;
        let mut all = Vec::new();
        self.each(path, locals, &mut |_, locals| {
            all.push(locals[&last].clone());
            Ok(())
        })?;
        Ok(all)
    }

    fn through(&mut self, through: &Through, locals: &mut Locals) -> Eval {
        let list = self.expr(&through.list, locals)?;
        let mut total = match &through.way {
            Way::Reduce { start, .. } => self.expr(start, locals)?,
            Way::Map | Way::Filter | Way::Group | Way::Sort { .. } => Value::Absent,
        };
        let mut given = Vec::new();
        for item in items(&list) {
            locals.insert(through.item.0, item.clone());
            if let Way::Reduce { total: local, .. } = &through.way {
                locals.insert(local.0, total.clone());
            }
            let value = match &through.body {
                ClosureBody::Value(value) => self.expr(value, locals)?,
                ClosureBody::Block(block) => match self.block(block, locals) {
                    Ok(()) => Value::Absent,
                    Err(Stop::Return(value)) => value,
                    Err(fail) => return Err(fail),
                },
            };
            total = value.clone();
            given.push((value, item.clone()));
        }
        Ok(match &through.way {
            Way::Map => Value::list(given.into_iter().map(|(value, _)| value).collect()),
            Way::Filter => {
                Value::list(given.into_iter().filter(|(kept, _)| boolean(kept)).map(|(_, item)| item).collect())
            }
            Way::Reduce { .. } => total,
            Way::Sort { descending } => {
                given.sort_by(|(left, _), (right, _)| {
                    let order = decimal(left).cmp(&decimal(right));
                    if *descending { order.reverse() } else { order }
                });
                Value::list(given.into_iter().map(|(_, item)| item).collect())
            }
            Way::Group => {
                let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
                for (key, item) in given {
                    let key = plain(&key);
                    match groups.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, items)) => items.push(item),
                        None => groups.push((key, vec![item])),
                    }
                }
                let group = |(key, items): (String, Vec<Value>)| {
                    Value::record([("key", Value::from(key)), ("items", Value::list(items))].into_iter().collect())
                };
                Value::list(groups.into_iter().map(group).collect())
            }
        })
    }

    fn expr(&mut self, expr: &Expr, locals: &mut Locals) -> Eval {
        Ok(match &expr.kind {
            ExprKind::Literal(value) => value.clone(),
            ExprKind::Local(local) => locals[&local.0].clone(),
            ExprKind::Field { base, name } => self.expr(base, locals)?.field(name).cloned().unwrap_or_default(),
            ExprKind::Interpolate(parts) => {
                let mut out = String::new();
                for part in parts {
                    out.push_str(&plain(&self.expr(part, locals)?));
                }
                out.into()
            }
            ExprKind::Not(operand) => Value::Bool(!boolean(&self.expr(operand, locals)?)),
            ExprKind::Binary { op, left, right } => {
                let left = self.expr(left, locals)?;
                if matches!((op, &left), (Op::And, Value::Bool(false)) | (Op::Or, Value::Bool(true))) {
                    return Ok(left);
                }
                let right = self.expr(right, locals)?;
                match op {
                    Op::And | Op::Or => right,
                    Op::Equal => Value::Bool(plain(&left) == plain(&right)),
                    Op::Less => Value::Bool(decimal(&left) < decimal(&right)),
                    Op::Add => number(decimal(&left) + decimal(&right)),
                    Op::Divide if decimal(&right).is_zero() => return Err(Stop::Fail("`/` by zero".to_owned())),
                    Op::Divide => number(decimal(&left) / decimal(&right)),
                    other => panic!("not generated: {other:?}"),
                }
            }
            ExprKind::Exists(operand) => {
                let ExprKind::Read(path) = &operand.kind else { panic!("not generated") };
                Value::Bool(!self.landed(path, locals)?.is_empty())
            }
            ExprKind::If { arms, otherwise } => {
                for (condition, value) in arms {
                    if boolean(&self.expr(condition, locals)?) {
                        return self.expr(value, locals);
                    }
                }
                self.expr(otherwise, locals)?
            }
            ExprKind::Call { function, args } => {
                let args = args.iter().map(|arg| self.expr(arg, locals)).collect::<Result<_, _>>()?;
                self.call(function.0, args)?
            }
            ExprKind::Builtin { builtin: Builtin::Coalesce, args } => {
                for arg in args {
                    let value = self.expr(arg, locals)?;
                    if !value.is_absent() {
                        return Ok(value);
                    }
                }
                Value::Absent
            }
            ExprKind::Builtin { builtin: Builtin::Count, args } => {
                number(Decimal::from(items(&self.expr(&args[0], locals)?).len()))
            }
            ExprKind::Builtin { builtin: Builtin::Range, args } => {
                let (from, to) = (self.expr(&args[0], locals)?, self.expr(&args[1], locals)?);
                let (mut at, to) = (decimal(&from), decimal(&to));
                let mut all = Vec::new();
                while at < to {
                    all.push(number(at));
                    at += Decimal::ONE;
                }
                Value::list(all)
            }
            ExprKind::Read(path) => {
                assert_eq!(path.count, Count::Many);
                Value::list(self.landed(path, locals)?)
            }
            ExprKind::Through(through) => self.through(through, locals)?,
            other => panic!("not generated: {other:?}"),
        })
    }
}
