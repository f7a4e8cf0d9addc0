//! What a change of the text lets a program do that it could not, or takes from it: two graphs, side by side.
//!
//! What is compared is what listens, and what their functions and all that those call can do. Systems are told apart by
//! what they are, not by the name that a file gives them; functions and listens go by their names.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::graph::{At, Effect, Function, Graph, Listen, Verb};

/// What differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    pub listens_new: Vec<Heard>,
    pub listens_gone: Vec<Heard>,
    pub listens_changed: Vec<Changed>,
    /// What no listen could change before, and what none can any more.
    pub writes_new: Vec<Reached>,
    pub writes_gone: Vec<Reached>,
    pub functions_new: Vec<Named>,
    pub functions_gone: Vec<Named>,
    /// What the own text of a function does otherwise.
    pub functions_changed: Vec<Otherwise>,
    pub loops_new: Vec<String>,
    pub loops_gone: Vec<String>,
}

impl Comparison {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A listen of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub name: SmolStr,
    pub at: At,
    pub on: String,
    pub fires: SmolStr,
}

/// A listen of both that is another one now: what it was, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub name: SmolStr,
    pub at: At,
    pub was: String,
    pub is: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub name: SmolStr,
    pub at: At,
}

/// One thing done to a type of a system: to one field of it, or to a record as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Act {
    pub system: String,
    pub ty: SmolStr,
    pub verb: Verb,
    pub field: Option<SmolStr>,
    /// `crm-[:Company]->`, as the text has it.
    pub path: String,
}

/// An act, and the listens that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub act: Act,
    pub by: Vec<SmolStr>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otherwise {
    pub name: SmolStr,
    pub at: At,
    pub more: Vec<Act>,
    pub less: Vec<Act>,
}

/// What an act is, whatever the text calls the system.
type Identity = (String, SmolStr, Verb, Option<SmolStr>);

fn identity(act: &Act) -> Identity {
    (act.system.clone(), act.ty.clone(), act.verb, act.field.clone())
}

/// Compares what a program was with what it is.
#[must_use]
pub fn compare(before: &Graph, after: &Graph) -> Comparison {
    let (was, is) = (Side::of(before), Side::of(after));
    let mut out = Comparison::default();
    for (name, listen) in &is.listens {
        match was.listens.get(name) {
            None => out.listens_new.push(heard(after, listen)),
            Some(earlier) => {
                let (was, is) = (described(before, earlier), described(after, listen));
                if was != is {
                    out.listens_changed.push(Changed { name: name.clone(), at: listen.at.clone(), was, is });
                }
            }
        }
    }
    let gone = was.listens.iter().filter(|(name, _)| !is.listens.contains_key(*name));
    out.listens_gone = gone.map(|(_, listen)| heard(before, listen)).collect();
    out.writes_new = only_in(&is.reached, &was.reached);
    out.writes_gone = only_in(&was.reached, &is.reached);
    for (name, (function, acts)) in &is.functions {
        let at = function.at.clone();
        let Some((_, earlier)) = was.functions.get(name) else {
            out.functions_new.push(Named { name: function.name.clone(), at });
            continue;
        };
        let differs = |one: &BTreeMap<Identity, Act>, other: &BTreeMap<Identity, Act>| -> Vec<Act> {
            one.iter().filter(|(id, _)| !other.contains_key(*id)).map(|(_, act)| act.clone()).collect()
        };
        let (more, less) = (differs(acts, earlier), differs(earlier, acts));
        if !more.is_empty() || !less.is_empty() {
            out.functions_changed.push(Otherwise { name: function.name.clone(), at, more, less });
        }
    }
    let gone = was.functions.iter().filter(|(name, _)| !is.functions.contains_key(*name));
    out.functions_gone =
        gone.map(|(_, (function, _))| Named { name: function.name.clone(), at: function.at.clone() }).collect();
    let (old, new) = (circles(before), circles(after));
    out.loops_new =
        new.iter().filter(|(members, _)| !old.contains_key(*members)).map(|(_, text)| text.clone()).collect();
    out.loops_gone =
        old.iter().filter(|(members, _)| !new.contains_key(*members)).map(|(_, text)| text.clone()).collect();
    out
}

/// Functions of one name are told apart by their file.
type FunctionName = (SmolStr, Option<SmolStr>);

struct Side<'g> {
    listens: BTreeMap<SmolStr, &'g Listen>,
    functions: BTreeMap<FunctionName, (&'g Function, BTreeMap<Identity, Act>)>,
    /// What listens can change, and which.
    reached: BTreeMap<Identity, Reached>,
}

impl<'g> Side<'g> {
    fn of(graph: &'g Graph) -> Self {
        let mut functions = BTreeMap::new();
        for function in &graph.functions {
            let shared = graph.functions.iter().filter(|other| other.name == function.name).count() > 1;
            let name = (function.name.clone(), shared.then(|| function.at.file.clone()));
            let acts = function.effects.iter().flat_map(|effect| acts(graph, effect));
            functions.insert(name, (function, acts.map(|act| (identity(&act), act)).collect()));
        }
        let mut reached: BTreeMap<Identity, Reached> = BTreeMap::new();
        for listen in &graph.listens {
            for index in closure(graph, listen.fires) {
                let effects =
                    graph.functions.get(index).map(|function| function.effects.as_slice()).unwrap_or_default();
                for act in effects.iter().filter(|effect| effect.verb.changes()).flat_map(|one| acts(graph, one)) {
                    let found = reached.entry(identity(&act)).or_insert_with(|| Reached { act, by: Vec::new() });
                    if !found.by.contains(&listen.name) {
                        found.by.push(listen.name.clone());
                    }
                }
            }
        }
        let listens = graph.listens.iter().map(|listen| (listen.name.clone(), listen)).collect();
        Self { listens, functions, reached }
    }
}

/// A function and all that it calls, directly or through others.
fn closure(graph: &Graph, first: usize) -> BTreeSet<usize> {
    let mut met = BTreeSet::new();
    let mut open = vec![first];
    while let Some(index) = open.pop() {
        if met.insert(index) {
            open.extend(graph.functions.get(index).into_iter().flat_map(|function| function.calls.iter().copied()));
        }
    }
    met
}

fn acts<'e>(graph: &'e Graph, effect: &'e Effect) -> impl Iterator<Item = Act> + 'e {
    let fields: Vec<Option<SmolStr>> =
        if effect.fields.is_empty() { vec![None] } else { effect.fields.iter().cloned().map(Some).collect() };
    let ty = graph.types.get(effect.on);
    fields.into_iter().filter_map(move |field| {
        let ty = ty?;
        let system = graph.connections.get(ty.connection).map(|connection| connection.system.clone())?;
        Some(Act { system, ty: ty.name.clone(), verb: effect.verb, field, path: ty.path.clone() })
    })
}

fn only_in(one: &BTreeMap<Identity, Reached>, other: &BTreeMap<Identity, Reached>) -> Vec<Reached> {
    one.iter().filter(|(id, _)| !other.contains_key(*id)).map(|(_, reached)| reached.clone()).collect()
}

fn heard(graph: &Graph, listen: &Listen) -> Heard {
    Heard { name: listen.name.clone(), at: listen.at.clone(), on: path(graph, listen.on), fires: fired(graph, listen) }
}

fn path(graph: &Graph, on: usize) -> String {
    graph.types.get(on).map(|ty| ty.path.clone()).unwrap_or_default()
}

fn fired(graph: &Graph, listen: &Listen) -> SmolStr {
    graph.functions.get(listen.fires).map(|function| function.name.clone()).unwrap_or_default()
}

/// All that makes a listen what it is, in one line.
fn described(graph: &Graph, listen: &Listen) -> String {
    let condition = listen.filter.as_ref().map(|filter| format!(" where {filter}")).unwrap_or_default();
    let (on, kinds) = (path(graph, listen.on), listen.kinds.join(", "));
    format!("{on} {kinds}, {}; fires {}{condition}", listen.settings.join(", "), fired(graph, listen))
}

/// The circles by the listens that are in them.
fn circles(graph: &Graph) -> BTreeMap<BTreeSet<SmolStr>, String> {
    let members = |listens: &[usize]| -> BTreeSet<SmolStr> {
        listens.iter().filter_map(|index| graph.listens.get(*index)).map(|listen| listen.name.clone()).collect()
    };
    graph.loops.iter().map(|circle| (members(&circle.listens), graph.loop_text(circle))).collect()
}
