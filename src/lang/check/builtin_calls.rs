//! Calls of built-ins: their arguments against the table, literals looked into, `COALESCE`.

use lf_module::value::Value;
use regex::Regex;
use smol_str::SmolStr;

use super::{
    body::Body,
    builtins::{Form, Gives, Signature, Takes},
    compare::list_members,
    typed::{Builtin, Expr, ExprKind},
};
use crate::{
    diag::{Diagnostic, codes},
    run::time,
    source::Span,
    syntax::ast,
    types::{Kind, Ty, relation},
};

impl Body<'_, '_> {
    pub(super) fn coalesce(&mut self, span: Span, call: &ast::Call) -> Option<Expr> {
        let args = self.positional(call)?;
        if args.len() < 2 {
            self.report(
                Diagnostic::error(
                    codes::MOV_BUILTIN_ARGUMENTS,
                    call.callee.span,
                    "`COALESCE` takes a value and what stands in for it",
                )
                .help("such as `COALESCE(company.Site, \"none\")`"),
            );
            self.visit_args(call);
            return None;
        }
        let typed: Vec<_> = args.into_iter().map(|arg| self.asked(arg)).collect();
        let typed = typed.into_iter().collect::<Option<Vec<_>>>()?;
        let (last, earlier) = typed.split_last()?;
        let mut common: Option<Ty> = None;
        for arg in &typed {
            let Some(ty) = arg.ty.present() else { continue };
            common = match common {
                None => Some(ty.clone()),
                Some(so_far) => {
                    let Some(joined) = relation::join(&so_far, ty, &self.cx.graph) else {
                        let (one, two) = (self.show(ty), self.show(&so_far));
                        self.report(
                            Diagnostic::error(
                                codes::MOV_BUILTIN_ARGUMENT,
                                arg.span,
                                format!("`COALESCE` gives one type, and these are `{two}` and `{one}`"),
                            )
                            .label(one)
                            .help("give every argument the same type"),
                        );
                        return None;
                    };
                    Some(joined)
                }
            };
        }
        if let Some(fixed) = earlier.iter().find(|arg| !arg.ty.may_be_absent() && !self.doubtful(arg)) {
            let shown = self.show(&fixed.ty);
            self.warn_fixed(fixed.span, "what follows is never used", &format!("`{shown}` is never absent"));
        }
        let ty = common.unwrap_or(Ty::Absent);
        let ty = if last.ty.may_be_absent() { ty.optional() } else { ty };
        Some(Expr { ty, span, kind: ExprKind::Builtin { builtin: Builtin::Coalesce, args: typed } })
    }

    pub(super) fn builtin(&mut self, span: Span, call: &ast::Call, signature: &Signature) -> Option<Expr> {
        let args = self.positional(call)?;
        if args.len() < signature.least || args.len() > signature.args.len() {
            let takes = match (signature.least, signature.args.len()) {
                (0, 0) => "no arguments".to_owned(),
                (1, 1) => "one argument".to_owned(),
                (least, most) if least == most => format!("{most} arguments"),
                (least, most) => format!("{least} to {most} arguments"),
            };
            let at = args.get(signature.args.len()).map_or(call.callee.span, |extra| extra.span);
            self.report(
                Diagnostic::error(
                    codes::MOV_BUILTIN_ARGUMENTS,
                    at,
                    format!("`{}` takes {takes}, not {}", signature.name, args.len()),
                )
                .help(format!("written `{}({})`", signature.name, shown_arguments(signature))),
            );
            self.visit_args(call);
            return None;
        }
        let mut typed = Vec::with_capacity(args.len());
        let mut whole = true;
        for (arg, takes) in args.into_iter().zip(signature.args) {
            match self.expr(arg).and_then(|arg| self.takes(arg, *takes, signature.name)) {
                Some(arg) => typed.push(arg),
                None => whole = false,
            }
        }
        if !whole {
            return None;
        }
        let ty = gives(signature.gives, typed.first().map(|arg| &arg.ty));
        let ty = if typed.first().is_some_and(|arg| converts(signature.gives, &arg.ty)) {
            ty.present().cloned().unwrap_or(ty)
        } else {
            ty
        };
        Some(Expr { ty, span, kind: ExprKind::Builtin { builtin: signature.builtin, args: typed } })
    }

    pub(super) fn takes(&mut self, arg: Expr, takes: Takes, builtin: &str) -> Option<Expr> {
        let kind = arg.ty.kind();
        if takes == Takes::Any {
            return self.is_data(arg, &format!("`{builtin}` gives json"));
        }
        if kind == Kind::Json && !matches!(takes, Takes::ListOrJson | Takes::Json) {
            let text = self.cx.slice(arg.span);
            self.report(
                Diagnostic::error(codes::MOV_JSON_OPAQUE, arg.span, format!("`{text}` is json, which is opaque"))
                    .label(format!("`{builtin}` takes {}", words(takes)))
                    .help(format!("say what it is first: `{text} AS <{}>`", json_hint(takes))),
            );
            return None;
        }
        if !self.takes_type(&arg.ty, takes) {
            let (shown, text) = (self.show(&arg.ty), self.cx.slice(arg.span));
            let report = Diagnostic::error(
                codes::MOV_BUILTIN_ARGUMENT,
                arg.span,
                format!("`{builtin}` takes {}, not `{shown}`", words(takes)),
            )
            .label(shown);
            self.report(match (kind, takes) {
                // These read a text; of what is no text they would read nothing.
                (from, Takes::Text) if let Some(help) = reads(builtin, from, text) => report.help(help),
                (from, Takes::Text) if from.is_scalar() => report.help("nothing is turned into text silently").fix(
                    format!("write `TEXT({text})`"),
                    arg.span,
                    format!("TEXT({text})"),
                ),
                (Kind::Text, Takes::Number) => {
                    report.help(format!("convert it: `NUMBER({text})`, which may be absent"))
                }
                (Kind::Text, Takes::Literal(_)) => report.help("write the text itself, so that a check can see it"),
                (Kind::Text, Takes::Date | Takes::Temporal) => {
                    report.help(format!("convert it: `DATE({text})`, which may be absent"))
                }
                (_, _) => report,
            });
            return None;
        }
        let why = format!("`{builtin}` needs a value");
        let arg = self.ensure_present(arg, &why)?;
        if let Takes::Literal(form) = takes
            && let Some(text) = arg.ty.known_text().cloned()
            && let Some(wrong) = wrong_literal(form, &text)
        {
            self.report(
                Diagnostic::error(codes::MOV_BUILTIN_LITERAL, arg.span, format!("{text:?} {}", wrong.0))
                    .label(format!("`{builtin}` takes {}", words(takes)))
                    .help(wrong.1),
            );
            return None;
        }
        Some(arg)
    }

    /// Whether a type fits, absence aside.
    pub(super) fn takes_type(&self, ty: &Ty, takes: Takes) -> bool {
        let kind = ty.kind();
        if kind == Kind::Absent {
            return true;
        }
        let item = match ty.present() {
            Some(Ty::List(item)) => Some(item.as_ref()),
            Some(_) | None => None,
        };
        let empty = matches!(ty.present(), Some(Ty::EmptyList));
        let members =
            |fits: &dyn Fn(&Ty) -> bool| empty || item.is_some_and(|item| !item.may_be_absent() && fits(item));
        match takes {
            Takes::Text => kind == Kind::Text,
            Takes::Number => kind == Kind::Number,
            Takes::Date => kind == Kind::Date,
            Takes::Scalar => kind.is_scalar(),
            Takes::Temporal => matches!(kind, Kind::Date | Kind::Datetime),
            Takes::TextOrList => matches!(kind, Kind::Text | Kind::List),
            Takes::List => kind == Kind::List,
            Takes::Any => true,
            Takes::Json => kind == Kind::Json,
            Takes::ListOrJson => matches!(kind, Kind::List | Kind::Json),
            Takes::TextList => members(&|item| item.kind() == Kind::Text),
            Takes::NumberList => members(&|item| item.kind() == Kind::Number),
            Takes::OrderedList => members(&|item| item.kind().is_ordered()),
            Takes::ListList => members(&|item| item.kind() == Kind::List),
            Takes::Literal(_) => ty.present().is_some_and(|ty| ty.known_text().is_some()),
        }
    }
}

/// The way out where a built-in reads a text, and got what was read already or is never written so.
fn reads(builtin: &str, from: Kind, text: &str) -> Option<String> {
    let made = match builtin {
        "DATE" => Kind::Date,
        "DATETIME" => Kind::Datetime,
        "NUMBER" => Kind::Number,
        "DURATION" => Kind::Duration,
        _ => return None,
    };
    Some(match (made, from) {
        (made, from) if made == from => format!("it is {} already: leave `{builtin}` out", one(made)),
        (Kind::Date, Kind::Datetime) => format!(
            "which day it is depends on the zone: `DATE(FORMAT({text}, \"YYYY-MM-DD\", \"UTC\"))`, which may be absent"
        ),
        (Kind::Datetime, Kind::Date) => format!("say at which time and where: `AT_TIME({text}, \"09:00\", \"UTC\")`"),
        (Kind::Number, Kind::Boolean) => format!("write `IF {text} THEN 1 ELSE 0 END`"),
        (Kind::Number, Kind::Duration) => format!("compare it with a duration: `{text} > 2h`"),
        (Kind::Number, Kind::Date | Kind::Datetime) => {
            format!("write the part that is meant: `NUMBER(FORMAT({text}, \"YYYY\"))`")
        }
        (made, _) => format!(
            "{} is read from a text such as {}",
            one(made),
            match made {
                Kind::Date => "\"2026-01-05\"",
                Kind::Datetime => "\"2026-01-05T09:00:00Z\"",
                Kind::Duration => "\"1h30m\"; one that is known is written `1h30m`",
                Kind::Number
                | Kind::Text
                | Kind::Boolean
                | Kind::Json
                | Kind::File
                | Kind::List
                | Kind::Record
                | Kind::Absent => "\"12.5\"",
            }
        ),
    })
}

fn one(kind: Kind) -> String {
    format!("a {}", kind.word())
}

fn gives(gives: Gives, first: Option<&Ty>) -> Ty {
    let first = first.and_then(Ty::present);
    let item = match first {
        Some(Ty::List(item)) => Some(item.as_ref().clone()),
        Some(Ty::Json) => Some(Ty::Json),
        Some(_) | None => None,
    };
    match gives {
        Gives::Text => Ty::Text,
        Gives::TextList => Ty::List(Box::new(Ty::Text)),
        Gives::Number => Ty::Number,
        Gives::NumberList => Ty::List(Box::new(Ty::Number)),
        Gives::Boolean => Ty::Boolean,
        Gives::Date => Ty::Date,
        Gives::Datetime => Ty::Datetime,
        Gives::MaybeNumber => Ty::Number.optional(),
        Gives::MaybeDate => Ty::Date.optional(),
        Gives::MaybeDatetime => Ty::Datetime.optional(),
        Gives::MaybeDuration => Ty::Duration.optional(),
        Gives::MaybeMatch => {
            Ty::Record(vec![("text".into(), Ty::Text), ("groups".into(), Ty::List(Box::new(Ty::Text)))]).optional()
        }
        Gives::Json => Ty::Json,
        Gives::MaybeJson => Ty::Json.optional(),
        Gives::MaybeUrl => Ty::Record(vec![
            ("scheme".into(), Ty::Text),
            ("host".into(), Ty::Text),
            ("path".into(), Ty::Text),
            ("query".into(), Ty::Json),
        ])
        .optional(),
        Gives::Same => first.cloned().unwrap_or(Ty::EmptyList),
        Gives::MaybeMember => item.map_or(Ty::Absent, Ty::optional),
        Gives::Member => item.unwrap_or(Ty::EmptyList),
    }
}

/// Whether a conversion of a text that is known cannot fail.
fn converts(gives: Gives, text: &Ty) -> bool {
    let Some(text) = text.known_text() else { return false };
    match gives {
        Gives::MaybeDate => matches!(time::date(text), Value::Date(_)),
        Gives::MaybeDatetime => matches!(time::datetime(text), Value::DateTime(_)),
        Gives::MaybeDuration => matches!(time::duration(text), Value::Duration(_)),
        Gives::Text
        | Gives::TextList
        | Gives::Number
        | Gives::NumberList
        | Gives::Boolean
        | Gives::Date
        | Gives::Datetime
        | Gives::MaybeNumber
        | Gives::MaybeMatch
        | Gives::Json
        | Gives::MaybeJson
        | Gives::MaybeUrl
        | Gives::Same
        | Gives::MaybeMember
        | Gives::Member => false,
    }
}

/// The arguments of a built-in as words, optional ones with `?`.
fn shown_arguments(signature: &Signature) -> String {
    let words = signature.args.iter().enumerate().map(|(place, takes)| {
        let optional = if place < signature.least { "" } else { "?" };
        format!("{}{optional}", words(*takes))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn words(takes: Takes) -> &'static str {
    match takes {
        Takes::Text => "text",
        Takes::Number => "a number",
        Takes::Date => "a date",
        Takes::Scalar => "text, a number, a boolean, a date or a duration",
        Takes::Temporal => "a date or a datetime",
        Takes::TextOrList => "text or a list",
        Takes::List => "a list",
        Takes::TextList => "a list of texts",
        Takes::NumberList => "a list of numbers",
        Takes::OrderedList => "a list of texts, numbers or times",
        Takes::ListList => "a list of lists",
        Takes::ListOrJson => "a list or json",
        Takes::Json => "json",
        Takes::Any => "any value",
        Takes::Literal(Form::Regex) => "a literal pattern",
        Takes::Literal(Form::Zone) => "a literal time zone",
        Takes::Literal(Form::Time) => "a literal time of day",
        Takes::Literal(Form::Pattern) => "a literal format",
        Takes::Literal(Form::Direction) => "\"asc\" or \"desc\"",
    }
}

fn json_hint(takes: Takes) -> &'static str {
    match takes {
        Takes::Number => "number",
        Takes::Date | Takes::Temporal => "date",
        Takes::List | Takes::TextList | Takes::OrderedList | Takes::ListOrJson => "text[]",
        Takes::NumberList => "number[]",
        Takes::ListList => "text[][]",
        Takes::Text | Takes::Json | Takes::Any | Takes::Scalar | Takes::TextOrList | Takes::Literal(_) => "text",
    }
}

/// What is wrong with a literal argument, and the way out.
fn wrong_literal(form: Form, text: &SmolStr) -> Option<(String, String)> {
    match form {
        Form::Regex => Regex::new(text).err().map(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            ("is not a pattern".to_owned(), why)
        }),
        Form::Zone => jiff::tz::TimeZone::get(text)
            .is_err()
            .then(|| ("is not a time zone".to_owned(), "write one such as \"Europe/Berlin\" or \"UTC\"".to_owned())),
        Form::Time => text
            .parse::<jiff::civil::Time>()
            .is_err()
            .then(|| ("is not a time of day".to_owned(), "write one such as \"09:00\"".to_owned())),
        Form::Pattern => wrong_pattern(text),
        Form::Direction => {
            let directions: [SmolStr; 2] = ["asc".into(), "desc".into()];
            (!directions.contains(text))
                .then(|| ("is not a direction".to_owned(), format!("write {}", list_members(&directions))))
        }
    }
}

/// Every part of a format, a longer one before its beginning; `T` stands for itself, `[…]` holds text.
pub(crate) const PATTERN_PARTS: [&str; 22] = [
    "YYYY", "YY", "MMMM", "MMM", "MM", "M", "DD", "D", "dddd", "ddd", "HH", "H", "hh", "h", "A", "mm", "m", "ss", "s",
    "SSS", "T", "Z",
];

fn wrong_pattern(pattern: &str) -> Option<(String, String)> {
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some((_, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            rest = after;
        } else if let Some(after) = PATTERN_PARTS.iter().find_map(|part| rest.strip_prefix(part)) {
            rest = after;
        } else if first.is_ascii_alphabetic() {
            return Some((
                format!("is not a format: `{first}` stands for nothing"),
                format!("a format is made of {}; text stands in brackets: `[week]`", PATTERN_PARTS.join(" ")),
            ));
        } else {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    None
}
