//! JSON from the command line as the arguments of a function.
//!
//! A described type is known only to the catalog, so that comes along; nothing is coerced but what JSON cannot hold
//! (dates, datetimes and durations are read from their text).

use std::sync::Arc;

use lf_module::{
    call::Key,
    json,
    schema::{FieldType, TypeShape},
    value::{Position, Record, Value},
};
use smol_str::SmolStr;

use super::{
    eval::{scalar, shape, time},
    limits,
};
use crate::{
    check::catalog::{Catalog, Described},
    plan::ir::{FunctionIndex, Param, Plan},
    types::{Ty, TypeRef},
};

/// The arguments of a function: the JSON itself where it takes one record, else an object by parameter.
///
/// # Errors
/// One sentence naming the parameter and field that does not fit, what was expected and what was found.
pub fn decode_args(
    plan: &Plan,
    function: FunctionIndex,
    given: &Value,
    catalog: &Catalog,
) -> Result<Vec<Value>, String> {
    let Some(function) = plan.function(function).filter(|function| !function.hidden) else {
        return Err("there is no such function".to_owned());
    };
    let decode = |param: &Param, value: &Value| {
        argument(plan, catalog, &param.ty, value, &param.name)
            .map_err(|wrong| format!("{wrong} (`{}` takes `{}: {}`)", function.name, param.name, param.text))
    };
    match function.params.as_slice() {
        [] => {
            let nothing = given.is_absent() || matches!(given, Value::Record(record) if record.is_empty());
            if nothing { Ok(Vec::new()) } else { Err(format!("`{}` takes no arguments", function.name)) }
        }
        // The record itself, or the same under the parameter's name if it has nothing else.
        [only] => decode(only, given).map(|value| vec![value]).or_else(|wrong| {
            let inner = if let Value::Record(record) = given
                && record.len() == 1
            {
                record.get(&only.name)
            } else {
                None
            };
            inner.ok_or(wrong).and_then(|inner| decode(only, inner)).map(|value| vec![value])
        }),
        params => {
            let names: Vec<_> = params.iter().map(|param| format!("`{}`", param.name)).collect();
            let Value::Record(record) = given else {
                return Err(format!("`{}` takes {}: give an object with these keys", function.name, names.join(", ")));
            };
            if let Some((extra, _)) = record.iter().find(|(name, _)| !params.iter().any(|param| param.name == **name)) {
                return Err(format!("`{}` takes {}; `{extra}` is none of them", function.name, names.join(", ")));
            }
            let values = params.iter().map(|param| decode(param, record.get(&param.name).unwrap_or(&Value::Absent)));
            values.collect()
        }
    }
}

fn argument(plan: &Plan, catalog: &Catalog, ty: &Ty, value: &Value, name: &str) -> Result<Value, String> {
    match ty {
        Ty::Position(on) | Ty::Handle(on) => position(plan, catalog, on, value),
        Ty::Optional(inner) => {
            if value.is_absent() {
                Ok(Value::Absent)
            } else {
                argument(plan, catalog, inner, value, name)
            }
        }
        Ty::List(inner) => {
            let Value::List(items) = value else {
                return Err(format!("`{name}` should be a list; it is {}", scalar::kind(value)));
            };
            items
                .iter()
                .map(|item| argument(plan, catalog, inner, item, name))
                .collect::<Result<_, _>>()
                .map(Value::list)
        }
        Ty::Record(fields) => {
            if !matches!(value, Value::Record(_)) {
                return Err(format!("`{name}` should be an object; it is {}", scalar::kind(value)));
            }
            let mut record = Record::new();
            for (field, ty) in fields {
                let found = value.field(field).unwrap_or(&Value::Absent);
                record.set(field.clone(), argument(plan, catalog, ty, found, field)?);
            }
            Ok(Value::record(record))
        }
        Ty::Change => change(value, name),
        Ty::File => Err(format!("`{name}` is a file, which cannot be given as JSON")),
        Ty::Duration => {
            let length = value.as_text().map(time::duration).unwrap_or_default();
            present(length, name, "a duration such as \"1h30m\"", value)
        }
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Json
        | Ty::Choice(_)
        | Ty::Absent
        | Ty::EmptyList => {
            let converted = shape::convert(value, ty, limits::DEPTH).map_err(|failure| failure.message)?;
            let wanted = crate::plan::type_text(plan, ty);
            converted.ok_or_else(|| format!("`{name}` should be {wanted}; it is {}", json::plain(value)))
        }
    }
}

fn present(value: Value, name: &str, wanted: &str, found: &Value) -> Result<Value, String> {
    if value.is_absent() {
        Err(format!("`{name}` should be {wanted}; it is {}", json::plain(found)))
    } else {
        Ok(value)
    }
}

fn position(plan: &Plan, catalog: &Catalog, on: &TypeRef, value: &Value) -> Result<Value, String> {
    let path = plan.path_of(on);
    let Some(connection) = plan.connection(on.connection) else { return Err(format!("`{path}` is not known")) };
    let Some(Described::Yes(description)) = catalog.connections.get(&connection.key) else {
        return Err(format!("`{}` is not described, so a record of it cannot be read", connection.name));
    };
    let Some(shape) = description.get(&on.ty) else {
        return Err(format!("`{}` has no type `{}`", connection.name, on.ty));
    };
    let Value::Record(given) = value else {
        return Err(format!("a record of `{path}` is an object; it is {}", scalar::kind(value)));
    };
    let fields = described_fields(shape, given)?;
    let key = shape.key.as_ref().and_then(|key| fields.get(key)).filter(|key| !key.is_absent()).map(|key| {
        let mut text = String::new();
        let scalar = scalar::write(&mut text, key);
        scalar.map(|()| Key(text.into())).map_err(|failure| failure.message)
    });
    let key = key.transpose()?;
    let position = Position { connection: connection.key.as_str().into(), ty: on.ty.clone(), key, fields };
    Ok(Value::Position(Arc::new(position)))
}

fn described_fields(shape: &TypeShape, given: &Record) -> Result<Record, String> {
    let mut fields = Record::new();
    for (name, value) in given.iter() {
        let Some(field) = shape.field(name) else {
            let known = shape.fields.iter().map(|field| field.name.as_str());
            let near = crate::diag::suggest::nearest(name, known).map(|near| format!("; did you mean `{near}`?"));
            return Err(format!("`{}` has no field `{name}`{}", shape.name, near.unwrap_or_default()));
        };
        if value.is_absent() {
            continue;
        }
        let ty = field_type(&field.ty);
        let fitting = match (&ty, value) {
            (Ty::Duration, Value::Text(text)) => Some(time::duration(text)).filter(|length| !length.is_absent()),
            _ => shape::convert(value, &ty, limits::DEPTH).map_err(|failure| failure.message)?,
        };
        let Some(fitting) = fitting else {
            let wanted = crate::plan::type_text_alone(&ty);
            return Err(format!("`{name}` of `{}` should be {wanted}; it is {}", shape.name, json::plain(value)));
        };
        fields.set(name.clone(), fitting);
    }
    let missing = shape
        .fields
        .iter()
        .find(|field| field.readable && !field.optional && !field.doubtful && fields.get(&field.name).is_none());
    match missing {
        Some(field) => Err(format!("`{}` of `{}` is missing", field.name, shape.name)),
        None => Ok(fields),
    }
}

fn field_type(ty: &FieldType) -> Ty {
    match ty {
        FieldType::Text => Ty::Text,
        FieldType::Number => Ty::Number,
        FieldType::Boolean => Ty::Boolean,
        FieldType::Date => Ty::Date,
        FieldType::Datetime => Ty::Datetime,
        FieldType::Duration => Ty::Duration,
        FieldType::Json => Ty::Json,
        FieldType::File => Ty::File,
        FieldType::Choice(members) => Ty::Choice(members.clone()),
        FieldType::List(inner) => Ty::List(Box::new(field_type(inner))),
    }
}

fn change(value: &Value, name: &str) -> Result<Value, String> {
    let text = || Ty::Text;
    let fields = vec![
        (SmolStr::new_static("kind"), Ty::Choice(vec!["created".into(), "updated".into(), "deleted".into()])),
        (SmolStr::new_static("fields"), Ty::List(Box::new(text()))),
        (SmolStr::new_static("before"), Ty::Optional(Box::new(Ty::Json))),
        (SmolStr::new_static("at"), Ty::Datetime),
        (SmolStr::new_static("by"), Ty::Optional(Box::new(text()))),
    ];
    let converted = shape::convert(value, &Ty::Record(fields), limits::DEPTH).map_err(|failure| failure.message)?;
    converted.ok_or_else(|| {
        format!(
            "`{name}` should be a change: {{ \"kind\": \"created\", \"fields\": [], \"at\": \"2026-01-05T09:00:00Z\" }}"
        )
    })
}
