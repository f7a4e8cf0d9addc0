//! What functions do to systems, and the loops between listens that follow from it. Reads typed trees only.

use indexmap::IndexSet;
use smol_str::SmolStr;

use super::{
    circles::{self, Act, Acts},
    context::Context,
    typed::{
        Block, ClosureBody, EntryMode, Expr, ExprKind, Function, FunctionId, Item, Listen, Path, PathStart, RecordItem,
        StatementKind, WaitKind, Way, WriteTarget,
    },
};
use crate::diag::{Diagnostic, codes};

/// The effect row of a function.
#[derive(Debug, Clone)]
pub(crate) struct Effects {
    /// It is not known yet: taken to write.
    pub(super) pending: bool,
    pub(super) reads: bool,
    pub(super) waits: bool,
    /// It may end the run with `ERROR`.
    fails: bool,
    pub(crate) writes: Acts,
    pub(crate) calls: IndexSet<usize>,
}

impl Default for Effects {
    fn default() -> Self {
        Self {
            pending: true,
            reads: false,
            waits: false,
            fails: false,
            writes: Acts::default(),
            calls: IndexSet::new(),
        }
    }
}

impl Effects {
    pub(super) fn writes_anything(&self) -> bool {
        self.pending || !self.writes.is_empty()
    }

    /// What the body of a function does by itself, and whom it calls.
    pub(crate) fn of(function: &Function) -> Self {
        let mut effects = Self { pending: false, ..Self::default() };
        effects.block(&function.body);
        effects
    }

    fn block(&mut self, block: &Block) {
        for statement in block {
            match &statement.kind {
                StatementKind::Bind { value, local: _ } => self.expr(value),
                StatementKind::Do(value) => self.expr(value),
                StatementKind::Fail(why) => {
                    self.fails = true;
                    self.expr(why);
                }
                StatementKind::Write { write, refused, bind: _ } => {
                    self.writes.add(&write.on, Act::write(write));
                    if let WriteTarget::CreateUnder { owner: record, edge: _ } | WriteTarget::Update(record) =
                        &write.target
                    {
                        self.expr(record);
                    }
                    for entry in &write.entries {
                        self.reads |= matches!(entry.mode, EntryMode::Fill | EntryMode::Add);
                        self.expr(&entry.value);
                    }
                    if let Some(refused) = refused {
                        self.block(&refused.body);
                    }
                }
                StatementKind::Delete { target } => {
                    if let Some(on) = target.ty.described() {
                        self.writes.add(on, Act::delete());
                    }
                    self.expr(target);
                }
                StatementKind::Link { from, to, join: _, edge: _ } => {
                    for end in [from, to] {
                        if let Some(on) = end.ty.described() {
                            self.writes.add(on, Act::link());
                        }
                        self.expr(end);
                    }
                }
                StatementKind::Await { wait, bind: _ } => self.wait(&wait.kind),
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
                StatementKind::Return(value) => {
                    if let Some(value) = value {
                        self.expr(value);
                    }
                }
            }
        }
    }

    fn wait(&mut self, wait: &WaitKind) {
        self.waits = true;
        match wait {
            WaitKind::Sleep(length) => self.expr(length),
            WaitKind::First { on: _, item: _, pins, filter, every: _, most } => {
                self.reads = true;
                for value in pins.iter().map(|(_, value)| value).chain(filter).chain([most]) {
                    self.expr(value);
                }
            }
            WaitKind::Until { condition, every, most } => {
                for value in [condition, every, most] {
                    self.expr(value);
                }
            }
            WaitKind::Arms { race: _, arms } => {
                for arm in arms {
                    self.closure(arm);
                }
            }
        }
    }

    fn path(&mut self, path: &Path) {
        self.reads = true;
        if let PathStart::Record(record) = &path.start {
            self.expr(record);
        }
        for hop in &path.hops {
            for (_, value) in &hop.pins {
                self.expr(value);
            }
            for (key, _) in &hop.order {
                self.expr(key);
            }
            if let Some(filter) = &hop.filter {
                self.expr(filter);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Local(_) | ExprKind::Constant(_) => {}
            ExprKind::Field { base, name: _ } => self.expr(base),
            ExprKind::Interpolate(parts) | ExprKind::Builtin { args: parts, builtin: _ } => {
                for part in parts {
                    self.expr(part);
                }
            }
            ExprKind::Not(operand)
            | ExprKind::Negate(operand)
            | ExprKind::Is { operand, ty: _ }
            | ExprKind::As { operand, ty: _ }
            | ExprKind::Exists(operand) => self.expr(operand),
            ExprKind::Binary { left, right, op: _ } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::If { arms, otherwise } => {
                for (condition, value) in arms {
                    self.expr(condition);
                    self.expr(value);
                }
                self.expr(otherwise);
            }
            ExprKind::List(items) => {
                for item in items {
                    let (Item::One(value) | Item::Spread(value)) = item;
                    self.expr(value);
                }
            }
            ExprKind::Record(items) => {
                for item in items {
                    let (RecordItem::Field(_, value) | RecordItem::Spread(value)) = item;
                    self.expr(value);
                }
            }
            ExprKind::Call { function, args } => {
                self.calls.insert(function.0 as usize);
                for arg in args {
                    self.expr(arg);
                }
            }
            ExprKind::Read(path) => self.path(path),
            ExprKind::Through(through) => {
                self.expr(&through.list);
                if let Way::Reduce { start, total: _ } = &through.way {
                    self.expr(start);
                }
                self.closure(&through.body);
            }
        }
    }

    fn closure(&mut self, body: &ClosureBody) {
        match body {
            ClosureBody::Value(value) => self.expr(value),
            ClosureBody::Block(block) => self.block(block),
        }
    }

    /// Whether a closure does anything but compute a value.
    pub(super) fn acts(body: &ClosureBody) -> bool {
        let mut effects = Self { pending: false, ..Self::default() };
        effects.closure(body);
        effects.fails || !effects.calls.is_empty() || !effects.writes.is_empty()
    }
}

/// Gives each function of a group, which call one another, what they all do together.
pub(super) fn settle(cx: &mut Context<'_>, group: &[usize]) {
    let mut all = Effects { pending: false, ..Effects::default() };
    for &index in group {
        let Some(function) = cx.functions.get(index) else { continue };
        let Some(typed) = &function.typed else { continue };
        let own = Effects::of(typed);
        for called in own.calls.iter().filter(|called| !group.contains(called)) {
            if let Some(other) = cx.functions.get(*called) {
                all.reads |= other.effects.reads;
                all.waits |= other.effects.waits;
                all.writes.extend(&other.effects.writes);
            }
        }
        all.reads |= own.reads;
        all.waits |= own.waits;
        all.writes.extend(&own.writes);
    }
    for &index in group {
        if let Some(function) = cx.functions.get_mut(index) {
            function.effects = all.clone();
        }
    }
}

/// More listens of one circle than this are not named.
const NAMED: usize = 8;

/// Reports listens that can fire one another in a circle.
pub(super) fn report_loops(cx: &mut Context<'_>, listens: &[Listen]) {
    let acts = |listen: &Listen| {
        let FunctionId(function) = listen.fire;
        cx.functions.get(function as usize).map(|function| &function.effects.writes)
    };
    for circle in circles::circles(listens, &cx.checked_constants, acts) {
        let members: Vec<&Listen> = circle.listens.iter().filter_map(|index| listens.get(*index)).collect();
        let Some((first, others)) = members.split_first() else { continue };
        let names: Vec<SmolStr> = members.iter().take(NAMED).map(|listen| name(cx, listen)).collect();
        let shown = cx.graph.show_position(&first.on);
        let headline = if others.is_empty() {
            format!("`{}` writes `{shown}`, which it listens to", names.join(", "))
        } else {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{} write what fires each other", names.join(", "))
        };
        let report = if circle.ends {
            Diagnostic::information(codes::MOV_LISTEN_CYCLE, first.span, headline)
                .label("fires a function that writes the same type")
                .help("a change caused by a run of this listen does not fire it again")
        } else if let Some(depth) = circle.depth {
            Diagnostic::information(codes::MOV_LISTEN_CYCLE, first.span, headline)
                .label("takes part in a circle")
                .help(format!("it ends as `depth` says: a chain of {depth} changes that cause each other is held"))
        } else {
            Diagnostic::warning(codes::MOV_LISTEN_CYCLE, first.span, headline)
                .label("takes part in a circle")
                .help("nothing but the depth limit of 8 ends it: let one of them hear less, by `on`, `fields` or its WHERE")
                .help("if the circle is meant, say where it ends: `depth: 3` in the settings of one of its listens")
        };
        let circle =
            |report: Diagnostic, other: &&Listen| report.also(other.span, "fires the other, and is fired by it");
        let report = others.iter().take(NAMED).fold(report, circle);
        cx.report(report);
    }
}

fn name(cx: &Context<'_>, listen: &Listen) -> SmolStr {
    let FunctionId(function) = listen.fire;
    cx.functions.get(function as usize).map(|function| function.item.name.text.clone()).unwrap_or_default()
}
