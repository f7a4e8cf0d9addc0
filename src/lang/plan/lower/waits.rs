//! Waits: what is tested, and each arm, becomes a function of its own that begins with the slots around it.
//!
//! INVARIANT: a part's locals are those of the function it stands in, so that its slots mean the same; what it binds
//! itself is not seen outside.

use std::{collections::BTreeMap, time::Duration};

use lf_module::{
    call::{ChangeKind, Start},
    json,
    value::Value,
};
use smol_str::{SmolStr, ToSmolStr as _};

use super::Body;
use crate::{
    check::typed::{ClosureBody, Expr as Typed, LocalId, Wait, WaitKind},
    plan::ir::{self, Expr, Function, FunctionIndex, Listen, Op, PlaceId, Slot},
    run,
    source::Span,
    types::TypeRef,
};

impl Body<'_, '_> {
    pub(super) fn wait(&mut self, slot: Option<Slot>, wait: &Wait) {
        match &wait.kind {
            WaitKind::Sleep(length) => {
                let length = self.expr(length);
                let (place, label) = self.waits(wait.span, "await sleep".to_owned(), "await sleep");
                self.await_step(place, label, slot, ir::Wait::Sleep { length });
            }
            WaitKind::First { on, item, pins, filter, every, most } => {
                let most = self.expr(most);
                let (path, name) = (self.shared.path(on), self.type_label(on));
                let (place, label) =
                    self.waits(wait.span, format!("await FIRST {name}"), &format!("await FIRST {path}"));
                let (pins, test) = self.first(place, &label, *item, pins, filter.as_ref());
                let watch = self.watch(place, on, pins, test, Duration::try_from(*every).unwrap_or_default());
                self.await_step(place, label, slot, ir::Wait::First { watch, test, most });
            }
            WaitKind::Until { condition, every, most } => {
                let operands = self.operands(&[(every, false), (most, false)]);
                let [every, most] = operands.as_slice() else { return };
                let (every, most) = (*every, *most);
                let (place, label) = self.waits(wait.span, "await until".to_owned(), "await until");
                let test = self.part(place, &label, &mut |part| {
                    let value = part.expr(condition);
                    part.step(place, Op::Return(Some(value)));
                });
                self.await_step(place, label, slot, ir::Wait::Until { test, every, most });
            }
            WaitKind::Arms { race, arms } => {
                let what = if *race { "await race" } else { "await parallel" };
                let (place, label) = self.waits(wait.span, what.to_owned(), what);
                let arms = arms.iter().enumerate().map(|(index, arm)| {
                    self.part(place, &format!("{label}/{}", index + 1), &mut |part| part.arm(place, arm))
                });
                let arms = arms.collect();
                self.await_step(place, label, slot, ir::Wait::Arms { race: *race, arms });
            }
        }
    }

    fn waits(&mut self, span: Span, label: String, says: &str) -> (PlaceId, SmolStr) {
        let label = self.label(label);
        (self.shared.places.id(span, says), label)
    }

    fn await_step(&mut self, place: PlaceId, label: SmolStr, slot: Option<Slot>, wait: ir::Wait) {
        self.step(place, Op::Await { label, slot, wait: Box::new(wait) });
    }

    fn arm(&mut self, place: PlaceId, arm: &ClosureBody) {
        match arm {
            ClosureBody::Value(value) => {
                let value = self.expr(value);
                self.step(place, Op::Return(Some(value)));
            }
            ClosureBody::Block(block) => self.block(block),
        }
    }

    /// A part of this function, as a function that no author can name.
    fn part(&mut self, place: PlaceId, label: &str, build: &mut dyn FnMut(&mut Body<'_, '_>)) -> FunctionIndex {
        let name: SmolStr = format!("{label} of {}", self.name).into();
        let mut part = Body::new(&mut *self.shared, self.locals);
        part.name = name.clone();
        build(&mut part);
        let (slots, blocks) = part.finish();
        let index = self.shared.functions.len() + self.shared.parts.len();
        self.shared.parts.push(Function {
            name,
            hidden: true,
            place,
            params: Vec::new(),
            returns: None,
            slots,
            blocks,
        });
        FunctionIndex(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The pins that the source is asked for, and the test of everything else.
    fn first(
        &mut self,
        place: PlaceId,
        label: &str,
        item: LocalId,
        pins: &[(SmolStr, Typed)],
        filter: Option<&Typed>,
    ) -> (BTreeMap<SmolStr, Value>, FunctionIndex) {
        let mut fixed = BTreeMap::new();
        let test = self.part(place, label, &mut |part| {
            let mut conditions = Vec::new();
            for (name, value) in pins {
                let id = part.expr(value);
                match run::fixed(&part.shared.exprs, &part.shared.constants, id) {
                    Ok(value) => {
                        fixed.insert(name.clone(), value);
                    }
                    Err(_) => conditions.push(part.pinned_here(Slot(item.0), name, id)),
                }
            }
            conditions.extend(filter.map(|filter| part.expr(filter)));
            let condition = part.all(conditions);
            let condition = condition.unwrap_or_else(|| part.add(Expr::Literal(Value::Bool(true))));
            part.step(place, Op::Return(Some(condition)));
        });
        if let Some(function) = self.shared.parts.last_mut() {
            let text = SmolStr::default();
            function.params =
                vec![ir::Param { name: text.clone(), slot: Slot(item.0), ty: crate::types::Ty::Json, text }];
        }
        (fixed, test)
    }

    /// The source that is listened to for a wait; waits for the same share it.
    fn watch(
        &mut self,
        place: PlaceId,
        on: &TypeRef,
        pins: BTreeMap<SmolStr, Value>,
        test: FunctionIndex,
        every: Duration,
    ) -> u32 {
        let same = |watch: &Listen| watch.connection == on.connection && watch.ty == on.ty && watch.pins == pins;
        let found = self.shared.watches.iter().position(same);
        let index = found.unwrap_or_else(|| {
            let fixed: Vec<_> = pins.iter().map(|(name, value)| format!("{name} == {}", json::plain(value))).collect();
            let fixed = if fixed.is_empty() { String::new() } else { format!(" {}", fixed.join(", ")) };
            self.shared.watches.push(Listen {
                name: format!("{}{}{fixed}", ir::WATCH, self.shared.path(on)).to_smolstr(),
                place,
                connection: on.connection,
                ty: on.ty.clone(),
                pins,
                filter: None,
                fire: test,
                function: SmolStr::new_static("await"),
                with_change: false,
                kinds: vec![ChangeKind::Created, ChangeKind::Updated],
                fields: Vec::new(),
                every,
                start: Start::Now,
                concurrency: 1,
                retry: 1,
                echo: true,
                depth: None,
                timeout: Duration::ZERO,
                go: false,
                debounce: None,
            });
            self.shared.watches.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }
}
