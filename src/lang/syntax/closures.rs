//! Pairs to closures: parameters, and a body that is an expression or a block.

use super::{
    ast::{Closure, ClosureBody, Expr, ExprKind, Name},
    operators::Built,
    pairs::{Children, Node, Reader, Rule},
};
use crate::{
    diag::{Diagnostic, Fix, codes},
    source::Span,
};

/// How much a closure counts as in the height of an expression: whoever walks it goes through a call, a block and a
/// statement.
pub(super) const WEIGHT: u32 = 8;

/// A closure where nothing takes one.
pub(crate) fn closure_place(head: Span) -> Diagnostic {
    Diagnostic::error(codes::MOV_CLOSURE_PLACE, head, "a closure is no value: it stands only where one is taken")
        .label("nothing takes it here")
        .help(
            "`MAP`, `FILTER`, `REDUCE`, `GROUP` and `SORT` take one; a function of its own is declared with `function`",
        )
}

impl Reader<'_> {
    /// An argument that is a closure. What stands in its block counts as part of the expression: both nest.
    pub(super) fn closure(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let Some((head, params)) = children.take(Rule::closure_head).map(|head| self.closure_head(head)) else {
            return Built::bad(span);
        };
        let Some(body) = children.any() else { return Built::bad(span) };
        let outer = std::mem::take(&mut self.highest);
        let body =
            if body.as_rule() == Rule::block { self.closure_block(body) } else { ClosureBody::Value(self.expr(body)) };
        let height = std::mem::replace(&mut self.highest, outer);
        let height = height.saturating_add(WEIGHT - 1);
        self.built(span, ExprKind::Closure(Box::new(Closure { head, params, body })), height)
    }

    fn closure_head(&mut self, node: Node<'_>) -> (Span, Vec<Name>) {
        let mut children = Children::of(node);
        let Some(params) = children.any() else { return (self.place(0, 0), Vec::new()) };
        let (head, rule) = (self.span(&params), params.as_rule());
        let mut words = Children::of(params);
        let mut names = Vec::new();
        while let Some(word) = words.take(Rule::word) {
            names.push(self.name(&word));
        }
        if rule == Rule::habit_param {
            let right = format!("({})", self.source(head));
            self.habit(head, "the parameters of a closure stand in parentheses", &right);
        }
        (head, names)
    }

    /// `=> {` opens a block, also where a record was meant.
    fn closure_block(&mut self, node: Node<'_>) -> ClosureBody {
        let span = self.span(&node);
        if !self.opens_record(node.as_span().start() + 1) {
            return ClosureBody::Block(self.block(node));
        }
        let mut problem = Diagnostic::error(
            codes::MOV_PARSE_HABIT,
            Span { end: span.start + 1, ..span },
            "`=> {` opens a block; a record stands in parentheses",
        );
        let edits = vec![
            (Span { end: span.start, ..span }, "(".to_owned()),
            (Span { start: span.end, ..span }, ")".to_owned()),
        ];
        problem.fix = Some(Fix { says: "write `=> ({ … })`".to_owned(), edits });
        self.report(problem);
        ClosureBody::Value(Expr { span, kind: ExprKind::Bad })
    }

    /// Whether what follows is `name:` or `...`: no statement begins so.
    fn opens_record(&self, at: usize) -> bool {
        let Some(rest) = self.text.get(at..) else { return false };
        let inside = rest.trim_start();
        if inside.starts_with("...") {
            return true;
        }
        let Some((_, after)) = self.leading_word(at + rest.len() - inside.len()) else { return false };
        self.text.get(after..).is_some_and(|rest| rest.trim_start_matches([' ', '\t']).starts_with(':'))
    }
}
