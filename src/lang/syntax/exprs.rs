//! Pairs to expressions, and the ways in which other languages write them.
#![expect(clippy::wildcard_enum_match_arm, reason = "the grammar's rules are many; each function reads a few of them")]

use super::{
    ast::{Arg, BinaryOp, Call, Expr, ExprKind, ListItem, Name, RecordItem, UnaryOp},
    closures::closure_place,
    operators::{Built, Operator, Row},
    pairs::{Children, Node, Reader, Rule},
};
use crate::{
    diag::{Diagnostic, Fix, codes},
    source::Span,
};

impl Reader<'_> {
    pub(super) fn expr(&mut self, node: Node<'_>) -> Expr {
        self.sub(node).expr
    }

    /// An expression within another: its height counts.
    pub(super) fn sub(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut row = Row::new();
        let mut ternaries = Vec::new();
        let mut children = Children::of(node);
        let mut after_operand = false;
        while let Some(child) = children.any() {
            let child_span = self.span(&child);
            match child.as_rule() {
                Rule::term => {
                    row.operand(self.term(child));
                    after_operand = true;
                }
                Rule::is_type => {
                    if let Some(operand) = row.take_compared(self, child_span) {
                        let tested = self.is_type(child, operand);
                        row.give_compared(tested);
                    }
                }
                Rule::habit_ternary => ternaries.push(child),
                rule => {
                    let operator = if after_operand { self.infix(rule, &child) } else { self.prefix(rule, &child) };
                    after_operand = false;
                    row.operator(self, operator, child_span);
                }
            }
        }
        let built = row.finish(self, span);
        if ternaries.is_empty() { built } else { self.ternary(built, ternaries, span) }
    }

    fn prefix(&mut self, rule: Rule, node: &Node<'_>) -> Operator {
        if rule == Rule::op_minus {
            return Operator::Unary(UnaryOp::Minus);
        }
        let written = node.as_str().trim_end();
        let span = self.span(node);
        if written == "!" {
            self.habit(span, "`!` is written `NOT`", "NOT ");
        } else {
            self.capitals(written, span);
        }
        Operator::Unary(UnaryOp::Not)
    }

    fn infix(&mut self, rule: Rule, node: &Node<'_>) -> Operator {
        let written = node.as_str().trim_end();
        let span = self.span(node);
        match written {
            "&&" => self.habit(span, "`&&` is written `AND`", "AND"),
            "||" => self.habit(span, "`||` is written `OR`", "OR"),
            "===" => self.habit(span, "`===` is written `==`", "=="),
            "!==" => self.habit(span, "`!==` is written `!=`", "!="),
            "<>" => self.habit(span, "`<>` is written `!=`", "!="),
            "=" => self.habit(span, "a comparison is written `==`; `=` binds a name", "=="),
            word if word.starts_with(|letter: char| letter.is_ascii_alphabetic()) => self.capitals(word, span),
            _ => {}
        }
        Operator::Binary(match rule {
            Rule::op_or => BinaryOp::Or,
            Rule::op_and => BinaryOp::And,
            Rule::op_equal => BinaryOp::Equal,
            Rule::op_unequal => BinaryOp::NotEqual,
            Rule::op_less_equal => BinaryOp::LessEqual,
            Rule::op_less => BinaryOp::Less,
            Rule::op_greater_equal => BinaryOp::GreaterEqual,
            Rule::op_greater => BinaryOp::Greater,
            Rule::op_contains => BinaryOp::Contains,
            Rule::op_within => BinaryOp::Within,
            Rule::op_in => BinaryOp::In,
            Rule::op_add => BinaryOp::Add,
            Rule::op_minus => BinaryOp::Subtract,
            Rule::op_multiply => BinaryOp::Multiply,
            Rule::op_divide => BinaryOp::Divide,
            Rule::op_remainder => BinaryOp::Remainder,
            _ => return Operator::Fallback,
        })
    }

    /// Another language's spelling, read as what it means.
    pub(super) fn habit(&mut self, span: Span, headline: impl Into<String>, right: &str) {
        let problem = Diagnostic::error(codes::MOV_PARSE_HABIT, span, headline).fix(
            format!("write `{}`", right.trim()),
            span,
            right,
        );
        self.report(problem);
    }

    fn is_type(&mut self, node: Node<'_>, operand: Built) -> Built {
        let test_span = self.span(&node);
        let span = operand.expr.span.to(test_span);
        let mut children = Children::of(node);
        let word = children.take(Rule::is_word).map(|word| (word.as_str().to_owned(), self.span(&word)));
        if let Some(null) = children.take(Rule::habit_is_null) {
            let not = Children::of(null).take(Rule::is_not).is_some();
            let (op, right) = if not { (BinaryOp::NotEqual, "!= null") } else { (BinaryOp::Equal, "== null") };
            let headline = format!("`{}` is written `{right}`", self.source(test_span));
            self.habit(test_span, headline, right);
            let null = Box::new(Expr { span: test_span, kind: ExprKind::Null });
            let kind = ExprKind::Binary { op, op_span: test_span, left: Box::new(operand.expr), right: null };
            return self.built(span, kind, operand.height);
        }
        if let Some((written, word_span)) = word {
            self.capitals(&written, word_span);
        }
        let Some(ty) = children.take(Rule::type_ref).map(|ty| self.type_ref(ty)) else { return Built::bad(span) };
        self.built(span, ExprKind::Is { operand: Box::new(operand.expr), ty }, operand.height)
    }

    /// `c ? a : d ? b : e` is `IF c THEN a ELSE IF d THEN b ELSE e END`.
    fn ternary(&mut self, condition: Built, nodes: Vec<Node<'_>>, span: Span) -> Built {
        let mut height = condition.height;
        let mut pending = condition.expr;
        let mut arms = Vec::new();
        let mut edits = vec![(Span { end: span.start, ..span }, "IF ".to_owned())];
        let mut first = span;
        let count = nodes.len();
        for (place, node) in nodes.into_iter().enumerate() {
            let own = self.span(&node);
            let question = Span { end: own.start + 1, ..own };
            if place == 0 {
                first = question;
            }
            let mut children = Children::of(node);
            let (Some(yes), Some(no)) = (children.take(Rule::flat), children.take(Rule::flat)) else {
                return Built::bad(span);
            };
            let (yes, no) = (self.sub(yes), self.sub(no));
            height = height.max(yes.height).max(no.height);
            let between = Span { start: yes.expr.span.end, end: no.expr.span.start, ..span };
            edits.push((question, "THEN".to_owned()));
            edits.push((between, if place + 1 < count { " ELSE IF ".to_owned() } else { " ELSE ".to_owned() }));
            arms.push((std::mem::replace(&mut pending, no.expr), yes.expr));
        }
        edits.push((Span { start: span.end, ..span }, " END".to_owned()));
        let mut problem =
            Diagnostic::error(codes::MOV_PARSE_HABIT, first, "`c ? a : b` is written `IF c THEN a ELSE b END`");
        problem.fix = Some(Fix { says: "write it as `IF … THEN … ELSE … END`".to_owned(), edits });
        self.report(problem);
        self.built(span, ExprKind::If { arms, otherwise: Box::new(pending) }, height)
    }

    /// A primary and what is attached to it.
    pub(super) fn term(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let exists = children.take(Rule::exists).map(|word| (word.as_str().to_owned(), self.span(&word)));
        let Some(primary) = children.any() else { return Built::bad(span) };
        let mut built = self.primary(primary);
        while let Some(postfix) = children.any() {
            built = self.postfix(built, postfix);
        }
        if let Some((written, word_span)) = exists {
            self.capitals(&written, word_span);
            return self.built(span, ExprKind::Exists(Box::new(built.expr)), built.height);
        }
        built
    }

    fn postfix(&mut self, base: Built, node: Node<'_>) -> Built {
        let own = self.span(&node);
        let span = base.expr.span.to(own);
        let rule = node.as_rule();
        let mut children = Children::of(node);
        let kind = match rule {
            Rule::member | Rule::habit_safe => {
                if rule == Rule::habit_safe {
                    let sign = Span { end: own.start + 2, ..own };
                    let problem = Diagnostic::error(
                        codes::MOV_PARSE_HABIT,
                        sign,
                        "`?.` is written `.`, once the value is known to be there",
                    )
                    .help("test it before with `x != null`, or give a fallback with `COALESCE`")
                    .fix("write `.`", sign, ".");
                    self.report(problem);
                }
                let Some(name) = children.take(Rule::word).map(|word| self.name(&word)) else { return base };
                ExprKind::Field { base: Box::new(base.expr), name }
            }
            Rule::habit_index => {
                let Some(index) = children.take(Rule::expr).map(|index| self.sub(index)) else { return base };
                return self.index(base, index, span, own);
            }
            _ => {
                self.upper(&mut children, Rule::as_word);
                let Some(ty) = children.take(Rule::type_ref).map(|ty| self.type_ref(ty)) else { return base };
                ExprKind::As { operand: Box::new(base.expr), ty }
            }
        };
        self.built(span, kind, base.height)
    }

    /// `list[0]` is `AT(list, 0)`.
    fn index(&mut self, base: Built, index: Built, span: Span, own: Span) -> Built {
        let written = format!("AT({}, {})", self.source(base.expr.span), self.source(index.expr.span));
        let sign = Span { end: own.start + 1, ..own };
        let mut problem =
            Diagnostic::error(codes::MOV_PARSE_HABIT, own, "the member of a list at a place is `AT(list, place)`");
        let edits = vec![
            (Span { end: span.start, ..span }, "AT(".to_owned()),
            (sign, ", ".to_owned()),
            (Span { start: own.end.saturating_sub(1), ..own }, ")".to_owned()),
        ];
        problem.fix = Some(Fix { says: format!("write `{written}`"), edits });
        self.report(problem);
        let height = base.height.max(index.height);
        let args = [base.expr, index.expr].into_iter().map(|value| Arg { name: None, value }).collect();
        self.built(span, ExprKind::Call(Call { callee: Name { text: "AT".into(), span: own }, args }), height)
    }

    /// A record or a list that stands by itself.
    pub(super) fn lone(&mut self, node: Node<'_>) -> Expr {
        self.primary(node).expr
    }

    fn primary(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        match node.as_rule() {
            Rule::text => self.text(node),
            Rule::number => self.number(&node),
            Rule::literal => {
                let kind = match node.as_str().trim_end() {
                    "true" => ExprKind::Bool(true),
                    "false" => ExprKind::Bool(false),
                    _ => ExprKind::Null,
                };
                self.built(span, kind, 0)
            }
            Rule::list => self.list(node),
            Rule::record => self.record(node),
            Rule::group => match Children::of(node).take(Rule::expr) {
                Some(inner) => self.sub(inner),
                None => Built::bad(span),
            },
            Rule::lone_closure => {
                let head = Children::of(node).any().map_or(span, |head| self.span(&head));
                self.report(closure_place(head));
                Built::bad(span)
            }
            Rule::lone_await => self.lone_await(&node),
            Rule::when => self.when(node),
            _ => self.named(node),
        }
    }

    /// A name, a call, or a path.
    fn named(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let Some(name) = children.take(Rule::name).map(|name| self.name(&name)) else { return Built::bad(span) };
        if let Some(arguments) = children.take(Rule::arguments) {
            let (args, height) = self.arguments(arguments);
            return self.built(span, ExprKind::Call(Call { callee: name, args }), height);
        }
        if let Some(arrow) = children.take(Rule::lone_arrow).and_then(|arrow| Children::of(arrow).any()) {
            self.report(closure_place(name.span.to(self.span(&arrow))));
            return Built::bad(span);
        }
        let (path, height) = self.path_from(name, children, span);
        if path.hops.is_empty() {
            return self.built(span, ExprKind::Name(path.head), 0);
        }
        self.built(span, ExprKind::Path(path), height)
    }

    fn arguments(&mut self, node: Node<'_>) -> (Vec<Arg>, u32) {
        let mut children = Children::of(node);
        let mut args = Vec::new();
        let mut height = 0;
        while let Some(argument) = children.take(Rule::argument) {
            let mut parts = Children::of(argument);
            let name = parts.take(Rule::word).map(|word| self.name(&word));
            self.colon(&mut parts, "a named argument");
            let value = match parts.any() {
                Some(node) if node.as_rule() == Rule::closure => self.closure(node),
                Some(node) => self.sub(node),
                None => continue,
            };
            height = height.max(value.height);
            args.push(Arg { name, value: value.expr });
        }
        (args, height)
    }

    /// `:`, or `=` where `:` was meant.
    pub(super) fn colon(&mut self, children: &mut Children<'_>, what: &str) {
        if let Some(sign) = children.take(Rule::colon)
            && sign.as_str().trim_end() == "="
        {
            let span = self.span(&sign);
            self.habit(span, format!("{what} is written with `:`, not with `=`"), ":");
        }
    }

    fn list(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let mut items = Vec::new();
        let mut height = 0;
        while let Some(item) = children.take(Rule::list_item) {
            let mut parts = Children::of(item);
            if let Some(spread) = parts.take(Rule::spread) {
                let Some(value) = Children::of(spread).take(Rule::expr).map(|expr| self.sub(expr)) else { continue };
                height = height.max(value.height);
                items.push(ListItem::Spread(value.expr));
            } else if let Some(value) = parts.take(Rule::expr).map(|expr| self.sub(expr)) {
                height = height.max(value.height);
                items.push(ListItem::Item(value.expr));
            }
        }
        self.built(span, ExprKind::List(items), height)
    }

    fn record(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let mut items = Vec::new();
        let mut height = 0;
        while let Some(item) = children.take(Rule::record_item) {
            let mut parts = Children::of(item);
            if let Some(spread) = parts.take(Rule::spread) {
                let Some(value) = Children::of(spread).take(Rule::expr).map(|expr| self.sub(expr)) else { continue };
                height = height.max(value.height);
                items.push(RecordItem::Spread(value.expr));
                continue;
            }
            let Some(name) = parts.take(Rule::word).map(|word| self.name(&word)) else { continue };
            self.colon(&mut parts, "a field");
            let Some(value) = parts.take(Rule::expr).map(|expr| self.sub(expr)) else { continue };
            height = height.max(value.height);
            items.push(RecordItem::Field(name, value.expr));
        }
        self.built(span, ExprKind::Record(items), height)
    }

    /// `IF c THEN a ELSE IF d THEN b ELSE c END`
    fn when(&mut self, node: Node<'_>) -> Built {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let mut values = Vec::new();
        let mut height = 0;
        let mut small = Vec::new();
        while let Some(child) = children.any() {
            match child.as_rule() {
                Rule::expr => {
                    let value = self.sub(child);
                    height = height.max(value.height);
                    values.push(value.expr);
                }
                Rule::elif_words => {
                    let mut words = Children::of(child);
                    while let Some(word) = words.any() {
                        small.push(self.span(&word));
                    }
                }
                _ => small.push(self.span(&child)),
            }
        }
        small.retain(|word| self.source(*word).contains(|letter: char| letter.is_ascii_lowercase()));
        if let Some(first) = small.first().copied() {
            let headline = "the words of a choice are written in capitals: `IF … THEN … ELSE … END`";
            let mut problem = Diagnostic::error(codes::MOV_PARSE_HABIT, first, headline);
            let edits = small.iter().map(|word| (*word, self.source(*word).to_ascii_uppercase())).collect();
            problem.fix = Some(Fix { says: "write them in capitals".to_owned(), edits });
            self.report(problem);
        }
        let Some(otherwise) = values.pop() else { return Built::bad(span) };
        let mut arms = Vec::new();
        let mut rest = values.into_iter();
        while let (Some(condition), Some(value)) = (rest.next(), rest.next()) {
            arms.push((condition, value));
        }
        self.built(span, ExprKind::If { arms, otherwise: Box::new(otherwise) }, height)
    }
}
