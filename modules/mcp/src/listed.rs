//! What a server's list says of its resources, by URI: their names and sorts of content, which what is read of a
//! resource mostly lacks. It is read with the types. A list may change with every write, so one that the server says
//! has changed is asked for again by the next read of a resource, and by nothing else.

use std::sync::{Arc, PoisonError, RwLock, atomic::Ordering};

use indexmap::IndexMap;
use lf_module::{Call, CallError, Value};
use smol_str::SmolStr;

use crate::{client::Client, connection::Changes, listing};

/// What the list says of one resource.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    pub(crate) name: Option<Value>,
    pub(crate) mime_type: Option<Value>,
}

/// The list, as far as it was ever read.
#[derive(Debug, Default)]
pub(crate) struct Listed(RwLock<Arc<IndexMap<SmolStr, Said>>>);

impl Listed {
    /// Reads the list.
    pub(crate) async fn refresh(&self, client: &Client, changes: &Changes, call: &Call) -> Result<(), CallError> {
        changes.resources.store(false, Ordering::Relaxed);
        let entries = listing::all(client, listing::RESOURCES, call).await?.entries;
        let text = |entry: &Value, key: &str| entry.field(key).filter(|it| it.as_text().is_some()).cloned();
        let said = |entry: &Value| {
            let uri = SmolStr::from(entry.field("uri")?.as_text()?);
            Some((uri, Said { name: text(entry, "name"), mime_type: text(entry, "mimeType") }))
        };
        let all = Arc::new(entries.iter().filter_map(said).collect());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }

    /// What it says of `uri`, asked for again where it changed. Without it what is read is read all the same.
    pub(crate) async fn now(&self, uri: &str, client: &Client, changes: &Changes, call: &Call) -> Said {
        if changes.resources.load(Ordering::Relaxed)
            && let Err(error) = self.refresh(client, changes, call).await
        {
            tracing::debug!("{}: the list of resources: {}", crate::NAME, error.message);
        }
        self.known(uri)
    }

    /// What it said of `uri` when it was last read.
    pub(crate) fn known(&self, uri: &str) -> Said {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(uri).cloned().unwrap_or_default()
    }
}
