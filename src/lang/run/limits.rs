//! The limits of a run that hold inside the machine. All fail closed, with a message that names the limit.
//!
//! Those of the world (calls, rows, time, the journal) are the shell's.

use lf_module::value::Value;

use super::{eval::program, io::Failure};

/// How deep calls nest.
pub const CALLS: usize = 64;
/// Steps and expressions of one run: a program without effects ends too.
pub const STEPS: u64 = 10_000_000;
/// Bytes of one value.
pub const BYTES: usize = 8 << 20;
/// Members of one list.
pub const MEMBERS: usize = 1_000_000;
/// Nesting of one value. What comes from outside nests less (its readers see to that), and a journal is read deeper.
pub const DEPTH: usize = 200;

/// A text within the limit.
pub(super) fn text(text: impl Into<smol_str::SmolStr>) -> Result<Value, Failure> {
    let text = text.into();
    if text.len() > BYTES {
        return Err(too_large());
    }
    Ok(Value::Text(text))
}

/// A list within the limit.
pub(super) fn list(items: Vec<Value>) -> Result<Value, Failure> {
    members(items.len())?;
    Ok(Value::list(items))
}

pub(super) fn members(count: usize) -> Result<(), Failure> {
    if count > MEMBERS { Err(program(format!("a list can have at most {MEMBERS} members"))) } else { Ok(()) }
}

/// A value that leaves the machine: small enough as a whole, however often its parts are shared.
pub(super) fn whole(value: &Value) -> Result<(), Failure> {
    let mut left = BYTES;
    weigh(value, &mut left, DEPTH)
}

fn weigh(value: &Value, left: &mut usize, depth: usize) -> Result<(), Failure> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(program(format!("a value can nest at most {DEPTH} deep")));
    };
    let own = match value {
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_) => 8,
        Value::Text(text) => text.len() + 2,
        Value::File(file) => 64 + file.token.len() + file.connection.len(),
        Value::List(items) => {
            for item in items.iter() {
                weigh(item, left, depth)?;
            }
            2
        }
        Value::Record(record) => fields(record, left, depth)?,
        Value::Position(position) => fields(&position.fields, left, depth)?,
    };
    *left = left.checked_sub(own).ok_or_else(too_large)?;
    Ok(())
}

fn fields(record: &lf_module::Record, left: &mut usize, depth: usize) -> Result<usize, Failure> {
    for (name, value) in record.iter() {
        *left = left.checked_sub(name.len()).ok_or_else(too_large)?;
        weigh(value, left, depth)?;
    }
    Ok(2)
}

fn too_large() -> Failure {
    program("a value can be at most 8 MiB large".to_owned())
}
