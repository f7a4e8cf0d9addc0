//! Walks: which records a path lands on, through edges that exist and types that can be read, and on how many.

use lf_module::schema::{Count, TypeShape};
use smol_str::SmolStr;

use super::{
    annotations,
    body::{Body, Bound, Landed, Place, alias_text},
    context::{Context, Symbol},
    index::Meaning,
    narrow::proof,
    typed::{Expr, Hop, Path, PathStart},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, BinaryOp, Name},
    types::{ConnectionId, Kind, Ty, TypeRef},
};

/// The described type that a root hop names; reports one that is not there.
pub(super) fn root_type(cx: &mut Context<'_>, connection: ConnectionId, edge: &Name) -> Option<TypeRef> {
    cx.offer_root(edge.span, connection);
    if cx.graph.find(connection, &edge.text).is_some() {
        let found = TypeRef { connection, ty: edge.text.clone() };
        cx.notes.mention(edge.span, Meaning::Type(found.clone()));
        return Some(found);
    }
    let of = cx.graph.name(connection).to_owned();
    let known: Vec<&str> = cx.graph.types(connection).map(|shape| shape.name.as_str()).collect();
    let report = Diagnostic::error(codes::MOV_EDGE_UNKNOWN, edge.span, format!("`{of}` has no type `{}`", edge.text));
    let report = offer(report, edge, &known, "it has", "types");
    cx.report(report);
    None
}

/// Where an edge of a record leads, on how many, and whether they come in order.
pub(super) fn edge_of(cx: &mut Context<'_>, from: &TypeRef, edge: &Name) -> Option<(TypeRef, Count, bool)> {
    cx.offer_edges(edge.span, from);
    let shape = cx.graph.shape(from)?;
    if let Some(found) = shape.edge(&edge.text) {
        cx.notes.mention(edge.span, Meaning::Edge { from: from.clone(), name: edge.text.clone() });
        let target = TypeRef { connection: from.connection, ty: found.target.clone() };
        return Some((target, found.count, found.ordered));
    }
    let on = cx.graph.show_position(from);
    let report = Diagnostic::error(codes::MOV_EDGE_UNKNOWN, edge.span, format!("`{on}` has no edge `{}`", edge.text));
    let report = if shape.field(&edge.text).is_some() {
        report.label("a field, not an edge").help(format!("read it with `.{}`", edge.text))
    } else {
        let known: Vec<&str> = shape.edges.iter().map(|edge| edge.name.as_str()).collect();
        offer(report, edge, &known, "it has", "edges")
    };
    cx.report(report);
    None
}

/// The way out when a name is not among the known ones.
fn offer(report: Diagnostic, wrong: &Name, known: &[&str], has: &str, what: &str) -> Diagnostic {
    const LISTED: usize = 12;
    if let Some(near) = suggest::nearest(&wrong.text, known.iter().copied()) {
        return report.help(format!("did you mean `{near}`?")).fix(
            format!("write `{near}`"),
            wrong.span,
            super::written_name(near),
        );
    }
    if known.is_empty() {
        return report.help(format!("{has} no {what}"));
    }
    if known.len() > LISTED {
        return report.help(format!("{has} {} {what}; `listen-fire describe` lists them", known.len()));
    }
    let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    report.help(format!("{has} {}", names.join(", ")))
}

fn not_readable(shape: &TypeShape, at: Span) -> Diagnostic {
    Diagnostic::error(codes::MOV_HOP_NOT_READABLE, at, format!("`{}` cannot be read", shape.name))
}

/// Reports a type that cannot be read from the root, naming what it is.
fn readable(cx: &mut Context<'_>, on: &TypeRef, shape: &TypeShape, at: Span) -> Option<()> {
    usable(cx, shape, at)?;
    if shape.readable {
        return Some(());
    }
    let shown = cx.graph.show_position(on);
    let report = not_readable(shape, at);
    cx.report(if shape.writable {
        report
            .label("changes things: it is written")
            .help(format!("write it, and read the answer off the handle: `answer = write {shown} {{ … }}`"))
    } else {
        report.label("the system does not give its records")
    });
    None
}

/// Reports a type that its module cannot use. An edge may lead to a type that has no list of its own.
fn usable(cx: &mut Context<'_>, shape: &TypeShape, at: Span) -> Option<()> {
    let Some(why) = &shape.unusable else { return Some(()) };
    cx.report(not_readable(shape, at).label(why.as_str()));
    None
}

impl Body<'_, '_> {
    /// Walks a path. Aliases are bound in the scope that began at `scope`, and what the filters prove stays known, for
    /// later hops and a block's body: the caller ends both.
    pub(super) fn walk(&mut self, scope: usize, path: &ast::Path) -> Option<Path> {
        let start = self.path_start(&path.head);
        let mut at = match &start {
            Some(PathStart::Root(connection)) => At::Root(*connection),
            Some(PathStart::Record(record)) => match record.ty.described() {
                Some(of) => At::Record(of.clone()),
                None => At::Lost,
            },
            None => At::Lost,
        };
        let mut hops = Vec::with_capacity(path.hops.len());
        let mut count = Count::One;
        for hop in &path.hops {
            let target = match &at {
                At::Root(connection) => root_type(self.cx, *connection, &hop.edge).and_then(|on| {
                    let shape = self.cx.graph.shape(&on)?;
                    Some((on, shape.count, shape.ordered))
                }),
                At::Record(from) => edge_of(self.cx, from, &hop.edge),
                At::Lost => None,
            };
            let usable = target.and_then(|(on, per_hop, ordered)| {
                let shape = self.cx.graph.shape(&on)?;
                match &at {
                    At::Root(_) => readable(self.cx, &on, shape, hop.edge.span)?,
                    At::Record(_) | At::Lost => usable(self.cx, shape, hop.edge.span)?,
                }
                Some(Target { on, count: per_hop, ordered, root: matches!(at, At::Root(_)) })
            });
            let Some(target) = usable else {
                // What lies behind is not known; the aliases are still bound, so that they are not unknown names.
                if let Some(alias) = &hop.alias {
                    self.bind(scope, alias, Bound::Alias, None);
                }
                at = At::Lost;
                continue;
            };
            at = At::Record(target.on.clone());
            let checked = self.hop(scope, hop, target);
            match checked {
                Some((checked, lands)) => {
                    count = times(count, lands);
                    hops.push(checked);
                }
                None => count = Count::Many,
            }
        }
        let start = start?;
        (hops.len() == path.hops.len()).then_some(Path { span: path.span, start, hops, count })
    }

    /// Where a path starts: a connection, or a bound record.
    pub(super) fn path_start(&mut self, head: &Name) -> Option<PathStart> {
        self.offer_values(head.span);
        if let Some(local) = self.find_local(head) {
            let record = self.local_expr(local, head.span)?;
            let record = self.walkable(record)?;
            return Some(PathStart::Record(record));
        }
        match self.cx.look_up(self.file, head) {
            Some(Symbol::Connection(connection)) => Some(PathStart::Root(connection)),
            Some(Symbol::Failed) => None,
            Some(symbol @ (Symbol::Type(_) | Symbol::Function(_) | Symbol::Constant(_))) => {
                self.report(
                    Diagnostic::error(
                        codes::MOV_HOP_NOT_RECORD,
                        head.span,
                        format!("`{}` is {}", head.text, annotations::describe(symbol)),
                    )
                    .label("a path starts at a connection or a record"),
                );
                None
            }
            None => {
                if self.foresees(&head.text) {
                    self.unknown(head);
                } else {
                    let records = self.visible_records();
                    self.cx.unknown_head(self.file, head, &records);
                }
                None
            }
        }
    }

    fn walkable(&mut self, record: Expr) -> Option<Expr> {
        let record = match record.ty.kind() {
            Kind::Record => self.ensure_present(record, "a walk starts at a record that is there")?,
            Kind::Json => {
                let text = self.cx.slice(record.span);
                self.report(
                    Diagnostic::error(codes::MOV_JSON_OPAQUE, record.span, format!("`{text}` is json"))
                        .label("json leads nowhere: it is never walked"),
                );
                return None;
            }
            Kind::Text
            | Kind::Number
            | Kind::Boolean
            | Kind::Date
            | Kind::Datetime
            | Kind::Duration
            | Kind::File
            | Kind::List
            | Kind::Absent => record,
        };
        if record.ty.described().is_some() {
            return Some(record);
        }
        let (text, shown) = (self.cx.slice(record.span), self.show(&record.ty));
        let report = Diagnostic::error(
            codes::MOV_HOP_NOT_RECORD,
            record.span,
            format!("`{text}` is `{shown}`, which leads nowhere"),
        )
        .label("a path starts at a connection or a record");
        self.report(match record.ty.kind() {
            Kind::List => report.help("take one of its records with `FIRST(…)`, or walk the whole path in one"),
            Kind::Text
            | Kind::Number
            | Kind::Boolean
            | Kind::Date
            | Kind::Datetime
            | Kind::Duration
            | Kind::Json
            | Kind::File
            | Kind::Record
            | Kind::Absent => report,
        });
        None
    }

    fn hop(&mut self, scope: usize, hop: &ast::Hop, target: Target) -> Option<(Hop, Count)> {
        let Target { on, count: per_hop, ordered, root } = target;
        let shape = self.cx.graph.shape(&on)?;
        let landed = Ty::Position(on.clone());
        let local = match &hop.alias {
            Some(alias) => self.bind(scope, alias, Bound::Alias, Some(landed)),
            None => self.anonymous(Some(landed)),
        };
        self.landed.push(Landed { local, on: on.clone(), alias: alias_text(hop) });
        let parts = self.at(Place::Hop, |body| {
            let filter = body.filter(hop, &on, shape, &shape.pins);
            let order = body.order(hop);
            Some((filter, order?))
        });
        self.landed.pop();
        let limit = self.limit(hop, ordered);
        let ((pins, filter), order) = parts.and_then(|(filter, order)| Some((filter?, order)))?;
        let limit = limit?;
        let mut lands = per_hop;
        if let Some(filter) = &filter {
            let proof = proof(&filter.expr);
            self.know(&proof.yes);
            lands = match lands {
                Count::One | Count::Optional => Count::Optional,
                Count::Many if filter.fixes_key => Count::Optional,
                Count::Many => Count::Many,
            };
        }
        let by = match &filter {
            // Without an order of our own the cut would be by the order of whatever the lookup answers.
            Some(filter) if root && pins.is_empty() && (hop.limit.is_none() || !order.is_empty()) => {
                filter.lookup(shape)
            }
            Some(_) | None => Vec::new(),
        };
        if filter.is_some() && by.is_empty() {
            self.say_local(hop, &on);
        }
        if pins.iter().any(|(name, _)| Some(name) == shape.key.as_ref()) && lands == Count::Many {
            lands = Count::Optional;
        }
        if hop.limit.as_ref().is_some_and(|limit| limit.count == 1) && lands == Count::Many {
            lands = Count::Optional;
        }
        for (name, value) in &pins {
            if !value.ty.may_be_absent() {
                self.know(&[super::narrow::Chain::field(local, name)]);
            }
        }
        let filter = filter.map(|filter| filter.expr);
        let edge = hop.edge.text.clone();
        Some((Hop { span: hop.span, local, on, edge, count: per_hop, pins, by, filter, order, limit }, lands))
    }

    fn say_local(&mut self, hop: &ast::Hop, on: &TypeRef) {
        let Some(filter) = &hop.filter else { return };
        let shown = self.cx.graph.show_position(on);
        self.report(
            Diagnostic::information(
                codes::MOV_HOP_FILTER_LOCAL,
                filter.span,
                format!("`{shown}` is fetched whole and filtered here"),
            )
            .label("the system cannot look records up by this itself"),
        );
    }

    fn order(&mut self, hop: &ast::Hop) -> Option<Vec<(Expr, bool)>> {
        let mut keys = Vec::with_capacity(hop.order.len());
        let mut whole = true;
        for key in &hop.order {
            let Some(typed) = self.expr(&key.key) else {
                whole = false;
                continue;
            };
            let kind = typed.ty.kind();
            if !kind.is_ordered() {
                if kind == Kind::Json {
                    self.not_scalar(&typed, "`ORDER BY` takes what can be sorted");
                } else {
                    let shown = self.plain(&typed.ty);
                    self.report(
                        Diagnostic::error(
                            codes::MOV_COMPARE_ORDER,
                            typed.span,
                            format!("a {shown} has no order to sort by"),
                        )
                        .label("`ORDER BY` takes text, numbers and times"),
                    );
                }
                whole = false;
                continue;
            }
            keys.push((typed, key.descending));
        }
        whole.then_some(keys)
    }

    fn limit(&mut self, hop: &ast::Hop, ordered: bool) -> Option<Option<u64>> {
        let Some(limit) = &hop.limit else { return Some(None) };
        if limit.count == 0 {
            self.report(
                Diagnostic::error(codes::MOV_LIMIT_ZERO, limit.span, "a limit of 0 lands on nothing")
                    .help("leave the hop out, or raise the limit"),
            );
            return None;
        }
        if hop.order.is_empty() && !ordered {
            self.report(
                Diagnostic::error(
                    codes::MOV_LIMIT_NEEDS_ORDER,
                    limit.span,
                    format!("which {} is not said", if limit.count == 1 { "one" } else { "ones" }),
                )
                .label("the system gives these records in no order of its own")
                .help("sort them first: `ORDER BY field`, before `LIMIT`"),
            );
            return None;
        }
        Some(Some(limit.count))
    }

    /// The visible names that hold a record, for suggestions.
    fn visible_records(&self) -> Vec<SmolStr> {
        self.locals
            .iter()
            .filter(|local| local.ty.as_ref().is_some_and(|ty| ty.described().is_some()))
            .filter_map(|local| local.name.as_ref().map(|name| name.text.clone()))
            .filter(|name| self.in_scope(name))
            .collect()
    }
}

/// Where a walk stands.
enum At {
    Root(ConnectionId),
    Record(TypeRef),
    /// A hop before failed and was reported.
    Lost,
}

/// What one hop leads to.
struct Target {
    on: TypeRef,
    /// How many records one step lands on.
    count: Count,
    ordered: bool,
    /// Reached from the connection, so that the source may be asked for some of its records.
    root: bool,
}

/// As many as both hops together.
fn times(one: Count, two: Count) -> Count {
    match (one, two) {
        (Count::Many, _) | (_, Count::Many) => Count::Many,
        (Count::Optional, _) | (_, Count::Optional) => Count::Optional,
        (Count::One, Count::One) => Count::One,
    }
}

/// The tests of a WHERE that are joined by `AND`, left to right.
pub(super) fn conjuncts(filter: &ast::Expr) -> Vec<&ast::Expr> {
    let mut open = vec![filter];
    let mut found = Vec::new();
    while let Some(expr) = open.pop() {
        if let ast::ExprKind::Binary { op: BinaryOp::And, left, right, op_span: _ } = &expr.kind {
            open.push(right);
            open.push(left);
        } else {
            found.push(expr);
        }
    }
    found
}

impl Context<'_> {
    fn unknown_head(&mut self, file: usize, name: &Name, records: &[SmolStr]) {
        let near = suggest::nearest(&name.text, records.iter().map(SmolStr::as_str)).map(str::to_owned);
        let Some(near) = near else {
            self.unknown_connection(file, name);
            return;
        };
        if self.scopes.get(file).is_some_and(|scope| scope.damaged) {
            return;
        }
        self.report(
            Diagnostic::error(codes::MOV_NAME_UNKNOWN, name.span, format!("nothing here is called `{}`", name.text))
                .help(format!("did you mean `{near}`?"))
                .fix(format!("write `{near}`"), name.span, near.as_str()),
        );
    }
}
