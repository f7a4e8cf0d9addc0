//! The entries of a write: fields that the type takes, values that fit them, what absence does.

use indexmap::IndexMap;
use lf_module::{
    FieldType,
    schema::{Field, TypeShape},
};
use smol_str::SmolStr;

use super::{
    body::Body,
    compare::list_members,
    fields::no_field,
    index::Meaning,
    narrow::Chain,
    typed::{Entry, EntryMode, Expr, ExprKind},
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, IfAbsent, Name},
    types::{Kind, Ty, TypeRef, relation},
};

/// What a write does, as far as its entries depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Create,
    Update,
}

/// The entries of one write, as they are met.
pub(super) struct Entries<'s> {
    pub(super) on: TypeRef,
    pub(super) shape: &'s TypeShape,
    pub(super) act: Act,
    pub(super) typed: IndexMap<SmolStr, (Entry, From)>,
    /// Fields that were meant by an entry that failed: they are not missing too.
    pub(super) meant: Vec<SmolStr>,
    /// A spread failed: which fields it would have given is not said again.
    pub(super) spread_failed: bool,
    pub(super) whole: bool,
}

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Written,
    Spread,
}

impl Body<'_, '_> {
    pub(super) fn entry(&mut self, entries: &mut Entries<'_>, entry: &ast::Entry) {
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

    pub(super) fn named_entry(&mut self, entries: &mut Entries<'_>, name: &Name, value: &ast::Expr, mode: EntryMode) {
        self.cx.offer_written(name.span, entries.shape, entries.act);
        if let Some(Field { ty: FieldType::Choice(members), .. }) = entries.shape.field(&name.text) {
            self.cx.offer_members(value.span, members);
        }
        let value = self.expr(value);
        let Some(field) = self.written_field(entries, name) else {
            entries.whole = false;
            return;
        };
        entries.meant.push(field.name.clone());
        if let Some((first, From::Written)) = entries.typed.get(&name.text) {
            let first = first.span;
            let report =
                Diagnostic::error(codes::MOV_WRITE_FIELD_TWICE, name.span, format!("`{}` is given twice", name.text))
                    .label("a field takes one value")
                    .also(first, "given first here");
            self.report(report.help("leave one out"));
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
    pub(super) fn written_field<'s>(&mut self, entries: &mut Entries<'s>, name: &Name) -> Option<&'s Field> {
        let on = self.cx.graph.show_position(&entries.on);
        let writable = entries.shape.fields.iter().filter(|field| field.writable).map(|field| field.name.as_str());
        let Some(field) = entries.shape.field(&name.text) else {
            if let Some(near) = suggest::nearest(&name.text, writable.clone()) {
                entries.meant.push(near.into());
            }
            self.report(no_field(&format!("`{on}`"), name, writable));
            return None;
        };
        self.cx.notes.mention(name.span, Meaning::Field { of: entries.on.clone(), name: field.name.clone() });
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

    pub(super) fn entry_value(
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
                let report = Diagnostic::error(
                    codes::MOV_WRITE_NO_CLEAR,
                    name.span,
                    format!("`{}` cannot be emptied", field.name),
                )
                .label("the system always wants a value here");
                let says = "write `ELSE SKIP` to leave it as it is";
                self.report(match self.clear_word(value.span) {
                    Some(word) => report.fix(says, word, "SKIP"),
                    None => report.help(says),
                });
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
                let report = Diagnostic::error(
                    codes::MOV_WRITE_FIELD_MODE,
                    name.span,
                    format!("`+:` adds to a list, and `{}` cannot be added to", field.name),
                )
                .label(why);
                let sign = Span { start: name.span.end, end: value.span.start, ..name.span };
                // What a list holds already would be lost.
                let mends = !list && self.cx.slice(sign).trim() == "+:";
                self.report(if mends {
                    report.fix("set it with `:`", sign, ": ")
                } else {
                    report.help("set it with `:`")
                });
                return None;
            }
            EntryMode::SetOrSkip | EntryMode::SetOrClear | EntryMode::Fill | EntryMode::Add => {}
        }
        // What never fits is no matter of presence.
        let value = self.fits_field(&entries.on, field, &ty, value)?;
        let may_skip = matches!(mode, EntryMode::SetOrSkip | EntryMode::SetOrClear | EntryMode::Fill);
        if value.ty.may_be_absent() && !may_skip {
            self.absent_entry(entries, field, &value, mode);
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
        Some(value)
    }

    /// The word `CLEAR` behind a value.
    fn clear_word(&self, value: Span) -> Option<Span> {
        let behind = self.cx.behind(value);
        let rest = behind.trim_start().strip_prefix("ELSE")?.trim_start();
        rest.strip_prefix("CLEAR")?;
        let start = value.end + u32::try_from(behind.len() - rest.len()).ok()?;
        Some(Span { start, end: start + 5, ..value })
    }

    pub(super) fn absent_entry(&mut self, entries: &Entries<'_>, field: &Field, value: &Expr, mode: EntryMode) {
        let text = self.cx.slice(value.span);
        let verb = if matches!(value.ty, Ty::Absent) { "is" } else { "may be" };
        let report = Diagnostic::error(
            codes::MOV_ABSENT,
            value.span,
            format!("`{text}` {verb} absent, and `{}` needs a value", field.name),
        )
        .label(self.show(&value.ty));
        let may_skip = entries.act == Act::Update || !field.required;
        let report = if mode == EntryMode::Set && may_skip && !matches!(value.ty, Ty::Absent) {
            let end = Span { start: value.span.end, ..value.span };
            let skip = match entries.act {
                Act::Create => "write `ELSE SKIP` to leave the field out then",
                Act::Update => "write `ELSE SKIP` to leave the field as it is then",
            };
            let report = report.way(skip, vec![(end, " ELSE SKIP".to_owned())]);
            if field.clearable {
                report.way("write `ELSE CLEAR` to empty it then", vec![(end, " ELSE CLEAR".to_owned())])
            } else {
                report
            }
        } else {
            report
        };
        let test = self.test_first(value);
        self.report(match test {
            Some(test) => report.help(test),
            None => report,
        });
    }

    /// The value is one that the field takes; nothing is turned into text silently.
    pub(super) fn fits_field(&mut self, on: &TypeRef, field: &Field, ty: &Ty, value: Expr) -> Option<Expr> {
        if *ty == Ty::Json {
            return self.is_data(value, &format!("`{}` takes json", field.name));
        }
        let given = value.ty.present().cloned().unwrap_or(Ty::Absent);
        if given == Ty::Absent || relation::fits(&given, ty, &self.cx.graph) || (field.takes_file && given == Ty::File)
        {
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
            (Kind::File, Kind::List) if relation::holds_file(ty) => report.help("a list is written in brackets").fix(
                format!("write `[{text}]`"),
                value.span,
                format!("[{text}]"),
            ),
            (Kind::File, _) => report.help("a file is written into a field that takes a file"),
            (_, Kind::File) => report.help("a file comes from a record of a system: nothing else has bytes"),
            (from, Kind::Text) if from.is_scalar() && *ty == Ty::Text => {
                let literal = matches!(value.kind, ExprKind::Literal(_));
                let written = if literal { format!("\"{text}\"") } else { format!("\"${{{text}}}\"") };
                report.help("nothing is turned into text silently").fix(
                    format!("write `{written}`"),
                    value.span,
                    written.as_str(),
                )
            }
            (Kind::Text, Kind::Number) => report.help(format!("convert it: `NUMBER({text})`, which may be absent")),
            (Kind::Text, Kind::Date) => report.help(format!("convert it: `DATE({text})`, which may be absent")),
            (Kind::Text, Kind::Datetime) => report.help(format!("convert it: `DATETIME({text})`, which may be absent")),
            (Kind::Json, _) => report.help(format!("say what it is first: `{text} AS <{wanted}>`")),
            (from, Kind::List) if from.is_scalar() && lists(ty, from) => report
                .help("a list is written in brackets")
                .fix(format!("write `[{text}]`"), value.span, format!("[{text}]")),
            (Kind::Record, _) => report.help(format!("name the field that is meant: `{text}.…`")),
            (_, _) => report.help(format!("`listen-fire describe` shows the fields of `{on}`")),
        };
        self.report(report);
        None
    }

    /// The value holds no file: as json its bytes would be lost.
    pub(super) fn is_data(&mut self, value: Expr, needs: &str) -> Option<Expr> {
        if !relation::holds_file(&value.ty) {
            return Some(value);
        }
        let text = self.cx.slice(value.span);
        let shown = self.show(&value.ty);
        let what = if value.ty.kind() == Kind::File { "is a file" } else { "holds a file" };
        self.report(
            Diagnostic::error(
                codes::MOV_FILE_OPAQUE,
                value.span,
                format!("`{text}` {what}, and json does not hold the bytes of files"),
            )
            .label(format!("{shown}; {needs}"))
            .help("write the file into a field that takes one, or give what is known of it: its `name`, `media_type` and `size`"),
        );
        None
    }

    pub(super) fn spread(&mut self, entries: &mut Entries<'_>, span: Span, value: &ast::Expr) {
        let Some(record) = self.expr(value).and_then(|value| self.ensure_present(value, "its fields are written"))
        else {
            entries.whole = false;
            entries.spread_failed = true;
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
            entries.spread_failed = true;
            return;
        };
        if Chain::of(&record).is_none() && !matches!(record.kind, ExprKind::Record(_)) {
            self.report(
                Diagnostic::error(codes::MOV_WRITE_SPREAD, record.span, "what is spread has a name")
                    .label("would be computed once for each field")
                    .help("bind it to a name first, and spread that"),
            );
            entries.whole = false;
            entries.spread_failed = true;
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
            entries.spread_failed = true;
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
}

/// Whether a type is a list of that kind.
fn lists(ty: &Ty, of: Kind) -> bool {
    matches!(ty, Ty::List(item) if item.kind() == of)
}
