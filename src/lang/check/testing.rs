//! `test "…" { … }`: lines that are proved against the same descriptions as the code. Runs nothing.
//!
//! What stands in a line neither reads nor writes; records, the files in them and paths are `testing/records.rs`,
//! `testing/files.rs` and `testing/paths.rs`.

mod files;
mod paths;
mod records;

use indexmap::{IndexMap, IndexSet};
use jiff::Timestamp;
use lf_module::{
    call::ChangeKind,
    schema::{Count, TypeShape},
    value::Value,
};
use smol_str::SmolStr;

use self::records::Side;
use super::{
    body::{Body, Place},
    context::Context,
    imports::Targets,
    listens::Gathered,
    literals,
    study::Earlier,
    typed::{Expr, ExprKind, Listen, Op, Test, TestField, TestLine, TestLineKind, TestReply},
};
use crate::{
    diag::{Diagnostic, codes},
    source::{SourceId, Span},
    syntax::ast::{self, Act, Item, Reply},
    types::{Kind, TypeRef},
};

/// The tests of each file.
pub(super) type Each = Vec<Found>;

/// What was found in the tests of one file.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In order; `None` for one that failed. None at all of a file that was kept.
    tests: Vec<Option<Test>>,
    pub(super) asks: Vec<Ask>,
}

/// What a line depends on beside its file: it is judged when all files are known.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    /// Whether anything fires.
    Fires { span: Span, kind: ChangeKind, on: TypeRef },
    /// Whether any function writes that.
    Written { span: Span, on: TypeRef },
}

/// Checks the tests of all files; of those that were kept only what they ask is taken over.
pub(super) fn each(cx: &mut Context<'_>, earlier: &Earlier<'_>) -> Each {
    let program = cx.program;
    let mut all = Vec::with_capacity(program.files.len());
    for (file, tree) in program.files.iter().enumerate() {
        let mut found = Found::default();
        if let Some(facts) = earlier.of(cx, file) {
            found.asks.clone_from(&facts.asks);
            all.push(found);
            continue;
        }
        let mut names: IndexMap<SmolStr, Span> = IndexMap::new();
        for item in &tree.items {
            let Item::Test(item) = item else { continue };
            distinct(cx, &mut names, item);
            let test = check_one(cx, file, item, &mut found.asks);
            found.tests.push(test);
        }
        all.push(found);
    }
    all
}

/// The tests of the root files; `None` if one of them failed. Judges what they ask.
pub(super) fn gather(
    cx: &mut Context<'_>,
    targets: &Targets,
    each: Each,
    listens: Option<&Gathered>,
) -> Option<Vec<Test>> {
    let program = cx.program;
    let roots: std::collections::HashSet<_> = program.roots.iter().copied().collect();
    let whole = !cx.broken && cx.functions.iter().all(|function| !function.effects.pending);
    let written: IndexSet<TypeRef> =
        cx.functions.iter().flat_map(|function| function.effects.writes.types().cloned()).collect();
    let mut all = Some(Vec::new());
    for (file, (tree, found)) in program.files.iter().zip(each).enumerate() {
        if found.asks.is_empty() && found.tests.is_empty() {
            continue;
        }
        let reach = reach(cx, targets, file);
        for ask in found.asks {
            match ask {
                Ask::Written { span, on } if whole && !written.contains(&on) => never(cx, &on, span),
                Ask::Fires { span, kind, on } => {
                    let Some((roots, imported)) = listens else { continue };
                    let within = |listen: &&Listen| reach.contains(&listen.span.source) && listen.on == on;
                    let kinds: Vec<_> =
                        roots.iter().chain(imported).filter(within).map(|listen| &listen.settings.kinds).collect();
                    warn_of_silence(cx, span, kind, &on, &kinds);
                }
                Ask::Written { .. } => {}
            }
        }
        if !roots.contains(&tree.source) {
            continue;
        }
        for test in found.tests {
            match (all.as_mut(), test) {
                (Some(list), Some(test)) => list.push(Test { reach: reach.clone(), ..test }),
                (_, _) => all = None,
            }
        }
    }
    all
}

/// A file and everything that it imports, in the order of the files.
fn reach(cx: &Context<'_>, targets: &Targets, file: usize) -> Vec<SourceId> {
    let mut met = IndexSet::from([file]);
    let mut at = 0;
    while let Some(&next) = met.get_index(at) {
        met.extend(targets.get(next).into_iter().flatten().flatten().copied());
        at += 1;
    }
    met.sort_unstable();
    met.iter().filter_map(|file| cx.program.files.get(*file)).map(|tree| tree.source).collect()
}

fn distinct(cx: &mut Context<'_>, names: &mut IndexMap<SmolStr, Span>, item: &ast::Test) {
    if let Some(&first) = names.get(&item.name.text) {
        cx.report(
            Diagnostic::error(
                codes::MOV_TEST_TWICE,
                item.name.span,
                format!("two tests of this file are called {:?}", item.name.text),
            )
            .label("which of the two is meant could not be told")
            .also(first, "the other one")
            .help("say what this one shows"),
        );
        return;
    }
    names.insert(item.name.text.clone(), item.name.span);
}

fn check_one(cx: &mut Context<'_>, file: usize, item: &ast::Test, asks: &mut Vec<Ask>) -> Option<Test> {
    let at = instant(cx, item.at.as_ref());
    let mut lines = Some(Vec::with_capacity(item.lines.len()));
    for line in &item.lines {
        let checked = check_line(cx, file, line, asks);
        match (lines.as_mut(), checked) {
            (Some(list), Some(line)) => list.push(line),
            (_, _) => lines = None,
        }
    }
    // Its reach is known when all files are.
    Some(Test { span: item.name.span, name: item.name.text.clone(), at: at?, reach: Vec::new(), lines: lines? })
}

/// A change that nothing listens to is only worth something as a record that a write may find.
fn warn_of_silence(cx: &mut Context<'_>, span: Span, kind: ChangeKind, on: &TypeRef, listening: &[&Vec<ChangeKind>]) {
    let shape = cx.graph.shape(on);
    let found = shape.is_some_and(|shape| shape.updatable || !shape.find_by.is_empty());
    // A run may wait for it.
    if shape.is_some_and(|shape| shape.listenable.is_some())
        && kind != ChangeKind::Deleted
        && cx.functions.iter().any(|function| function.effects.waits)
    {
        return;
    }
    if (listening.is_empty() && found) || listening.iter().any(|kinds| kinds.contains(&kind)) {
        return;
    }
    let shown = cx.graph.show_position(on);
    let word = match kind {
        ChangeKind::Created => "created",
        ChangeKind::Updated => "updated",
        ChangeKind::Deleted => "deleted",
    };
    cx.report(
        Diagnostic::warning(
            codes::MOV_TEST_FIRES_NOTHING,
            span,
            format!("no listen of this file fires when a record of `{shown}` is {word}"),
        )
        .help("a test fires the listens of its own file and of the files that it imports"),
    );
}

/// Reports a write that no function of the files makes.
fn never(cx: &mut Context<'_>, on: &TypeRef, at: Span) {
    let shown = cx.graph.show_position(on);
    cx.report(
        Diagnostic::error(codes::MOV_TEST_NEVER, at, format!("no function writes `{shown}`"))
            .label("could not be met")
            .help("a test of what stays as it is says `expect no write`"),
    );
}

fn instant(cx: &mut Context<'_>, at: Option<&ast::Plain>) -> Option<Option<Timestamp>> {
    let Some(at) = at else { return Some(None) };
    if let Ok(instant) = at.text.parse() {
        return Some(Some(instant));
    }
    cx.report(
        Diagnostic::error(codes::MOV_TEST_TIME, at.span, format!("{:?} is no instant", at.text))
            .label("what the clock of this test shows")
            .help("write it with its zone, such as `at \"2026-01-05T09:00:00Z\"`"),
    );
    None
}

fn check_line(cx: &mut Context<'_>, file: usize, line: &ast::TestLine, asks: &mut Vec<Ask>) -> Option<TestLine> {
    let mut body = Body::new(cx, file, Place::Test);
    let mut values = Vec::new();
    let kind = body.test_line(line, asks, &mut values);
    body.warn_unused(true);
    let locals = u32::try_from(body.locals.len()).unwrap_or(u32::MAX);
    Some(TestLine { span: line.span, locals, values, kind: kind? })
}

impl Body<'_, '_> {
    fn test_line(&mut self, line: &ast::TestLine, asks: &mut Vec<Ask>, values: &mut Vec<Expr>) -> Option<TestLineKind> {
        match &line.kind {
            ast::TestLineKind::Given { kind, path, record, before } => {
                self.given_change(line.span, *kind, (path, record, before.as_ref()), asks, values)
            }
            ast::TestLineKind::After(length) => self.after(length),
            ast::TestLineKind::Answer { path, reply } => self.answer(path, reply, values),
            ast::TestLineKind::Write { path, record } => {
                let on = self.bare_path(path, "`expect write`");
                let record = self.record_on(on.as_ref(), record, Side::Written, values);
                let (on, record) = (on?, record?);
                self.can_happen(&on, path, &record, asks)?;
                Some(TestLineKind::Write { on, record })
            }
            ast::TestLineKind::Delete { path, record } => self.deletion(path, record.as_ref(), asks, values),
            ast::TestLineKind::Tie { join, path, record } => self.joining(*join, path, record.as_ref(), (asks, values)),
            ast::TestLineKind::None { act, path } => self.nothing(*act, path.as_ref(), values),
            ast::TestLineKind::Fails(with) => {
                values.push(self.failing(with, false)?);
                Some(TestLineKind::Fails)
            }
            ast::TestLineKind::Holds(condition) => {
                let condition = self.condition(condition)?;
                let sides = sides(&condition);
                let compared = sides.is_some();
                if let Some((left, right)) = sides {
                    values.extend([left.clone(), right.clone()]);
                }
                values.push(condition);
                Some(TestLineKind::Holds { compared })
            }
            ast::TestLineKind::Bad => None,
        }
    }

    fn given_change(
        &mut self,
        span: Span,
        kind: ChangeKind,
        (path, record, before): (&ast::Path, &ast::Expr, Option<&ast::Expr>),
        asks: &mut Vec<Ask>,
        values: &mut Vec<Expr>,
    ) -> Option<TestLineKind> {
        let on = self.bare_path(path, "`given`");
        let record = self.record_on(on.as_ref(), record, Side::Read, values);
        let earlier = before.map(|before| self.record_on(on.as_ref(), before, Side::Read, values));
        if let Some(before) = before
            && kind != ChangeKind::Updated
        {
            self.report(
                Diagnostic::error(codes::MOV_TEST_BEFORE, before.span, "only an updated record was another before")
                    .label("what it was")
                    .help("write `given updated PATH { … } before { … }`, or leave it out"),
            );
            return None;
        }
        let on = on?;
        asks.push(Ask::Fires { span, kind, on: on.clone() });
        let before = match earlier {
            Some(earlier) => Some(earlier?),
            None => None,
        };
        Some(TestLineKind::Given { kind, on, record: record?, before })
    }

    fn after(&mut self, length: &ast::Expr) -> Option<TestLineKind> {
        if matches!(length.kind, ast::ExprKind::Bad) {
            return None;
        }
        if let Some(Value::Duration(length)) = literals::literal(length)
            && length.is_positive()
        {
            return Some(TestLineKind::After(length));
        }
        self.report(
            Diagnostic::error(codes::MOV_TEST_TIME, length.span, "`after` takes how long passes")
                .label("no length of time")
                .help("such as `after 2d` or `after 1h30m`"),
        );
        None
    }

    /// `fails "text"`, `fails 503`: the text that a failure holds, or the status that a system answers.
    fn failing(&mut self, with: &ast::Expr, status: bool) -> Option<Expr> {
        let typed = self.expr(with)?;
        let fits = match literals::literal(with) {
            Some(Value::Number(number)) => status && number.as_i64().is_some_and(|code| (400..600).contains(&code)),
            Some(_) | None => typed.ty.kind() == Kind::Text && !typed.ty.may_be_absent(),
        };
        if fits {
            return Some(typed);
        }
        let (wants, help) = if status {
            (
                "what a system says, or a status",
                "write `fails \"no such team\"`, or a status of 400 to 599: `fails 503`",
            )
        } else {
            ("words of the failure", "write `expect fails \"no such team\"`")
        };
        self.report(
            Diagnostic::error(codes::MOV_TEST_FAILS, with.span, format!("`fails` takes {wants}"))
                .label(self.show(&typed.ty))
                .help(help),
        );
        None
    }

    fn answer(&mut self, path: &ast::Path, reply: &Reply, values: &mut Vec<Expr>) -> Option<TestLineKind> {
        let walked = self.answered_path(path, values);
        let on = walked.as_ref().map(|walked| &walked.on);
        let shape = on.and_then(|on| self.cx.graph.shape(on));
        let reply = match reply {
            Reply::Fails(with) => self.failing(with, true).map(|with| {
                values.push(with);
                TestReply::Fails
            }),
            Reply::Records(records) => {
                if let ast::ExprKind::List(items) = &records.kind {
                    self.may_land(records.span, shape, items.len());
                    self.landed_records(on, items, values).map(TestReply::Many)
                } else {
                    self.record_on(on, records, Side::Read, values).map(TestReply::One)
                }
            }
        };
        let walked = walked?;
        Some(TestLineKind::Answer { on: walked.on, from: walked.from, pins: walked.pins, reply: reply? })
    }

    fn landed_records(
        &mut self,
        on: Option<&TypeRef>,
        items: &[ast::ListItem],
        values: &mut Vec<Expr>,
    ) -> Option<Vec<Vec<TestField>>> {
        let mut all = Some(Vec::with_capacity(items.len()));
        for item in items {
            let (ast::ListItem::Item(value) | ast::ListItem::Spread(value)) = item;
            let record = self.record_on(on, value, Side::Read, values);
            match (all.as_mut(), record) {
                (Some(list), Some(record)) => list.push(record),
                (_, _) => all = None,
            }
        }
        all
    }

    /// Whether so many records can be the answer of a read.
    fn may_land(&mut self, at: Span, shape: Option<&TypeShape>, count: usize) {
        let Some(shape) = shape else { return };
        let why = match shape.count {
            _ if !shape.readable && shape.writable => "is written, and answers with one record",
            Count::One if count != 1 => "answers with one record",
            Count::One | Count::Optional | Count::Many => return,
        };
        self.report(
            Diagnostic::error(codes::MOV_TEST_ANSWER, at, format!("`{}` {why}", shape.name))
                .label("a list of records")
                .help("write one record: `answer PATH { … }`"),
        );
    }

    fn deletion(
        &mut self,
        path: &ast::Path,
        record: Option<&ast::Expr>,
        asks: &mut Vec<Ask>,
        values: &mut Vec<Expr>,
    ) -> Option<TestLineKind> {
        let on = self.bare_path(path, "`expect delete`");
        let fields = record.map(|record| self.record_on(on.as_ref(), record, Side::Key, values));
        let on = on?;
        asks.push(Ask::Written { span: path.span, on: on.clone() });
        let key = match fields {
            Some(fields) => fields?.into_iter().next(),
            None => None,
        };
        Some(TestLineKind::Delete { on, key })
    }

    fn joining(
        &mut self,
        join: bool,
        path: &ast::Path,
        record: Option<&ast::Expr>,
        (asks, values): (&mut Vec<Ask>, &mut Vec<Expr>),
    ) -> Option<TestLineKind> {
        let line = if join { "`expect link`" } else { "`expect unlink`" };
        let tied = self.tied_path(path, line, values);
        let target = tied.as_ref().map(|(_, target)| target);
        let fields = record.map(|record| self.record_on(target, record, Side::Key, values));
        let (tie, _) = tied?;
        asks.push(Ask::Written { span: path.span, on: tie.on.clone() });
        let to = match fields {
            Some(fields) => fields?.into_iter().next(),
            None => None,
        };
        Some(TestLineKind::Tie { join, tie, to })
    }

    fn nothing(&mut self, act: Act, path: Option<&ast::Path>, values: &mut Vec<Expr>) -> Option<TestLineKind> {
        let (join, line) = match act {
            Act::Write => {
                let on = path.map(|path| self.bare_path(path, "`expect no write`"));
                return Some(TestLineKind::NoWrite { on: whole(on)? });
            }
            Act::Delete => {
                let on = path.map(|path| self.bare_path(path, "`expect no delete`"));
                return Some(TestLineKind::NoDelete { on: whole(on)? });
            }
            Act::Link => (true, "`expect no link`"),
            Act::Unlink => (false, "`expect no unlink`"),
        };
        let tied = path.map(|path| self.tied_path(path, line, values));
        Some(TestLineKind::NoTie { join, tie: whole(tied)?.map(|(tie, _)| tie) })
    }
}

/// What may be left out, and what failed.
#[expect(clippy::option_option, reason = "outside: it is whole; inside: it is there")]
fn whole<T>(found: Option<Option<T>>) -> Option<Option<T>> {
    match found {
        Some(found) => found.map(Some),
        None => Some(None),
    }
}

/// The two sides of a comparison, so that a failure can show both.
fn sides(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let ExprKind::Binary { op, left, right } = &condition.kind else { return None };
    match op {
        Op::Equal
        | Op::NotEqual
        | Op::Less
        | Op::LessEqual
        | Op::Greater
        | Op::GreaterEqual
        | Op::In
        | Op::Contains => Some((left, right)),
        Op::Or | Op::And | Op::Within | Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder => None,
    }
}
