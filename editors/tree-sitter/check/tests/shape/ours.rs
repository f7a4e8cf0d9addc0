//! The shape of `lf-lang`'s tree.

use lf_lang::{
    source::Span,
    syntax::ast::{
        Await, Block, Call, ClosureBody, Entry, Expr, ExprKind, Item, ListItem, Path, RecordItem, Reply, Setting,
        Statement, StatementKind, TestLine, TestLineKind, TextPart, Write, WriteTarget,
    },
};

use super::{Declared, Shape};
use crate::texts;

pub(super) fn declared(text: &str) -> Vec<Declared> {
    texts::parsed(text).file.items.iter().map(declaration).collect()
}

fn declaration(item: &Item) -> Declared {
    let (kind, name, span, inside) = match item {
        Item::Import(item) => ("import", item.from.span, item.span, Vec::new()),
        Item::Connection(item) => ("connection", item.name.span, item.span, settings(&item.settings)),
        Item::Type(item) => ("type", item.name.span, item.span, Vec::new()),
        Item::Function(item) => ("function", item.name.span, item.span, vec![block(&item.body)]),
        Item::Listen(item) => {
            let mut inside = vec![path(&item.path)];
            inside.extend(settings(&item.settings));
            ("listen", item.fire.span, item.span, inside)
        }
        Item::Binding(item) => ("binding", item.name.span, item.span, expr(&item.value)),
        Item::Test(item) => ("test", item.name.span, item.span, item.lines.iter().map(test_line).collect()),
        Item::Bad { .. } => panic!("a sound text holds nothing bad"),
    };
    let bytes = |span: Span| (span.start as usize, span.end as usize);
    Declared { kind, name: bytes(name), bytes: bytes(span), inside }
}

fn settings(settings: &[Setting]) -> Vec<Shape> {
    settings.iter().flat_map(|setting| expr(&setting.value)).collect()
}

fn shape(tag: &'static str, at: Span, inside: Vec<Shape>) -> Shape {
    Shape { tag, at: at.start as usize, inside }
}

fn test_line(line: &TestLine) -> Shape {
    let maybe = |record: &Option<Expr>| record.iter().flat_map(expr).collect::<Vec<_>>();
    let inside = match &line.kind {
        TestLineKind::Given { path: head, record, before, .. } => join([vec![path(head)], expr(record), maybe(before)]),
        TestLineKind::After(value) | TestLineKind::Fails(value) | TestLineKind::Holds(value) => expr(value),
        TestLineKind::Answer { path: head, reply: Reply::Records(value) | Reply::Fails(value) } => {
            join([vec![path(head)], expr(value)])
        }
        TestLineKind::Write { path: head, record } => join([vec![path(head)], expr(record)]),
        TestLineKind::Delete { path: head, record } | TestLineKind::Tie { path: head, record, .. } => {
            join([vec![path(head)], maybe(record)])
        }
        TestLineKind::None { path: head, .. } => head.iter().map(path).collect(),
        TestLineKind::Bad => panic!("a sound text holds nothing bad"),
    };
    shape("line", line.span, inside)
}

fn join<const N: usize>(parts: [Vec<Shape>; N]) -> Vec<Shape> {
    parts.into_iter().flatten().collect()
}

// ---- statements ----

fn block(block: &Block) -> Shape {
    shape("block", block.span, block.statements.iter().map(statement).collect())
}

fn statement(statement: &Statement) -> Shape {
    let span = statement.span;
    match &statement.kind {
        StatementKind::Bind { value, .. } => shape("bind", span, expr(value)),
        StatementKind::Write { bind: Some(_), write: inner } => shape("bind", span, vec![write(inner)]),
        StatementKind::Write { bind: None, write: inner } => write(inner),
        StatementKind::Await { bind: Some(_), wait } => shape("bind", span, vec![waits(wait)]),
        StatementKind::Await { bind: None, wait } => waits(wait),
        StatementKind::Delete { target } => shape("delete", span, expr(target)),
        StatementKind::Link { path: from, to, .. } => shape("link", span, join([vec![path(from)], expr(to)])),
        StatementKind::Each { path: head, body } => shape("each", span, vec![path(head), block(body)]),
        StatementKind::If { arms, otherwise } => {
            let arms = arms.iter().flat_map(|(condition, body)| join([expr(condition), vec![block(body)]]));
            shape("if", span, arms.chain(otherwise.iter().map(block)).collect())
        }
        StatementKind::Call(value) => expr(value).pop().expect("a call has a shape"),
        StatementKind::Return(value) => shape("return", span, value.iter().flat_map(expr).collect()),
        StatementKind::Bad { .. } => panic!("a sound text holds nothing bad"),
    }
}

fn write(write: &Write) -> Shape {
    let mut inside = match &write.target {
        WriteTarget::Path(target) => vec![path(target)],
        WriteTarget::Record(target) => expr(target),
    };
    for entry in &write.entries {
        match entry {
            Entry::Set { value, .. } | Entry::Fill { value, .. } | Entry::Add { value, .. } => {
                inside.extend(expr(value));
            }
            Entry::Spread { value, .. } => inside.push(spread(value)),
        }
    }
    if let Some(refused) = &write.refused {
        inside.push(shape("refused", refused.word, vec![block(&refused.body)]));
    }
    shape("write", write.span, inside)
}

fn waits(wait: &Await) -> Shape {
    shape("await", wait.word, arguments(&wait.call))
}

// ---- expressions ----

fn path(path: &Path) -> Shape {
    let hops = path.hops.iter().map(|hop| {
        let keys = hop.order.iter().flat_map(|key| expr(&key.key));
        shape("hop", hop.edge.span, hop.filter.iter().flat_map(expr).chain(keys).collect())
    });
    shape("path", path.head.span, hops.collect())
}

fn arguments(call: &Call) -> Vec<Shape> {
    call.args.iter().flat_map(|argument| expr(&argument.value)).collect()
}

/// A name alone has no shape.
fn expr(value: &Expr) -> Vec<Shape> {
    let (tag, at, inside) = match &value.kind {
        ExprKind::Name(_) => return Vec::new(),
        ExprKind::Bad => panic!("a sound text holds nothing bad"),
        ExprKind::Path(inner) => return vec![path(inner)],
        ExprKind::Text(parts) => {
            let holes = parts.iter().flat_map(|part| match part {
                TextPart::Text(_) => Vec::new(),
                TextPart::Expr(hole) => expr(hole),
            });
            ("text", value.span, holes.collect())
        }
        ExprKind::Number(_) => ("number", value.span, Vec::new()),
        ExprKind::Duration(_) => ("duration", value.span, Vec::new()),
        ExprKind::Bool(_) => ("boolean", value.span, Vec::new()),
        ExprKind::Null => ("null", value.span, Vec::new()),
        ExprKind::Field { base, name } => ("member", name.span, expr(base)),
        ExprKind::Call(call) => ("call", call.callee.span, arguments(call)),
        ExprKind::Unary { op_span, operand, .. } => ("unary", *op_span, expr(operand)),
        ExprKind::Binary { op_span, left, right, .. } => ("binary", *op_span, join([expr(left), expr(right)])),
        ExprKind::Is { operand, ty } => ("is", ty.span, expr(operand)),
        ExprKind::As { operand, ty } => ("as", ty.span, expr(operand)),
        ExprKind::Exists(inner) => ("exists", value.span, expr(inner)),
        ExprKind::If { arms, otherwise } => {
            let arms = arms.iter().flat_map(|(condition, value)| join([expr(condition), expr(value)]));
            ("choice", value.span, arms.chain(expr(otherwise)).collect())
        }
        ExprKind::List(items) => {
            let items = items.iter().flat_map(|item| match item {
                ListItem::Item(item) => expr(item),
                ListItem::Spread(item) => vec![spread(item)],
            });
            ("list", value.span, items.collect())
        }
        ExprKind::Record(items) => {
            let items = items.iter().flat_map(|item| match item {
                RecordItem::Field(_, value) => expr(value),
                RecordItem::Spread(item) => vec![spread(item)],
            });
            ("record", value.span, items.collect())
        }
        ExprKind::Closure(closure) => {
            let body = match &closure.body {
                ClosureBody::Value(value) => expr(value),
                ClosureBody::Block(body) => vec![block(body)],
            };
            ("closure", closure.head, body)
        }
    };
    vec![shape(tag, at, inside)]
}

/// Only the value's place is kept.
fn spread(value: &Expr) -> Shape {
    Shape { tag: "spread", at: 0, inside: expr(value) }
}
