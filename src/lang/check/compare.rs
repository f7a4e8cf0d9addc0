//! Comparison and arithmetic: both sides of one kind, and the way out where they are not.
//!
//! One file, because each operator shares the same reports of two kinds that differ.

use lf_module::value::Value;
use smol_str::SmolStr;

use super::{
    body::Body,
    typed::{Expr, ExprKind, Op},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    run::time,
    source::Span,
    syntax::ast::BinaryOp,
    types::{Kind, Ty},
};

impl Body<'_, '_> {
    /// `==` and `!=`: one kind, and a text that the choice can be.
    pub(super) fn comparable(&mut self, op_span: Span, left: &Expr, right: &Expr) -> Option<()> {
        let (one, two) = (left.ty.kind(), right.ty.kind());
        if one == Kind::Absent || two == Kind::Absent {
            return Some(());
        }
        if one == Kind::Json || two == Kind::Json {
            let json = if one == Kind::Json { left } else { right };
            self.json_compared(op_span, json);
            return None;
        }
        if one != two {
            self.kinds_differ(op_span, left, right);
            return None;
        }
        match one {
            Kind::Record => {
                self.not_scalar(left, "records are not compared as a whole");
                None
            }
            Kind::File => {
                self.not_scalar(left, "files are not compared");
                None
            }
            Kind::List => self.lists_comparable(op_span, left, right),
            Kind::Text => self.choices_meet(left, right),
            Kind::Number | Kind::Boolean | Kind::Date | Kind::Datetime | Kind::Duration | Kind::Json | Kind::Absent => {
                Some(())
            }
        }
    }

    fn json_compared(&mut self, op_span: Span, json: &Expr) {
        let text = self.cx.slice(json.span);
        self.report(
            Diagnostic::error(codes::MOV_JSON_OPAQUE, op_span, "json is compared with `null` only")
                .also(json.span, "json")
                .help(format!("say what it is first: `{text} AS <text>`")),
        );
    }

    fn lists_comparable(&mut self, op_span: Span, left: &Expr, right: &Expr) -> Option<()> {
        let (Some(Ty::List(one)), Some(Ty::List(two))) = (left.ty.present(), right.ty.present()) else {
            return Some(());
        };
        let (one, two) = (one.kind(), two.kind());
        if one == two && one.is_scalar() {
            return Some(());
        }
        if one != two {
            self.kinds_differ(op_span, left, right);
        } else {
            if one == Kind::File {
                self.report(
                    Diagnostic::error(codes::MOV_FILE_OPAQUE, op_span, "files are not compared")
                        .also(left.span, self.show(&left.ty))
                        .help("compare what is known of them: `MAP(files, (file) => file.name)`"),
                );
            } else {
                self.not_scalar(left, "lists of records are not compared as a whole");
            }
        }
        None
    }

    /// Reports two kinds that are never equal, with the conversion that makes them one.
    pub(super) fn kinds_differ(&mut self, op_span: Span, left: &Expr, right: &Expr) {
        let (one, two) = (self.plain(&left.ty), self.plain(&right.ty));
        let report =
            Diagnostic::error(codes::MOV_COMPARE_KINDS, op_span, format!("{one} and {two} cannot be compared"))
                .label("compares values of one kind")
                .also(left.span, one)
                .also(right.span, two);
        let literal = |side: &Expr| matches!(side.kind, ExprKind::Literal(_));
        let report = match (left.ty.kind(), right.ty.kind()) {
            (Kind::Text, other) if other.is_scalar() && literal(right) && !literal(left) => {
                self.literal_as_text(report, op_span, left, right)
            }
            (other, Kind::Text) if other.is_scalar() && literal(left) && !literal(right) => {
                self.literal_as_text(report, op_span, right, left)
            }
            (Kind::Text, other) if other.is_scalar() => self.text_as(report, left, right),
            (other, Kind::Text) if other.is_scalar() => self.text_as(report, right, left),
            (Kind::Date, Kind::Datetime) => report.help(self.day_of(right)),
            (Kind::Datetime, Kind::Date) => report.help(self.day_of(left)),
            (Kind::List, _) => report.help("to look for a member write `CONTAINS`"),
            (_, Kind::List) => report.help("to look for a member write `IN`"),
            (Kind::Record, _) | (_, Kind::Record) => report.help("name the field of the record that is meant"),
            (Kind::File, _) | (_, Kind::File) => report.help("a file has `name`, `media_type` and `size`"),
            (_, _) => report.help("compare values of one kind"),
        };
        self.report(report);
    }

    fn day_of(&self, instant: &Expr) -> String {
        let text = self.cx.slice(instant.span);
        format!(
            "which day it is depends on the zone: `DATE(FORMAT({text}, \"YYYY-MM-DD\", \"UTC\"))`, which may be absent"
        )
    }

    /// A literal beside a text: as a text it can be equal, but it has not its own order any more.
    fn literal_as_text(&self, report: Diagnostic, op_span: Span, text: &Expr, literal: &Expr) -> Diagnostic {
        let (text, written) = (self.cx.slice(text.span), self.cx.slice(literal.span));
        if matches!(self.cx.slice(op_span), "==" | "!=") {
            return report.fix(format!("write `\"{written}\"`"), literal.span, format!("\"{written}\""));
        }
        report.help(format!("convert `{text}`: {}", converted(literal.ty.kind(), text)))
    }

    /// A text beside something else: it is the text that was meant to be of the other's kind.
    fn text_as(&self, report: Diagnostic, text: &Expr, other: &Expr) -> Diagnostic {
        let kind = other.ty.kind();
        let written = self.cx.slice(text.span);
        let Some(known) =
            text.ty.present().and_then(Ty::known_text).filter(|_| matches!(text.kind, ExprKind::Literal(_)))
        else {
            let other = self.cx.slice(other.span);
            return report.help(format!("convert one of them: {}, or `TEXT({other})`", converted(kind, written)));
        };
        match as_literal(known, kind) {
            Some(right) => report.fix(format!("write `{right}`"), text.span, right),
            None if kind == Kind::Datetime => {
                report.help("write the instant with its offset: `DATETIME(\"2026-01-05T00:00:00Z\")`")
            }
            None if kind == Kind::Date => report.help("write the day: `DATE(\"2026-01-05\")`"),
            None => report.help(format!("{written} is not written as a {} is", kind.word())),
        }
    }

    /// The type in words that do not depend on which literal it was.
    pub(super) fn plain(&self, ty: &Ty) -> String {
        match ty.present() {
            Some(Ty::List(item)) => format!("list of {}", item.kind().word()),
            Some(_) | None => ty.kind().word().to_owned(),
        }
    }

    /// Two texts of which at least one is a choice: they have a member in common.
    fn choices_meet(&mut self, left: &Expr, right: &Expr) -> Option<()> {
        let (Some(Ty::Choice(one)), Some(Ty::Choice(two))) = (left.ty.present(), right.ty.present()) else {
            return Some(());
        };
        self.cx.offer_members(left.span, two);
        self.cx.offer_members(right.span, one);
        if one.iter().any(|member| two.contains(member)) {
            return Some(());
        }
        match (one.as_slice(), two.as_slice()) {
            ([_], [_]) => Some(()),
            (members, [text]) => {
                self.not_a_member(right, text, members, None);
                None
            }
            ([text], members) => {
                self.not_a_member(left, text, members, None);
                None
            }
            (_, _) => {
                let (shown, other) = (self.show(&left.ty), self.show(&right.ty));
                self.report(
                    Diagnostic::error(
                        codes::MOV_CHOICE_UNKNOWN,
                        right.span,
                        "these two choices have no text in common",
                    )
                    .label(other)
                    .also(left.span, shown),
                );
                None
            }
        }
    }

    /// Reports a text that is none of a choice's. `field` is the field that takes it, if there is one.
    pub(super) fn not_a_member(&mut self, at: &Expr, text: &SmolStr, members: &[SmolStr], field: Option<&str>) {
        let headline = match field {
            Some(field) => format!("{text:?} is not one of the texts that `{field}` takes"),
            None => format!("{text:?} is not one of the texts it can be"),
        };
        let report = Diagnostic::error(codes::MOV_CHOICE_UNKNOWN, at.span, headline)
            .label(format!("expected {}", list_members(members)));
        let literal = matches!(at.kind, ExprKind::Literal(_));
        let near = suggest::nearest(text, members.iter().map(SmolStr::as_str));
        self.report(match near {
            Some(near) if literal => report.help(format!("did you mean {near:?}?")).fix(
                format!("write {near:?}"),
                at.span,
                format!("{near:?}"),
            ),
            Some(near) => report.help(format!("did you mean {near:?}?")),
            None => report,
        });
    }

    /// `<` and its kin: one kind that has an order.
    pub(super) fn ordered(&mut self, op_span: Span, left: &Expr, right: &Expr) -> Option<()> {
        let (one, two) = (left.ty.kind(), right.ty.kind());
        if one == Kind::Json || two == Kind::Json {
            let json = if one == Kind::Json { left } else { right };
            self.json_compared(op_span, json);
            return None;
        }
        if one != two && one != Kind::Absent && two != Kind::Absent {
            self.kinds_differ(op_span, left, right);
            return None;
        }
        if one.is_ordered() || one == Kind::Absent || two == Kind::Absent {
            return Some(());
        }
        if one == Kind::File {
            self.not_scalar(left, "files have no order");
            return None;
        }
        let shown = self.plain(&left.ty);
        self.report(
            Diagnostic::error(codes::MOV_COMPARE_ORDER, op_span, format!("a {shown} has no order"))
                .label("compares what can be sorted")
                .also(left.span, shown)
                .help("use `==` or `!=`"),
        );
        None
    }

    /// `IN` and `CONTAINS`.
    pub(super) fn member(&mut self, op: BinaryOp, op_span: Span, item: &Expr, list: &Expr) -> Option<()> {
        let word = if op == BinaryOp::In { "IN" } else { "CONTAINS" };
        match list.ty.present() {
            Some(Ty::List(of)) => {
                let (one, two) = (item.ty.kind(), of.kind());
                if one == Kind::Absent {
                    return Some(());
                }
                if one != two || !one.is_scalar() {
                    let (one, two) = (self.plain(&item.ty), self.plain(&list.ty));
                    self.report(
                        Diagnostic::error(
                            codes::MOV_COMPARE_KINDS,
                            op_span,
                            format!("a {one} is never a member of a {two}"),
                        )
                        .also(item.span, one)
                        .also(list.span, two)
                        .help("compare values of one kind"),
                    );
                    return None;
                }
                if let (Some(Ty::Choice(given)), Ty::Choice(members)) = (item.ty.present(), of.as_ref())
                    && let [text] = given.as_slice()
                    && !members.contains(text)
                    && !matches!(list.kind, ExprKind::List(_))
                {
                    self.not_a_member(item, text, members, None);
                    return None;
                }
                self.members_of(item, list)
            }
            Some(Ty::EmptyList) | None => Some(()),
            Some(ty) if ty.kind() == Kind::Text && op == BinaryOp::Contains => {
                if matches!(item.ty.kind(), Kind::Text | Kind::Absent) {
                    return Some(());
                }
                self.kinds_differ(op_span, list, item);
                None
            }
            Some(ty) => {
                let shown = self.plain(ty);
                let report = Diagnostic::error(
                    codes::MOV_COMPARE_KINDS,
                    op_span,
                    format!("`{word}` looks into a list, and this is {shown}"),
                )
                .also(list.span, shown);
                self.report(if ty.kind() == Kind::Text {
                    report.help("to look for a text in a text write `whole CONTAINS part`")
                } else {
                    report.help("write the values in brackets: `[a, b]`")
                });
                None
            }
        }
    }

    /// `status IN ["open", "clozed"]`: each literal member is one that the choice can be.
    fn members_of(&mut self, item: &Expr, list: &Expr) -> Option<()> {
        let (Some(Ty::Choice(members)), ExprKind::List(items)) = (item.ty.present(), &list.kind) else {
            return Some(());
        };
        if members.len() < 2 {
            return Some(());
        }
        let mut whole = Some(());
        for entry in items {
            let super::typed::Item::One(entry) = entry else { continue };
            if let Some(text) = entry.ty.known_text()
                && !members.contains(text)
            {
                self.not_a_member(entry, text, members, None);
                whole = None;
            }
        }
        whole
    }

    pub(super) fn within(&mut self, op_span: Span, left: &Expr, right: &Expr) -> Option<()> {
        let fits = matches!(left.ty.kind(), Kind::Datetime | Kind::Absent)
            && matches!(right.ty.kind(), Kind::Duration | Kind::Absent);
        if fits {
            return Some(());
        }
        let (one, two) = (self.plain(&left.ty), self.plain(&right.ty));
        self.report(
            Diagnostic::error(codes::MOV_COMPARE_KINDS, op_span, "`WITHIN` takes a datetime and a duration")
                .also(left.span, one)
                .also(right.span, two)
                .help("such as `changed WITHIN 30d`"),
        );
        None
    }

    /// The operator and type of an arithmetic expression.
    pub(super) fn arithmetic(&mut self, op: BinaryOp, op_span: Span, left: &Expr, right: &Expr) -> Option<(Op, Ty)> {
        let (one, two) = (left.ty.kind(), right.ty.kind());
        let add = matches!(op, BinaryOp::Add | BinaryOp::Subtract);
        let typed = operator(op);
        let ty = match (one, two) {
            (Kind::Number, Kind::Number) => Some(Ty::Number),
            (Kind::Datetime, Kind::Duration) if add => Some(Ty::Datetime),
            (Kind::Date, Kind::Duration) if add => {
                self.whole_days(right)?;
                Some(Ty::Date)
            }
            (Kind::Duration, Kind::Duration) if add => Some(Ty::Duration),
            // Absence is reported for the side that has it.
            (Kind::Absent, _) | (_, Kind::Absent) => Some(Ty::Number),
            (_, _) => None,
        };
        if let Some(ty) = ty {
            return Some((typed, ty));
        }
        let (first, second) = (self.plain(&left.ty), self.plain(&right.ty));
        let text = one == Kind::Text || two == Kind::Text;
        let report = Diagnostic::error(
            codes::MOV_ARITHMETIC,
            op_span,
            format!("`{}` does not take {first} and {second}", sign(op)),
        );
        let report = if text {
            report.help("turn text into a number with `NUMBER(…)`, which may be absent")
        } else if op == BinaryOp::Subtract && one == two && matches!(one, Kind::Datetime | Kind::Date) {
            let (left, right) = (self.cx.slice(left.span), self.cx.slice(right.span));
            report.help(format!(
                "two times are compared, not subtracted: `{right} < {left} - 3d` asks whether it is longer ago"
            ))
        } else if add && two == Kind::Number && matches!(one, Kind::Datetime | Kind::Date) {
            report.help("a time moves by a duration: `3d`, or `2h` for a datetime")
        } else if add {
            report.help("it takes two numbers, two durations, or a time and a duration")
        } else {
            report.help("it takes two numbers")
        };
        self.report(report.also(left.span, first).also(right.span, second));
        None
    }

    fn whole_days(&mut self, duration: &Expr) -> Option<()> {
        let ExprKind::Literal(lf_module::Value::Duration(length)) = &duration.kind else { return Some(()) };
        if length.as_secs() % 86_400 == 0 && length.subsec_nanos() == 0 {
            return Some(());
        }
        self.report(
            Diagnostic::error(codes::MOV_ARITHMETIC, duration.span, "a date moves by whole days")
                .label("not a whole number of days")
                .help("use a datetime to move by hours"),
        );
        None
    }

    /// What a side of `+` looks like inside a text.
    /// Everything that `+` joins is one mistake, and one text.
    pub(super) fn text_joined(&mut self, span: Span, op_span: Span, parts: &[Option<Expr>]) {
        let mut report = Diagnostic::error(codes::MOV_ARITHMETIC, op_span, "text is not joined with `+`")
            .label("adds numbers and times")
            .help("write it as one text");
        for part in parts.iter().flatten().take(2) {
            report = report.also(part.span, self.plain(&part.ty));
        }
        let inner: Option<String> = parts.iter().map(|part| Some(self.inside(part.as_ref()?))).collect();
        self.report(match inner {
            Some(inner) => {
                let joined = format!("\"{inner}\"");
                report.fix(format!("write `{joined}`"), span, joined)
            }
            None => report,
        });
    }

    fn inside(&self, side: &Expr) -> String {
        let text = self.cx.slice(side.span);
        if matches!(side.kind, ExprKind::Literal(_) | ExprKind::Interpolate(_)) && text.starts_with('"') {
            return text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).to_owned();
        }
        format!("${{{text}}}")
    }
}

/// Whether `+` is to join text: one side is text, and neither is absent, which is a mistake of its own.
pub(super) fn joins_text(sides: &[Option<Expr>]) -> bool {
    let [Some(left), Some(right)] = sides else { return false };
    let (one, two) = (left.ty.kind(), right.ty.kind());
    (one == Kind::Text || two == Kind::Text) && one != Kind::Absent && two != Kind::Absent
}

/// How a text is read as a value of another kind.
fn converted(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Number => format!("`NUMBER({text})`, which may be absent"),
        Kind::Date => format!("`DATE({text})`, which may be absent"),
        Kind::Datetime => format!("`DATETIME({text})`, which may be absent"),
        Kind::Duration => format!("`DURATION({text})`, which may be absent"),
        Kind::Boolean => format!("`{text} == \"true\"`"),
        Kind::Text | Kind::Json | Kind::File | Kind::List | Kind::Record | Kind::Absent => format!("`{text}`"),
    }
}

/// A literal text as what was meant by it, if it says that and nothing else.
fn as_literal(text: &str, kind: Kind) -> Option<String> {
    match kind {
        Kind::Number => plain_number(text).then(|| text.to_owned()),
        Kind::Boolean => ["true", "false"].contains(&text).then(|| text.to_owned()),
        Kind::Duration => {
            let written = text.starts_with(|sign: char| sign.is_ascii_digit());
            (written && matches!(time::duration(text), Value::Duration(_))).then(|| text.to_owned())
        }
        Kind::Date => matches!(time::date(text), Value::Date(_)).then(|| format!("DATE({text:?})")),
        Kind::Datetime => matches!(time::datetime(text), Value::DateTime(_)).then(|| format!("DATETIME({text:?})")),
        Kind::Text | Kind::Json | Kind::File | Kind::List | Kind::Record | Kind::Absent => None,
    }
}

/// `12`, `0.5`: digits as the language writes them, with no zero that may be part of a code.
fn plain_number(text: &str) -> bool {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(part) && (whole == "0" || !whole.starts_with('0')) && text.len() <= 28
}

/// The operator of a typed expression.
pub(super) fn operator(op: BinaryOp) -> Op {
    match op {
        BinaryOp::Or => Op::Or,
        BinaryOp::And => Op::And,
        BinaryOp::Equal => Op::Equal,
        BinaryOp::NotEqual => Op::NotEqual,
        BinaryOp::Less => Op::Less,
        BinaryOp::LessEqual => Op::LessEqual,
        BinaryOp::Greater => Op::Greater,
        BinaryOp::GreaterEqual => Op::GreaterEqual,
        BinaryOp::In => Op::In,
        BinaryOp::Contains => Op::Contains,
        BinaryOp::Within => Op::Within,
        BinaryOp::Add => Op::Add,
        BinaryOp::Subtract => Op::Subtract,
        BinaryOp::Multiply => Op::Multiply,
        BinaryOp::Divide => Op::Divide,
        BinaryOp::Remainder => Op::Remainder,
    }
}

/// An operator as it is written.
fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "OR",
        BinaryOp::And => "AND",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::In => "IN",
        BinaryOp::Contains => "CONTAINS",
        BinaryOp::Within => "WITHIN",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
    }
}

/// `"ENG"`, `"OPS"` or `"SALES"`.
pub(super) fn list_members(members: &[SmolStr]) -> String {
    const MOST: usize = 8;
    let shown: Vec<String> = members.iter().take(MOST).map(|member| format!("{member:?}")).collect();
    let left = members.len().saturating_sub(MOST);
    if left > 0 {
        return format!("{} or one of {left} more", shown.join(", "));
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
