//! Pure expressions over values. Built-ins are grouped in the files below; all failures name what was being done.
//!
//! INVARIANT: recursion is bounded by the nesting that the parser admits (chains of one operator are walked, not
//! recursed into) and by [`limits::DEPTH`] for values.

pub(super) mod builtins;
pub(super) mod compare;
pub(super) mod data;
pub(super) mod lists;
pub(super) mod number;
pub(super) mod pattern;
pub(crate) mod scalar;
pub(super) mod shape;
pub(super) mod sort;
pub(super) mod text;
pub(crate) mod time;

use jiff::Timestamp;
use lf_module::{
    error::Kind,
    file::File,
    value::{Record, Value},
};
use smol_str::SmolStr;

use super::{
    io::{Failure, FailureKind},
    limits,
    state::Scratch,
};
use crate::{
    check::typed::{Builtin, Op},
    plan::ir::{Constant, Expected, Expr, ExprId, Field, Item, Plan, RecordItem},
    types::Ty,
};

pub(crate) fn failure(kind: FailureKind, message: String) -> Failure {
    Failure { kind, message, place: None }
}

/// A fault of the program.
pub(crate) fn program(message: String) -> Failure {
    failure(FailureKind::Program, message)
}

/// The world is not as it was described.
pub(crate) fn drift(message: String) -> Failure {
    failure(FailureKind::Call(Kind::Drift), message)
}

/// The journal, or who feeds the machine, does not fit the plan.
pub(crate) fn journal(message: String) -> Failure {
    failure(FailureKind::Journal, message)
}

/// The plan is not one that the compiler makes.
pub(crate) fn damaged(what: &str) -> Failure {
    journal(format!("the stored plan is damaged: {what}"))
}

/// The value of an expression that needs no run.
pub(crate) fn fixed(exprs: &[Expr], constants: &[Constant], id: ExprId) -> Result<Value, Failure> {
    Eval { exprs, constants, plan: None, slots: &[], now: None, scratch: &mut Scratch::default() }.eval(id)
}

pub(super) struct Eval<'a> {
    pub(super) exprs: &'a [Expr],
    pub(super) constants: &'a [Constant],
    /// Tells connections apart; without it no value is a position.
    pub(super) plan: Option<&'a Plan>,
    pub(super) slots: &'a [Value],
    /// The run's instant; outside a run there is none.
    pub(super) now: Option<Timestamp>,
    pub(super) scratch: &'a mut Scratch,
}

impl<'a> Eval<'a> {
    pub(super) fn eval(&mut self, id: ExprId) -> Result<Value, Failure> {
        let value = self.value(id)?;
        self.scratch.note(id, &value);
        Ok(value)
    }

    fn value(&mut self, id: ExprId) -> Result<Value, Failure> {
        self.scratch.spend(1)?;
        match self.get(id)? {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Slot(slot) => self.slots.get(slot.0 as usize).cloned().ok_or_else(|| damaged("a slot is missing")),
            Expr::Constant(index) => self.constant(*index),
            Expr::Field(field) => self.field(field),
            Expr::Interpolate(parts) => {
                let mut out = String::new();
                for part in parts {
                    let value = self.eval(*part)?;
                    scalar::write(&mut out, &value)?;
                    if out.len() > limits::BYTES {
                        break;
                    }
                }
                self.scratch.spend(out.len() / 64)?;
                limits::text(out)
            }
            Expr::Not(operand) => Ok(Value::Bool(!self.boolean(*operand)?)),
            Expr::Negate(operand) => {
                let value = self.eval(*operand)?;
                number::negate(&value)
            }
            Expr::Binary { .. } => self.chain(id),
            Expr::Is { operand, ty } => {
                let value = self.eval(*operand)?;
                Ok(Value::Bool(shape::fits(self.plan, &value, ty, limits::DEPTH)?))
            }
            Expr::As { operand, ty } => {
                let value = self.eval(*operand)?;
                Ok(shape::convert(&value, ty, limits::DEPTH)?.unwrap_or_default())
            }
            Expr::Present(operand) => Ok(Value::Bool(!self.eval(*operand)?.is_absent())),
            Expr::Lands(operand) => {
                let landed = self.eval(*operand)?;
                let empty = landed.is_absent() || matches!(&landed, Value::List(items) if items.is_empty());
                Ok(Value::Bool(!empty))
            }
            Expr::One { list, optional, on } => {
                let Value::List(items) = self.eval(*list)? else { return Err(damaged("a list is missing")) };
                match (items.as_slice(), optional) {
                    ([], true) => Ok(Value::Absent),
                    ([one], _) => Ok(one.clone()),
                    (found, _) => {
                        let path = self.plan.map(|plan| plan.path_of(on)).unwrap_or_default();
                        let most = if *optional { "at most one record" } else { "one record" };
                        Err(drift(format!("`{path}` should land on {most}; it landed on {}", found.len())))
                    }
                }
            }
            Expr::If { arms, otherwise } => {
                for (condition, value) in arms {
                    if self.boolean(*condition)? {
                        return self.eval(*value);
                    }
                }
                self.eval(*otherwise)
            }
            Expr::List(items) => self.list(items),
            Expr::Record(items) => self.record(items),
            Expr::Builtin { builtin: Builtin::Coalesce, args } => {
                for arg in args {
                    let value = self.eval(*arg)?;
                    if !value.is_absent() {
                        return Ok(value);
                    }
                }
                Ok(Value::Absent)
            }
            Expr::Builtin { builtin, args } => {
                let values = args.iter().map(|arg| self.eval(*arg)).collect::<Result<Vec<_>, _>>()?;
                builtins::call(self, *builtin, &values)
            }
        }
    }

    fn get(&self, id: ExprId) -> Result<&'a Expr, Failure> {
        self.exprs.get(id.0 as usize).ok_or_else(|| damaged("an expression is missing"))
    }

    fn boolean(&mut self, id: ExprId) -> Result<bool, Failure> {
        let value = self.eval(id)?;
        let Value::Bool(flag) = value else {
            return Err(drift(format!("a condition should be true or false; it is {}", scalar::kind(&value))));
        };
        Ok(flag)
    }

    fn constant(&mut self, index: u32) -> Result<Value, Failure> {
        if let Some(value) = self.scratch.constants.get(&index) {
            return Ok(value.clone());
        }
        let constant = self.constants.get(index as usize).ok_or_else(|| damaged("a constant is missing"))?;
        let value = self.eval(constant.value)?;
        self.scratch.constants.insert(index, value.clone());
        Ok(value)
    }

    /// Operators that lean to the left, as a loop: `a + b + c` is as deep as it is long.
    fn chain(&mut self, id: ExprId) -> Result<Value, Failure> {
        let mut rest = Vec::new();
        let mut first = id;
        while let Expr::Binary { op, left, right } = self.get(first)? {
            rest.push((*op, *right));
            first = *left;
        }
        let mut value = self.eval(first)?;
        for (op, right) in rest.into_iter().rev() {
            self.scratch.spend(1)?;
            value = match (op, &value) {
                (Op::And, Value::Bool(false)) | (Op::Or, Value::Bool(true)) => continue,
                (Op::And | Op::Or, _) => Value::Bool(self.boolean(right)?),
                (
                    Op::Equal
                    | Op::NotEqual
                    | Op::Less
                    | Op::LessEqual
                    | Op::Greater
                    | Op::GreaterEqual
                    | Op::In
                    | Op::Contains
                    | Op::Within
                    | Op::Add
                    | Op::Subtract
                    | Op::Multiply
                    | Op::Divide
                    | Op::Remainder,
                    _,
                ) => {
                    let right = self.eval(right)?;
                    self.binary(op, &value, &right)?
                }
            };
        }
        Ok(value)
    }

    fn binary(&mut self, op: Op, left: &Value, right: &Value) -> Result<Value, Failure> {
        let truth = match op {
            Op::Equal => compare::equal(self.scratch, left, right)?,
            Op::NotEqual => !compare::equal(self.scratch, left, right)?,
            Op::Less => compare::order(left, right)?.is_lt(),
            Op::LessEqual => compare::order(left, right)?.is_le(),
            Op::Greater => compare::order(left, right)?.is_gt(),
            Op::GreaterEqual => compare::order(left, right)?.is_ge(),
            Op::In => compare::member(self.scratch, left, right)?,
            Op::Contains => match (left, right) {
                (Value::Text(text), Value::Text(part)) => {
                    self.scratch.spend(text.len() / 64)?;
                    text.contains(part.as_str())
                }
                _ => compare::member(self.scratch, right, left)?,
            },
            Op::Within => time::within(left, right, self.now()?)?,
            Op::Add => return number::add(left, right),
            Op::Subtract => return number::subtract(left, right),
            Op::Multiply => return number::calculate(op, left, right),
            Op::Divide => return number::calculate(op, left, right),
            Op::Remainder => return number::calculate(op, left, right),
            Op::And | Op::Or => return Err(damaged("a lazy operator")),
        };
        Ok(Value::Bool(truth))
    }

    pub(super) fn now(&self) -> Result<Timestamp, Failure> {
        self.now.ok_or_else(|| program("only a run has a time".to_owned()))
    }

    fn list(&mut self, items: &[Item]) -> Result<Value, Failure> {
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::One(value) => list.push(self.eval(*value)?),
                Item::Spread(value) => {
                    let value = self.eval(*value)?;
                    let more = lists::items(&value, "...")?;
                    self.scratch.spend(more.len() / 8)?;
                    limits::members(list.len() + more.len())?;
                    list.extend_from_slice(more);
                }
            }
        }
        limits::list(list)
    }

    fn record(&mut self, items: &[RecordItem]) -> Result<Value, Failure> {
        let mut record = Record::new();
        for item in items {
            match item {
                RecordItem::Field(name, value) => record.set(name.clone(), self.eval(*value)?),
                RecordItem::Spread(value) => {
                    let value = self.eval(*value)?;
                    let fields = match &value {
                        Value::Record(fields) => Some(fields.as_ref()),
                        Value::Position(position) => Some(&position.fields),
                        Value::Absent
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::Text(_)
                        | Value::Date(_)
                        | Value::DateTime(_)
                        | Value::Duration(_)
                        | Value::List(_)
                        | Value::File(_) => None,
                    };
                    let misfit = || drift(format!("`...` needs a record; it is {}", scalar::kind(&value)));
                    let fields = fields.ok_or_else(misfit)?;
                    self.scratch.spend(fields.len())?;
                    for (name, value) in fields.iter() {
                        record.set(name.clone(), value.clone());
                    }
                }
            }
        }
        Ok(Value::record(record))
    }

    fn field(&mut self, field: &Field) -> Result<Value, Failure> {
        let base = self.eval(field.base)?;
        if !field.each {
            return one_field(&base, field);
        }
        let items = lists::items(&base, &field.name)?;
        self.scratch.spend(items.len())?;
        let values = items.iter().map(|item| one_field(item, field)).collect::<Result<Vec<_>, _>>()?;
        limits::list(values)
    }
}

fn one_field(base: &Value, field: &Field) -> Result<Value, Failure> {
    let value = if let Value::File(file) = base {
        of_file(file, &field.name)
    } else {
        base.field(&field.name).cloned().unwrap_or_default()
    };
    match &field.expect {
        Some(expected) if !shape::is_kind(&value, &expected.ty) => Err(broken_promise(&value, field, expected)),
        Some(_) | None => Ok(value),
    }
}

/// What can be read off a file.
fn of_file(file: &File, name: &str) -> Value {
    let text = |text: &Option<SmolStr>| text.clone().map_or(Value::Absent, Value::Text);
    match name {
        "name" => text(&file.name),
        "media_type" => text(&file.media_type),
        "size" => i64::try_from(file.size).map_or(Value::Absent, Value::from),
        _ => Value::Absent,
    }
}

/// What was described, and what is there.
fn broken_promise(value: &Value, field: &Field, expected: &Expected) -> Failure {
    let Expected { ty, of } = expected;
    let (wanted, found) = match (ty, value) {
        (Ty::Choice(_), Value::Text(text)) => {
            let shown: String = text.chars().take(60).collect();
            (format!("one of {}", crate::plan::type_text_alone(ty)), format!("{shown:?}"))
        }
        _ => (described(ty).to_owned(), scalar::kind(value).to_owned()),
    };
    drift(format!("`{}` of `{of}` was described as {wanted}; what is there is {found}", field.name))
}

fn described(ty: &Ty) -> &'static str {
    match ty {
        Ty::Text | Ty::Choice(_) => "text",
        Ty::Number => "a number",
        Ty::Boolean => "true or false",
        Ty::Date => "a date",
        Ty::Datetime => "a datetime",
        Ty::Duration => "a duration",
        Ty::List(_) | Ty::EmptyList => "a list",
        Ty::Record(_) | Ty::Position(_) | Ty::Handle(_) | Ty::Change => "a record",
        Ty::File => "a file",
        Ty::Json | Ty::Optional(_) | Ty::Absent => "any value",
    }
}
