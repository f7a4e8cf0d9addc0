//! Which listens can set one another off: what is written, held against what each listen hears. Reads typed trees
//! only; what is said about a circle is the caller's.
//!
//! It errs to the side of a circle: only a write that can never fire a listen, by its kind, its fields or a constant
//! that the WHERE rules out, is left out.

use indexmap::{IndexMap, IndexSet};
use lf_module::{Value, call::ChangeKind};
use smol_str::SmolStr;

use super::{
    order,
    typed::{Constant, Entry, EntryMode, Expr, ExprKind, Listen, LocalId, Op, Write, WriteTarget},
};
use crate::types::TypeRef;

/// More different acts on one type than this are not told apart.
const MOST_ACTS: usize = 16;

/// What is done to a type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Act {
    creates: bool,
    updates: bool,
    deletes: bool,
    /// The fields that are written; `None`: any.
    fields: Option<Vec<SmolStr>>,
    /// What fields are afterwards, where that is known.
    sets: Vec<(SmolStr, Value)>,
}

impl Act {
    const ANY: Self = Self { creates: true, updates: true, deletes: true, fields: None, sets: Vec::new() };

    pub(crate) fn write(write: &Write) -> Self {
        let update = matches!(write.target, WriteTarget::Update(_));
        let set = |entry: &Entry| match (&entry.value.kind, entry.mode) {
            (ExprKind::Literal(value), EntryMode::Set) => Some((entry.field.clone(), value.clone())),
            (_, _) => None,
        };
        Self {
            creates: !update,
            updates: update || !write.unique.is_empty(),
            deletes: false,
            fields: Some(write.entries.iter().map(|entry| entry.field.clone()).collect()),
            sets: write.entries.iter().filter_map(set).collect(),
        }
    }

    pub(crate) fn delete() -> Self {
        Self { creates: false, updates: false, ..Self::ANY }
    }

    /// Which fields a system shows a link in is not known.
    pub(crate) fn link() -> Self {
        Self { creates: false, deletes: false, ..Self::ANY }
    }
}

/// What functions do to systems, by type.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Acts(IndexMap<TypeRef, Vec<Act>>);

impl Acts {
    pub(crate) fn add(&mut self, on: &TypeRef, act: Act) {
        let acts = self.0.entry(on.clone()).or_default();
        if acts.first() == Some(&Act::ANY) || acts.contains(&act) {
            return;
        }
        if acts.len() == MOST_ACTS {
            acts.clear();
            acts.push(Act::ANY);
        } else {
            acts.push(act);
        }
    }

    pub(crate) fn extend(&mut self, others: &Self) {
        for (on, acts) in &others.0 {
            for act in acts {
                self.add(on, act.clone());
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn types(&self) -> impl Iterator<Item = &TypeRef> {
        self.0.keys()
    }
}

/// Listens that can set one another off, by their places among those given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) listens: Vec<usize>,
    /// The types through which it goes.
    pub(crate) types: Vec<TypeRef>,
    /// Whether the echo rule of the runner ends it; else only a depth does.
    pub(crate) ends: bool,
    /// Where it ends by what its listens say, if every way around leads through one that says it.
    pub(crate) depth: Option<u32>,
}

/// What a listen hears of writes. Many listens have the same.
#[derive(Debug, Clone, PartialEq)]
struct Ear<'l> {
    on: &'l TypeRef,
    kinds: &'l [ChangeKind],
    fields: &'l [SmolStr],
    /// What its WHERE asks of single fields, joined by `AND`.
    asks: Vec<(&'l str, bool, &'l Value)>,
}

impl<'l> Ear<'l> {
    fn of(listen: &'l Listen, constants: &'l [Constant]) -> Self {
        let mut asks = Vec::new();
        for (name, value) in &listen.pins {
            asks.extend(constant(value, constants).map(|value| (name.as_str(), true, value)));
        }
        if let Some(filter) = &listen.filter {
            asked(filter, constants, &mut asks);
        }
        Self { on: &listen.on, kinds: &listen.settings.kinds, fields: &listen.settings.fields, asks }
    }

    fn hears(&self, act: &Act) -> bool {
        let touched = self.fields.is_empty()
            || act.fields.as_ref().is_none_or(|fields| self.fields.iter().any(|field| fields.contains(field)));
        let kind = self.kinds.iter().any(|kind| match kind {
            ChangeKind::Created => act.creates,
            ChangeKind::Updated => act.updates && touched,
            ChangeKind::Deleted => act.deletes,
        });
        let ruled_out = self
            .asks
            .iter()
            .any(|(field, same, value)| act.sets.iter().any(|(set, after)| set == field && (after == *value) != *same));
        kind && !ruled_out
    }
}

/// A field of the record against a constant.
fn asked<'l>(filter: &'l Expr, constants: &'l [Constant], asks: &mut Vec<(&'l str, bool, &'l Value)>) {
    let ExprKind::Binary { left, right, op } = &filter.kind else { return };
    if *op == Op::And {
        asked(left, constants, asks);
        asked(right, constants, asks);
    }
    if !matches!(op, Op::Equal | Op::NotEqual) {
        return;
    }
    for (field, value) in [(left, right), (right, left)] {
        if let (ExprKind::Field { base, name }, Some(value)) = (&field.kind, constant(value, constants))
            && matches!(base.kind, ExprKind::Local(LocalId(0)))
        {
            asks.push((name, *op == Op::Equal, value));
        }
    }
}

fn constant<'l>(expr: &'l Expr, constants: &'l [Constant]) -> Option<&'l Value> {
    if let ExprKind::Constant(id) = &expr.kind {
        return literal(&constants.get(id.0 as usize)?.value.kind);
    }
    literal(&expr.kind)
}

fn literal(kind: &ExprKind) -> Option<&Value> {
    if let ExprKind::Literal(value) = kind { Some(value) } else { None }
}

/// The circles among listens, by their first listen; `acts` says what the function of each can do.
pub(crate) fn circles<'l>(
    listens: &'l [Listen],
    constants: &'l [Constant],
    acts: impl Fn(&Listen) -> Option<&'l Acts>,
) -> Vec<Circle> {
    let mut ears: Vec<Ear<'_>> = Vec::new();
    let mut by_type: IndexMap<&TypeRef, Vec<usize>> = IndexMap::new();
    let mut fires: Vec<Vec<usize>> = Vec::new();
    for (place, listen) in listens.iter().enumerate() {
        let ear = Ear::of(listen, constants);
        let alike = by_type.entry(&listen.on).or_default();
        match alike.iter().find(|known| ears.get(**known) == Some(&ear)) {
            Some(known) => fires.get_mut(*known).into_iter().for_each(|fires| fires.push(place)),
            None => {
                alike.push(ears.len());
                ears.push(ear);
                fires.push(vec![place]);
            }
        }
    }
    // Listens first, then the ears: a listen leads to the ears that hear what its function does, an ear to its listens.
    let mut edges: Vec<Vec<usize>> = listens
        .iter()
        .map(|listen| {
            let acts = acts(listen).into_iter().flat_map(|acts| &acts.0);
            let heard = acts.flat_map(|(on, acts)| {
                let alike = by_type.get(on).into_iter().flatten();
                alike.filter(|ear| ears.get(**ear).is_some_and(|ear| acts.iter().any(|act| ear.hears(act))))
            });
            heard.map(|ear| listens.len() + ear).collect()
        })
        .collect();
    edges.extend(fires);
    let mut found = Vec::new();
    for mut group in order::groups(&edges) {
        if !order::is_cycle(&group, &edges) {
            continue;
        }
        group.sort_unstable();
        let (members, through): (Vec<_>, Vec<_>) = group.into_iter().partition(|node| *node < listens.len());
        let settings = || members.iter().filter_map(|member| listens.get(*member)).map(|listen| &listen.settings);
        let ends = members.len() == 1 && !settings().any(|settings| settings.echo);
        let deep = |node: usize| listens.get(node).is_some_and(|listen| listen.settings.depth.is_some());
        let rest: IndexSet<usize> = members.iter().chain(&through).copied().filter(|node| !deep(*node)).collect();
        let within = |node: &usize| {
            let next = edges.get(*node).into_iter().flatten();
            next.filter_map(|next| rest.get_index_of(next)).collect::<Vec<_>>()
        };
        let rest: Vec<Vec<usize>> = rest.iter().map(within).collect();
        let left = order::groups(&rest).iter().any(|group| order::is_cycle(group, &rest));
        let depth = settings().filter_map(|settings| settings.depth).max().filter(|_| !left);
        let types: IndexSet<TypeRef> =
            through.iter().filter_map(|ear| Some(ears.get(ear - listens.len())?.on.clone())).collect();
        found.push(Circle { listens: members, types: types.into_iter().collect(), ends, depth });
    }
    found.sort_by(|one, other| one.listens.cmp(&other.listens));
    found
}
