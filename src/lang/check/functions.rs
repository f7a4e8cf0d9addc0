//! Functions and file-level constants: signatures, bodies, what they give back, and who depends on whom.

use indexmap::{IndexMap, IndexSet};

use super::{
    annotations,
    body::{Body, Bound, Place},
    context::{Context, Returns, Symbol},
    effects,
    imports::Targets,
    order,
    study::Earlier,
    typed::{self, ConstantId},
    uses::Uses,
};
use crate::{
    diag::{Diagnostic, codes},
    types::{Ty, relation},
};

/// A declaration that others may need before they can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Type(usize),
    Constant(usize),
    Function(usize),
}

impl Node {
    fn of(symbol: Symbol) -> Option<Self> {
        match symbol {
            Symbol::Type(index) => Some(Self::Type(index)),
            Symbol::Constant(index) => Some(Self::Constant(index)),
            Symbol::Function(index) => Some(Self::Function(index)),
            Symbol::Connection(_) | Symbol::Failed => None,
        }
    }
}

/// Checks every type, constant and function, each after those it needs; takes over what `earlier` knows.
pub(super) fn check(cx: &mut Context<'_>, targets: &Targets, earlier: &mut Earlier<'_>) {
    let edges: Vec<Vec<usize>> = targets.iter().map(|found| found.iter().flatten().copied().collect()).collect();
    for group in order::groups(&edges) {
        match group.as_slice() {
            [file] if earlier.keep(cx, *file) => {}
            files => {
                check_files(cx, files);
                let whole =
                    files.iter().filter_map(|file| cx.by_file.get(*file)).flatten().all(|symbol| match symbol {
                        Symbol::Function(index) => cx.functions.get(*index).is_some_and(|decl| decl.typed.is_some()),
                        Symbol::Constant(index) => cx.constants.get(*index).is_some_and(|decl| decl.done.is_some()),
                        Symbol::Type(_) | Symbol::Connection(_) | Symbol::Failed => true,
                    });
                cx.broken |= !whole;
            }
        }
    }
}

/// Checks what some files declare, which need no file that comes after them.
fn check_files(cx: &mut Context<'_>, files: &[usize]) {
    let symbols = files.iter().filter_map(|file| cx.by_file.get(*file)).flatten();
    let nodes: IndexSet<Node> = symbols.filter_map(|symbol| Node::of(*symbol)).collect();
    let uses: Vec<Uses<'_>> = nodes.iter().map(|node| uses_of(cx, *node)).collect();
    let edges: Vec<Vec<usize>> = nodes
        .iter()
        .zip(&uses)
        .map(|(node, uses)| {
            let file = file_of(cx, *node);
            let mut needs: Vec<usize> = uses
                .names
                .iter()
                .filter_map(|name| nodes.get_index_of(&Node::of(cx.peek(file, &name.text)?.symbol)?))
                .collect();
            needs.sort_unstable();
            needs.dedup();
            needs
        })
        .collect();
    for group in order::groups(&edges) {
        let cycle = order::is_cycle(&group, &edges);
        let members: Vec<(Node, &Uses<'_>)> =
            group.iter().filter_map(|index| Some((*nodes.get_index(*index)?, uses.get(*index)?))).collect();
        check_group(cx, &members, cycle);
    }
}

fn uses_of<'a>(cx: &Context<'a>, node: Node) -> Uses<'a> {
    let mut uses = Uses::default();
    match node {
        Node::Type(index) => {
            if let Some(decl) = cx.types.get(index) {
                uses.ty(&decl.item.ty);
            }
        }
        Node::Constant(index) => {
            if let Some(decl) = cx.constants.get(index) {
                uses.expr(&decl.item.value);
            }
        }
        Node::Function(index) => {
            if let Some(decl) = cx.functions.get(index) {
                for param in &decl.item.params {
                    uses.ty(&param.ty);
                }
                if let Some(returns) = &decl.item.returns {
                    uses.ty(returns);
                }
                uses.block(&decl.item.body);
            }
        }
    }
    uses
}

fn file_of(cx: &Context<'_>, node: Node) -> usize {
    let file = match node {
        Node::Type(index) => cx.types.get(index).map(|decl| decl.file),
        Node::Constant(index) => cx.constants.get(index).map(|decl| decl.file),
        Node::Function(index) => cx.functions.get(index).map(|decl| decl.file),
    };
    file.unwrap_or_default()
}

fn check_group(cx: &mut Context<'_>, members: &[(Node, &Uses<'_>)], cycle: bool) {
    let mut functions = Vec::new();
    if cycle {
        report_cycle(cx, members);
    }
    for (node, uses) in members {
        match node {
            Node::Type(_) | Node::Constant(_) if cycle => {}
            Node::Type(index) => check_type(cx, *index),
            Node::Constant(index) => check_constant(cx, *index),
            Node::Function(index) => {
                signature(cx, *index, uses, cycle);
                functions.push((*index, *uses));
            }
        }
    }
    for (index, uses) in &functions {
        check_body(cx, *index, uses);
    }
    let group: Vec<usize> = functions.iter().map(|(index, _)| *index).collect();
    if !group.is_empty() {
        effects::settle(cx, &group);
    }
}

/// Types and constants that depend on one another: one report for the whole circle.
fn report_cycle(cx: &mut Context<'_>, members: &[(Node, &Uses<'_>)]) {
    let names: Vec<_> = members
        .iter()
        .filter_map(|(node, _)| match node {
            Node::Type(index) => cx.types.get(*index).map(|decl| (&decl.item.name, true)),
            Node::Constant(index) => cx.constants.get(*index).map(|decl| (&decl.item.name, false)),
            Node::Function(_) => None,
        })
        .collect();
    let Some(((first, is_type), others)) = names.split_first() else { return };
    let report = if *is_type {
        Diagnostic::error(codes::MOV_TYPE_CYCLE, first.span, format!("the type `{}` is made of itself", first.text))
            .label("no value could ever be of it")
            .help("use `json` for the part that repeats")
    } else {
        Diagnostic::error(codes::MOV_CONSTANT_CYCLE, first.span, format!("`{}` depends on itself", first.text))
            .label("its value would never be known")
    };
    let report = others.iter().fold(report, |report, (name, _)| report.also(name.span, "through this"));
    cx.report(report);
}

fn check_type(cx: &mut Context<'_>, index: usize) {
    let Some(decl) = cx.types.get(index) else { return };
    let (item, file) = (decl.item, decl.file);
    let ty = annotations::resolve(cx, file, &item.ty).filter(|ty| {
        if !ty.is_small() {
            cx.report(too_large(item.name.span, "this type"));
        }
        ty.is_small()
    });
    if let Some(decl) = cx.types.get_mut(index) {
        decl.ty = ty;
    }
}

/// A type that doubles with every step would soon fill the memory.
pub(super) fn too_large(at: crate::source::Span, what: &str) -> Diagnostic {
    Diagnostic::error(codes::MOV_TYPE_LARGE, at, format!("{what} is made of too many parts"))
        .label(format!(
            "more than {} parts, or nested deeper than {}",
            crate::types::MOST_PARTS,
            crate::types::MOST_DEPTH
        ))
        .help("hold the inner part as json: `JSON(…)`")
}

fn check_constant(cx: &mut Context<'_>, index: usize) {
    let Some(decl) = cx.constants.get(index) else { return };
    let (item, file) = (decl.item, decl.file);
    let value = Body::new(cx, file, Place::Constant).expr(&item.value);
    let Some(value) = value else { return };
    let id = ConstantId(u32::try_from(cx.checked_constants.len()).unwrap_or(u32::MAX));
    let ty = value.ty.clone();
    cx.checked_constants.push(typed::Constant { name: item.name.text.clone(), value });
    if let Some(decl) = cx.constants.get_mut(index) {
        decl.done = Some((id, ty));
    }
}

/// The types of the parameters, and what is declared to come back.
fn signature(cx: &mut Context<'_>, index: usize, uses: &Uses<'_>, cycle: bool) {
    let Some(decl) = cx.functions.get(index) else { return };
    let (item, file) = (decl.item, decl.file);
    let params: Vec<Option<Ty>> = item.params.iter().map(|param| annotations::resolve(cx, file, &param.ty)).collect();
    let returns = match &item.returns {
        Some(written) => match annotations::resolve(cx, file, written) {
            Some(ty) => Returns::Gives(ty),
            None => Returns::Failed,
        },
        None if !uses.gives && !uses.damaged => Returns::Nothing,
        None if cycle => {
            cx.report(
                Diagnostic::error(
                    codes::MOV_RETURN_UNDECLARED,
                    item.name.span,
                    format!("`{}` calls itself, so what it gives back has to be declared", item.name.text),
                )
                .label("directly or through others")
                .help(format!("write it after the parameters: `function {}(…): <type>`", item.name.text)),
            );
            Returns::Failed
        }
        // Found out from the body, which is checked before anyone who calls it.
        None => Returns::Failed,
    };
    if let Some(decl) = cx.functions.get_mut(index) {
        decl.params = params;
        decl.returns = returns;
    }
}

fn check_body(cx: &mut Context<'_>, index: usize, uses: &Uses<'_>) {
    let Some(decl) = cx.functions.get(index) else { return };
    let (item, file, fired) = (decl.item, decl.file, decl.fired);
    let params = decl.params.clone();
    let declared = match (&item.returns, &decl.returns) {
        (Some(_), Returns::Gives(ty)) => Some(Some(ty.clone())),
        (Some(_), Returns::Nothing | Returns::Failed) => Some(None),
        (None, _) => None,
    };
    let mut body = Body::new(cx, file, Place::Statement);
    body.foresee(uses);
    body.declared = declared.clone();
    let scope = body.open();
    let mut typed_params = Some(Vec::with_capacity(params.len()));
    for (param, ty) in item.params.iter().zip(params) {
        let local = body.bind(scope, &param.name, Bound::Param, ty.clone());
        match (typed_params.as_mut(), ty) {
            (Some(list), Some(ty)) => list.push(typed::Param { local, name: param.name.text.clone(), ty }),
            (_, _) => typed_params = None,
        }
    }
    let checked = body.statements(scope, &item.body);
    body.close(scope);
    body.warn_unused(!fired);
    let locals = u32::try_from(body.locals.len()).unwrap_or(u32::MAX);
    let returns = std::mem::take(&mut body.returns);
    let returns = match declared {
        Some(declared) => {
            // A statement that could not be read may have been the `return`.
            if declared.is_some() && !checked.ends && !uses.damaged {
                missing_return(cx, index, "says that it gives a value back");
            }
            declared.map_or(Returns::Failed, Returns::Gives)
        }
        // What could not be read may have given a value back.
        None if uses.damaged && returns.iter().all(|found| found.value.is_none()) => Returns::Failed,
        None => inferred(cx, index, &returns, checked.ends),
    };
    let gives = match &returns {
        Returns::Gives(ty) => Some(Some(ty.clone())),
        Returns::Nothing => Some(None),
        Returns::Failed => None,
    };
    let typed = typed_params.zip(checked.block).zip(gives).map(|((params, body), returns)| typed::Function {
        name: item.name.text.clone(),
        span: item.name.span,
        doc: item.doc.clone(),
        params,
        returns,
        locals,
        body,
    });
    if let Some(decl) = cx.functions.get_mut(index) {
        decl.returns = returns;
        decl.typed = typed;
    }
}

/// What a function without a declared return type gives back.
fn inferred(cx: &mut Context<'_>, index: usize, returns: &[super::body::Return], ends: bool) -> Returns {
    let undeclared = cx.functions.get(index).is_some_and(|decl| decl.returns == Returns::Failed);
    let values: Vec<_> = returns.iter().filter_map(|found| Some((found.span, found.value.clone()?))).collect();
    if values.is_empty() {
        return Returns::Nothing;
    }
    if let Some(bare) = returns.iter().find(|found| found.value.is_none()) {
        let first = values.first().map_or(bare.span, |(span, _)| *span);
        cx.report(
            Diagnostic::error(
                codes::MOV_RETURN_VALUE,
                bare.span,
                "this `return` gives nothing, and others give a value",
            )
            .label("gives nothing")
            .also(first, "gives a value")
            .help("give a value here too, such as `null`"),
        );
        return Returns::Failed;
    }
    if !ends && undeclared {
        missing_return(cx, index, "gives a value back on other ways");
    }
    common(cx, values).map_or(Returns::Failed, |ty| ty.map_or(Returns::Nothing, Returns::Gives))
}

/// The type that all values given back have in common; `None` if that was reported. `Some(None)` if there are none.
pub(super) fn common(cx: &mut Context<'_>, values: Vec<(crate::source::Span, Option<Ty>)>) -> Option<Option<Ty>> {
    let mut common: Option<(Ty, crate::source::Span)> = None;
    for (span, ty) in values {
        let ty = ty?;
        common = match common {
            None => Some((ty, span)),
            Some((so_far, first)) => match relation::join(&so_far, &ty, &cx.graph) {
                Some(joined) => Some((joined, first)),
                None => {
                    let (one, two) = (cx.graph.show(&so_far), cx.graph.show(&ty));
                    cx.report(
                        Diagnostic::error(
                            codes::MOV_RETURN_TYPE,
                            span,
                            format!("one `return` gives `{one}` and this one `{two}`"),
                        )
                        .label(two)
                        .also(first, one)
                        .help("give values of one type"),
                    );
                    return None;
                }
            },
        };
    }
    Some(common.map(|(ty, _)| ty))
}

fn missing_return(cx: &mut Context<'_>, index: usize, why: &str) {
    let Some(decl) = cx.functions.get(index) else { return };
    let item = decl.item;
    let end = item.body.span.end;
    let brace = crate::source::Span { start: end.saturating_sub(1), end, ..item.body.span };
    cx.report(
        Diagnostic::error(
            codes::MOV_RETURN_MISSING,
            brace,
            format!("`{}` can end without giving a value back", item.name.text),
        )
        .label("gets here without `return`")
        .also(item.name.span, why)
        .help("end every way through it with `return` or `ERROR(\"why\")`"),
    );
}

/// Warns of file-level names that nothing uses.
pub(super) fn warn_unused(cx: &mut Context<'_>) {
    use super::context::Origin;
    let mut warnings = Vec::new();
    for scope in &cx.scopes {
        for (name, entry) in &scope.names {
            if entry.used || name.starts_with('_') || matches!(entry.origin, Origin::Declared { export: true }) {
                continue;
            }
            let what = match (entry.origin, entry.symbol) {
                (Origin::Import, _) => "the import",
                (_, Symbol::Connection(_)) => "the connection",
                (_, Symbol::Type(_)) => "the type",
                (_, Symbol::Function(_)) => "the function",
                (_, Symbol::Constant(_)) => "the value",
                (_, Symbol::Failed) => continue,
            };
            warnings.push(
                Diagnostic::warning(codes::MOV_UNUSED, entry.span, format!("{what} `{name}` is never used"))
                    .help("leave it out, or `export` it"),
            );
        }
    }
    for warning in warnings {
        cx.report(warning);
    }
}

/// The functions by name, where a file's listens fire them; marks them as fired.
pub(super) fn mark_fired(cx: &mut Context<'_>) {
    let program = cx.program;
    let mut fired: IndexMap<usize, ()> = IndexMap::new();
    for (file, tree) in program.files.iter().enumerate() {
        for item in &tree.items {
            if let crate::syntax::ast::Item::Listen(listen) = item
                && let Some(entry) = cx.peek(file, &listen.fire.text)
                && let Symbol::Function(index) = entry.symbol
            {
                fired.insert(index, ());
            }
        }
    }
    for index in fired.into_keys() {
        if let Some(function) = cx.functions.get_mut(index) {
            function.fired = true;
        }
    }
}
