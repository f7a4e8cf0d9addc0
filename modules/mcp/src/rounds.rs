//! Results of the newer generation: the end of a request, or a question that has to be answered by asking once more.
//!
//! Pure. What the server wants kept for it is given back as it came: it is never looked into.

use lf_module::{Record, Value, json};
use smol_str::SmolStr;

use crate::{Answers, message, text::clean};

/// How often in a row a server may ask before it answers.
pub(crate) const ROUNDS: u32 = 10;

/// What a result is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The end.
    Complete(Value),
    /// The same request is to be sent again, with these members beside its own (JSON text, each after a comma).
    Again(String),
    /// The server asks for what is not there.
    Asks(String),
    /// It is nothing that the protocol knows.
    Foreign(String),
}

/// Reads a result.
pub(crate) fn turn(result: Value, answers: Option<&dyn Answers>) -> Turn {
    match result.field("resultType") {
        None | Some(Value::Absent) => return Turn::Complete(result),
        Some(Value::Text(kind)) if kind == "complete" => return Turn::Complete(result),
        Some(Value::Text(kind)) if kind == "input_required" => {}
        Some(other) => {
            let other = clean(&json::plain(other), 80);
            return Turn::Foreign(format!("its result is of the type {other}, which nothing asked for"));
        }
    }
    let mut more = String::new();
    if let Some(Value::Record(requests)) = result.field("inputRequests")
        && requests.iter().next().is_some()
    {
        match responses(requests, answers) {
            Ok(responses) => more.extend([",\"inputResponses\":", &json::plain(&Value::record(responses))]),
            Err(method) => return Turn::Asks(method),
        }
    }
    if let Some(state) = result.field("requestState").filter(|state| !state.is_absent()) {
        more.extend([",\"requestState\":", &json::plain(state)]);
    }
    if more.is_empty() {
        return Turn::Foreign("it wants more, and does not say what".to_owned());
    }
    Turn::Again(more)
}

/// The answer to each request, or the method of the first that nobody answers.
fn responses(requests: &Record, answers: Option<&dyn Answers>) -> Result<Record, String> {
    let mut all = Record::new();
    for (name, request) in requests.iter() {
        let method = request.field("method").and_then(Value::as_text).unwrap_or_default();
        let params = request.field("params").unwrap_or(&Value::Absent);
        let answer = answers.and_then(|answers| answers.answer(method, params));
        all.set(SmolStr::clone(name), answer.ok_or_else(|| clean(method, 80))?);
    }
    Ok(all)
}

/// The parameters of a request with what belongs to the newer generation.
pub(crate) fn params(own: &str, more: &str, meta: &str) -> String {
    let own = own.trim().strip_suffix('}').unwrap_or("{");
    let comma = if own.trim_end().ends_with('{') { "" } else { "," };
    format!("{own}{comma}{}:{meta}{more}}}", message::quoted("_meta"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Yes;

    impl Answers for Yes {
        fn capabilities(&self) -> Value {
            json::read(br#"{"elicitation":{}}"#).unwrap()
        }
        fn answer(&self, method: &str, _: &Value) -> Option<Value> {
            (method == "elicitation/create").then(|| json::read(br#"{"action":"accept"}"#).unwrap())
        }
    }

    fn read(text: &str) -> Value {
        json::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_results_are() {
        let complete = |text: &str| (text.to_owned(), Turn::Complete(read(text)));
        let state = r#"{"resultType":"input_required","requestState":"a\u00e9/\"b\" "}"#;
        let asks = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}}}"#;
        let table = [
            complete(r#"{"content":[]}"#),
            complete(r#"{"resultType":"complete","content":[]}"#),
            complete(r#"{"resultType":null}"#),
            (state.to_owned(), Turn::Again(r#","requestState":"aé/\"b\" ""#.to_owned())),
            (asks.to_owned(), Turn::Asks("elicitation/create".to_owned())),
            (
                r#"{"resultType":"task","task":{}}"#.to_owned(),
                Turn::Foreign("its result is of the type \"task\", which nothing asked for".to_owned()),
            ),
            (
                r#"{"resultType":"input_required"}"#.to_owned(),
                Turn::Foreign("it wants more, and does not say what".to_owned()),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(turn(read(&text), None), expected, "{text}");
        }
        let answered = Turn::Again(r#","inputResponses":{"q":{"action":"accept"}}"#.to_owned());
        assert_eq!(turn(read(asks), Some(&Yes)), answered);
        let sampling = asks.replace("elicitation/create", "sampling/createMessage");
        assert_eq!(turn(read(&sampling), Some(&Yes)), Turn::Asks("sampling/createMessage".to_owned()));
    }

    #[test]
    fn parameters_take_what_belongs_to_the_generation() {
        assert_eq!(params("{}", "", "{}"), r#"{"_meta":{}}"#);
        assert_eq!(params(r#"{"a":{}}"#, r#","b":1"#, "{}"), r#"{"a":{},"_meta":{},"b":1}"#);
    }
}
