//! Pairs to declarations: import, connection, type, function, listen, binding.
#![expect(clippy::wildcard_enum_match_arm, reason = "the grammar's rules are many; each function reads a few of them")]

use super::{
    ast::{
        Binding, Connection, Function, Import, ImportedName, Item, Listen, Name, Param, Setting, TypeExpr, TypeItem,
        TypeKind,
    },
    errors::What,
    pairs::{Children, Node, Reader, Rule, parse},
    scan::Piece,
};
use crate::{
    diag::{Diagnostic, codes},
    source::{SourceFile, Span},
};

/// Reads one piece of a file.
pub(super) fn read(
    file: &SourceFile,
    copy: &str,
    comments: &[Span],
    piece: &Piece,
    problems: &mut Vec<Diagnostic>,
) -> Item {
    let mut text = copy.get(piece.start..piece.end).unwrap_or_default().to_owned();
    text.push_str(&piece.closers);
    let mut reader = Reader { file, text: &text, base: piece.start, end: piece.end, problems: Vec::new(), highest: 0 };
    let span = reader.place(0, piece.end - piece.start);
    let item = if piece.too_deep {
        Item::Bad { span, name: reader.declared_name() }
    } else {
        let doc = documentation(file, comments, piece.start);
        reader.piece(span, doc)
    };
    problems.append(&mut reader.problems);
    item
}

/// The `///` lines directly above a place.
pub(super) fn documentation(file: &SourceFile, comments: &[Span], start: usize) -> Option<String> {
    let before = comments.partition_point(|comment| (comment.end as usize) <= start);
    let mut below = start;
    let mut lines = Vec::new();
    for comment in comments.get(..before)?.iter().rev() {
        let between = file.text.get(comment.end as usize..below)?;
        let directly = between.trim().is_empty() && between.bytes().filter(|byte| *byte == b'\n').count() == 1;
        let Some(line) = file.slice(*comment).strip_prefix("///").filter(|_| directly) else { break };
        lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
        below = comment.start as usize;
    }
    lines.reverse();
    if lines.is_empty() { None } else { Some(lines.join("\n")) }
}

impl Reader<'_> {
    fn piece(&mut self, span: Span, doc: Option<String>) -> Item {
        let text = self.text;
        let Ok(mut pairs) = parse(Rule::only_declaration, text) else {
            return self.bad(span);
        };
        let Some(root) = pairs.next() else { return self.bad(span) };
        let mut children = Children::of(root);
        let export = children.take(Rule::kw_export).is_some();
        let Some(node) = children.any() else { return self.bad(span) };
        if children.take(Rule::item_leftover).is_some() {
            let is_binding = node.as_rule() == Rule::binding;
            let before = self.problems.len();
            let item = self.declaration(node, span, doc, export);
            if is_binding || item.is_none() {
                self.problems.truncate(before);
                self.misread(What::Declaration, 0, text.len());
                return Item::Bad { span, name: self.declared_name() };
            }
            self.misread(What::Declaration, 0, text.len());
            return item.unwrap_or(Item::Bad { span, name: None });
        }
        let name = self.declared_name();
        self.declaration(node, span, doc, export).unwrap_or(Item::Bad { span, name })
    }

    fn declaration(&mut self, node: Node<'_>, span: Span, doc: Option<String>, export: bool) -> Option<Item> {
        let rule = node.as_rule();
        let mut children = Children::of(node);
        match rule {
            Rule::import => self.import(children, span),
            Rule::connection => self.connection(children, span, doc, export),
            Rule::type_item => {
                let name = children.find(Rule::word).map(|word| self.name(&word))?;
                let ty = children.any().map(|ty| self.type_ref(ty))?;
                Some(Item::Type(TypeItem { span, doc, export, name, ty }))
            }
            Rule::function => self.function(children, span, doc, export),
            Rule::listen => self.listen(children, span, doc),
            Rule::binding => {
                self.habit_let(&mut children);
                let name = children.take(Rule::word).map(|word| self.name(&word))?;
                let value = children.take(Rule::expr).map(|expr| self.expr(expr))?;
                Some(Item::Binding(Binding { span, doc, export, name, value }))
            }
            _ => self.test(children, span, doc),
        }
    }

    fn import(&mut self, mut children: Children<'_>, span: Span) -> Option<Item> {
        let mut names = Vec::new();
        children.take(Rule::kw_import);
        while let Some(imported) = children.take(Rule::imported_name) {
            let mut parts = Children::of(imported);
            let name = parts.take(Rule::word).map(|word| self.name(&word))?;
            let alias = parts.find(Rule::word).map(|word| self.name(&word));
            names.push(ImportedName { name, alias });
        }
        let from = children.find(Rule::text).and_then(|text| self.plain(text))?;
        Some(Item::Import(Import { span, names, from }))
    }

    fn connection(
        &mut self,
        mut children: Children<'_>,
        span: Span,
        doc: Option<String>,
        export: bool,
    ) -> Option<Item> {
        let name = children.take(Rule::word).map(|word| self.name(&word))?;
        let module = children.find(Rule::module)?;
        let module_span = self.span(&module);
        if module.as_str().starts_with('@') {
            let written = self.source(module_span).to_owned();
            let problem = Diagnostic::error(
                codes::MOV_PARSE_HABIT,
                module_span,
                format!("the module `{written}` stands between backticks"),
            )
            .fix(format!("write `` `{written}` ``"), module_span, format!("`{written}`"));
            self.report(problem);
        }
        let module = Name { text: self.name(&module).text, span: module_span };
        let mut using = None;
        if children.take(Rule::kw_using).is_some() {
            using = children.take(Rule::word).map(|word| self.name(&word));
        }
        let settings = children.take(Rule::settings).map(|settings| self.settings(settings)).unwrap_or_default();
        Some(Item::Connection(Connection { span, doc, export, name, module, using, settings }))
    }

    fn settings(&mut self, node: Node<'_>) -> Vec<Setting> {
        let mut children = Children::of(node);
        let mut settings = Vec::new();
        while let Some(setting) = children.take(Rule::setting) {
            let mut parts = Children::of(setting);
            let Some(name) = parts.take(Rule::word).map(|word| self.name(&word)) else { continue };
            self.colon(&mut parts, "a setting");
            let Some(value) = parts.take(Rule::expr).map(|expr| self.expr(expr)) else { continue };
            settings.push(Setting { name, value });
        }
        settings
    }

    fn function(&mut self, mut children: Children<'_>, span: Span, doc: Option<String>, export: bool) -> Option<Item> {
        let name = children.find(Rule::word).map(|word| self.name(&word))?;
        let mut params = Vec::new();
        while let Some(param) = children.take(Rule::param) {
            let place = self.span(&param);
            let mut parts = Children::of(param);
            let name = parts.take(Rule::word).map(|word| self.name(&word))?;
            let missing = TypeExpr { span: place, kind: TypeKind::Bad };
            let ty = parts.any().map_or(missing, |ty| self.type_ref(ty));
            params.push(Param { name, ty });
        }
        let returns =
            children.take(Rule::returns).and_then(|returns| Children::of(returns).any()).map(|ty| self.type_ref(ty));
        let body = children.take(Rule::block).map(|block| self.block(block))?;
        Some(Item::Function(Function { span, doc, export, name, params, returns, body }))
    }

    fn listen(&mut self, mut children: Children<'_>, span: Span, doc: Option<String>) -> Option<Item> {
        children.take(Rule::kw_listen);
        let mut label = None;
        if let Some(node) = children.take(Rule::label) {
            label = Some(Children::of(node).find(Rule::text).and_then(|text| self.plain(text))?);
        }
        let path = children.find(Rule::path).and_then(|path| self.path(path))?;
        let settings = children.take(Rule::settings).map(|settings| self.settings(settings)).unwrap_or_default();
        let fire = children.find(Rule::word).map(|word| self.name(&word))?;
        Some(Item::Listen(Listen { span, doc, label, path, settings, fire }))
    }

    /// A piece that is no declaration. A function's body is read all the same, for what is wrong in it.
    fn bad(&mut self, span: Span) -> Item {
        let text = self.text;
        let name = self.declared_name();
        if let Ok(mut pairs) = parse(Rule::bad_function, text)
            && let Some(root) = pairs.next()
            && let Some(block) = Children::of(root).find(Rule::block)
        {
            self.misread(What::Declaration, 0, block.as_span().start());
            self.block(block);
            return Item::Bad { span, name };
        }
        self.misread(What::Declaration, 0, text.len());
        Item::Bad { span, name }
    }

    /// The name that a piece which could not be read would have declared.
    fn declared_name(&self) -> Option<Name> {
        let mut at = 0;
        for _ in 0..3 {
            let (name, after) = self.leading_word(at)?;
            let written = self.source(name.span);
            let next = self.text.get(after..)?.trim_start_matches([' ', '\t']);
            let is_keyword = ["export", "function", "type", "let", "const", "var"].contains(&written);
            if !is_keyword || next.starts_with('=') {
                let declares = at > 0 || (next.starts_with('=') && !next.starts_with("=="));
                return declares.then_some(name);
            }
            at = after;
        }
        None
    }
}
