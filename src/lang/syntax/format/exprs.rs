//! The layout of expressions and paths. Parentheses stand where the tree needs them, and around parts of an
//! expression where they were written.
//!
//! One file, because there is one arm for each kind of expression and they call each other.

use super::{Layout, doc::Doc, lists::Row};
use crate::{
    source::Span,
    syntax::ast::{
        Arg, BinaryOp, Call, Closure, ClosureBody, Expr, ExprKind, Hop, ListItem, Path, RecordItem, TypeExpr, UnaryOp,
    },
};

/// How strongly an expression holds together; as in the parser's table.
const COMPARISON: u8 = 4;
const MINUS: u8 = 7;
const EXISTS: u8 = 8;
const TERM: u8 = 9;

impl Layout<'_> {
    /// `name = value`, `name: value`
    pub(super) fn value(&mut self, name: Doc, sign: &'static str, value: &Expr) -> Doc {
        let commented = self.pending(value.span.start).is_some();
        let value = self.expr(value);
        let value = if commented { Doc::indent(vec![value]) } else { value };
        Doc::Many(vec![name, Doc::text(sign), Doc::text(" "), value])
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Doc {
        let comments = self.before(expr.span.start);
        let laid_out = self.kind(expr);
        if comments.is_nothing() { laid_out } else { Doc::Many(vec![comments, laid_out]) }
    }

    fn kind(&mut self, expr: &Expr) -> Doc {
        match &expr.kind {
            ExprKind::Text(parts) => self.text_literal(expr.span, parts),
            ExprKind::Number(_) | ExprKind::Duration(_) | ExprKind::Bad => Doc::text(self.file.slice(expr.span)),
            ExprKind::Bool(true) => Doc::text("true"),
            ExprKind::Bool(false) => Doc::text("false"),
            ExprKind::Null => Doc::text("null"),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Field { base, name } => {
                let base = self.postfix_base(base);
                let comments = self.before(name.span.start);
                Doc::Many(vec![base, Doc::indent(vec![comments, Doc::text("."), self.name(name)])])
            }
            ExprKind::Path(path) => self.path(path),
            ExprKind::Call(call) => {
                let callee = self.name(&call.callee);
                self.call(callee, call, expr.span)
            }
            ExprKind::Unary { op, op_span: _, operand } => {
                let (sign, least) = match op {
                    UnaryOp::Not => ("NOT ", strength_of_unary(*op)),
                    UnaryOp::Minus => ("-", EXISTS),
                };
                let operand = self.operand(operand, least);
                Doc::Many(vec![Doc::text(sign), operand])
            }
            ExprKind::Binary { op, op_span: _, left: _, right: _ } => self.chain(*op, expr),
            ExprKind::Is { operand, ty } => {
                let operand = self.operand(operand, COMPARISON + 1);
                self.typed(operand, " IS ", ty)
            }
            ExprKind::As { operand, ty } => {
                let operand = self.postfix_base(operand);
                self.typed(operand, " AS ", ty)
            }
            ExprKind::Exists(operand) => {
                let operand = self.operand(operand, TERM);
                Doc::Many(vec![Doc::text("EXISTS "), operand])
            }
            ExprKind::If { arms, otherwise } => self.when(arms, otherwise, expr.span),
            ExprKind::List(items) => {
                self.row(Row::Brackets, ("[", "]"), items, expr.span.end, list_start, Self::list_item)
            }
            ExprKind::Record(items) => {
                self.row(Row::Braces, ("{", "}"), items, expr.span.end, record_start, Self::record_item)
            }
            ExprKind::Closure(closure) => self.closure(closure),
        }
    }

    fn typed(&mut self, operand: Doc, word: &'static str, ty: &TypeExpr) -> Doc {
        let ty = self.type_ref(ty);
        Doc::Many(vec![operand, Doc::text(word), ty])
    }

    fn list_item(&mut self, item: &ListItem) -> Doc {
        match item {
            ListItem::Item(value) => self.expr(value),
            ListItem::Spread(value) => self.spread(value),
        }
    }

    fn record_item(&mut self, item: &RecordItem) -> Doc {
        match item {
            RecordItem::Field(name, value) => {
                let name = self.name(name);
                self.value(name, ":", value)
            }
            RecordItem::Spread(value) => self.spread(value),
        }
    }

    fn spread(&mut self, value: &Expr) -> Doc {
        let value = self.expr(value);
        Doc::Many(vec![Doc::text("..."), value])
    }

    // ---- calls ----

    pub(super) fn call_statement(&mut self, expr: &Expr) -> Doc {
        if let ExprKind::Call(call) = &expr.kind {
            let callee = self.leading(&call.callee);
            self.call(callee, call, expr.span)
        } else {
            self.expr(expr)
        }
    }

    pub(super) fn call(&mut self, callee: Doc, call: &Call, span: Span) -> Doc {
        if let [rest @ .., last] = call.args.as_slice()
            && last.name.is_none()
            && hugs(last)
            && rest.iter().all(|arg| arg.name.is_none() && short(&arg.value))
            && self.pending(last.value.span.start).is_none()
        {
            let mut parts = vec![callee, Doc::text("(")];
            for arg in rest {
                parts.push(self.arg(arg));
                parts.push(Doc::text(", "));
            }
            parts.push(self.arg(last));
            if self.pending(span.end).is_none() {
                parts.push(Doc::text(")"));
                return Doc::Many(parts);
            }
            let comments = self.before(span.end);
            parts.extend([Doc::text(","), comments, Doc::text(")")]);
            return Doc::Many(parts);
        }
        let args = self.row(Row::Brackets, ("(", ")"), &call.args, span.end, arg_start, Self::arg);
        Doc::Many(vec![callee, args])
    }

    fn arg(&mut self, arg: &Arg) -> Doc {
        match &arg.name {
            Some(name) => {
                let name = self.name(name);
                self.value(name, ":", &arg.value)
            }
            None => self.expr(&arg.value),
        }
    }

    /// `(x) => value`, `(x) => { … }`
    fn closure(&mut self, closure: &Closure) -> Doc {
        let params = self.row(
            Row::Brackets,
            ("(", ")"),
            &closure.params,
            closure.head.end,
            |name| name.span.start,
            |layout, name| layout.name(name),
        );
        let mut parts = vec![params, Doc::text(" => ")];
        match &closure.body {
            ClosureBody::Block(block) => {
                parts.push(self.before(block.span.start));
                parts.push(self.block(block));
            }
            ClosureBody::Value(value) if opens_brace(value) => {
                parts.push(self.before(value.span.start));
                parts.extend([Doc::text("("), self.expr(value), Doc::text(")")]);
            }
            ClosureBody::Value(value) => parts.push(self.expr(value)),
        }
        Doc::Many(parts)
    }

    // ---- operators ----

    /// A part of an expression that must hold together at least so strongly.
    fn operand(&mut self, expr: &Expr, least: u8) -> Doc {
        let strength = strength(expr);
        if strength >= least && !(strength < EXISTS && self.parenthesised(expr)) {
            return self.expr(expr);
        }
        let inside = self.expr(expr);
        Doc::group(vec![Doc::text("("), Doc::indent(vec![Doc::Soft, inside]), Doc::Soft, Doc::text(")")])
    }

    /// What `.name` and `AS` may follow.
    pub(super) fn postfix_base(&mut self, expr: &Expr) -> Doc {
        let closed = match &expr.kind {
            ExprKind::Bool(_) | ExprKind::Null | ExprKind::If { .. } => false,
            ExprKind::Text(_)
            | ExprKind::Number(_)
            | ExprKind::Duration(_)
            | ExprKind::Name(_)
            | ExprKind::Field { .. }
            | ExprKind::Path(_)
            | ExprKind::Call(_)
            | ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Is { .. }
            | ExprKind::As { .. }
            | ExprKind::Exists(_)
            | ExprKind::List(_)
            | ExprKind::Record(_)
            | ExprKind::Closure(_)
            | ExprKind::Bad => true,
        };
        self.operand(expr, if closed { TERM } else { u8::MAX })
    }

    /// Whether parentheses were written around exactly this.
    fn parenthesised(&self, expr: &Expr) -> bool {
        let (start, end) = self.extent(expr);
        self.parentheses(start, end).is_some()
    }

    /// From the first to the last sign of an expression; a span leaves out the parentheses of its outer operands.
    fn extent(&self, expr: &Expr) -> (u32, u32) {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Binary { op: _, op_span: _, left, right } => (self.outside(left).0, self.outside(right).1),
            ExprKind::Unary { op: _, op_span: _, operand } | ExprKind::Exists(operand) => {
                (span.start, self.outside(operand).1)
            }
            ExprKind::Is { operand, ty: _ }
            | ExprKind::As { operand, ty: _ }
            | ExprKind::Field { base: operand, name: _ } => (self.outside(operand).0, span.end),
            ExprKind::Text(_)
            | ExprKind::Number(_)
            | ExprKind::Duration(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Name(_)
            | ExprKind::Path(_)
            | ExprKind::Call(_)
            | ExprKind::If { .. }
            | ExprKind::List(_)
            | ExprKind::Record(_)
            | ExprKind::Closure(_)
            | ExprKind::Bad => (span.start, span.end),
        }
    }

    /// The same with all parentheses around it.
    fn outside(&self, expr: &Expr) -> (u32, u32) {
        let (mut start, mut end) = self.extent(expr);
        while let Some((before, after)) = self.parentheses(start, end) {
            (start, end) = (before, after);
        }
        (start, end)
    }

    fn parentheses(&self, start: u32, end: u32) -> Option<(u32, u32)> {
        let before = self.text_before(start).trim_end().strip_suffix('(')?;
        let after = self.text_after(end);
        let inside = after.len() - after.trim_start().strip_prefix(')')?.len();
        Some((u32::try_from(before.len()).ok()?, end.checked_add(u32::try_from(inside).ok()?)?))
    }

    /// The line that begins before a place, with the comments that stand there.
    fn line_before(&mut self, place: u32) -> Vec<Doc> {
        let mut parts = self.trailing(place);
        for (_, comment) in self.own(place) {
            parts.extend([Doc::Fresh, Doc::Text(comment)]);
        }
        parts.push(Doc::Line);
        parts
    }

    /// Operators of one strength in a row.
    fn chain(&mut self, op: BinaryOp, expr: &Expr) -> Doc {
        let strength = strength_of(op);
        let mut tail = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, op_span, left, right } = &first.kind
            && strength_of(*op) == strength
            && (tail.is_empty() || !self.parenthesised(first))
        {
            tail.push((*op, *op_span, right));
            first = left;
            if strength == COMPARISON {
                break;
            }
        }
        tail.reverse();
        let least = if strength == COMPARISON { strength + 1 } else { strength };
        let mut parts = vec![self.operand(first, least)];
        for (op, op_span, right) in tail {
            if strength < COMPARISON {
                parts.extend(self.line_before(op_span.start));
                parts.extend([Doc::text(sign(op)), Doc::text(" ")]);
            } else {
                parts.extend([Doc::text(" "), Doc::text(sign(op))]);
                if strength == COMPARISON {
                    parts.push(Doc::text(" "));
                } else {
                    parts.extend(self.trailing(right.span.start));
                    parts.push(Doc::Line);
                }
            }
            parts.push(self.operand(right, strength + 1));
        }
        Doc::group(vec![Doc::indent(parts)])
    }

    /// `IF c THEN a ELSE b END`
    fn when(&mut self, arms: &[(Expr, Expr)], otherwise: &Expr, span: Span) -> Doc {
        let mut parts = Vec::new();
        for (place, (condition, value)) in arms.iter().enumerate() {
            let condition = self.expr(condition);
            let value = self.expr(value);
            let word = if place == 0 { "IF " } else { "ELSE IF " };
            let arm =
                Doc::group(vec![Doc::text(word), condition, Doc::indent(vec![Doc::Line, Doc::text("THEN "), value])]);
            parts.push(if place == 0 { arm } else { Doc::indent(vec![Doc::Line, arm]) });
        }
        let nested = matches!(otherwise.kind, ExprKind::If { .. });
        let otherwise = self.operand(otherwise, if nested { u8::MAX } else { 0 });
        parts.push(Doc::indent(vec![Doc::Line, Doc::text("ELSE "), otherwise]));
        parts.extend(self.line_before(span.end));
        parts.push(Doc::text("END"));
        Doc::group(parts)
    }

    // ---- paths ----

    pub(super) fn path(&mut self, path: &Path) -> Doc {
        let comments = self.before(path.head.span.start);
        let head = self.name(&path.head);
        let path = self.path_from(head, path);
        Doc::Many(vec![comments, path])
    }

    pub(super) fn path_from(&mut self, head: Doc, path: &Path) -> Doc {
        let mut parts = vec![head];
        let mut hops = path.hops.iter();
        if let Some(first) = hops.next() {
            parts.push(self.hop(first));
        }
        for hop in hops {
            let hop = self.hop(hop);
            parts.push(Doc::group(vec![Doc::indent(vec![Doc::Soft, hop])]));
        }
        Doc::Many(parts)
    }

    fn hop(&mut self, hop: &Hop) -> Doc {
        let comments = self.before(hop.span.start);
        let mut head = String::from("-[");
        if let Some(alias) = &hop.alias {
            head.push_str(self.file.slice(alias.span));
        }
        head.push(':');
        head.push_str(self.file.slice(hop.edge.span));
        let mut clauses = Vec::new();
        if let Some(filter) = &hop.filter {
            clauses.extend(self.line_before(filter.span.start));
            let filter = self.expr(filter);
            clauses.extend([Doc::text("WHERE "), filter]);
        }
        for (place, key) in hop.order.iter().enumerate() {
            if place == 0 {
                clauses.extend(self.line_before(key.key.span.start));
                clauses.push(Doc::text("ORDER BY "));
            } else {
                clauses.push(Doc::text(", "));
            }
            clauses.push(self.expr(&key.key));
            if key.descending {
                clauses.push(Doc::text(" DESC"));
            }
        }
        if let Some(limit) = &hop.limit {
            clauses.extend(self.line_before(limit.span.start));
            clauses.extend([Doc::text("LIMIT "), Doc::text(self.file.slice(limit.span))]);
        }
        let more = self.before(hop.span.end);
        if clauses.is_empty() && more.is_nothing() {
            return Doc::Many(vec![comments, Doc::text(head), Doc::text("]->")]);
        }
        clauses.push(more);
        Doc::Many(vec![comments, Doc::group(vec![Doc::text(head), Doc::indent(clauses), Doc::Soft, Doc::text("]->")])])
    }
}

/// An argument that may break inside the parentheses of its call, without lines of its own.
fn hugs(arg: &Arg) -> bool {
    if let ExprKind::Closure(closure) = &arg.value.kind {
        return match &closure.body {
            ClosureBody::Block(_) => true,
            ClosureBody::Value(value) => matches!(value.kind, ExprKind::Record(_)),
        };
    }
    matches!(arg.value.kind, ExprKind::List(_) | ExprKind::Record(_))
}

/// An argument that never needs a line of its own.
fn short(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Duration(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Name(_) => true,
        ExprKind::Field { base, name: _ } => short(base),
        ExprKind::Text(parts) => parts.len() < 2,
        ExprKind::Path(_)
        | ExprKind::Call(_)
        | ExprKind::Unary { .. }
        | ExprKind::Binary { .. }
        | ExprKind::Is { .. }
        | ExprKind::As { .. }
        | ExprKind::Exists(_)
        | ExprKind::If { .. }
        | ExprKind::List(_)
        | ExprKind::Record(_)
        | ExprKind::Closure(_)
        | ExprKind::Bad => false,
    }
}

/// Whether an expression begins with `{`, which after `=>` would open a block.
fn opens_brace(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Record(_) => true,
        ExprKind::Field { base: first, name: _ }
        | ExprKind::As { operand: first, ty: _ }
        | ExprKind::Is { operand: first, ty: _ }
        | ExprKind::Binary { op: _, op_span: _, left: first, right: _ } => opens_brace(first),
        ExprKind::Text(_)
        | ExprKind::Number(_)
        | ExprKind::Duration(_)
        | ExprKind::Bool(_)
        | ExprKind::Null
        | ExprKind::Name(_)
        | ExprKind::Path(_)
        | ExprKind::Call(_)
        | ExprKind::Unary { .. }
        | ExprKind::Exists(_)
        | ExprKind::If { .. }
        | ExprKind::List(_)
        | ExprKind::Closure(_)
        | ExprKind::Bad => false,
    }
}

fn arg_start(arg: &Arg) -> u32 {
    arg.name.as_ref().map_or(arg.value.span.start, |name| name.span.start)
}

// The dots of a spread stand right before its value, after any comment.
fn list_start(item: &ListItem) -> u32 {
    match item {
        ListItem::Item(value) | ListItem::Spread(value) => value.span.start,
    }
}

fn record_start(item: &RecordItem) -> u32 {
    match item {
        RecordItem::Field(name, _) => name.span.start,
        RecordItem::Spread(value) => value.span.start,
    }
}

fn strength(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary { op, op_span: _, left: _, right: _ } => strength_of(*op),
        ExprKind::Unary { op, op_span: _, operand: _ } => strength_of_unary(*op),
        ExprKind::Is { .. } => COMPARISON,
        ExprKind::Exists(_) => EXISTS,
        ExprKind::Text(_)
        | ExprKind::Number(_)
        | ExprKind::Duration(_)
        | ExprKind::Bool(_)
        | ExprKind::Null
        | ExprKind::Name(_)
        | ExprKind::Field { .. }
        | ExprKind::Path(_)
        | ExprKind::Call(_)
        | ExprKind::As { .. }
        | ExprKind::If { .. }
        | ExprKind::List(_)
        | ExprKind::Record(_)
        | ExprKind::Closure(_)
        | ExprKind::Bad => TERM,
    }
}

fn strength_of_unary(op: UnaryOp) -> u8 {
    match op {
        UnaryOp::Not => 3,
        UnaryOp::Minus => MINUS,
    }
}

fn strength_of(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::In
        | BinaryOp::Contains
        | BinaryOp::Within => COMPARISON,
        BinaryOp::Add | BinaryOp::Subtract => 5,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => 6,
    }
}

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
