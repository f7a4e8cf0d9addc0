//! Texts with their escapes and holes, numbers, durations.
#![expect(clippy::wildcard_enum_match_arm, reason = "the grammar's rules are many; each function reads a few of them")]

use jiff::SignedDuration;
use lf_module::Number;

use super::{
    ast::{Expr, ExprKind, Plain, TextPart},
    operators::Built,
    pairs::{Children, Node, Reader, Rule},
    scan::DAMAGE,
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
};

/// The units of a duration, longest name first, in milliseconds.
const UNITS: &[(&str, i64)] =
    &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// What people call the units.
const LONG_UNITS: &[(&str, &str)] = &[
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("min", "m"),
    ("mins", "m"),
    ("minute", "m"),
    ("minutes", "m"),
    ("hr", "h"),
    ("hrs", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("day", "d"),
    ("days", "d"),
    ("week", "w"),
    ("weeks", "w"),
];

impl Reader<'_> {
    /// `"…${…}…"`
    pub(super) fn text(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        if node.as_str().starts_with(DAMAGE) {
            return Built::bad(span);
        }
        let mut parts = Vec::new();
        let mut run = String::new();
        let mut height = 0;
        let mut children = Children::of(node);
        while let Some(part) = children.any() {
            match part.as_rule() {
                Rule::chars => run.push_str(part.as_str()),
                Rule::escape => self.escape(&part, &mut run),
                _ => {
                    if !run.is_empty() {
                        parts.push(TextPart::Text(std::mem::take(&mut run).into()));
                    }
                    let inner = self.hole(part);
                    height = height.max(inner.height);
                    parts.push(TextPart::Expr(inner.expr));
                }
            }
        }
        if !run.is_empty() {
            parts.push(TextPart::Text(run.into()));
        }
        self.built(span, ExprKind::Text(parts), height)
    }

    fn hole(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        if let Some(expr) = Children::of(node).take(Rule::expr) {
            return self.sub(expr);
        }
        let problem = Diagnostic::error(
            codes::MOV_PARSE_INTERPOLATION_EMPTY,
            span,
            "this `${}` is empty: an expression stands between its braces",
        )
        .help("a dollar sign before a brace is written `\\$`");
        self.report(problem);
        Built::bad(span)
    }

    fn escape(&mut self, node: &Node<'_>, run: &mut String) {
        let written = node.as_str();
        let meant = match written {
            "\\\"" => Some('"'),
            "\\\\" => Some('\\'),
            "\\n" => Some('\n'),
            "\\t" => Some('\t'),
            "\\r" => Some('\r'),
            "\\$" => Some('$'),
            _ => written
                .strip_prefix("\\u{")
                .and_then(|rest| rest.strip_suffix('}'))
                .filter(|digits| {
                    (1..=6).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
                })
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .and_then(char::from_u32),
        };
        if let Some(meant) = meant {
            run.push(meant);
            return;
        }
        let start = node.as_span().start();
        let span = self.place(start, start + written.len());
        let problem = if written.starts_with("\\u{") {
            Diagnostic::error(codes::MOV_PARSE_ESCAPE, span, format!("`{written}` is no character"))
                .help("between the braces stands the hexadecimal number of a character, as in `\\u{1F600}`")
        } else {
            let shown = written.replace('\n', "\\ and a new line");
            let problem = Diagnostic::error(codes::MOV_PARSE_ESCAPE, span, format!("`{shown}` is no escape"))
                .help("escapes are `\\\"`, `\\\\`, `\\n`, `\\t`, `\\r`, `\\$` and `\\u{1F600}`");
            if written.len() > 1 && !written.ends_with('\n') {
                problem.fix(format!("write `\\{written}` for a backslash"), span, format!("\\{written}"))
            } else {
                problem
            }
        };
        self.report(problem);
    }

    /// A text that may have no holes.
    pub(super) fn plain(&mut self, node: Node<'_>) -> Option<Plain> {
        let span = self.span(&node);
        let built = self.text(node);
        let ExprKind::Text(parts) = built.expr.kind else { return None };
        let mut text = String::new();
        for part in parts {
            match part {
                TextPart::Text(piece) => text.push_str(&piece),
                TextPart::Expr(Expr { span, kind }) => {
                    if kind != ExprKind::Bad {
                        let problem = Diagnostic::error(
                            codes::MOV_PARSE_UNEXPECTED,
                            span,
                            "this text is read before anything runs, so it can hold no `${…}`",
                        );
                        self.report(problem);
                    }
                    return None;
                }
            }
        }
        Some(Plain { text: text.into(), span })
    }

    /// `12`, `1_000`, `0.5`, `1e6`, `1h30m`
    pub(super) fn number(&mut self, node: &Node<'_>) -> Built {
        let span = self.span(node);
        let written = node.as_str();
        let kind = if is_number(written) {
            Number::parse(&written.replace('_', "")).map(ExprKind::Number)
        } else {
            duration(written).map(ExprKind::Duration)
        };
        if let Some(kind) = kind {
            return self.built(span, kind, 0);
        }
        let problem = number_problem(written, span);
        self.report(problem);
        Built::bad(span)
    }
}

/// Digits, points, exponents and `_` between digits.
fn is_number(written: &str) -> bool {
    let bytes = written.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E' => true,
        b'_' => digit(at.checked_sub(1)) && digit(Some(at + 1)),
        _ => false,
    })
}

/// `1h30m`: runs of digits and a unit, summed.
fn duration(written: &str) -> Option<SignedDuration> {
    let mut rest = written;
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (count, tail) = rest.split_at_checked(digits)?;
        let unit_end = tail.find(|letter: char| letter.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at_checked(unit_end)?;
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(count.parse::<i64>().ok()?.checked_mul(*length)?)?;
        rest = next;
    }
    Some(SignedDuration::from_millis(total))
}

fn number_problem(written: &str, span: Span) -> Diagnostic {
    let digits: String = written.chars().take_while(char::is_ascii_digit).collect();
    let rest = written.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if is_number(written) && digits.len() > 1 && digits.starts_with('0') {
        let right = written.trim_start_matches(['0', '_']);
        let right = if right.starts_with(|letter: char| letter.is_ascii_digit()) {
            right.to_owned()
        } else {
            format!("0{right}")
        };
        return Diagnostic::error(
            codes::MOV_PARSE_NUMBER,
            span,
            format!("`{written}` begins with a zero that says nothing"),
        )
        .fix(format!("write `{right}`"), span, right);
    }
    if let Some((_, unit)) = LONG_UNITS.iter().find(|(name, _)| rest.eq_ignore_ascii_case(name)) {
        let right = format!("{digits}{unit}");
        return Diagnostic::error(codes::MOV_PARSE_NUMBER, span, format!("`{rest}` is no unit of a duration")).fix(
            format!("write `{right}`"),
            span,
            right,
        );
    }
    if written.contains('_') && written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
        let right = written.replace('_', "");
        return Diagnostic::error(
            codes::MOV_PARSE_NUMBER,
            span,
            format!("`_` stands between two digits, as in `1_000`; found `{written}`"),
        )
        .fix(format!("write `{right}`"), span, right);
    }
    if rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !rest.is_empty() && duration_shaped(written) {
        return Diagnostic::error(
            codes::MOV_PARSE_NUMBER,
            span,
            format!("`{written}` is longer than a duration can be"),
        );
    }
    Diagnostic::error(codes::MOV_PARSE_NUMBER, span, format!("`{written}` is neither a number nor a duration")).help(
        "a number is `12`, `1_000`, `0.5` or `1e6`; a duration is `30s` or `1h30m`, with the units `ms s m h d w`",
    )
}

fn duration_shaped(written: &str) -> bool {
    let units: Vec<&str> =
        written.split(|letter: char| letter.is_ascii_digit()).filter(|unit| !unit.is_empty()).collect();
    !units.is_empty()
        && written.ends_with(|letter: char| !letter.is_ascii_digit())
        && units.iter().all(|unit| UNITS.iter().any(|(name, _)| name == unit))
}
