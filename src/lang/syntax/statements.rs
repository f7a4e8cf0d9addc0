//! Pairs to blocks, statements and the entries of a write.
#![expect(clippy::wildcard_enum_match_arm, reason = "the grammar's rules are many; each function reads a few of them")]

use super::{
    ast::{
        Block, Entry, Expr, ExprKind, IfAbsent, Name, Refused, Statement, StatementKind, Unique, Write, WriteTarget,
    },
    errors::What,
    pairs::{Children, Node, Reader, Rule},
};
use crate::{
    diag::{Diagnostic, Fix, codes},
    source::Span,
};

impl Reader<'_> {
    pub(super) fn block(&mut self, node: Node<'_>) -> Block {
        let span = self.span(&node);
        let mut statements = Vec::new();
        let mut children = Children::of(node);
        while let Some(slot) = children.take(Rule::slot) {
            self.slot(slot, &mut statements);
        }
        Block { span, statements }
    }

    /// One statement, or what stands where one should.
    fn slot(&mut self, node: Node<'_>, into: &mut Vec<Statement>) {
        let whole = node.as_span();
        let span = self.span(&node);
        let mut children = Children::of(node);
        let Some(first) = children.any() else { return };
        let head_end = first.as_span().end();
        match first.as_rule() {
            Rule::leftover => {
                self.misread(What::Statement, whole.start(), head_end);
                let bind = self.bound_name(whole.start());
                into.push(Statement { span, kind: StatementKind::Bad { bind } });
            }
            Rule::bad_block => self.bad_block(first, span, into),
            Rule::habit_try => self.habit_try(first, span, into),
            _ => {
                let leftover = children.take(Rule::leftover);
                let before = self.problems.len();
                let bind = self.bound_name(whole.start());
                let mut kind = self.statement(first).unwrap_or(StatementKind::Bad { bind: None });
                if leftover.is_some() {
                    // What was read before the leftover was a guess, and so were its problems.
                    let holds_block = match kind {
                        StatementKind::Each { .. } | StatementKind::If { .. } => true,
                        StatementKind::Bind { .. }
                        | StatementKind::Write { .. }
                        | StatementKind::Delete { .. }
                        | StatementKind::Link { .. }
                        | StatementKind::Call(_)
                        | StatementKind::Await { .. }
                        | StatementKind::Return(_)
                        | StatementKind::Bad { .. } => false,
                    };
                    if !holds_block {
                        self.problems.truncate(before);
                        kind = StatementKind::Bad { bind };
                    }
                    self.misread(What::Statement, whole.start(), whole.end());
                }
                into.push(Statement { span, kind });
            }
        }
    }

    /// A block whose head could not be read: what stands inside is read all the same.
    fn bad_block(&mut self, node: Node<'_>, span: Span, into: &mut Vec<Statement>) {
        let start = node.as_span().start();
        let mut children = Children::of(node);
        let is_if = children.take(Rule::bad_head).is_some_and(|head| head.as_str().trim_end() == "if");
        let Some(block) = children.find(Rule::block) else { return };
        let open = block.as_span().start();
        let closed = open + block.as_str().trim_end().len();
        self.misread(What::Statement, start, open);
        self.for_each(start, open, closed);
        let head = self.place(start, open);
        let body = self.block(block);
        let kind = if is_if {
            StatementKind::If { arms: vec![(Expr { span: head, kind: ExprKind::Bad }, body)], otherwise: None }
        } else {
            StatementKind::Bad { bind: None }
        };
        into.push(Statement { span, kind });
    }

    /// `for (const x of list) { … }` is `MAP(list, (x) => { … })`: what was said of it names the two.
    fn for_each(&mut self, start: usize, open: usize, closed: usize) {
        let head = self.text.get(start..open).unwrap_or_default();
        let Some((name, list)) = self.for_list(head) else { return };
        let first = self.place(start, start + 3);
        let edits = vec![
            (self.place(start, open), format!("MAP({list}, ({name}) => ")),
            (self.place(closed, closed), ")".to_owned()),
        ];
        let says = format!("write `MAP({list}, ({name}) => {{ … }})`");
        let said = self.problems.last_mut().filter(|problem| problem.primary.span == first);
        if let Some(problem) = said {
            "there is no `for`: `MAP` runs a closure for each member of a list".clone_into(&mut problem.headline);
            problem.help.clear();
            problem.fix = Some(Fix { says, edits });
        }
    }

    /// `try { … } catch { … }`: what a system refuses is a write's `else`; anything else that fails ends the run.
    fn habit_try(&mut self, node: Node<'_>, span: Span, into: &mut Vec<Statement>) {
        let whole = self.span(&node);
        let mut children = Children::of(node);
        let Some(block) = children.take(Rule::block) else { return };
        let body = self.block(block);
        let why = children.take(Rule::word).map_or("why", |word| word.as_str());
        let handler = children.take(Rule::raw_brace).map(|block| self.span(&block));
        let finally = children.take(Rule::raw_brace).is_some();
        let mut problem = Diagnostic::error(
            codes::MOV_PARSE_HABIT,
            Span { end: whole.start + 3, ..whole },
            "there is no `try`: what fails ends the run, which is reported and tried again",
        );
        let open = Span { end: body.span.start + 1, ..whole };
        let rest = Span { start: body.span.end.saturating_sub(1), ..whole };
        let only = match body.statements.as_slice() {
            [only] => match &only.kind {
                StatementKind::Write { write, bind: _ } if write.refused.is_none() => Some(write.span.end),
                _ => None,
            },
            _ => None,
        };
        problem = match (only, handler) {
            (Some(end), Some(handler)) if !finally => {
                let start = body.statements.first().map_or(open.end, |write| write.span.start);
                let edits = vec![
                    (Span { end: start, ..open }, String::new()),
                    (Span { start: end, end: handler.start, ..whole }, format!(" else ({why}) ")),
                ];
                problem.fix = Some(Fix { says: format!("write `write … {{ … }} else ({why}) {{ … }}`"), edits });
                problem
            }
            (_, _) => problem
                .help(format!(
                    "what a system refuses is handled where it is written: `write … {{ … }} else ({why}) {{ … }}`"
                ))
                .way(
                    "keep only what stands in the first block: what fails ends the run",
                    vec![(open, String::new()), (rest, String::new())],
                ),
        };
        self.report(problem);
        if body.statements.is_empty() {
            into.push(Statement { span, kind: StatementKind::Bad { bind: None } });
        }
        into.extend(body.statements);
    }

    fn statement(&mut self, node: Node<'_>) -> Option<StatementKind> {
        let span = self.span(&node);
        match node.as_rule() {
            Rule::bind => self.bind(node),
            Rule::write => Some(StatementKind::Write { bind: None, write: self.write(node)? }),
            Rule::delete => {
                let target = Children::of(node).find(Rule::term).map(|term| self.term(term).expr)?;
                Some(StatementKind::Delete { target })
            }
            Rule::give_back => {
                let value = Children::of(node).find(Rule::expr).map(|expr| self.expr(expr));
                Some(StatementKind::Return(value))
            }
            Rule::choose => self.choose(node),
            Rule::waiting => self.waiting(node, None),
            Rule::linking => {
                let join = !self.source(span).starts_with("unlink");
                let mut children = Children::of(node);
                let path_node = children.find(Rule::path)?;
                let path = self.path(path_node);
                let to = children.find(Rule::term).map(|term| self.term(term).expr)?;
                Some(StatementKind::Link { join, path: path?, to })
            }
            Rule::habit_for => self.habit_for(node),
            _ => self.plain_statement(node),
        }
    }

    fn bind(&mut self, node: Node<'_>) -> Option<StatementKind> {
        let mut children = Children::of(node);
        self.habit_let(&mut children);
        let name = children.take(Rule::word).map(|word| self.name(&word))?;
        let value = children.any()?;
        match value.as_rule() {
            Rule::write => Some(match self.write(value) {
                Some(write) => StatementKind::Write { bind: Some(name), write },
                None => StatementKind::Bad { bind: Some(name) },
            }),
            Rule::waiting => self.waiting(value, Some(name)),
            _ => Some(StatementKind::Bind { name, value: self.expr(value) }),
        }
    }

    /// `let`, `const`, `var` before a name.
    pub(super) fn habit_let(&mut self, children: &mut Children<'_>) {
        if let Some(word) = children.take(Rule::habit_let) {
            let span = self.span(&word);
            let written = word.as_str().trim_end();
            let next = Span { end: span.end + 1, ..span };
            let problem = Diagnostic::error(
                codes::MOV_PARSE_HABIT,
                span,
                format!("a name is bound by `name = value`, without `{written}`"),
            )
            .fix(
                format!("take `{written}` out"),
                if self.source(next).ends_with(' ') { next } else { span },
                "",
            );
            self.report(problem);
        }
    }

    fn choose(&mut self, node: Node<'_>) -> Option<StatementKind> {
        let mut children = Children::of(node);
        let mut arms = Vec::new();
        let mut otherwise = None;
        let mut condition = None;
        while let Some(child) = children.any() {
            match child.as_rule() {
                Rule::expr => condition = Some(self.expr(child)),
                Rule::block => {
                    let block = self.block(child);
                    match condition.take() {
                        Some(condition) => arms.push((condition, block)),
                        None => otherwise = Some(block),
                    }
                }
                Rule::else_if => {
                    if let Some(word) = Children::of(child).take(Rule::habit_elif) {
                        let written = word.as_str().trim_end().to_owned();
                        self.habit(self.span(&word), format!("`{written}` is written `else if`"), "else if");
                    }
                }
                _ => {}
            }
        }
        if arms.is_empty() { None } else { Some(StatementKind::If { arms, otherwise }) }
    }

    /// `for (const r of PATH) { … }` is `PATH { … }` with an alias.
    fn habit_for(&mut self, node: Node<'_>) -> Option<StatementKind> {
        let whole = self.span(&node);
        let mut children = Children::of(node);
        let word = children.take(Rule::for_word).map(|word| self.span(&word))?;
        children.take(Rule::habit_let);
        let name = children.take(Rule::word).map(|word| self.name(&word))?;
        let path_node = children.find(Rule::path)?;
        let mut path = self.path(path_node)?;
        let body = children.take(Rule::block).map(|block| self.block(block))?;
        let mut problem = Diagnostic::error(
            codes::MOV_PARSE_HABIT,
            word,
            "there is no `for`: a path with a block runs once for each record it lands on",
        );
        let mut edits = vec![(Span { end: path.span.start, ..whole }, String::new())];
        if let Some(hop) = path.hops.last_mut()
            && hop.alias.is_none()
        {
            edits.push((Span { start: hop.span.start + 2, end: hop.span.start + 2, ..whole }, name.text.to_string()));
            hop.alias = Some(name);
        }
        edits.push((Span { start: path.span.end, end: body.span.start, ..whole }, " ".to_owned()));
        problem.fix = Some(Fix { says: "write the path, then its block".to_owned(), edits });
        self.report(problem);
        Some(StatementKind::Each { path, body })
    }

    /// A path with its block, or a call.
    fn plain_statement(&mut self, node: Node<'_>) -> Option<StatementKind> {
        let before = self.problems.len();
        let mut children = Children::of(node);
        let expr = children.take(Rule::expr).map(|expr| self.expr(expr))?;
        let block = children.take(Rule::block).map(|block| self.block(block));
        let span = expr.span;
        match (expr.kind, block) {
            (ExprKind::Path(path), Some(body)) => Some(StatementKind::Each { path, body }),
            (ExprKind::Call(call), None) => Some(StatementKind::Call(Expr { span, kind: ExprKind::Call(call) })),
            (ExprKind::Bad, _) => None,
            (kind, block) => {
                if self.problems.len() == before || block.is_some() {
                    let list = matches!(kind, ExprKind::Field { .. }).then(|| block.as_ref()).flatten();
                    let problem = match list {
                        Some(block) => self.idle_list(span, block.span),
                        None => self.idle(span, &kind, block.is_some()),
                    };
                    self.report(problem);
                }
                None
            }
        }
    }

    /// `order.lines { … }`
    fn idle_list(&self, list: Span, block: Span) -> Diagnostic {
        let written = self.source(list).to_owned();
        let mut problem = Diagnostic::error(
            codes::MOV_PARSE_UNEXPECTED,
            list,
            format!("a block needs a path before it; `{written}` has no hop"),
        )
        .help("a path is a name and hops: `crm-[:Company]-> { … }`");
        let edits = vec![
            (Span { end: block.start, ..list }, format!("MAP({written}, (x) => ")),
            (Span { start: block.end, ..block }, ")".to_owned()),
        ];
        problem
            .ways
            .push(Fix { says: format!("for each member of a list write `MAP({written}, (x) => {{ … }})`"), edits });
        problem
    }

    /// An expression that does nothing where it stands.
    fn idle(&self, span: Span, kind: &ExprKind, block: bool) -> Diagnostic {
        let written = self.source(span);
        let shown = if written.len() <= 40 && !written.contains('\n') {
            format!("`{written}`")
        } else {
            "this expression".to_owned()
        };
        if block {
            return Diagnostic::error(
                codes::MOV_PARSE_UNEXPECTED,
                span,
                format!("a block needs a path before it; {shown} has no hop"),
            )
            .help("a path is a name and hops: `crm-[:Company]-> { … }`");
        }
        let problem =
            Diagnostic::error(codes::MOV_PARSE_UNEXPECTED, span, format!("{shown} does nothing where it stands"));
        if matches!(kind, ExprKind::Path(_)) {
            problem.help("give the path a block, or bind it to a name")
        } else {
            problem.help("bind it to a name, or take it out")
        }
    }

    fn write(&mut self, node: Node<'_>) -> Option<Write> {
        let span = self.span(&node);
        let mut children = Children::of(node);
        let target = children.find(Rule::target).and_then(|target| Children::of(target).take(Rule::term))?;
        let target = self.term(target).expr;
        let target = match target.kind {
            ExprKind::Path(path) => WriteTarget::Path(path),
            kind => WriteTarget::Record(Expr { span: target.span, kind }),
        };
        let entries_node = children.take(Rule::entries)?;
        let end = self.span(&entries_node).end;
        let mut unique = Vec::new();
        let mut entries = Vec::new();
        let mut slots = Children::of(entries_node);
        while let Some(slot) = slots.take(Rule::entry_slot) {
            self.entry_slot(slot, &mut unique, &mut entries);
        }
        let refused = children.take(Rule::refused).and_then(|refused| self.refused(refused));
        Some(Write { span: Span { end, ..span }, target, unique, entries, refused })
    }

    /// `else (why) { … }`
    fn refused(&mut self, node: Node<'_>) -> Option<Refused> {
        let mut children = Children::of(node);
        let word = children.take(Rule::kw_else).map(|word| self.span(&word))?;
        let word = Span { end: word.start + 4, ..word };
        let why = children.take(Rule::word).map(|word| self.name(&word));
        let block = children.take(Rule::block)?;
        let brace = self.span(&block).start;
        if why.is_none() {
            let problem = Diagnostic::error(
                codes::MOV_PARSE_UNEXPECTED,
                word,
                "the reason of the refusal needs a name: `else (why) { … }`",
            )
            .fix("write `else (why)`", Span { start: word.end, end: brace, ..word }, " (why) ");
            self.report(problem);
        }
        let body = self.block(block);
        Some(Refused { word, why, body })
    }

    fn entry_slot(&mut self, node: Node<'_>, unique: &mut Vec<Unique>, entries: &mut Vec<Entry>) {
        let whole = node.as_span();
        let mut children = Children::of(node);
        let Some(first) = children.any() else { return };
        let span = self.span(&first);
        let rule = first.as_rule();
        let leftover = rule == Rule::entry_leftover || children.take(Rule::entry_leftover).is_some();
        if leftover {
            self.misread(What::Entry, whole.start(), whole.end());
            let value = Expr { span, kind: ExprKind::Bad };
            if rule == Rule::unique {
                return;
            }
            entries.push(match self.entry_name(whole.start()) {
                Some(name) => Entry::Set { name, value, absent: IfAbsent::Refuse },
                None => Entry::Spread { span, value },
            });
            return;
        }
        let mut parts = Children::of(first);
        match rule {
            Rule::unique => {
                let mut fields = Vec::new();
                while let Some(word) = parts.find(Rule::word) {
                    fields.push(self.name(&word));
                }
                if fields.is_empty() {
                    let problem =
                        Diagnostic::error(codes::MOV_PARSE_UNEXPECTED, span, "`unique by` needs at least one field")
                            .help("name the fields that identify a record: `unique by (Name)`");
                    self.report(problem);
                }
                unique.push(Unique { span, fields });
            }
            Rule::spread => {
                if let Some(value) = parts.take(Rule::expr).map(|expr| self.expr(expr)) {
                    entries.push(Entry::Spread { span, value });
                }
            }
            _ => {
                let Some(name) = parts.take(Rule::word).map(|word| self.name(&word)) else { return };
                self.colon(&mut parts, "a field");
                let Some(value) = parts.take(Rule::expr).map(|expr| self.expr(expr)) else { return };
                entries.push(match rule {
                    Rule::fill => Entry::Fill { name, value },
                    Rule::add => Entry::Add { name, value },
                    _ => Entry::Set { name, value, absent: self.absent_way(&mut parts) },
                });
            }
        }
    }

    /// `ELSE SKIP`, `ELSE CLEAR`
    fn absent_way(&mut self, parts: &mut Children<'_>) -> IfAbsent {
        let Some(way) = parts.take(Rule::absent_way) else { return IfAbsent::Refuse };
        let mut words = Children::of(way);
        self.upper(&mut words, Rule::absent_word);
        match self.upper(&mut words, Rule::way) {
            Some(word) if word.eq_ignore_ascii_case("clear") => IfAbsent::Clear,
            Some(_) | None => IfAbsent::Skip,
        }
    }

    /// The name that a statement which could not be read would have bound.
    fn bound_name(&self, start: usize) -> Option<Name> {
        let words = ["let", "const", "var"];
        let (mut name, mut after) = self.leading_word(start)?;
        if words.contains(&name.text.as_str()) {
            (name, after) = self.leading_word(after)?;
        }
        let rest = self.text.get(after..)?.trim_start_matches([' ', '\t']);
        (rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>")).then_some(name)
    }

    fn entry_name(&self, start: usize) -> Option<Name> {
        self.leading_word(start).map(|(name, _)| name)
    }

    /// The word at a place of the piece, and where it ends.
    pub(super) fn leading_word(&self, start: usize) -> Option<(Name, usize)> {
        let rest = self.text.get(start..)?;
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let word = rest.get(blanks..)?;
        let length = if let Some(quoted) = word.strip_prefix('`') {
            quoted.find('`')? + 2
        } else {
            word.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(word.len())
        };
        if length == 0 {
            return None;
        }
        let written = word.get(..length)?;
        let text = written.trim_matches('`').into();
        let begin = start + blanks;
        Some((Name { text, span: self.place(begin, begin + length) }, begin + length))
    }
}
