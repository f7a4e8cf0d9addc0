//! Calls: of the project's functions and of built-ins.

use smol_str::SmolStr;

use super::{
    body::{Body, Place},
    builtins,
    context::{Returns, Symbol},
    index::{Meaning, Sort},
    typed::{Expr, ExprKind, FunctionId},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, Name},
    types::{Kind, Ty, relation},
};

const CANNOT_WRITE: &str = "a WHERE, an ORDER BY or a key of `SORT` cannot write";

impl Body<'_, '_> {
    /// A call whose value is wanted.
    pub(super) fn call_value(&mut self, span: Span, call: &ast::Call) -> Option<Expr> {
        let (typed, returns) = self.call(span, call)?;
        match returns {
            Returns::Gives(_) => Some(typed),
            Returns::Failed => None,
            Returns::Nothing => {
                self.report(
                    Diagnostic::error(
                        codes::MOV_CALL_NO_VALUE,
                        call.callee.span,
                        format!("`{}` gives nothing back", call.callee.text),
                    )
                    .label("has no `return` with a value")
                    .help("call it as a statement of its own"),
                );
                None
            }
        }
    }

    /// A call that is a statement: it is there for what it does.
    pub(super) fn call_statement(&mut self, span: Span, call: &ast::Call) -> Option<Expr> {
        let name = &call.callee;
        if let Some(way) = builtins::through(&name.text, call)
            && !self.is_declared(name)
        {
            return self.through_for_effects(span, call, way);
        }
        if (builtins::find(&name.text).is_some() || name.text == builtins::COALESCE) && !self.is_declared(name) {
            self.report(
                Diagnostic::error(
                    codes::MOV_NO_EFFECT,
                    span,
                    format!("`{}` only computes a value, which is not used", name.text),
                )
                .label("does nothing here")
                .help("bind it to a name, or leave it out"),
            );
            return None;
        }
        self.call(span, call).map(|(typed, _)| typed)
    }

    fn is_declared(&self, name: &Name) -> bool {
        self.cx.peek(self.file, &name.text).is_some()
    }

    fn call(&mut self, span: Span, call: &ast::Call) -> Option<(Expr, Returns)> {
        let name = &call.callee;
        self.offer_values(name.span);
        if let Some(symbol) = self.cx.look_up(self.file, name) {
            return match symbol {
                Symbol::Function(index) => self.call_function(span, call, index),
                Symbol::Failed => {
                    self.visit_args(call);
                    None
                }
                Symbol::Connection(_) | Symbol::Type(_) | Symbol::Constant(_) => {
                    self.visit_args(call);
                    self.not_callable(name, super::annotations::describe(symbol));
                    None
                }
            };
        }
        if self.find_local(name).is_some() {
            self.visit_args(call);
            self.not_callable(name, "a value");
            return None;
        }
        if builtins::is_reserved(&name.text) {
            self.cx.notes.mention(name.span, Meaning::Builtin);
        }
        if let Some(way) = builtins::through(&name.text, call) {
            let typed = self.through(span, call, way, true)?;
            let returns = Returns::Gives(typed.ty.clone());
            return Some((typed, returns));
        }
        if let Some(signature) = builtins::find(&name.text) {
            let typed = self.builtin(span, call, signature)?;
            let returns = Returns::Gives(typed.ty.clone());
            return Some((typed, returns));
        }
        if name.text == builtins::COALESCE {
            let typed = self.coalesce(span, call)?;
            let returns = Returns::Gives(typed.ty.clone());
            return Some((typed, returns));
        }
        self.visit_args(call);
        if name.text == builtins::ERROR {
            self.report(
                Diagnostic::error(codes::MOV_NAME_NOT_VALUE, name.span, "`ERROR` is a statement, not a value")
                    .label("ends the run, so nothing comes back")
                    .help("put it on a line of its own, in an `if`"),
            );
        } else {
            self.unknown_function(name);
        }
        None
    }

    fn not_callable(&mut self, name: &Name, what: &str) {
        self.report(
            Diagnostic::error(
                codes::MOV_CALL_NOT_FUNCTION,
                name.span,
                format!("`{}` is {what}, not a function", name.text),
            )
            .label("called here"),
        );
    }

    fn unknown_function(&mut self, name: &Name) {
        let Some(scope) = self.cx.scopes.get(self.file) else { return };
        if scope.damaged {
            return;
        }
        let declared = scope
            .names
            .iter()
            .filter(|(_, entry)| matches!(entry.symbol, Symbol::Function(_)))
            .map(|(name, _)| name.as_str());
        let known: Vec<&str> = declared.chain(builtins::names()).collect();
        let near = builtin_elsewhere(&name.text).map(str::to_owned);
        let near = near.or_else(|| suggest::nearest(&name.text, known).map(str::to_owned));
        let upper = name.text.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
        let report = if upper {
            Diagnostic::error(codes::MOV_BUILTIN_UNKNOWN, name.span, format!("there is no built-in `{}`", name.text))
        } else {
            Diagnostic::error(codes::MOV_NAME_UNKNOWN, name.span, format!("there is no function `{}`", name.text))
        };
        let report = match near {
            Some(near) => {
                report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near.as_str())
            }
            None => report.label("neither declared in this file nor imported"),
        };
        self.report(report);
    }

    /// Checks arguments for their own mistakes only.
    pub(super) fn visit_args(&mut self, call: &ast::Call) {
        for arg in &call.args {
            if let ast::ExprKind::Closure(closure) = &arg.value.kind {
                self.visit_closure(closure);
            } else {
                let _checked = self.expr(&arg.value);
            }
        }
    }

    fn call_function(&mut self, span: Span, call: &ast::Call, index: usize) -> Option<(Expr, Returns)> {
        let function = self.cx.functions.get(index)?;
        let (item, params, returns) = (function.item, function.params.clone(), function.returns.clone());
        let (writes, reads, waits) =
            (function.effects.writes_anything(), function.effects.reads, function.effects.waits);
        if !self.may_call(call, writes, reads) || waits && !self.may_wait(call.callee.span, Some(&call.callee.text)) {
            self.visit_args(call);
            return None;
        }
        let args = self.arguments(call, item)?;
        let mut typed = Vec::with_capacity(args.len());
        let mut whole = true;
        for ((arg, param), ty) in args.into_iter().zip(&item.params).zip(&params) {
            let Some(arg) = self.expr(arg) else {
                whole = false;
                continue;
            };
            let Some(ty) = ty else { continue };
            match self.argument(arg, param, ty) {
                Some(arg) => typed.push(arg),
                None => whole = false,
            }
        }
        if !whole || typed.len() != item.params.len() {
            // What it gives back is known all the same, but a call that cannot be made has no value.
            return None;
        }
        let function = FunctionId(u32::try_from(index).unwrap_or(u32::MAX));
        let ty = match &returns {
            Returns::Gives(ty) => ty.clone(),
            Returns::Nothing | Returns::Failed => Ty::Absent,
        };
        Some((Expr { ty, span, kind: ExprKind::Call { function, args: typed } }, returns))
    }

    /// Whether a call with these effects may stand here; reports it if not.
    fn may_call(&mut self, call: &ast::Call, writes: bool, reads: bool) -> bool {
        let (what, help) = match self.place {
            Place::Statement => return true,
            Place::Test if !writes && !reads => return true,
            Place::Test => {
                let what = format!(
                    "`{}` {}s, and a test only computes",
                    call.callee.text,
                    if writes { "write" } else { "read" }
                );
                self.report(
                    Diagnostic::error(codes::MOV_TEST_EFFECT, call.callee.span, what)
                        .label("called here")
                        .help("let a `given` fire it, and say what it writes: `expect write PATH { … }`"),
                );
                return false;
            }
            Place::Hop if !writes => return true,
            Place::Hop => (CANNOT_WRITE, "call it before, and use its answer here"),
            Place::Listen => ("the WHERE of a listen calls no functions", "test it at the start of the fired function"),
            Place::Constant => ("a file-level value calls no functions", "call it inside a function"),
        };
        self.report(
            Diagnostic::error(codes::MOV_CALL_PLACE, call.callee.span, what)
                .label(if writes { "writes" } else { "called here" })
                .help(help),
        );
        false
    }

    /// Reports a statement that writes in a closure that stands where nothing may write.
    pub(super) fn may_write(&mut self, at: Span) {
        let what = match self.place {
            Place::Statement => return,
            Place::Hop => CANNOT_WRITE,
            Place::Listen => "the WHERE of a listen cannot write",
            Place::Constant => "a file-level value cannot write",
            Place::Test => "a test cannot write",
        };
        self.report(
            Diagnostic::error(codes::MOV_CALL_PLACE, at, what).label("writes").help("write before it or after it"),
        );
    }

    /// One argument for each parameter, in the order of the parameters.
    fn arguments<'e>(&mut self, call: &'e ast::Call, item: &ast::Function) -> Option<Vec<&'e ast::Expr>> {
        let named = call.args.iter().filter(|arg| arg.name.is_some()).count();
        if named == 0 {
            if call.args.len() == item.params.len() {
                return Some(call.args.iter().map(|arg| &arg.value).collect());
            }
            let extra = call.args.get(item.params.len());
            let names: Vec<_> = item.params.iter().map(|param| format!("`{}`", param.name.text)).collect();
            let takes = match names.as_slice() {
                [] => "no arguments".to_owned(),
                [only] => format!("one argument, {only}"),
                names => format!("{} arguments: {}", names.len(), names.join(", ")),
            };
            self.report(
                Diagnostic::error(
                    codes::MOV_CALL_ARGUMENTS,
                    extra.map_or(call.callee.span, |extra| extra.value.span),
                    format!("`{}` takes {takes}", call.callee.text),
                )
                .label(match extra {
                    Some(_) => "one too many".to_owned(),
                    None => format!("{} given", call.args.len()),
                })
                .also(item.name.span, "declared here"),
            );
            self.visit_args(call);
            return None;
        }
        if let Some(bare) = call.args.iter().find(|arg| arg.name.is_none()) {
            self.report(
                Diagnostic::error(
                    codes::MOV_CALL_MIXED,
                    bare.value.span,
                    "arguments are given by position or all by name",
                )
                .label("has no name, others have one")
                .help("name every argument, or none"),
            );
            self.visit_args(call);
            return None;
        }
        self.arguments_by_name(call, item)
    }

    fn arguments_by_name<'e>(&mut self, call: &'e ast::Call, item: &ast::Function) -> Option<Vec<&'e ast::Expr>> {
        let mut given: indexmap::IndexMap<&SmolStr, &'e ast::Arg> = indexmap::IndexMap::new();
        let mut meant = Vec::new();
        let mut whole = true;
        for arg in &call.args {
            let Some(name) = &arg.name else { continue };
            self.offer_arguments(name.span, item);
            if let Some(param) = item.params.iter().find(|param| param.name.text == name.text) {
                let means = Meaning::Local { at: param.name.span, sort: Sort::Param };
                self.cx.notes.mention(name.span, means);
            }
            if !item.params.iter().any(|param| param.name.text == name.text) {
                let near = suggest::nearest(&name.text, item.params.iter().map(|param| param.name.text.as_str()));
                let report = Diagnostic::error(
                    codes::MOV_CALL_ARGUMENT_UNKNOWN,
                    name.span,
                    format!("`{}` has no parameter `{}`", call.callee.text, name.text),
                )
                .also(item.name.span, "declared here");
                let near = near.or_else(|| only_left(call, item));
                self.report(match near {
                    Some(near) => {
                        meant.push(near.to_owned());
                        report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near)
                    }
                    None => report,
                });
                whole = false;
            } else if given.insert(&name.text, arg).is_some() {
                self.report(
                    Diagnostic::error(
                        codes::MOV_CALL_ARGUMENTS,
                        name.span,
                        format!("the argument `{}` is given twice", name.text),
                    )
                    .help("leave one out"),
                );
                whole = false;
            }
        }
        let missing: Vec<_> = item
            .params
            .iter()
            .map(|param| &param.name.text)
            .filter(|name| !given.contains_key(*name) && !meant.iter().any(|near| near == name.as_str()))
            .map(|name| format!("`{name}`"))
            .collect();
        // A name that is unknown stands for one that is missing.
        if !missing.is_empty() && whole {
            self.report(
                Diagnostic::error(
                    codes::MOV_CALL_ARGUMENTS,
                    call.callee.span,
                    format!("`{}` also takes {}", call.callee.text, missing.join(", ")),
                )
                .label("left out")
                .also(item.name.span, "declared here"),
            );
            whole = false;
        }
        if !whole {
            self.visit_args(call);
            return None;
        }
        item.params.iter().map(|param| given.get(&param.name.text).map(|arg| &arg.value)).collect()
    }

    fn argument(&mut self, arg: Expr, param: &ast::Param, ty: &Ty) -> Option<Expr> {
        if relation::fits(&arg.ty, ty, &self.cx.graph) {
            return Some(arg);
        }
        if let Some(present) = arg.ty.present()
            && arg.ty.may_be_absent()
            && relation::fits(present, ty, &self.cx.graph)
        {
            let why = format!("the parameter `{}` needs a value", param.name.text);
            return self.ensure_present(arg, &why);
        }
        let (given, wanted) = (self.show(&arg.ty), self.show(ty));
        let report = Diagnostic::error(
            codes::MOV_CALL_ARGUMENT_TYPE,
            arg.span,
            format!("the parameter `{}` takes `{wanted}`, not `{given}`", param.name.text),
        )
        .label(given)
        .also(param.ty.span, "declared here");
        let text = self.cx.slice(arg.span);
        self.report(match (arg.ty.kind(), ty.kind()) {
            (from, Kind::Text) if from.is_scalar() && *ty == Ty::Text => report
                .help("nothing is turned into text silently")
                .fix(format!("write `TEXT({text})`"), arg.span, format!("TEXT({text})")),
            (Kind::Text, Kind::Number) => report.help(format!("convert it: `NUMBER({text})`, which may be absent")),
            (Kind::Json, _) => report.help(format!("convert it: `{text} AS <{}>`", self.show(ty))),
            (_, _) => report,
        });
        None
    }

    pub(super) fn positional<'e>(&mut self, call: &'e ast::Call) -> Option<Vec<&'e ast::Expr>> {
        if let Some(name) = call.args.iter().find_map(|arg| arg.name.as_ref()) {
            self.report(
                Diagnostic::error(
                    codes::MOV_BUILTIN_ARGUMENTS,
                    name.span,
                    "arguments of a built-in are given by position",
                )
                .help("leave the name and `:` out"),
            );
            self.visit_args(call);
            return None;
        }
        Some(call.args.iter().map(|arg| &arg.value).collect())
    }
}

/// The one parameter that a call by name leaves out, where one name of it is no parameter.
fn only_left<'i>(call: &ast::Call, item: &'i ast::Function) -> Option<&'i str> {
    let given = |name: &SmolStr| call.args.iter().any(|arg| arg.name.as_ref().is_some_and(|own| own.text == *name));
    let mut left = item.params.iter().filter(|param| !given(&param.name.text));
    let (one, more) = (left.next()?, left.next());
    (more.is_none() && call.args.len() == item.params.len()).then_some(one.name.text.as_str())
}

/// The built-in that does what a function of another language does.
fn builtin_elsewhere(name: &str) -> Option<&'static str> {
    match name {
        "len" | "length" | "size" | "strlen" | "LEN" => Some("LENGTH"),
        "str" | "String" | "toString" => Some("TEXT"),
        "int" | "float" | "Number" | "parseInt" | "parseFloat" => Some("NUMBER"),
        "LCASE" | "lowercase" | "to_lower" => Some("LOWER"),
        "UCASE" | "uppercase" | "to_upper" => Some("UPPER"),
        "ifnull" | "IFNULL" | "NVL" => Some("COALESCE"),
        "AVERAGE" | "mean" => Some("AVG"),
        "raise" | "throw" | "fail" | "panic" => Some("ERROR"),
        _ => None,
    }
}
