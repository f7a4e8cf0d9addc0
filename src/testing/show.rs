//! Values as a person would write them in a test.

use lf_module::{Record, Value, json};

use super::files;
use crate::host::news::cut;

/// How many characters of a value are shown.
const SHOWN: usize = 120;

pub(super) fn value(value: &Value) -> String {
    let text = match value {
        Value::Absent => "null".to_owned(),
        Value::Record(record) => fields(record),
        Value::Position(position) => fields(&position.fields),
        Value::File(file) => fields(&files::shown(file)),
        Value::List(items) => {
            let items: Vec<_> = items.iter().take(20).map(self::value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_) => json::plain(value),
    };
    cut(&text, SHOWN)
}

fn fields(record: &Record) -> String {
    if record.is_empty() {
        return "{}".to_owned();
    }
    let fields: Vec<_> = record.iter().map(|(name, value)| format!("{name}: {}", self::value(value))).collect();
    format!("{{ {} }}", fields.join(", "))
}
