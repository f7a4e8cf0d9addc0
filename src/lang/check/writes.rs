//! Writes, updates and deletes: what may be written, the fields it takes, identity.

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    body::Body,
    context::Symbol,
    entries::{Act, Entries},
    fields::no_field,
    hops,
    index::Meaning,
    typed::{Entry, Expr, StatementKind, Write, WriteTarget},
};
use crate::{
    diag::{Diagnostic, codes},
    source::Span,
    syntax::ast,
    types::{Kind, TypeRef},
};

impl Body<'_, '_> {
    pub(super) fn write(&mut self, write: &ast::Write) -> Option<Write> {
        let target = match &write.target {
            ast::WriteTarget::Path(path) => self.create_target(path),
            ast::WriteTarget::Record(record) => self.update_target(record),
        };
        let Some((target, on, at)) = target else {
            self.visit_entries(write);
            return None;
        };
        let Some(shape) = self.cx.graph.shape(&on) else {
            self.visit_entries(write);
            return None;
        };
        let act = if matches!(target, WriteTarget::Update(_)) { Act::Update } else { Act::Create };
        let mut entries = Entries {
            on: on.clone(),
            shape,
            act,
            typed: IndexMap::new(),
            meant: Vec::new(),
            spread_failed: false,
            whole: true,
        };
        for entry in &write.entries {
            self.entry(&mut entries, entry);
        }
        let unique = match (&target, write.unique.first()) {
            (WriteTarget::CreateUnder { .. }, Some(line)) => {
                self.unique_under(line);
                None
            }
            _ => self.unique(write, &mut entries),
        };
        if act == Act::Create {
            self.required(&mut entries, at);
        }
        if !entries.whole {
            return None;
        }
        let typed: Vec<Entry> = entries.typed.into_values().map(|(entry, _)| entry).collect();
        if typed.is_empty() && act == Act::Update {
            self.report(
                Diagnostic::error(codes::MOV_NO_EFFECT, write.span, "this write changes nothing")
                    .label("has no entries")
                    .help("name the fields to change, or leave it out"),
            );
            return None;
        }
        Some(Write { span: write.span, on, target, unique: unique?, entries: typed })
    }

    /// Checks the values of a write whose target failed, for their own mistakes only.
    fn visit_entries(&mut self, write: &ast::Write) {
        for entry in &write.entries {
            let (ast::Entry::Set { value, name: _, absent: _ }
            | ast::Entry::Fill { value, name: _ }
            | ast::Entry::Add { value, name: _ }
            | ast::Entry::Spread { value, span: _ }) = entry;
            let _checked = self.expr(value);
        }
    }

    /// The type that `write PATH { … }` creates, and where its name stands.
    fn create_target(&mut self, path: &ast::Path) -> Option<(WriteTarget, TypeRef, Span)> {
        let (last, before) = path.hops.split_last()?;
        if let Some(span) = extra(last) {
            self.report(
                Diagnostic::error(codes::MOV_WRITE_TARGET, span, "a write only names what it creates")
                    .label("belongs to a read")
                    .help("keep the name alone: to change records that are there, walk to them and write each"),
            );
            return None;
        }
        let local = self.is_local(&path.head.text);
        if !local && before.is_empty() {
            self.offer_values(path.head.span);
            let connection = match self.cx.look_up(self.file, &path.head) {
                Some(Symbol::Connection(connection)) => connection,
                Some(Symbol::Failed) => return None,
                Some(Symbol::Type(_) | Symbol::Function(_) | Symbol::Constant(_)) | None => {
                    self.path_start(&path.head);
                    return None;
                }
            };
            let on = hops::root_type(self.cx, connection, &last.edge)?;
            self.writable(&on, last.edge.span)?;
            return Some((WriteTarget::Create, on, last.edge.span));
        }
        let (owner, last) = self.owner(path)?;
        let from = owner.ty.described()?.clone();
        let (on, ..) = hops::edge_of(self.cx, &from, &last.edge)?;
        let shape = self.cx.graph.shape(&from)?;
        if !shape.edge(&last.edge.text).is_some_and(|edge| edge.creatable) {
            let shown = self.cx.graph.show_position(&on);
            let report = Diagnostic::error(
                codes::MOV_WRITE_NOT_WRITABLE,
                last.edge.span,
                format!("nothing can be created by the edge `{}`", last.edge.text),
            )
            .label("the system has no request for it");
            let root = self.cx.graph.shape(&on).is_some_and(|shape| shape.writable);
            self.report(if root {
                report.help(format!("write it from its connection: `write {shown} {{ … }}`"))
            } else {
                report
            });
            return None;
        }
        Some((WriteTarget::CreateUnder { owner, edge: last.edge.text.clone() }, on, last.edge.span))
    }

    fn is_local(&self, name: &str) -> bool {
        self.in_scope(name) && self.cx.peek(self.file, name).is_none()
    }

    /// Reports a type that cannot be written, naming what it is.
    fn writable(&mut self, on: &TypeRef, at: Span) -> Option<()> {
        let shape = self.cx.graph.shape(on)?;
        if shape.writable && shape.unusable.is_none() {
            return Some(());
        }
        if shape.updatable && shape.unusable.is_none() {
            let headline = format!("no record of `{}` can be created", shape.name);
            self.report(
                Diagnostic::error(codes::MOV_WRITE_NOT_WRITABLE, at, headline)
                    .label("the system has no request for it")
                    .help("one that is there is updated by `write record { … }`"),
            );
            return None;
        }
        let report =
            Diagnostic::error(codes::MOV_WRITE_NOT_WRITABLE, at, format!("`{}` cannot be written", shape.name));
        let pins: Vec<String> = shape
            .pins
            .iter()
            .filter(|pin| pin.required)
            .map(|pin| format!("{} == …", super::written_name(&pin.field)))
            .collect();
        self.report(match &shape.unusable {
            Some(why) => report.label(why.as_str()),
            None if shape.readable && pins.is_empty() => {
                let (connection, ty) = (self.cx.graph.name(on.connection), super::written_name(&on.ty));
                report.label("only reads").help(format!("read it: `{connection}-[:{ty}]-> {{ … }}`"))
            }
            None if shape.readable => report.label("only reads").help(format!(
                "read it: `{}-[r:{} WHERE {}]-> {{ … }}`",
                self.cx.graph.name(on.connection),
                super::written_name(&on.ty),
                pins.join(" AND ")
            )),
            None => report.label("the system does not take it"),
        });
        None
    }

    /// The record that `write x { … }` changes.
    fn update_target(&mut self, record: &ast::Expr) -> Option<(WriteTarget, TypeRef, Span)> {
        let record = self.record_of(record, "changed")?;
        let on = record.ty.described()?.clone();
        let shape = self.cx.graph.shape(&on)?;
        let at = record.span;
        if !shape.updatable {
            let shown = self.cx.graph.show_position(&on);
            let report = Diagnostic::error(
                codes::MOV_WRITE_NO_UPDATE,
                at,
                format!("a record of `{shown}` cannot be changed in place"),
            )
            .label("the system has no update for it");
            self.report(if shape.writable {
                report.help(format!("write a new one: `write {shown} {{ … }}`"))
            } else {
                report
            });
            return None;
        }
        Some((WriteTarget::Update(record), on, at))
    }

    /// A position or a handle that is there.
    pub(super) fn record_of(&mut self, record: &ast::Expr, what: &str) -> Option<Expr> {
        let typed = self.expr(record)?;
        let typed = if typed.ty.present().is_some_and(|ty| ty.described().is_some()) {
            let why = format!("only a record that is there can be {what}");
            self.ensure_present(typed, &why)?
        } else {
            typed
        };
        if typed.ty.described().is_some() {
            return Some(typed);
        }
        let (text, shown) = (self.cx.slice(typed.span), self.show(&typed.ty));
        let report = Diagnostic::error(
            codes::MOV_WRITE_TARGET,
            typed.span,
            format!("`{text}` is `{shown}`: only a record of a system can be {what}"),
        )
        .label(shown);
        self.report(match typed.ty.kind() {
            Kind::List => report.help("walk the path with a block, and write each record in it"),
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

    pub(super) fn delete(&mut self, target: &ast::Expr) -> Option<StatementKind> {
        let target = self.record_of(target, "deleted")?;
        let on = target.ty.described()?;
        let shape = self.cx.graph.shape(on)?;
        if !shape.deletable {
            let shown = self.cx.graph.show_position(on);
            self.report(
                Diagnostic::error(
                    codes::MOV_DELETE_NOT_DELETABLE,
                    target.span,
                    format!("a record of `{shown}` cannot be deleted"),
                )
                .label("the system has no delete for it"),
            );
            return None;
        }
        Some(StatementKind::Delete { target })
    }

    /// A look-up knows nothing of edges: it could find a record that stands elsewhere.
    fn unique_under(&mut self, line: &ast::Unique) {
        self.report(
            Diagnostic::error(
                codes::MOV_UNIQUE_NOT_FINDABLE,
                line.span,
                "a record that is created under another one cannot be found by its fields",
            )
            .label("asks for a look-up")
            .help("walk the edge first, and write only if the record is not there"),
        );
    }

    fn required(&mut self, entries: &mut Entries<'_>, at: Span) {
        let missing: Vec<String> = entries
            .shape
            .fields
            .iter()
            .filter(|field| field.required && field.writable)
            .filter(|field| !entries.meant.contains(&field.name))
            .map(|field| format!("`{}`", field.name))
            .collect();
        if missing.is_empty() || entries.spread_failed {
            return;
        }
        entries.whole = false;
        let on = self.cx.graph.show_position(&entries.on);
        let (verb, entry) = if missing.len() == 1 { ("is", "an entry") } else { ("are", "entries") };
        self.report(
            Diagnostic::error(
                codes::MOV_WRITE_FIELD_MISSING,
                at,
                format!("{} {verb} required to write `{on}`", missing.join(", ")),
            )
            .label("left out here")
            .help(format!("add {entry} for {}", missing.join(", "))),
        );
    }

    fn unique(&mut self, write: &ast::Write, entries: &mut Entries<'_>) -> Option<Vec<Vec<SmolStr>>> {
        let mut lines = Vec::with_capacity(write.unique.len());
        let mut whole = true;
        for line in &write.unique {
            match self.unique_line(line, entries) {
                Some(fields) => lines.push(fields),
                None => whole = false,
            }
        }
        whole.then_some(lines)
    }

    fn unique_line(&mut self, line: &ast::Unique, entries: &Entries<'_>) -> Option<Vec<SmolStr>> {
        let on = self.cx.graph.show_position(&entries.on);
        if entries.act == Act::Update {
            self.report(
                Diagnostic::error(
                    codes::MOV_UNIQUE_UPDATE,
                    line.span,
                    "a record that is changed in place is known already",
                )
                .label("says how to find one")
                .help(format!("leave it out, or write `{on}` to find or create one")),
            );
            return None;
        }
        let mut fields: Vec<SmolStr> = Vec::new();
        for name in &line.fields {
            self.cx.offer_identity(name.span, entries.shape);
            if entries.shape.field(&name.text).is_some() {
                let means = Meaning::Field { of: entries.on.clone(), name: name.text.clone() };
                self.cx.notes.mention(name.span, means);
            }
            let Some(field) = entries.shape.field(&name.text) else {
                let known = entries.shape.find_by.iter().flatten().map(SmolStr::as_str);
                self.report(no_field(&format!("`{on}`"), name, known));
                return None;
            };
            if !entries.meant.contains(&field.name) {
                self.report(
                    Diagnostic::error(
                        codes::MOV_UNIQUE_FIELD_MISSING,
                        name.span,
                        format!("`{}` is not among the entries", name.text),
                    )
                    .label("there is no value to look for")
                    .help(format!("add the entry `{}: …`", name.text)),
                );
                return None;
            }
            if !fields.contains(&field.name) {
                fields.push(field.name.clone());
            }
        }
        let found = entries
            .shape
            .find_by
            .iter()
            .any(|set| set.len() == fields.len() && set.iter().all(|name| fields.contains(name)));
        if !found {
            let sets: Vec<String> = entries.shape.find_by.iter().map(|set| format!("`({})`", set.join(", "))).collect();
            let report = Diagnostic::error(
                codes::MOV_UNIQUE_NOT_FINDABLE,
                line.span,
                format!(
                    "`{on}` cannot be found by {}",
                    fields.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
                ),
            )
            .label("the system has no such look-up");
            self.report(if sets.is_empty() {
                report.help("it cannot be found by any field: leave `unique by` out")
            } else {
                report.help(format!("it can be found by {}", sets.join(" or ")))
            });
            return None;
        }
        if !entries.shape.updatable {
            self.report(
                Diagnostic::error(
                    codes::MOV_WRITE_NO_UPDATE,
                    line.span,
                    format!("a record of `{on}` that is found cannot be changed"),
                )
                .label("would be updated")
                .help("leave `unique by` out, or test with a read first"),
            );
            return None;
        }
        Some(fields)
    }
}

/// What of a hop does not belong in a write.
pub(super) fn extra(hop: &ast::Hop) -> Option<Span> {
    hop.alias
        .as_ref()
        .map(|alias| alias.span)
        .or(hop.filter.as_ref().map(|filter| filter.span))
        .or(hop.order.first().map(|key| key.key.span))
        .or(hop.limit.as_ref().map(|limit| limit.span))
}
