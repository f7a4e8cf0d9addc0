//! Who touched a board last: what a snapshot shaped like a whiteboard's says of its items.
//!
//! Pure. A snapshot of any other shape says nothing, which is no fault.

use lf_module::{
    Value,
    json::{self, Limits},
};

use crate::subscription::seen::hash;

/// The lists of a board, in the order in which they are walked.
const LISTS: [&str; 3] = ["texts", "lines", "images"];
const LIMITS: Limits = Limits { bytes: lf_transport::exchange::LARGEST_BODY, depth: 128 };

/// What was read, as far as items are concerned.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Items with authors, in order.
    Board(Vec<Item>),
    /// Something else.
    Foreign,
    /// No JSON.
    Broken(String),
}

/// One item of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// The list it stands in, and its place there.
    place: (usize, usize),
    whole: Value,
}

impl Shape {
    /// Reads the contents of a resource: the text of the first block.
    pub(super) fn of(contents: &Value) -> Self {
        let Value::List(blocks) = contents else { return Self::Foreign };
        let Some(text) = blocks.first().and_then(|block| block.field("text")).and_then(Value::as_text) else {
            return Self::Foreign;
        };
        let whole = match json::read_with(text.as_bytes(), LIMITS) {
            Ok(whole) => whole,
            Err(bad) => return Self::Broken(format!("the resource's text is {bad}")),
        };
        let mut items = Vec::new();
        for (number, name) in LISTS.into_iter().enumerate() {
            let Some(Value::List(list)) = whole.field(name) else { return Self::Foreign };
            let places = list.iter().enumerate();
            items.extend(places.map(|(place, item)| Item { place: (number, place), whole: item.clone() }));
        }
        Self::Board(items)
    }
}

/// The item that was touched last: the first of those with the greatest time.
pub(super) fn latest(items: &[Item]) -> Option<&Item> {
    let mut latest: Option<(&Item, String)> = None;
    for item in items {
        let time = item.time();
        if latest.as_ref().is_none_or(|(_, kept)| time > *kept) {
            latest = Some((item, time));
        }
    }
    latest.map(|(item, _)| item)
}

impl Item {
    fn present(&self, name: &str) -> bool {
        self.whole.field(name).is_some_and(|value| !value.is_absent())
    }

    /// As a text; nothing is before everything.
    fn time(&self) -> String {
        match self.whole.field("last_updated") {
            None | Some(Value::Absent) => String::new(),
            Some(Value::Text(text)) => text.to_string(),
            Some(other) => json::plain(other),
        }
    }

    /// The author, if it is a text.
    pub(super) fn author(&self) -> Option<&str> {
        self.whole.field("author").and_then(Value::as_text)
    }

    fn kind(&self) -> &'static str {
        if self.present("points") {
            "line"
        } else if self.present("dataUrl") || self.present("data_url") {
            "image"
        } else if self.whole.field("kind").and_then(Value::as_text) == Some("link") {
            "link"
        } else {
            "text"
        }
    }

    /// The `trigger` of a line, as JSON text.
    pub(super) fn trigger(&self) -> String {
        let field = |name: &str| self.whole.field(name).map_or_else(|| "null".to_owned(), json::plain);
        format!(
            r#"{{"id":{},"author":{},"kind":"{}","last_updated":{}}}"#,
            field("id"),
            field("author"),
            self.kind(),
            field("last_updated")
        )
    }

    /// What tells it from the others: its id, or where it stands if it has none.
    pub(super) fn key(&self) -> u64 {
        let (list, place) = self.place;
        let name = match self.whole.field("id") {
            None | Some(Value::Absent) => format!("{list} {place}"),
            Some(id) => format!("{list} {}", json::plain(id)),
        };
        hash(name.as_bytes())
    }

    /// All that it says.
    pub(super) fn content(&self) -> u64 {
        hash(json::plain(&self.whole).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        let contents = format!(r#"[{{"uri":"a://b","text":{}}}]"#, json::plain(&Value::text(text)));
        Shape::of(&json::read(contents.as_bytes()).unwrap())
    }

    fn trigger(text: &str) -> Option<String> {
        let Shape::Board(items) = shape(text) else { panic!("no board: {text}") };
        latest(&items).map(Item::trigger)
    }

    #[test]
    fn a18_a_trigger_has_four_fields_each_null_where_it_is_missing() {
        let full = r#"{"texts":[{"id":"1","author":"user:1","last_updated":"2026","x":1}],"lines":[],"images":[]}"#;
        assert_eq!(trigger(full).unwrap(), r#"{"id":"1","author":"user:1","kind":"text","last_updated":"2026"}"#);
        let bare = r#"{"texts":[{}],"lines":[],"images":[]}"#;
        assert_eq!(trigger(bare).unwrap(), r#"{"id":null,"author":null,"kind":"text","last_updated":null}"#);
    }

    #[test]
    fn a30_what_is_a_board() {
        for foreign in ["[]", "1", "{}", r#"{"texts":[],"lines":[]}"#, r#"{"texts":[],"lines":[],"images":{}}"#] {
            assert_eq!(shape(foreign), Shape::Foreign, "{foreign}");
        }
        for contents in ["[]", r#"[{"uri":"a"}]"#, r#"[{"blob":"AA=="},{"text":"{}"}]"#, "{}"] {
            assert_eq!(Shape::of(&json::read(contents.as_bytes()).unwrap()), Shape::Foreign, "{contents}");
        }
        assert!(matches!(shape("not json"), Shape::Broken(_)));
    }

    #[test]
    fn a31_the_latest_is_the_first_with_the_greatest_time() {
        let id = |text: &str| {
            let found = trigger(text)?;
            Some(json::read(found.as_bytes()).unwrap().field("id").unwrap().as_text().unwrap().to_owned())
        };
        let board = |texts: &str, lines: &str, images: &str| {
            format!(r#"{{"texts":[{texts}],"lines":[{lines}],"images":[{images}]}}"#)
        };
        let item = |id: &str, time: &str| format!(r#"{{"id":"{id}","last_updated":"{time}"}}"#);
        assert_eq!(id(&board("", "", "")), None);
        assert_eq!(id(&board(&item("a", "1"), &item("b", "2"), &item("c", "1"))).as_deref(), Some("b"));
        assert_eq!(id(&board(&item("a", "2"), &item("b", "2"), &item("c", "2"))).as_deref(), Some("a"), "a tie");
        assert_eq!(id(&board(r#"{"id":"a"}"#, r#"{"id":"b"}"#, "")).as_deref(), Some("a"), "none has a time");
        assert_eq!(id(&board(r#"{"id":"a"}"#, "", &item("c", "0"))).as_deref(), Some("c"));
        assert_eq!(id(&board(&item("a", "9"), &item("b", "10"), "")).as_deref(), Some("a"), "compared as texts");
    }

    #[test]
    fn a32_the_kind_of_an_item() {
        let table = [
            (r#""points":[1],"dataUrl":"x","kind":"link""#, "line"),
            (r#""dataUrl":"x","kind":"link""#, "image"),
            (r#""data_url":"x""#, "image"),
            (r#""kind":"link""#, "link"),
            (r#""kind":"note""#, "text"),
            (r#""points":null"#, "text"),
            (r#""x":1"#, "text"),
        ];
        for (fields, kind) in table {
            let found = trigger(&format!(r#"{{"texts":[{{{fields}}}],"lines":[],"images":[]}}"#)).unwrap();
            assert!(found.contains(&format!(r#""kind":"{kind}""#)), "{fields}: {found}");
        }
    }
}
