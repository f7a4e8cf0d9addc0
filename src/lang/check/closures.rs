//! `MAP`, `FILTER`, `REDUCE`, `GROUP` and `SORT`: a list, and a closure that is given its members.
//!
//! A closure is checked where it stands, with the names around it in view; its own names are locals of the function.

use super::{
    body::{Body, Bound, Place},
    builtins::{Form, Takes, Through},
    effects::Effects,
    functions,
    narrow::{Chain, proof},
    typed::{self, ClosureBody, Expr, ExprKind, LocalId, Way},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
    syntax::ast,
    types::{Kind, Ty, relation},
};

/// What is asked of a closure.
#[derive(Debug, Clone, PartialEq)]
enum Asked {
    /// A value, or nothing where it stands for its effects.
    Anything,
    Value,
    /// True or false.
    Condition,
    /// A value of this type.
    Exactly(Ty),
}

/// A checked closure.
struct Closure {
    params: Vec<LocalId>,
    body: ClosureBody,
    /// What it gives; `None` if it never gives a value.
    gives: Option<Ty>,
}

impl Body<'_, '_> {
    /// A call that walks a list for what the closure does.
    pub(super) fn through_for_effects(&mut self, span: Span, call: &ast::Call, way: Through) -> Option<Expr> {
        let typed = self.through(span, call, way, false)?;
        let acts = matches!(&typed.kind, ExprKind::Through(through) if Effects::acts(&through.body));
        if way == Through::Map && acts {
            return Some(typed);
        }
        self.report(
            Diagnostic::error(
                codes::MOV_NO_EFFECT,
                span,
                format!("`{}` only computes a value, which is not used", way.name()),
            )
            .label("does nothing here")
            .help("bind it to a name, or leave it out"),
        );
        None
    }

    /// `value`: what it gives is wanted.
    pub(super) fn through(&mut self, span: Span, call: &ast::Call, way: Through, value: bool) -> Option<Expr> {
        let args = self.positional(call)?;
        let (list, start, closure, direction) = match (way, args.as_slice()) {
            (Through::Reduce, [list, start, closure]) => (*list, Some(*start), *closure, None),
            (Through::Sort, [list, closure, direction]) => (*list, None, *closure, Some(*direction)),
            (Through::Map | Through::Filter | Through::Group | Through::Sort, [list, closure]) => {
                (*list, None, *closure, None)
            }
            (_, args) => {
                let takes = match way {
                    Through::Map | Through::Filter | Through::Group => "a list and a closure",
                    Through::Reduce => "a list, what to start with, and a closure",
                    Through::Sort => "a list, a closure that gives the key, and \"asc\" or \"desc\"",
                };
                self.report(
                    Diagnostic::error(
                        codes::MOV_BUILTIN_ARGUMENTS,
                        call.callee.span,
                        format!("`{}` takes {takes}, not {}", way.name(), counted(args.len())),
                    )
                    .help(format!("written `{}`", way.written())),
                );
                self.visit_args(call);
                return None;
            }
        };
        if self.place == Place::Constant {
            self.report(
                Diagnostic::error(codes::MOV_CALL_PLACE, call.callee.span, "a file-level value calls no closures")
                    .label("called here")
                    .help("call it inside a function"),
            );
            self.visit_args(call);
            return None;
        }
        let list = self.expr(list).and_then(|list| self.takes(list, Takes::List, way.name()));
        let start = start.map(|start| self.expr(start));
        let closure = self.expect_closure(closure, way);
        let descending = direction.map(|direction| self.direction(direction));
        let (Some(list), Some(closure)) = (list, closure) else {
            if let Some(closure) = closure {
                self.visit_closure(closure);
            }
            return None;
        };
        let Some(item) = self.walked_member(&list, way) else {
            self.visit_closure(closure);
            return None;
        };
        match way {
            Through::Map => self.map(span, list, item, closure, value),
            Through::Filter => self.keep(span, list, item, closure),
            Through::Reduce => match start.flatten() {
                Some(start) => self.reduce(span, list, item, start, closure),
                None => {
                    self.visit_closure(closure);
                    None
                }
            },
            Through::Group => self.group(span, list, item, closure),
            Through::Sort => self.sort(span, list, item, closure, descending),
        }
    }

    fn expect_closure<'e>(&mut self, arg: &'e ast::Expr, way: Through) -> Option<&'e ast::Closure> {
        if let ast::ExprKind::Closure(closure) = &arg.kind {
            return Some(closure);
        }
        if matches!(arg.kind, ast::ExprKind::Bad) {
            return None;
        }
        let report =
            Diagnostic::error(codes::MOV_BUILTIN_ARGUMENT, arg.span, format!("`{}` takes a closure here", way.name()))
                .label("no closure");
        let name = if let ast::ExprKind::Name(name) = &arg.kind { Some(name) } else { None };
        let function = name.filter(|name| {
            let entry = self.cx.peek(self.file, &name.text);
            entry.is_some_and(|entry| matches!(entry.symbol, super::context::Symbol::Function(_)))
        });
        let report = match function.filter(|_| way != Through::Reduce) {
            Some(name) => {
                self.cx.look_up(self.file, name);
                let name = &name.text;
                report.fix(format!("write `(item) => {name}(item)`"), arg.span, format!("(item) => {name}(item)"))
            }
            None => report.help(format!("written `{}`", way.written())),
        };
        self.report(report);
        None
    }

    fn direction(&mut self, direction: &ast::Expr) -> Option<bool> {
        let typed = self.expr(direction)?;
        let typed = self.takes(typed, Takes::Literal(Form::Direction), "SORT")?;
        Some(typed.ty.known_text().is_some_and(|text| text == "desc"))
    }

    /// The type of the members that the closure is given.
    fn walked_member(&mut self, list: &Expr, way: Through) -> Option<Ty> {
        if let Ty::List(item) = &list.ty {
            return Some(item.as_ref().clone());
        }
        self.report(
            Diagnostic::error(
                codes::MOV_BUILTIN_ARGUMENT,
                list.span,
                format!("`{}` walks a list, and this one never has a member", way.name()),
            )
            .label("always empty")
            .help("leave it out"),
        );
        None
    }

    fn map(&mut self, span: Span, list: Expr, item: Ty, closure: &ast::Closure, value: bool) -> Option<Expr> {
        let asked = if value { Asked::Value } else { Asked::Anything };
        let closure = self.closure(closure, &[item], Through::Map, &asked)?;
        let ty = Ty::List(Box::new(closure.gives.clone().unwrap_or(Ty::Absent)));
        if !self.is_small(span, &ty) {
            return None;
        }
        walked(span, ty, Way::Map, list, closure)
    }

    fn keep(&mut self, span: Span, list: Expr, item: Ty, closure: &ast::Closure) -> Option<Expr> {
        let closure = self.closure(closure, std::slice::from_ref(&item), Through::Filter, &Asked::Condition)?;
        // What the condition proves of the member holds of every member that is left.
        let proved = match (&closure.body, closure.params.first()) {
            (ClosureBody::Value(condition), Some(param)) => proof(condition).yes.contains(&Chain::local(*param)),
            (_, _) => false,
        };
        let kept = item.present().filter(|_| proved).cloned().unwrap_or(item);
        walked(span, Ty::List(Box::new(kept)), Way::Filter, list, closure)
    }

    fn reduce(&mut self, span: Span, list: Expr, item: Ty, start: Expr, closure: &ast::Closure) -> Option<Expr> {
        let mut total = widened(&start.ty);
        if self.trials == 0 && !is_settled(&total) {
            // What it starts with does not say what it becomes: try what the closure makes of it.
            let (problems, locals) = (self.cx.problems.len(), self.locals.len());
            self.trials += 1;
            let tried = self.closure(closure, &[total.clone(), item.clone()], Through::Reduce, &Asked::Value);
            self.trials -= 1;
            self.cx.problems.truncate(problems);
            self.locals.truncate(locals);
            if let Some(given) = tried.and_then(|tried| tried.gives)
                && let Some(joined) = relation::join(&total, &given, &self.cx.graph)
            {
                total = joined;
            }
        }
        let asked = if self.trials > 0 { Asked::Value } else { Asked::Exactly(total.clone()) };
        let closure = self.closure(closure, &[total.clone(), item], Through::Reduce, &asked)?;
        if self.trials > 0
            && let Some(given) = &closure.gives
        {
            total = relation::join(&total, given, &self.cx.graph)?;
        }
        let [first, item] = closure.params.as_slice() else { return None };
        let (first, item) = (*first, *item);
        let way = Way::Reduce { start, total: first };
        walked(span, total, way, list, Closure { params: vec![item], ..closure })
    }

    fn group(&mut self, span: Span, list: Expr, item: Ty, closure: &ast::Closure) -> Option<Expr> {
        let closure = self.closure(closure, std::slice::from_ref(&item), Through::Group, &Asked::Exactly(Ty::Text))?;
        let one = Ty::Record(vec![("key".into(), Ty::Text), ("items".into(), Ty::List(Box::new(item)))]);
        let ty = Ty::List(Box::new(one));
        if !self.is_small(span, &ty) {
            return None;
        }
        walked(span, ty, Way::Group, list, closure)
    }

    fn sort(
        &mut self,
        span: Span,
        list: Expr,
        item: Ty,
        closure: &ast::Closure,
        descending: Option<Option<bool>>,
    ) -> Option<Expr> {
        let place = if self.place == Place::Statement { Place::Hop } else { self.place };
        let head = closure.head;
        let closure = self.at(place, |body| body.closure(closure, &[item], Through::Sort, &Asked::Value))?;
        let key = closure.gives.as_ref();
        if let Some(key) = key.filter(|key| !key.kind().is_ordered() && key.kind() != Kind::Absent) {
            let (at, shown) = match &closure.body {
                ClosureBody::Value(value) => (value.span, self.show(key)),
                ClosureBody::Block(_) => (head, self.show(key)),
            };
            self.report(
                Diagnostic::error(codes::MOV_COMPARE_ORDER, at, format!("`{shown}` has no order to sort by"))
                    .label("the key of `SORT` is text, a number or a time"),
            );
            return None;
        }
        let descending = descending.map_or(Some(false), |descending| descending)?;
        let ty = list.ty.clone();
        walked(span, ty, Way::Sort { descending }, list, closure)
    }

    /// Checks a closure that is given values of these types.
    fn closure(&mut self, closure: &ast::Closure, given: &[Ty], way: Through, asked: &Asked) -> Option<Closure> {
        let outer = self.no_wait.replace(way.closure());
        let checked = self.closure_of(closure, given, way, asked);
        self.no_wait = outer;
        checked
    }

    fn closure_of(&mut self, closure: &ast::Closure, given: &[Ty], way: Through, asked: &Asked) -> Option<Closure> {
        if closure.params.len() != given.len() {
            let takes = if given.len() == 1 { "one parameter" } else { "two parameters" };
            self.report(
                Diagnostic::error(
                    codes::MOV_CLOSURE_PARAMS,
                    closure.head,
                    format!("the closure of `{}` takes {takes}, not {}", way.name(), closure.params.len()),
                )
                .help(format!("written `{}`", way.written())),
            );
            self.visit_closure(closure);
            return None;
        }
        let types = given.iter().map(|ty| Some(ty.clone()));
        self.within_closure(closure, types, |body, params| {
            body.declared = match asked {
                Asked::Anything | Asked::Value => None,
                Asked::Condition => Some(Some(Ty::Boolean)),
                Asked::Exactly(ty) => Some(Some(ty.clone())),
            };
            match &closure.body {
                ast::ClosureBody::Value(value) => {
                    let typed = match asked {
                        Asked::Condition => body.condition(value)?,
                        Asked::Anything => body.value_or_call(value)?,
                        Asked::Value | Asked::Exactly(_) => {
                            let typed = body.expr(value)?;
                            body.given(typed)?
                        }
                    };
                    let gives = Some(typed.ty.clone());
                    Some(Closure { params, body: ClosureBody::Value(typed), gives })
                }
                ast::ClosureBody::Block(block) => {
                    let (block, gives) = body.closure_block(block, way, *asked != Asked::Anything)?;
                    Some(Closure { params, body: ClosureBody::Block(block), gives })
                }
            }
        })
    }

    /// The only expression of a closure that is there for its effects: a call need not give anything.
    fn value_or_call(&mut self, value: &ast::Expr) -> Option<Expr> {
        if let ast::ExprKind::Call(call) = &value.kind {
            self.call_statement(value.span, call)
        } else {
            self.expr(value)
        }
    }

    fn closure_block(&mut self, block: &ast::Block, way: Through, value: bool) -> Option<(typed::Block, Option<Ty>)> {
        let checked = self.block(block);
        let returns = std::mem::take(&mut self.returns);
        let values: Vec<_> = returns.iter().filter_map(|found| Some((found.span, found.value.clone()?))).collect();
        if let Some(bare) = returns.iter().find(|found| found.value.is_none())
            && self.declared.is_none()
            && (value || !values.is_empty())
        {
            self.report(
                Diagnostic::error(codes::MOV_RETURN_VALUE, bare.span, "this `return` gives nothing")
                    .label(format!("the closure of `{}` gives a value", way.name()))
                    .help("write the value after `return`"),
            );
            return None;
        }
        if !checked.ends && (value || !values.is_empty()) {
            let end = block.span.end;
            self.report(
                Diagnostic::error(
                    codes::MOV_RETURN_MISSING,
                    Span { start: end.saturating_sub(1), end, ..block.span },
                    format!("the closure of `{}` can end without giving a value", way.name()),
                )
                .label("gets here without `return`")
                .help("end every way through it with `return` or `ERROR(\"why\")`"),
            );
            return None;
        }
        let gives = functions::common(self.cx, values)?;
        Some((checked.block?, gives))
    }

    /// Checks a closure for its own mistakes only: what it is given is not known.
    pub(super) fn visit_closure(&mut self, closure: &ast::Closure) {
        let types = closure.params.iter().map(|_| None);
        self.within_closure(closure, types, |body, _| {
            body.declared = Some(None);
            match &closure.body {
                ast::ClosureBody::Value(value) => drop(body.expr(value)),
                ast::ClosureBody::Block(block) => drop(body.block(block)),
            }
            Some(())
        });
    }

    /// Runs `check` with the closure's parameters bound and its returns apart from those around it.
    pub(super) fn within_closure<T>(
        &mut self,
        closure: &ast::Closure,
        types: impl Iterator<Item = Option<Ty>>,
        check: impl FnOnce(&mut Self, Vec<LocalId>) -> Option<T>,
    ) -> Option<T> {
        let (scope, mark) = (self.open(), self.mark());
        let returns = std::mem::take(&mut self.returns);
        let declared = self.declared.take();
        let leaves = std::mem::replace(&mut self.leaves, "this closure");
        let params = closure.params.iter().zip(types).map(|(name, ty)| self.bind(scope, name, Bound::Item, ty));
        let params = params.collect();
        let checked = check(self, params);
        self.leaves = leaves;
        self.declared = declared;
        self.returns = returns;
        self.forget(mark);
        self.close(scope);
        checked
    }
}

fn walked(span: Span, ty: Ty, way: Way, list: Expr, closure: Closure) -> Option<Expr> {
    let item = *closure.params.first()?;
    let through = typed::Through { way, list, item, body: closure.body };
    Some(Expr { ty, span, kind: ExprKind::Through(Box::new(through)) })
}

fn counted(arguments: usize) -> String {
    if arguments == 1 { "one argument".to_owned() } else { format!("{arguments} arguments") }
}

/// What a value may become: a literal text becomes any text.
fn widened(ty: &Ty) -> Ty {
    match ty {
        Ty::Choice(members) if members.len() == 1 => Ty::Text,
        Ty::Optional(inner) => widened(inner).optional(),
        Ty::List(item) => Ty::List(Box::new(widened(item))),
        Ty::Record(fields) => Ty::Record(fields.iter().map(|(name, ty)| (name.clone(), widened(ty))).collect()),
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::File
        | Ty::Choice(_)
        | Ty::Position(_)
        | Ty::Handle(_)
        | Ty::Change
        | Ty::Absent
        | Ty::EmptyList => ty.clone(),
    }
}

/// Whether a type says all of what its values are: not so `[]` and `null`.
fn is_settled(ty: &Ty) -> bool {
    match ty {
        Ty::Absent | Ty::EmptyList => false,
        Ty::Optional(inner) | Ty::List(inner) => is_settled(inner),
        Ty::Record(fields) => fields.iter().all(|(_, ty)| is_settled(ty)),
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::File
        | Ty::Choice(_)
        | Ty::Position(_)
        | Ty::Handle(_)
        | Ty::Change => true,
    }
}
