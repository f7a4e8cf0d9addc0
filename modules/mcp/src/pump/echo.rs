//! Whose updates are an echo of one's own writes, and so are not told.
//!
//! Pure. A reader that is woken once too often loses little; one that is not woken loses what it listens for.
//! So whatever is not certain is told.

use std::collections::BTreeMap;

use super::trigger::{Item, latest};

/// Who is not listened to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Authors, whole.
    pub authors: Vec<String>,
    /// What authors begin with.
    pub prefixes: Vec<String>,
    /// A push is an echo only if all that changed since the last read is, and nothing disappeared.
    pub strict: bool,
}

impl Rules {
    /// Whether anybody is not listened to.
    #[must_use]
    pub fn active(&self) -> bool {
        !(self.authors.is_empty() && self.prefixes.is_empty())
    }

    fn matches(&self, item: &Item) -> bool {
        item.author().is_some_and(|author| {
            self.authors.iter().any(|mine| mine == author) || self.prefixes.iter().any(|mine| author.starts_with(mine))
        })
    }
}

/// A board as it was: what of each item tells whether it changed. Not the board itself, which may be large.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Snapshot(BTreeMap<u64, u64>);

impl Snapshot {
    pub(super) fn of(items: &[Item]) -> Self {
        Self(items.iter().map(|item| (item.key(), item.content())).collect())
    }
}

/// Whether what is there now is an echo. `before` is what was there when it was last read, if that is
/// known; `same`: the whole resource is as it was then.
pub(super) fn echo(rules: &Rules, items: &[Item], before: Option<&Snapshot>, same: bool) -> bool {
    if !rules.active() {
        return false;
    }
    if !rules.strict {
        return latest(items).is_some_and(|item| rules.matches(item));
    }
    let Some(Snapshot(before)) = before else { return false };
    if same {
        // All that there is to tell was told.
        return true;
    }
    let mut changed = items.iter().filter(|item| before.get(&item.key()) != Some(&item.content())).peekable();
    let kept = Snapshot::of(items).0;
    let disappeared = before.keys().any(|key| !kept.contains_key(key));
    // Something else than items changed, which has no author.
    let none = changed.peek().is_none();
    !disappeared && !none && changed.all(|item| rules.matches(item))
}

#[cfg(test)]
mod tests {
    use lf_module::{Value, json};

    use super::{super::trigger::Shape, *};

    fn items(texts: &[(&str, &str, &str)]) -> Vec<Item> {
        let text = |(id, author, time): &(&str, &str, &str)| {
            format!(r#"{{"id":"{id}","author":{author},"last_updated":"{time}"}}"#)
        };
        let texts: Vec<_> = texts.iter().map(text).collect();
        let board = format!(r#"{{"texts":[{}],"lines":[],"images":[]}}"#, texts.join(","));
        let contents = format!(r#"[{{"text":{}}}]"#, json::plain(&Value::text(board)));
        let Shape::Board(items) = Shape::of(&json::read(contents.as_bytes()).unwrap()) else { panic!("no board") };
        items
    }

    fn rules(authors: &[&str], prefixes: &[&str]) -> Rules {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Rules { authors: owned(authors), prefixes: owned(prefixes), strict: false }
    }

    #[test]
    fn a5_an_author_is_matched_whole() {
        let board = items(&[("1", r#""ai:claude""#, "1")]);
        assert!(echo(&rules(&["x", "ai:claude"], &[]), &board, None, false));
        assert!(!echo(&rules(&["ai:"], &[]), &board, None, false));
        assert!(!echo(&rules(&[], &[]), &board, None, false));
    }

    #[test]
    fn a6_a_prefix_is_matched_at_the_start() {
        let board = items(&[("1", r#""ai:gpt""#, "1")]);
        assert!(echo(&rules(&[], &["ai:"]), &board, None, false));
        assert!(!echo(&rules(&[], &["gpt"]), &board, None, false));
    }

    #[test]
    fn a33_only_the_latest_item_counts_and_an_author_that_is_no_text_never_matches() {
        let mine = rules(&["ai:claude"], &[]);
        assert!(echo(&mine, &items(&[("1", r#""user:1""#, "1"), ("2", r#""ai:claude""#, "2")]), None, false));
        assert!(!echo(&mine, &items(&[("1", r#""user:1""#, "2"), ("2", r#""ai:claude""#, "1")]), None, false));
        assert!(!echo(&rules(&["7"], &["7"]), &items(&[("1", "7", "1")]), None, false));
        assert!(!echo(&mine, &items(&[]), None, false), "an empty board has no author");
    }

    #[test]
    fn strict_echo_looks_at_all_that_changed() {
        let mine = Rules { strict: true, ..rules(&["ai:claude"], &[]) };
        let own = r#""ai:claude""#;
        let other = r#""user:1""#;
        let before = Snapshot::of(&items(&[("1", other, "1"), ("2", own, "1")]));
        // what is there now; whether it is an echo
        let table = [
            (vec![("1", other, "1"), ("2", own, "2")], true),
            (vec![("1", other, "1"), ("2", own, "1"), ("3", own, "2")], true),
            (vec![("1", other, "2"), ("2", own, "3")], false),
            (vec![("1", other, "1"), ("2", own, "2"), ("3", other, "1")], false),
            (vec![("2", own, "2")], false),
            (vec![("1", other, "1"), ("2", own, "1")], false),
        ];
        for (now, expected) in table {
            assert_eq!(echo(&mine, &items(&now), Some(&before), false), expected, "{now:?}");
        }
        let now = items(&[("1", other, "1"), ("2", own, "2")]);
        assert!(!echo(&mine, &now, None, false), "without a snapshot before nothing is certain");
        assert!(echo(&mine, &items(&[("1", other, "1")]), Some(&before), true), "nothing changed since it was told");
    }
}
