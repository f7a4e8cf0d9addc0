//! The layout of tests and their lines.

use lf_module::call::ChangeKind;

use super::{Layout, doc::Doc, lists::Row};
use crate::syntax::ast::{Act, Reply, Test, TestLine, TestLineKind};

impl Layout<'_> {
    pub(super) fn test(&mut self, test: &Test) -> Doc {
        let mut parts = vec![Doc::text("test "), Doc::text(self.file.slice(test.name.span)), Doc::text(" ")];
        if let Some(at) = &test.at {
            parts.push(Doc::text(format!("at {} ", self.file.slice(at.span))));
        }
        let start = |line: &TestLine| line.span.start;
        parts.push(self.row(Row::Block, ("{", "}"), &test.lines, test.body.end, start, Self::test_line));
        Doc::Many(parts)
    }

    fn test_line(&mut self, line: &TestLine) -> Doc {
        let mut parts = Vec::new();
        match &line.kind {
            TestLineKind::Given { kind, path, record, before } => {
                parts.push(Doc::text(match kind {
                    ChangeKind::Created => "given ",
                    ChangeKind::Updated => "given updated ",
                    ChangeKind::Deleted => "given deleted ",
                }));
                parts.extend([self.path(path), Doc::text(" "), self.expr(record)]);
                if let Some(before) = before {
                    parts.extend([Doc::text(" before "), self.expr(before)]);
                }
            }
            TestLineKind::After(length) => parts.extend([Doc::text("after "), self.expr(length)]),
            TestLineKind::Answer { path, reply } => {
                parts.extend([Doc::text("answer "), self.path(path), Doc::text(" ")]);
                match reply {
                    Reply::Records(records) => parts.push(self.expr(records)),
                    Reply::Fails(with) => parts.extend([Doc::text("fails "), self.expr(with)]),
                }
            }
            TestLineKind::Write { path, record } => {
                parts.extend([Doc::text("expect write "), self.path(path), Doc::text(" "), self.expr(record)]);
            }
            TestLineKind::Delete { path, record } => {
                parts.extend([Doc::text("expect delete "), self.path(path)]);
                if let Some(record) = record {
                    parts.extend([Doc::text(" "), self.expr(record)]);
                }
            }
            TestLineKind::Tie { join, path, record } => {
                parts.extend([Doc::text(if *join { "expect link " } else { "expect unlink " }), self.path(path)]);
                if let Some(record) = record {
                    parts.extend([Doc::text(" "), self.expr(record)]);
                }
            }
            TestLineKind::None { act, path } => {
                parts.push(Doc::text(match act {
                    Act::Write => "expect no write",
                    Act::Delete => "expect no delete",
                    Act::Link => "expect no link",
                    Act::Unlink => "expect no unlink",
                }));
                if let Some(path) = path {
                    parts.extend([Doc::text(" "), self.path(path)]);
                }
            }
            TestLineKind::Fails(with) => parts.extend([Doc::text("expect fails "), self.expr(with)]),
            TestLineKind::Holds(condition) => parts.extend([Doc::text("expect "), self.expr(condition)]),
            TestLineKind::Bad => parts.push(Doc::text(self.file.slice(line.span))),
        }
        Doc::Many(parts)
    }
}
