//! The effect row of one function, from its typed text: types, fields, pins.

use indexmap::{IndexMap, IndexSet};
use smol_str::SmolStr;

use super::{Effect, FunctionIndex, Verb, Waits};
use crate::{
    check::typed::{
        Block, ClosureBody, Expr, ExprKind, Function, Hop, Item, Path, PathStart, RecordItem, StatementKind, WaitKind,
        Way, Write, WriteTarget,
    },
    types::{Ty, TypeRef},
};

#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) effects: Vec<Effect>,
    pub(super) calls: Vec<FunctionIndex>,
    pub(super) waits: Vec<Waits>,
    /// Each wait as it is written.
    pub(super) awaits: Vec<SmolStr>,
}

/// What a function does by itself. Types that are new to the picture are put in.
pub(super) fn of(function: &Function, types: &mut IndexSet<TypeRef>) -> Effects {
    let mut row =
        Row { types, found: IndexMap::new(), calls: IndexSet::new(), waits: IndexSet::new(), awaits: IndexSet::new() };
    row.block(&function.body);
    let Row { types: _, found, calls, waits, awaits } = row;
    let effects = found.into_iter().map(|((verb, on), (fields, by))| Effect {
        verb,
        on,
        fields: fields.into_iter().collect(),
        by: by.into_iter().collect(),
    });
    Effects {
        effects: effects.collect(),
        calls: calls.into_iter().collect(),
        waits: waits.into_iter().collect(),
        awaits: awaits.into_iter().collect(),
    }
}

type Names = IndexSet<SmolStr>;

struct Row<'t> {
    types: &'t mut IndexSet<TypeRef>,
    found: IndexMap<(Verb, usize), (Names, Names)>,
    calls: IndexSet<FunctionIndex>,
    waits: IndexSet<Waits>,
    awaits: IndexSet<SmolStr>,
}

impl Row<'_> {
    fn effect(&mut self, verb: Verb, on: &TypeRef) -> &mut (Names, Names) {
        let (index, _) = self.types.insert_full(on.clone());
        self.found.entry((verb, index)).or_default()
    }

    fn block(&mut self, block: &Block) {
        for statement in block {
            match &statement.kind {
                StatementKind::Bind { value, local: _ } => self.expr(value),
                StatementKind::Do(value) | StatementKind::Fail(value) => self.expr(value),
                StatementKind::Write { write, refused, bind: _ } => {
                    self.write(write);
                    if let Some(refused) = refused {
                        self.block(&refused.body);
                    }
                }
                StatementKind::Delete { target } => {
                    self.expr(target);
                    if let Some(on) = target.ty.described() {
                        self.effect(Verb::Deletes, on);
                    }
                }
                StatementKind::Link { from, to, join: _, edge } => {
                    self.expr(from);
                    self.expr(to);
                    if let Some(on) = from.ty.described() {
                        self.effect(Verb::Links, on).0.insert(edge.clone());
                    }
                }
                StatementKind::Await { wait, bind: _ } => {
                    // What stands in an arm is said by itself.
                    if !matches!(wait.kind, WaitKind::Arms { .. }) {
                        self.awaits.insert(wait.written.clone());
                    }
                    self.wait(&wait.kind);
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
                StatementKind::Return(value) => {
                    if let Some(value) = value {
                        self.expr(value);
                    }
                }
            }
        }
    }

    fn wait(&mut self, wait: &WaitKind) {
        match wait {
            WaitKind::Sleep(length) => {
                self.waits.insert(Waits::Time);
                self.expr(length);
            }
            WaitKind::First { on, item: _, pins, filter, every: _, most } => {
                let (index, _) = self.types.insert_full(on.clone());
                self.waits.insert(Waits::Record(index));
                let (_, by) = self.effect(Verb::Reads, on);
                by.extend(pins.iter().map(|(name, _)| name.clone()));
                for value in pins.iter().map(|(_, value)| value).chain(filter).chain([most]) {
                    self.expr(value);
                }
            }
            WaitKind::Until { condition, every, most } => {
                self.waits.insert(Waits::Condition);
                for value in [condition, every, most] {
                    self.expr(value);
                }
            }
            WaitKind::Arms { race: _, arms } => {
                for arm in arms {
                    match arm {
                        ClosureBody::Value(value) => self.expr(value),
                        ClosureBody::Block(block) => self.block(block),
                    }
                }
            }
        }
    }

    fn write(&mut self, write: &Write) {
        let verb = match &write.target {
            WriteTarget::Create => Verb::Writes,
            WriteTarget::CreateUnder { owner, edge: _ } => {
                self.expr(owner);
                Verb::Writes
            }
            WriteTarget::Update(record) => {
                self.expr(record);
                Verb::Updates
            }
        };
        // What goes into a write is read before it.
        for entry in &write.entries {
            self.expr(&entry.value);
        }
        let (fields, by) = self.effect(verb, &write.on);
        fields.extend(write.entries.iter().map(|entry| entry.field.clone()));
        by.extend(write.unique.iter().flatten().cloned());
    }

    fn path(&mut self, path: &Path) {
        if let PathStart::Record(record) = &path.start {
            self.expr(record);
        }
        for hop in &path.hops {
            self.hop(hop);
        }
    }

    fn hop(&mut self, hop: &Hop) {
        for (_, value) in &hop.pins {
            self.expr(value);
        }
        let (_, by) = self.effect(Verb::Reads, &hop.on);
        by.extend(hop.pins.iter().map(|(name, _)| name.clone()));
        if let Some(filter) = &hop.filter {
            self.expr(filter);
        }
        for (key, _) in &hop.order {
            self.expr(key);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Local(_) | ExprKind::Constant(_) => {}
            ExprKind::Field { base, name } => {
                self.expr(base);
                if let Some(on) = position(&base.ty) {
                    let (fields, _) = self.effect(Verb::Reads, on);
                    fields.insert(name.clone());
                }
            }
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
                match &through.body {
                    ClosureBody::Value(value) => self.expr(value),
                    ClosureBody::Block(block) => self.block(block),
                }
            }
        }
    }
}

/// The type of a record that came from a system (of each member, for a list); a write's own answer is none.
fn position(ty: &Ty) -> Option<&TypeRef> {
    match ty {
        Ty::Position(on) => Some(on),
        Ty::Optional(inner) | Ty::List(inner) => position(inner),
        Ty::Text
        | Ty::Number
        | Ty::Boolean
        | Ty::Date
        | Ty::Datetime
        | Ty::Duration
        | Ty::Json
        | Ty::File
        | Ty::Choice(_)
        | Ty::Record(_)
        | Ty::Handle(_)
        | Ty::Change
        | Ty::Absent
        | Ty::EmptyList => None,
    }
}
