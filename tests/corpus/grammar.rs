//! The editors' TextMate grammar against every movement of the repository: each token has the colour of its kind.
//!
//! The rules of TextMate are played here as an editor plays them: at each place the rule that matches first in the
//! line, the earlier one of two, the end of what is open before all others.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc};

use fancy_regex::Regex;
use lf_lang::syntax::tokens::{TokenKind, tokens};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::{corpus, files, read, root, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("grammar/each_token_has_its_colour", each_token_has_its_colour)]
}

/// The scopes that a token of this kind may have.
fn scopes(kind: TokenKind) -> &'static [&'static str] {
    match kind {
        TokenKind::Comment => &["comment.line.double-slash"],
        TokenKind::DocComment => &["comment.line.documentation"],
        TokenKind::Keyword => &["keyword.control"],
        TokenKind::OperatorWord => &["keyword.operator.word"],
        TokenKind::Constant => &["constant.language"],
        TokenKind::Name => &["variable.other", "entity.name", "support.function"],
        TokenKind::QuotedName => &["variable.other.quoted"],
        TokenKind::Module => &["entity.name.namespace"],
        TokenKind::Text => &["string.quoted.double"],
        TokenKind::Escape => &["constant.character.escape"],
        TokenKind::Hole => &["punctuation.section.embedded"],
        TokenKind::Number => &["constant.numeric.movement"],
        TokenKind::Duration => &["constant.numeric.duration"],
        TokenKind::Operator => &["keyword.operator"],
        TokenKind::Mark => &["punctuation"],
        TokenKind::Unknown => &[],
    }
}

fn each_token_has_its_colour() -> Result<(), String> {
    let text = read(&root().join("editors/vscode/syntaxes/movement.tmLanguage.json"));
    let grammar = Grammar::new(&serde_json::from_str(&text).map_err(|error| error.to_string())?);
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    let folders = ["syntax/ok", "check/ok", "fmt", "plan"].map(|folder| corpus().join(folder));
    for folder in folders.into_iter().chain([root().join("examples")]) {
        for file in files(&folder, "mvt") {
            let text = read(&file);
            let coloured = grammar.colour(&text);
            for token in tokens(&text).iter().filter(|token| token.kind != TokenKind::Unknown) {
                seen.insert(token.kind);
                let piece = &text[token.start as usize..token.end as usize];
                let at = (token.start..token.end).filter(|at| !text.as_bytes()[*at as usize].is_ascii_whitespace());
                for at in at {
                    let scope = &coloured[at as usize];
                    if !scopes(token.kind).iter().any(|fits| scope.starts_with(fits)) {
                        wrong.push(format!("{}: {piece:?} is {:?}, coloured {scope:?}", file.display(), token.kind));
                        break;
                    }
                }
            }
        }
    }
    for kind in TokenKind::ALL.into_iter().filter(|kind| *kind != TokenKind::Unknown && !seen.contains(kind)) {
        wrong.push(format!("no movement has a token of kind {kind:?}"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong[..wrong.len().min(40)].join("\n")) }
}

/// One rule.
struct Rule {
    name: String,
    head: Regex,
    /// What closes it, if it opens something.
    end: Option<Regex>,
    head_scopes: Vec<(usize, String)>,
    end_scopes: Vec<(usize, String)>,
    inside: RefCell<Vec<Rc<Rule>>>,
}

struct Grammar {
    start: Vec<Rc<Rule>>,
}

impl Grammar {
    fn new(json: &Value) -> Self {
        let mut known = std::collections::BTreeMap::new();
        let start = rules(&json["patterns"], &json["repository"], &mut known);
        Self { start }
    }

    /// The innermost scope of every byte.
    fn colour(&self, text: &str) -> Vec<String> {
        let mut scopes = vec![String::new(); text.len()];
        let mut open: Vec<Rc<Rule>> = Vec::new();
        let mut line_start = 0;
        for line in text.split_inclusive('\n') {
            let body = line.trim_end_matches(['\n', '\r']);
            let mut at = 0;
            loop {
                let top = open.last().cloned();
                let end = top.as_ref().and_then(|rule| found(rule.end.as_ref()?, body, at));
                let inside: Vec<Rc<Rule>> =
                    top.as_ref().map_or_else(|| self.start.clone(), |rule| rule.inside.borrow().clone());
                let best = inside
                    .iter()
                    .filter_map(|rule| Some((found(&rule.head, body, at)?, rule)))
                    .min_by_key(|(place, _)| place[0].0);
                let next = match (&end, &best) {
                    (Some(end), Some((place, _))) if end[0].0 <= place[0].0 => None,
                    (None, None) => break,
                    (_, best) => best.clone(),
                };
                let (place, outer) = match &next {
                    Some((place, _)) => (place.clone(), top.as_ref().map_or("", |rule| rule.name.as_str())),
                    None => (end.expect("an end without a rule"), top.as_ref().map_or("", |rule| rule.name.as_str())),
                };
                fill(&mut scopes, line_start + at, line_start + place[0].0, outer);
                let (own, captures) = match &next {
                    Some((_, rule)) => (rule.name.as_str(), &rule.head_scopes),
                    None => (outer, &top.as_ref().expect("something is open").end_scopes),
                };
                fill(&mut scopes, line_start + place[0].0, line_start + place[0].1, own);
                for (group, scope) in captures {
                    if let Some((from, to)) = place.get(*group).filter(|(from, to)| from < to) {
                        fill(&mut scopes, line_start + from, line_start + to, scope);
                    }
                }
                let moved = place[0].1 > at || next.is_none();
                at = place[0].1;
                match next {
                    Some((_, rule)) if rule.end.is_some() => open.push(rule.clone()),
                    Some(_) => assert!(moved, "a rule matches nothing at {body:?}"),
                    None => drop(open.pop()),
                }
            }
            let outer = open.last().map_or(String::new(), |rule| rule.name.clone());
            fill(&mut scopes, line_start + at, line_start + line.len(), &outer);
            line_start += line.len();
        }
        scopes
    }
}

fn fill(scopes: &mut [String], from: usize, to: usize, scope: &str) {
    for place in &mut scopes[from..to] {
        scope.clone_into(place);
    }
}

/// The places of a match and its groups at or after a place; a group that took no part is empty.
fn found(pattern: &Regex, line: &str, at: usize) -> Option<Vec<(usize, usize)>> {
    let captures = pattern.captures_from_pos(line, at).expect("a pattern that ends")?;
    Some(captures.iter().map(|group| group.map_or((0, 0), |group| (group.start(), group.end()))).collect())
}

type Known = std::collections::BTreeMap<String, Vec<Rc<Rule>>>;

fn rules(patterns: &Value, repository: &Value, known: &mut Known) -> Vec<Rc<Rule>> {
    let mut all = Vec::new();
    for pattern in patterns.as_array().expect("patterns") {
        match pattern["include"].as_str() {
            Some(name) => all.extend(included(name.trim_start_matches('#'), repository, known)),
            None => all.push(rule(pattern, repository, known)),
        }
    }
    all
}

fn included(name: &str, repository: &Value, known: &mut Known) -> Vec<Rc<Rule>> {
    if let Some(found) = known.get(name) {
        return found.clone();
    }
    let named = &repository[name];
    assert!(named.is_object(), "there is no rule {name}");
    if named.get("begin").is_none() && named.get("match").is_none() {
        let found = rules(&named["patterns"], repository, known);
        known.insert(name.to_owned(), found.clone());
        // What refers to this while it is read is filled in now that it is whole.
        for rule in &found {
            link(rule, &found);
        }
        return found;
    }
    vec![rule(named, repository, known)]
}

/// `#any` inside a rule is everything: the list that the rule itself is in.
fn link(rule: &Rc<Rule>, any: &[Rc<Rule>]) {
    let nested: Vec<Rc<Rule>> = rule.inside.borrow().clone();
    if rule.end.is_some() && nested.is_empty() {
        *rule.inside.borrow_mut() = any.to_vec();
    } else {
        for inner in nested.iter().filter(|inner| inner.end.is_some()) {
            link(inner, any);
        }
    }
}

fn rule(pattern: &Value, repository: &Value, known: &mut Known) -> Rc<Rule> {
    let text = |key: &str| pattern[key].as_str();
    let compiled = |text: &str| Regex::new(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    let captures = |key: &str| -> Vec<(usize, String)> {
        let given = pattern[key].as_object().into_iter().flatten();
        given
            .map(|(group, scope)| {
                (group.parse().expect("a number"), scope["name"].as_str().expect("a name").to_owned())
            })
            .collect()
    };
    let begin = text("begin");
    let only_any = pattern["patterns"].as_array().is_some_and(|all| all.len() == 1 && all[0]["include"] == "#any");
    let inside = if begin.is_some() && !only_any { rules(&pattern["patterns"], repository, known) } else { Vec::new() };
    Rc::new(Rule {
        name: text("name").unwrap_or_default().to_owned(),
        head: compiled(begin.or_else(|| text("match")).expect("a rule matches something")),
        end: begin.map(|_| compiled(text("end").expect("what begins ends"))),
        head_scopes: captures(if begin.is_some() { "beginCaptures" } else { "captures" }),
        end_scopes: captures("endCaptures"),
        inside: RefCell::new(inside),
    })
}
