//! A request as a line of a case: what a judge has to see of it, and nothing that differs from one time to the next.

use std::time::Duration;

use lf_harness::{
    Received,
    authorization::{form, query},
};
use lf_module::{Record, Value, json as exact};
use serde_json::Value as Json;

/// What is drawn at random or holds a secret of the test's own; that it is there is what counts.
const DRAWN: [&str; 4] = ["state", "code_challenge", "code_verifier", "code"];

pub(crate) fn line(received: &Received, waited: Duration, base: &str) -> String {
    let mut line = "|".to_owned();
    let mut word = |text: &str| line.extend([" ", text]);
    if !waited.is_zero() {
        word(&format!("(after {})", seconds(waited)));
    }
    let path = received.path.split('?').next().unwrap();
    word(&received.method);
    if path != "/mcp" {
        word(path);
    }
    let body = received.json();
    let method = received.rpc();
    if !method.is_empty() {
        word(&method);
    }
    let shown = |name: &'static str, label: &'static str| {
        received.header(name).map(|value| format!("{label}={}", if value.is_empty() { "\"\"" } else { value }))
    };
    if body["id"].is_number() && !method.is_empty() {
        word(&format!("id={}", body["id"]));
    }
    let headers =
        [("mcp-session-id", "session"), ("mcp-protocol-version", "version"), ("last-event-id", "last-event-id")];
    headers.iter().filter_map(|(name, label)| shown(name, label)).for_each(|text| word(&text));
    for (name, value) in &received.headers {
        if let Some(name) = name.strip_prefix("mcp-param-") {
            word(&format!("mcp-param-{name}={value}"));
        }
    }
    // Where every request has the token of the stage there is nothing to see in it.
    match received.header("authorization") {
        Some("Bearer s3cret") | None => {}
        Some(value) => word(&format!("authorization={value:?}")),
    }
    if let Some(why) = agrees(received, &body) {
        word(&why);
    }
    let rest = if body.is_object() { content(received) } else { forms(received) };
    if !rest.is_empty() {
        word(&rest);
    }
    line.replace(base, "BASE").replace(&base.replace("http://", ""), "HOST")
}

/// Requests that came at once, without their order: what was done, and how often. How many of them were refused before
/// a token was renewed is chance, and so is who asked first.
pub(crate) fn counted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::new();
    let without_id = |line: &str| line.split(' ').filter(|word| !word.starts_with("id=")).collect::<Vec<_>>().join(" ");
    for line in lines.filter(|line| line.contains("POST /token") || line.contains(" tools/call ")) {
        *counts.entry(without_id(&line)).or_insert(0) += 1;
    }
    counts.into_iter().map(|(line, count)| format!("{line} ({count} times)")).collect()
}

pub(crate) fn seconds(length: Duration) -> String {
    let millis = length.as_millis();
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// In the newer generation headers and body say the same; else what does not.
fn agrees(received: &Received, body: &Json) -> Option<String> {
    if received.header("mcp-protocol-version") != Some("2026-07-28") {
        return None;
    }
    let name = body.pointer("/params/name").or_else(|| body.pointer("/params/uri")).and_then(Json::as_str);
    let meta = body.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").and_then(Json::as_str);
    let right = received.header("mcp-method") == Some(&received.rpc())
        && received.header("mcp-name") == name
        && meta == Some("2026-07-28");
    (!right).then(|| "HEADERS AND BODY DIFFER".to_owned())
}

/// The params of a request, or the answer to one of the server's, digit for digit.
fn content(received: &Received) -> String {
    let Ok(body) = exact::read(&received.body) else { return String::new() };
    let shown = if body.field("method").is_some() { body.field("params").cloned() } else { Some(body) };
    let Some(Value::Record(shown)) = shown else { return String::new() };
    let hidden = |name: &str| ["_meta", "clientInfo", "jsonrpc"].contains(&name);
    let kept = shown.iter().filter(|(name, _)| !hidden(name)).map(|(name, value)| (name.clone(), value.clone()));
    let kept: Record = kept.collect();
    if kept.is_empty() { String::new() } else { exact::plain(&Value::record(kept)) }
}

/// What an OAuth request asks for.
fn forms(received: &Received) -> String {
    let mut asked = query(received);
    if !received.json().is_object() {
        asked.extend(form(&received.body));
    }
    let shown = asked.iter().map(|(name, value)| {
        let value = if DRAWN.contains(&name.as_str()) { "…" } else { value };
        format!("{name}={value}")
    });
    shown.collect::<Vec<_>>().join(" ")
}
