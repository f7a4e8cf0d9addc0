//! Pairs to hops: edge, alias, `WHERE`, `ORDER BY`, `LIMIT`.

use super::{
    ast::{ExprKind, Hop, Limit, Name, OrderKey, Path},
    pairs::{Children, Node, Reader, Rule},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
};

impl Reader<'_> {
    /// `NAME { hop }`
    pub(super) fn path(&mut self, node: Node<'_>) -> Option<Path> {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let head = children.take(Rule::name).map(|name| self.name(&name))?;
        Some(self.path_from(head, children, span).0)
    }

    /// The path that `head` and the hops that are left begin, and the height of what stands in these.
    pub(super) fn path_from(&mut self, head: Name, mut rest: Children<'_>, span: Span) -> (Path, u32) {
        let mut hops = Vec::new();
        let mut height = 0;
        while let Some(node) = rest.take(Rule::hop) {
            let (hop, below) = self.hop(node);
            height = height.max(below);
            hops.push(hop);
        }
        (Path { span, head, hops }, height)
    }

    pub(super) fn hop(&mut self, node: Node<'_>) -> (Hop, u32) {
        let span = self.span(&node);
        let mut height = 0;
        let mut children = Children::of(node);
        let mut alias = None;
        let mut edge = None;
        if let Some(head) = children.take(Rule::hop_edge) {
            let mut parts = Children::of(head);
            alias = parts
                .take(Rule::alias)
                .and_then(|alias| Children::of(alias).take(Rule::word))
                .map(|word| self.name(&word));
            edge = parts.take(Rule::word).map(|word| self.name(&word));
        } else if let Some(word) = children.take(Rule::habit_edge).and_then(|head| Children::of(head).take(Rule::word))
        {
            let name = self.name(&word);
            let problem = Diagnostic::error(
                codes::MOV_PARSE_HABIT,
                name.span,
                format!("the edge `{}` needs a `:` before it", name.text),
            )
            .fix(format!("write `-[:{}]->`", name.text), name.span, format!(":{}", self.source(name.span)));
            self.report(problem);
            edge = Some(name);
        }
        let filter = children.take(Rule::filter).and_then(|filter| {
            let mut parts = Children::of(filter);
            self.upper(&mut parts, Rule::where_word);
            let built = self.sub(parts.take(Rule::expr)?);
            height = height.max(built.height);
            Some(built.expr)
        });
        let order = children.take(Rule::order).map(|order| self.order(order, &mut height)).unwrap_or_default();
        let limit = children.take(Rule::limit).and_then(|limit| self.limit(limit));
        if let Some(end) = children.take(Rule::hop_end)
            && end.as_str().trim_end() == "]"
        {
            let place = self.span(&end);
            let problem = Diagnostic::error(codes::MOV_PARSE_UNEXPECTED, place, "a hop ends with `]->`, not with `]`")
                .fix("write `]->`", place, "]->");
            self.report(problem);
        }
        let nowhere = || Name { text: "".into(), span };
        (Hop { span, alias, edge: edge.unwrap_or_else(nowhere), filter, order, limit }, height)
    }

    fn order(&mut self, node: Node<'_>, height: &mut u32) -> Vec<OrderKey> {
        let mut children = Children::of(node);
        self.upper(&mut children, Rule::order_word);
        let mut keys = Vec::new();
        while let Some(key) = children.take(Rule::order_key) {
            let mut parts = Children::of(key);
            let Some(built) = parts.take(Rule::expr).map(|expr| self.sub(expr)) else { continue };
            *height = built.height.max(*height);
            let direction = self.upper(&mut parts, Rule::direction);
            let descending = direction.is_some_and(|word| word.eq_ignore_ascii_case("desc"));
            keys.push(OrderKey { key: built.expr, descending });
        }
        keys
    }

    fn limit(&mut self, node: Node<'_>) -> Option<Limit> {
        let mut children = Children::of(node);
        self.upper(&mut children, Rule::limit_word);
        let expr = children.take(Rule::expr).map(|expr| self.expr(expr))?;
        let count = match &expr.kind {
            ExprKind::Number(number) => number.as_i64().and_then(|whole| u64::try_from(whole).ok()),
            ExprKind::Bad => return None,
            ExprKind::Text(_)
            | ExprKind::Duration(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Name(_)
            | ExprKind::Field { .. }
            | ExprKind::Path(_)
            | ExprKind::Call(_)
            | ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Is { .. }
            | ExprKind::As { .. }
            | ExprKind::Exists(_)
            | ExprKind::If { .. }
            | ExprKind::List(_)
            | ExprKind::Record(_)
            | ExprKind::Closure(_) => None,
        };
        if count.is_none() {
            let problem = Diagnostic::error(
                codes::MOV_PARSE_UNEXPECTED,
                expr.span,
                format!("`LIMIT` takes a whole number, found `{}`", self.source(expr.span)),
            );
            self.report(problem);
        }
        count.map(|count| Limit { count, span: expr.span })
    }

    /// Takes a word of the language that should stand in capitals, and says so if it does not.
    pub(super) fn upper(&mut self, children: &mut Children<'_>, rule: Rule) -> Option<String> {
        let node = children.take(rule)?;
        let written = node.as_str().trim_end().to_owned();
        let span = self.span(&node);
        self.capitals(&written, span);
        Some(written)
    }

    pub(super) fn capitals(&mut self, written: &str, span: Span) {
        let right = written.to_ascii_uppercase();
        if written != right {
            let problem = Diagnostic::error(
                codes::MOV_PARSE_HABIT,
                span,
                format!("`{written}` is written in capitals: `{right}`"),
            )
            .fix(format!("write `{right}`"), span, right);
            self.report(problem);
        }
    }
}
