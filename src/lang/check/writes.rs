//! Writes, updates and deletes: what may be written, the fields it takes, identity.

use indexmap::IndexMap;
use lf_module::schema::{Field, TypeShape};
use smol_str::SmolStr;

use super::{
    body::Body,
    compare::list_members,
    context::Symbol,
    exprs::no_field,
    hops,
    narrow::Chain,
    typed::{Entry, EntryMode, Expr, ExprKind, StatementKind, Write, WriteTarget},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, IfAbsent, Name},
    types::{Kind, Ty, TypeRef, relation},
};

/// What a write does, as far as its entries depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Create,
    Update,
}

/// The entries of one write, as they are met.
struct Entries<'s> {
    on: TypeRef,
    shape: &'s TypeShape,
    act: Act,
    typed: IndexMap<SmolStr, (Entry, From)>,
    /// Fields that were meant by an entry that failed: they are not missing too.
    meant: Vec<SmolStr>,
    whole: bool,
}

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Written,
    Spread,
}

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
        let mut entries =
            Entries { on: on.clone(), shape, act, typed: IndexMap::new(), meant: Vec::new(), whole: true };
        for entry in &write.entries {
            self.entry(&mut entries, entry);
        }
        let unique = self.unique(write, &mut entries);
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
            let connection = match self.cx.look_up(self.file, &path.head.text) {
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
        self.path_start(&path.head)?;
        self.report(
            Diagnostic::error(codes::MOV_NOT_BUILT, path.span, "writing under another record is not built yet")
                .label("starts at a record")
                .help("write the type from its connection, and set the field that refers to the record"),
        );
        None
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
        let shown = self.cx.graph.show_position(on);
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
                report.label("only reads").help(format!("read it: `{shown} {{ … }}`"))
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
    fn record_of(&mut self, record: &ast::Expr, what: &str) -> Option<Expr> {
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

    fn entry(&mut self, entries: &mut Entries<'_>, entry: &ast::Entry) {
        match entry {
            ast::Entry::Set { name, value, absent } => {
                let mode = match absent {
                    IfAbsent::Refuse => EntryMode::Set,
                    IfAbsent::Skip => EntryMode::SetOrSkip,
                    IfAbsent::Clear => EntryMode::SetOrClear,
                };
                self.named_entry(entries, name, value, mode);
            }
            ast::Entry::Fill { name, value } => self.named_entry(entries, name, value, EntryMode::Fill),
            ast::Entry::Add { name, value } => self.named_entry(entries, name, value, EntryMode::Add),
            ast::Entry::Spread { span, value } => self.spread(entries, *span, value),
        }
    }

    fn named_entry(&mut self, entries: &mut Entries<'_>, name: &Name, value: &ast::Expr, mode: EntryMode) {
        let value = self.expr(value);
        let Some(field) = self.written_field(entries, name) else {
            entries.whole = false;
            return;
        };
        entries.meant.push(field.name.clone());
        if let Some((first, From::Written)) = entries.typed.get(&name.text) {
            let first = first.span;
            self.report(
                Diagnostic::error(codes::MOV_WRITE_FIELD_TWICE, name.span, format!("`{}` is given twice", name.text))
                    .label("a field takes one value")
                    .also(first, "given first here")
                    .help("leave one out"),
            );
            entries.whole = false;
            return;
        }
        let value = value.and_then(|value| self.entry_value(entries, field, name, value, mode));
        match value {
            Some(value) => {
                let entry = Entry { field: field.name.clone(), span: name.span, mode, value };
                entries.typed.insert(field.name.clone(), (entry, From::Written));
            }
            None => entries.whole = false,
        }
    }

    /// The field that an entry names; reports one that is unknown or cannot be written.
    fn written_field<'s>(&mut self, entries: &mut Entries<'s>, name: &Name) -> Option<&'s Field> {
        let on = self.cx.graph.show_position(&entries.on);
        let writable = entries.shape.fields.iter().filter(|field| field.writable).map(|field| field.name.as_str());
        let Some(field) = entries.shape.field(&name.text) else {
            if let Some(near) = suggest::nearest(&name.text, writable.clone()) {
                entries.meant.push(near.into());
            }
            self.report(no_field(&format!("`{on}`"), name, writable));
            return None;
        };
        if field.writable {
            return Some(field);
        }
        entries.meant.push(field.name.clone());
        self.report(
            Diagnostic::error(
                codes::MOV_WRITE_FIELD_READ_ONLY,
                name.span,
                format!("`{}` of `{on}` can be read but not written", name.text),
            )
            .label("set by the system itself")
            .help("leave it out"),
        );
        None
    }

    fn entry_value(
        &mut self,
        entries: &Entries<'_>,
        field: &Field,
        name: &Name,
        value: Expr,
        mode: EntryMode,
    ) -> Option<Expr> {
        let ty = Ty::from(&field.ty);
        match mode {
            EntryMode::Set => {}
            EntryMode::SetOrClear if !field.clearable => {
                self.report(
                    Diagnostic::error(
                        codes::MOV_WRITE_NO_CLEAR,
                        name.span,
                        format!("`{}` cannot be emptied", field.name),
                    )
                    .label("the system always wants a value here")
                    .help("write `ELSE SKIP` to leave it as it is"),
                );
                return None;
            }
            EntryMode::Fill if entries.act == Act::Update && !field.readable => {
                self.report(
                    Diagnostic::error(
                        codes::MOV_WRITE_FIELD_MODE,
                        name.span,
                        format!("whether `{}` is empty cannot be seen", field.name),
                    )
                    .label("can be written but not read")
                    .help("set it with `:`"),
                );
                return None;
            }
            EntryMode::Add if !matches!(ty, Ty::List(_)) || !field.readable => {
                let shown = self.show(&ty);
                let list = matches!(ty, Ty::List(_));
                let why = if list { "can be written but not read".to_owned() } else { shown };
                self.report(
                    Diagnostic::error(
                        codes::MOV_WRITE_FIELD_MODE,
                        name.span,
                        format!("`+:` adds to a list, and `{}` cannot be added to", field.name),
                    )
                    .label(why)
                    .help("set it with `:`"),
                );
                return None;
            }
            EntryMode::SetOrSkip | EntryMode::SetOrClear | EntryMode::Fill | EntryMode::Add => {}
        }
        let may_skip = matches!(mode, EntryMode::SetOrSkip | EntryMode::SetOrClear | EntryMode::Fill);
        if value.ty.may_be_absent() && !may_skip {
            self.absent_entry(field, &value, mode);
            return None;
        }
        if value.ty.may_be_absent() && field.required && entries.act == Act::Create {
            let text = self.cx.slice(value.span);
            self.report(
                Diagnostic::error(
                    codes::MOV_WRITE_FIELD_MISSING,
                    value.span,
                    format!("`{}` is required, and `{text}` may be absent", field.name),
                )
                .label("a new record cannot do without it")
                .help(format!("give it a value: `COALESCE({text}, …)`, or test it first")),
            );
            return None;
        }
        self.fits_field(&entries.on, field, &ty, value)
    }

    fn absent_entry(&mut self, field: &Field, value: &Expr, mode: EntryMode) {
        let text = self.cx.slice(value.span);
        let verb = if matches!(value.ty, Ty::Absent) { "is" } else { "may be" };
        let report = Diagnostic::error(
            codes::MOV_ABSENT,
            value.span,
            format!("`{text}` {verb} absent, and `{}` needs a value", field.name),
        )
        .label(self.show(&value.ty));
        let report = if mode == EntryMode::Set && !field.required {
            let end = Span { start: value.span.end, ..value.span };
            let report = report.help(format!("leave the field as it is then: `{}: {text} ELSE SKIP`", field.name));
            let report = if field.clearable {
                report.help(format!("or empty it: `{}: {text} ELSE CLEAR`", field.name))
            } else {
                report
            };
            report.fix("write `ELSE SKIP`", end, " ELSE SKIP")
        } else {
            report
        };
        self.report(report.help(format!("or test it first: `if {text} != null {{ … }}`")));
    }

    /// The value is one that the field takes; nothing is turned into text silently.
    fn fits_field(&mut self, on: &TypeRef, field: &Field, ty: &Ty, value: Expr) -> Option<Expr> {
        if *ty == Ty::Json {
            return Some(value);
        }
        let given = value.ty.present().cloned().unwrap_or(Ty::Absent);
        if given == Ty::Absent || relation::fits(&given, ty, &self.cx.graph) {
            return Some(value);
        }
        let text = self.cx.slice(value.span);
        let shown = self.show(&given);
        if let (Ty::Choice(members), Kind::Text) = (ty, given.kind()) {
            if let Ty::Choice(texts) = &given
                && let Some(wrong) = texts.iter().find(|text| !members.contains(text))
            {
                let wrong = wrong.clone();
                self.not_a_member(&value, &wrong, members, Some(&field.name));
                return None;
            }
            self.report(
                Diagnostic::error(
                    codes::MOV_WRITE_FIELD_TYPE,
                    value.span,
                    format!("`{}` takes {}, and this may be any text", field.name, list_members(members)),
                )
                .label(shown)
                .help("give a literal, or a value of a type within these"),
            );
            return None;
        }
        let on = self.cx.graph.show_position(on);
        let wanted = self.show(ty);
        let report = Diagnostic::error(
            codes::MOV_WRITE_FIELD_TYPE,
            value.span,
            format!("`{}` takes {wanted}, not {}", field.name, self.plain(&given)),
        )
        .label(shown);
        let report = match (given.kind(), ty.kind()) {
            (from, Kind::Text) if from.is_scalar() => {
                let literal = matches!(value.kind, ExprKind::Literal(_));
                let written = if literal { format!("\"{text}\"") } else { format!("\"${{{text}}}\"") };
                report.help(format!("nothing is turned into text silently: write `{written}`")).fix(
                    format!("write `{written}`"),
                    value.span,
                    written.as_str(),
                )
            }
            (Kind::Text, Kind::Number) => report.help(format!("convert it: `NUMBER({text})`, which may be absent")),
            (Kind::Text, Kind::Date) => report.help(format!("convert it: `DATE({text})`, which may be absent")),
            (Kind::Text, Kind::Datetime) => report.help(format!("convert it: `DATETIME({text})`, which may be absent")),
            (Kind::Json, _) => report.help(format!("say what it is first: `{text} AS <{wanted}>`")),
            (from, Kind::List) if from.is_scalar() => report
                .help(format!("a list is written in brackets: `[{text}]`"))
                .fix(format!("write `[{text}]`"), value.span, format!("[{text}]")),
            (Kind::Record, _) => report.help(format!("name the field that is meant: `{text}.…`")),
            (_, _) => report.help(format!("`listen-fire describe` shows the fields of `{on}`")),
        };
        self.report(report);
        None
    }

    fn spread(&mut self, entries: &mut Entries<'_>, span: Span, value: &ast::Expr) {
        let Some(record) = self.expr(value).and_then(|value| self.ensure_present(value, "its fields are written"))
        else {
            entries.whole = false;
            return;
        };
        let Some(fields) = self.fields_of(&record.ty) else {
            let shown = self.show(&record.ty);
            self.report(
                Diagnostic::error(
                    codes::MOV_WRITE_SPREAD,
                    record.span,
                    format!("only a record has fields to write, and this is `{shown}`"),
                )
                .label(shown),
            );
            entries.whole = false;
            return;
        };
        if Chain::of(&record).is_none() && !matches!(record.kind, ExprKind::Record(_)) {
            self.report(
                Diagnostic::error(codes::MOV_WRITE_SPREAD, record.span, "what is spread has a name")
                    .label("would be computed once for each field")
                    .help("bind it to a name first, and spread that"),
            );
            entries.whole = false;
            return;
        }
        let on = self.cx.graph.show_position(&entries.on);
        let unknown: Vec<String> = fields
            .iter()
            .filter(|(name, _)| !entries.shape.field(name).is_some_and(|field| field.writable))
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        if !unknown.is_empty() {
            let what = if unknown.len() == 1 { "is no field" } else { "are no fields" };
            self.report(
                Diagnostic::error(
                    codes::MOV_WRITE_SPREAD,
                    record.span,
                    format!("{} {what} that `{on}` takes", unknown.join(", ")),
                )
                .label("every field of it would be written")
                .help("name the fields that are meant one by one"),
            );
            entries.whole = false;
            return;
        }
        for (name, ty) in fields {
            let Some(field) = entries.shape.field(&name) else { continue };
            entries.meant.push(name.clone());
            if matches!(entries.typed.get(&name), Some((_, From::Written))) {
                continue;
            }
            let kind = ExprKind::Field { base: Box::new(record.clone()), name: name.clone() };
            let read = self.narrowed(Expr { ty, span: record.span, kind });
            if read.ty.may_be_absent() {
                let text = self.cx.slice(record.span);
                self.report(
                    Diagnostic::error(
                        codes::MOV_ABSENT,
                        record.span,
                        format!("`{text}.{name}` may be absent, and `{name}` needs a value"),
                    )
                    .label(self.show(&read.ty))
                    .help(format!("write it by itself: `{name}: {text}.{name} ELSE SKIP`")),
                );
                entries.whole = false;
                continue;
            }
            let target = Ty::from(&field.ty);
            match self.fits_field(&entries.on, field, &target, read) {
                Some(value) => {
                    let entry = Entry { field: name.clone(), span, mode: EntryMode::Set, value };
                    entries.typed.insert(name, (entry, From::Spread));
                }
                None => entries.whole = false,
            }
        }
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
        if missing.is_empty() {
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
fn extra(hop: &ast::Hop) -> Option<Span> {
    hop.alias
        .as_ref()
        .map(|alias| alias.span)
        .or(hop.filter.as_ref().map(|filter| filter.span))
        .or(hop.order.first().map(|key| key.key.span))
        .or(hop.limit.as_ref().map(|limit| limit.span))
}
