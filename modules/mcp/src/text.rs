//! Text that a server wrote, made fit to be shown: it is data from outside and may try to be more.

/// As much of a server's error text as is shown.
pub(crate) const MESSAGE: usize = 600;
/// As much of a description as is kept.
pub(crate) const DOC: usize = 2000;

/// `text` in one line without control characters and without the marks that turn the direction of
/// what follows, at most `longest` characters.
pub(crate) fn clean(text: &str, longest: usize) -> String {
    if text.len() <= longest && is_clean(text.as_bytes()) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len().min(longest));
    let mut gap = false;
    let mut length = 0;
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            gap = !out.is_empty();
            continue;
        }
        if hidden(character) {
            continue;
        }
        if length >= longest {
            out.push('…');
            break;
        }
        if std::mem::take(&mut gap) {
            out.push(' ');
        }
        out.push(character);
        length += 1;
    }
    out
}

/// Whether nothing has to be done, as far as is seen at once: plain signs, and between them single spaces.
fn is_clean(text: &[u8]) -> bool {
    let edge = |byte: Option<&u8>| byte != Some(&b' ');
    let single = |pair: &[u8]| pair != b"  ";
    let plain = text.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    plain && edge(text.first()) && edge(text.last()) && text.windows(2).all(single)
}

fn hidden(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_a_cursor_or_hide_is_gone() {
        assert_eq!(clean("a\u{1b}[31mred\r\n\tb\u{202e}c", 100), "a [31mred bc");
        assert_eq!(clean("  \n ", 100), "");
        assert_eq!(clean("abcdef", 3), "abc…");
    }

    #[test]
    fn plain_text_is_left_as_it_is_and_what_is_nearly_plain_is_not() {
        for (text, expected) in [
            ("A title, as it is.", "A title, as it is."),
            ("", ""),
            ("two  spaces", "two spaces"),
            (" before", "before"),
            ("after ", "after"),
            ("a\tb", "a b"),
            ("caf\u{e9}", "caf\u{e9}"),
            ("a\u{200b}b", "ab"),
        ] {
            assert_eq!(clean(text, 100), expected, "{text:?}");
        }
    }
}
