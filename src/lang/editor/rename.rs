//! A new name for what a program declares, everywhere it is mentioned. The renamed program is checked before anything
//! is handed out: it has the same problems, and every name in it means what it meant.

use std::collections::BTreeMap;

use super::View;
use crate::{
    check::{
        Program,
        index::{Home, Meaning, Mention, Sort},
        study::Study,
    },
    source::{SourceId, SourceMap, Span},
    syntax::{
        self, ast,
        tokens::{KEYWORDS, OPERATOR_WORDS, TokenKind, tokens},
    },
};

/// The longest name that is given.
const LONGEST: usize = 200;

/// Why something keeps its name, for the person who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

/// The place of the name at an offset, if it can have another.
///
/// # Errors
/// It belongs to the language or to a system, or there is none.
pub fn renamed(view: &View<'_>, source: SourceId, offset: u32) -> Result<Span, Refused> {
    renameable(view, source, offset).map(|mention| mention.span)
}

fn renameable<'a>(view: &View<'a>, source: SourceId, offset: u32) -> Result<&'a Mention, Refused> {
    let refused = |why: String| Err(Refused(why));
    let Some(mention) = view.mention(source, offset) else {
        return refused("nothing here has a name that is understood".to_owned());
    };
    let name = view.slice(mention.span);
    match &mention.means {
        Meaning::Declared { sort: Sort::Unknown, home: _ } => {
            refused(format!("the declaration of `{name}` has an error to mend first"))
        }
        Meaning::Declared { .. } | Meaning::Local { .. } => Ok(mention),
        Meaning::Type(_) | Meaning::Edge { .. } | Meaning::Field { .. } => {
            refused(format!("`{name}` belongs to the system that describes it"))
        }
        Meaning::Part => refused(format!("`{name}` is a field, which its type names too")),
        Meaning::Builtin | Meaning::BuiltinType | Meaning::Wait | Meaning::Setting => {
            refused(format!("`{name}` belongs to the language"))
        }
        Meaning::Module => refused(format!("`{name}` is a module, named by its file")),
        Meaning::Credential => refused(format!("`{name}` is a credential of the project")),
        Meaning::File(_) => refused("a file is renamed as a file".to_owned()),
    }
}

/// Every edit that gives the thing at an offset a new name.
///
/// # Errors
/// The name cannot be given: it is none, is taken, or would change what something means.
pub fn rename(view: &View<'_>, source: SourceId, offset: u32, to: &str) -> Result<Vec<(Span, String)>, Refused> {
    let mention = renameable(view, source, offset)?;
    let to = to.trim();
    let to = to.strip_prefix('`').and_then(|to| to.strip_suffix('`')).unwrap_or(to);
    let written = written(to)?;
    let places = view.same(mention);
    let old = view.slice(mention.span).trim_matches('`');
    if let Some(unclear) = unclear(view, &places, old) {
        return Err(Refused(format!(
            "what `{old}` means in {} is not known: mend what is wrong there first",
            at(view, unclear)
        )));
    }
    let edits: Vec<(Span, String)> = places.into_iter().map(|span| (span, written.clone())).collect();
    let home = if let Meaning::Declared { home, sort: _ } = &mention.means { Some(home) } else { None };
    proven(view, &edits, home, to)?;
    Ok(edits)
}

fn written(to: &str) -> Result<String, Refused> {
    if to.is_empty() || to.len() > LONGEST || to.chars().any(|letter| letter == '`' || letter.is_control()) {
        return Err(Refused(format!(
            "a name is a word, or anything on one line without backticks, of at most {LONGEST} bytes"
        )));
    }
    let reserved = KEYWORDS.contains(&to) || OPERATOR_WORDS.contains(&to) || matches!(to, "true" | "false" | "null");
    Ok(if reserved { format!("`{to}`") } else { crate::check::written_name(to) })
}

/// `file, line 3`
fn at(view: &View<'_>, span: Span) -> String {
    view.text(span.source)
        .map_or_else(String::new, |file| format!("`{}`, line {}", file.path, file.line_column(span.start).line))
}

/// A word in one of the files concerned that is written like the old name and whose meaning is not known.
fn unclear(view: &View<'_>, places: &[Span], old: &str) -> Option<Span> {
    let mut files: Vec<SourceId> = places.iter().map(|span| span.source).collect();
    files.dedup();
    for source in files {
        let file = view.text(source)?;
        let known: BTreeMap<u32, u32> =
            view.study.mentions(source).map(|mention| (mention.span.start, mention.span.end)).collect();
        let mut before = "";
        let found = tokens(&file.text);
        for (place, token) in found.iter().enumerate() {
            let span = Span::new(source, token.start, token.end);
            let text = file.slice(span);
            let names = matches!(token.kind, TokenKind::Name | TokenKind::QuotedName | TokenKind::Keyword);
            let next = found.get(place + 1).map_or("", |next| file.slice(Span::new(source, next.start, next.end)));
            let keyed = matches!(next, ":" | "?:" | "+:");
            // A field's name, or an edge's.
            let walked = matches!(before, "." | ":");
            before = text;
            if names && text.trim_matches('`') == old && !keyed && !walked && !known.contains_key(&token.start) {
                return Some(span);
            }
        }
    }
    None
}

/// Checks the program that the edits make: it must be the same but for the name.
fn proven(view: &View<'_>, edits: &[(Span, String)], home: Option<&Home>, to: &str) -> Result<(), Refused> {
    let mut by_source: BTreeMap<SourceId, Vec<(Span, &str)>> = BTreeMap::new();
    for (span, text) in edits {
        by_source.entry(span.source).or_default().push((*span, text));
    }
    let mut map = view.map.clone();
    let mut files: Vec<ast::File> = Vec::with_capacity(view.files.len());
    for tree in view.files {
        match by_source.get(&tree.source) {
            None => files.push(tree.clone()),
            Some(edits) => {
                let text = edited(view.map, tree.source, edits).unwrap_or_default();
                map.replace(tree.source, text);
                let parsed = map.get(tree.source).map(|file| syntax::parse(file).file);
                files.push(parsed.unwrap_or_else(|| tree.clone()));
            }
        }
    }
    let moved = |span: Span| {
        let mut delta = 0_i64;
        let mut grown = 0_i64;
        for (place, text) in by_source.get(&span.source).into_iter().flatten() {
            let by = i64::try_from(text.len()).unwrap_or(0) - i64::from(place.end - place.start);
            if place.end <= span.start {
                delta += by;
            } else if span.start <= place.start && place.end <= span.end {
                grown += by;
            }
        }
        let shift = |at: u32, by: i64| u32::try_from(i64::from(at) + by).unwrap_or(u32::MAX);
        Span { start: shift(span.start, delta), end: shift(span.end, delta + grown), ..span }
    };
    let before = Program { map: view.map, files: view.files, roots: view.roots };
    let after = Program { map: &map, files: &files, roots: view.roots };
    let mut fresh = Study::default();
    let now = fresh.check(&after, view.catalog);
    let was = crate::check::check(&before, view.catalog).problems;
    let was: Vec<_> = was.iter().map(|problem| (problem.code, moved(problem.primary.span))).collect();
    let new = now.iter().filter(|problem| !was.contains(&(problem.code, problem.primary.span)));
    // What follows from an error is no reason.
    if let Some(new) = new.min_by_key(|problem| problem.severity) {
        return Err(Refused(format!("`{to}` does not fit: {}", new.headline)));
    }
    for source in view.files.iter().map(|file| file.source) {
        let before: BTreeMap<_, _> = view
            .study
            .mentions(source)
            .map(|mention| (moved(mention.span), meaning(&mention.means, &moved, home.map(|home| (home, to)))))
            .collect();
        let after: BTreeMap<_, _> =
            fresh.mentions(source).map(|mention| (mention.span, mention.means.clone())).collect();
        if before != after {
            let file = map.get(source).map_or("", |file| file.path.as_str());
            return Err(Refused(format!("`{to}` would change what a name in `{file}` means")));
        }
    }
    Ok(())
}

/// A meaning as it stands in the renamed program.
fn meaning(means: &Meaning, moved: &dyn Fn(Span) -> Span, renamed: Option<(&Home, &str)>) -> Meaning {
    match means {
        Meaning::Local { at, sort } => Meaning::Local { at: moved(*at), sort: *sort },
        Meaning::Declared { home, sort } if renamed.is_some_and(|(old, _)| old == home) => {
            let name = renamed.map_or_else(|| home.name.clone(), |(_, to)| to.into());
            Meaning::Declared { home: Home { name, ..home.clone() }, sort: *sort }
        }
        Meaning::Declared { .. }
        | Meaning::Type(_)
        | Meaning::Edge { .. }
        | Meaning::Field { .. }
        | Meaning::Part
        | Meaning::Builtin
        | Meaning::BuiltinType
        | Meaning::Wait
        | Meaning::Module
        | Meaning::Credential
        | Meaning::Setting
        | Meaning::File(_) => means.clone(),
    }
}

fn edited(map: &SourceMap, source: SourceId, edits: &[(Span, &str)]) -> Option<String> {
    let text = &map.get(source)?.text;
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, replacement) in edits {
        out.push_str(text.get(at..span.start as usize)?);
        out.push_str(replacement);
        at = span.end as usize;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}
