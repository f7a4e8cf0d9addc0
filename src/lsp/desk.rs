//! One project as the editor has it: its files, what is open in place of what is on disk, and what a check of them
//! found. Checks when asked, and only what changed.

use std::{
    collections::BTreeMap,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use lf_lang::{
    check::{Catalog, ConnectRequest, Program, connections, study::Study},
    diag::Diagnostic,
    editor::View,
    source::{SourceFile, SourceId, SourceMap},
    syntax::{self, ast},
};
use tokio::runtime::Handle;

use crate::{
    host::load::{self, Connector},
    project::{Project, files},
};

/// A project, and what is needed to know its connections.
#[derive(Debug)]
pub struct World {
    pub project: Project,
    pub connector: Connector,
    /// What reading the project's own modules gave.
    pub modules: (SourceMap, Vec<Diagnostic>),
}

/// The files of one project, or one file without one.
#[derive(Debug)]
pub(super) struct Desk {
    world: Option<World>,
    map: SourceMap,
    /// By their path in the project, in this order.
    known: BTreeMap<String, SourceId>,
    trees: Vec<ast::File>,
    roots: Vec<SourceId>,
    /// What is wrong with a text by itself.
    syntax: BTreeMap<SourceId, Vec<Diagnostic>>,
    /// The texts that are to be read, and how each was when its tree was made.
    stale: BTreeMap<SourceId, Option<SourceFile>>,
    requests: Option<Vec<ConnectRequest>>,
    catalog: Catalog,
    study: Study,
    problems: Vec<Diagnostic>,
    /// Something changed since the last check.
    dirty: bool,
}

impl Desk {
    /// The desk of a project: every movement file of it, as it is on disk.
    pub(super) fn new(world: Option<World>) -> Result<Self, String> {
        let mut desk = Self {
            world,
            map: SourceMap::default(),
            known: BTreeMap::new(),
            trees: Vec::new(),
            roots: Vec::new(),
            syntax: BTreeMap::new(),
            stale: BTreeMap::new(),
            requests: None,
            catalog: Catalog::default(),
            study: Study::default(),
            problems: Vec::new(),
            dirty: true,
        };
        if let Some(world) = &desk.world {
            let project = world.project.clone();
            for path in files::movements(&project.root).map_err(|why| why.to_string())? {
                // A file that is no text is reported by `check`; here it is as if it were not there.
                if let Ok(text) = files::read(&path) {
                    desk.put(&project.display(&path), text);
                }
            }
        }
        Ok(desk)
    }

    /// Whether this is a project, whose connections are known.
    pub(super) fn is_project(&self) -> bool {
        self.world.is_some()
    }

    pub(super) fn root(&self) -> Option<&Path> {
        self.world.as_ref().map(|world| world.project.root.as_path())
    }

    /// The name by which the project knows a file.
    pub(super) fn name(&self, path: &Path) -> String {
        match &self.world {
            Some(world) => world.project.display(path),
            None => path.display().to_string(),
        }
    }

    /// Where a file of the project lies.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.root().map_or_else(|| PathBuf::from(name), |root| root.join(name))
    }

    /// Gives a file this text; takes a new one in.
    pub(super) fn put(&mut self, name: &str, text: impl Into<Arc<str>>) {
        let text = text.into();
        self.dirty = true;
        if let Some(&id) = self.known.get(name) {
            if let Some(before) = self.map.get(id).filter(|file| file.text != text).cloned() {
                self.map.replace(id, text);
                self.stale.entry(id).or_insert(Some(before));
            }
            return;
        }
        let id = self.map.add(name, text);
        self.known.insert(name.to_owned(), id);
        self.stale.insert(id, None);
        let place = self.known.range(..name.to_owned()).count();
        self.trees.insert(place, ast::File { source: id, items: Vec::new(), comments: Vec::new() });
        self.roots.insert(place, id);
    }

    /// The file is gone.
    pub(super) fn drop_file(&mut self, name: &str) {
        if let Some(id) = self.known.remove(name) {
            self.trees.retain(|tree| tree.source != id);
            self.roots.retain(|root| *root != id);
            self.syntax.remove(&id);
            self.stale.remove(&id);
            self.dirty = true;
        }
    }

    /// Reads and checks what changed.
    pub(super) fn refresh(&mut self, runtime: &Handle) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let stale = std::mem::take(&mut self.stale);
        let (edited, new): (Vec<_>, Vec<_>) = stale.into_iter().partition(|(_, before)| before.is_some());
        for (id, before) in edited {
            let tree = self.trees.iter_mut().find(|tree| tree.source == id);
            let (Some(tree), Some(before), Some(now)) = (tree, before, self.map.get(id)) else { continue };
            let was = std::mem::replace(tree, ast::File { source: id, items: Vec::new(), comments: Vec::new() });
            let problems = self.syntax.get(&id).map(Vec::as_slice).unwrap_or_default();
            let parsed = syntax::parse_edited(now, &before, was, problems);
            *tree = parsed.file;
            self.syntax.insert(id, parsed.problems);
        }
        let texts: Vec<&SourceFile> = new.iter().filter_map(|(id, _)| self.map.get(*id)).collect();
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        for parsed in syntax::parse_all(&texts, threads) {
            let id = parsed.file.source;
            if let Some(tree) = self.trees.iter_mut().find(|tree| tree.source == id) {
                *tree = parsed.file;
                self.syntax.insert(id, parsed.problems);
            }
        }
        self.describe(runtime);
        let program = Program { map: &self.map, files: &self.trees, roots: &self.roots };
        let mut problems = self.study.check(&program, &self.catalog);
        match &self.world {
            Some(world) => load::once(&mut problems, &self.map, &world.connector.registry),
            // Without a project nothing is known of any connection, so nothing is said of them.
            None => problems.clear(),
        }
        problems.extend(self.syntax.values().flatten().cloned());
        problems.sort_by_key(|problem| (problem.primary.span, problem.code));
        self.problems = problems;
    }

    /// Learns what the lock file says of the connections, where they are others than before.
    fn describe(&mut self, runtime: &Handle) {
        let Some(world) = &self.world else { return };
        let requests = connections(&self.trees);
        let same = |known: &Vec<ConnectRequest>| {
            known.len() == requests.len() && known.iter().zip(&requests).all(|(one, two)| one.key == two.key)
        };
        if self.requests.as_ref().is_some_and(same) {
            return;
        }
        match runtime.block_on(load::offline(&world.project, &world.connector, &requests)) {
            Ok(catalog) => self.catalog = catalog,
            Err(why) => tracing::warn!("what the connections are is not known: {why}"),
        }
        self.study = Study::default();
        self.requests = Some(requests);
    }

    pub(super) fn view(&self) -> View<'_> {
        View { map: &self.map, files: &self.trees, roots: &self.roots, catalog: &self.catalog, study: &self.study }
    }

    pub(super) fn source(&self, name: &str) -> Option<&SourceFile> {
        self.map.get(*self.known.get(name)?)
    }

    pub(super) fn file(&self, id: SourceId) -> Option<&SourceFile> {
        self.map.get(id)
    }

    pub(super) fn tree(&self, id: SourceId) -> Option<&ast::File> {
        self.trees.iter().find(|tree| tree.source == id)
    }

    pub(super) fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    pub(super) fn map(&self) -> &SourceMap {
        &self.map
    }

    /// The faults of the project's own modules, with their texts.
    pub(super) fn module_faults(&self) -> Option<&(SourceMap, Vec<Diagnostic>)> {
        self.world.as_ref().map(|world| &world.modules)
    }

    pub(super) fn complete(&mut self, source: SourceId, offset: u32) -> Option<lf_lang::editor::Completion> {
        let Self { map, trees, roots, catalog, study, .. } = self;
        lf_lang::editor::complete(map, trees, roots, catalog, study, source, offset)
    }
}
