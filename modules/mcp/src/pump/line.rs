//! One event as one line of JSON: when it was, what it is, and its fields.

use jiff::Timestamp;

use crate::message::quoted;

/// A line that is being written.
#[derive(Debug)]
pub(super) struct Line(String);

impl Line {
    pub(super) fn new(at: Timestamp, event: &str) -> Self {
        let at = at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
        Self(format!(r#"{{"ts":"{at}","event":"{event}""#))
    }

    /// A field; `json` is JSON text.
    pub(super) fn json(mut self, name: &str, json: &str) -> Self {
        self.0.extend([",\"", name, "\":", json]);
        self
    }

    pub(super) fn text(self, name: &str, text: &str) -> Self {
        self.json(name, &quoted(text))
    }

    pub(super) fn texts(self, name: &str, texts: &[String]) -> Self {
        let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
        self.json(name, &format!("[{}]", texts.join(",")))
    }

    /// The whole line, without its end.
    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a16_a_line_starts_with_the_time_in_milliseconds_and_the_event() {
        let at: Timestamp = "2026-04-14T21:08:02.5678Z".parse().unwrap();
        let line = Line::new(at, "subscribed").text("uri", "a\n\"b\u{1}\"").json("trigger", "null").end();
        assert_eq!(
            line,
            r#"{"ts":"2026-04-14T21:08:02.567Z","event":"subscribed","uri":"a\n\"b\u0001\"","trigger":null}"#
        );
        let whole: Timestamp = "2026-04-14T21:08:02Z".parse().unwrap();
        assert!(Line::new(whole, "x").end().starts_with(r#"{"ts":"2026-04-14T21:08:02.000Z","#));
    }

    #[test]
    fn a15_no_text_breaks_a_line() {
        let line = Line::new(Timestamp::UNIX_EPOCH, "error").text("message", "a\r\nb\u{2028}c").end();
        assert!(!line.contains(['\n', '\r']), "{line}");
    }
}
