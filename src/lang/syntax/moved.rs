//! A declaration at another place of its text: every span in it, and nothing else.

use super::ast::{
    Arg, Block, Call, Closure, ClosureBody, Entry, Expr, ExprKind, Hop, Item, ListItem, Name, Path, Plain, RecordItem,
    Reply, Setting, Statement, StatementKind, TestLine, TestLineKind, TextPart, TypeExpr, TypeKind, Write, WriteTarget,
};
use crate::source::Span;

/// Moves an item that was read at `from` to `to`.
pub(super) fn item(item: &mut Item, from: usize, to: usize) {
    let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    if from != to {
        Way(short(to).wrapping_sub(short(from))).item(item);
    }
}

/// How far, forwards or, wrapping around, backwards.
#[derive(Clone, Copy)]
struct Way(u32);

impl Way {
    fn span(self, span: &mut Span) {
        span.start = span.start.wrapping_add(self.0);
        span.end = span.end.wrapping_add(self.0);
    }

    fn name(self, name: &mut Name) {
        self.span(&mut name.span);
    }

    fn names<'n>(self, names: impl IntoIterator<Item = &'n mut Name>) {
        for name in names {
            self.name(name);
        }
    }

    fn plain<'n>(self, texts: impl IntoIterator<Item = &'n mut Plain>) {
        for text in texts {
            self.span(&mut text.span);
        }
    }

    fn item(self, item: &mut Item) {
        match item {
            Item::Import(item) => {
                self.span(&mut item.span);
                for imported in &mut item.names {
                    self.name(&mut imported.name);
                    self.names(&mut imported.alias);
                }
                self.plain([&mut item.from]);
            }
            Item::Connection(item) => {
                self.span(&mut item.span);
                self.names([&mut item.name, &mut item.module]);
                self.names(&mut item.using);
                self.settings(&mut item.settings);
            }
            Item::Type(item) => {
                self.span(&mut item.span);
                self.name(&mut item.name);
                self.ty(&mut item.ty);
            }
            Item::Function(item) => {
                self.span(&mut item.span);
                self.name(&mut item.name);
                for param in &mut item.params {
                    self.name(&mut param.name);
                    self.ty(&mut param.ty);
                }
                if let Some(ty) = &mut item.returns {
                    self.ty(ty);
                }
                self.block(&mut item.body);
            }
            Item::Listen(item) => {
                self.span(&mut item.span);
                self.plain(&mut item.label);
                self.path(&mut item.path);
                self.settings(&mut item.settings);
                self.name(&mut item.fire);
            }
            Item::Binding(item) => {
                self.span(&mut item.span);
                self.name(&mut item.name);
                self.expr(&mut item.value);
            }
            Item::Test(item) => {
                self.span(&mut item.span);
                self.span(&mut item.body);
                self.plain([&mut item.name]);
                self.plain(&mut item.at);
                for line in &mut item.lines {
                    self.test_line(line);
                }
            }
            Item::Bad { span, name } => {
                self.span(span);
                self.names(name);
            }
        }
    }

    fn settings(self, settings: &mut [Setting]) {
        for setting in settings {
            self.name(&mut setting.name);
            self.expr(&mut setting.value);
        }
    }

    fn test_line(self, line: &mut TestLine) {
        self.span(&mut line.span);
        match &mut line.kind {
            TestLineKind::Given { kind: _, path, record, before } => {
                self.path(path);
                self.expr(record);
                self.exprs(before);
            }
            TestLineKind::After(value) | TestLineKind::Fails(value) | TestLineKind::Holds(value) => self.expr(value),
            TestLineKind::Answer { path, reply } => {
                self.path(path);
                let (Reply::Records(value) | Reply::Fails(value)) = reply;
                self.expr(value);
            }
            TestLineKind::Write { path, record } => {
                self.path(path);
                self.expr(record);
            }
            TestLineKind::Delete { path, record } | TestLineKind::Tie { join: _, path, record } => {
                self.path(path);
                self.exprs(record);
            }
            TestLineKind::None { act: _, path } => {
                if let Some(path) = path {
                    self.path(path);
                }
            }
            TestLineKind::Bad => {}
        }
    }

    fn ty(self, ty: &mut TypeExpr) {
        self.span(&mut ty.span);
        match &mut ty.kind {
            TypeKind::Name(name) => self.name(name),
            TypeKind::Choice(texts) => self.plain(texts),
            TypeKind::List(of) | TypeKind::OrAbsent(of) => self.ty(of),
            TypeKind::Record(fields) => {
                for (name, ty) in fields {
                    self.name(name);
                    self.ty(ty);
                }
            }
            TypeKind::Position(path) => self.path(path),
            TypeKind::Union(types) => {
                for ty in types {
                    self.ty(ty);
                }
            }
            TypeKind::Absent | TypeKind::Bad => {}
        }
    }

    fn path(self, path: &mut Path) {
        self.span(&mut path.span);
        self.name(&mut path.head);
        for hop in &mut path.hops {
            self.hop(hop);
        }
    }

    fn hop(self, hop: &mut Hop) {
        self.span(&mut hop.span);
        self.names(&mut hop.alias);
        self.name(&mut hop.edge);
        self.exprs(&mut hop.filter);
        for key in &mut hop.order {
            self.expr(&mut key.key);
        }
        if let Some(limit) = &mut hop.limit {
            self.span(&mut limit.span);
        }
    }

    fn block(self, block: &mut Block) {
        self.span(&mut block.span);
        for statement in &mut block.statements {
            self.statement(statement);
        }
    }

    fn statement(self, statement: &mut Statement) {
        self.span(&mut statement.span);
        match &mut statement.kind {
            StatementKind::Bind { name, value } => {
                self.name(name);
                self.expr(value);
            }
            StatementKind::Write { bind, write } => {
                self.names(bind);
                self.write(write);
            }
            StatementKind::Delete { target } => self.expr(target),
            StatementKind::Link { join: _, path, to } => {
                self.path(path);
                self.expr(to);
            }
            StatementKind::Each { path, body } => {
                self.path(path);
                self.block(body);
            }
            StatementKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.expr(condition);
                    self.block(body);
                }
                if let Some(body) = otherwise {
                    self.block(body);
                }
            }
            StatementKind::Call(call) => self.expr(call),
            StatementKind::Await { bind, wait } => {
                self.names(bind);
                self.span(&mut wait.word);
                self.span(&mut wait.span);
                self.call(&mut wait.call);
            }
            StatementKind::Return(value) => self.exprs(value),
            StatementKind::Bad { bind } => self.names(bind),
        }
    }

    fn write(self, write: &mut Write) {
        self.span(&mut write.span);
        match &mut write.target {
            WriteTarget::Path(path) => self.path(path),
            WriteTarget::Record(record) => self.expr(record),
        }
        for unique in &mut write.unique {
            self.span(&mut unique.span);
            self.names(&mut unique.fields);
        }
        for entry in &mut write.entries {
            match entry {
                Entry::Set { name, value, absent: _ } | Entry::Fill { name, value } | Entry::Add { name, value } => {
                    self.name(name);
                    self.expr(value);
                }
                Entry::Spread { span, value } => {
                    self.span(span);
                    self.expr(value);
                }
            }
        }
        if let Some(refused) = &mut write.refused {
            self.span(&mut refused.word);
            self.names(&mut refused.why);
            self.block(&mut refused.body);
        }
    }

    fn exprs<'e>(self, exprs: impl IntoIterator<Item = &'e mut Expr>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn expr(self, expr: &mut Expr) {
        self.span(&mut expr.span);
        match &mut expr.kind {
            ExprKind::Number(_) | ExprKind::Duration(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Bad => {}
            ExprKind::Text(parts) => {
                for part in parts {
                    match part {
                        TextPart::Text(_) => {}
                        TextPart::Expr(value) => self.expr(value),
                    }
                }
            }
            ExprKind::Name(name) => self.name(name),
            ExprKind::Field { base, name } => {
                self.expr(base);
                self.name(name);
            }
            ExprKind::Path(path) => self.path(path),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Unary { op: _, op_span, operand } => {
                self.span(op_span);
                self.expr(operand);
            }
            ExprKind::Binary { op: _, op_span, left, right } => {
                self.span(op_span);
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Is { operand, ty } | ExprKind::As { operand, ty } => {
                self.expr(operand);
                self.ty(ty);
            }
            ExprKind::Exists(operand) => self.expr(operand),
            ExprKind::If { arms, otherwise } => {
                for (condition, value) in arms {
                    self.expr(condition);
                    self.expr(value);
                }
                self.expr(otherwise);
            }
            ExprKind::List(items) => {
                for item in items {
                    let (ListItem::Item(value) | ListItem::Spread(value)) = item;
                    self.expr(value);
                }
            }
            ExprKind::Record(items) => {
                for item in items {
                    match item {
                        RecordItem::Field(name, value) => {
                            self.name(name);
                            self.expr(value);
                        }
                        RecordItem::Spread(value) => self.expr(value),
                    }
                }
            }
            ExprKind::Closure(closure) => self.closure(closure),
        }
    }

    fn call(self, call: &mut Call) {
        self.name(&mut call.callee);
        for Arg { name, value } in &mut call.args {
            self.names(name);
            self.expr(value);
        }
    }

    fn closure(self, closure: &mut Closure) {
        self.span(&mut closure.head);
        self.names(&mut closure.params);
        match &mut closure.body {
            ClosureBody::Value(value) => self.expr(value),
            ClosureBody::Block(block) => self.block(block),
        }
    }
}
