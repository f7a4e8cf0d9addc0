//! A server's lists, all pages of them: of tools, of resources, and of templates of resources.

use std::{sync::Arc, time::Duration};

use indexmap::IndexMap;
use lf_module::{Call, CallError, Value, json};
use smol_str::SmolStr;

use crate::{
    check::Patterns,
    client::{Ask, Client},
    era::Era,
    message,
    resources::ResourceTypes,
    text::clean,
    tools::{Caution, Tool},
};

/// Bounds of one listing.
const PAGES: usize = 1000;
const MOST: usize = 10_000;
const BYTES: usize = 64 << 20;
/// The longest that a server's promise not to change counts.
const LONGEST: Duration = Duration::from_secs(3600);
/// JSON-RPC: the server does not know the method.
const UNKNOWN_METHOD: i64 = -32601;

/// What a server offers.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: IndexMap<SmolStr, Arc<Tool>>,
    pub(crate) resources: ResourceTypes,
    pub(crate) warnings: Vec<String>,
    /// Until when, by the steady clock, the server promises that it does not change.
    pub(crate) fresh_until: Option<Duration>,
}

/// A list as the server sent it.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Every entry, raw.
    pub(crate) entries: Vec<Value>,
    /// What was odd about the listing itself.
    pub(crate) warnings: Vec<String>,
    /// How long it stays as it is, where every page says so.
    pub(crate) lasts: Option<Duration>,
}

/// What is listed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    method: &'static str,
    member: &'static str,
    what: &'static str,
}

pub(crate) const TOOLS: List = List { method: "tools/list", member: "tools", what: "tools" };
pub(crate) const RESOURCES: List = List { method: "resources/list", member: "resources", what: "resources" };
pub(crate) const TEMPLATES: List =
    List { method: "resources/templates/list", member: "resourceTemplates", what: "templates of resources" };

/// Reads all pages of a list.
pub(crate) async fn all(client: &Client, list: List, call: &Call) -> Result<Listing, CallError> {
    let mut listing = Listing { lasts: Some(LONGEST), ..Listing::default() };
    pages(client, list, &mut listing, call).await?;
    Ok(listing)
}

async fn pages(client: &Client, list: List, listing: &mut Listing, call: &Call) -> Result<(), CallError> {
    let Listing { entries, warnings, lasts } = listing;
    let List { method, member, what } = list;
    let mut cursors: Vec<SmolStr> = Vec::new();
    let mut bytes = 0;
    for _ in 0..PAGES {
        let params = match cursors.last() {
            Some(cursor) => format!(r#"{{"cursor":{}}}"#, message::quoted(cursor)),
            None => "{}".to_owned(),
        };
        let page = match client.request(Ask::plain(method, &params), call).await?.answer {
            Ok(page) => page,
            Err(error) if error.code == UNKNOWN_METHOD && cursors.is_empty() => {
                warnings.push(format!("the server has no {what}"));
                return Ok(());
            }
            Err(error) => {
                let message = format!("`{method}`: the server refused it: {} (error {})", error.message, error.code);
                return Err(client.discreet(CallError { status: Some(error.code), ..CallError::refused(message) }));
            }
        };
        let Some(Value::List(found)) = page.field(member) else {
            return Err(CallError::refused(format!(
                "`{method}`: the server broke the protocol: its answer has no list of {what}"
            )));
        };
        let page_lasts = page.field("ttlMs").and_then(whole).filter(|millis| *millis > 0).map(Duration::from_millis);
        *lasts = lasts.zip(page_lasts).map(|(all, page)| all.min(page));
        bytes += size(&page);
        entries.extend(found.iter().cloned());
        if entries.len() > MOST || bytes > BYTES {
            entries.truncate(MOST);
            let kept = entries.len();
            warnings.push(format!("the list of {what} goes on beyond {kept} of them; the rest was left out"));
            return Ok(());
        }
        match page.field("nextCursor") {
            None | Some(Value::Absent) => return Ok(()),
            Some(Value::Text(cursor)) if !cursors.contains(cursor) => cursors.push(cursor.clone()),
            Some(cursor) => {
                let cursor = clean(&json::plain(cursor), 80);
                warnings.push(format!("the list of {what} is not complete: the server goes on with {cursor} again"));
                return Ok(());
            }
        }
    }
    warnings.push(format!("the list of {what} goes on beyond {PAGES} pages; the rest was left out"));
    Ok(())
}

/// About how long a value is as text.
fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() + 2,
        Value::List(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Record(record) => record.iter().map(|(name, value)| name.len() + size(value) + 4).sum::<usize>() + 2,
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Position(_)
        | Value::File(_) => 5,
    }
}

fn whole(value: &Value) -> Option<u64> {
    let Value::Number(number) = value else { return None };
    number.as_i64().and_then(|number| u64::try_from(number).ok())
}

/// Reads the entries, one by one.
pub(crate) fn catalog(listing: Listing, era: Era, caution: &Caution, now: Duration) -> Catalog {
    let fresh_until = listing.lasts.map(|lasts| now + lasts);
    let mut catalog = Catalog { warnings: listing.warnings, fresh_until, ..Catalog::default() };
    let mut patterns = Patterns::default();
    for entry in &listing.entries {
        let Some(tool) = Tool::read(entry, era, caution, &mut patterns, &mut catalog.warnings) else { continue };
        if catalog.tools.contains_key(&tool.name) {
            let name = clean(&tool.name, 128);
            catalog.warnings.push(format!("the server lists `{name}` twice; only the first counts"));
            continue;
        }
        catalog.tools.insert(tool.name.clone(), Arc::new(tool));
    }
    catalog
}
