//! Pairs to waits: `await` and the form behind it. Which forms there are is the checker's.

use super::{
    ast::{Arg, Await, Call, Expr, ExprKind, ListItem, Name, StatementKind},
    operators::Built,
    pairs::{Children, Node, Reader, Rule},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
};

/// The forms, as help shows them.
pub(crate) const FORMS: &str = "`await sleep(2h)`, `await FIRST(PATH, 2d)`, `await until(condition, every: 5m, most: \
                                2d)`, `await parallel([() => …])` or `await race([() => …])`";

impl Reader<'_> {
    /// `await FORM(…)`, as a statement or the whole right side of a binding.
    pub(super) fn waiting(&mut self, node: Node<'_>, bind: Option<Name>) -> Option<StatementKind> {
        let whole = self.span(&node);
        let word = Span { end: whole.start + 5, ..whole };
        let Some(form) = Children::of(node).find(Rule::wait_form) else {
            let problem =
                Diagnostic::error(codes::MOV_AWAIT_FORM, word, "`await` is followed by what is waited for").help(FORMS);
            self.report(problem);
            return Some(StatementKind::Bad { bind });
        };
        let built = self.wait_form(form);
        let span = built.expr.span;
        Some(if let ExprKind::Call(call) = built.expr.kind {
            StatementKind::Await { bind, wait: Await { word, span, call } }
        } else {
            StatementKind::Bad { bind }
        })
    }

    fn wait_form(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let Some(callee) = children.take(Rule::word).map(|word| self.name(&word)) else { return Built::bad(span) };
        let (mut args, mut height) = (Vec::new(), 0);
        while let Some(argument) = children.take(Rule::wait_argument) {
            let mut parts = Children::of(argument);
            let name = parts.take(Rule::word).map(|word| self.name(&word));
            self.colon(&mut parts, "a named argument");
            let Some(value) = parts.any().map(|node| self.wait_argument(node)) else { continue };
            height = height.max(value.height);
            args.push(Arg { name, value: value.expr });
        }
        self.built(span, ExprKind::Call(Call { callee, args }), height)
    }

    fn wait_argument(&mut self, node: Node<'_>) -> Built {
        if node.as_rule() == Rule::closure {
            return self.closure(node);
        }
        if node.as_rule() != Rule::arms {
            return self.sub(node);
        }
        let span = self.span(&node);
        let mut children = Children::of(node);
        let (mut items, mut height) = (Vec::new(), 0);
        while let Some(arm) = children.take(Rule::arm) {
            let Some(arm) = Children::of(arm).any().map(|node| self.wait_argument(node)) else { continue };
            height = height.max(arm.height);
            items.push(ListItem::Item(arm.expr));
        }
        self.built(span, ExprKind::List(items), height)
    }

    /// `() => await …` as a block: what the arm gives is bound first.
    fn arm_block(&self, node: &Node<'_>) -> Option<String> {
        let at = node.as_span();
        let (before, behind) = (self.text.get(..at.start())?, self.text.get(at.end()..)?);
        let behind = behind.trim_start_matches([' ', '\t']);
        if !before.trim_end().ends_with("=>") || !(behind.is_empty() || behind.starts_with([',', ']', ')', '\n', '\r']))
        {
            return None;
        }
        let written = node.as_str().trim_end();
        let form = written.strip_prefix("await")?.trim_start();
        if form.starts_with("sleep") {
            return Some(format!("{{ {written} }}"));
        }
        if !["FIRST", "until"].iter().any(|known| form.starts_with(known)) {
            return None;
        }
        let mut name = "came".to_owned();
        while self.file.text.contains(&name) {
            name.push('_');
        }
        Some(format!("{{ {name} = {written}; return {name} }}"))
    }

    /// An `await` inside an expression: a wait is no value.
    pub(super) fn lone_await(&mut self, node: &Node<'_>) -> Built {
        let span = self.span(node);
        let word = Span { end: span.start + 5, ..span };
        let problem = Diagnostic::error(
            codes::MOV_AWAIT_PLACE,
            word,
            "`await` begins a statement, or is the whole right side of a binding",
        )
        .label("stands inside something else");
        self.report(match self.arm_block(node) {
            Some(block) => problem.fix(format!("write `{block}`"), span, block),
            None => problem.help("bind it on a line before, `x = await …`, and use `x` here"),
        });
        Built { expr: Expr { span, kind: ExprKind::Bad }, height: 0 }
    }
}
