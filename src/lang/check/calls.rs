//! Calls: of the project's functions and of built-ins.

use regex::Regex;
use smol_str::SmolStr;

use super::{
    body::{Body, Place},
    builtins::{self, Form, Gives, Signature, Takes},
    compare::list_members,
    context::{Returns, Symbol},
    typed::{Builtin, Expr, ExprKind, FunctionId},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, Name},
    types::{Kind, Ty, relation},
};

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
        if let Some(symbol) = self.cx.look_up(self.file, &name.text) {
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
        if self.find_local(&name.text).is_some() {
            self.visit_args(call);
            self.not_callable(name, "a value");
            return None;
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
        if builtins::is_not_built(&name.text) {
            self.report(
                Diagnostic::error(codes::MOV_NOT_BUILT, name.span, format!("`{}` is not built yet", name.text))
                    .label("belongs to the language, but this version does not run it"),
            );
        } else if name.text == builtins::ERROR {
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
        let near = suggest::nearest(&name.text, known).map(str::to_owned);
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
    fn visit_args(&mut self, call: &ast::Call) {
        for arg in &call.args {
            let _checked = self.expr(&arg.value);
        }
    }

    fn call_function(&mut self, span: Span, call: &ast::Call, index: usize) -> Option<(Expr, Returns)> {
        let function = self.cx.functions.get(index)?;
        let (item, params, returns) = (function.item, function.params.clone(), function.returns.clone());
        let (writes, waits_on) = (function.effects.writes_anything(), function.effects.reads);
        if !self.may_call(call, writes, waits_on) {
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
    fn may_call(&mut self, call: &ast::Call, writes: bool, _reads: bool) -> bool {
        let (what, help) = match self.place {
            Place::Statement => return true,
            Place::Hop if !writes => return true,
            Place::Hop => ("a WHERE or ORDER BY cannot write", "call it before the hop and compare with its answer"),
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
            if !item.params.iter().any(|param| param.name.text == name.text) {
                let near = suggest::nearest(&name.text, item.params.iter().map(|param| param.name.text.as_str()));
                let report = Diagnostic::error(
                    codes::MOV_CALL_ARGUMENT_UNKNOWN,
                    name.span,
                    format!("`{}` has no parameter `{}`", call.callee.text, name.text),
                )
                .also(item.name.span, "declared here");
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
        if !missing.is_empty() {
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
            (from, Kind::Text) if from.is_scalar() && from != Kind::Text => report
                .help(format!("convert it: `TEXT({text})`"))
                .fix(format!("write `TEXT({text})`"), arg.span, format!("TEXT({text})")),
            (Kind::Text, Kind::Number) => report.help(format!("convert it: `NUMBER({text})`, which may be absent")),
            (Kind::Json, _) => report.help(format!("convert it: `{text} AS <{}>`", self.show(ty))),
            (_, _) => report,
        });
        None
    }

    fn positional<'e>(&mut self, call: &'e ast::Call) -> Option<Vec<&'e ast::Expr>> {
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

    fn coalesce(&mut self, span: Span, call: &ast::Call) -> Option<Expr> {
        let args = self.positional(call)?;
        if args.len() < 2 {
            self.report(
                Diagnostic::error(
                    codes::MOV_BUILTIN_ARGUMENTS,
                    call.callee.span,
                    "`COALESCE` takes a value and what stands in for it",
                )
                .help("such as `COALESCE(company.Site, \"none\")`"),
            );
            self.visit_args(call);
            return None;
        }
        let typed: Vec<_> = args.into_iter().map(|arg| self.asked(arg)).collect();
        let typed = typed.into_iter().collect::<Option<Vec<_>>>()?;
        let (last, earlier) = typed.split_last()?;
        let mut common: Option<Ty> = None;
        for arg in &typed {
            let Some(ty) = arg.ty.present() else { continue };
            common = match common {
                None => Some(ty.clone()),
                Some(so_far) => {
                    let Some(joined) = relation::join(&so_far, ty, &self.cx.graph) else {
                        let (one, two) = (self.show(ty), self.show(&so_far));
                        self.report(
                            Diagnostic::error(
                                codes::MOV_BUILTIN_ARGUMENT,
                                arg.span,
                                format!("`COALESCE` gives one type, and these are `{two}` and `{one}`"),
                            )
                            .label(one)
                            .help("give every argument the same type"),
                        );
                        return None;
                    };
                    Some(joined)
                }
            };
        }
        if let Some(fixed) = earlier.iter().find(|arg| !arg.ty.may_be_absent() && !self.doubtful(arg)) {
            let shown = self.show(&fixed.ty);
            self.warn_fixed(fixed.span, "what follows is never used", &format!("`{shown}` is never absent"));
        }
        let ty = common.unwrap_or(Ty::Absent);
        let ty = if last.ty.may_be_absent() { ty.optional() } else { ty };
        Some(Expr { ty, span, kind: ExprKind::Builtin { builtin: Builtin::Coalesce, args: typed } })
    }

    fn builtin(&mut self, span: Span, call: &ast::Call, signature: &Signature) -> Option<Expr> {
        let args = self.positional(call)?;
        if args.len() < signature.least || args.len() > signature.args.len() {
            let takes = match (signature.least, signature.args.len()) {
                (0, 0) => "no arguments".to_owned(),
                (1, 1) => "one argument".to_owned(),
                (least, most) if least == most => format!("{most} arguments"),
                (least, most) => format!("{least} to {most} arguments"),
            };
            let at = args.get(signature.args.len()).map_or(call.callee.span, |extra| extra.span);
            self.report(
                Diagnostic::error(
                    codes::MOV_BUILTIN_ARGUMENTS,
                    at,
                    format!("`{}` takes {takes}, not {}", signature.name, args.len()),
                )
                .help(format!("`listen-fire explain {}` says what", codes::MOV_BUILTIN_ARGUMENTS.as_str())),
            );
            self.visit_args(call);
            return None;
        }
        let mut typed = Vec::with_capacity(args.len());
        let mut whole = true;
        for (arg, takes) in args.into_iter().zip(signature.args) {
            match self.expr(arg).and_then(|arg| self.takes(arg, *takes, signature.name)) {
                Some(arg) => typed.push(arg),
                None => whole = false,
            }
        }
        if !whole {
            return None;
        }
        let ty = gives(signature.gives, typed.first().map(|arg| &arg.ty));
        Some(Expr { ty, span, kind: ExprKind::Builtin { builtin: signature.builtin, args: typed } })
    }

    fn takes(&mut self, arg: Expr, takes: Takes, builtin: &str) -> Option<Expr> {
        let kind = arg.ty.kind();
        if kind == Kind::Json && takes != Takes::ListOrJson {
            let text = self.cx.slice(arg.span);
            self.report(
                Diagnostic::error(codes::MOV_JSON_OPAQUE, arg.span, format!("`{text}` is json, which is opaque"))
                    .label(format!("`{builtin}` takes {}", words(takes)))
                    .help(format!("say what it is first: `{text} AS <{}>`", json_hint(takes))),
            );
            return None;
        }
        if !self.takes_type(&arg.ty, takes) {
            let (shown, text) = (self.show(&arg.ty), self.cx.slice(arg.span));
            let report = Diagnostic::error(
                codes::MOV_BUILTIN_ARGUMENT,
                arg.span,
                format!("`{builtin}` takes {}, not `{shown}`", words(takes)),
            )
            .label(shown);
            self.report(match (kind, takes) {
                (from, Takes::Text) if from.is_scalar() => report.help(format!("convert it: `TEXT({text})`")).fix(
                    format!("write `TEXT({text})`"),
                    arg.span,
                    format!("TEXT({text})"),
                ),
                (Kind::Text, Takes::Number) => {
                    report.help(format!("convert it: `NUMBER({text})`, which may be absent"))
                }
                (Kind::Text, Takes::Literal(_)) => report.help("write the text itself, so that a check can see it"),
                (Kind::Text, Takes::Date | Takes::Temporal) => {
                    report.help(format!("convert it: `DATE({text})`, which may be absent"))
                }
                (_, _) => report,
            });
            return None;
        }
        let why = format!("`{builtin}` needs a value");
        let arg = self.ensure_present(arg, &why)?;
        if let Takes::Literal(form) = takes
            && let Some(text) = arg.ty.known_text().cloned()
            && let Some(wrong) = wrong_literal(form, &text)
        {
            self.report(
                Diagnostic::error(codes::MOV_BUILTIN_LITERAL, arg.span, format!("{text:?} {}", wrong.0))
                    .label(format!("`{builtin}` takes {}", words(takes)))
                    .help(wrong.1),
            );
            return None;
        }
        Some(arg)
    }

    /// Whether a type fits, absence aside.
    fn takes_type(&self, ty: &Ty, takes: Takes) -> bool {
        let kind = ty.kind();
        if kind == Kind::Absent {
            return true;
        }
        let item = match ty.present() {
            Some(Ty::List(item)) => Some(item.as_ref()),
            Some(_) | None => None,
        };
        let empty = matches!(ty.present(), Some(Ty::EmptyList));
        let members =
            |fits: &dyn Fn(&Ty) -> bool| empty || item.is_some_and(|item| !item.may_be_absent() && fits(item));
        match takes {
            Takes::Text => kind == Kind::Text,
            Takes::Number => kind == Kind::Number,
            Takes::Date => kind == Kind::Date,
            Takes::Scalar => kind.is_scalar(),
            Takes::Temporal => matches!(kind, Kind::Date | Kind::Datetime),
            Takes::TextOrList => matches!(kind, Kind::Text | Kind::List),
            Takes::List => kind == Kind::List,
            Takes::ListOrJson => matches!(kind, Kind::List | Kind::Json),
            Takes::TextList => members(&|item| item.kind() == Kind::Text),
            Takes::NumberList => members(&|item| item.kind() == Kind::Number),
            Takes::OrderedList => members(&|item| item.kind().is_ordered()),
            Takes::ListList => members(&|item| item.kind() == Kind::List),
            Takes::Literal(_) => ty.present().is_some_and(|ty| ty.known_text().is_some()),
        }
    }
}

fn gives(gives: Gives, first: Option<&Ty>) -> Ty {
    let first = first.and_then(Ty::present);
    let item = match first {
        Some(Ty::List(item)) => Some(item.as_ref().clone()),
        Some(Ty::Json) => Some(Ty::Json),
        Some(_) | None => None,
    };
    match gives {
        Gives::Text => Ty::Text,
        Gives::TextList => Ty::List(Box::new(Ty::Text)),
        Gives::Number => Ty::Number,
        Gives::NumberList => Ty::List(Box::new(Ty::Number)),
        Gives::Boolean => Ty::Boolean,
        Gives::Date => Ty::Date,
        Gives::Datetime => Ty::Datetime,
        Gives::MaybeNumber => Ty::Number.optional(),
        Gives::MaybeDate => Ty::Date.optional(),
        Gives::MaybeDatetime => Ty::Datetime.optional(),
        Gives::MaybeDuration => Ty::Duration.optional(),
        Gives::MaybeMatch => {
            Ty::Record(vec![("text".into(), Ty::Text), ("groups".into(), Ty::List(Box::new(Ty::Text)))]).optional()
        }
        Gives::Same => first.cloned().unwrap_or(Ty::EmptyList),
        Gives::MaybeMember => item.map_or(Ty::Absent, Ty::optional),
        Gives::Member => item.unwrap_or(Ty::EmptyList),
    }
}

fn words(takes: Takes) -> &'static str {
    match takes {
        Takes::Text => "text",
        Takes::Number => "a number",
        Takes::Date => "a date",
        Takes::Scalar => "text, a number, a boolean, a date or a duration",
        Takes::Temporal => "a date or a datetime",
        Takes::TextOrList => "text or a list",
        Takes::List => "a list",
        Takes::TextList => "a list of texts",
        Takes::NumberList => "a list of numbers",
        Takes::OrderedList => "a list of texts, numbers or times",
        Takes::ListList => "a list of lists",
        Takes::ListOrJson => "a list or json",
        Takes::Literal(Form::Regex) => "a literal pattern",
        Takes::Literal(Form::Zone) => "a literal time zone",
        Takes::Literal(Form::Time) => "a literal time of day",
        Takes::Literal(Form::Pattern) => "a literal format",
        Takes::Literal(Form::Direction) => "\"asc\" or \"desc\"",
    }
}

fn json_hint(takes: Takes) -> &'static str {
    match takes {
        Takes::Number => "number",
        Takes::Date | Takes::Temporal => "date",
        Takes::List | Takes::TextList | Takes::OrderedList | Takes::ListOrJson => "text[]",
        Takes::NumberList => "number[]",
        Takes::ListList => "text[][]",
        Takes::Text | Takes::Scalar | Takes::TextOrList | Takes::Literal(_) => "text",
    }
}

/// What is wrong with a literal argument, and the way out.
fn wrong_literal(form: Form, text: &SmolStr) -> Option<(String, String)> {
    match form {
        Form::Regex => Regex::new(text).err().map(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            ("is not a pattern".to_owned(), why)
        }),
        Form::Zone => jiff::tz::TimeZone::get(text)
            .is_err()
            .then(|| ("is not a time zone".to_owned(), "write one such as \"Europe/Berlin\" or \"UTC\"".to_owned())),
        Form::Time => text
            .parse::<jiff::civil::Time>()
            .is_err()
            .then(|| ("is not a time of day".to_owned(), "write one such as \"09:00\"".to_owned())),
        Form::Pattern => wrong_pattern(text),
        Form::Direction => {
            let directions: [SmolStr; 2] = ["asc".into(), "desc".into()];
            (!directions.contains(text))
                .then(|| ("is not a direction".to_owned(), format!("write {}", list_members(&directions))))
        }
    }
}

/// The letters of a format and how often each may stand in a row.
pub(crate) const PATTERN_PARTS: [&str; 8] = ["YYYY", "YY", "MM", "DD", "HH", "mm", "ss", "SSS"];

fn wrong_pattern(pattern: &str) -> Option<(String, String)> {
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some(part) = PATTERN_PARTS.iter().find(|part| rest.starts_with(**part)) {
            rest = rest.strip_prefix(part).unwrap_or_default();
        } else if first.is_ascii_alphabetic() && !matches!(first, 'T' | 'Z') {
            return Some((
                format!("is not a format: `{first}` stands for nothing"),
                format!("a format is made of {}", PATTERN_PARTS.join(", ")),
            ));
        } else {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    None
}
