//! Files: what is told apart, and base64 as it is met.

use proptest::prelude::*;

use super::*;

#[test]
fn bytes_that_were_seen_are_known_again() {
    let file = File::seen("crm", "1", b"hello");
    assert_eq!(file.size, 5);
    assert_eq!(file.digest.as_deref(), Some("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"));
    assert!(file.had(b"hello"));
    assert!(!file.had(b"hellO"));
    assert!(!File { digest: None, ..file }.had(b"hello!"));
}

#[test]
fn files_are_alike_by_content_wherever_they_are() {
    let named = |name: Option<&str>| File { name: name.map(Into::into), ..File::seen("crm", "1", b"a") };
    let elsewhere = File::seen("drive", "other", b"a");
    assert!(named(Some("a.txt")).is_like(&elsewhere));
    assert!(!named(Some("a.txt")).is_like(&named(Some("b.txt"))));
    assert!(!named(None).is_like(&File::seen("crm", "1", b"b")));
    assert!(!named(None).is_like(&File { digest: None, ..elsewhere }), "nothing is known of it");
}

#[test]
fn base64_is_read_with_and_without_padding_and_line_breaks() {
    for text in ["aGVsbG8=", "aGVsbG8", "aGVs\r\nbG8=\n"] {
        assert_eq!(from_base64(text).as_deref(), Some(b"hello".as_slice()), "{text:?}");
    }
    for text in ["aGVsbG8*", "a", "héllo", "aGVsbG8=="] {
        assert_eq!(from_base64(text), None, "{text:?}");
    }
    assert_eq!(from_base64("").as_deref(), Some([].as_slice()));
}

#[test]
fn bytes_are_not_printed() {
    let file = File { bytes: Some(Arc::new(b"secret".to_vec())), ..File::seen("crm", "1", b"secret") };
    let shown = format!("{file:?}");
    assert!(shown.contains("bytes: Some(6)") && !shown.contains("115"), "{shown}");
}

proptest! {
    #[test]
    fn base64_goes_there_and_back(bytes: Vec<u8>) {
        prop_assert_eq!(from_base64(&to_base64(&bytes)), Some(bytes));
    }
}
