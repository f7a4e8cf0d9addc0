//! Reports as SARIF 2.1.0, for whoever collects findings of many tools.

use std::collections::BTreeMap;

use lf_lang::{
    diag::{Code, Diagnostic, Fix, Severity, codes, render},
    source::{SourceId, SourceMap, Span},
};
use serde_json::{Map, Value, json};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The whole log: one run, with a rule for each code that occurs.
pub(super) fn log(problems: &[Diagnostic], sources: &SourceMap) -> Value {
    let occurs = |code: Code| problems.iter().any(|problem| problem.code == code);
    let entries: Vec<_> = codes::ALL.iter().filter(|entry| occurs(entry.code)).collect();
    let places: BTreeMap<Code, usize> = entries.iter().enumerate().map(|(place, entry)| (entry.code, place)).collect();
    let rules = entries.iter().map(|entry| {
        let title = entry.page.lines().next().unwrap_or_default().trim_start_matches('#').trim();
        json!({
            "id": entry.code.as_str(),
            "shortDescription": { "text": title },
            "help": { "text": entry.page, "markdown": entry.page },
            "defaultConfiguration": { "level": level(entry.severity) },
        })
    });
    let results = problems.iter().map(|problem| result(problem, places.get(&problem.code).copied(), sources));
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "listen-fire",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "note",
    }
}

fn result(problem: &Diagnostic, rule: Option<usize>, sources: &SourceMap) -> Value {
    let mut text = problem.headline.clone();
    for way in render::ways_out(problem) {
        text = format!("{text}\n{way}");
    }
    let mut result = Map::new();
    result.insert("ruleId".to_owned(), json!(problem.code.as_str()));
    if let Some(rule) = rule {
        result.insert("ruleIndex".to_owned(), json!(rule));
    }
    result.insert("level".to_owned(), json!(level(problem.severity)));
    result.insert("message".to_owned(), json!({ "text": text }));
    let primary = location(problem.primary.span, &problem.primary.text, sources);
    result.insert("locations".to_owned(), primary.into_iter().collect());
    let others: Vec<_> =
        problem.secondary.iter().filter_map(|label| location(label.span, &label.text, sources)).collect();
    if !others.is_empty() {
        result.insert("relatedLocations".to_owned(), others.into());
    }
    if let Some(fix) = &problem.fix {
        result.insert("fixes".to_owned(), json!([self::fix(fix, sources)]));
    }
    Value::Object(result)
}

fn location(span: Span, says: &str, sources: &SourceMap) -> Option<Value> {
    let place = json!({ "artifactLocation": artifact(span.source, sources)?, "region": region(span, sources)? });
    let mut location = json!({ "physicalLocation": place });
    if !says.is_empty()
        && let Some(parts) = location.as_object_mut()
    {
        parts.insert("message".to_owned(), json!({ "text": says }));
    }
    Some(location)
}

fn artifact(source: SourceId, sources: &SourceMap) -> Option<Value> {
    sources.get(source).map(|file| json!({ "uri": uri(&file.path), "uriBaseId": "%SRCROOT%" }))
}

fn region(span: Span, sources: &SourceMap) -> Option<Value> {
    let file = sources.get(span.source)?;
    let (start, end) = (file.line_column(span.start), file.line_column(span.end));
    Some(json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        "byteOffset": span.start,
        "byteLength": span.end.saturating_sub(span.start),
    }))
}

fn fix(fix: &Fix, sources: &SourceMap) -> Value {
    let mut changes: BTreeMap<SourceId, Vec<Value>> = BTreeMap::new();
    for (span, text) in &fix.edits {
        if let Some(region) = region(*span, sources) {
            let replacement = json!({ "deletedRegion": region, "insertedContent": { "text": text } });
            changes.entry(span.source).or_default().push(replacement);
        }
    }
    let changes = changes.into_iter().filter_map(|(source, replacements)| {
        Some(json!({ "artifactLocation": artifact(source, sources)?, "replacements": replacements }))
    });
    json!({ "description": { "text": fix.says }, "artifactChanges": changes.collect::<Vec<_>>() })
}

/// A path as a relative URI.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            byte => out.extend(format!("%{byte:02X}").chars()),
        }
    }
    out
}
