//! The inside of one function (or constant, or listen): its locals, what is visible, what is known to be present.

use std::collections::HashMap;

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    annotations,
    context::{Context, Symbol},
    index::{Meaning, Mention},
    narrow::Chain,
    typed::{self, LocalId},
    uses::Uses,
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, Name},
    types::{Ty, TypeRef},
};

/// Where an expression stands, as far as that decides what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A statement of a function: anything.
    Statement,
    /// A WHERE, an ORDER BY or a key of SORT: reads, no writes.
    Hop,
    /// The WHERE of a listen: the changed record and constants.
    Listen,
    /// A file-level constant: literals, constants and built-ins.
    Constant,
    /// A line of a test: everything that neither reads nor writes.
    Test,
}

/// What sort of thing a local is, for the words of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Param,
    Value,
    Handle,
    Alias,
    /// The parameter of a closure.
    Item,
    /// The reason of a refusal.
    Why,
}

#[derive(Debug)]
pub(super) struct Local {
    pub(super) name: Option<Name>,
    pub(super) bound: Bound,
    /// `None` if its value failed: whoever uses it stays silent.
    pub(super) ty: Option<Ty>,
    pub(super) used: bool,
}

/// A `return` of the body.
#[derive(Debug)]
pub(super) struct Return {
    pub(super) span: Span,
    /// `None`: without a value. `Some(None)`: its value failed.
    pub(super) value: Option<Option<Ty>>,
}

#[derive(Debug)]
pub(super) struct Body<'c, 'a> {
    pub(super) cx: &'c mut Context<'a>,
    pub(super) file: usize,
    pub(super) place: Place,
    pub(super) locals: Vec<Local>,
    visible: IndexMap<SmolStr, LocalId>,
    /// Every name that the body binds anywhere, and where first.
    later: HashMap<SmolStr, Span>,
    /// A statement could not be read, so an unknown name may be its.
    damaged: bool,
    /// The hops whose WHERE or ORDER BY is being checked, innermost last.
    pub(super) landed: Vec<Landed>,
    pub(super) facts: HashMap<Chain, u32>,
    pub(super) trail: Vec<Chain>,
    pub(super) returns: Vec<Return>,
    /// The name whose value is being checked: it is not bound yet.
    pub(super) binding: Option<SmolStr>,
    /// The same of names in whose statement other statements stand.
    pub(super) unbound: Vec<SmolStr>,
    /// The declared return type.
    pub(super) declared: Option<Option<Ty>>,
    /// What a `return` leaves, in words.
    pub(super) leaves: &'static str,
    /// Closures whose types are only tried out: their mistakes are reported later.
    pub(super) trials: u32,
    /// Inside what no wait may stand, in words.
    pub(super) no_wait: Option<&'static str>,
    /// The other side of the comparison that is being checked.
    pub(super) opposite: Option<Span>,
    /// Outer names that an inner one hides until its scope ends: where that began, the place among the visible, whose it is.
    hidden: Vec<(usize, usize, LocalId)>,
}

/// The record that a bare name may be a field of.
#[derive(Debug, Clone)]
pub(super) struct Landed {
    pub(super) local: LocalId,
    pub(super) on: TypeRef,
    pub(super) alias: Option<SmolStr>,
}

/// What a name stands for where a value is wanted.
pub(super) enum Resolved {
    Local(LocalId),
    Constant(usize),
    /// A field of the landed record.
    Field(LocalId),
}

impl<'c, 'a> Body<'c, 'a> {
    pub(super) fn new(cx: &'c mut Context<'a>, file: usize, place: Place) -> Self {
        Self {
            cx,
            file,
            place,
            locals: Vec::new(),
            visible: IndexMap::new(),
            later: HashMap::new(),
            damaged: false,
            landed: Vec::new(),
            facts: HashMap::new(),
            trail: Vec::new(),
            returns: Vec::new(),
            binding: None,
            unbound: Vec::new(),
            declared: None,
            leaves: "this function",
            trials: 0,
            no_wait: None,
            opposite: None,
            hidden: Vec::new(),
        }
    }

    /// Learns what the whole body binds, so that a use before a binding can be told from an unknown name.
    pub(super) fn foresee(&mut self, uses: &Uses<'_>) {
        self.damaged = uses.damaged;
        for name in &uses.binds {
            self.later.entry(name.text.clone()).or_insert(name.span);
        }
    }

    pub(super) fn report(&mut self, problem: Diagnostic) {
        self.cx.report(problem);
    }

    pub(super) fn show(&self, ty: &Ty) -> String {
        self.cx.graph.show(ty)
    }

    /// The start of a scope, to be handed to [`Self::close`].
    pub(super) fn open(&self) -> usize {
        self.visible.len()
    }

    /// Ends a scope: what was bound since is not visible any more.
    pub(super) fn close(&mut self, scope: usize) {
        self.visible.truncate(scope);
        while let Some((_, position, local)) = self.hidden.pop_if(|(began, _, _)| *began >= scope) {
            if let Some((_, visible)) = self.visible.get_index_mut(position) {
                *visible = local;
            }
        }
    }

    /// A local without a name.
    pub(super) fn anonymous(&mut self, ty: Option<Ty>) -> LocalId {
        self.push(None, Bound::Alias, ty)
    }

    fn push(&mut self, name: Option<Name>, bound: Bound, ty: Option<Ty>) -> LocalId {
        let id = LocalId(u32::try_from(self.locals.len()).unwrap_or(u32::MAX));
        self.locals.push(Local { name, bound, ty, used: false });
        id
    }

    /// Binds a name in the innermost scope; reports one that is taken. `scope` is where that scope began.
    pub(super) fn bind(&mut self, scope: usize, name: &Name, bound: Bound, ty: Option<Ty>) -> LocalId {
        let taken = self.visible.get_full(&name.text).map(|(position, _, local)| (position, *local));
        if let Some((position, local)) = taken {
            let first = self.local(local).and_then(|local| local.name.as_ref()).map(|name| name.span);
            let report = if position >= scope {
                Diagnostic::error(codes::MOV_NAME_DUPLICATE, name.span, format!("`{}` is already bound", name.text))
                    .label("a name is bound once and its value never changes")
                    .help("give this value another name")
            } else {
                Diagnostic::error(
                    codes::MOV_NAME_SHADOWED,
                    name.span,
                    format!("`{}` is already bound outside this block", name.text),
                )
                .label("would hide the outer one")
                .help("give this one another name")
            };
            self.report(match first {
                Some(first) => report.also(first, "bound here"),
                None => report,
            });
            // Later uses mean one of the two. In the block of a hop, a closure or a refusal either may be meant, and
            // nothing is said of it; of two bindings the first is kept.
            let id = self.push(Some(name.clone()), bound, None);
            if position < scope && !matches!(bound, Bound::Value | Bound::Handle) {
                self.touch(id);
                self.touch(local);
                if let Some((_, visible)) = self.visible.get_index_mut(position) {
                    self.hidden.push((scope, position, std::mem::replace(visible, id)));
                }
            }
            return id;
        }
        if let Some(outer) = self.cx.peek(self.file, &name.text).map(|entry| entry.span) {
            self.report(
                Diagnostic::error(
                    codes::MOV_NAME_SHADOWED,
                    name.span,
                    format!("`{}` is already declared in this file", name.text),
                )
                .label("would hide it")
                .also(outer, "declared here")
                .help("give this one another name"),
            );
        } else if super::builtins::is_reserved(&name.text) {
            self.report(
                Diagnostic::error(
                    codes::MOV_NAME_SHADOWED,
                    name.span,
                    format!("`{}` is a name of the language", name.text),
                )
                .label("already means something everywhere")
                .help("give it another name"),
            );
        }
        let means = Meaning::Local { at: name.span, sort: bound.into() };
        self.cx.notes.note(Mention { span: name.span, means, ty: ty.clone(), declares: true });
        let id = self.push(Some(name.clone()), bound, ty);
        self.visible.insert(name.text.clone(), id);
        id
    }

    pub(super) fn local(&self, id: LocalId) -> Option<&Local> {
        self.locals.get(id.0 as usize)
    }

    pub(super) fn local_ty(&self, id: LocalId) -> Option<Ty> {
        self.local(id)?.ty.clone()
    }

    /// The names in scope, the oldest first.
    pub(super) fn visible(&self) -> impl Iterator<Item = (&SmolStr, LocalId)> {
        self.visible.iter().map(|(name, local)| (name, *local))
    }

    fn touch(&mut self, id: LocalId) {
        if let Some(local) = self.locals.get_mut(id.0 as usize) {
            local.used = true;
        }
    }

    /// A visible local of that name, which counts as a use.
    pub(super) fn find_local(&mut self, name: &Name) -> Option<LocalId> {
        let id = self.visible.get(&name.text).copied()?;
        self.touch(id);
        if let Some(Local { name: Some(bound_at), bound, ty, .. }) = self.locals.get(id.0 as usize) {
            let means = Meaning::Local { at: bound_at.span, sort: (*bound).into() };
            let ty = ty.clone();
            self.cx.notes.note(Mention { span: name.span, means, ty, declares: false });
        }
        Some(id)
    }

    /// Whether a local or a constant of that name is in scope. Uses nothing.
    pub(super) fn in_scope(&self, name: &str) -> bool {
        self.visible.contains_key(name)
            || self.cx.peek(self.file, name).is_some_and(|entry| matches!(entry.symbol, Symbol::Constant(_)))
    }

    /// What a name stands for where a value is wanted; `None` if that was reported or is silent.
    pub(super) fn resolve(&mut self, name: &Name) -> Option<Resolved> {
        self.offer_values(name.span);
        if let Some(landed) = self.landed.last().map(|landed| landed.local)
            && self.is_landed_field(&name.text)
        {
            if self.in_scope(&name.text) {
                self.report_ambiguous(name);
                return None;
            }
            self.touch(landed);
            return Some(Resolved::Field(landed));
        }
        if let Some(local) = self.find_local(name) {
            return Some(Resolved::Local(local));
        }
        match self.cx.look_up(self.file, name) {
            Some(Symbol::Constant(index)) => Some(Resolved::Constant(index)),
            Some(Symbol::Failed) => None,
            Some(symbol @ (Symbol::Connection(_) | Symbol::Type(_) | Symbol::Function(_))) => {
                let report = Diagnostic::error(
                    codes::MOV_NAME_NOT_VALUE,
                    name.span,
                    format!("`{}` is {}, not a value", name.text, annotations::describe(symbol)),
                );
                self.report(match symbol {
                    Symbol::Connection(_) => report.help(format!("walk to its records: `{}-[:Type]->`", name.text)),
                    Symbol::Function(_) => report.help(format!("call it: `{}(…)`", name.text)),
                    Symbol::Type(_) | Symbol::Constant(_) | Symbol::Failed => report,
                });
                None
            }
            None => {
                self.unknown(name);
                None
            }
        }
    }

    /// Whether the record that the innermost hop lands on has a field of that name to read.
    pub(super) fn is_landed_field(&self, name: &str) -> bool {
        let shape = self.landed.last().and_then(|landed| self.cx.graph.shape(&landed.on));
        shape.and_then(|shape| shape.field(name)).is_some_and(|field| field.readable)
    }

    /// Whether the body binds that name anywhere.
    pub(super) fn foresees(&self, name: &str) -> bool {
        self.later.contains_key(name) || self.binding.as_deref() == Some(name)
    }

    pub(super) fn report_ambiguous(&mut self, name: &Name) {
        let Some(landed) = self.landed.last().cloned() else { return };
        let on = self.cx.graph.show_position(&landed.on);
        let report = Diagnostic::error(
            codes::MOV_NAME_AMBIGUOUS,
            name.span,
            format!("`{}` could be the field of `{on}` or the name in scope", name.text),
        );
        let bound = self.visible.get(&name.text).copied();
        let bound = bound.and_then(|local| self.local(local)?.name.as_ref().map(|name| name.span));
        let bound = bound.or_else(|| self.cx.peek(self.file, &name.text).map(|entry| entry.span));
        let report = match bound {
            Some(span) => report.also(span, "the name in scope"),
            None => report,
        };
        self.report(match &landed.alias {
            Some(alias) => {
                let field = format!("{alias}.{}", self.cx.slice(name.span));
                let with_itself = self.opposite.is_some_and(|side| self.cx.slice(side) == field);
                if with_itself {
                    report.help(format!(
                        "give the name in scope another name, and write that here: `{field}` would be compared with itself"
                    ))
                } else {
                    report
                        .way(format!("write `{field}` for the field"), vec![(name.span, field)])
                        .help("give the name in scope another name, and write that here, if it is meant")
                }
            }
            None => report.help(format!(
                "give the hop an alias and write `r.{}` for the field; rename the other to use it here",
                name.text
            )),
        });
    }

    /// Reports a name that nothing visible has, unless it may come from what could not be read.
    pub(super) fn unknown(&mut self, name: &Name) {
        if let Some(&bound) = self.later.get(&name.text) {
            let early = self.binding.as_ref() == Some(&name.text) || self.unbound.contains(&name.text);
            let report = if bound.start > name.span.start || early {
                Diagnostic::error(
                    codes::MOV_NAME_USE_BEFORE_BIND,
                    name.span,
                    format!("`{}` is used before it is bound", name.text),
                )
                .label("not bound yet")
                .also(bound, "bound here")
                .help("move the binding above its first use")
            } else {
                Diagnostic::error(codes::MOV_NAME_UNKNOWN, name.span, format!("`{}` is not known here", name.text))
                    .label("out of its block")
                    .also(bound, "bound here, and known only inside that block")
                    .help("bind it before the block, or move this inside")
            };
            self.report(report);
            return;
        }
        if self.damaged || self.cx.scopes.get(self.file).is_none_or(|scope| scope.damaged) {
            return;
        }
        let report =
            Diagnostic::error(codes::MOV_NAME_UNKNOWN, name.span, format!("nothing here is called `{}`", name.text));
        if let Some(right) = literal_elsewhere(&name.text) {
            self.report(report.fix(format!("write `{right}`"), name.span, right));
            return;
        }
        let near = self.nearest(&name.text);
        self.report(match near {
            Some(near) => {
                report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near.as_str())
            }
            None => match self.landed.last() {
                Some(landed) => {
                    let on = self.cx.graph.show_position(&landed.on);
                    report.label(format!("neither a field of `{on}` nor a name in scope"))
                }
                None => report.label("neither bound above nor declared in this file"),
            },
        });
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let fields = self
            .landed
            .last()
            .and_then(|landed| self.cx.graph.shape(&landed.on))
            .into_iter()
            .flat_map(|shape| shape.fields.iter().filter(|field| field.readable))
            .map(|field| field.name.as_str());
        let visible = self.visible.keys().map(SmolStr::as_str);
        let constants = self.cx.scopes.get(self.file).into_iter().flat_map(|scope| {
            scope
                .names
                .iter()
                .filter(|(_, entry)| matches!(entry.symbol, Symbol::Constant(_)))
                .map(|(name, _)| name.as_str())
        });
        suggest::nearest(name, fields.chain(visible).chain(constants)).map(str::to_owned)
    }

    /// The typed local as an expression, narrowed by what is known.
    pub(super) fn local_expr(&mut self, id: LocalId, span: Span) -> Option<typed::Expr> {
        let ty = self.local_ty(id)?;
        Some(self.narrowed(typed::Expr { ty, span, kind: typed::ExprKind::Local(id) }))
    }

    /// Warns of names that nothing uses. A leading `_` says that this is meant.
    pub(super) fn warn_unused(&mut self, params: bool) {
        let mut warnings = Vec::new();
        for local in &self.locals {
            let Some(name) = &local.name else { continue };
            if local.used || name.text.starts_with('_') || (local.bound == Bound::Param && !params) {
                continue;
            }
            let what = match local.bound {
                Bound::Param | Bound::Item => "the parameter",
                Bound::Value => "the value",
                Bound::Handle => "the answer",
                Bound::Alias => "the alias",
                Bound::Why => "the reason",
            };
            let warning =
                Diagnostic::warning(codes::MOV_UNUSED, name.span, format!("{what} `{}` is never used", name.text));
            let own = self.cx.slice(name.span);
            let behind = self.cx.behind(name.span);
            let sign = behind.trim_start().strip_prefix('=').map(|rest| behind.len() - rest.trim_start().len());
            let sign = sign.and_then(|length| u32::try_from(length).ok());
            warnings.push(match (local.bound, sign) {
                (Bound::Handle, Some(length)) => {
                    let binding = Span { end: name.span.end + length, ..name.span };
                    warning.help("or use it").fix("leave the name and `=` out", binding, "")
                }
                (Bound::Handle, None) => warning.help("leave the name and `=` out, or use it"),
                (Bound::Alias, _) => warning.help("or use it").fix("leave the alias out", name.span, ""),
                (Bound::Item | Bound::Why, _) if !own.starts_with('`') => {
                    let written = format!("_{own}");
                    warning.fix(format!("call it `{written}` to say that this is meant"), name.span, written)
                }
                (Bound::Item | Bound::Why, _) => {
                    warning.help(format!("call it `_{}` to say that this is meant", name.text))
                }
                (Bound::Param | Bound::Value, _) => {
                    warning.help(format!("leave it out, or call it `_{}` to say that this is meant", name.text))
                }
            });
        }
        for warning in warnings {
            self.report(warning);
        }
    }

    /// Runs `check` with a place in force.
    pub(super) fn at<T>(&mut self, place: Place, check: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.place, place);
        let result = check(self);
        self.place = outer;
        result
    }
}

/// The span of the word `ast` names things by, for hops.
pub(super) fn alias_text(hop: &ast::Hop) -> Option<SmolStr> {
    hop.alias.as_ref().map(|alias| alias.text.clone())
}

/// What other languages call the three literals that are words.
fn literal_elsewhere(name: &str) -> Option<&'static str> {
    match name {
        "None" | "undefined" | "nil" | "Null" | "NULL" | "NONE" => Some("null"),
        "True" | "TRUE" => Some("true"),
        "False" | "FALSE" => Some("false"),
        _ => None,
    }
}
