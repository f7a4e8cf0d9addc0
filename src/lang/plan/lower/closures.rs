//! `MAP` and its kin: a loop over the list, with the closure's body inside it.
//!
//! A closure is no value, so nothing is captured: its names are slots of the function, and what it writes or reads has
//! the address of the iteration it stands in.

use lf_module::Value;

use super::{Body, block_id};
use crate::{
    check::typed::{self, Builtin, ClosureBody, Through, Way},
    plan::ir::{Expr, ExprId, Item, Op, PlaceId, Slot},
    source::Span,
};

impl Body<'_, '_> {
    /// What the walk gives.
    pub(super) fn through(&mut self, span: Span, through: &Through) -> ExprId {
        let place = self.place(span);
        let item = Slot(through.item.0);
        match &through.way {
            Way::Map => {
                let list = self.walked_list(place, &through.list);
                let out = self.empty_list(place);
                self.each_member(place, list, item, &mut |body| {
                    let value = body.closure(place, &through.body);
                    body.step(place, Op::Append { slot: out, value, all: false });
                });
                self.add(Expr::Slot(out))
            }
            Way::Filter => {
                let list = self.walked_list(place, &through.list);
                let out = self.empty_list(place);
                self.each_member(place, list, item, &mut |body| {
                    let condition = body.closure(place, &through.body);
                    let kept = body.new_block();
                    let value = body.add(Expr::Slot(item));
                    body.step(place, Op::If { condition, then: block_id(kept), otherwise: None });
                    body.step_in(kept, place, Op::Append { slot: out, value, all: false });
                });
                self.add(Expr::Slot(out))
            }
            Way::Reduce { start, total } => {
                let total = Slot(total.0);
                let operands = self.operands(&[(&through.list, false), (start, false)]);
                let [list, start] = operands.as_slice() else { return self.add(Expr::Literal(Value::Absent)) };
                let (list, start) = (self.in_slot(place, *list), *start);
                self.step(place, Op::Set { slot: total, value: start });
                self.each_member(place, list, item, &mut |body| {
                    let value = body.closure(place, &through.body);
                    body.step(place, Op::Set { slot: total, value });
                });
                self.add(Expr::Slot(total))
            }
            Way::Group => self.by_keys(place, through, Builtin::GroupBy, None),
            Way::Sort { descending } => self.by_keys(place, through, Builtin::SortBy, Some(*descending)),
        }
    }

    /// A walk whose values nobody wants.
    pub(super) fn through_for_effects(&mut self, span: Span, through: &Through) {
        let place = self.place(span);
        let list = self.walked_list(place, &through.list);
        self.each_member(place, list, Slot(through.item.0), &mut |body| match &through.body {
            ClosureBody::Value(value) => body.run_for_effects(value),
            ClosureBody::Block(_) => {
                let _unused = body.closure(place, &through.body);
            }
        });
    }

    /// The list and the list of its keys, given to a built-in.
    fn by_keys(&mut self, place: PlaceId, through: &Through, builtin: Builtin, descending: Option<bool>) -> ExprId {
        let list = self.walked_list(place, &through.list);
        let keys = self.empty_list(place);
        self.each_member(place, list, Slot(through.item.0), &mut |body| {
            let value = body.closure(place, &through.body);
            body.step(place, Op::Append { slot: keys, value, all: false });
        });
        let mut args = vec![self.add(Expr::Slot(list)), self.add(Expr::Slot(keys))];
        if let Some(descending) = descending {
            args.push(self.add(Expr::Literal(Value::Bool(descending))));
        }
        self.add(Expr::Builtin { builtin, args })
    }

    fn each_member(&mut self, place: PlaceId, list: Slot, item: Slot, body: &mut dyn FnMut(&mut Self)) {
        let start = self.here;
        let block = self.new_block();
        self.step(place, Op::Each { list, item, body: block_id(block) });
        self.here = block;
        body(self);
        self.here = start;
    }

    /// What the closure gives for the member in its slot.
    fn closure(&mut self, place: PlaceId, body: &ClosureBody) -> ExprId {
        match body {
            ClosureBody::Value(value) => self.expr(value),
            ClosureBody::Block(block) => self.closure_block(place, block),
        }
    }

    fn closure_block(&mut self, place: PlaceId, statements: &typed::Block) -> ExprId {
        let slot = self.temporary();
        let absent = self.add(Expr::Literal(Value::Absent));
        self.step(place, Op::Set { slot, value: absent });
        let start = self.here;
        let block = self.new_block();
        self.step(place, Op::Enter { block: block_id(block) });
        self.here = block;
        self.closures.push((slot, block_id(block)));
        self.block(statements);
        self.closures.pop();
        self.here = start;
        self.add(Expr::Slot(slot))
    }

    fn empty_list(&mut self, place: PlaceId) -> Slot {
        let slot = self.temporary();
        let value = self.add(Expr::List(Vec::<Item>::new()));
        self.step(place, Op::Set { slot, value });
        slot
    }

    fn walked_list(&mut self, place: PlaceId, list: &typed::Expr) -> Slot {
        let id = self.expr(list);
        self.in_slot(place, id)
    }

    fn in_slot(&mut self, place: PlaceId, id: ExprId) -> Slot {
        if let Some(Expr::Slot(slot)) = self.shared.exprs.get(id.0 as usize) {
            return *slot;
        }
        let slot = self.temporary();
        self.step(place, Op::Set { slot, value: id });
        slot
    }
}
