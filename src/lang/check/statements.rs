//! Statements and blocks: what is bound, what runs, and whether control gets past it.

use super::{
    body::{Body, Bound, Return},
    builtins,
    narrow::{Chain, common, proof},
    typed::{self, Statement, StatementKind},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
    syntax::ast,
    types::{Kind, Ty, relation},
};

/// A checked block.
pub(super) struct Checked {
    /// `None` if a statement of it failed.
    pub(super) block: Option<typed::Block>,
    /// Control does not get past its end.
    pub(super) ends: bool,
}

impl Body<'_, '_> {
    /// Checks a block in a scope of its own.
    pub(super) fn block(&mut self, block: &ast::Block) -> Checked {
        let (scope, mark) = (self.open(), self.mark());
        let checked = self.statements(scope, block);
        self.forget(mark);
        self.close(scope);
        checked
    }

    /// Checks the statements of a block in the scope that began at `scope`.
    pub(super) fn statements(&mut self, scope: usize, block: &ast::Block) -> Checked {
        let mut typed = Some(Vec::with_capacity(block.statements.len()));
        let mut ended: Option<Span> = None;
        for statement in &block.statements {
            if let Some(end) = ended.take() {
                self.report(
                    Diagnostic::warning(codes::MOV_UNREACHABLE, statement.span, "this is never reached")
                        .also(end, "control does not get past this")
                        .help("leave it out, or move it up"),
                );
                // Once said, the rest of the block is checked as if it were reached.
                let rest = self.statement(scope, statement);
                keep(&mut typed, rest.0);
                return Checked { block: self.rest(scope, block, statement, typed), ends: true };
            }
            let (checked, ends) = self.statement(scope, statement);
            keep(&mut typed, checked);
            if ends {
                ended = Some(statement.span);
            }
        }
        Checked { block: typed, ends: ended.is_some() }
    }

    fn rest(
        &mut self,
        scope: usize,
        block: &ast::Block,
        after: &ast::Statement,
        mut typed: Option<typed::Block>,
    ) -> Option<typed::Block> {
        for statement in block.statements.iter().filter(|statement| statement.span.start > after.span.start) {
            let (checked, _) = self.statement(scope, statement);
            keep(&mut typed, checked);
        }
        typed
    }

    /// One statement, and whether control does not get past it.
    fn statement(&mut self, scope: usize, statement: &ast::Statement) -> (Option<Statement>, bool) {
        let span = statement.span;
        let (kind, ends) = match &statement.kind {
            ast::StatementKind::Bind { name, value } => {
                self.binding = Some(name.text.clone());
                let value = self.expr(value);
                self.binding = None;
                let ty = value.as_ref().map(|value| value.ty.clone());
                let local = self.bind(scope, name, Bound::Value, ty);
                (value.map(|value| StatementKind::Bind { local, value }), false)
            }
            ast::StatementKind::Write { bind, write } => {
                self.may_write(Span { end: write.span.start + 5, ..write.span });
                self.binding = bind.as_ref().map(|name| name.text.clone());
                let checked = self.write(write);
                self.binding = None;
                let open = self.unbound.len();
                self.unbound.extend(bind.iter().map(|name| name.text.clone()));
                let refused = write.refused.as_ref().map(|refused| self.refused(refused));
                self.unbound.truncate(open);
                // Past the block, nothing may have been written.
                let unsure = refused.as_ref().is_some_and(|(_, ends)| !ends);
                let bind = bind.as_ref().map(|name| {
                    let ty = checked.as_ref().map(|write| Ty::Handle(write.on.clone()));
                    let ty = ty.map(|ty| if unsure { ty.optional() } else { ty });
                    let local = self.bind(scope, name, Bound::Handle, ty);
                    if let Some(write) = checked.as_ref().filter(|_| !unsure) {
                        self.know_written(local, write);
                    }
                    local
                });
                let refused = match refused {
                    None => Some(None),
                    Some((refused, _)) => refused.map(Some),
                };
                let kind = checked.zip(refused).map(|(write, refused)| StatementKind::Write { bind, write, refused });
                (kind, false)
            }
            ast::StatementKind::Delete { target } => {
                self.may_write(Span { end: span.start + 6, ..span });
                (self.delete(target), false)
            }
            ast::StatementKind::Link { join, path, to } => {
                let word = if *join { 4 } else { 6 };
                self.may_write(Span { end: span.start + word, ..span });
                (self.link(*join, path, to), false)
            }
            ast::StatementKind::Each { path, body } => (self.each(path, body), false),
            ast::StatementKind::If { arms, otherwise } => {
                let (kind, ends) = self.if_statement(arms, otherwise.as_ref());
                (kind, ends)
            }
            ast::StatementKind::Call(call) => self.call_line(call),
            ast::StatementKind::Await { bind, wait } => (self.await_line(scope, bind.as_ref(), wait), false),
            ast::StatementKind::Return(value) => (self.return_line(span, value.as_ref()), true),
            ast::StatementKind::Bad { bind } => {
                if let Some(name) = bind {
                    self.bind(scope, name, Bound::Value, None);
                }
                (None, false)
            }
        };
        (kind.map(|kind| Statement { span, kind }), ends)
    }

    /// The way of a refused write, and whether control does not get past it.
    fn refused(&mut self, refused: &ast::Refused) -> (Option<typed::Refused>, bool) {
        let (scope, mark) = (self.open(), self.mark());
        let ty = Ty::Record(vec![("text".into(), Ty::Text), ("status".into(), Ty::Number.optional())]);
        let why = match &refused.why {
            Some(name) => self.bind(scope, name, Bound::Why, Some(ty)),
            None => self.anonymous(Some(ty)),
        };
        let checked = self.statements(scope, &refused.body);
        self.forget(mark);
        self.close(scope);
        (checked.block.map(|body| typed::Refused { why, body }), checked.ends)
    }

    /// The fields that a write set are there on its handle, where the type alone could not say so.
    fn know_written(&mut self, local: typed::LocalId, write: &typed::Write) {
        let Some(shape) = self.cx.graph.shape(&write.on) else { return };
        let facts: Vec<Chain> = write
            .entries
            .iter()
            .filter(|entry| entry.mode == typed::EntryMode::Set)
            .filter(|entry| shape.field(&entry.field).is_some_and(|field| !field.readable))
            .map(|entry| Chain::field(local, &entry.field))
            .collect();
        self.know(&facts);
    }

    fn each(&mut self, path: &ast::Path, body: &ast::Block) -> Option<StatementKind> {
        let (scope, mark) = (self.open(), self.mark());
        let path = self.walk(scope, path);
        let checked = self.statements(scope, body);
        self.forget(mark);
        self.close(scope);
        Some(StatementKind::Each { path: path?, body: checked.block? })
    }

    fn if_statement(
        &mut self,
        arms: &[(ast::Expr, ast::Block)],
        otherwise: Option<&ast::Block>,
    ) -> (Option<StatementKind>, bool) {
        let start = self.mark();
        let mut typed = Some(Vec::with_capacity(arms.len()));
        // What is known on each way that gets past this statement.
        let mut past: Option<Vec<Chain>> = None;
        let mut known: Vec<Chain> = Vec::new();
        for (condition, block) in arms {
            let condition = self.condition(condition);
            let proof = condition.as_ref().map(proof).unwrap_or_default();
            let before = self.mark();
            self.know(&proof.yes);
            let checked = self.block(block);
            self.forget(before);
            if !checked.ends {
                let way = [known.as_slice(), &proof.yes].concat();
                past = Some(past.map_or_else(|| way.clone(), |past| common(&past, &way)));
            }
            self.know(&proof.no);
            known.extend(proof.no);
            keep(&mut typed, condition.zip(checked.block));
        }
        let mut last = Some(None);
        let ends_last = otherwise.is_some_and(|block| {
            let checked = self.block(block);
            last = checked.block.map(Some);
            checked.ends
        });
        if !ends_last {
            past = Some(past.map_or_else(|| known.clone(), |past| common(&past, &known)));
        }
        self.forget(start);
        let ends = past.is_none();
        self.know(&past.unwrap_or_default());
        let kind = typed.zip(last).map(|(arms, otherwise)| StatementKind::If { arms, otherwise });
        (kind, ends)
    }

    fn call_line(&mut self, call: &ast::Expr) -> (Option<StatementKind>, bool) {
        let ast::ExprKind::Call(inner) = &call.kind else {
            let checked = self.expr(call);
            if checked.is_some() {
                self.report(
                    Diagnostic::error(codes::MOV_NO_EFFECT, call.span, "this value is not used")
                        .label("does nothing here")
                        .help("bind it to a name, or leave it out"),
                );
            }
            return (None, false);
        };
        if inner.callee.text != builtins::ERROR {
            return (self.call_statement(call.span, inner).map(StatementKind::Do), false);
        }
        let why = match inner.args.as_slice() {
            [ast::Arg { name: None, value }] => self.expr(value),
            _ => {
                self.report(
                    Diagnostic::error(
                        codes::MOV_BUILTIN_ARGUMENTS,
                        inner.callee.span,
                        "`ERROR` takes one text, the reason",
                    )
                    .help("such as `ERROR(\"no owner\")`"),
                );
                None
            }
        };
        let why = why.and_then(|why| {
            if why.ty.kind() != Kind::Text {
                let shown = self.show(&why.ty);
                self.report(
                    Diagnostic::error(
                        codes::MOV_BUILTIN_ARGUMENT,
                        why.span,
                        format!("`ERROR` takes text, not `{shown}`"),
                    )
                    .label(shown)
                    .help("write the reason as a text"),
                );
                return None;
            }
            self.ensure_present(why, "the reason is shown to people")
        });
        (why.map(StatementKind::Fail), true)
    }

    fn return_line(&mut self, span: Span, value: Option<&ast::Expr>) -> Option<StatementKind> {
        let Some(value) = value else {
            self.returns.push(Return { span, value: None });
            if let Some(Some(declared)) = self.declared.clone() {
                let wanted = self.show(&declared);
                self.report(
                    Diagnostic::error(codes::MOV_RETURN_VALUE, span, format!("{} gives back `{wanted}`", self.leaves))
                        .label("gives nothing")
                        .help("write the value after `return`"),
                );
                return None;
            }
            return Some(StatementKind::Return(None));
        };
        let typed = self.expr(value);
        self.returns.push(Return { span: value.span, value: Some(typed.as_ref().map(|typed| typed.ty.clone())) });
        let typed = self.given(typed?)?;
        Some(StatementKind::Return(Some(typed)))
    }

    /// What is given back, if it is of the declared type.
    pub(super) fn given(&mut self, typed: typed::Expr) -> Option<typed::Expr> {
        let Some(Some(declared)) = self.declared.clone() else { return Some(typed) };
        if relation::fits(&typed.ty, &declared, &self.cx.graph) {
            return Some(typed);
        }
        if let Some(present) = typed.ty.present()
            && relation::fits(present, &declared, &self.cx.graph)
        {
            let why = format!("{} gives back `{}`", self.leaves, self.show(&declared));
            self.ensure_present(typed, &why);
            return None;
        }
        let (given, wanted) = (self.show(&typed.ty), self.show(&declared));
        self.report(
            Diagnostic::error(
                codes::MOV_RETURN_TYPE,
                typed.span,
                format!("{} gives back `{wanted}`, not `{given}`", self.leaves),
            )
            .label(given),
        );
        None
    }
}

fn keep<T>(all: &mut Option<Vec<T>>, one: Option<T>) {
    match (all.as_mut(), one) {
        (Some(list), Some(one)) => list.push(one),
        (_, _) => *all = None,
    }
}
