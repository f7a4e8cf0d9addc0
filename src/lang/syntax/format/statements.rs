//! The layout of blocks, statements and the entries of a write.

use super::{Layout, doc::Doc, lists::Row};
use crate::syntax::ast::{Block, Entry, Expr, IfAbsent, Name, Statement, StatementKind, Unique, Write, WriteTarget};

/// Words that would carry the line before on if they began one.
const CONTINUERS: &[&str] = &["AND", "OR", "THEN", "ELSE", "END", "else", "fire"];

impl Layout<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Doc {
        self.row(
            Row::Block,
            ("{", "}"),
            &block.statements,
            block.span.end,
            |statement| statement.span.start,
            Self::statement,
        )
    }

    fn statement(&mut self, statement: &Statement) -> Doc {
        match &statement.kind {
            StatementKind::Bind { name, value } => {
                let name = self.name(name);
                self.value(name, " =", value)
            }
            StatementKind::Write { bind, write } => {
                let bind = bind.as_ref().map(|name| self.name(name));
                self.write(bind, write)
            }
            StatementKind::Delete { target } => self.after_word("delete", target),
            StatementKind::Link { join, path, to } => {
                let word = Doc::text(if *join { "link " } else { "unlink " });
                let head = self.leading(&path.head);
                let path = self.path_from(head, path);
                let to = self.expr(to);
                Doc::Many(vec![word, path, Doc::text(" "), to])
            }
            StatementKind::Each { path, body } => {
                let head = self.leading(&path.head);
                let path = self.path_from(head, path);
                let body = self.block(body);
                Doc::Many(vec![path, Doc::text(" "), body])
            }
            StatementKind::If { arms, otherwise } => self.choose(arms, otherwise.as_ref()),
            StatementKind::Call(call) => self.call_statement(call),
            StatementKind::Await { bind, wait } => {
                let mut parts = Vec::new();
                if let Some(name) = bind {
                    parts.extend([self.name(name), Doc::text(" = ")]);
                }
                let callee = self.name(&wait.call.callee);
                parts.extend([Doc::text("await "), self.call(callee, &wait.call, wait.span)]);
                Doc::Many(parts)
            }
            StatementKind::Return(None) => Doc::text("return"),
            StatementKind::Return(Some(value)) => self.after_word("return", value),
            StatementKind::Bad { bind: _ } => Doc::text(self.file.slice(statement.span)),
        }
    }

    /// All blocks on the line of the `if`, or none.
    fn choose(&mut self, arms: &[(Expr, Block)], otherwise: Option<&Block>) -> Doc {
        let mut parts = Vec::new();
        let mut stay = true;
        for (place, (condition, block)) in arms.iter().enumerate() {
            if place > 0 {
                self.between_arms(condition.span.start, &mut parts);
            }
            parts.push(Doc::text("if "));
            // Twice to the right, so that a broken condition does not look like the block under it.
            let condition = self.expr(condition);
            parts.push(Doc::indent(vec![condition]));
            parts.push(Doc::text(" "));
            let block = self.block(block);
            stay &= !block.ends_lines();
            parts.push(open(block));
        }
        if let Some(block) = otherwise {
            self.between_arms(block.span.start, &mut parts);
            let block = self.block(block);
            stay &= !block.ends_lines();
            parts.push(open(block));
        }
        Doc::group_broken(parts, !stay)
    }

    fn between_arms(&mut self, place: u32, parts: &mut Vec<Doc>) {
        let comments = self.before(place);
        if comments.is_nothing() {
            parts.push(Doc::text(" else "));
        } else {
            parts.extend([comments, Doc::text("else ")]);
        }
    }

    /// A statement that is a keyword and a value. No newline may follow the word, so where a comment stood between
    /// them, so do parentheses.
    fn after_word(&mut self, word: &str, value: &Expr) -> Doc {
        if self.pending(value.span.start).is_none() {
            let value = self.expr(value);
            return Doc::Many(vec![Doc::text(word), Doc::text(" "), value]);
        }
        let value = self.expr(value);
        Doc::Many(vec![Doc::text(word), Doc::text(" ("), Doc::indent(vec![value]), Doc::Hard, Doc::text(")")])
    }

    pub(super) fn write(&mut self, bind: Option<Doc>, write: &Write) -> Doc {
        let mut parts = Vec::new();
        if let Some(name) = bind {
            parts.extend([name, Doc::text(" = ")]);
        }
        parts.push(Doc::text("write "));
        parts.push(match &write.target {
            WriteTarget::Path(path) => self.path(path),
            WriteTarget::Record(record) => self.postfix_base(record),
        });
        parts.push(Doc::text(" "));
        let lines = lines(write);
        parts.push(self.row(Row::Braces, ("{", "}"), &lines, write.span.end, Line::start, Self::line));
        if let Some(refused) = &write.refused {
            self.between_arms(refused.word.start, &mut parts);
            if let Some(why) = &refused.why {
                parts.extend([Doc::text("("), self.name(why), Doc::text(") ")]);
            }
            parts.push(self.block(&refused.body));
        }
        Doc::Many(parts)
    }

    fn line(&mut self, line: &Line<'_>) -> Doc {
        match line {
            Line::Unique(unique) => {
                let fields: Vec<_> = unique.fields.iter().map(|field| self.file.slice(field.span)).collect();
                Doc::text(format!("unique by ({})", fields.join(", ")))
            }
            Line::Entry(entry) => self.entry(entry),
        }
    }

    fn entry(&mut self, entry: &Entry) -> Doc {
        match entry {
            Entry::Set { name, value, absent } => {
                let name = self.name(name);
                let set = self.value(name, ":", value);
                let way = match absent {
                    IfAbsent::Refuse => return set,
                    IfAbsent::Skip => " ELSE SKIP",
                    IfAbsent::Clear => " ELSE CLEAR",
                };
                Doc::Many(vec![set, Doc::text(way)])
            }
            Entry::Fill { name, value } => {
                let name = self.name(name);
                self.value(name, " ?:", value)
            }
            Entry::Add { name, value } => {
                let name = self.name(name);
                self.value(name, " +:", value)
            }
            Entry::Spread { span: _, value } => {
                let value = self.expr(value);
                Doc::Many(vec![Doc::text("..."), value])
            }
        }
    }

    /// A name that begins a statement.
    pub(super) fn leading(&self, name: &Name) -> Doc {
        let written = self.file.slice(name.span);
        if CONTINUERS.contains(&written) { Doc::text(format!("`{written}`")) } else { Doc::text(written) }
    }
}

/// One line of a write, in the order of the text.
enum Line<'t> {
    Unique(&'t Unique),
    Entry(&'t Entry),
}

impl Line<'_> {
    fn start(&self) -> u32 {
        match self {
            Self::Unique(unique) => unique.span.start,
            Self::Entry(Entry::Spread { span, value: _ }) => span.start,
            Self::Entry(
                Entry::Set { name, value: _, absent: _ }
                | Entry::Fill { name, value: _ }
                | Entry::Add { name, value: _ },
            ) => name.span.start,
        }
    }
}

fn lines(write: &Write) -> Vec<Line<'_>> {
    let uniques = write.unique.iter().map(Line::Unique);
    let mut lines: Vec<_> = uniques.chain(write.entries.iter().map(Line::Entry)).collect();
    lines.sort_by_key(Line::start);
    lines
}

/// A group whose lines break with those of the group it stands in.
fn open(doc: Doc) -> Doc {
    match doc {
        Doc::Group { doc, broken: _ } => *doc,
        doc @ (Doc::Text(_)
        | Doc::Line
        | Doc::Soft
        | Doc::Hard
        | Doc::Blank
        | Doc::Fresh
        | Doc::Trailing(_)
        | Doc::Broken(_)
        | Doc::Flat(_)
        | Doc::Many(_)
        | Doc::Indent(_)) => doc,
    }
}
