//! `[type.NAME.listen]`: how changes are followed.

use lf_module::FieldType;

use super::{names::place, table::Table};
use crate::{
    model::{Follow, Grows},
    problem::Problems,
    schema::Schema,
};

/// The longest interval of `every`, in seconds.
const DAY: u64 = 86_400;

/// The way, and how often it may well be asked where a listen does not say (seconds).
pub(super) fn read(mut table: Table<'_>, schema: &Schema, problems: &mut Problems) -> Option<(Follow, Option<u32>)> {
    let by = table.required_text("by", problems);
    if let Some(by) = by.as_ref().filter(|by| by.value == "webhook") {
        problems.error_with(&by.span, "listening by `webhook` is not built yet", "listen by `cursor` or by `list`");
        return None;
    }
    let field = table.text("field", problems);
    let query = table.text("query", problems);
    let overlap = table.whole("overlap", problems);
    let every = match table.whole("every", problems) {
        Some(every) if every.value == 0 || every.value > DAY => {
            problems.error_with(&every.span, "`every` is in seconds, from 1 to 86400", "write `every = 30`");
            return None;
        }
        every => every.and_then(|every| u32::try_from(every.value).ok()),
    };
    let span = table.span.clone();
    if !table.finish(problems) {
        return None;
    }
    let by = by?;
    match by.value.as_str() {
        "list" => {
            let spans = [field.map(|at| at.span), query.map(|at| at.span), overlap.map(|at| at.span)];
            for span in spans.into_iter().flatten() {
                problems.warning(
                    &span,
                    "this has no effect where the whole list is compared",
                    "write `by = \"cursor\"`, or take it out",
                );
            }
            Some((Follow::List, every))
        }
        "cursor" => {
            if field.is_none() || query.is_none() {
                let help = "`field` only grows; `query` is the parameter that takes its last value";
                problems.error_with(&span, "listening by `cursor` needs `field` and `query`", help);
            }
            let field = field?;
            let (pointer, ty) = place(schema, &field, problems)?;
            let grows = match ty {
                Some(FieldType::Number) => Grows::Number,
                Some(FieldType::Date) => Grows::Date,
                Some(FieldType::Datetime) => Grows::Datetime,
                Some(
                    FieldType::Text
                    | FieldType::Boolean
                    | FieldType::Duration
                    | FieldType::Json
                    | FieldType::File
                    | FieldType::Choice(_)
                    | FieldType::List(_),
                )
                | None => {
                    let message = format!(
                        "`{}` has no order that is known: it has to be a number, date or date-time",
                        field.value
                    );
                    problems.error_with(&field.span, message, "give it a `format`, or listen by `list`");
                    return None;
                }
            };
            let overlap = overlap.map(|overlap| overlap.value).unwrap_or_default();
            Some((Follow::Cursor { field: pointer, grows, parameter: query?.value, overlap }, every))
        }
        other => {
            problems.unknown(
                &by.span,
                format!("there is no listening by `{other}`"),
                other,
                ["cursor", "list"].into_iter(),
            );
            None
        }
    }
}
