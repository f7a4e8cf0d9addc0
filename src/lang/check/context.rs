//! What all parts of a check share: the files, the described graphs, the file scopes, the problems found so far.

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    Catalog, Program, annotations, builtins,
    effects::Effects,
    graph::Graph,
    imports,
    index::{Home, Meaning, Mention, Notes},
    typed,
};
use crate::{
    diag::{Diagnostic, Severity, codes, suggest},
    source::Span,
    syntax::ast::{self, Item},
    types::{ConnectionId, Ty},
};

/// What a file-level name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    Connection(ConnectionId),
    Type(usize),
    Function(usize),
    Constant(usize),
    /// Its declaration failed and was reported: whoever uses it stays silent.
    Failed,
}

/// How a name came into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Import,
    Declared { export: bool },
}

/// A file-level name.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) symbol: Symbol,
    pub(super) span: Span,
    pub(super) origin: Origin,
    /// Where it is declared.
    pub(super) home: Home,
    pub(super) used: bool,
}

/// The names of one file.
#[derive(Debug, Default)]
pub(super) struct FileScope {
    pub(super) names: IndexMap<SmolStr, Entry>,
    /// A declaration could not be read, not even its name: unknown names may be its.
    pub(super) damaged: bool,
}

/// `type X = <…>`
#[derive(Debug)]
pub(super) struct TypeDecl<'a> {
    pub(super) item: &'a ast::TypeItem,
    pub(super) file: usize,
    pub(super) ty: Option<Ty>,
}

/// `function f(…) { … }`
#[derive(Debug)]
pub(super) struct FunctionDecl<'a> {
    pub(super) item: &'a ast::Function,
    pub(super) file: usize,
    /// The types of the parameters; `None` for one that failed.
    pub(super) params: Vec<Option<Ty>>,
    pub(super) returns: Returns,
    pub(super) fired: bool,
    pub(super) effects: Effects,
    pub(super) typed: Option<typed::Function>,
}

/// What is known of what a function gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Returns {
    Nothing,
    Gives(Ty),
    /// It could not be found out, which was reported.
    Failed,
}

/// `NAME = expression` at file level.
#[derive(Debug)]
pub(super) struct ConstantDecl<'a> {
    pub(super) item: &'a ast::Binding,
    pub(super) file: usize,
    /// Its id and type once it was checked.
    pub(super) done: Option<(typed::ConstantId, Ty)>,
}

/// The state of one check.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) program: Program<'a>,
    pub(super) catalog: &'a Catalog,
    pub(super) graph: Graph<'a>,
    pub(super) problems: Vec<Diagnostic>,
    pub(super) scopes: Vec<FileScope>,
    pub(super) types: Vec<TypeDecl<'a>>,
    pub(super) functions: Vec<FunctionDecl<'a>>,
    pub(super) constants: Vec<ConstantDecl<'a>>,
    /// The constants that were checked, each after those it uses.
    pub(super) checked_constants: Vec<typed::Constant>,
    pub(super) connections: Vec<typed::Connection>,
    /// The types, constants and functions of each file, in the order of the text.
    pub(super) by_file: Vec<Vec<Symbol>>,
    /// Something could not be read, so that what is not used may be used there.
    pub(super) broken: bool,
    pub(super) notes: Notes,
}

impl<'a> Context<'a> {
    pub(super) fn new(program: Program<'a>, catalog: &'a Catalog) -> Self {
        Self {
            program,
            catalog,
            graph: Graph::default(),
            problems: Vec::new(),
            scopes: program.files.iter().map(|_| FileScope::default()).collect(),
            types: Vec::new(),
            functions: Vec::new(),
            constants: Vec::new(),
            checked_constants: Vec::new(),
            connections: Vec::new(),
            by_file: program.files.iter().map(|_| Vec::new()).collect(),
            broken: false,
            notes: Notes::default(),
        }
    }

    pub(super) fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// The text of a span, as it was written.
    pub(super) fn slice(&self, span: Span) -> &'a str {
        self.program.map.get(span.source).map_or("", |file| file.slice(span))
    }

    /// What stands behind a place, to the end of its text.
    pub(super) fn behind(&self, span: Span) -> &'a str {
        let file = self.program.map.get(span.source);
        file.and_then(|file| file.text.get(span.end as usize..)).unwrap_or_default()
    }

    /// The place of an entry of a list together with what parts it from the one before.
    pub(super) fn parted(&self, span: Span) -> Span {
        let file = self.program.map.get(span.source);
        let before = file.and_then(|file| file.text.get(..span.start as usize)).unwrap_or_default();
        let before = before.trim_end();
        let before = before.strip_suffix(',').unwrap_or(before);
        Span { start: u32::try_from(before.len()).unwrap_or(span.start), ..span }
    }

    /// The declaration of a file-level name, which counts as a use of it.
    pub(super) fn look_up(&mut self, file: usize, name: &ast::Name) -> Option<Symbol> {
        let entry = self.scopes.get_mut(file)?.names.get_mut(&name.text)?;
        entry.used = true;
        let symbol = entry.symbol;
        if self.notes.mentions.is_some() {
            let home = entry.home.clone();
            self.notes.mention(name.span, Meaning::Declared { home, sort: symbol.into() });
        }
        Some(symbol)
    }

    /// The home of a name that this file declares itself.
    pub(super) fn here(&self, file: usize, name: &ast::Name) -> Home {
        let source = self.program.files.get(file).map_or(name.span.source, |tree| tree.source);
        Home { source, name: name.text.clone() }
    }

    /// The declaration of a file-level name, without using it.
    pub(super) fn peek(&self, file: usize, name: &str) -> Option<&Entry> {
        self.scopes.get(file)?.names.get(name)
    }

    /// Takes a name into a file's scope; reports one that is taken.
    pub(super) fn declare(&mut self, file: usize, name: &ast::Name, symbol: Symbol, origin: Origin, home: Home) {
        let is_type = matches!(symbol, Symbol::Type(_)) && annotations::NAMES.contains(&name.text.as_str());
        if is_type || builtins::is_reserved(&name.text) {
            self.report(
                Diagnostic::error(
                    codes::MOV_NAME_SHADOWED,
                    name.span,
                    format!("`{}` is a name of the language", name.text),
                )
                .label("already means something everywhere")
                .help("give it another name"),
            );
        }
        let Some(scope) = self.scopes.get_mut(file) else { return };
        if let Some(first) = scope.names.get(&name.text) {
            let first = first.span;
            self.report(
                Diagnostic::error(
                    codes::MOV_NAME_DUPLICATE,
                    name.span,
                    format!("`{}` is declared twice in this file", name.text),
                )
                .label("declared again")
                .also(first, "first declared here")
                .help("rename one of them"),
            );
            return;
        }
        let means = Meaning::Declared { home: home.clone(), sort: symbol.into() };
        let declares = home.source == name.span.source && home.name == name.text;
        scope.names.insert(name.text.clone(), Entry { symbol, span: name.span, origin, home, used: false });
        self.notes.note(Mention { span: name.span, means, ty: None, declares });
    }

    /// The symbol that another file exports under this name; reports what it does not export.
    pub(super) fn exported(&mut self, file: usize, name: &ast::Name, from: &str) -> Symbol {
        if let Some(scope) = self.scopes.get(file) {
            match scope.names.get(&name.text) {
                Some(Entry { symbol, origin: Origin::Declared { export: true }, .. }) => return *symbol,
                Some(Entry { span, origin: Origin::Declared { export: false }, .. }) => {
                    let span = *span;
                    self.report(
                        Diagnostic::error(
                            codes::MOV_IMPORT_NAME,
                            name.span,
                            format!("{from:?} does not export `{}`", name.text),
                        )
                        .also(span, "declared here, without `export`")
                        .help("write `export` before its declaration"),
                    );
                    return Symbol::Failed;
                }
                Some(Entry { origin: Origin::Import, .. }) | None if scope.damaged => return Symbol::Failed,
                Some(Entry { origin: Origin::Import, .. }) | None => {}
            }
        }
        let near = self
            .program
            .files
            .get(file)
            .and_then(|tree| suggest::nearest(&name.text, imports::exports(tree).map(SmolStr::as_str)));
        let report = Diagnostic::error(codes::MOV_IMPORT_NAME, name.span, format!("{from:?} has no `{}`", name.text));
        self.report(match near {
            Some(near) => {
                report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near)
            }
            None => report.help("it can be imported from the file that declares it"),
        });
        Symbol::Failed
    }

    /// Takes every declaration of every file into its scope (connections are taken in by `connections`).
    pub(super) fn collect(&mut self) {
        let program = self.program;
        for (file, tree) in program.files.iter().enumerate() {
            for item in &tree.items {
                self.broken |= matches!(item, Item::Bad { .. });
                let own = match item {
                    Item::Type(_) => Some(Symbol::Type(self.types.len())),
                    Item::Binding(_) => Some(Symbol::Constant(self.constants.len())),
                    Item::Function(_) => Some(Symbol::Function(self.functions.len())),
                    Item::Import(_) | Item::Connection(_) | Item::Listen(_) | Item::Test(_) | Item::Bad { .. } => None,
                };
                if let Some(nodes) = self.by_file.get_mut(file) {
                    nodes.extend(own);
                }
                match item {
                    Item::Import(_) | Item::Listen(_) | Item::Test(_) => {}
                    Item::Connection(item) => {
                        let symbol = super::connections::connect(self, item);
                        let home = self.here(file, &item.name);
                        self.declare(file, &item.name, symbol, Origin::Declared { export: item.export }, home);
                    }
                    Item::Type(item) => {
                        let symbol = Symbol::Type(self.types.len());
                        self.types.push(TypeDecl { item, file, ty: None });
                        let home = self.here(file, &item.name);
                        self.declare(file, &item.name, symbol, Origin::Declared { export: item.export }, home);
                    }
                    Item::Function(item) => {
                        let symbol = Symbol::Function(self.functions.len());
                        self.functions.push(FunctionDecl {
                            item,
                            file,
                            params: Vec::new(),
                            returns: Returns::Failed,
                            fired: false,
                            effects: Effects::default(),
                            typed: None,
                        });
                        let home = self.here(file, &item.name);
                        self.declare(file, &item.name, symbol, Origin::Declared { export: item.export }, home);
                    }
                    Item::Binding(item) => {
                        let symbol = Symbol::Constant(self.constants.len());
                        self.constants.push(ConstantDecl { item, file, done: None });
                        let home = self.here(file, &item.name);
                        self.declare(file, &item.name, symbol, Origin::Declared { export: item.export }, home);
                    }
                    Item::Bad { name: Some(name), span: _ } => {
                        // A half-read declaration may have been exported.
                        let home = self.here(file, name);
                        self.declare(file, name, Symbol::Failed, Origin::Declared { export: true }, home);
                    }
                    // A listen and a test declare nothing that could be missed.
                    Item::Bad { name: None, span } if begins_with(self.slice(*span), &["listen", "test"]) => {}
                    Item::Bad { name: None, span: _ } => {
                        if let Some(scope) = self.scopes.get_mut(file) {
                            scope.damaged = true;
                        }
                    }
                }
            }
        }
    }
}

/// Whether a text begins with one of these words.
fn begins_with(text: &str, words: &[&str]) -> bool {
    let first = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next();
    first.is_some_and(|first| words.contains(&first))
}
