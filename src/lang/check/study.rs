//! A check that is done again and again while texts change: files whose text and whose imports are as they were keep
//! what was found. Finds what `check` finds, and what the names mean; makes no program that could be run.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use lf_module::{Description, TypeShape, schema::Field};
use smol_str::SmolStr;

use super::{
    Catalog, ConnectionKey, Program, catalog,
    context::{Context, Returns, Symbol},
    effects::Effects,
    functions,
    index::{Home, Mention, Sort},
    listens,
    offers::Offer,
    testing, typed,
};
use crate::{
    diag::Diagnostic,
    source::{SourceId, Span},
    syntax::ast,
    types::{Ty, TypeRef, display},
};

/// What the checks so far have found, by file.
#[derive(Debug, Default)]
pub struct Study {
    known: BTreeMap<SourceId, Known>,
    /// The connections in the order of their ids, with the names they have in messages.
    world: Vec<Described>,
    /// What the declarations and imports of each file mention.
    heads: BTreeMap<SourceId, Vec<Mention>>,
}

/// One connection, as types and messages know it.
#[derive(Debug, PartialEq, Eq)]
struct Described {
    key: ConnectionKey,
    name: SmolStr,
    module: SmolStr,
}

/// One file, as it was when it was last checked.
#[derive(Debug)]
struct Known {
    text: Arc<str>,
    inputs: Inputs,
    /// Other texts whose places stand in what was found.
    leans: Vec<(SourceId, Arc<str>)>,
    facts: Facts,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct Facts {
    types: Vec<Option<Ty>>,
    constants: Vec<Option<Ty>>,
    functions: Vec<FunctionFacts>,
    pub(super) listens: Vec<Option<typed::Listen>>,
    pub(super) asks: Vec<testing::Ask>,
    problems: Vec<Diagnostic>,
    used: Vec<SmolStr>,
    /// A declaration could not be made whole, so that what is not used may be used there.
    broken: bool,
    mentions: Vec<Mention>,
}

#[derive(Debug, Clone)]
struct FunctionFacts {
    params: Vec<Option<Ty>>,
    returns: Returns,
    effects: Effects,
}

/// All that a file's own check depends on beside its text.
#[derive(Debug, PartialEq)]
struct Inputs {
    names: Vec<(SmolStr, Input)>,
    /// Which of its functions are fired.
    fired: Vec<bool>,
}

#[derive(Debug, PartialEq)]
enum Input {
    Failed,
    Connection(u32),
    Type(Option<Ty>),
    Constant(Option<Ty>),
    Function {
        params: Vec<(SmolStr, Option<Ty>)>,
        returns: Returns,
        pending: bool,
        reads: bool,
        writes: indexmap::IndexSet<TypeRef>,
    },
}

/// A name of a file, as a person would have it explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    pub sort: Sort,
    /// Of the name.
    pub span: Span,
    /// Its type or signature; may be empty.
    pub shown: String,
    pub doc: Option<String>,
}

/// What earlier checks say of the files of this one.
#[derive(Debug, Default)]
pub(super) struct Earlier<'s> {
    known: Option<&'s BTreeMap<SourceId, Known>>,
    /// By file: whether what was found still holds. Filled in as the files are come to.
    pub(super) kept: Vec<bool>,
}

impl<'s> Earlier<'s> {
    /// Takes over what is known of a file, if it still holds.
    pub(super) fn keep(&mut self, cx: &mut Context<'_>, file: usize) -> bool {
        let Some(facts) = self.facts(cx, file) else { return false };
        if let Some(kept) = self.kept.get_mut(file) {
            *kept = true;
        }
        restore(cx, file, facts);
        true
    }

    /// What was found in a file that was kept.
    pub(super) fn of(&self, cx: &Context<'_>, file: usize) -> Option<&'s Facts> {
        let kept = self.kept.get(file).copied().unwrap_or_default();
        let source = cx.program.files.get(file)?.source;
        self.known?.get(&source).filter(|_| kept).map(|known| &known.facts)
    }

    fn facts(&self, cx: &Context<'_>, file: usize) -> Option<&'s Facts> {
        let source = cx.program.files.get(file)?.source;
        let known = self.known?.get(&source)?;
        let same = |source: SourceId, text: &Arc<str>| {
            cx.program.map.get(source).is_some_and(|file| Arc::ptr_eq(&file.text, text))
        };
        let holds = same(source, &known.text)
            && known.leans.iter().all(|(source, text)| same(*source, text))
            && known.inputs == inputs(cx, file);
        holds.then_some(&known.facts)
    }
}

fn restore(cx: &mut Context<'_>, file: usize, facts: &Facts) {
    let (mut types, mut constants, mut functions) =
        (facts.types.iter(), facts.constants.iter(), facts.functions.iter());
    for index in cx.by_file.get(file).cloned().unwrap_or_default() {
        match index {
            Symbol::Type(index) => {
                if let (Some(decl), Some(ty)) = (cx.types.get_mut(index), types.next()) {
                    decl.ty.clone_from(ty);
                }
            }
            Symbol::Constant(index) => {
                if let (Some(decl), Some(ty)) = (cx.constants.get_mut(index), constants.next()) {
                    // No program is made of this, so that the id only has to be there.
                    decl.done = ty.clone().map(|ty| (typed::ConstantId(u32::MAX), ty));
                }
            }
            Symbol::Function(index) => {
                if let (Some(decl), Some(found)) = (cx.functions.get_mut(index), functions.next()) {
                    decl.params.clone_from(&found.params);
                    decl.returns = found.returns.clone();
                    decl.effects = found.effects.clone();
                }
            }
            Symbol::Connection(_) | Symbol::Failed => {}
        }
    }
    cx.broken |= facts.broken;
    if let Some(scope) = cx.scopes.get_mut(file) {
        for name in &facts.used {
            if let Some(entry) = scope.names.get_mut(name) {
                entry.used = true;
            }
        }
    }
}

fn inputs(cx: &Context<'_>, file: usize) -> Inputs {
    let scope = cx.scopes.get(file);
    let own = |index: usize| cx.functions.get(index).is_some_and(|decl| decl.file == file);
    let names = scope.into_iter().flat_map(|scope| &scope.names).filter_map(|(name, entry)| {
        let input = match entry.symbol {
            Symbol::Failed => Input::Failed,
            Symbol::Connection(id) => Input::Connection(id.0),
            Symbol::Type(_) | Symbol::Constant(_) | Symbol::Function(_)
                if matches!(entry.origin, super::context::Origin::Declared { .. }) =>
            {
                return None;
            }
            Symbol::Type(index) => Input::Type(cx.types.get(index)?.ty.clone()),
            Symbol::Constant(index) => Input::Constant(cx.constants.get(index)?.done.clone().map(|(_, ty)| ty)),
            Symbol::Function(index) => {
                let decl = cx.functions.get(index)?;
                let names = decl.item.params.iter().map(|param| param.name.text.clone());
                Input::Function {
                    params: names.zip(decl.params.iter().cloned()).collect(),
                    returns: decl.returns.clone(),
                    pending: decl.effects.pending,
                    reads: decl.effects.reads,
                    writes: decl.effects.writes.types().cloned().collect(),
                }
            }
        };
        Some((name.clone(), input))
    });
    let functions = cx.by_file.get(file).into_iter().flatten().filter_map(|symbol| match symbol {
        Symbol::Function(index) if own(*index) => cx.functions.get(*index).map(|decl| decl.fired),
        Symbol::Function(_) | Symbol::Type(_) | Symbol::Constant(_) | Symbol::Connection(_) | Symbol::Failed => None,
    });
    Inputs { names: names.collect(), fired: functions.collect() }
}

impl Study {
    /// Checks the files, and keeps what was found. The tree of a file is that of its text.
    pub fn check(&mut self, program: &Program<'_>, catalog: &Catalog) -> Vec<Diagnostic> {
        let mut cx = Context::new(*program, catalog);
        cx.notes.mentions = Some(Vec::new());
        let targets = super::begin(&mut cx);
        let heads = cx.notes.mentions.replace(Vec::new()).unwrap_or_default();
        let world = cx.connections.iter().map(|connection| Described {
            key: connection.key.clone(),
            name: connection.name.clone(),
            module: connection.module.clone(),
        });
        let world: Vec<_> = world.collect();
        if self.world != world {
            // Types name connections by their number.
            self.known.clear();
            self.world = world;
        }
        let known = std::mem::take(&mut self.known);
        let mut earlier = Earlier { known: Some(&known), kept: vec![false; program.files.len()] };
        let before = cx.problems.len();
        functions::check(&mut cx, &targets, &mut earlier);
        let listens = listens::each(&mut cx, &earlier);
        let tests = testing::each(&mut cx, &earlier);
        let fresh = found(&mut cx, before, &earlier, (&listens, &tests));
        for file in 0..program.files.len() {
            let facts = earlier.of(&cx, file).map(|facts| facts.problems.clone());
            cx.problems.extend(facts.into_iter().flatten());
        }
        for known in fresh.values() {
            cx.problems.extend(known.facts.problems.iter().cloned());
        }
        let kept = earlier.kept;
        let (problems, _, _) = super::finish(&mut cx, &targets, listens, tests);
        self.heads = by_source(heads);
        let kept = program.files.iter().zip(kept).filter(|(_, kept)| *kept).map(|(file, _)| file.source);
        let kept: HashSet<SourceId> = kept.collect();
        self.known = known.into_iter().filter(|(source, _)| kept.contains(source)).chain(fresh).collect();
        problems
    }

    /// What could stand at a place of one of the files, which may be changed for the question. Keeps nothing.
    #[must_use]
    pub fn offers(&self, program: &Program<'_>, catalog: &Catalog, at: Span) -> Option<Vec<Offer>> {
        let mut cx = Context::new(*program, catalog);
        cx.notes.offers.at = Some(at);
        let targets = super::begin(&mut cx);
        let same = cx
            .connections
            .iter()
            .map(|connection| &connection.key)
            .eq(self.world.iter().map(|described| &described.key));
        let known = Some(&self.known).filter(|_| same);
        let mut earlier = Earlier { known, kept: vec![false; program.files.len()] };
        functions::check(&mut cx, &targets, &mut earlier);
        listens::each(&mut cx, &earlier);
        testing::each(&mut cx, &earlier);
        cx.notes.offers.found
    }

    /// Every name of a file that is understood, in no order.
    pub fn mentions(&self, source: SourceId) -> impl Iterator<Item = &Mention> {
        let heads = self.heads.get(&source).into_iter().flatten();
        heads.chain(self.known.get(&source).into_iter().flat_map(|known| &known.facts.mentions))
    }

    /// The files that were checked last.
    pub fn sources(&self) -> impl Iterator<Item = SourceId> {
        let mut sources: Vec<_> = self.known.keys().copied().collect();
        sources.sort_unstable();
        sources.into_iter()
    }

    /// A type as a person writes it.
    #[must_use]
    pub fn show(&self, ty: &Ty) -> String {
        let name = |id: crate::types::ConnectionId| {
            self.world.get(id.0 as usize).map_or_else(|| "?".to_owned(), |described| described.name.to_string())
        };
        display::show(ty, &name)
    }

    /// The module behind a connection.
    #[must_use]
    pub fn module(&self, connection: crate::types::ConnectionId) -> Option<&str> {
        self.world.get(connection.0 as usize).map(|described| described.module.as_str())
    }

    /// The description of a type.
    #[must_use]
    pub fn shape<'c>(&self, catalog: &'c Catalog, of: &TypeRef) -> Option<&'c TypeShape> {
        let key = &self.world.get(of.connection.0 as usize)?.key;
        let catalog::Described::Yes(description) = catalog.connections.get(key)? else { return None };
        Description::get(description, &of.ty)
    }

    /// The description of a field.
    #[must_use]
    pub fn field<'c>(&self, catalog: &'c Catalog, of: &TypeRef, name: &str) -> Option<&'c Field> {
        self.shape(catalog, of)?.field(name)
    }

    /// What a name of a file is, read off that file's tree.
    #[must_use]
    pub fn declaration(&self, file: &ast::File, text: &crate::source::SourceFile, home: &Home) -> Option<Declaration> {
        let facts = self.known.get(&home.source).map(|known| &known.facts);
        let (mut types, mut constants, mut functions) = (0, 0, 0);
        for item in &file.items {
            let (name, sort, shown, doc) = match item {
                ast::Item::Connection(item) => {
                    let using = item.using.as_ref().map(|using| format!(" using {}", using.text)).unwrap_or_default();
                    (&item.name, Sort::Connection, format!("connect {}{using}", item.module.text), &item.doc)
                }
                ast::Item::Type(item) => {
                    let ty = facts.and_then(|facts| facts.types.get(types)).cloned().flatten();
                    types += 1;
                    (
                        &item.name,
                        Sort::Type,
                        ty.map(|ty| format!("<{}>", self.show(&ty))).unwrap_or_default(),
                        &item.doc,
                    )
                }
                ast::Item::Binding(item) => {
                    let ty = facts.and_then(|facts| facts.constants.get(constants)).cloned().flatten();
                    constants += 1;
                    (&item.name, Sort::Constant, ty.map(|ty| self.show(&ty)).unwrap_or_default(), &item.doc)
                }
                ast::Item::Function(item) => {
                    let found = facts.and_then(|facts| facts.functions.get(functions));
                    functions += 1;
                    (&item.name, Sort::Function, self.signature(item, text, found), &item.doc)
                }
                ast::Item::Import(item) => {
                    let alias = item.names.iter().filter_map(|name| name.alias.as_ref());
                    if let Some(alias) = alias.into_iter().find(|alias| alias.text == home.name) {
                        let shown = format!("imported from {:?}", item.from.text);
                        return Some(Declaration { sort: Sort::Unknown, span: alias.span, shown, doc: None });
                    }
                    continue;
                }
                ast::Item::Bad { name: Some(name), span: _ } => (name, Sort::Unknown, String::new(), &None),
                ast::Item::Listen(_) | ast::Item::Test(_) | ast::Item::Bad { name: None, span: _ } => continue,
            };
            if name.text == home.name {
                return Some(Declaration { sort, span: name.span, shown, doc: doc.clone() });
            }
        }
        None
    }

    fn signature(
        &self,
        item: &ast::Function,
        text: &crate::source::SourceFile,
        found: Option<&FunctionFacts>,
    ) -> String {
        let params = item.params.iter().map(|param| format!("{}: {}", param.name.text, text.slice(param.ty.span)));
        let params: Vec<_> = params.collect();
        let mut shown = format!("({})", params.join(", "));
        let Some(found) = found else { return shown };
        if let Returns::Gives(ty) = &found.returns {
            shown.push_str(": <");
            shown.push_str(&self.show(ty));
            shown.push('>');
        }
        let writes = found.effects.writes.types().map(|of| self.show(&Ty::Position(of.clone())));
        let writes: Vec<_> = writes.collect();
        if !writes.is_empty() {
            shown.push_str("\nwrites ");
            shown.push_str(&writes.join(", "));
        }
        shown
    }
}

/// What this check found in the files that were not kept, taken out of the context.
fn found(
    cx: &mut Context<'_>,
    before: usize,
    earlier: &Earlier<'_>,
    (listens, tests): (&listens::Each<'_>, &testing::Each),
) -> BTreeMap<SourceId, Known> {
    let mut problems: BTreeMap<SourceId, Vec<Diagnostic>> = BTreeMap::new();
    for problem in cx.problems.split_off(before) {
        problems.entry(problem.primary.span.source).or_default().push(problem);
    }
    let mut mentions = by_source(cx.notes.mentions.take().unwrap_or_default());
    let mut fresh = BTreeMap::new();
    for (file, tree) in cx.program.files.iter().enumerate() {
        if earlier.kept.get(file).copied().unwrap_or_default() {
            continue;
        }
        let Some(text) = cx.program.map.get(tree.source) else { continue };
        let mut facts = Facts {
            listens: listens.get(file).into_iter().flatten().map(|(_, listen)| listen.clone()).collect(),
            asks: tests.get(file).map(|tests| tests.asks.clone()).unwrap_or_default(),
            problems: problems.remove(&tree.source).unwrap_or_default(),
            mentions: mentions.remove(&tree.source).unwrap_or_default(),
            used: used(cx, file),
            ..Facts::default()
        };
        for symbol in cx.by_file.get(file).into_iter().flatten() {
            match symbol {
                Symbol::Type(index) => facts.types.extend(cx.types.get(*index).map(|decl| decl.ty.clone())),
                Symbol::Constant(index) => {
                    let done = cx.constants.get(*index).map(|decl| decl.done.clone().map(|(_, ty)| ty));
                    facts.broken |= matches!(done, Some(None));
                    facts.constants.extend(done);
                }
                Symbol::Function(index) => {
                    let Some(decl) = cx.functions.get(*index) else { continue };
                    facts.broken |= decl.typed.is_none();
                    facts.functions.push(FunctionFacts {
                        params: decl.params.clone(),
                        returns: decl.returns.clone(),
                        effects: decl.effects.clone(),
                    });
                }
                Symbol::Connection(_) | Symbol::Failed => {}
            }
        }
        let known =
            Known { text: text.text.clone(), inputs: inputs(cx, file), leans: leans(cx, tree.source, &facts), facts };
        fresh.insert(tree.source, known);
    }
    // A problem of a file that was kept is impossible: nothing of it was looked at.
    fresh
}

fn used(cx: &Context<'_>, file: usize) -> Vec<SmolStr> {
    let names = cx.scopes.get(file).into_iter().flat_map(|scope| &scope.names);
    names.filter(|(_, entry)| entry.used).map(|(name, _)| name.clone()).collect()
}

/// The other texts whose places stand in a file's facts.
fn leans(cx: &Context<'_>, own: SourceId, facts: &Facts) -> Vec<(SourceId, Arc<str>)> {
    let labels = facts.problems.iter().flat_map(|problem| {
        let fixes = problem.fix.iter().flat_map(|fix| fix.edits.iter().map(|(span, _)| span.source));
        problem.secondary.iter().map(|label| label.span.source).chain(fixes)
    });
    let places = facts.mentions.iter().filter_map(|mention| match &mention.means {
        super::index::Meaning::Local { at, sort: _ } => Some(at.source),
        super::index::Meaning::Declared { .. }
        | super::index::Meaning::Type(_)
        | super::index::Meaning::Edge { .. }
        | super::index::Meaning::Field { .. }
        | super::index::Meaning::Part
        | super::index::Meaning::Builtin
        | super::index::Meaning::BuiltinType
        | super::index::Meaning::Wait
        | super::index::Meaning::Module
        | super::index::Meaning::Credential
        | super::index::Meaning::Setting
        | super::index::Meaning::File(_) => None,
    });
    let mut others: Vec<SourceId> = labels.chain(places).filter(|source| *source != own).collect();
    others.sort_unstable();
    others.dedup();
    others.into_iter().filter_map(|source| Some((source, cx.program.map.get(source)?.text.clone()))).collect()
}

fn by_source(mentions: Vec<Mention>) -> BTreeMap<SourceId, Vec<Mention>> {
    let mut sorted: BTreeMap<SourceId, Vec<Mention>> = BTreeMap::new();
    for mention in mentions {
        sorted.entry(mention.span.source).or_default().push(mention);
    }
    sorted
}

#[cfg(test)]
mod tests;
