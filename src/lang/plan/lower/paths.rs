//! Walks: one read for each hop and each record before it, as nested loops.

use super::{Body, block_id, described, exprs::has_steps};
use crate::{
    check::typed::{Hop, Path, PathStart},
    plan::ir::{Expr, ExprId, Op, Pin, Read, ReadOrigin, Sift, Slot},
    types::TypeRef,
};
use lf_module::schema::Count;

impl Body<'_, '_> {
    /// Runs the body once for each record that the path lands on, which is then in the last hop's slot.
    pub(super) fn walk(&mut self, path: &Path, body: &mut dyn FnMut(&mut Self)) {
        let start = self.here;
        if let Some((list, last)) = self.down(path, None) {
            let place = self.place(last.span);
            self.enter(place, list, last);
            body(self);
        }
        self.here = start;
    }

    /// All records that the path lands on, in a slot.
    pub(super) fn land(&mut self, path: &Path, slot: Option<Slot>) -> Slot {
        let slot = slot.unwrap_or_else(|| self.temporary());
        if path.hops.len() == 1 {
            let _landed = self.down(path, Some(slot));
            return slot;
        }
        let place = self.place(path.span);
        let empty = self.add(Expr::List(Vec::new()));
        self.step(place, Op::Set { slot, value: empty });
        let start = self.here;
        if let Some((list, _)) = self.down(path, None) {
            let value = self.add(Expr::Slot(list));
            self.step(place, Op::Append { slot, value, all: true });
        }
        self.here = start;
        slot
    }

    /// The path as a value: one record, `record | absent`, or a list.
    pub(super) fn landed(&mut self, path: &Path, slot: Option<Slot>) -> ExprId {
        let optional = match path.count {
            Count::Many => {
                let list = self.land(path, slot);
                return self.add(Expr::Slot(list));
            }
            Count::Optional => true,
            Count::One => false,
        };
        let list = self.land(path, None);
        let list = self.add(Expr::Slot(list));
        let Some(last) = path.hops.last() else { return list };
        self.add(Expr::One { list, optional, on: last.on.clone() })
    }

    /// Walks to the last hop, leaves `here` inside the loops over the hops before it, and gives the list it landed on.
    fn down<'p>(&mut self, path: &'p Path, slot: Option<Slot>) -> Option<(Slot, &'p Hop)> {
        let first = path.hops.first()?;
        let mut from = match &path.start {
            PathStart::Root(_) => None,
            PathStart::Record(record) => {
                let id = self.expr(record);
                let id = if first.pins.iter().any(|(_, pin)| has_steps(pin)) { self.settled(record, id) } else { id };
                Some((id, described(&record.ty).cloned()))
            }
        };
        let mut hops = path.hops.iter().peekable();
        while let Some(hop) = hops.next() {
            let last = hops.peek().is_none();
            let list = slot.filter(|_| last).unwrap_or_else(|| self.temporary());
            self.hop(hop, from, list);
            if last {
                return Some((list, hop));
            }
            let place = self.place(hop.span);
            self.enter(place, list, hop);
            let record = self.add(Expr::Slot(Slot(hop.local.0)));
            from = Some((record, Some(hop.on.clone())));
        }
        None
    }

    fn enter(&mut self, place: crate::plan::ir::PlaceId, list: Slot, hop: &Hop) {
        let body = self.new_block();
        self.step(place, Op::Each { list, item: Slot(hop.local.0), body: block_id(body) });
        self.here = body;
    }

    fn hop(&mut self, hop: &Hop, from: Option<(ExprId, Option<TypeRef>)>, slot: Slot) {
        let operands: Vec<_> = hop.pins.iter().map(|(_, pin)| (pin, false)).collect();
        let values = self.operands(&operands);
        let (origin, what, says) = match from {
            None => (ReadOrigin::Root, self.type_label(&hop.on), self.shared.path(&hop.on)),
            Some((from, owner)) => {
                let owner = owner.unwrap_or_else(|| hop.on.clone());
                let what = format!("{}.{}", self.type_label(&owner), super::escape(&hop.edge));
                let says = format!("{}-[:{}]->", self.shared.path(&owner), hop.edge);
                (ReadOrigin::Record { from, ty: owner.ty, edge: hop.edge.clone() }, what, says)
            }
        };
        let label = self.label(format!("read {what}"));
        let says = format!("read {says}");
        let place = self.shared.places.id(hop.span, &says);
        let mut pins = Vec::with_capacity(hop.pins.len());
        for ((field, given), value) in hop.pins.iter().zip(values) {
            let place = self.shared.places.of_field(given.span, &says, field);
            pins.push(Pin { field: field.clone(), place, value });
        }
        let by = hop.by.iter().map(|(field, given)| Pin {
            field: field.clone(),
            place: self.shared.places.of_field(given.span, &says, field),
            value: self.expr(given),
        });
        let by = by.collect();
        let pure = !hop.filter.iter().chain(hop.order.iter().map(|(key, _)| key)).any(has_steps);
        let sifted = hop.filter.is_some() || !hop.order.is_empty() || hop.limit.is_some();
        let item = Slot(hop.local.0);
        let sift = (pure && sifted).then(|| Sift {
            item,
            filter: hop.filter.as_ref().map(|filter| self.expr(filter)),
            order: hop.order.iter().map(|(key, descending)| (self.lower(key, true), *descending)).collect(),
            limit: hop.limit,
        });
        let raw = if pure { slot } else { self.temporary() };
        let read = Read { label, slot: raw, on: hop.on.clone(), origin, pins, by, count: hop.count, sift };
        self.step(place, Op::Read(Box::new(read)));
        if !pure {
            self.sift_in_steps(hop, raw, slot);
        }
    }

    /// A filter or an order that calls a function or reads: the same as [`Sift`], one record after another.
    fn sift_in_steps(&mut self, hop: &Hop, raw: Slot, slot: Slot) {
        let place = self.place(hop.span);
        let empty = self.add(Expr::List(Vec::new()));
        let keys = (!hop.order.is_empty()).then(|| self.temporary());
        for list in [Some(slot), keys].into_iter().flatten() {
            self.step(place, Op::Set { slot: list, value: empty });
        }
        let start = self.here;
        self.enter(place, raw, hop);
        if let Some(filter) = &hop.filter {
            let condition = self.expr(filter);
            let kept = self.new_block();
            self.step(place, Op::If { condition, then: block_id(kept), otherwise: None });
            self.here = kept;
        }
        let record = self.add(Expr::Slot(Slot(hop.local.0)));
        if let Some(keys) = keys {
            let operands: Vec<_> = hop.order.iter().map(|(key, _)| (key, true)).collect();
            let values = self.operands(&operands).into_iter().map(crate::plan::ir::Item::One).collect();
            let value = self.add(Expr::List(values));
            self.step(place, Op::Append { slot: keys, value, all: false });
        }
        self.step(place, Op::Append { slot, value: record, all: false });
        self.here = start;
        let descending = hop.order.iter().map(|(_, descending)| *descending).collect();
        self.step(place, Op::Arrange { slot, keys, descending, limit: hop.limit });
    }
}
