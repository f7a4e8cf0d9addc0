//! Types as they are written, to types as they are checked.

use smol_str::SmolStr;

use super::{
    context::{Context, Symbol},
    hops,
    index::Meaning,
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{Name, Path, TypeExpr, TypeKind},
    types::{Ty, TypeRef},
};

/// The names of the built-in types.
pub(super) const NAMES: [&str; 10] =
    ["text", "number", "boolean", "date", "datetime", "duration", "json", "file", "change", "absent"];

/// The type that `written` means in `file`; `None` if it failed, which was reported.
pub(super) fn resolve(cx: &mut Context<'_>, file: usize, written: &TypeExpr) -> Option<Ty> {
    match &written.kind {
        TypeKind::Name(name) => named(cx, file, name),
        TypeKind::Choice(members) => {
            let mut texts: Vec<SmolStr> = Vec::new();
            for member in members {
                if texts.contains(&member.text) {
                    let before = members.iter().take_while(|other| other.span != member.span).last();
                    let from = before.map_or(member.span.start, |before| before.span.end);
                    cx.report(
                        Diagnostic::error(
                            codes::MOV_TYPE_CHOICE_TWICE,
                            member.span,
                            format!("{:?} stands twice in this choice", member.text),
                        )
                        .fix("leave this one out", Span { start: from, ..member.span }, ""),
                    );
                } else {
                    texts.push(member.text.clone());
                }
            }
            Some(Ty::Choice(texts))
        }
        TypeKind::List(item) => Some(Ty::List(Box::new(resolve(cx, file, item)?))),
        TypeKind::Record(fields) => record(cx, file, fields),
        TypeKind::OrAbsent(inner) => resolve(cx, file, inner).map(Ty::optional),
        TypeKind::Absent => Some(Ty::Absent),
        TypeKind::Position(path) => position(cx, file, path).map(Ty::Position),
        TypeKind::Union(members) => {
            let parts: Vec<_> = members.iter().map(|member| cx.slice(member.span).to_owned()).collect();
            cx.report(
                Diagnostic::error(
                    codes::MOV_TYPE_UNION,
                    written.span,
                    format!("a value is either {}: there is no such type", parts.join(" or ")),
                )
                .label("neither a choice of texts nor `| absent`")
                .help("use a record with one field for each, or `json`"),
            );
            None
        }
        TypeKind::Bad => None,
    }
}

fn record(cx: &mut Context<'_>, file: usize, fields: &[(Name, TypeExpr)]) -> Option<Ty> {
    let mut seen: indexmap::IndexMap<SmolStr, Ty> = indexmap::IndexMap::new();
    let mut whole = true;
    for (name, ty) in fields {
        let Some(ty) = resolve(cx, file, ty) else {
            whole = false;
            continue;
        };
        if seen.insert(name.text.clone(), ty).is_some() {
            cx.report(
                Diagnostic::error(
                    codes::MOV_FIELD_TWICE,
                    name.span,
                    format!("the field `{}` is declared twice", name.text),
                )
                .help("leave one out"),
            );
            whole = false;
        }
    }
    whole.then(|| Ty::Record(seen.into_iter().collect()))
}

fn named(cx: &mut Context<'_>, file: usize, name: &Name) -> Option<Ty> {
    cx.offer_types(name.span, file);
    if NAMES.contains(&name.text.as_str()) {
        cx.notes.mention(name.span, Meaning::BuiltinType);
    }
    match name.text.as_str() {
        "text" => return Some(Ty::Text),
        "number" => return Some(Ty::Number),
        "boolean" => return Some(Ty::Boolean),
        "date" => return Some(Ty::Date),
        "datetime" => return Some(Ty::Datetime),
        "duration" => return Some(Ty::Duration),
        "json" => return Some(Ty::Json),
        "change" => return Some(Ty::Change),
        "absent" => return Some(Ty::Absent),
        "file" => return Some(Ty::File),
        _ => {}
    }
    match cx.look_up(file, name) {
        Some(Symbol::Type(index)) => cx.types.get(index).and_then(|decl| decl.ty.clone()),
        Some(Symbol::Failed) => None,
        Some(symbol @ (Symbol::Connection(_) | Symbol::Function(_) | Symbol::Constant(_))) => {
            let report = Diagnostic::error(
                codes::MOV_TYPE_UNKNOWN,
                name.span,
                format!("`{}` is {}, not a type", name.text, describe(symbol)),
            );
            cx.report(match symbol {
                Symbol::Connection(_) => report.help(format!("a record of it is written `{}-[:Type]->`", name.text)),
                Symbol::Type(_) | Symbol::Function(_) | Symbol::Constant(_) | Symbol::Failed => report,
            });
            None
        }
        None => {
            unknown(cx, file, name);
            None
        }
    }
}

/// What a symbol is, in a sentence.
pub(super) fn describe(symbol: Symbol) -> &'static str {
    match symbol {
        Symbol::Connection(_) => "a connection",
        Symbol::Type(_) => "a type",
        Symbol::Function(_) => "a function",
        Symbol::Constant(_) => "a value",
        Symbol::Failed => "not known",
    }
}

fn unknown(cx: &mut Context<'_>, file: usize, name: &Name) {
    let Some(scope) = cx.scopes.get(file) else { return };
    if scope.damaged {
        return;
    }
    let declared =
        scope.names.iter().filter(|(_, entry)| matches!(entry.symbol, Symbol::Type(_))).map(|(name, _)| name.as_str());
    let report = Diagnostic::error(codes::MOV_TYPE_UNKNOWN, name.span, format!("there is no type `{}`", name.text));
    let near = alias(&name.text).or_else(|| suggest::nearest(&name.text, NAMES.into_iter().chain(declared)));
    let report = match near {
        Some(near) => report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near),
        None => report.help("declare it with `type NAME = <…>`, or write a position such as `crm-[:Company]->`"),
    };
    cx.report(report);
}

/// What other languages call the types.
fn alias(name: &str) -> Option<&'static str> {
    match name {
        "string" | "String" | "str" => Some("text"),
        "bool" | "Boolean" => Some("boolean"),
        "int" | "integer" | "float" | "decimal" | "Number" => Some("number"),
        "any" | "object" => Some("json"),
        "null" | "undefined" | "none" => Some("absent"),
        "timestamp" => Some("datetime"),
        _ => None,
    }
}

/// The described type that a position type lands on.
fn position(cx: &mut Context<'_>, file: usize, path: &Path) -> Option<TypeRef> {
    for hop in &path.hops {
        let extra = hop.filter.as_ref().map(|filter| filter.span).or(hop.limit.as_ref().map(|limit| limit.span));
        let extra = extra.or(hop.order.first().map(|key| key.key.span)).or(hop.alias.as_ref().map(|alias| alias.span));
        if let Some(span) = extra {
            cx.report(
                Diagnostic::error(codes::MOV_TYPE_POSITION, span, "a position type only names where a record is")
                    .label("does not belong in a type")
                    .help("keep the name of each hop and nothing else"),
            );
            return None;
        }
    }
    cx.offer_connections(path.head.span, file);
    let connection = match cx.look_up(file, &path.head) {
        Some(Symbol::Connection(connection)) => connection,
        Some(Symbol::Failed) => return None,
        Some(symbol @ (Symbol::Type(_) | Symbol::Function(_) | Symbol::Constant(_))) => {
            cx.report(
                Diagnostic::error(
                    codes::MOV_TYPE_POSITION,
                    path.head.span,
                    format!("`{}` is {}, not a connection", path.head.text, describe(symbol)),
                )
                .help("a position type starts at a connection"),
            );
            return None;
        }
        None => {
            cx.unknown_connection(file, &path.head);
            return None;
        }
    };
    let mut at: Option<TypeRef> = None;
    for hop in &path.hops {
        let landed = match &at {
            None => hops::root_type(cx, connection, &hop.edge)?,
            Some(from) => hops::edge_of(cx, from, &hop.edge)?.0,
        };
        at = Some(landed);
    }
    at
}

impl Context<'_> {
    /// Reports a path head that is no name of this file.
    pub(super) fn unknown_connection(&mut self, file: usize, name: &Name) {
        let Some(scope) = self.scopes.get(file) else { return };
        if scope.damaged {
            return;
        }
        let known = scope
            .names
            .iter()
            .filter(|(_, entry)| matches!(entry.symbol, Symbol::Connection(_)))
            .map(|(name, _)| name.as_str());
        let near = suggest::nearest(&name.text, known);
        let report =
            Diagnostic::error(codes::MOV_NAME_UNKNOWN, name.span, format!("there is no connection `{}`", name.text));
        let report = match near {
            Some(near) => {
                report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near)
            }
            None => report.help(format!("connect it: `{} = connect #module using credential`", name.text)),
        };
        self.report(report);
    }
}
