//! Pairs to tests and their lines.
#![expect(clippy::wildcard_enum_match_arm, reason = "the grammar's rules are many; each function reads a few of them")]

use lf_module::call::ChangeKind;

use super::{
    ast::{Act, Expr, Item, Reply, Test, TestLine, TestLineKind},
    errors::What,
    pairs::{Children, Node, Reader, Rule},
};
use crate::source::Span;

impl Reader<'_> {
    pub(super) fn test(&mut self, mut children: Children<'_>, span: Span, doc: Option<String>) -> Option<Item> {
        children.take(Rule::kw_test);
        let name = children.take(Rule::text).and_then(|text| self.plain(text))?;
        let mut at = None;
        if children.take(Rule::kw_at).is_some() {
            at = Some(children.take(Rule::text).and_then(|text| self.plain(text))?);
        }
        let node = children.take(Rule::test_lines)?;
        let body = self.span(&node);
        let mut lines = Vec::new();
        let mut slots = Children::of(node);
        while let Some(slot) = slots.take(Rule::test_slot) {
            lines.push(self.test_slot(slot));
        }
        Some(Item::Test(Test { span, doc, name, at, body, lines }))
    }

    fn test_slot(&mut self, node: Node<'_>) -> TestLine {
        let whole = node.as_span();
        let span = self.span(&node);
        let mut children = Children::of(node);
        let line = children.any().filter(|line| line.as_rule() != Rule::leftover);
        let before = self.problems.len();
        let kind = line.and_then(|line| {
            let kind = self.test_line(line);
            // What was read before a leftover was a guess, and so were its problems.
            if children.take(Rule::leftover).is_none() {
                return Some(kind.unwrap_or(TestLineKind::Bad));
            }
            self.problems.truncate(before);
            None
        });
        let kind = kind.unwrap_or_else(|| {
            self.misread(What::TestLine, whole.start(), whole.end());
            TestLineKind::Bad
        });
        TestLine { span, kind }
    }

    fn test_line(&mut self, node: Node<'_>) -> Option<TestLineKind> {
        let rule = node.as_rule();
        let mut children = Children::of(node);
        children.any();
        match rule {
            Rule::given => {
                let kind = match children.take(Rule::given_kind).map(|kind| kind.as_str().trim_end().to_owned()) {
                    Some(kind) if kind == "updated" => ChangeKind::Updated,
                    Some(kind) if kind == "deleted" => ChangeKind::Deleted,
                    Some(_) | None => ChangeKind::Created,
                };
                let path = children.take(Rule::path).and_then(|path| self.path(path))?;
                let record = self.whole_record(&mut children)?;
                let before = children.take(Rule::kw_before).and_then(|_| self.whole_record(&mut children));
                Some(TestLineKind::Given { kind, path, record, before })
            }
            Rule::after => children.take(Rule::expr).map(|expr| TestLineKind::After(self.expr(expr))),
            Rule::answer => {
                let path = children.take(Rule::path).and_then(|path| self.path(path))?;
                let reply = match children.take(Rule::fails) {
                    Some(fails) => Reply::Fails(self.failing(fails)?),
                    None => Reply::Records(children.any().map(|records| self.lone(records))?),
                };
                Some(TestLineKind::Answer { path, reply })
            }
            _ => self.expectation(children.any()?),
        }
    }

    fn expectation(&mut self, node: Node<'_>) -> Option<TestLineKind> {
        let rule = node.as_rule();
        if rule == Rule::expr {
            return Some(TestLineKind::Holds(self.expr(node)));
        }
        if rule == Rule::fails {
            return self.failing(node).map(TestLineKind::Fails);
        }
        let mut children = Children::of(node);
        children.take(Rule::kw_no);
        let act = children.any().map(|word| match (word.as_rule(), word.as_str()) {
            (Rule::kw_delete, _) => Act::Delete,
            (Rule::kw_link, "link") => Act::Link,
            (Rule::kw_link, _) => Act::Unlink,
            _ => Act::Write,
        })?;
        let path = match children.take(Rule::path) {
            Some(path) => Some(self.path(path)?),
            None => None,
        };
        let record = self.whole_record(&mut children);
        match rule {
            Rule::expect_none => Some(TestLineKind::None { act, path }),
            Rule::expect_write => Some(TestLineKind::Write { path: path?, record: record? }),
            Rule::expect_link => Some(TestLineKind::Tie { join: act == Act::Link, path: path?, record }),
            _ => Some(TestLineKind::Delete { path: path?, record }),
        }
    }

    fn failing(&mut self, node: Node<'_>) -> Option<Expr> {
        Children::of(node).find(Rule::expr).map(|expr| self.expr(expr))
    }

    fn whole_record(&mut self, children: &mut Children<'_>) -> Option<Expr> {
        children.take(Rule::record).map(|record| self.lone(record))
    }
}
