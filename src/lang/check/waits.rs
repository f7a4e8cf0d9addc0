//! `await`: what may be waited for, what each form takes and gives, and where none may stand.

use super::{
    body::{Body, Bound, Landed, Place, alias_text},
    context::Symbol,
    functions,
    index::Meaning,
    typed::{ClosureBody, Expr, ExprKind, StatementKind, Wait, WaitKind},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::{FORMS, ast},
    types::{Kind, Ty},
};

/// The forms: how each is written, and what it gives.
const FORMS_WRITTEN: [(&str, &str); 5] = [
    ("sleep", "await sleep(<duration>)"),
    ("FIRST", "await FIRST(PATH, <duration>): the record, or absent"),
    ("until", "await until(<boolean>, every: <duration>, most: <duration>): <boolean>"),
    ("parallel", "await parallel([() => …, …]): what the arms give, as a list"),
    ("race", "await race([() => …, …]): what the first arm to end gives"),
];

pub(super) fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMS_WRITTEN.into_iter()
}
/// A condition is not looked at more often.
const LEAST_EVERY: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

impl Body<'_, '_> {
    pub(super) fn await_line(
        &mut self,
        scope: usize,
        bind: Option<&ast::Name>,
        wait: &ast::Await,
    ) -> Option<StatementKind> {
        let allowed = self.may_wait(wait.word, None);
        let open = self.unbound.len();
        self.unbound.extend(bind.map(|name| name.text.clone()));
        let checked = self.wait(wait);
        self.unbound.truncate(open);
        let ty = checked.as_ref().and_then(|(_, gives)| gives.clone());
        if let Some(name) = bind
            && let Some((_, None)) = &checked
        {
            self.report(
                Diagnostic::error(
                    codes::MOV_AWAIT_FORM,
                    name.span,
                    format!("`{}` gives nothing to bind", wait.call.callee.text),
                )
                .help("leave the name and `=` out"),
            );
            self.bind(scope, name, Bound::Value, None);
            return None;
        }
        let bind = bind.map(|name| self.bind(scope, name, Bound::Value, ty));
        let (kind, _) = checked?;
        let written = self.cx.slice(wait.span).split_whitespace().collect::<Vec<_>>().join(" ").into();
        let wait = Wait { span: wait.word.to(wait.span), written, kind };
        allowed.then_some(StatementKind::Await { bind, wait })
    }

    /// Whether a wait may stand here; reports it if not. `through`: the function that is called and waits.
    pub(super) fn may_wait(&mut self, at: Span, through: Option<&str>) -> bool {
        let place = match (self.place, self.no_wait) {
            (Place::Statement, None) => return true,
            (Place::Statement, Some(what)) => what,
            (Place::Hop, _) => "a WHERE, an ORDER BY or a key of `SORT`",
            (Place::Listen, _) => "the WHERE of a listen",
            (Place::Constant, _) => "a file-level value",
            (Place::Test, _) => "a line of a test",
        };
        let report = match through {
            Some(name) => {
                Diagnostic::error(codes::MOV_AWAIT_PLACE, at, format!("`{name}` waits, and {place} cannot wait"))
                    .label("called here")
            }
            None => Diagnostic::error(codes::MOV_AWAIT_PLACE, at, format!("{place} cannot wait")),
        };
        self.report(report.help("wait before it or after it, in a statement of the function or of an arm"));
        false
    }

    /// What is waited for, and what that gives; `None` there: nothing.
    fn wait(&mut self, wait: &ast::Await) -> Option<(WaitKind, Option<Ty>)> {
        let call = &wait.call;
        self.cx.offer_waits(call.callee.span);
        if forms().any(|(name, _)| name == call.callee.text) {
            self.cx.notes.mention(call.callee.span, Meaning::Wait);
        }
        match call.callee.text.as_str() {
            "sleep" => {
                let [length] = self.wait_args(call, "sleep(2h)", &[None])?;
                let length = self.length(length)?;
                Some((WaitKind::Sleep(length), None))
            }
            "FIRST" => {
                let [path, most] = self.wait_args(call, "FIRST(PATH, 2d)", &[None, None])?;
                let most = self.length(most);
                let ast::ExprKind::Path(path) = &path.kind else {
                    if !matches!(path.kind, ast::ExprKind::Bad) {
                        self.report(
                            Diagnostic::error(codes::MOV_AWAIT_FORM, path.span, "`FIRST` waits for a path's record")
                                .label("no path")
                                .help("a path is a connection and one hop: `crm-[c:Company WHERE …]->`"),
                        );
                    }
                    return None;
                };
                let (first, on) = self.first(path)?;
                Some((first(most?), Some(Ty::Position(on).optional())))
            }
            "until" => {
                let written = "until(condition, every: 5m, most: 2d)";
                let [condition, every, most] = self.wait_args(call, written, &[None, Some("every"), Some("most")])?;
                let outer = self.no_wait.replace("the condition of `until`");
                let condition = self.at(Place::Hop, |body| body.condition(condition));
                self.no_wait = outer;
                let (every, most) = (self.length(every), self.length(most));
                if let Some(every) = &every
                    && let Some(length) = plain_duration(every)
                    && length < LEAST_EVERY
                {
                    self.report(
                        Diagnostic::error(
                            codes::MOV_AWAIT_LENGTH,
                            every.span,
                            "a condition is looked at once a second at most",
                        )
                        .label("too often")
                        .fix("write `1s`", every.span, "1s"),
                    );
                    return None;
                }
                Some((WaitKind::Until { condition: condition?, every: every?, most: most? }, Some(Ty::Boolean)))
            }
            "parallel" => self.arms(call, false),
            "race" => self.arms(call, true),
            other => {
                let other = other.to_owned();
                self.no_form(call, &other);
                None
            }
        }
    }

    fn no_form(&mut self, call: &ast::Call, name: &str) {
        self.visit_args(call);
        let report = Diagnostic::error(codes::MOV_AWAIT_FORM, call.callee.span, format!("`{name}` is not waited for"));
        let names = || forms().map(|(name, _)| name);
        let near = names().find(|form| form.eq_ignore_ascii_case(name));
        let near = near.or_else(|| suggest::nearest(name, names()));
        let declared = self.cx.peek(self.file, &call.callee.text).is_some();
        self.report(match near {
            Some(near) if !declared => {
                report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), call.callee.span, near)
            }
            _ if declared => report.label("a function runs where it is called").help("leave `await` out"),
            _ => report.help(FORMS),
        });
    }

    /// The arguments of a form, each with its name where it has one.
    fn wait_args<'e, const N: usize>(
        &mut self,
        call: &'e ast::Call,
        written: &str,
        names: &[Option<&str>; N],
    ) -> Option<[&'e ast::Expr; N]> {
        let found: Option<Vec<&'e ast::Expr>> = names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let arg = match name {
                    None => call.args.get(index).filter(|arg| arg.name.is_none()),
                    Some(name) => {
                        call.args.iter().find(|arg| arg.name.as_ref().is_some_and(|given| given.text == *name))
                    }
                };
                arg.map(|arg| &arg.value)
            })
            .collect();
        let found = found.filter(|_| call.args.len() == N).and_then(|found| <[&ast::Expr; N]>::try_from(found).ok());
        if found.is_none() {
            self.visit_args(call);
            self.report(
                Diagnostic::error(
                    codes::MOV_AWAIT_FORM,
                    call.callee.span,
                    format!("`{}` is written `await {written}`", call.callee.text),
                )
                .label("not with these arguments"),
            );
        }
        found
    }

    /// How long; present and a duration.
    fn length(&mut self, value: &ast::Expr) -> Option<Expr> {
        let typed = self.present(value, "a wait has a length")?;
        if typed.ty.kind() != Kind::Duration {
            let shown = self.show(&typed.ty);
            self.report(
                Diagnostic::error(
                    codes::MOV_AWAIT_LENGTH,
                    typed.span,
                    format!("how long is a duration, not `{shown}`"),
                )
                .label(shown)
                .help("such as `90s`, `2h` or `1d12h`"),
            );
            return None;
        }
        if plain_duration(&typed).is_some_and(|length| !length.is_positive()) {
            self.report(
                Diagnostic::error(codes::MOV_AWAIT_LENGTH, typed.span, "a wait of this length is none")
                    .help("leave it out, or make it longer"),
            );
            return None;
        }
        Some(typed)
    }

    /// The record of a listenable type, one hop from its connection.
    fn first(&mut self, path: &ast::Path) -> Option<(impl FnOnce(Expr) -> WaitKind + use<>, crate::types::TypeRef)> {
        if self.in_scope(&path.head.text) && self.cx.peek(self.file, &path.head.text).is_none() {
            self.find_local(&path.head);
            self.report(
                Diagnostic::error(
                    codes::MOV_AWAIT_FORM,
                    path.head.span,
                    format!("`{}` is a record; what changes is listened to from its connection", path.head.text),
                )
                .help("start at the connection, and test in the WHERE which record it is"),
            );
            return None;
        }
        let (on, hop) = super::listens::source(self.cx, self.file, path)?;
        let shape = self.cx.graph.shape(&on)?;
        let listening = shape.listenable.as_ref()?;
        let (scope, mark) = (self.open(), self.mark());
        let ty = Some(Ty::Position(on.clone()));
        let item = match &hop.alias {
            Some(alias) => self.bind(scope, alias, Bound::Alias, ty),
            None => self.anonymous(ty),
        };
        self.landed.push(Landed { local: item, on: on.clone(), alias: alias_text(hop) });
        let parts = self.listen_filter(hop, &on, &listening.pins);
        self.landed.pop();
        self.forget(mark);
        self.close(scope);
        let (pins, filter) = parts?;
        for pin in listening.pins.iter().filter(|pin| pin.required) {
            let value = pins.iter().find(|(field, _)| *field == pin.field).map(|(_, value)| value);
            if let Some(value) = value.filter(|value| !is_fixed(value)) {
                self.report(
                    Diagnostic::error(
                        codes::MOV_HOP_PIN_REQUIRED,
                        value.span,
                        format!("`{}` has to be known before the run begins", pin.field),
                    )
                    .label("known only in the run")
                    .help(
                        "what is waited for is listened to from the start: fix it to a literal or a file-level value",
                    ),
                );
                return None;
            }
        }
        let every = super::listens::interval(listening);
        let (watched, filter) = (on.clone(), filter.map(|filter| filter.expr));
        Some((move |most| WaitKind::First { on: watched, item, pins, filter, every, most }, on))
    }

    /// `parallel([() => …])`, `race([() => …])`
    fn arms(&mut self, call: &ast::Call, race: bool) -> Option<(WaitKind, Option<Ty>)> {
        let name = if race { "race" } else { "parallel" };
        let written = format!("{name}([() => …, () => …])");
        let [list] = self.wait_args(call, &written, &[None])?;
        let ast::ExprKind::List(items) = &list.kind else {
            self.not_arms(call, list, name);
            return None;
        };
        if items.is_empty() {
            self.report(
                Diagnostic::error(codes::MOV_AWAIT_ARMS, list.span, format!("`{name}` of nothing never ends"))
                    .label("has no arm")
                    .help(format!("written `await {written}`")),
            );
            return None;
        }
        let mut arms = Vec::with_capacity(items.len());
        let mut gives: Option<Vec<(Span, Option<Ty>)>> = Some(Vec::new());
        for item in items {
            let (ast::ListItem::Item(arm) | ast::ListItem::Spread(arm)) = item;
            let ast::ExprKind::Closure(closure) = &arm.kind else {
                self.not_arms(call, arm, name);
                gives = None;
                continue;
            };
            match (self.arm(closure, name), gives.as_mut()) {
                (Some((body, ty)), Some(all)) => {
                    arms.push(body);
                    all.push((closure.head, ty));
                }
                (_, _) => gives = None,
            }
        }
        let gives = self.arms_give(gives?, name)?;
        let ty = gives.map(|ty| if race { ty } else { Ty::List(Box::new(ty)) });
        Some((WaitKind::Arms { race, arms }, ty))
    }

    fn not_arms(&mut self, call: &ast::Call, arg: &ast::Expr, name: &str) {
        if let ast::ExprKind::Closure(closure) = &arg.kind {
            self.visit_closure(closure);
        } else if self.expr(arg).is_none() {
            return;
        }
        let at = if matches!(arg.kind, ast::ExprKind::Bad) { call.callee.span } else { arg.span };
        let report =
            Diagnostic::error(codes::MOV_AWAIT_ARMS, at, format!("`{name}` takes a list of closures, its arms"));
        let text = self.cx.slice(arg.span);
        self.report(if matches!(arg.kind, ast::ExprKind::Closure(_)) {
            report.fix("write a list", arg.span, format!("[{text}]"))
        } else if matches!(arg.kind, ast::ExprKind::Call(_)) {
            report.fix("write a closure", arg.span, format!("() => {text}"))
        } else {
            report.help(format!("written `await {name}([() => …, () => …])`"))
        });
    }

    /// One arm: a closure without parameters, in which waits may stand.
    fn arm(&mut self, closure: &ast::Closure, name: &str) -> Option<(ClosureBody, Option<Ty>)> {
        if let Some(param) = closure.params.first() {
            self.report(
                Diagnostic::error(codes::MOV_AWAIT_ARMS, closure.head, format!("an arm of `{name}` is given nothing"))
                    .label(format!("takes `{}`", param.text))
                    .fix("write `()`", closure.head, "()"),
            );
            self.visit_closure(closure);
            return None;
        }
        let outer = self.no_wait.take();
        let checked = self.within_closure(closure, std::iter::empty(), |body, _| match &closure.body {
            ast::ClosureBody::Value(value) => {
                let typed = if let ast::ExprKind::Call(call) = &value.kind
                    && body.is_function(&call.callee)
                {
                    body.call_statement(value.span, call)?
                } else {
                    body.expr(value)?
                };
                // A call that gives nothing is there for what it does.
                let gives =
                    (typed.ty != Ty::Absent || !matches!(typed.kind, ExprKind::Call { .. })).then(|| typed.ty.clone());
                Some((ClosureBody::Value(typed), gives))
            }
            ast::ClosureBody::Block(block) => {
                let checked = body.block(block);
                let returns = std::mem::take(&mut body.returns);
                let values: Vec<_> =
                    returns.iter().filter_map(|found| Some((found.span, found.value.clone()?))).collect();
                if !values.is_empty() && (!checked.ends || returns.len() > values.len()) {
                    let end = block.span.end;
                    body.report(
                        Diagnostic::error(
                            codes::MOV_RETURN_MISSING,
                            Span { start: end.saturating_sub(1), end, ..block.span },
                            "this arm gives a value on some ways and none on others",
                        )
                        .label("gets here without a value")
                        .help("end every way through it with `return` and a value, or none"),
                    );
                    return None;
                }
                let gives = functions::common(body.cx, values)?;
                Some((ClosureBody::Block(checked.block?), gives))
            }
        });
        self.no_wait = outer;
        checked
    }

    fn is_function(&self, name: &ast::Name) -> bool {
        let entry = self.cx.peek(self.file, &name.text);
        entry.is_some_and(|entry| matches!(entry.symbol, Symbol::Function(_)))
    }

    /// What all arms give: values of one type, or nothing.
    fn arms_give(&mut self, gives: Vec<(Span, Option<Ty>)>, name: &str) -> Option<Option<Ty>> {
        let first = gives.iter().find(|(_, ty)| ty.is_some()).map(|(span, _)| *span);
        let none = gives.iter().find(|(_, ty)| ty.is_none()).map(|(span, _)| *span);
        if let (Some(some), Some(none)) = (first, none) {
            self.report(
                Diagnostic::error(
                    codes::MOV_AWAIT_ARMS,
                    none,
                    format!("one arm of `{name}` gives nothing, and another a value"),
                )
                .label("gives nothing")
                .also(some, "gives a value")
                .help("give values of one type in all, such as `return null`, or in none"),
            );
            return None;
        }
        let values = gives.into_iter().filter_map(|(span, ty)| ty.map(|ty| (span, Some(ty)))).collect();
        functions::common(self.cx, values)
    }
}

/// A duration that stands in the text.
fn plain_duration(value: &Expr) -> Option<jiff::SignedDuration> {
    if let ExprKind::Literal(lf_module::Value::Duration(length)) = &value.kind { Some(*length) } else { None }
}

/// Whether a pin's value is known without a run.
fn is_fixed(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Literal(_) | ExprKind::Constant(_) => true,
        ExprKind::Field { base, name: _ } => is_fixed(base),
        ExprKind::Interpolate(parts) => parts.iter().all(is_fixed),
        ExprKind::Local(_)
        | ExprKind::Not(_)
        | ExprKind::Negate(_)
        | ExprKind::Binary { .. }
        | ExprKind::Is { .. }
        | ExprKind::As { .. }
        | ExprKind::Exists(_)
        | ExprKind::If { .. }
        | ExprKind::List(_)
        | ExprKind::Record(_)
        | ExprKind::Call { .. }
        | ExprKind::Builtin { .. }
        | ExprKind::Through(_)
        | ExprKind::Read(_) => false,
    }
}
