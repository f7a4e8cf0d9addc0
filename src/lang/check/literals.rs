//! Literals as data, and settings: the places where nothing but a literal may stand, so that a check can see it.

use std::collections::BTreeMap;

use lf_module::{FieldType, Number, value::Value};
use smol_str::SmolStr;

use super::{context::Context, index::Meaning};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{Expr, ExprKind, ListItem, Setting, TextPart, UnaryOp},
    types::Ty,
};

/// The value of a literal; `None` if it is anything else.
pub(super) fn literal(expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Text(parts) => plain_text(parts).map(Value::text),
        ExprKind::Number(number) => Some(Value::Number(number.clone())),
        ExprKind::Duration(duration) => Some(Value::Duration(*duration)),
        ExprKind::Bool(flag) => Some(Value::Bool(*flag)),
        ExprKind::Null => Some(Value::Absent),
        ExprKind::Unary { op: UnaryOp::Minus, operand, op_span: _ } => match literal(operand)? {
            Value::Number(number) => negated(&number).map(Value::Number),
            Value::Duration(duration) => duration.checked_neg().map(Value::Duration),
            Value::Absent
            | Value::Bool(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::List(_)
            | Value::Record(_)
            | Value::Position(_)
            | Value::File(_) => None,
        },
        ExprKind::List(items) => items
            .iter()
            .map(|item| match item {
                ListItem::Item(item) => literal(item),
                ListItem::Spread(_) => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(Value::list),
        ExprKind::Name(_)
        | ExprKind::Field { .. }
        | ExprKind::Path(_)
        | ExprKind::Call(_)
        | ExprKind::Unary { .. }
        | ExprKind::Binary { .. }
        | ExprKind::Is { .. }
        | ExprKind::As { .. }
        | ExprKind::Exists(_)
        | ExprKind::If { .. }
        | ExprKind::Record(_)
        | ExprKind::Closure(_)
        | ExprKind::Bad => None,
    }
}

/// The text of a literal without interpolation.
pub(super) fn plain_text(parts: &[TextPart]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TextPart::Text(piece) => text.push_str(piece),
            TextPart::Expr(_) => return None,
        }
    }
    Some(text)
}

fn negated(number: &Number) -> Option<Number> {
    match number.as_decimal() {
        Some(decimal) => Some(Number::from(-decimal)),
        None => Number::parse(&format!("-{number}")),
    }
}

/// A setting that was given and fits.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) value: Value,
    pub(super) span: Span,
}

/// Checks the braces of a `connect` or a `listen`. What does not fit is reported and left out.
pub(super) fn settings(
    cx: &mut Context<'_>,
    whose: &str,
    given: &[Setting],
    allowed: &BTreeMap<SmolStr, FieldType>,
) -> BTreeMap<SmolStr, Given> {
    let mut seen: BTreeMap<SmolStr, Span> = BTreeMap::new();
    let mut fitting = BTreeMap::new();
    for setting in given {
        let name = &setting.name;
        cx.offer_settings(name.span, allowed.iter());
        if let Some(FieldType::Choice(members)) = allowed.get(&name.text) {
            cx.offer_members(setting.value.span, members);
        }
        if let (Some(FieldType::List(member)), ExprKind::List(items)) = (allowed.get(&name.text), &setting.value.kind)
            && let FieldType::Choice(members) = member.as_ref()
        {
            for item in items {
                let (ListItem::Item(item) | ListItem::Spread(item)) = item;
                cx.offer_members(item.span, members);
            }
        }
        if allowed.contains_key(&name.text) {
            cx.notes.mention(name.span, Meaning::Setting);
        }
        if let Some(first) = seen.insert(name.text.clone(), name.span) {
            let report =
                Diagnostic::error(codes::MOV_SETTING_TWICE, name.span, format!("`{}` is set twice", name.text))
                    .also(first, "first set here");
            let other = given.iter().find(|other| other.name.span == first);
            let same = other.is_some_and(|other| cx.slice(other.value.span) == cx.slice(setting.value.span));
            // Of two that differ only the author knows which is meant.
            cx.report(if same {
                report.fix("leave this one out", cx.parted(name.span.to(setting.value.span)), "")
            } else {
                report.help("keep one of the two")
            });
            continue;
        }
        let Some(ty) = allowed.get(&name.text) else {
            cx.report(unknown(whose, setting, allowed));
            continue;
        };
        if matches!(setting.value.kind, ExprKind::Bad) {
            continue;
        }
        let span = setting.value.span;
        let Some(value) = literal(&setting.value) else {
            cx.report(
                Diagnostic::error(
                    codes::MOV_SETTING_LITERAL,
                    span,
                    format!("the setting `{}` takes a literal", name.text),
                )
                .label("known only when it runs")
                .help("write the value itself, so that a check can see it"),
            );
            continue;
        };
        if literal_fits(&value, ty) {
            fitting.insert(name.text.clone(), Given { value, span });
        } else {
            let wanted = cx.graph.show(&Ty::from(ty));
            let written = cx.slice(span);
            let report = Diagnostic::error(
                codes::MOV_SETTING_TYPE,
                span,
                format!("the setting `{}` takes {wanted}, not {written}", name.text),
            )
            .label(format!("expected {wanted}"));
            cx.report(match (&value, ty) {
                (Value::Number(_), FieldType::Duration) => {
                    let right = format!("{written}s");
                    report.way(format!("say of what: `{right}` for seconds"), vec![(span, right)])
                }
                (one, FieldType::List(item)) if literal_fits(one, item) => {
                    report.fix(format!("write `[{written}]`"), span, format!("[{written}]"))
                }
                (Value::Text(text), FieldType::List(item)) => near_member(report, span, text, item),
                (Value::List(items), FieldType::List(item)) => match items.as_slice() {
                    [Value::Text(text)] => near_member(report, span, text, item),
                    _ => report,
                },
                (_, _) => report,
            });
        }
    }
    fitting
}

/// A list of the one member of a choice that was nearly written.
fn near_member(report: Diagnostic, span: Span, text: &str, item: &FieldType) -> Diagnostic {
    let FieldType::Choice(members) = item else { return report };
    // `update` for `updated`
    let written = text.to_ascii_lowercase();
    let stem = written.trim_end_matches('d').trim_end_matches('e');
    let near = suggest::nearest(text, members.iter().map(SmolStr::as_str));
    let begins = |member: &&SmolStr| stem.len() > 3 && member.starts_with(stem);
    match near.or_else(|| members.iter().find(begins).map(SmolStr::as_str)) {
        Some(near) => report.fix(format!("write `[{near:?}]`"), span, format!("[{near:?}]")),
        None => report,
    }
}

fn unknown(whose: &str, setting: &Setting, allowed: &BTreeMap<SmolStr, FieldType>) -> Diagnostic {
    let name = &setting.name;
    let report =
        Diagnostic::error(codes::MOV_SETTING_UNKNOWN, name.span, format!("{whose} has no setting `{}`", name.text));
    if let Some(near) = suggest::nearest(&name.text, allowed.keys().map(SmolStr::as_str)) {
        return report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near);
    }
    if allowed.is_empty() {
        return report.help("it takes no settings");
    }
    let names: Vec<_> = allowed.keys().map(|name| format!("`{name}`")).collect();
    report.help(format!("it takes {}", names.join(", ")))
}

/// Whether a literal is a value of a field's type.
fn literal_fits(value: &Value, ty: &FieldType) -> bool {
    match (value, ty) {
        (Value::Text(_), FieldType::Text)
        | (Value::Number(_), FieldType::Number)
        | (Value::Bool(_), FieldType::Boolean)
        | (Value::Duration(_), FieldType::Duration) => true,
        (Value::Text(text), FieldType::Choice(members)) => members.contains(text),
        (Value::List(items), FieldType::List(item)) => items.iter().all(|value| literal_fits(value, item)),
        (value, FieldType::Json) => !value.is_absent(),
        (_, _) => false,
    }
}
