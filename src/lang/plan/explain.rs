//! A plan as text, for a reader and for snapshots: what listens, what fires, and what each function does in order.
//!
//! Slots without a name are `$n`. Nothing here decides anything.

mod exprs;

use std::fmt::Write as _;

use super::ir::{Function, FunctionIndex, Listen, Op, Plan, Read, ReadOrigin, Slot, Step, Wait, WriteTarget};
use crate::check::typed::EntryMode;
use lf_module::call::{ChangeKind, Start};

pub(super) use exprs::condition;
pub(crate) use exprs::{builtin_name, operator};

/// The whole plan.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let mut out = String::new();
    for connection in &plan.connections {
        line(&mut out, 0, format_args!("connection {} = {}", connection.name, connection.key));
    }
    for listen in &plan.listens {
        explain_listen(&mut out, plan, listen);
    }
    for constant in &plan.constants {
        let value = exprs::Writer { plan, function: None }.expr(constant.value);
        line(&mut out, 0, format_args!("constant {} = {value}", constant.name));
    }
    // A condition of one step stands with its listen.
    let steps = |function: &Function| function.blocks.iter().map(|block| block.0.len()).sum::<usize>();
    let is_part = |function: &Function| function.returns.is_none();
    for function in plan.functions.iter().filter(|one| !one.hidden || is_part(one) || steps(one) > 1) {
        explain_function(&mut out, plan, function);
    }
    out
}

fn line(out: &mut String, depth: usize, text: std::fmt::Arguments<'_>) {
    let _never_fails = writeln!(out, "{:1$}{text}", "", depth * 2);
}

fn explain_listen(out: &mut String, plan: &Plan, listen: &Listen) {
    line(out, 0, format_args!("listen {}", listen.name));
    let kinds = listen.kinds.iter().map(|kind| match kind {
        ChangeKind::Created => "created",
        ChangeKind::Updated => "updated",
        ChangeKind::Deleted => "deleted",
    });
    let kinds: Vec<_> = kinds.collect();
    let change = if listen.with_change { " with the change" } else { "" };
    line(out, 1, format_args!("on {} of {}, fires {}{change}", kinds.join(", "), listen.ty, listen.function));
    if !listen.fields.is_empty() {
        line(out, 1, format_args!("of updates, those of {}", listen.fields.join(", ")));
    }
    for (name, value) in &listen.pins {
        line(out, 1, format_args!("pin {name} == {}", lf_module::json::plain(value)));
    }
    if let Some(filter) = listen.filter.and_then(|filter| plan.function(filter)) {
        line(out, 1, format_args!("where {}", exprs::condition(plan, filter)));
    }
    let start = match listen.start {
        Start::Now => "now",
        Start::All => "all",
    };
    let mut more = String::new();
    if listen.echo {
        more.push_str(", echo");
    }
    if let Some(depth) = listen.depth {
        let _never_fails = write!(more, ", depth {depth}");
    }
    if let Some(length) = listen.debounce {
        let _never_fails = write!(more, ", debounce {length:?}");
    }
    if listen.go {
        more.push_str(", go");
    }
    line(
        out,
        1,
        format_args!(
            "every {:?}, start {start}, concurrency {}, retry {}, timeout {:?}{more}",
            listen.every, listen.concurrency, listen.retry, listen.timeout
        ),
    );
}

fn explain_function(out: &mut String, plan: &Plan, function: &Function) {
    let params: Vec<_> = function.params.iter().map(|param| format!("{}: {}", param.name, param.text)).collect();
    let returns = function.returns.as_ref().map(|ty| format!(": {ty}")).unwrap_or_default();
    let what = match (function.hidden, function.returns.is_some()) {
        (false, _) => "function",
        (true, true) => "condition",
        (true, false) => "part",
    };
    line(out, 0, format_args!("{what} {}({}){returns}", function.name, params.join(", ")));
    // An explicit stack: blocks nest as deep as the program does.
    let writer = exprs::Writer { plan, function: Some(function) };
    let mut open: Vec<Open<'_>> = vec![Open { steps: block(function, 0), at: 0, depth: 1, then: None }];
    while let Some(top) = open.last_mut() {
        if let Some(word) = top.then.take() {
            line(out, top.depth - 1, format_args!("{word}"));
            continue;
        }
        let Some(step) = top.steps.get(top.at) else {
            open.pop();
            continue;
        };
        top.at += 1;
        let depth = top.depth;
        explain_step(out, &writer, depth, step);
        match &step.op {
            Op::Each { body, .. } => {
                open.push(Open { steps: block(function, body.0), at: 0, depth: depth + 1, then: None });
            }
            Op::Enter { block: entered } => {
                open.push(Open { steps: block(function, entered.0), at: 0, depth: depth + 1, then: None });
            }
            Op::If { then, otherwise, .. } => {
                if let Some(otherwise) = otherwise {
                    open.push(Open {
                        steps: block(function, otherwise.0),
                        at: 0,
                        depth: depth + 1,
                        then: Some("else"),
                    });
                }
                open.push(Open { steps: block(function, then.0), at: 0, depth: depth + 1, then: None });
            }
            Op::Write(write) => {
                if let Some(refused) = &write.refused {
                    let steps = block(function, refused.body.0);
                    open.push(Open { steps, at: 0, depth: depth + 1, then: Some("if it is refused") });
                }
            }
            Op::Set { .. }
            | Op::Read(_)
            | Op::Append { .. }
            | Op::Arrange { .. }
            | Op::Delete { .. }
            | Op::Link { .. }
            | Op::Call { .. }
            | Op::Leave { .. }
            | Op::Return(_)
            | Op::Await { .. }
            | Op::Fail(_) => {}
        }
    }
}

struct Open<'p> {
    steps: &'p [Step],
    at: usize,
    depth: usize,
    /// A line before the first step.
    then: Option<&'static str>,
}

fn block(function: &Function, id: u32) -> &[Step] {
    function.blocks.get(id as usize).map(|block| block.0.as_slice()).unwrap_or_default()
}

fn explain_step(out: &mut String, writer: &exprs::Writer<'_>, depth: usize, step: &Step) {
    let plan = writer.plan;
    match &step.op {
        Op::Set { slot, value } => {
            line(out, depth, format_args!("{} = {}", writer.slot(*slot), writer.expr(*value)));
        }
        Op::Read(read) => line(out, depth, format_args!("{}", explain_read(writer, read))),
        Op::Append { slot, value, all } => {
            let spread = if *all { "..." } else { "" };
            line(out, depth, format_args!("{} += {spread}{}", writer.slot(*slot), writer.expr(*value)));
        }
        Op::Arrange { slot, keys, descending, limit } => {
            let mut text = format!("arrange {}", writer.slot(*slot));
            if let Some(keys) = keys {
                let ways: Vec<_> = descending.iter().map(|down| if *down { "desc" } else { "asc" }).collect();
                let _never_fails = write!(text, " by {} {}", writer.slot(*keys), ways.join(", "));
            }
            if let Some(limit) = limit {
                let _never_fails = write!(text, " limit {limit}");
            }
            line(out, depth, format_args!("{text}"));
        }
        Op::Each { list, item, body: _ } => {
            line(out, depth, format_args!("each {} in {}", writer.slot(*item), writer.slot(*list)));
        }
        Op::If { condition, then: _, otherwise: _ } => {
            line(out, depth, format_args!("if {}", writer.expr(*condition)));
        }
        Op::Enter { block: _ } => line(out, depth, format_args!("closure")),
        Op::Leave { block: _ } => line(out, depth, format_args!("leave the closure")),
        Op::Write(write) => {
            let bound = write.slot.map(|slot| format!("{} = ", writer.slot(slot))).unwrap_or_default();
            let path = plan.path_of(&write.on);
            match &write.target {
                WriteTarget::Create => line(out, depth, format_args!("{bound}write {path}")),
                WriteTarget::Under { record, ty, edge } => {
                    let under = writer.expr(*record);
                    line(out, depth, format_args!("{bound}write {path} under {under} of {ty} by {edge}"));
                }
                WriteTarget::Update(record) => {
                    line(out, depth, format_args!("{bound}update {} of {path}", writer.expr(*record)));
                }
            }
            for by in &write.unique {
                line(out, depth + 1, format_args!("unique by ({})", by.join(", ")));
            }
            for entry in &write.entries {
                let (sign, tail) = match entry.mode {
                    EntryMode::Set => (":", ""),
                    EntryMode::SetOrSkip => (":", " else skip"),
                    EntryMode::SetOrClear => (":", " else clear"),
                    EntryMode::Fill => (" ?:", ""),
                    EntryMode::Add => (" +:", ""),
                };
                line(out, depth + 1, format_args!("{}{sign} {}{tail}", entry.field, writer.expr(entry.value)));
            }
        }
        Op::Link { label: _, on, edge, join, from, to } => {
            let (verb, path) = (if *join { "link" } else { "unlink" }, plan.path_of(on));
            let (from, to) = (writer.expr(*from), writer.expr(*to));
            line(out, depth, format_args!("{verb} {from} of {path}-[:{edge}]-> {to}"));
        }
        Op::Delete { label: _, on, target } => {
            line(out, depth, format_args!("delete {} of {}", writer.expr(*target), plan.path_of(on)));
        }
        Op::Call { label: _, slot, function, args } => {
            let bound = slot.map(|slot| format!("{} = ", writer.slot(slot))).unwrap_or_default();
            let name = plan.function(*function).map_or("?", |function| function.name.as_str());
            line(out, depth, format_args!("{bound}{name}({})", writer.list(args)));
        }
        Op::Return(None) => line(out, depth, format_args!("return")),
        Op::Return(Some(value)) => line(out, depth, format_args!("return {}", writer.expr(*value))),
        Op::Fail(why) => line(out, depth, format_args!("fail {}", writer.expr(*why))),
        Op::Await { label: _, slot, wait } => {
            let bound = slot.map(|slot| format!("{} = ", writer.slot(slot))).unwrap_or_default();
            line(out, depth, format_args!("{bound}await {}", explain_wait(writer, wait)));
        }
    }
}

fn explain_wait(writer: &exprs::Writer<'_>, wait: &Wait) -> String {
    let name = |part: &FunctionIndex| writer.plan.function(*part).map_or("?", |part| part.name.as_str());
    match wait {
        Wait::Sleep { length } => format!("sleep({})", writer.expr(*length)),
        Wait::First { watch, test, most } => {
            let watch = writer.plan.watches.get(*watch as usize).map_or("?", |watch| watch.name.as_str());
            format!("FIRST of `{watch}` with `{}`, at most {}", name(test), writer.expr(*most))
        }
        Wait::Until { test, every, most } => {
            format!("until `{}`, every {}, at most {}", name(test), writer.expr(*every), writer.expr(*most))
        }
        Wait::Arms { race, arms } => {
            let arms: Vec<_> = arms.iter().map(|arm| format!("`{}`", name(arm))).collect();
            format!("{} {}", if *race { "the first of" } else { "all of" }, arms.join(", "))
        }
    }
}

fn explain_read(writer: &exprs::Writer<'_>, read: &Read) -> String {
    let path = match &read.origin {
        ReadOrigin::Root => writer.plan.path_of(&read.on),
        ReadOrigin::Record { from, ty: _, edge } => format!("{}-[:{edge}]->", writer.expr(*from)),
    };
    let mut text = format!("{} = read {path}", writer.slot(read.slot));
    for (index, pin) in read.pins.iter().enumerate() {
        let joint = if index == 0 { " pin" } else { "," };
        let _never_fails = write!(text, "{joint} {} == {}", pin.field, writer.expr(pin.value));
    }
    for (index, pin) in read.by.iter().enumerate() {
        let joint = if index == 0 { " look up by" } else { "," };
        let _never_fails = write!(text, "{joint} {} == {}", pin.field, writer.expr(pin.value));
    }
    if let Some(sift) = &read.sift {
        let item: Slot = sift.item;
        let name = writer.slot(item);
        if let Some(filter) = sift.filter {
            let _never_fails = write!(text, ", keep {name} where {}", writer.expr(filter));
        }
        for (key, descending) in &sift.order {
            let way = if *descending { " desc" } else { "" };
            let _never_fails = write!(text, ", by {}{way}", writer.expr(*key));
        }
        if let Some(limit) = sift.limit {
            let _never_fails = write!(text, ", limit {limit}");
        }
    }
    text
}
