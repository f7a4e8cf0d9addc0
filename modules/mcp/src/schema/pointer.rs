//! References within one schema. None is ever fetched from elsewhere.

use lf_module::Value;

/// What `reference` (`#`, `#/$defs/Node`, `#/properties/a~1b/items/0`) points at in `root`.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let path = percent_decoded(reference.strip_prefix('#')?)?;
    if path.is_empty() {
        return Some(root);
    }
    path.strip_prefix('/')?.split('/').try_fold(root, |value, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        match value {
            Value::Record(record) => record.get(&step),
            Value::List(items) => items.get(step.parse::<usize>().ok()?),
            Value::Absent
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::Duration(_)
            | Value::Position(_)
            | Value::File(_) => None,
        }
    })
}

/// The pointer of what `reference` points at, where the schema itself stands at `base`.
pub(super) fn place(base: &str, reference: &str) -> String {
    format!("{base}{}", reference.strip_prefix('#').unwrap_or(reference))
}

/// A name as one step of a pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use lf_module::json;

    use super::*;

    #[test]
    fn pointers_with_every_escape() {
        let root = json::read(br#"{"a/b":{"c~d":[10,{"e f":"found"}]},"":1}"#).unwrap();
        let found = |reference| resolve(&root, reference).map(json::plain);
        assert_eq!(found("#/a~1b/c~0d/1/e%20f").as_deref(), Some("\"found\""));
        assert_eq!(found("#/").as_deref(), Some("1"));
        assert_eq!(resolve(&root, "#"), Some(&root));
        for nowhere in ["#/x", "#/a~1b/c~0d/9", "#name", "https://example.com/#/a", "#/%zz", "a"] {
            assert_eq!(found(nowhere), None, "{nowhere}");
        }
    }
}
