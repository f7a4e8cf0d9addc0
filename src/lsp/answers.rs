//! Answers: what `lf_lang::editor` found, in the protocol's words.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lf_lang::{
    check::{index::Sort, offers::Offered},
    diag::{Diagnostic, Severity, codes, fix},
    editor::{self, Colour, Completion, EntryKind, Suggested, Target},
    source::{SourceId, Span},
    syntax::format,
};
use serde_json::{Value, json};
use url::Url;

use super::{
    desk::Desk,
    position::{Encoding, Lines, Position, Range},
    shapes::{At, Over},
};

/// The longest text of a system that is shown.
const LONGEST: usize = 2000;

/// What an answer is made of.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) desk: &'a Desk,
    pub(super) source: SourceId,
    pub(super) encoding: Encoding,
    pub(super) markdown: bool,
    /// The editor takes changes with the version that they are of.
    pub(super) versions: bool,
    /// What is open: where, as the editor calls it, and which version.
    pub(super) open: BTreeMap<&'a Path, (&'a str, i64)>,
}

impl<'a> Asked<'a> {
    fn text(&self, source: SourceId) -> &'a str {
        self.desk.file(source).map_or("", |file| &file.text)
    }

    fn lines(&self, source: SourceId) -> Lines<'a> {
        Lines::new(self.text(source), self.encoding)
    }

    pub(super) fn offset(&self, position: Position) -> u32 {
        u32::try_from(self.lines(self.source).offset(position)).unwrap_or(u32::MAX)
    }

    fn path(&self, source: SourceId) -> PathBuf {
        self.desk.file(source).map(|file| self.desk.place(&file.path)).unwrap_or_default()
    }

    fn uri(&self, source: SourceId) -> String {
        let path = self.path(source);
        self.open.get(path.as_path()).map_or_else(|| uri(&path), |(uri, _)| (*uri).to_owned())
    }

    fn location(&self, span: Span) -> Value {
        json!({ "uri": self.uri(span.source), "range": self.lines(span.source).range(span) })
    }

    /// A change of texts, each in the version that the editor has.
    fn edit(&self, edits: &[(Span, String)]) -> Value {
        let mut by_source: BTreeMap<SourceId, Vec<&(Span, String)>> = BTreeMap::new();
        for edit in edits {
            by_source.entry(edit.0.source).or_default().push(edit);
        }
        let changes = by_source.into_iter().map(|(source, edits)| {
            let lines = self.lines(source);
            let version = self.open.get(self.path(source).as_path()).map(|(_, version)| *version);
            let edits = edits.into_iter().map(|(span, text)| json!({ "range": lines.range(*span), "newText": text }));
            json!({
                "textDocument": { "uri": self.uri(source), "version": version },
                "edits": edits.collect::<Vec<_>>(),
            })
        });
        let changes: Vec<Value> = changes.collect();
        if self.versions {
            return json!({ "documentChanges": changes });
        }
        let plain = changes.into_iter().filter_map(|mut change| {
            let uri = change.pointer("/textDocument/uri")?.as_str()?.to_owned();
            Some((uri, change.get_mut("edits")?.take()))
        });
        json!({ "changes": plain.collect::<serde_json::Map<_, _>>() })
    }
}

/// The file that an address names; of what is no file, such as a text that was never saved, the address itself.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let url = Url::parse(uri).ok()?;
    if url.scheme() == "file" { url.to_file_path().ok() } else { Some(PathBuf::from(uri)) }
}

/// The address of a file.
pub(super) fn uri(path: &Path) -> String {
    Url::from_file_path(path).map_or_else(|()| path.display().to_string(), String::from)
}

pub(super) fn capabilities(encoding: Encoding) -> Value {
    json!({
        "capabilities": {
            "positionEncoding": encoding.name(),
            "textDocumentSync": { "openClose": true, "change": 2 },
            "hoverProvider": true,
            "completionProvider": { "triggerCharacters": [".", ":", "\"", "#"] },
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentFormattingProvider": true,
            "documentSymbolProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix", "source.fixAll"] },
            "semanticTokensProvider": {
                "legend": { "tokenTypes": COLOURS.map(|(_, name)| name), "tokenModifiers": MODIFIERS },
                "full": true,
            },
        },
        "serverInfo": { "name": "listen-fire", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// One more part of an object.
fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

// ---- problems ----

pub(super) fn diagnostic(
    problem: &Diagnostic,
    lines: &BTreeMap<SourceId, Lines<'_>>,
    place: &dyn Fn(SourceId) -> Option<String>,
) -> Option<Value> {
    let range = |span: Span| lines.get(&span.source).map(|lines| lines.range(span));
    let mut message = problem.headline.clone();
    if !problem.primary.text.is_empty() {
        message = format!("{message}\n{}", problem.primary.text);
    }
    for help in &problem.help {
        message = format!("{message}\nhelp: {help}");
    }
    let related = problem.secondary.iter().filter_map(|label| {
        let location = json!({ "uri": place(label.span.source)?, "range": range(label.span)? });
        Some(json!({ "location": location, "message": label.text }))
    });
    let severity = match problem.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Information => 3,
    };
    let mut shown = json!({
        "range": range(problem.primary.span)?,
        "severity": severity,
        "code": problem.code,
        "source": "listen-fire",
        "message": message,
    });
    let related: Vec<Value> = related.collect();
    if !related.is_empty() {
        set(&mut shown, "relatedInformation", related.into());
    }
    if problem.code == codes::MOV_UNUSED || problem.code == codes::MOV_UNREACHABLE {
        set(&mut shown, "tags", json!([1]));
    }
    Some(shown)
}

pub(super) fn actions(asked: &Asked<'_>, over: &Over) -> Value {
    let lines = asked.lines(asked.source);
    let wanted = |kind: &str| {
        over.context.only.as_ref().is_none_or(|kinds| {
            kinds
                .iter()
                .any(|only| kind == only || kind.strip_prefix(only.as_str()).is_some_and(|rest| rest.starts_with('.')))
        })
    };
    let touches = |range: Range| range.start <= over.range.end && over.range.start <= range.end;
    let own = asked.desk.problems().iter().filter(|problem| problem.primary.span.source == asked.source);
    let own: Vec<&Diagnostic> = own.collect();
    let mut actions = Vec::new();
    if wanted("quickfix") {
        let place = |source: SourceId| Some(asked.uri(source));
        for problem in own.iter().filter(|problem| touches(lines.range(problem.primary.span))) {
            let preferred = |fix| (fix, true);
            let fixes = problem.fix.iter().map(preferred).chain(problem.ways.iter().map(|way| (way, false)));
            let mut sources: BTreeMap<SourceId, Lines<'_>> = BTreeMap::new();
            for label in problem.secondary.iter().chain([&problem.primary]) {
                sources.entry(label.span.source).or_insert_with(|| asked.lines(label.span.source));
            }
            for (fix, preferred) in fixes {
                let mut action = json!({
                    "title": fix.says,
                    "kind": "quickfix",
                    "diagnostics": diagnostic(problem, &sources, &place).into_iter().collect::<Vec<_>>(),
                    "edit": asked.edit(&fix.edits),
                });
                if preferred {
                    set(&mut action, "isPreferred", true.into());
                }
                actions.push(action);
            }
        }
    }
    if wanted("source.fixAll") && over.context.only.is_some() {
        let problems: Vec<Diagnostic> = own.into_iter().cloned().collect();
        let round = fix::apply(asked.desk.map(), &problems, |source| source == asked.source);
        if let Some(text) = round.texts.get(&asked.source) {
            actions.push(json!({
                "title": "make every fix in this file",
                "kind": "source.fixAll",
                "edit": asked.edit(&[replaced(asked, text)]),
            }));
        }
    }
    actions.into()
}

/// The one edit that makes a file's text this one: only what differs.
fn replaced(asked: &Asked<'_>, text: &str) -> (Span, String) {
    let before = asked.text(asked.source);
    let mut start = before.bytes().zip(text.bytes()).take_while(|(one, two)| one == two).count();
    while !(before.is_char_boundary(start) && text.is_char_boundary(start)) {
        start -= 1;
    }
    let most = before.len().min(text.len()) - start;
    let mut same = before.bytes().rev().zip(text.bytes().rev()).take(most).take_while(|(one, two)| one == two).count();
    while !(before.is_char_boundary(before.len() - same) && text.is_char_boundary(text.len() - same)) {
        same -= 1;
    }
    let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = Span::new(asked.source, short(start), short(before.len() - same));
    (span, text.get(start..text.len() - same).unwrap_or_default().to_owned())
}

pub(super) fn formatting(asked: &Asked<'_>) -> Value {
    // A text that cannot be read stays as it is; its problems are shown already.
    let Some(Ok(text)) = asked.desk.file(asked.source).map(format::format) else { return Value::Null };
    if text == asked.text(asked.source) {
        return json!([]);
    }
    let (span, text) = replaced(asked, &text);
    json!([{ "range": asked.lines(asked.source).range(span), "newText": text }])
}

// ---- places ----

pub(super) fn definition(asked: &Asked<'_>, _: &At, offset: u32) -> Result<Value, String> {
    Ok(match asked.desk.view().definition(asked.source, offset) {
        Some(Target::Place(span)) => asked.location(span),
        Some(Target::Module(name)) => {
            let file = asked.desk.place(&format!("modules/{}.toml", name.trim_start_matches('#')));
            let start = Position { line: 0, character: 0 };
            if file.is_file() {
                json!({ "uri": uri(&file), "range": Range { start, end: start } })
            } else {
                Value::Null
            }
        }
        None => Value::Null,
    })
}

pub(super) fn references(asked: &Asked<'_>, at: &At, offset: u32) -> Result<Value, String> {
    let declaration = at.context.as_ref().is_some_and(|context| context.include_declaration);
    let found = asked.desk.view().references(asked.source, offset, declaration);
    Ok(found.into_iter().map(|span| asked.location(span)).collect())
}

pub(super) fn highlights(asked: &Asked<'_>, _: &At, offset: u32) -> Result<Value, String> {
    let lines = asked.lines(asked.source);
    let found = asked.desk.view().references(asked.source, offset, true);
    let own = found.into_iter().filter(|span| span.source == asked.source);
    Ok(own.map(|span| json!({ "range": lines.range(span) })).collect())
}

pub(super) fn prepare_rename(asked: &Asked<'_>, _: &At, offset: u32) -> Result<Value, String> {
    let span = editor::renamed(&asked.desk.view(), asked.source, offset).map_err(|refused| refused.0)?;
    Ok(json!(asked.lines(asked.source).range(span)))
}

pub(super) fn rename(asked: &Asked<'_>, at: &At, offset: u32) -> Result<Value, String> {
    let to = at.new_name.as_deref().unwrap_or_default();
    let edits = editor::rename(&asked.desk.view(), asked.source, offset, to).map_err(|refused| refused.0)?;
    Ok(asked.edit(&edits))
}

pub(super) fn symbols(asked: &Asked<'_>) -> Value {
    let lines = asked.lines(asked.source);
    let (Some(tree), Some(file)) = (asked.desk.tree(asked.source), asked.desk.file(asked.source)) else {
        return Value::Null;
    };
    let entries = editor::outline(tree, file).into_iter().map(|entry| {
        let kind = match entry.kind {
            EntryKind::Connection => 3,
            EntryKind::Type => 23,
            EntryKind::Function => 12,
            EntryKind::Listen => 24,
            EntryKind::Value => 14,
            EntryKind::Test => 6,
        };
        json!({
            "name": entry.name,
            "kind": kind,
            "range": lines.range(entry.span.to(entry.selection)),
            "selectionRange": lines.range(entry.selection),
        })
    });
    entries.collect()
}

// ---- words ----

pub(super) fn hover(asked: &Asked<'_>, _: &At, offset: u32) -> Result<Value, String> {
    let Some(found) = editor::hover(&asked.desk.view(), asked.source, offset) else { return Ok(Value::Null) };
    let mut parts = Vec::new();
    parts.push(if asked.markdown { format!("```movement\n{}\n```", found.code) } else { found.code });
    parts.extend(found.note);
    parts.extend(found.doc);
    parts.extend(found.described.map(|text| if asked.markdown { plain(&text) } else { shortened(&text) }));
    let kind = if asked.markdown { "markdown" } else { "plaintext" };
    Ok(json!({
        "contents": { "kind": kind, "value": parts.join("\n\n") },
        "range": asked.lines(asked.source).range(found.span),
    }))
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

/// A system's own words, so that nothing in them is Markdown: no pictures are fetched, no links followed.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in shortened(text).chars() {
        if letter.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

pub(super) fn completion(found: &Completion, lines: &Lines<'_>, markdown: bool) -> Value {
    let range = lines.range(found.replaces);
    let items = found.items.iter().map(|item| match item {
        Suggested::Keyword(word) => json!({
            "label": word, "kind": 14, "sortText": format!("2{word}"), "textEdit": { "range": range, "newText": word },
        }),
        Suggested::Offer(offer) => {
            let (kind, rank) = match offer.sort {
                Offered::Field | Offered::Setting | Offered::Argument => (5, 0),
                Offered::Name(Sort::Function) => (3, 1),
                Offered::Name(Sort::Connection) | Offered::Module => (9, 1),
                Offered::Name(Sort::Type) => (22, 1),
                Offered::Name(
                    Sort::Constant
                    | Sort::Param
                    | Sort::Value
                    | Sort::Handle
                    | Sort::Alias
                    | Sort::Item
                    | Sort::Unknown,
                ) => (6, 0),
                Offered::Edge => (18, 0),
                Offered::DescribedType => (7, 0),
                Offered::Builtin => (3, 3),
                Offered::Wait => (3, 0),
                Offered::BuiltinType => (25, 0),
                Offered::Choice => (20, 0),
                Offered::Credential => (21, 0),
            };
            let mut shown = json!({
                "label": offer.name,
                "kind": kind,
                "sortText": format!("{rank}{}", offer.name),
                "textEdit": { "range": range, "newText": offer.name },
            });
            if !offer.detail.is_empty() {
                set(&mut shown, "detail", offer.detail.as_str().into());
            }
            if let Some(doc) = &offer.doc {
                // What a program's author wrote could be Markdown, what a system says must not be: both are shown plain.
                let text = if markdown { plain(doc) } else { shortened(doc) };
                let kind = if markdown { "markdown" } else { "plaintext" };
                set(&mut shown, "documentation", json!({ "kind": kind, "value": text }));
            }
            shown
        }
    });
    json!({ "isIncomplete": false, "items": items.collect::<Vec<_>>() })
}

// ---- colours ----

/// In the order of the protocol's legend.
const COLOURS: [(Colour, &str); 11] = [
    (Colour::Connection, "namespace"),
    (Colour::Type, "type"),
    (Colour::Function, "function"),
    (Colour::Variable, "variable"),
    (Colour::Parameter, "parameter"),
    (Colour::Property, "property"),
    (Colour::Keyword, "keyword"),
    (Colour::Comment, "comment"),
    (Colour::Text, "string"),
    (Colour::Number, "number"),
    (Colour::Operator, "operator"),
];

const MODIFIERS: [&str; 2] = ["declaration", "defaultLibrary"];

pub(super) fn tokens(asked: &Asked<'_>) -> Value {
    let text = asked.text(asked.source);
    let lines = asked.lines(asked.source);
    let mut data: Vec<u32> = Vec::new();
    let mut last = Position { line: 0, character: 0 };
    for painted in editor::colours(&asked.desk.view(), asked.source) {
        let index = COLOURS.iter().position(|(colour, _)| *colour == painted.colour).unwrap_or_default();
        let modifiers = u32::from(painted.declares) | (u32::from(painted.given) << 1);
        // The protocol's tokens end with their line.
        let mut start = painted.start as usize;
        let end = painted.end as usize;
        while start < end {
            let rest = text.get(start..end).unwrap_or_default();
            let line = rest.find('\n').map_or(end, |newline| start + newline);
            let (from, to) = (lines.position(start), lines.position(line));
            if to.character > from.character {
                let column = if from.line == last.line { from.character - last.character } else { from.character };
                data.extend([from.line - last.line, column, to.character - from.character]);
                data.extend([u32::try_from(index).unwrap_or_default(), modifiers]);
                last = from;
            }
            start = line + 1;
        }
    }
    json!({ "data": data })
}
