//! Which names a declaration mentions, and which it binds. Looks nothing up.

use crate::syntax::ast::{
    Block, Closure, ClosureBody, Entry, Expr, ExprKind, Hop, ListItem, Name, Path, RecordItem, Statement,
    StatementKind, TextPart, TypeExpr, TypeKind, WriteTarget,
};

/// What a walk over a tree found, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Uses<'a> {
    /// Names that stand for something declared elsewhere, perhaps: values, callees, path heads, types.
    pub(super) names: Vec<&'a Name>,
    /// Names bound inside: bindings and aliases.
    pub(super) binds: Vec<&'a Name>,
    /// A `return` gives a value.
    pub(super) gives: bool,
    /// A statement could not be read, and what it would have bound is unknown.
    pub(super) damaged: bool,
}

impl<'a> Uses<'a> {
    pub(super) fn block(&mut self, block: &'a Block) {
        for statement in &block.statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Bind { name, value } => {
                self.binds.push(name);
                self.expr(value);
            }
            StatementKind::Write { bind, write } => {
                self.binds.extend(bind);
                match &write.target {
                    WriteTarget::Path(path) => self.path(path),
                    WriteTarget::Record(target) => self.expr(target),
                }
                for entry in &write.entries {
                    let (Entry::Set { value, name: _, absent: _ }
                    | Entry::Fill { value, name: _ }
                    | Entry::Add { value, name: _ }
                    | Entry::Spread { value, span: _ }) = entry;
                    self.expr(value);
                }
                if let Some(refused) = &write.refused {
                    self.binds.extend(&refused.why);
                    self.block(&refused.body);
                }
            }
            StatementKind::Delete { target } => self.expr(target),
            StatementKind::Link { path, to, join: _ } => {
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
                self.binds.extend(bind);
                for arg in &wait.call.args {
                    self.expr(&arg.value);
                }
            }
            StatementKind::Return(value) => {
                if let Some(value) = value {
                    self.gives = true;
                    self.expr(value);
                }
            }
            StatementKind::Bad { bind } => match bind {
                Some(name) => self.binds.push(name),
                None => self.damaged = true,
            },
        }
    }

    pub(super) fn path(&mut self, path: &'a Path) {
        self.names.push(&path.head);
        for hop in &path.hops {
            self.hop(hop);
        }
    }

    fn hop(&mut self, hop: &'a Hop) {
        self.binds.extend(&hop.alias);
        if let Some(filter) = &hop.filter {
            self.expr(filter);
        }
        for key in &hop.order {
            self.expr(&key.key);
        }
    }

    pub(super) fn ty(&mut self, ty: &'a TypeExpr) {
        match &ty.kind {
            TypeKind::Name(name) => self.names.push(name),
            TypeKind::Choice(_) | TypeKind::Absent | TypeKind::Bad => {}
            TypeKind::List(inner) | TypeKind::OrAbsent(inner) => self.ty(inner),
            TypeKind::Record(fields) => {
                for (_, ty) in fields {
                    self.ty(ty);
                }
            }
            TypeKind::Position(path) => self.path(path),
            TypeKind::Union(members) => {
                for member in members {
                    self.ty(member);
                }
            }
        }
    }

    pub(super) fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Text(parts) => {
                for part in parts {
                    if let TextPart::Expr(inner) = part {
                        self.expr(inner);
                    }
                }
            }
            ExprKind::Number(_) | ExprKind::Duration(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Bad => {}
            ExprKind::Name(name) => self.names.push(name),
            ExprKind::Field { base, name: _ } => self.expr(base),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Call(call) => {
                self.names.push(&call.callee);
                for arg in &call.args {
                    self.expr(&arg.value);
                }
            }
            ExprKind::Unary { operand, op: _, op_span: _ } => self.expr(operand),
            ExprKind::Binary { left, right, op: _, op_span: _ } => {
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
                    let (RecordItem::Field(_, value) | RecordItem::Spread(value)) = item;
                    self.expr(value);
                }
            }
            ExprKind::Closure(closure) => self.closure(closure),
        }
    }

    /// A `return` in it leaves the closure, not the function.
    fn closure(&mut self, closure: &'a Closure) {
        let gives = self.gives;
        self.binds.extend(&closure.params);
        match &closure.body {
            ClosureBody::Value(value) => self.expr(value),
            ClosureBody::Block(block) => self.block(block),
        }
        self.gives = gives;
    }
}
