//! What could not be read, in the reader's words: the place comes from pest, the sentence from here.
//!
//! Mistakes that have a shape of their own (a misspelt keyword, a statement outside a function, a quoted field name)
//! are looked for first; what is left says what was found and what could have stood there.
//!
//! One file, because which sentence fits is decided in one order.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "most rules of the grammar are nothing that a reader would be told of"
)]

use pest::error::{ErrorVariant, InputLocation};

use super::{
    pairs::{Reader, Rule, parse},
    scan::DAMAGE,
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
};

/// What was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Declaration,
    Statement,
    Entry,
    TestLine,
}

const STATEMENT_WORDS: &[&str] = &["write", "delete", "return", "if", "await", "link", "unlink"];
const DECLARATION_WORDS: &[&str] = &["function", "listen", "import", "type", "export", "test"];
const TEST_WORDS: &[&str] = &["given", "after", "answer", "expect"];
/// How other languages begin a function or a subscription.
const FOREIGN_DECLARATIONS: &[(&str, &str)] = &[
    ("func", "function"),
    ("fn", "function"),
    ("def", "function"),
    ("fun", "function"),
    ("proc", "function"),
    ("on", "listen to"),
    ("when", "listen to"),
    ("watch", "listen to"),
    ("subscribe", "listen to"),
];

impl Reader<'_> {
    /// Reports what stands at `start..end` of the piece, which is no `what`. Says nothing if part of it is reported.
    pub(super) fn misread(&mut self, what: What, start: usize, end: usize) {
        let slice = self.text.get(start..end).unwrap_or_default();
        if slice.contains(DAMAGE) {
            return;
        }
        let dashes = start + slice.len() - slice.trim_start().len();
        if slice.trim_start().starts_with("--") {
            let sign = self.place(dashes, dashes + 2);
            let problem = Diagnostic::error(codes::MOV_PARSE_HABIT, sign, "a comment begins with `//`, not with `--`");
            self.report(problem.fix("write `//`", sign, "//"));
            return;
        }
        let problem = match self.by_head(what, start, slice) {
            Some(problem) => problem,
            None => self.by_place(what, start, slice),
        };
        self.report(problem);
    }

    fn by_head(&self, what: What, start: usize, slice: &str) -> Option<Diagnostic> {
        let (name, after) = self.leading_word(start)?;
        let word = self.source(name.span).to_owned();
        let rest = slice.get(after - start..)?;
        let next = rest.trim_start_matches([' ', '\t']);
        let apart = next.len() < rest.len();
        let begins = next.chars().next();
        let operand_next =
            apart && begins.is_some_and(|sign| sign.is_alphanumeric() || matches!(sign, '"' | '`' | '_'));
        match what {
            What::Entry => self.entry_head(&word, name.span, next, operand_next),
            What::Statement => self.statement_head(&word, name.span, next, operand_next),
            What::TestLine => self.test_head(&word, name.span, next, operand_next),
            What::Declaration => self.declaration_head(slice, &word, name.span, next, operand_next),
        }
    }

    fn entry_head(&self, word: &str, span: Span, next: &str, operand_next: bool) -> Option<Diagnostic> {
        if word == "unique" || !operand_next || next.starts_with(|sign: char| sign.is_uppercase()) {
            return None;
        }
        let end = Span { start: span.end, ..span };
        Some(
            Diagnostic::error(
                codes::MOV_PARSE_UNEXPECTED,
                span,
                format!("the field `{word}` needs a `:` before its value"),
            )
            .fix(format!("write `{word}:`"), end, ":"),
        )
    }

    fn test_head(&self, word: &str, span: Span, next: &str, operand_next: bool) -> Option<Diagnostic> {
        if word == "expect" {
            let after = next.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(next.len());
            let fails =
                next.get(..after).filter(|word| ["fail", "failure", "error", "throws", "raises"].contains(word))?;
            let file = self.file.text.get(span.end as usize..)?;
            let begin = span.end + u32::try_from(file.find(fails)?).ok()?;
            let place = Span { start: begin, end: begin + u32::try_from(fails.len()).ok()?, ..span };
            return Some(
                Diagnostic::error(
                    codes::MOV_PARSE_HABIT,
                    place,
                    format!("`expect {fails}` is written `expect fails \"why\"`"),
                )
                .fix("write `fails`", place, "fails"),
            );
        }
        if TEST_WORDS.contains(&word) {
            return None;
        }
        if let Some(problem) = self.misspelt(word, span, operand_next, TEST_WORDS.iter().copied(), NO_TEST_LINE) {
            return Some(problem);
        }
        let statement = STATEMENT_WORDS.contains(&word) && operand_next || next.starts_with("-[");
        Some(
            Diagnostic::error(codes::MOV_PARSE_UNEXPECTED, span, format!("{NO_TEST_LINE} `{word}`"))
                .label("`given`, `after`, `answer` and `expect` stand in a test")
                .help(if statement {
                    "what is done stands in a function; a test says `expect write PATH { … }`"
                } else {
                    "such as `expect write PATH { … }`"
                }),
        )
        .filter(|_| operand_next || statement)
    }

    fn statement_head(&self, word: &str, span: Span, next: &str, operand_next: bool) -> Option<Diagnostic> {
        if ["given", "answer", "expect"].contains(&word) && operand_next {
            return Some(
                Diagnostic::error(
                    codes::MOV_PARSE_UNEXPECTED,
                    span,
                    format!("`{word}` stands in a test, not in a function"),
                )
                .help("a test is `test \"what it shows\" { … }` at the top of a file"),
            );
        }
        if DECLARATION_WORDS.contains(&word) && (operand_next || next.starts_with('{')) {
            return Some(
                Diagnostic::error(
                    codes::MOV_PARSE_UNEXPECTED,
                    span,
                    format!("`{word}` stands at the top of a file, not in a block"),
                )
                .help("move it out of the function"),
            );
        }
        if next.strip_prefix('=').is_some_and(|value| value.trim_start().starts_with("connect ")) {
            return Some(
                Diagnostic::error(
                    codes::MOV_PARSE_UNEXPECTED,
                    span,
                    "a connection stands at the top of a file, not in a block",
                )
                .help("move it out of the function"),
            );
        }
        if let Some(problem) = no_loop(word, span, operand_next || next.starts_with(['(', '{'])) {
            return Some(problem);
        }
        if ["+=", "-=", "*=", "/=", "++", "--"].iter().any(|sign| next.starts_with(sign)) {
            let sign = next.get(..2).unwrap_or_default();
            return Some(
                Diagnostic::error(
                    codes::MOV_PARSE_HABIT,
                    span,
                    format!("`{word} {sign}` would change `{word}`; a name is bound once and its value never changes"),
                )
                .help("bind the new value to a new name"),
            );
        }
        if let Some(value) = next.strip_prefix(':')
            && value.contains('=')
        {
            return Some(
                Diagnostic::error(codes::MOV_PARSE_HABIT, span, format!("`{word}` takes its type from its value"))
                    .help(format!("write `{word} = …`")),
            );
        }
        let candidates = STATEMENT_WORDS.iter().copied();
        self.misspelt(word, span, operand_next, candidates, "no statement begins with")
    }

    fn declaration_head(
        &self,
        slice: &str,
        word: &str,
        span: Span,
        next: &str,
        operand_next: bool,
    ) -> Option<Diagnostic> {
        if let Some(problem) = self.foreign_import(slice, word, span, next) {
            return Some(problem);
        }
        if DECLARATION_WORDS.contains(&word) {
            return None;
        }
        if matches!(word, "interface" | "struct" | "class" | "record") && operand_next {
            return Some(self.foreign_type(slice, word, span));
        }
        if word == "async" && operand_next {
            let rest = self.file.text.get(span.end as usize..)?;
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let end = span.end + u32::try_from(blanks).ok()?;
            return Some(
                Diagnostic::error(codes::MOV_PARSE_HABIT, span, "no function is `async`: any may wait, with `await`")
                    .fix("take `async` out", Span { end, ..span }, ""),
            );
        }
        let foreign = FOREIGN_DECLARATIONS.iter().find(|(other, _)| *other == word && operand_next);
        if let Some((_, right)) = foreign {
            return Some(
                Diagnostic::error(codes::MOV_PARSE_HABIT, span, format!("`{word}` is written `{right}`")).fix(
                    format!("write `{right}`"),
                    span,
                    *right,
                ),
            );
        }
        if let Some(problem) =
            self.misspelt(word, span, operand_next, DECLARATION_WORDS.iter().copied(), "no declaration begins with")
        {
            return Some(problem);
        }
        let is_statement = STATEMENT_WORDS.contains(&word) && operand_next
            || no_loop(word, span, operand_next || next.starts_with(['(', '{'])).is_some()
            || parse(Rule::only_statement, slice).is_ok();
        is_statement.then(|| {
            let whole = self.place(0, self.text.len());
            let line = self.source(whole).lines().next().map_or(0, str::len);
            let end = whole.start.saturating_add(u32::try_from(line).unwrap_or(u32::MAX)).min(whole.end);
            Diagnostic::error(
                codes::MOV_PARSE_UNEXPECTED,
                Span { end, ..whole },
                "a statement stands in a function, not at the top of a file",
            )
            .help("what starts work is `listen to PATH fire FUNCTION`")
        })
    }

    /// `import x from "./y"`, `import * as y from "./y"`, `from y import x`
    fn foreign_import(&self, slice: &str, word: &str, span: Span, next: &str) -> Option<Diagnostic> {
        let place = self.place(0, slice.trim_end().len());
        let line = slice.trim();
        let form = "what another file exports is imported by name: `import { name } from \"./file\"`";
        let problem = Diagnostic::error(codes::MOV_PARSE_HABIT, span, form);
        let named = |names: &str, from: &str| {
            let names: Vec<_> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            let right = format!("import {{ {} }} from \"{from}\"", names.join(", "));
            problem.clone().fix(format!("write `{right}`"), place, right)
        };
        let plain = |names: &str| {
            !names.is_empty() && names.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, '_' | ',' | ' '))
        };
        if word == "from" {
            let (file, names) = next.split_once(" import ")?;
            let file = file.trim().trim_matches('"');
            let names = names.trim();
            let known =
                plain(names) && !names.contains(" as ") && !file.is_empty() && !file.contains(char::is_whitespace);
            let file = if file.starts_with('.') { file.to_owned() } else { format!("./{}", file.replace('.', "/")) };
            return Some(if known { named(names, &file) } else { problem });
        }
        if word != "import" || next.starts_with('{') {
            return None;
        }
        let from = line.split_once(" from ").map(|(_, from)| from.trim());
        let file = from.and_then(|from| from.strip_prefix('"')?.strip_suffix('"'));
        let what = next.split(" from ").next().unwrap_or_default().trim();
        Some(match file {
            Some(file) if plain(what) && !what.contains(" as ") => named(what, file),
            Some(file) => problem.help(format!("name what is used: `import {{ name }} from \"{file}\"`")),
            None => problem,
        })
    }

    /// `interface Name { … }` is `type Name = <{ … }>`.
    fn foreign_type(&self, slice: &str, word: &str, span: Span) -> Diagnostic {
        let problem =
            Diagnostic::error(codes::MOV_PARSE_HABIT, span, format!("`{word}` is written `type Name = <{{ … }}>`"));
        let end = slice.trim_end().len();
        match slice.find('{') {
            Some(open)
                if slice.trim_end().ends_with('}')
                    && !slice.get(..open).is_some_and(|head| head.contains(['(', ':'])) =>
            {
                let mut problem = problem;
                let edits = vec![
                    (span, "type".to_owned()),
                    (self.place(open, open), "= <".to_owned()),
                    (self.place(end, end), ">".to_owned()),
                ];
                problem.fix = Some(crate::diag::Fix { says: "write `type Name = <{ … }>`".to_owned(), edits });
                problem
            }
            Some(_) | None => problem,
        }
    }

    fn misspelt<'a>(
        &self,
        word: &str,
        span: Span,
        operand_next: bool,
        candidates: impl Iterator<Item = &'a str>,
        what: &str,
    ) -> Option<Diagnostic> {
        if !operand_next {
            return None;
        }
        let right = suggest::nearest(word, candidates)?;
        Some(
            Diagnostic::error(codes::MOV_PARSE_UNEXPECTED, span, format!("{what} `{word}`; did you mean `{right}`?"))
                .fix(format!("write `{right}`"), span, right),
        )
    }

    fn by_place(&self, what: What, start: usize, slice: &str) -> Diagnostic {
        let rule = match what {
            What::Declaration => Rule::strict_declaration,
            What::Statement => Rule::only_statement,
            What::Entry => Rule::only_entry,
            What::TestLine => Rule::only_test_line,
        };
        let (at, expected) = match parse(rule, slice) {
            Ok(_) => (slice.len(), Vec::new()),
            Err(error) => {
                let at = match error.location {
                    InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
                };
                match error.variant {
                    ErrorVariant::ParsingError { positives, .. } => (at, positives),
                    ErrorVariant::CustomError { .. } => return self.too_much(start, slice),
                }
            }
        };
        let rest = slice.get(at..).unwrap_or_default();
        let at = at + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        let rest = slice.get(at..).unwrap_or_default();
        let length = token(rest);
        let found = rest.get(..length).unwrap_or_default();
        // What is missing at the end of a line is shown behind its last sign.
        let span = if found.is_empty() || found == "\n" {
            let last = slice.get(..at).unwrap_or_default().trim_end().len();
            self.place(start + last.saturating_sub(1), start + last)
        } else {
            self.place(start + at, start + at + length)
        };
        if let Some(problem) = self.by_habit(start, slice, at, found) {
            return problem;
        }
        if found.is_empty() && slice.starts_with("write ") && expected.contains(&Rule::entries) {
            return Diagnostic::error(
                codes::MOV_PARSE_UNEXPECTED,
                span,
                "`write` needs the fields to write, between `{` and `}`",
            )
            .help("write `{ Name: value }` behind the path");
        }
        if let Some(problem) = self.by_sign(found, rest, span) {
            return problem;
        }
        let found = match found {
            "" | "\n" => END.to_owned(),
            text if text.starts_with('"') => "a text".to_owned(),
            other => format!("`{other}`"),
        };
        let expected = words(&expected);
        let headline = match expected.as_slice() {
            [] if found == END => "this ends too early".to_owned(),
            [] => format!("unexpected {found}"),
            [one] => format!("expected {one}, found {found}"),
            [first, second] => format!("expected {first} or {second}, found {found}"),
            [first, second, third, ..] => format!("expected {first}, {second} or {third}, found {found}"),
        };
        let problem = Diagnostic::error(codes::MOV_PARSE_UNEXPECTED, span, headline);
        match (what, expected.is_empty()) {
            (What::TestLine, true) => problem.help("each line of a test stands on a line of its own"),
            (What::Statement, true) => problem.help("each statement stands on a line of its own"),
            (What::Entry, true) => problem.help("entries are separated by commas or new lines"),
            (What::Declaration | What::Statement | What::Entry | What::TestLine, _) => problem,
        }
    }

    /// Signs that tell by themselves what was meant.
    fn by_sign(&self, found: &str, rest: &str, span: Span) -> Option<Diagnostic> {
        if found.starts_with('"') && rest.get(found.len()..)?.trim_start().starts_with(':') {
            let name = found.trim_matches('"');
            let right = if name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_') {
                name.to_owned()
            } else {
                format!("`{name}`")
            };
            return Some(Diagnostic::error(codes::MOV_PARSE_HABIT, span, "a field's name stands without quotes").fix(
                format!("write `{right}`"),
                span,
                right,
            ));
        }
        if found == "->" {
            return Some(
                Diagnostic::error(codes::MOV_PARSE_UNEXPECTED, span, "`->` ends a hop, and no hop is open here")
                    .help("an edge is walked with `-[:Name]->`"),
            );
        }
        if found == "=>" {
            return Some(
                Diagnostic::error(
                    codes::MOV_PARSE_UNEXPECTED,
                    span,
                    "no parameters of a closure stand before this `=>`",
                )
                .help("a closure is written `(x) => x.Name`"),
            );
        }
        None
    }

    fn too_much(&self, start: usize, slice: &str) -> Diagnostic {
        let span = self.place(start, start + slice.find('\n').unwrap_or(slice.len()));
        Diagnostic::error(codes::MOV_PARSE_TOO_LARGE, span, "this declaration is too large to be read")
            .help("split it into smaller ones")
    }
}

/// Loops and switches of other languages.
fn no_loop(word: &str, span: Span, fits: bool) -> Option<Diagnostic> {
    if !fits {
        return None;
    }
    let (headline, help) = match word {
        "for" | "foreach" | "while" | "loop" | "repeat" => (
            format!("there is no `{word}`: a path with a block runs once for each record it lands on"),
            "write `crm-[r:Company]-> { … }`; for each member of a list `MAP(list, (x) => { … })`",
        ),
        "switch" | "match" | "case" => (format!("there is no `{word}`"), "write `if … { … } else if … { … }`"),
        "throw" | "raise" => (format!("`{word}` is written `ERROR(\"why\")`"), "it fails the run with these words"),
        _ => return None,
    };
    Some(Diagnostic::error(codes::MOV_PARSE_HABIT, span, headline).help(help))
}

/// The length of the sign that a text begins with.
fn token(rest: &str) -> usize {
    const LONG: &[&str] = &[
        "===", "!==", "...", "==", "!=", "<=", ">=", "=>", "->", "&&", "||", "??", "?.", "?:", "+:", "-[", "${", "++",
        "+=", "-=", "*=", "/=", "**",
    ];
    if let Some(long) = LONG.iter().find(|long| rest.starts_with(**long)) {
        return long.len();
    }
    let Some(first) = rest.chars().next() else { return 0 };
    let in_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    if in_word(first) {
        return rest.find(|letter: char| !in_word(letter)).unwrap_or(rest.len());
    }
    if matches!(first, '"' | '`') {
        let close = rest.get(1..).and_then(|inside| inside.find([first, '\n']));
        return close.map_or(rest.len(), |length| length + 2).min(rest.len());
    }
    first.len_utf8()
}

/// What pest would have taken, in words; nothing where a list would only be long.
fn words(rules: &[Rule]) -> Vec<&'static str> {
    let mut words = Vec::new();
    for rule in rules {
        if let Some(word) = word_of(*rule)
            && !words.contains(&word)
        {
            words.push(word);
        }
    }
    // Where a value could go on in any way, saying so helps nobody.
    if words.contains(&OPERATOR) {
        words.retain(|word| *word != OPERATOR && *word != "a hop" && *word != "`{`");
        return if words.len() == 1 { words } else { Vec::new() };
    }
    if words.contains(&"a value") {
        words.retain(|word| *word != "a name" && *word != "a path");
    }
    if words.len() > 3 { Vec::new() } else { words }
}

const NO_TEST_LINE: &str = "no line of a test begins with";
const OPERATOR: &str = "an operator";
const END: &str = "the end of the line";

fn word_of(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::expr
        | Rule::term
        | Rule::text
        | Rule::number
        | Rule::literal
        | Rule::list
        | Rule::record
        | Rule::group
        | Rule::when
        | Rule::named
        | Rule::target => "a value",
        Rule::op_or
        | Rule::op_and
        | Rule::op_equal
        | Rule::op_unequal
        | Rule::op_less
        | Rule::op_less_equal
        | Rule::op_greater
        | Rule::op_greater_equal
        | Rule::op_in
        | Rule::op_contains
        | Rule::op_within
        | Rule::op_add
        | Rule::op_multiply
        | Rule::op_divide
        | Rule::op_remainder
        | Rule::op_else
        | Rule::is_type
        | Rule::member
        | Rule::as_type
        | Rule::habit_ternary
        | Rule::any_operator => OPERATOR,
        Rule::name | Rule::word | Rule::alias | Rule::imported_name => "a name",
        Rule::module => "a module",
        Rule::type_ref | Rule::type_bare | Rule::type_union | Rule::type_one | Rule::type_name => "a type",
        Rule::path | Rule::type_path => "a path",
        Rule::hop => "a hop",
        Rule::hop_edge | Rule::habit_edge => "an edge (`:Name`)",
        Rule::hop_end => "`]->`",
        Rule::closure | Rule::closure_head | Rule::closure_params => "a closure",
        Rule::block | Rule::entries | Rule::raw_brace | Rule::test_lines => "`{`",
        Rule::colon => "`:`",
        Rule::param => "a parameter (`name: <type>`)",
        Rule::arguments => "`(`",
        Rule::kw_at => "`at`",
        Rule::kw_before => "`before`",
        Rule::kw_by => "`by`",
        Rule::kw_connect => "`connect`",
        Rule::kw_fire => "`fire`",
        Rule::kw_from => "`from`",
        Rule::kw_to => "`to`",
        Rule::then_word => "`THEN`",
        Rule::else_word => "`ELSE`",
        Rule::end_word => "`END`",
        Rule::way => "`SKIP` or `CLEAR`",
        _ => return None,
    })
}
