//! A TOML table that is taken apart key by key, with the place of everything in the text.
//!
//! What is asked for is known; what is left over at [`Table::finish`] is a mistake. So the list of right keys
//! for a hint cannot go stale. It must not know what the keys mean.

use std::{borrow::Cow, ops::Range};

use serde_json::Value as Json;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::problem::Problems;

/// Something with its place.
#[derive(Debug, Clone)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

pub(crate) type Node<'t> = Spanned<DeValue<'t>>;

pub(crate) struct Table<'t> {
    /// For messages, in backticks: `[type.Company.list]`.
    pub(crate) name: String,
    /// Where a missing key is reported.
    pub(crate) span: Range<usize>,
    map: &'t DeTable<'t>,
    asked: Vec<Cow<'static, str>>,
}

impl<'t> Table<'t> {
    pub(crate) fn new(name: impl Into<String>, span: Range<usize>, map: &'t DeTable<'t>) -> Self {
        Self { name: name.into(), span, map, asked: Vec::new() }
    }

    /// The value of `key`, whatever it is.
    pub(crate) fn node(&mut self, key: &'static str) -> Option<&'t Node<'t>> {
        self.asked.push(Cow::Borrowed(key));
        self.map.get(key)
    }

    pub(crate) fn text(&mut self, key: &'static str, problems: &mut Problems) -> Option<At<String>> {
        let name = self.name.clone();
        text(self.node(key)?, &format!("`{key}` of {name}"), problems)
    }

    pub(crate) fn required_text(&mut self, key: &'static str, problems: &mut Problems) -> Option<At<String>> {
        if !self.map.contains_key(key) {
            problems.error(&self.span, format!("{} needs `{key}`", self.name));
        }
        self.text(key, problems)
    }

    pub(crate) fn flag(&mut self, key: &'static str, problems: &mut Problems) -> Option<bool> {
        let node = self.node(key)?;
        let flag = node.get_ref().as_bool();
        if flag.is_none() {
            wrong(node, &format!("`{key}` of {}", self.name), "`true` or `false`", problems);
        }
        flag
    }

    pub(crate) fn whole(&mut self, key: &'static str, problems: &mut Problems) -> Option<At<u64>> {
        let node = self.node(key)?;
        let number = node
            .get_ref()
            .as_integer()
            .and_then(|integer| u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok());
        if number.is_none() {
            wrong(node, &format!("`{key}` of {}", self.name), "a whole number", problems);
        }
        number.map(|value| At { value, span: node.span() })
    }

    pub(crate) fn table(&mut self, key: &'static str, problems: &mut Problems) -> Option<Table<'t>> {
        let what = self.inner_name(key);
        table(self.node(key)?, &what, problems)
    }

    /// The entries of the table `key`, in the order of the text.
    pub(crate) fn entries(&mut self, key: &'static str, problems: &mut Problems) -> Vec<(At<&'t str>, &'t Node<'t>)> {
        self.table(key, problems).map(|table| table.all()).unwrap_or_default()
    }

    /// All entries, in the order of the text.
    pub(crate) fn all(&self) -> Vec<(At<&'t str>, &'t Node<'t>)> {
        in_order(self.map)
    }

    /// The name of the table under `key`, for messages.
    pub(crate) fn inner_name(&self, key: &str) -> String {
        match self.name.strip_prefix("`[").and_then(|name| name.strip_suffix("]`")) {
            Some(name) => format!("`[{name}.{key}]`"),
            None => format!("`[{key}]`"),
        }
    }

    /// Reports every key that was not asked for; `true` if there was none.
    pub(crate) fn finish(self, problems: &mut Problems) -> bool {
        let mut clean = true;
        for (key, _) in self.all() {
            if !self.asked.iter().any(|asked| asked == key.value) {
                let message = format!("`{}` is not a key of {}", key.value, self.name);
                problems.unknown(&key.span, message, key.value, self.asked.iter().map(AsRef::as_ref));
                clean = false;
            }
        }
        clean
    }
}

fn in_order<'t>(map: &'t DeTable<'t>) -> Vec<(At<&'t str>, &'t Node<'t>)> {
    let mut entries: Vec<_> =
        map.iter().map(|(key, node)| (At { value: key.get_ref().as_ref(), span: key.span() }, node)).collect();
    entries.sort_by_key(|(key, _)| key.span.start);
    entries
}

pub(crate) fn table<'t>(node: &'t Node<'t>, what: &str, problems: &mut Problems) -> Option<Table<'t>> {
    let DeValue::Table(map) = node.get_ref() else {
        wrong(node, what, "a table", problems);
        return None;
    };
    Some(Table::new(what, node.span(), map))
}

pub(crate) fn text(node: &Node<'_>, what: &str, problems: &mut Problems) -> Option<At<String>> {
    let found = node.get_ref().as_str();
    if found.is_none() {
        wrong(node, what, "text", problems);
    }
    found.map(|value| At { value: value.to_owned(), span: node.span() })
}

pub(crate) fn wrong(node: &Node<'_>, what: &str, expected: &str, problems: &mut Problems) {
    let found = match node.get_ref() {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    problems.error(&node.span(), format!("{what} is {expected}, found {found}"));
}

/// The node as JSON, for schemas and bodies.
pub(crate) fn json(node: &Node<'_>, problems: &mut Problems) -> Json {
    match node.get_ref() {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Integer(integer) => {
            let digits = integer.as_str().replace('_', "");
            let number = i64::from_str_radix(&digits, integer.radix()).map(Json::from);
            number.or_else(|_| u64::from_str_radix(&digits, integer.radix()).map(Json::from)).unwrap_or_else(|_| {
                problems.error(&node.span(), "this number is too large to be written here");
                Json::Null
            })
        }
        DeValue::Float(float) => {
            let number = float.as_str().replace('_', "").parse().ok().and_then(serde_json::Number::from_f64);
            number.map(Json::from).unwrap_or_else(|| {
                problems.error(&node.span(), "this is not a number in JSON");
                Json::Null
            })
        }
        DeValue::Boolean(flag) => Json::from(*flag),
        DeValue::Datetime(_) => {
            problems.error_with(&node.span(), "JSON has no dates", "put it in quotes");
            Json::Null
        }
        DeValue::Array(items) => items.iter().map(|item| json(item, problems)).collect(),
        DeValue::Table(map) => Json::Object(
            in_order(map).into_iter().map(|(key, node)| (key.value.to_owned(), json(node, problems))).collect(),
        ),
    }
}
