//! Typed program to plan: functions, statements, listens. Expressions are `lower/exprs.rs`, walks `lower/paths.rs`.
//!
//! INVARIANT: what is lowered was checked; nothing is validated again here, and nothing can fail.

mod closures;
mod exprs;
mod paths;
mod testing;
mod waits;

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use smol_str::SmolStr;

use super::{
    ir::{
        Block, BlockId, Connection, Constant, Entry, Expr, ExprId, FORMAT, Function, FunctionIndex, Listen, Op, Param,
        PlaceId, Plan, Refused, Slot, Step, Write, WriteTarget,
    },
    places::Places,
    testing::Tests,
    words,
};
use crate::{
    check::typed::{self, EntryMode, StatementKind},
    run,
    source::{SourceMap, Span},
    types::{Ty, TypeRef},
};

pub(super) fn movement(movement: &typed::Movement, sources: &SourceMap) -> Plan {
    let mut lowered = Lowered::of(movement, sources);
    for listen in &movement.listens {
        lowered.listen(movement, listen);
    }
    lowered.finish()
}

/// The same with what only tests run.
pub(super) fn tests(movement: &typed::Movement, sources: &SourceMap) -> Tests {
    let mut lowered = Lowered::of(movement, sources);
    let mut listens = Vec::new();
    for listen in movement.listens.iter().chain(&movement.imported) {
        listens.push(listen.span.source);
        lowered.listen(movement, listen);
    }
    let Lowered { shared, functions, .. } = &mut lowered;
    let tests = movement.tests.iter().map(|test| testing::test(shared, functions, test)).collect();
    Tests { plan: lowered.finish(), listens, tests }
}

/// A program on its way to a plan.
struct Lowered<'s> {
    shared: Shared<'s>,
    functions: Vec<Function>,
    listens: Vec<Listen>,
}

impl<'s> Lowered<'s> {
    fn of(movement: &typed::Movement, sources: &'s SourceMap) -> Self {
        let connections = movement.connections.iter().map(connection).collect();
        let names = movement.functions.iter().map(|function| function.name.clone()).collect();
        let mut shared = Shared {
            connections,
            functions: names,
            places: Places::new(sources),
            exprs: Vec::new(),
            texts: BTreeMap::new(),
            constants: Vec::with_capacity(movement.constants.len()),
            parts: Vec::new(),
            watches: Vec::new(),
        };
        for constant in &movement.constants {
            // INVARIANT: a constant is made of literals, other constants and pure built-ins, so that it needs no steps.
            let value = Body::new(&mut shared, 0).expr(&constant.value);
            shared.constants.push(Constant { name: constant.name.clone(), value });
        }
        let mut functions: Vec<_> =
            movement.functions.iter().map(|function| self::function(&mut shared, function)).collect();
        functions.append(&mut shared.parts);
        Self { shared, functions, listens: Vec::new() }
    }

    fn listen(&mut self, movement: &typed::Movement, listen: &typed::Listen) {
        let fired = movement.functions.get(listen.fire.0 as usize).map(|function| function.name.clone());
        let fired = fired.unwrap_or_default();
        let lowered = self::listen(&mut self.shared, &mut self.functions, listen, fired);
        self.listens.push(lowered);
    }

    fn finish(self) -> Plan {
        let Self { shared, functions, listens } = self;
        let Shared { connections, functions: _, places, exprs, texts, constants, parts: _, watches } = shared;
        Plan {
            format: FORMAT,
            connections,
            listens,
            watches,
            functions,
            constants,
            exprs,
            places: places.into_places(),
            texts,
        }
    }
}

fn connection(connection: &typed::Connection) -> Connection {
    let typed::Connection { key, name, module, using, settings, span: _ } = connection;
    Connection {
        key: key.clone(),
        name: name.clone(),
        module: module.clone(),
        using: using.clone(),
        settings: settings.clone(),
    }
}

fn function(shared: &mut Shared<'_>, function: &typed::Function) -> Function {
    let place = shared.places.id(function.span, "");
    let params = function.params.iter().map(|param| Param {
        name: param.name.clone(),
        slot: Slot(param.local.0),
        ty: param.ty.clone(),
        text: words::ty(&param.ty, &|on| shared.path(on)).into(),
    });
    let params = params.collect();
    let returns = function.returns.as_ref().map(|ty| words::ty(ty, &|on| shared.path(on)).into());
    let mut body = Body::new(shared, function.locals);
    body.name = function.name.clone();
    body.block(&function.body);
    let (slots, blocks) = body.finish();
    Function { name: function.name.clone(), hidden: false, place, params, returns, slots, blocks }
}

fn listen(shared: &mut Shared<'_>, functions: &mut Vec<Function>, listen: &typed::Listen, fired: SmolStr) -> Listen {
    let place = shared.places.id(listen.span, "");
    let mut body = Body::new(shared, 1);
    let mut pins = BTreeMap::new();
    // A pin that has no value before a run (it divides by zero, it asks for the time) is tested here instead of being
    // sent: the first change then says what is wrong with it.
    let mut conditions = Vec::new();
    for (name, value) in &listen.pins {
        let id = body.expr(value);
        match run::fixed(&body.shared.exprs, &body.shared.constants, id) {
            Ok(value) => {
                pins.insert(name.clone(), value);
            }
            Err(_) => conditions.push(body.pinned_here(Slot(0), name, id)),
        }
    }
    conditions.extend(listen.filter.as_ref().map(|filter| body.expr(filter)));
    let filter = body.all(conditions);
    let filter = if let Some(condition) = filter {
        body.step(place, Op::Return(Some(condition)));
        let (slots, blocks) = body.finish();
        let path = shared.path(&listen.on);
        let param = Param {
            name: SmolStr::default(),
            slot: Slot(0),
            ty: Ty::Position(listen.on.clone()),
            text: path.as_str().into(),
        };
        let index = functions.len();
        functions.push(Function {
            name: format!("where of {path} fire {fired}").into(),
            hidden: true,
            place,
            params: vec![param],
            returns: Some(SmolStr::new_static("boolean")),
            slots,
            blocks,
        });
        Some(FunctionIndex(u32::try_from(index).unwrap_or(u32::MAX)))
    } else {
        None
    };
    let settings = &listen.settings;
    // The WHERE takes no part: a position outlives a change of it.
    let unlabelled = || format!("{} fire {fired}", shared.path(&listen.on)).into();
    Listen {
        name: listen.label.clone().unwrap_or_else(unlabelled),
        place,
        connection: listen.on.connection,
        ty: listen.on.ty.clone(),
        pins,
        filter,
        fire: FunctionIndex(listen.fire.0),
        function: fired,
        with_change: listen.with_change,
        kinds: settings.kinds.clone(),
        fields: settings.fields.clone(),
        every: Duration::try_from(settings.every).unwrap_or_default(),
        start: settings.start,
        concurrency: settings.concurrency,
        retry: settings.retry,
        echo: settings.echo,
        depth: settings.depth,
        timeout: Duration::try_from(settings.timeout).unwrap_or_default(),
        go: settings.go,
        debounce: settings.debounce.map(|length| Duration::try_from(length).unwrap_or_default()),
    }
}

/// What all functions are lowered into.
struct Shared<'s> {
    connections: Vec<Connection>,
    functions: Vec<SmolStr>,
    places: Places<'s>,
    exprs: Vec<Expr>,
    texts: BTreeMap<u32, SmolStr>,
    constants: Vec<Constant>,
    /// The parts of waits, which stand behind the text's functions.
    parts: Vec<Function>,
    watches: Vec<Listen>,
}

impl Shared<'_> {
    fn name(&self, on: &TypeRef) -> SmolStr {
        self.connections.get(on.connection.0 as usize).map(|connection| connection.name.clone()).unwrap_or_default()
    }

    fn path(&self, on: &TypeRef) -> String {
        format!("{}-[:{}]->", self.name(on), on.ty)
    }
}

/// One function on its way to blocks.
struct Body<'a, 's> {
    shared: &'a mut Shared<'s>,
    /// Of the function, for the names of its parts.
    name: SmolStr,
    locals: u32,
    blocks: Vec<Vec<Step>>,
    /// The block that steps are added to.
    here: usize,
    slots: u32,
    labels: BTreeMap<String, u32>,
    /// The closures that are open, innermost last: where what they give goes, and their block.
    closures: Vec<(Slot, BlockId)>,
}

impl<'a, 's> Body<'a, 's> {
    fn new(shared: &'a mut Shared<'s>, locals: u32) -> Self {
        Self {
            shared,
            name: SmolStr::default(),
            locals,
            blocks: vec![Vec::new()],
            here: 0,
            slots: locals,
            labels: BTreeMap::new(),
            closures: Vec::new(),
        }
    }

    fn finish(self) -> (u32, Vec<Block>) {
        (self.slots, self.blocks.into_iter().map(Block).collect())
    }

    fn place(&mut self, span: Span) -> PlaceId {
        self.shared.places.id(span, "")
    }

    fn step(&mut self, place: PlaceId, op: Op) {
        self.step_in(self.here, place, op);
    }

    fn step_in(&mut self, block: usize, place: PlaceId, op: Op) {
        if let Some(steps) = self.blocks.get_mut(block) {
            steps.push(Step { place, op });
        }
    }

    fn new_block(&mut self) -> usize {
        self.blocks.push(Vec::new());
        self.blocks.len() - 1
    }

    fn temporary(&mut self) -> Slot {
        let slot = Slot(self.slots);
        self.slots += 1;
        slot
    }

    fn add(&mut self, expr: Expr) -> ExprId {
        let id = ExprId(u32::try_from(self.shared.exprs.len()).unwrap_or(u32::MAX));
        self.shared.exprs.push(expr);
        id
    }

    /// A label that is unique in this function: the second `write crm.Company` is `write crm.Company~2`.
    fn label(&mut self, what: String) -> SmolStr {
        let count = self.labels.entry(what.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { what.into() } else { format!("{what}~{count}").into() }
    }

    fn block(&mut self, statements: &[typed::Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &typed::Statement) {
        let place = self.place(statement.span);
        match &statement.kind {
            StatementKind::Bind { local, value } => self.bind(Slot(local.0), value),
            StatementKind::Do(value) => self.run_for_effects(value),
            StatementKind::Write { bind, write, refused } => {
                self.write(bind.map(|local| Slot(local.0)), write, refused.as_ref());
            }
            StatementKind::Await { bind, wait } => self.wait(bind.map(|local| Slot(local.0)), wait),
            StatementKind::Delete { target } => {
                let id = self.expr(target);
                let Some(on) = described(&target.ty).cloned() else { return };
                let says = format!("delete {}", self.shared.path(&on));
                let label = self.label(format!("delete {}", self.type_label(&on)));
                let place = self.shared.places.id(statement.span, &says);
                self.step(place, Op::Delete { label, on, target: id });
            }
            StatementKind::Link { join, from, edge, to } => self.link(statement.span, *join, from, edge, to),
            StatementKind::Each { path, body } => {
                let mut run_body = |lowering: &mut Self| lowering.block(body);
                self.walk(path, &mut run_body);
            }
            StatementKind::If { arms, otherwise } => {
                let mut then = |lowering: &mut Self, block: &typed::Block| lowering.block(block);
                match otherwise {
                    Some(block) => self.choose(arms, &mut then, Some(&mut |lowering: &mut Self| lowering.block(block))),
                    None => self.choose(arms, &mut then, None),
                }
            }
            StatementKind::Return(value) => {
                let value = value.as_ref().map(|value| self.expr(value));
                match self.closures.last().copied() {
                    None => self.step(place, Op::Return(value)),
                    Some((slot, block)) => {
                        if let Some(value) = value {
                            self.step(place, Op::Set { slot, value });
                        }
                        self.step(place, Op::Leave { block });
                    }
                }
            }
            StatementKind::Fail(why) => {
                let why = self.expr(why);
                self.step(place, Op::Fail(why));
            }
        }
    }

    /// Conditions one after another, each in the else of the one before, without recursion over their number.
    fn choose<A>(
        &mut self,
        arms: &[(typed::Expr, A)],
        then: &mut dyn FnMut(&mut Self, &A),
        otherwise: Option<&mut dyn FnMut(&mut Self)>,
    ) {
        let start = self.here;
        for (index, (condition, arm)) in arms.iter().enumerate() {
            let place = self.place(condition.span);
            let condition = self.expr(condition);
            let at = self.here;
            let block = self.new_block();
            self.here = block;
            then(self, arm);
            let more = index + 1 < arms.len() || otherwise.is_some();
            let next = more.then(|| self.new_block());
            let op = Op::If { condition, then: block_id(block), otherwise: next.map(block_id) };
            self.step_in(at, place, op);
            self.here = next.unwrap_or(at);
        }
        if let Some(otherwise) = otherwise {
            otherwise(self);
        }
        self.here = start;
    }

    fn write(&mut self, slot: Option<Slot>, write: &typed::Write, refused: Option<&typed::Refused>) {
        let typed::Write { span, on, target, unique, entries } = write;
        let mut operands: Vec<(&typed::Expr, bool)> = Vec::with_capacity(entries.len() + 1);
        let verb = match target {
            typed::WriteTarget::Create => "write",
            typed::WriteTarget::CreateUnder { owner, edge: _ } => {
                operands.push((owner, false));
                "write"
            }
            typed::WriteTarget::Update(record) => {
                operands.push((record, false));
                "update"
            }
        };
        let lead = operands.len();
        operands.extend(entries.iter().map(|entry| (&entry.value, lenient(entry.mode))));
        let mut values = self.operands(&operands).into_iter();
        let record = if lead > 0 { values.next() } else { None };
        let says = format!("{verb} {}", self.shared.path(on));
        let place = self.shared.places.id(*span, &says);
        let target = match (target, record) {
            (typed::WriteTarget::CreateUnder { owner, edge }, Some(record)) => match described(&owner.ty) {
                Some(from) => WriteTarget::Under { record, ty: from.ty.clone(), edge: edge.clone() },
                None => return,
            },
            (typed::WriteTarget::Update(_), Some(record)) => WriteTarget::Update(record),
            (
                typed::WriteTarget::Create | typed::WriteTarget::CreateUnder { .. } | typed::WriteTarget::Update(_),
                _,
            ) => WriteTarget::Create,
        };
        let label = self.label(format!("{verb} {}", self.type_label(on)));
        let mut lowered = Vec::with_capacity(entries.len());
        for (entry, value) in entries.iter().zip(values) {
            let place = self.shared.places.of_field(entry.span, &says, &entry.field);
            lowered.push(Entry { field: entry.field.clone(), place, mode: mode(entry), value });
        }
        let refused = refused.map(|refused| {
            let (start, block) = (self.here, self.new_block());
            self.here = block;
            self.block(&refused.body);
            self.here = start;
            Refused { why: Slot(refused.why.0), body: block_id(block) }
        });
        let write = Write { label, slot, on: on.clone(), target, unique: unique.clone(), entries: lowered, refused };
        self.step(place, Op::Write(Box::new(write)));
    }

    fn link(&mut self, span: Span, join: bool, from: &typed::Expr, edge: &SmolStr, to: &typed::Expr) {
        let Some(on) = described(&from.ty).cloned() else { return };
        let [from, to] = self.operands(&[(from, false), (to, false)])[..] else { return };
        let verb = if join { "link" } else { "unlink" };
        let says = format!("{verb} {}-[:{edge}]->", self.shared.path(&on));
        let label = self.label(format!("{verb} {}.{}", self.type_label(&on), escape(edge)));
        let place = self.shared.places.id(span, &says);
        self.step(place, Op::Link { label, on, edge: edge.clone(), join, from, to });
    }

    fn type_label(&self, on: &TypeRef) -> String {
        format!("{}.{}", escape(&self.shared.name(on)), escape(&on.ty))
    }
}

fn block_id(index: usize) -> BlockId {
    BlockId(u32::try_from(index).unwrap_or(u32::MAX))
}

/// A value of type json is there, and may yet be JSON's `null`: that is what is written then.
fn mode(entry: &typed::Entry) -> EntryMode {
    if entry.mode == EntryMode::Set && entry.value.ty == Ty::Json { EntryMode::SetOrClear } else { entry.mode }
}

/// Whether an entry may be absent.
fn lenient(mode: EntryMode) -> bool {
    match mode {
        EntryMode::Set | EntryMode::Add => false,
        EntryMode::SetOrSkip | EntryMode::SetOrClear | EntryMode::Fill => true,
    }
}

/// The described type of a position or handle.
fn described(ty: &Ty) -> Option<&TypeRef> {
    match ty.present()? {
        Ty::Position(on) | Ty::Handle(on) => Some(on),
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::File
        | Ty::Choice(_)
        | Ty::List(_)
        | Ty::Record(_)
        | Ty::Change
        | Ty::Optional(_)
        | Ty::Absent
        | Ty::EmptyList => None,
    }
}

/// Keeps apart the characters that addresses are built with.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '%' | '/' | '[' | ']' | '#' | '~' => {
                let _never_fails = write!(out, "%{:02X}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out
}
