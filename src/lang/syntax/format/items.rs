//! The layout of a file and its declarations.

use super::{Layout, doc::Doc, lists::Row};
use crate::syntax::ast::{Binding, Connection, File, Function, Import, Item, Listen, Name, Setting, TypeItem};

impl Layout<'_> {
    pub(super) fn file(&mut self, file: &File) -> Doc {
        let mut parts = Vec::new();
        for (place, item) in file.items.iter().enumerate() {
            let start = start(item);
            parts.extend(self.trailing(start));
            let comments = self.own(start);
            let blank = comments.first().map_or_else(|| self.blank_before(start), |(blank, _)| *blank);
            if place > 0 {
                parts.push(if blank { Doc::Blank } else { Doc::Hard });
            }
            self.lines(comments, Some(start), &mut parts);
            parts.push(self.item(item));
        }
        let end = u32::MAX;
        parts.extend(self.trailing(end));
        let comments = self.own(end);
        if let Some((blank, _)) = comments.first() {
            if !file.items.is_empty() {
                parts.push(if *blank { Doc::Blank } else { Doc::Hard });
            }
            self.lines(comments, None, &mut parts);
        }
        Doc::Many(parts)
    }

    fn item(&mut self, item: &Item) -> Doc {
        match item {
            Item::Import(import) => self.import(import),
            Item::Connection(connection) => self.connection(connection),
            Item::Type(item) => self.type_item(item),
            Item::Function(function) => self.function(function),
            Item::Listen(listen) => self.listen(listen),
            Item::Binding(binding) => self.binding(binding),
            Item::Test(test) => self.test(test),
            Item::Bad { span, name: _ } => Doc::text(self.file.slice(*span)),
        }
    }

    fn import(&mut self, import: &Import) -> Doc {
        let from = import.from.span;
        let names = self.row(
            Row::Braces,
            ("{", "}"),
            &import.names,
            from.start,
            |name| name.name.span.start,
            |layout, name| {
                let mut parts = vec![layout.name(&name.name)];
                if let Some(alias) = &name.alias {
                    parts.push(Doc::text(" as "));
                    let comments = layout.before(alias.span.start);
                    parts.push(Doc::indent(vec![comments, layout.name(alias)]));
                }
                Doc::Many(parts)
            },
        );
        Doc::Many(vec![Doc::text("import "), names, Doc::text(" from "), Doc::text(self.file.slice(from))])
    }

    fn connection(&mut self, connection: &Connection) -> Doc {
        let mut parts = vec![export(connection.export), self.name(&connection.name), Doc::text(" = ")];
        let comments = self.before(connection.module.span.start);
        parts.push(Doc::indent(vec![comments, Doc::text("connect "), self.name(&connection.module)]));
        if let Some(using) = &connection.using {
            parts.push(Doc::text(" using "));
            parts.push(self.name(using));
        }
        if !connection.settings.is_empty() {
            parts.push(Doc::text(" "));
            parts.push(self.settings(&connection.settings, connection.span.end));
        }
        Doc::Many(parts)
    }

    /// `{ key: literal }`
    fn settings(&mut self, settings: &[Setting], end: u32) -> Doc {
        self.row(
            Row::Braces,
            ("{", "}"),
            settings,
            end,
            |setting| setting.name.span.start,
            |layout, setting| {
                let name = layout.name(&setting.name);
                layout.value(name, ":", &setting.value)
            },
        )
    }

    fn type_item(&mut self, item: &TypeItem) -> Doc {
        let name = self.name(&item.name);
        let ty = self.type_ref(&item.ty);
        Doc::Many(vec![export(item.export), Doc::text("type "), name, Doc::text(" = "), ty])
    }

    fn function(&mut self, function: &Function) -> Doc {
        let mut parts = vec![export(function.export), Doc::text("function "), self.name(&function.name)];
        let end = function.returns.as_ref().map_or(function.body.span.start, |ty| ty.span.start);
        parts.push(self.row(
            Row::Brackets,
            ("(", ")"),
            &function.params,
            end,
            |param| param.name.span.start,
            |layout, param| {
                let name = layout.name(&param.name);
                let ty = layout.type_ref(&param.ty);
                Doc::Many(vec![name, Doc::text(": "), ty])
            },
        ));
        if let Some(returns) = &function.returns {
            parts.push(Doc::text(": "));
            parts.push(self.type_ref(returns));
        }
        parts.push(Doc::text(" "));
        parts.push(self.block(&function.body));
        Doc::Many(parts)
    }

    fn listen(&mut self, listen: &Listen) -> Doc {
        let mut parts = vec![Doc::text("listen ")];
        if let Some(label) = &listen.label {
            parts.push(Doc::text("as "));
            let comments = self.before(label.span.start);
            let label = Doc::text(self.file.slice(label.span));
            parts.extend([Doc::indent(vec![comments, label]), Doc::text(" ")]);
        }
        parts.push(Doc::text("to "));
        parts.push(self.path(&listen.path));
        let fire = listen.fire.span.start;
        if listen.settings.is_empty() {
            let trailing = self.trailing(fire);
            let comments = self.own(fire);
            // `fire` may trail a comment of its own, and one line has one.
            let whole = trailing.is_empty() && comments.is_empty();
            parts.extend(trailing);
            let mut rest = if whole { vec![Doc::Line] } else { vec![Doc::Hard] };
            self.lines(comments, Some(fire), &mut rest);
            rest.push(Doc::text("fire "));
            rest.push(self.name(&listen.fire));
            parts.push(Doc::group(vec![Doc::indent(rest)]));
        } else {
            parts.push(Doc::text(" "));
            parts.push(self.settings(&listen.settings, fire));
            parts.push(Doc::text(" fire "));
            parts.push(self.name(&listen.fire));
        }
        Doc::Many(parts)
    }

    fn binding(&mut self, binding: &Binding) -> Doc {
        let name = Doc::Many(vec![export(binding.export), self.name(&binding.name)]);
        self.value(name, " =", &binding.value)
    }

    pub(super) fn name(&self, name: &Name) -> Doc {
        Doc::text(self.file.slice(name.span))
    }
}

fn export(export: bool) -> Doc {
    if export { Doc::text("export ") } else { Doc::NOTHING }
}

fn start(item: &Item) -> u32 {
    match item {
        Item::Import(import) => import.span.start,
        Item::Connection(connection) => connection.span.start,
        Item::Type(item) => item.span.start,
        Item::Function(function) => function.span.start,
        Item::Listen(listen) => listen.span.start,
        Item::Binding(binding) => binding.span.start,
        Item::Test(test) => test.span.start,
        Item::Bad { span, name: _ } => span.start,
    }
}
