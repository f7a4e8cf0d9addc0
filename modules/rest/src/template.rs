//! Texts with `{name}` in them, and how a value is placed.
//!
//! A template says only which names it holds; whether they exist is checked when the file is read.

use std::fmt::Write as _;

use lf_module::Value;

/// A text with places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(String),
}

/// Why a template could not be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfilled {
    /// Nothing is there for this name.
    Missing(String),
    /// What is there is not a scalar.
    NotText(String),
}

impl Template {
    /// Reads a template. `Err` names what is wrong with its braces.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            match character {
                '{' | '}' if rest.next_if_eq(&character).is_some() => plain.push(character),
                '{' => {
                    let mut name = String::new();
                    loop {
                        match rest.next() {
                            Some('}') => break,
                            Some('{') | None => return Err(format!("`{{{name}` has no `}}`")),
                            Some(other) => name.push(other),
                        }
                    }
                    if name.is_empty() {
                        return Err("`{}` holds no name".to_owned());
                    }
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Place(name));
                }
                '}' => return Err("a `}` without `{`; a brace itself is `}}`".to_owned()),
                other => plain.push(other),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    /// The names that are placed, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Place(name) => Some(name.as_str()),
        })
    }

    /// The one name, if the template is nothing but a place.
    pub(crate) fn only(&self) -> Option<&str> {
        if let [Part::Place(name)] = self.0.as_slice() { Some(name) } else { None }
    }

    /// The text with every place filled from `values` and passed through `encode`.
    pub(crate) fn fill<'v>(
        &self,
        values: &dyn Fn(&str) -> Option<&'v Value>,
        encode: fn(&str) -> String,
    ) -> Result<String, Unfilled> {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Place(name) => {
                    let value = values(name).ok_or_else(|| Unfilled::Missing(name.clone()))?;
                    let text = scalar(value).ok_or_else(|| match value.is_absent() {
                        true => Unfilled::Missing(name.clone()),
                        false => Unfilled::NotText(name.clone()),
                    })?;
                    out.push_str(&encode(&text));
                }
            }
        }
        Ok(out)
    }
}

/// A scalar as the text that a URL, a header or a key takes.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.to_string()),
        Value::Date(date) => Some(date.to_string()),
        Value::DateTime(instant) => Some(instant.to_string()),
        Value::Duration(length) => Some(length.to_string()),
        Value::Absent | Value::List(_) | Value::Record(_) | Value::Position(_) | Value::File(_) => None,
    }
}

pub(crate) fn as_it_is(text: &str) -> String {
    text.to_owned()
}

/// Everything but the unreserved characters of RFC 3986, so that no value can leave its segment. A value that is
/// `.` or `..` would still be taken for a step by what reads the URL; see [`is_step`].
pub(crate) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => {
                let _never_fails = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// A path segment that a URL parser would resolve away.
pub(crate) fn is_step(path: &str) -> bool {
    path.split('/').any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}
