//! What the editor sends, as far as it is read.

use serde::Deserialize;

use super::position::{Position, Range};

#[derive(Debug, Deserialize)]
pub(super) struct TextDocument {
    pub(super) uri: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Opened {
    pub(super) text_document: OpenedDocument,
}

#[derive(Debug, Deserialize)]
pub(super) struct OpenedDocument {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) version: i64,
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Changed {
    pub(super) text_document: Versioned,
    pub(super) content_changes: Vec<Change>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Versioned {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) version: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Change {
    /// The whole text, if there is none.
    pub(super) range: Option<Range>,
    pub(super) text: String,
}

/// Anything about one document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct About {
    pub(super) text_document: TextDocument,
}

/// Anything about a place in one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct At {
    pub(super) text_document: TextDocument,
    pub(super) position: Position,
    pub(super) context: Option<Context>,
    pub(super) new_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Context {
    pub(super) include_declaration: bool,
    /// The kinds of action that are wanted; all if there is none.
    pub(super) only: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Over {
    pub(super) text_document: TextDocument,
    pub(super) range: Range,
    #[serde(default)]
    pub(super) context: Context,
}

#[derive(Debug, Deserialize)]
pub(super) struct Watched {
    pub(super) changes: Vec<WatchedFile>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WatchedFile {
    pub(super) uri: String,
}
