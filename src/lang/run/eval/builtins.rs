//! From a built-in's name to its function. Arguments were proved to fit; what does not fit now is drift.

use lf_module::value::Value;
use rust_decimal::Decimal;

use super::{Eval, data, drift, limits, lists, number, program, scalar, text, time};
use crate::{check::typed::Builtin, plan::builtin_name, run::io::Failure};

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(super) struct Args<'v> {
    pub(super) name: &'static str,
    values: &'v [Value],
}

impl<'v> Args<'v> {
    pub(super) fn get(self, index: usize) -> Option<&'v Value> {
        self.values.get(index)
    }

    pub(super) fn value(self, index: usize) -> Result<&'v Value, Failure> {
        self.get(index).ok_or_else(|| drift(format!("`{}` needs {} arguments", self.name, index + 1)))
    }

    pub(super) fn text(self, index: usize) -> Result<&'v str, Failure> {
        let value = self.value(index)?;
        value.as_text().ok_or_else(|| self.misfit("text", value))
    }

    pub(super) fn items(self, index: usize) -> Result<&'v [Value], Failure> {
        lists::items(self.value(index)?, self.name)
    }

    pub(super) fn whole(self, index: usize) -> Result<i64, Failure> {
        number::whole(self.value(index)?, self.name)
    }

    /// A conversion from text; what is of the type already stays as it is.
    fn read(self, already: fn(&Value) -> bool, parse: fn(&str) -> Value) -> Result<Value, Failure> {
        let value = self.value(0)?;
        if already(value) { Ok(value.clone()) } else { self.text(0).map(parse) }
    }

    pub(super) fn misfit(self, wanted: &str, found: &Value) -> Failure {
        drift(format!("`{}` needs {wanted}; it is {}", self.name, scalar::kind(found)))
    }
}

pub(super) fn call(eval: &mut Eval<'_>, builtin: Builtin, values: &[Value]) -> Result<Value, Failure> {
    let args = Args { name: builtin_name(builtin), values };
    eval.scratch.spend(values.iter().map(work).sum())?;
    match builtin {
        Builtin::Trim => limits::text(args.text(0)?.trim()),
        Builtin::Lower => limits::text(args.text(0)?.to_lowercase()),
        Builtin::Upper => limits::text(args.text(0)?.to_uppercase()),
        Builtin::Length => {
            if let Value::List(items) = args.value(0)? {
                return Ok(count(items.len()));
            }
            Ok(count(text::length(args.text(0)?)))
        }
        Builtin::Split => text::split(args.text(0)?, args.text(1)?),
        Builtin::Join => text::join(args.items(0)?, args.get(1).map_or(Ok(""), |_| args.text(1))?),
        Builtin::Replace => text::replace(args.text(0)?, args.text(1)?, args.text(2)?),
        Builtin::Slice => {
            let end = args.get(2).filter(|end| !end.is_absent()).map(|_| args.whole(2)).transpose()?;
            limits::text(text::slice(args.text(0)?, args.whole(1)?, end))
        }
        Builtin::Slug => limits::text(text::slug(args.text(0)?)),
        Builtin::Starts => Ok(Value::Bool(args.text(0)?.starts_with(args.text(1)?))),
        Builtin::Ends => Ok(Value::Bool(args.text(0)?.ends_with(args.text(1)?))),
        Builtin::Match => text::find(eval.scratch, args.text(0)?, args.text(1)?),
        Builtin::Text => {
            let mut out = String::new();
            scalar::write(&mut out, args.value(0)?)?;
            limits::text(out)
        }
        Builtin::Lines => limits::list(args.text(0)?.lines().map(Value::from).collect()),
        Builtin::Abs => number::apply(args.value(0)?, args.name, Decimal::abs),
        Builtin::Floor => number::apply(args.value(0)?, args.name, Decimal::floor),
        Builtin::Ceil => number::apply(args.value(0)?, args.name, Decimal::ceil),
        Builtin::Round => number::round(args.value(0)?, args.get(1)),
        Builtin::Number => args.read(|value| matches!(value, Value::Number(_)), number::parse),
        Builtin::Now => eval.now().map(Value::DateTime),
        Builtin::Today => {
            let zone = args.get(0).map_or(Ok("UTC"), |_| args.text(0))?;
            time::today(eval.now()?, zone, args.name)
        }
        Builtin::Date => args.read(|value| matches!(value, Value::Date(_)), time::date),
        Builtin::Datetime => args.read(|value| matches!(value, Value::DateTime(_)), time::datetime),
        Builtin::Duration => args.read(|value| matches!(value, Value::Duration(_)), time::duration),
        Builtin::Format => {
            let zone = args.get(2).filter(|zone| !zone.is_absent()).map(|_| args.text(2)).transpose()?;
            time::format(args.value(0)?, args.text(1)?, zone)
        }
        Builtin::AtTime => {
            let value = args.value(0)?;
            let Value::Date(date) = value else { return Err(args.misfit("a date", value)) };
            time::at_time(*date, args.text(1)?, args.text(2)?)
        }
        Builtin::Count => Ok(count(args.items(0)?.len())),
        Builtin::Sum => number::sum(args.items(0)?),
        Builtin::Avg => lists::average(args.items(0)?),
        Builtin::Min => lists::extreme(args.items(0)?, false),
        Builtin::Max => lists::extreme(args.items(0)?, true),
        Builtin::First => Ok(args.items(0)?.first().cloned().unwrap_or_default()),
        Builtin::Last => Ok(args.items(0)?.last().cloned().unwrap_or_default()),
        Builtin::Only => match args.items(0)? {
            [] => Ok(Value::Absent),
            [one] => Ok(one.clone()),
            more => Err(program(format!("`ONLY` found {} members where one was expected", more.len()))),
        },
        // Of json that is no list there is no member.
        Builtin::At => Ok(lists::at(args.items(0).unwrap_or_default(), args.whole(1)?)),
        Builtin::Sort => lists::sort(args),
        Builtin::SortBy => lists::sort_by(args),
        Builtin::GroupBy => lists::group_by(args),
        Builtin::Distinct => lists::distinct(args.items(0)?),
        Builtin::Flat => lists::flat(args.items(0)?),
        Builtin::Range => lists::range(args.whole(0)?, args.whole(1)?),
        Builtin::Keys => data::keys(args.value(0)?),
        Builtin::Json => data::to_json(args.value(0)?),
        Builtin::Parse => Ok(data::parse(args.text(0)?)),
        Builtin::Print => data::print(args.value(0)?),
        Builtin::Hash => Ok(data::hash(args.text(0)?)),
        Builtin::Url => Ok(data::url(args.text(0)?)),
        Builtin::Encode => data::encode(args.text(0)?),
        Builtin::Coalesce => Ok(values.iter().find(|value| !value.is_absent()).cloned().unwrap_or_default()),
    }
}

fn count(count: usize) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

/// What looking at an argument costs, so that a program without effects ends.
fn work(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() / 64,
        Value::List(items) => items.len(),
        Value::Record(record) => record.len(),
        Value::Position(position) => position.fields.len(),
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::File(_) => 0,
    }
}
