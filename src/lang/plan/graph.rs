//! What a program would do, as a graph: what listens, what that fires, what each function reads and writes, and where
//! movements set one another off. Plain data for people's eyes; nothing runs by it.

mod effects;
mod loops;

use indexmap::IndexSet;
use smol_str::SmolStr;

use super::{Plan, explain, ir};
use crate::{check::typed::Movement, run, types::TypeRef};
use lf_module::{
    call::{ChangeKind, Start},
    json,
};

/// An index into [`Graph::types`].
pub type TypeIndex = usize;
/// An index into [`Graph::functions`].
pub type FunctionIndex = usize;
/// An index into [`Graph::listens`].
pub type ListenIndex = usize;

/// The whole picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub connections: Vec<Connection>,
    /// Every type that is listened to, read or written.
    pub types: Vec<Type>,
    pub listens: Vec<Listen>,
    pub functions: Vec<Function>,
    pub loops: Vec<Loop>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub name: SmolStr,
    /// `#acme_crm using acme`
    pub system: String,
}

/// A type of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// An index into [`Graph::connections`].
    pub connection: usize,
    pub name: SmolStr,
    /// `crm-[:Company]->`
    pub path: String,
}

/// A place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    pub file: SmolStr,
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    pub name: SmolStr,
    pub at: At,
    pub on: TypeIndex,
    /// `created`, `updated`, `deleted`
    pub kinds: Vec<&'static str>,
    /// The condition, as a person reads it.
    pub filter: Option<String>,
    /// Settings that are not the default, and how often a polled source is asked.
    pub settings: Vec<String>,
    pub fires: FunctionIndex,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: SmolStr,
    /// `(company: crm-[:Company]->): text`
    pub signature: String,
    pub at: At,
    /// What its own text does; what it calls is in `calls`.
    pub effects: Vec<Effect>,
    pub calls: Vec<FunctionIndex>,
    /// What it waits for; without one it runs through.
    pub waits: Vec<Waits>,
    /// Each wait as it is written: `FIRST(crm-[c:Company WHERE c.Active]->, 2d)`.
    pub awaits: Vec<SmolStr>,
    /// What its `///` says, each line by itself.
    pub doc: Vec<String>,
}

/// What a function waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waits {
    Time,
    /// A change of a record of this type.
    Record(TypeIndex),
    Condition,
}

/// What is done to a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    Reads,
    Writes,
    Updates,
    Deletes,
    /// Joins its records to others, or takes them apart; `fields` are the edges.
    Links,
}

impl Verb {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Updates => "updates",
            Self::Deletes => "deletes",
            Self::Links => "links",
        }
    }

    /// Whether the system is another one afterwards.
    #[must_use]
    pub fn changes(self) -> bool {
        match self {
            Self::Reads => false,
            Self::Writes | Self::Updates | Self::Deletes | Self::Links => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub verb: Verb,
    pub on: TypeIndex,
    pub fields: Vec<SmolStr>,
    /// Pins of reads, identity of writes.
    pub by: Vec<SmolStr>,
}

/// Listens that can set one another off in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    pub listens: Vec<ListenIndex>,
    /// The types through which it goes.
    pub types: Vec<TypeIndex>,
    /// Whether the runner's echo rule ends it after one round; else only a depth does.
    pub ends: bool,
    /// The depth that one of its listens asks for.
    pub depth: Option<u32>,
}

/// Draws the picture of a program and its plan.
#[must_use]
pub fn graph(movement: &Movement, plan: &Plan) -> Graph {
    let mut types = IndexSet::new();
    for listen in &movement.listens {
        types.insert(listen.on.clone());
    }
    let functions: Vec<Function> = movement
        .functions
        .iter()
        .zip(&plan.functions)
        .map(|(typed, planned)| Function {
            doc: typed.doc.iter().flat_map(|doc| doc.lines()).map(|line| line.trim().to_owned()).collect(),
            ..function(plan, planned, effects::of(typed, &mut types))
        })
        .collect();
    let listens: Vec<Listen> = plan
        .listens
        .iter()
        .zip(&movement.listens)
        .map(|(planned, typed)| listen(plan, planned, typed.fire.0, &types))
        .collect();
    let loops = loops::of(movement, &types);
    let connections = plan
        .connections
        .iter()
        .map(|connection| Connection { name: connection.name.clone(), system: connection.key.to_string() });
    Graph {
        connections: connections.collect(),
        types: types.iter().map(|on| described(plan, on)).collect(),
        listens,
        functions,
        loops,
    }
}

fn described(plan: &Plan, on: &TypeRef) -> Type {
    Type { connection: on.connection.0 as usize, name: on.ty.clone(), path: plan.path_of(on) }
}

fn at(plan: &Plan, place: ir::PlaceId) -> At {
    match plan.place(place) {
        Some(place) => At { file: place.file.clone(), line: place.line },
        None => At { file: SmolStr::default(), line: 1 },
    }
}

fn function(plan: &Plan, function: &ir::Function, effects: effects::Effects) -> Function {
    let params: Vec<_> = function.params.iter().map(|param| format!("{}: {}", param.name, param.text)).collect();
    let returns = function.returns.as_ref().map(|ty| format!(": {ty}")).unwrap_or_default();
    let effects::Effects { effects, calls, waits, awaits } = effects;
    Function {
        name: function.name.clone(),
        signature: format!("({}){returns}", params.join(", ")),
        at: at(plan, function.place),
        effects,
        calls,
        waits,
        awaits,
        doc: Vec::new(),
    }
}

fn listen(plan: &Plan, listen: &ir::Listen, fires: u32, types: &IndexSet<TypeRef>) -> Listen {
    let on = TypeRef { connection: listen.connection, ty: listen.ty.clone() };
    let mut conditions: Vec<_> =
        listen.pins.iter().map(|(name, value)| format!("{name} == {}", json::plain(value))).collect();
    conditions
        .extend(listen.filter.and_then(|filter| plan.function(filter)).map(|filter| explain::condition(plan, filter)));
    let duration = |length: std::time::Duration| {
        jiff::SignedDuration::try_from(length).map(run::duration_text).unwrap_or_default()
    };
    let mut settings = vec![format!("every {}", duration(listen.every))];
    match listen.start {
        Start::Now => {}
        Start::All => settings.push("starts with all".to_owned()),
    }
    if !listen.fields.is_empty() {
        settings.push(format!("updates of {}", listen.fields.join(", ")));
    }
    if listen.echo {
        settings.push("hears its own changes".to_owned());
    }
    if let Some(depth) = listen.depth {
        settings.push(format!("ends {depth} changes deep"));
    }
    if let Some(length) = listen.debounce {
        settings.push(format!("changes within {} are one", duration(length)));
    }
    if listen.go {
        settings.push("later changes pass a parked run".to_owned());
    }
    let kinds = listen.kinds.iter().map(|kind| match kind {
        ChangeKind::Created => "created",
        ChangeKind::Updated => "updated",
        ChangeKind::Deleted => "deleted",
    });
    Listen {
        name: listen.name.clone(),
        at: at(plan, listen.place),
        // INVARIANT: every listened type was put in before.
        on: types.get_index_of(&on).unwrap_or_default(),
        kinds: kinds.collect(),
        filter: (!conditions.is_empty()).then(|| conditions.join(" AND ")),
        settings,
        fires: fires as usize,
    }
}

impl Graph {
    /// The circles that a listen takes part in.
    pub fn loops_of(&self, listen: ListenIndex) -> impl Iterator<Item = &Loop> {
        self.loops.iter().filter(move |circle| circle.listens.contains(&listen))
    }

    /// What a function waits for, in words.
    #[must_use]
    pub fn waits_text(&self, function: &Function) -> String {
        let words = function.waits.iter().map(|waits| match waits {
            Waits::Time => "a time".to_owned(),
            Waits::Record(index) => {
                format!("a change of {}", self.types.get(*index).map_or("?", |ty| ty.path.as_str()))
            }
            Waits::Condition => "a condition".to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// What a person should know about a circle, in one line.
    #[must_use]
    pub fn loop_text(&self, circle: &Loop) -> String {
        let name = |index: &ListenIndex| {
            let listen = self.listens.get(*index);
            listen.map_or_else(String::new, |listen| format!("`{}`", listen.name))
        };
        let names: Vec<_> = circle.listens.iter().map(name).collect();
        let through: Vec<_> = circle.types.iter().filter_map(|index| self.types.get(*index)).collect();
        let through: Vec<_> = through.iter().map(|ty| ty.path.as_str()).collect();
        let through = through.join(", ");
        let limit = match circle.depth {
            Some(depth) => format!("its depth of {depth} ends it"),
            None => "only the depth limit of 8 ends it".to_owned(),
        };
        match names.as_slice() {
            [only] if circle.ends => {
                format!("{only} writes {through}, which it listens to: its own changes do not fire it again")
            }
            [only] => format!("{only} writes {through}, which it listens to: {limit}"),
            names => format!("{} set one another off through {through}: {limit}", names.join(", ")),
        }
    }
}
