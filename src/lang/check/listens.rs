//! `listen to … fire …`: a type that fires, a function that takes its record, settings that mean something.
//!
//! One file, because each setting is judged by the same path, function and source as the others.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use jiff::SignedDuration;
use lf_module::{
    FieldType,
    call::{ChangeKind, Start},
    schema::{How, Listening, TypeShape},
    value::Value,
};
use smol_str::SmolStr;

use super::{
    annotations,
    body::{Body, Landed, Place, alias_text},
    context::{Context, Symbol},
    hops,
    literals::{self, Given},
    study::Earlier,
    typed::{FunctionId, Listen, ListenSettings},
    uses::Uses,
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, Item},
    types::{Ty, TypeRef, relation},
};

const DEFAULT_EVERY: SignedDuration = SignedDuration::from_secs(30);
const LEAST_EVERY: SignedDuration = SignedDuration::from_secs(1);
const DEFAULT_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
const DEFAULT_CONCURRENCY: u32 = 4;
const DEFAULT_RETRY: u32 = 3;

/// The listens of each file, in order; `None` for one that failed.
pub(super) type Each<'a> = Vec<Vec<(&'a ast::Listen, Option<Listen>)>>;

/// Checks the listens of all files; takes over those of the files that were kept.
pub(super) fn each<'a>(cx: &mut Context<'a>, earlier: &Earlier<'_>) -> Each<'a> {
    let program = cx.program;
    let mut all = Vec::with_capacity(program.files.len());
    for (file, tree) in program.files.iter().enumerate() {
        let items = tree.items.iter().filter_map(|item| if let Item::Listen(item) = item { Some(item) } else { None });
        let kept = earlier.of(cx, file).map(|facts| facts.listens.as_slice());
        let listens = items.enumerate().map(|(place, item)| match kept {
            None => (item, check_one(cx, file, item)),
            Some(kept) => {
                // Functions are numbered anew.
                let fire = cx.peek(file, &item.fire.text).and_then(|entry| match entry.symbol {
                    Symbol::Function(index) => u32::try_from(index).ok(),
                    Symbol::Connection(_) | Symbol::Type(_) | Symbol::Constant(_) | Symbol::Failed => None,
                });
                let listen = kept.get(place).cloned().flatten();
                (item, listen.zip(fire).map(|(listen, fire)| Listen { fire: FunctionId(fire), ..listen }))
            }
        });
        all.push(listens.collect());
    }
    all
}

/// The listens of the root files, and those of the others.
pub(super) type Gathered = (Vec<Listen>, Vec<Listen>);

/// The listens of all files, those of the root files each of its own name; `None` if one of them failed.
pub(super) fn gather(cx: &mut Context<'_>, each: Each<'_>) -> Option<Gathered> {
    let program = cx.program;
    let roots: std::collections::HashSet<_> = program.roots.iter().copied().collect();
    let mut all = Some((Vec::new(), Vec::new()));
    let mut names: IndexMap<SmolStr, Span> = IndexMap::new();
    for (tree, listens) in program.files.iter().zip(each) {
        let root = roots.contains(&tree.source);
        for (item, checked) in listens {
            if root && let Some(listen) = &checked {
                distinct(cx, &mut names, item, listen);
            }
            match (all.as_mut(), checked) {
                (Some((roots, _)), Some(listen)) if root => roots.push(listen),
                (Some((_, imported)), Some(listen)) => imported.push(listen),
                (_, _) => all = None,
            }
        }
    }
    all
}

/// Two listens of one name would share one position.
fn distinct(cx: &mut Context<'_>, names: &mut IndexMap<SmolStr, Span>, item: &ast::Listen, listen: &Listen) {
    let (name, at) = match &item.label {
        Some(label) => (label.text.clone(), label.span),
        None => {
            let on = cx.graph.show_position(&listen.on);
            (SmolStr::from(format!("{on} fire {}", item.fire.text)), item.path.span.to(item.fire.span))
        }
    };
    let Some(&first) = names.get(&name) else {
        names.insert(name, at);
        return;
    };
    let report = match &item.label {
        Some(label) => {
            Diagnostic::error(codes::MOV_LISTEN_TWICE, at, format!("two listens are called {:?}", label.text))
                .help("give each a label of its own")
        }
        None => Diagnostic::error(codes::MOV_LISTEN_TWICE, at, format!("`{name}` stands twice"))
            .label("which of the two has come how far could not be told")
            .help("give one of them a label: `listen as \"label\" to …`"),
    };
    cx.report(report.also(first, "the other one"));
}

fn check_one(cx: &mut Context<'_>, file: usize, item: &ast::Listen) -> Option<Listen> {
    let on = source(cx, file, &item.path);
    let fire = fired(cx, file, &item.fire);
    let Some((on, hop)) = on else {
        // The settings have mistakes of their own.
        settings(cx, item, None);
        return None;
    };
    let shape = cx.graph.shape(&on)?;
    let listening = shape.listenable.as_ref()?;
    let settings = settings(cx, item, Some((shape, listening)));
    let filter = filter(cx, file, hop, &on, listening);
    let deleted = settings.as_ref().is_some_and(|settings| settings.kinds.contains(&ChangeKind::Deleted));
    let with_change = fire.and_then(|fire| takes(cx, fire, item, &on, shape, deleted));
    let (pins, filter) = filter?;
    let fire = fire?;
    never_waits(cx, fire, item)?;
    Some(Listen {
        span: item.span,
        label: item.label.as_ref().map(|label| label.text.clone()),
        on,
        pins,
        filter: filter.map(|filter| filter.expr),
        fire: FunctionId(u32::try_from(fire).unwrap_or(u32::MAX)),
        with_change: with_change?,
        settings: settings?,
    })
}

/// A setting about waits, of a function without one.
fn never_waits(cx: &mut Context<'_>, fire: usize, item: &ast::Listen) -> Option<()> {
    let setting = item.settings.iter().find(|setting| setting.name.text == "while_waiting");
    let (Some(setting), Some(function)) = (setting, cx.functions.get(fire)) else { return Some(()) };
    if function.effects.waits || function.effects.pending || function.typed.is_none() {
        return Some(());
    }
    let (name, declared) = (function.item.name.text.clone(), function.item.name.span);
    cx.report(
        Diagnostic::error(
            codes::MOV_SETTING_VALUE,
            setting.name.span,
            format!("`while_waiting` is about waits, and `{name}` never waits"),
        )
        .also(declared, "declared here")
        .help("leave it out"),
    );
    None
}

/// The type that is listened to.
pub(super) fn source<'i>(cx: &mut Context<'_>, file: usize, path: &'i ast::Path) -> Option<(TypeRef, &'i ast::Hop)> {
    cx.offer_connections(path.head.span, file);
    let connection = match cx.look_up(file, &path.head) {
        Some(Symbol::Connection(connection)) => connection,
        Some(Symbol::Failed) => return None,
        Some(symbol @ (Symbol::Type(_) | Symbol::Function(_) | Symbol::Constant(_))) => {
            cx.report(
                Diagnostic::error(
                    codes::MOV_LISTEN_PATH,
                    path.head.span,
                    format!("`{}` is {}, not a connection", path.head.text, annotations::describe(symbol)),
                )
                .label("a listen starts at a connection"),
            );
            return None;
        }
        None => {
            cx.unknown_connection(file, &path.head);
            return None;
        }
    };
    let (hop, more) = path.hops.split_first()?;
    if let Some(second) = more.first() {
        cx.report(
            Diagnostic::error(codes::MOV_LISTEN_PATH, second.span, "a listen is one hop from a connection")
                .label("a second hop")
                .help("listen to the first type, and walk on inside the function"),
        );
        return None;
    }
    let extra = hop.order.first().map(|key| key.key.span).or(hop.limit.as_ref().map(|limit| limit.span));
    if let Some(span) = extra {
        cx.report(
            Diagnostic::error(codes::MOV_LISTEN_PATH, span, "changes come in the order in which they happen")
                .label("a listen is neither sorted nor limited")
                .help("leave it out"),
        );
        return None;
    }
    let on = hops::root_type(cx, connection, &hop.edge)?;
    let shape = cx.graph.shape(&on)?;
    if shape.listenable.is_some() {
        return Some((on, hop));
    }
    let able: Vec<String> = cx
        .graph
        .types(connection)
        .filter(|shape| shape.listenable.is_some())
        .map(|shape| format!("`{}`", shape.name))
        .collect();
    let of = cx.graph.name(connection).to_owned();
    let report = Diagnostic::error(
        codes::MOV_LISTEN_NOT_LISTENABLE,
        hop.edge.span,
        format!("`{}` does not fire", hop.edge.text),
    );
    let report = match (shape.readable, shape.writable) {
        (true, false) if shape.listenable.is_none() && !shape.pins.is_empty() => {
            report.label("answers when it is asked")
        }
        (false, true) => report.label("changes things: it is written"),
        (_, _) => report.label("the system does not tell when it changes"),
    };
    cx.report(if able.is_empty() {
        report.help(format!("nothing of `{of}` can be listened to"))
    } else {
        report.help(format!("of `{of}`, {} can be listened to", able.join(", ")))
    });
    None
}

fn fired(cx: &mut Context<'_>, file: usize, name: &ast::Name) -> Option<usize> {
    cx.offer_functions(name.span, file);
    match cx.look_up(file, name) {
        Some(Symbol::Function(index)) => Some(index),
        Some(Symbol::Failed) => None,
        Some(symbol @ (Symbol::Connection(_) | Symbol::Type(_) | Symbol::Constant(_))) => {
            cx.report(
                Diagnostic::error(
                    codes::MOV_LISTEN_FUNCTION,
                    name.span,
                    format!("`{}` is {}, not a function", name.text, annotations::describe(symbol)),
                )
                .label("a listen fires a function"),
            );
            None
        }
        None => {
            let scope = cx.scopes.get(file)?;
            if scope.damaged {
                return None;
            }
            let known = scope
                .names
                .iter()
                .filter(|(_, entry)| matches!(entry.symbol, Symbol::Function(_)))
                .map(|(name, _)| name.as_str());
            let near = suggest::nearest(&name.text, known);
            let report =
                Diagnostic::error(codes::MOV_NAME_UNKNOWN, name.span, format!("there is no function `{}`", name.text));
            let report = match near {
                Some(near) => {
                    report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), name.span, near)
                }
                None => report.label("neither declared in this file nor imported"),
            };
            cx.report(report);
            None
        }
    }
}

/// Whether the fired function also takes the change; `None` if it does not take what it is fired with.
fn takes(
    cx: &mut Context<'_>,
    fire: usize,
    item: &ast::Listen,
    on: &TypeRef,
    shape: &TypeShape,
    deleted: bool,
) -> Option<bool> {
    let function = cx.functions.get(fire)?;
    let (declared, params) = (function.item, function.params.clone());
    let shown = cx.graph.show_position(on);
    let (record, change) = match params.as_slice() {
        [record] => (record, None),
        [record, change] => (record, Some(change)),
        _ => {
            cx.report(
                Diagnostic::error(
                    codes::MOV_LISTEN_FUNCTION,
                    item.fire.span,
                    format!("`{}` takes {} parameters", declared.name.text, params.len()),
                )
                .label("is fired with the record, or the record and the change")
                .also(declared.name.span, "declared here")
                .help(format!("declare it as `function {}(record: <{shown}>)`", declared.name.text)),
            );
            return None;
        }
    };
    if let Some(Some(change)) = change
        && !relation::fits(&Ty::Change, change, &cx.graph)
    {
        let given = cx.graph.show(change);
        let at = declared.params.get(1).map_or(item.fire.span, |param| param.ty.span);
        let report = Diagnostic::error(
            codes::MOV_LISTEN_PARAM,
            item.fire.span,
            format!("the second parameter of `{}` takes `{given}`, not the change", declared.name.text),
        )
        .also(at, "declared here")
        .help("or leave it out");
        cx.report(retyped(report, item, declared.params.get(1), "<change>"));
        return None;
    }
    let record = record.clone()?;
    let at = declared.params.first().map_or(item.fire.span, |param| param.ty.span);
    let wanted = cx.graph.show(&record);
    if deleted {
        return match gone(cx, &record, on, shape) {
            None => Some(change.is_some()),
            Some(why) => {
                cx.report(
                    Diagnostic::error(
                        codes::MOV_LISTEN_PARAM,
                        item.fire.span,
                        format!("`{}` takes `{wanted}`, and a deleted record is gone", declared.name.text),
                    )
                    .label(why)
                    .also(at, "declared here")
                    .help("take a record of the fields you need, each `| absent` but the key"),
                );
                None
            }
        };
    }
    if relation::fits(&Ty::Position(on.clone()), &record, &cx.graph) {
        return Some(change.is_some());
    }
    let report = Diagnostic::error(
        codes::MOV_LISTEN_PARAM,
        item.fire.span,
        format!("`{}` takes `{wanted}`, and this fires with `{shown}`", declared.name.text),
    )
    .label(shown.clone())
    .also(at, "declared here");
    // Of two records of systems either the listen or the parameter is meant.
    let param = declared.params.first().filter(|_| record.described().is_none());
    cx.report(match param {
        Some(param) => retyped(report, item, Some(param), &format!("<{shown}>")),
        None => report.help(format!("declare the parameter as `<{shown}>`, or listen to `{wanted}`")),
    });
    None
}

/// The way out by another type of a parameter; a machine makes it where the function stands in the listen's own file.
fn retyped(report: Diagnostic, item: &ast::Listen, param: Option<&ast::Param>, ty: &str) -> Diagnostic {
    let says = format!("declare the parameter as `{ty}`");
    match param.filter(|param| param.ty.span.source == item.fire.span.source) {
        Some(param) => report.fix(says, param.ty.span, ty),
        None => report.help(says),
    }
}

/// Why a record that is gone cannot be handed to a parameter; `None` if it can.
fn gone(cx: &Context<'_>, param: &Ty, on: &TypeRef, shape: &TypeShape) -> Option<String> {
    let Ty::Record(fields) = param else {
        return Some("it can be neither walked nor written any more".to_owned());
    };
    for (name, ty) in fields {
        let given = relation::Graph::field(&cx.graph, on, false, name);
        let Some(given) = given else { return Some(format!("it has no field `{name}`")) };
        let given = if Some(name) == shape.key.as_ref() { given } else { given.optional() };
        if !relation::fits(&given, ty, &cx.graph) {
            return Some(format!("`{name}` may not be kept: `{}`", cx.graph.show(&given)));
        }
    }
    None
}

fn filter(
    cx: &mut Context<'_>,
    file: usize,
    hop: &ast::Hop,
    on: &TypeRef,
    listening: &Listening,
) -> Option<super::pins::Parts> {
    let mut uses = Uses::default();
    if let Some(filter) = &hop.filter {
        uses.expr(filter);
    }
    let mut body = Body::new(cx, file, Place::Listen);
    let scope = body.open();
    let ty = Some(Ty::Position(on.clone()));
    let local = match &hop.alias {
        Some(alias) => body.bind(scope, alias, super::body::Bound::Alias, ty),
        None => body.anonymous(ty),
    };
    body.landed.push(Landed { local, on: on.clone(), alias: alias_text(hop) });
    let parts = body.listen_filter(hop, on, &listening.pins);
    body.warn_unused(true);
    parts
}

fn settings(cx: &mut Context<'_>, item: &ast::Listen, on: Option<(&TypeShape, &Listening)>) -> Option<ListenSettings> {
    let given = literals::settings(cx, "a listen", &item.settings, &allowed());
    let whole = given.len() == item.settings.len();
    let kinds = kinds(cx, given.get("on"), on.map(|(_, listening)| listening));
    let fields = fields(cx, given.get("fields"), on.map(|(shape, _)| shape), kinds.as_deref());
    let every = every(cx, given.get("every"), on);
    let concurrency = count(cx, "concurrency", given.get("concurrency"), DEFAULT_CONCURRENCY);
    let retry = count(cx, "retry", given.get("retry"), DEFAULT_RETRY);
    let timeout = timeout(cx, given.get("timeout"));
    let debounce = debounce(cx, given.get("debounce"));
    let depth = given.get("depth").map(|given| count(cx, "depth", Some(given), 0));
    if !whole {
        return None;
    }
    let start = match given.get("start").map(|given| &given.value) {
        Some(Value::Text(text)) if text == "all" => Start::All,
        Some(_) | None => Start::Now,
    };
    let echo = matches!(given.get("echo").map(|given| &given.value), Some(Value::Bool(true)));
    Some(ListenSettings {
        kinds: kinds?,
        fields: fields?,
        every: every?,
        start,
        concurrency: concurrency?,
        retry: retry?,
        echo,
        depth: depth.map_or(Some(None), |depth| depth.map(Some))?,
        timeout: timeout?,
        go: matches!(given.get("while_waiting").map(|given| &given.value), Some(Value::Text(text)) if text == "go"),
        debounce: debounce?,
    })
}

fn allowed() -> BTreeMap<SmolStr, FieldType> {
    let kinds = vec!["created".into(), "updated".into(), "deleted".into()];
    BTreeMap::from([
        ("on".into(), FieldType::List(Box::new(FieldType::Choice(kinds)))),
        ("fields".into(), FieldType::List(Box::new(FieldType::Text))),
        ("every".into(), FieldType::Duration),
        ("start".into(), FieldType::Choice(vec!["now".into(), "all".into()])),
        ("concurrency".into(), FieldType::Number),
        ("retry".into(), FieldType::Number),
        ("echo".into(), FieldType::Boolean),
        ("depth".into(), FieldType::Number),
        ("timeout".into(), FieldType::Duration),
        ("debounce".into(), FieldType::Duration),
        ("while_waiting".into(), FieldType::Choice(vec!["hold".into(), "go".into()])),
    ])
}

fn wrong(cx: &mut Context<'_>, at: Span, headline: String, help: &str) {
    cx.report(Diagnostic::error(codes::MOV_SETTING_VALUE, at, headline).help(help));
}

fn kinds(cx: &mut Context<'_>, given: Option<&Given>, listening: Option<&Listening>) -> Option<Vec<ChangeKind>> {
    let Some(given) = given else { return Some(vec![ChangeKind::Created, ChangeKind::Updated]) };
    let Value::List(items) = &given.value else { return None };
    let mut kinds = Vec::new();
    for item in items.iter() {
        let kind = match item.as_text() {
            Some("created") => ChangeKind::Created,
            Some("updated") => ChangeKind::Updated,
            _ => ChangeKind::Deleted,
        };
        if kinds.contains(&kind) {
            let text = item.as_text().unwrap_or_default().to_owned();
            wrong(cx, given.span, format!("{text:?} stands twice in `on`"), "leave one out");
            return None;
        }
        kinds.push(kind);
    }
    if kinds.is_empty() {
        wrong(cx, given.span, "`on` names no kind of change".to_owned(), "name at least one, or leave `on` out");
        return None;
    }
    if kinds.contains(&ChangeKind::Deleted) && listening.is_some_and(|listening| !listening.deletions) {
        wrong(
            cx,
            given.span,
            "deletions of this type are not seen".to_owned(),
            "the system does not tell of them: leave \"deleted\" out",
        );
        return None;
    }
    Some(kinds)
}

/// The fields that an update has to touch.
fn fields(
    cx: &mut Context<'_>,
    given: Option<&Given>,
    shape: Option<&TypeShape>,
    kinds: Option<&[ChangeKind]>,
) -> Option<Vec<SmolStr>> {
    let Some(given) = given else { return Some(Vec::new()) };
    let Value::List(items) = &given.value else { return None };
    let mut fields: Vec<SmolStr> = Vec::new();
    for name in items.iter().filter_map(Value::as_text) {
        if fields.iter().any(|field| field == name) {
            wrong(cx, given.span, format!("{name:?} stands twice in `fields`"), "leave one out");
            return None;
        }
        if let Some(shape) = shape
            && shape.field(name).is_none_or(|field| !field.readable)
        {
            let known = shape.fields.iter().filter(|field| field.readable).map(|field| field.name.as_str());
            let near = suggest::nearest(name, known);
            let report = Diagnostic::error(
                codes::MOV_FIELD_UNKNOWN,
                given.span,
                format!("`{}` has no field {name:?} to look at", shape.name),
            );
            cx.report(match near {
                Some(near) => report.help(format!("did you mean {near:?}?")),
                None => report.label("names the fields that an update has to touch"),
            });
            return None;
        }
        fields.push(name.into());
    }
    if fields.is_empty() {
        wrong(cx, given.span, "`fields` names no field".to_owned(), "name at least one, or leave `fields` out");
        return None;
    }
    if kinds.is_some_and(|kinds| !kinds.contains(&ChangeKind::Updated)) {
        let help = "add \"updated\" to `on`, or leave `fields` out";
        wrong(cx, given.span, "`fields` is about updates, which `on` leaves out".to_owned(), help);
        return None;
    }
    Some(fields)
}

/// How often a polled source is asked where nobody says.
pub(super) fn interval(listening: &Listening) -> SignedDuration {
    listening.every.map_or(DEFAULT_EVERY, |seconds| SignedDuration::from_secs(seconds.into()))
}

fn every(cx: &mut Context<'_>, given: Option<&Given>, on: Option<(&TypeShape, &Listening)>) -> Option<SignedDuration> {
    let Some(given) = given else {
        return Some(on.map_or(DEFAULT_EVERY, |(_, listening)| interval(listening)));
    };
    let Value::Duration(every) = given.value else { return None };
    if every < LEAST_EVERY {
        wrong(cx, given.span, "`every` is at least 1s".to_owned(), "write `1s` or more");
        return None;
    }
    if let Some((shape, listening)) = on {
        let why = match listening.how {
            How::Poll => return Some(every),
            How::Push => "the system sends its changes",
            How::Webhook => "the system calls this project",
            How::Clock => "time fires it",
        };
        wrong(cx, given.span, format!("`{}` is not polled: {why}", shape.name), "leave `every` out");
        return None;
    }
    Some(every)
}

fn timeout(cx: &mut Context<'_>, given: Option<&Given>) -> Option<SignedDuration> {
    let Some(given) = given else { return Some(DEFAULT_TIMEOUT) };
    let Value::Duration(timeout) = given.value else { return None };
    if timeout <= SignedDuration::ZERO {
        wrong(cx, given.span, "`timeout` is more than nothing".to_owned(), "write a duration such as `10m`");
        return None;
    }
    Some(timeout)
}

fn debounce(cx: &mut Context<'_>, given: Option<&Given>) -> Option<Option<SignedDuration>> {
    let Some(given) = given else { return Some(None) };
    let Value::Duration(length) = given.value else { return None };
    if length <= SignedDuration::ZERO {
        wrong(cx, given.span, "`debounce` is more than nothing".to_owned(), "write a duration such as `3s`");
        return None;
    }
    Some(Some(length))
}

fn count(cx: &mut Context<'_>, name: &str, given: Option<&Given>, default: u32) -> Option<u32> {
    let Some(given) = given else { return Some(default) };
    let Value::Number(number) = &given.value else { return None };
    let whole = number.as_i64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number >= 1);
    if whole.is_none() {
        wrong(cx, given.span, format!("`{name}` is a whole number from 1"), "write `1` or more");
    }
    whole
}
