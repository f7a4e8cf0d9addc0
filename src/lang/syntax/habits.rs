//! What other languages write where this one has a sign, a built-in or a path: found in the text around the place where
//! pest gave up, and named with the right spelling in the reader's own names.
//!
//! It looks at texts that could not be read and at nothing else, and a fix is given only where it says the same.

use super::pairs::Reader;
use crate::diag::{Diagnostic, Fix, codes};

/// Methods of a value, and the built-in that takes it first. `true`: its arguments are the method's, in their order.
const METHODS: &[(&[&str], &str, bool)] = &[
    (&["toLowerCase", "toLocaleLowerCase", "lower", "lowercase", "downcase", "casefold"], "LOWER", true),
    (&["toUpperCase", "toLocaleUpperCase", "upper", "uppercase", "upcase"], "UPPER", true),
    (&["trim", "strip"], "TRIM", true),
    (&["split"], "SPLIT", true),
    (&["splitlines", "lines"], "LINES", true),
    (&["replaceAll", "gsub"], "REPLACE", true),
    // Elsewhere only the first is replaced, a part is counted otherwise, a half is rounded up.
    (&["replace"], "REPLACE", false),
    (&["startsWith", "startswith", "starts_with"], "STARTS", true),
    (&["endsWith", "endswith", "ends_with"], "ENDS", true),
    (&["slice", "substring", "substr"], "SLICE", false),
    (&["match", "matches", "exec"], "MATCH", false),
    (&["toString", "to_s", "to_string"], "TEXT", false),
    (&["toFixed", "round"], "ROUND", false),
    (&["map", "forEach", "foreach", "each", "collect"], "MAP", true),
    (&["filter", "where"], "FILTER", true),
    (&["reduce", "fold", "inject"], "REDUCE", false),
    (&["join"], "JOIN", true),
    (&["sort", "sorted", "sortBy", "sort_by", "orderBy"], "SORT", false),
    (&["flat", "flatten"], "FLAT", false),
    (&["unique", "uniq", "distinct"], "DISTINCT", true),
    (&["groupBy", "group_by"], "GROUP", true),
    (&["at", "nth"], "AT", false),
    (&["first"], "FIRST", true),
    (&["last"], "LAST", true),
    (&["size", "length", "len"], "LENGTH", true),
    (&["count"], "COUNT", true),
    (&["keys"], "KEYS", true),
    (&["format", "strftime"], "FORMAT", false),
];

/// Functions that stand behind the name of a library.
const LIBRARIES: &[(&str, &str, &str)] = &[
    ("JSON", "stringify", "PRINT"),
    ("JSON", "parse", "PARSE"),
    ("json", "dumps", "PRINT"),
    ("json", "loads", "PARSE"),
    ("Math", "floor", "FLOOR"),
    ("Math", "ceil", "CEIL"),
    ("Math", "abs", "ABS"),
    ("Object", "keys", "KEYS"),
    ("Date", "now", "NOW"),
    ("Number", "parseFloat", "NUMBER"),
    ("Number", "parseInt", "NUMBER"),
];

impl Reader<'_> {
    /// A habit around the place `at` of the piece's `start..`, where `found` could not be read.
    pub(super) fn by_habit(&self, start: usize, slice: &str, at: usize, found: &str) -> Option<Diagnostic> {
        let before = slice.get(..at)?;
        let rest = slice.get(at..)?;
        let trimmed = before.trim_end();
        let last = trailing_word(trimmed);
        if let Some(problem) = self.select(start, slice, at) {
            return Some(problem);
        }
        match found {
            "(" => self.method(start, slice, at),
            "," | ")" => self.parenthesised(start, slice, at),
            "{" if last == "AS" || last == "as" || last == "IS" => {
                let inside = balanced(rest)?;
                let right = format!("<{inside}>");
                Some(self.habit_at(start + at, start + at + inside.len(), "a type stands in angle brackets").fix(
                    format!("write `{}`", short(&right)),
                    self.place(start + at, start + at + inside.len()),
                    right,
                ))
            }
            "{" if trimmed.ends_with(')') => {
                let open = opening(trimmed)?;
                let head = trimmed.get(..open)?.trim_end();
                let word = trailing_word(head);
                ["function", "func", "fn", "lambda"].contains(&word).then_some(())?;
                let params = trimmed.get(open..)?;
                let from = start + head.len() - word.len();
                Some(self.habit_at(from, from + word.len(), format!("a closure is written `{params} => {{ … }}`")).fix(
                    format!("write `{params} =>`"),
                    self.place(from, start + at),
                    format!("{params} => "),
                ))
            }
            "->" if trimmed.ends_with(')') => {
                let params = trimmed.get(opening(trimmed)?..)?;
                Some(self.habit_at(start + at, start + at + 2, format!("a closure is written `{params} => …`")).fix(
                    format!("write `{params} =>`"),
                    self.place(start + at, start + at + 2),
                    "=>",
                ))
            }
            "->" if rest.get(2..)?.trim_start().starts_with('{') && !last.is_empty() => {
                let list = operand(trimmed)?;
                let open = start + at + rest.find('{')?;
                let block = balanced(self.text.get(open..)?)?;
                Some(self.list_block(start + trimmed.len() - list.len(), open, open + block.len(), list))
            }
            "LIKE" | "like" | "ILIKE" | "ilike" => self.like(start, at, rest),
            "ELSE" | "else" | "or" | "OR" if found.eq_ignore_ascii_case("else") => {
                self.otherwise(start, slice, at, at + 4)
            }
            _ if last.eq_ignore_ascii_case("else") && !found.is_empty() => {
                self.otherwise(start, slice, trimmed.len() - 4, at)
            }
            "default" | "async" if !rest.trim_start().is_empty() => {
                let next = rest.get(found.len()..)?;
                let length = found.len() + next.len() - next.trim_start().len();
                let headline = if found == "async" {
                    "no function is `async`: any may wait, with `await`"
                } else {
                    "there is no `default`: what is exported has its name, and is imported by it"
                };
                Some(self.habit_at(start + at, start + at + found.len(), headline).fix(
                    format!("take `{found}` out"),
                    self.place(start + at, start + at + length),
                    "",
                ))
            }
            text if text.starts_with('"') && matches!(last, "f" | "F") && before.ends_with(last) => {
                let from = start + at - last.len();
                let inside = text.strip_prefix('"')?;
                if inside.contains("{{") || inside.contains("${") {
                    return Some(
                        self.habit_at(from, start + at, "a value stands in a text by `${…}`, without `f`")
                            .help("such as `\"order ${order.id}\"`"),
                    );
                }
                let right = format!("\"{}", inside.replace('{', "${"));
                Some(self.habit_at(from, start + at, "a value stands in a text by `${…}`, without `f`").fix(
                    format!("write `{right}`"),
                    self.place(from, start + at + text.len()),
                    right,
                ))
            }
            _ => None,
        }
    }

    fn habit_at(&self, start: usize, end: usize, headline: impl Into<String>) -> Diagnostic {
        Diagnostic::error(codes::MOV_PARSE_HABIT, self.place(start, end), headline)
    }

    /// `x.toLowerCase()`, `JSON.stringify(x)`, `memory.search(query: x)`
    fn method(&self, start: usize, slice: &str, at: usize) -> Option<Diagnostic> {
        let before = slice.get(..at)?;
        let method = trailing_word(before);
        let receiver = operand(before.strip_suffix(method)?.strip_suffix('.')?)?;
        if method.is_empty() || receiver.is_empty() {
            return None;
        }
        let whole = balanced(slice.get(at..)?);
        let inside = whole.and_then(|whole| whole.get(1..whole.len() - 1)).map(str::trim);
        let from = start + at - method.len() - 1 - receiver.len();
        let (name_from, name_to) = (start + at - method.len(), start + at);
        let call = |name: &str, first: &str, rest: &str| match (first, rest) {
            ("", rest) => format!("{name}({rest})"),
            (first, "") => format!("{name}({first})"),
            (first, rest) => format!("{name}({first}, {rest})"),
        };
        let fixed = |problem: Diagnostic, right: String| match whole {
            Some(whole) => {
                let place = self.place(from, start + at + whole.len());
                problem.fix(format!("write `{}`", short(&right)), place, right)
            }
            None => problem.help(format!("write `{}`", short(&right))),
        };
        let arguments = inside.unwrap_or("…");
        if let Some((.., name)) = LIBRARIES.iter().find(|(library, of, _)| *library == receiver && *of == method) {
            let problem = self.habit_at(from, name_to, format!("`{receiver}.{method}` is written `{name}`"));
            return Some(fixed(problem, call(name, "", arguments)));
        }
        if ["console", "logger", "log"].contains(&receiver) {
            return Some(
                self.habit_at(from, name_to, "nothing is printed: each run keeps what it read and wrote")
                    .help("`listen-fire runs show RUN` tells it; take the line out"),
            );
        }
        if let Some(problem) = self.tool(receiver, method, arguments, (from, name_to)) {
            return Some(problem);
        }
        let has = |names: &[&str]| names.contains(&method);
        let known = METHODS.iter().find(|(names, ..)| has(names));
        let headline = |name: &str| format!("a value has no methods: `.{method}(…)` is written `{name}`");
        let list = |name: &str| format!("{name}(FILTER({receiver}, {arguments}))");
        Some(match known {
            Some((_, name, true)) => {
                // `", ".join(list)` names the list behind.
                let right = match *name {
                    "JOIN" if receiver.starts_with('"') => call(name, arguments, receiver),
                    name => call(name, receiver, arguments),
                };
                fixed(self.habit_at(name_from, name_to, headline(&format!("{name}(value, …)"))), right)
            }
            Some((_, name, false)) => {
                let right = match *name {
                    "TEXT" => format!("TEXT({receiver})"),
                    "FLAT" => format!("FLAT({receiver})"),
                    "SORT" => format!("SORT({receiver}, (x) => …)"),
                    "SLICE" => format!("SLICE({receiver}, start, end)"),
                    "REPLACE" => format!("REPLACE({receiver}, {arguments})"),
                    "ROUND" => format!("ROUND({receiver}, places)"),
                    "AT" => format!("AT({receiver}, {arguments})"),
                    "MATCH" => format!("MATCH({receiver}, \"…\")"),
                    "REDUCE" => format!("REDUCE({receiver}, start, (sum, x) => …)"),
                    _ => format!("{name}({receiver}, …)"),
                };
                let problem = self.habit_at(name_from, name_to, headline(name));
                if matches!(*name, "TEXT" | "FLAT") && arguments.is_empty() {
                    fixed(problem, right)
                } else {
                    problem.help(format!("write `{right}`"))
                }
            }
            None if has(&["includes", "contains", "include", "has"]) => {
                let problem = self.habit_at(name_from, name_to, headline("CONTAINS"));
                fixed(problem, format!("({receiver} CONTAINS {arguments})"))
            }
            None if has(&["find", "detect"]) => {
                fixed(self.habit_at(name_from, name_to, headline("FIRST(FILTER(…))")), list("FIRST"))
            }
            None if has(&["some", "any", "any?"]) => fixed(
                self.habit_at(name_from, name_to, headline("COUNT(FILTER(…)) > 0")),
                format!("({} > 0)", list("COUNT")),
            ),
            None if has(&["push", "append", "add", "concat", "extend"]) => {
                let more = if has(&["concat", "extend"]) { "...more" } else { arguments };
                self.habit_at(name_from, name_to, "a value never changes: a list with more in it is a new one")
                    .help(format!("bind it to a new name: `longer = [...{receiver}, {more}]`"))
            }
            None => self
                .habit_at(name_from, name_to, format!("a value has no methods, so nothing is called by `.{method}(…)`"))
                .help(format!("a function or a built-in takes the value: `{method}({receiver})`"))
                .help(format!(
                    "a tool of a connection is asked by a path: `{receiver}-[r:{method}]->`, or written: `write \
                     {receiver}-[:{method}]-> {{ … }}`"
                )),
        })
    }

    /// A tool of a connection, called as a function would be.
    fn tool(&self, receiver: &str, method: &str, arguments: &str, (from, to): (usize, usize)) -> Option<Diagnostic> {
        let mut lines = self.file.text.lines().map(|line| line.trim_start_matches("export ").trim_start());
        let connected = lines.any(|line| {
            let value = line.strip_prefix(receiver).and_then(|rest| rest.trim_start().strip_prefix('='));
            value.is_some_and(|value| value.trim_start().starts_with("connect "))
        });
        let named: Vec<(&str, &str)> = arguments
            .trim_matches(['{', '}', ' ', '\n'])
            .split(',')
            .filter_map(|argument| argument.split_once(':'))
            .map(|(name, value)| (name.trim(), value.trim()))
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .collect();
        if !connected && (named.is_empty() || receiver.contains(['.', '('])) {
            return None;
        }
        let (pins, entries) = if named.is_empty() {
            ("…".to_owned(), "…".to_owned())
        } else {
            let pins: Vec<_> = named.iter().map(|(name, value)| format!("r.{name} == {value}")).collect();
            let entries: Vec<_> = named.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            (pins.join(" AND "), entries.join(", "))
        };
        Some(
            self.habit_at(from, to, format!("`{method}` is asked or written by a path, not called"))
                .help(format!("to ask: `{receiver}-[r:{method} WHERE {}]->`", short(&pins)))
                .help(format!("to do: `write {receiver}-[:{method}]-> {{ {} }}`", short(&entries))),
        )
    }

    /// `x IN ("a", "b")`
    fn parenthesised(&self, start: usize, slice: &str, at: usize) -> Option<Diagnostic> {
        let before = slice.get(..at)?;
        let mut depth = 0_usize;
        let open = before.char_indices().rev().find_map(|(place, sign)| match sign {
            ')' | ']' | '}' => {
                depth += 1;
                None
            }
            '(' | '[' | '{' if depth > 0 => {
                depth -= 1;
                None
            }
            '(' => Some(Some(place)),
            '[' | '{' => Some(None),
            _ => None,
        })??;
        if !trailing_word(before.get(..open)?.trim_end()).eq_ignore_ascii_case("in") {
            return None;
        }
        let whole = balanced(slice.get(open..)?)?;
        let right = format!("[{}]", whole.get(1..whole.len() - 1)?);
        let (from, to) = (start + open, start + open + whole.len());
        Some(self.habit_at(from, to, "a list stands in square brackets").fix(
            format!("write `{}`", short(&right)),
            self.place(from, to),
            right,
        ))
    }

    /// `SELECT * FROM shop.Review WHERE …`
    fn select(&self, start: usize, slice: &str, at: usize) -> Option<Diagnostic> {
        let upper = slice.get(..at)?.to_ascii_uppercase();
        let select = upper.rfind("SELECT")?;
        let apart = |place: usize| !upper.get(..place).is_some_and(|before| before.ends_with(in_word));
        let from = upper.get(select..)?.find("FROM").map(|from| select + from)?;
        if !apart(select) || !apart(from) {
            return None;
        }
        let source = slice.get(from + 4..)?.trim_start();
        let end = source.find(|sign: char| !(in_word(sign) || matches!(sign, '.' | '`'))).unwrap_or(source.len());
        let source = source.get(..end)?;
        let (connection, ty) = source.split_once('.').unwrap_or(("crm", source));
        Some(
            self.habit_at(start + select, start + select + 6, "records are read by a path, not by `SELECT`")
                .help(format!("write `{connection}-[r:{ty} WHERE r.field == …]->`"))
                .help(format!("how many there are: `COUNT({connection}-[:{ty}]->)`")),
        )
    }

    /// `reason LIKE "%x%"`
    fn like(&self, start: usize, at: usize, rest: &str) -> Option<Diagnostic> {
        let word = rest.get(..rest.find(|sign: char| !in_word(sign))?)?;
        let pattern = rest.get(word.len()..)?;
        let blanks = pattern.len() - pattern.trim_start().len();
        let pattern = pattern.trim_start();
        let problem = self.habit_at(start + at, start + at + word.len(), format!("there is no `{word}`"));
        let text = pattern.strip_prefix('"').and_then(|inside| inside.split('"').next());
        let part = text.and_then(|text| text.strip_prefix('%')?.strip_suffix('%'));
        Some(match part {
            Some(part) if !part.contains(['%', '_', '\\', '$']) && !part.is_empty() => {
                let end = start + at + word.len() + blanks + part.len() + 4;
                let right = format!("CONTAINS \"{part}\"");
                problem.fix(format!("write `{right}`"), self.place(start + at, end), right)
            }
            _ => problem.help("write `text CONTAINS \"part\"`, `STARTS(text, \"part\")`, `ENDS(text, \"part\")` or `MATCH(text, \"regex\")`"),
        })
    }

    /// `x ELSE "none"` where only `SKIP` and `CLEAR` may follow.
    fn otherwise(&self, start: usize, slice: &str, word: usize, fallback: usize) -> Option<Diagnostic> {
        let before = slice.get(..word)?;
        if before.contains("THEN") || before.contains("then") || before.trim_start().starts_with("if ") {
            return None;
        }
        let hole = before.rfind("${").filter(|hole| !before.get(*hole..).is_some_and(|inside| inside.contains('}')));
        let begin = match hole {
            Some(hole) => hole + 2,
            None => {
                let colon = before.find(':').map(|colon| colon + 1);
                let equals = before.find('=').map(|equals| equals + 1);
                colon.or(equals).or_else(|| {
                    before.trim_start().strip_prefix("return ").map(|_| before.find("return ").unwrap_or(0) + 7)
                })?
            }
        };
        let value = before.get(begin..)?;
        let blanks = value.len() - value.trim_start().len();
        let value = value.trim();
        let rest = slice.get(fallback..)?;
        let trimmed = rest.trim_start();
        let lead = rest.len() - trimmed.len();
        let fallback_text = match hole {
            Some(_) => trimmed.get(..trimmed.find('}')?)?,
            None => trimmed,
        };
        let fallback_text = fallback_text.trim_end();
        if value.is_empty() || fallback_text.is_empty() || fallback_text.contains('\n') || value.contains(['{', '\n']) {
            return None;
        }
        let right = format!("COALESCE({value}, {fallback_text})");
        let (from, to) = (start + begin + blanks, start + fallback + lead + fallback_text.len());
        let at = start + word;
        Some(self.habit_at(at, at + 4, "a fallback is written `COALESCE(value, fallback)`").fix(
            format!("write `{}`", short(&right)),
            self.place(from, to),
            right,
        ))
    }

    /// A block behind a list, which is no path.
    pub(super) fn list_block(&self, from: usize, open: usize, end: usize, list: &str) -> Diagnostic {
        let problem = self.habit_at(
            from,
            from + list.len(),
            "a block stands behind a path; what runs for each member of a list is `MAP`",
        );
        let edits =
            vec![(self.place(from, open), format!("MAP({list}, (x) => ")), (self.place(end, end), ")".to_owned())];
        Diagnostic { fix: Some(Fix { says: format!("write `MAP({list}, (x) => {{ … }})`"), edits }), ..problem }
    }

    /// `for (const t of order.tags)`: the name and the list. `None` if it walks, or is another form.
    pub(super) fn for_list<'h>(&self, head: &'h str) -> Option<(&'h str, &'h str)> {
        let rest = head.trim_start().strip_prefix("for")?;
        let rest = rest.trim_start().trim_start_matches('(').trim_start();
        let rest =
            ["const ", "let ", "var "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest).trim_start();
        let end = rest.find(|sign: char| !in_word(sign))?;
        let (name, rest) = rest.split_at_checked(end)?;
        let rest = rest.trim_start();
        let list = rest.strip_prefix("of ").or_else(|| rest.strip_prefix("in "))?.trim();
        let list = list.trim_end_matches([':', '{']).trim_end();
        let list = if head.contains('(') { list.strip_suffix(')').unwrap_or(list) } else { list }.trim();
        let plain = !list.is_empty() && !list.contains("-[") && !list.contains('\n') && operand(list) == Some(list);
        (plain && !name.is_empty()).then_some((name, list))
    }
}

/// A piece of a text that fits into one line of help.
fn short(text: &str) -> String {
    const MOST: usize = 80;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MOST { line.chars().take(MOST).chain("…".chars()).collect() } else { line }
}

fn in_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// The word that a text ends with; empty if it ends with something else.
fn trailing_word(text: &str) -> &str {
    let start = text.trim_end_matches(in_word).len();
    text.get(start..).unwrap_or_default()
}

/// What a text begins with, from its bracket to the one that closes it.
fn balanced(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (place, sign) in text.char_indices() {
        if quoted {
            quoted = escaped || sign != '"';
            escaped = sign == '\\' && !escaped;
            continue;
        }
        match sign {
            '"' => quoted = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return text.get(..place + sign.len_utf8());
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the bracket opens that the last sign of a text closes.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, sign) in text.char_indices().rev() {
        match sign {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(place);
                }
            }
            _ => {}
        }
    }
    None
}

/// The operand that a text ends with: a name, its members, calls and texts.
pub(crate) fn operand(text: &str) -> Option<&str> {
    let mut start = text.len();
    loop {
        let before = text.get(..start)?;
        let next = match before.chars().next_back() {
            Some(')' | ']') => opening(before)?,
            Some('"') => before.get(..before.len() - 1)?.rfind('"')?,
            Some('`') => before.get(..before.len() - 1)?.rfind('`')?,
            Some('.') => before.len() - 1,
            Some(sign) if in_word(sign) => before.trim_end_matches(in_word).len(),
            Some(_) | None => break,
        };
        start = next;
    }
    let found = text.get(start..)?;
    (!found.is_empty() && !found.starts_with('.')).then_some(found)
}
