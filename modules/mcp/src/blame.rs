//! Which argument a server's complaint is about, guessed from its text.
//!
//! Servers do not say it in one way: a path in JSON, a pointer, a quoted name, a line of its own. Only a
//! text that points at exactly one of the call's arguments is believed.

/// The one of `names` that `text` complains about.
pub(crate) fn argument<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    let only = |found: &dyn Fn(&str) -> bool| {
        let mut all = names.iter().copied().filter(|name| found(name));
        all.next().filter(|_| all.next().is_none())
    };
    only(&|name| {
        let compact: String = text.chars().filter(|character| !character.is_whitespace()).collect();
        let name: String = name.chars().filter(|character| !character.is_whitespace()).collect();
        compact.contains(&format!("\"path\":[\"{name}\"")) || compact.contains(&format!("\\\"path\\\":[\\\"{name}\\\""))
    })
    .or_else(|| only(&|name| ['"', '\'', '`'].iter().any(|quote| text.contains(&format!("{quote}{name}{quote}")))))
    .or_else(|| only(&|name| text.contains(&format!("/{name} ")) || text.ends_with(&format!("/{name}"))))
    // Short names are also words.
    .or_else(|| only(&|name| name.len() > 2 && words(text).any(|word| word == name)))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || character == '_' || character == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_of_real_servers() {
        let names = ["title", "team", "due", "to"];
        let table = [
            (
                r#"MCP error -32602: [ { "code": "invalid_type", "path": [ "team" ], "message": "Required" } ]"#,
                Some("team"),
            ),
            (
                "1 validation error for call[create]\nteam\n  Input should be 'ENG' or 'OPS' [type=literal_error]",
                Some("team"),
            ),
            ("data/due must match format \"date\"", Some("due")),
            ("Missing required argument: 'title'", Some("title")),
            ("'to' is not a team that I know", Some("to")),
            ("title and team cannot both be empty", None),
            ("something went wrong", None),
            ("go to the office", None),
        ];
        for (text, expected) in table {
            assert_eq!(argument(text, &names), expected, "{text}");
        }
    }
}
