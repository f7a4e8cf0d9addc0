//! `tools/list`, all pages of it.

use std::sync::Arc;

use indexmap::IndexMap;
use lf_module::{Call, CallError, Value, json};
use lf_transport::Sends;
use smol_str::SmolStr;

use crate::{
    client::{Ask, Client},
    message,
    text::clean,
    tools::Tool,
};

/// Bounds of one listing.
const PAGES: usize = 1000;
const TOOLS: usize = 10_000;
const BYTES: usize = 64 << 20;
/// JSON-RPC: the server does not know the method.
const UNKNOWN_METHOD: i64 = -32601;

/// What a server offers.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: IndexMap<SmolStr, Arc<Tool>>,
    pub(crate) warnings: Vec<String>,
}

/// Every entry of the list, raw, with what was odd about the listing itself.
pub(crate) async fn entries(client: &Client, call: &Call) -> Result<(Vec<Value>, Vec<String>), CallError> {
    let mut entries = Vec::new();
    let mut warnings = Vec::new();
    let mut cursors: Vec<SmolStr> = Vec::new();
    let mut bytes = 0;
    for _ in 0..PAGES {
        let params = match cursors.last() {
            Some(cursor) => format!(r#"{{"cursor":{}}}"#, message::quoted(cursor)),
            None => "{}".to_owned(),
        };
        let ask = Ask { method: "tools/list", params: &params, sends: Sends::Safe, what: "tools/list" };
        let page = match client.request(ask, call).await?.answer {
            Ok(page) => page,
            Err(error) if error.code == UNKNOWN_METHOD && cursors.is_empty() => {
                warnings.push("the server has no tools".to_owned());
                return Ok((entries, warnings));
            }
            Err(error) => {
                let message = format!("`tools/list`: the server refused it: {} (error {})", error.message, error.code);
                return Err(client.discreet(CallError { status: Some(error.code), ..CallError::refused(message) }));
            }
        };
        let Some(Value::List(tools)) = page.field("tools") else {
            return Err(CallError::refused(
                "`tools/list`: the server broke the protocol: its answer has no list of tools",
            ));
        };
        bytes += json::plain(&page).len();
        entries.extend(tools.iter().cloned());
        if entries.len() > TOOLS || bytes > BYTES {
            entries.truncate(TOOLS);
            warnings.push(format!("the list of tools goes on beyond {} of them; the rest was left out", entries.len()));
            return Ok((entries, warnings));
        }
        match page.field("nextCursor") {
            None | Some(Value::Absent) => return Ok((entries, warnings)),
            Some(Value::Text(cursor)) if !cursors.contains(cursor) => cursors.push(cursor.clone()),
            Some(cursor) => {
                let cursor = clean(&json::plain(cursor), 80);
                warnings.push(format!("the list of tools is not complete: the server goes on with {cursor} again"));
                return Ok((entries, warnings));
            }
        }
    }
    warnings.push(format!("the list of tools goes on beyond {PAGES} pages; the rest was left out"));
    Ok((entries, warnings))
}

/// Reads the entries, one by one.
pub(crate) fn catalog(entries: &[Value], warnings: Vec<String>) -> Catalog {
    let mut catalog = Catalog { tools: IndexMap::new(), warnings };
    for entry in entries {
        let Some(tool) = Tool::read(entry, &mut catalog.warnings) else { continue };
        if catalog.tools.contains_key(&tool.name) {
            let name = clean(&tool.name, 128);
            catalog.warnings.push(format!("the server lists `{name}` twice; only the first counts"));
            continue;
        }
        catalog.tools.insert(tool.name.clone(), Arc::new(tool));
    }
    catalog
}
