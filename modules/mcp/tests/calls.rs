//! Calls of tools: what is sent, what is made of the answer, and what never leaves.

use lf_harness::{Reply, mcp::Offer};
use lf_module::{Acted, Kind, Listen, Repeat, Value, Write, json as exact};
use serde_json::{Value as Json, json};

use crate::stage::{Stage, record, tools};

fn answering(answer: Json) -> Stage {
    let mut offer = Offer::of(tools());
    offer.answer = answer;
    Stage::good(offer)
}

/// A server of one tool.
fn offering(tool: &Json, answer: Json) -> Stage {
    let mut offer = Offer::of(json!([tool]));
    offer.answer = answer;
    Stage::good(offer)
}

fn text(text: &str) -> Json {
    json!({"content": [{"type": "text", "text": text}]})
}

#[tokio::test]
async fn a_read_answers_one_record_of_arguments_and_answer() {
    let stage = Stage::good(Offer::of(tools()));
    let page = stage.search().await.unwrap();
    assert_eq!((page.records.len(), page.next), (1, None));
    let fields = &page.records[0].fields;
    assert_eq!(fields.get("query"), Some(&Value::text("Acme")));
    assert_eq!(fields.get("count"), Some(&Value::from(2)));
    assert_eq!(fields.get("text"), Some(&Value::text("done")));
    assert_eq!(exact::plain(fields.get("structured").unwrap()), r#"{"count":2}"#);
    assert_eq!(exact::plain(fields.get("content").unwrap()), r#"[{"type":"text","text":"done"}]"#);
    let sent = stage.received("tools/call")[0].json();
    assert_eq!(sent["params"], json!({"name": "search_issues", "arguments": {"query": "Acme"}}));
}

#[tokio::test]
async fn a_write_sends_its_fields_and_answers_for_its_handle() {
    let stage = answering(json!({"content": [
        {"type": "text", "text": "ENG-1"},
        {"type": "image", "data": "", "mimeType": "image/png"},
        {"type": "text", "text": "created"},
        {"type": "surprise", "text": "unknown parts are kept and not read", "annotations": null},
    ]}));
    let written = stage.create().await.unwrap();
    assert_eq!(written.fields.get("text"), Some(&Value::text("ENG-1\ncreated")));
    assert!(matches!(written.fields.get("content"), Some(Value::List(parts)) if parts.len() == 4));
    assert_eq!(written.fields.get("structured"), None, "it has no output schema");
    let sent = stage.received("tools/call")[0].json();
    assert_eq!(sent["params"]["arguments"], json!({"title": "Follow up", "team": "ENG"}));
}

#[tokio::test]
async fn what_the_server_refuses_fails_with_its_text_and_names_the_argument() {
    let refusal = |text: &str| json!({"isError": true, "content": [{"type": "text", "text": text}]});
    let stage = answering(refusal("Input validation error: 'ENG' is not a team\n  'team'"));
    let error = stage.create().await.unwrap_err();
    assert_eq!((error.kind, error.acted), (Kind::Refused, Acted::No));
    assert!(error.message.contains("'ENG' is not a team"), "{error}");
    assert_eq!((error.field.as_deref(), error.attempts), (Some("team"), 1));
    assert_eq!(stage.received("tools/call").len(), 1);

    let error = answering(refusal("\u{1b}[31mno\u{1b}[0m")).create().await.unwrap_err();
    assert!(!error.message.contains('\u{1b}'), "{error:?}");
    assert_eq!(error.field, None);
    let error = answering(json!({"isError": true})).create().await.unwrap_err();
    assert!(error.message.contains("no reason"), "{error}");
}

#[tokio::test]
async fn an_error_in_a_good_answer_is_a_refusal() {
    let offer = Offer::of(tools());
    let stage = Stage::new(move |received| {
        if received.rpc() != "tools/call" {
            return offer.reply(received);
        }
        let error = json!({"code": -32602, "message": "Invalid arguments: data/title must be shorter"});
        Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "error": error}))
    });
    for result in [stage.search().await.map(|_| ()), stage.create().await.map(|_| ())] {
        let error = result.unwrap_err();
        assert_eq!((error.kind, error.status), (Kind::Refused, Some(-32602)));
    }
    assert_eq!(stage.create().await.unwrap_err().field.as_deref(), Some("title"));
    assert_eq!(stage.received("tools/call").len(), 3, "none is sent again");
}

#[tokio::test]
async fn arguments_that_break_the_schema_are_not_sent() {
    let tool = json!({"name": "t", "inputSchema": {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 3}, "s": {"type": "string"}},
        "required": ["s"],
        "additionalProperties": false,
    }});
    let stage = offering(&tool, text("ok"));
    let cases: [(&[(&str, Value)], &str); 3] = [
        (&[("s", Value::text("a")), ("n", Value::from(2))], "n"),
        (&[("n", Value::from(4))], "s"),
        (&[("s", Value::text("a")), ("other", Value::from(2))], "other"),
    ];
    for (fields, argument) in cases {
        let error = stage.write("t", fields).await.unwrap_err();
        assert_eq!((error.kind, error.acted), (Kind::Limit, Acted::No), "{error}");
        assert_eq!(error.field.as_deref(), Some(argument), "{error}");
        assert!(error.message.contains(&format!("`{argument}`")), "{error}");
    }
    assert!(stage.received("tools/call").is_empty());
    stage.write("t", &[("s", Value::text("a")), ("n", Value::from(3))]).await.unwrap();
}

#[tokio::test]
async fn arguments_keep_their_wire_names_and_their_json() {
    let tool = json!({"name": "t.u/v", "inputSchema": {"type": "object", "properties":
        {"a-b": {"type": "string"}, "名前": {"type": "string"}, "filter[x]": {"type": "object"}}}});
    let stage = offering(&tool, text("ok"));
    let filter = exact::read(br#"{"deep":[1,null,{"x":true}]}"#).unwrap();
    let fields = [("a-b", Value::text("1")), ("名前", Value::text("2")), ("filter[x]", filter)];
    stage.write("t.u/v", &fields).await.unwrap();
    let sent = stage.received("tools/call")[0].json();
    assert_eq!(sent["params"]["name"], "t.u/v");
    assert_eq!(
        sent["params"]["arguments"],
        json!({"a-b": "1", "名前": "2", "filter[x]": {"deep": [1, null, {"x": true}]}}),
        "objects go as objects, and what was not given is not there"
    );
}

#[tokio::test]
async fn a_tool_without_a_readable_schema_takes_all_arguments_at_once() {
    let stage = offering(&json!({"name": "t", "inputSchema": {"_def": {"typeName": "ZodObject"}}}), text("ok"));
    let description = stage.describe().await.unwrap();
    assert!(description.types[0].field("arguments").unwrap().writable);
    stage.write("t", &[("arguments", exact::read(br#"{"a":1}"#).unwrap())]).await.unwrap();
    assert_eq!(stage.received("tools/call")[0].json()["params"]["arguments"], json!({"a": 1}));
    let error = stage.write("t", &[("arguments", Value::text("{}"))]).await.unwrap_err();
    assert!(error.message.contains("JSON object"), "{error}");
}

#[tokio::test]
async fn dates_are_sent_and_read_as_dates() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}},
        "outputSchema": {"type": "object", "properties": {"due": {"type": "string", "format": "date"}}}});
    let stage = offering(&tool, json!({"content": [], "structuredContent": {"due": "2026-02-03"}}));
    let day: jiff::civil::Date = "2026-01-05".parse().unwrap();
    let written = stage.write("t", &[("day", Value::Date(day))]).await.unwrap();
    assert_eq!(stage.received("tools/call")[0].json()["params"]["arguments"]["day"], "2026-01-05");
    assert_eq!(written.fields.get("due"), Some(&Value::Date("2026-02-03".parse().unwrap())));
}

#[tokio::test]
async fn an_answer_that_breaks_its_schema_is_kept_and_said() {
    let tool = |read_only: bool, required: &[&str]| {
        json!({"name": "t", "inputSchema": {}, "annotations": {"readOnlyHint": read_only},
            "outputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": required}})
    };
    let answer = || json!({"content": [], "structuredContent": {"count": "two", "extra": 1}});
    let written = offering(&tool(false, &["count"]), answer()).write("t", &[]).await.unwrap();
    assert_eq!(written.fields.get("count"), None);
    assert_eq!(exact::plain(written.fields.get("structured").unwrap()), r#"{"count":"two","extra":1}"#);
    assert!(written.warnings[0].contains("/count"), "{:?}", written.warnings);

    let error = offering(&tool(true, &["count"]), answer()).read("t", &[]).await.unwrap_err();
    assert_eq!(error.kind, Kind::Drift, "a field that was promised: {error}");
    let page = offering(&tool(true, &[]), answer()).read("t", &[]).await.unwrap();
    assert_eq!(page.records[0].fields.get("count"), None, "one that was not");
}

#[tokio::test]
async fn a_structured_answer_may_come_as_the_only_text() {
    let stage = answering(text(r#"{"count": 7}"#));
    assert_eq!(stage.search().await.unwrap().records[0].fields.get("count"), Some(&Value::from(7)));
    let error = answering(text("seven")).search().await.unwrap_err();
    assert_eq!(error.kind, Kind::Drift, "{error}");
}

#[tokio::test]
async fn a_refusal_is_not_checked_against_the_output_schema() {
    let stage =
        answering(json!({"isError": true, "content": [{"type": "text", "text": "busy"}], "structuredContent": {}}));
    let error = stage.search().await.unwrap_err();
    assert!(error.message.contains("busy"), "{error}");
}

#[tokio::test]
async fn a_tool_that_is_gone_or_has_changed_sides_is_drift() {
    let stage = Stage::good(Offer::of(tools()));
    for error in [
        stage.write("search_issues", &[]).await.unwrap_err(),
        stage.read("create_issue", &[]).await.unwrap_err(),
        stage.read("gone", &[]).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, Kind::Drift, "{error}");
    }
    assert!(stage.received("tools/call").is_empty());
}

#[tokio::test]
async fn a_changed_list_counts_from_the_next_describe() {
    let lists = std::sync::atomic::AtomicUsize::new(0);
    let stage = Stage::new(move |received| {
        let mut offer = Offer::of(tools());
        if received.rpc() == "tools/list" && lists.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0 {
            offer.tools = json!([]);
        }
        offer.reply(received)
    });
    stage.describe().await.unwrap();
    stage.create().await.unwrap();
    stage.create().await.unwrap();
    assert_eq!(stage.received("tools/list").len(), 1, "calls do not list again");
    assert!(stage.describe().await.unwrap().types.is_empty());
    assert_eq!(stage.create().await.unwrap_err().kind, Kind::Drift);
}

#[tokio::test]
async fn what_tools_cannot_do_is_refused_without_a_request() {
    let stage = Stage::good(Offer::of(tools()));
    stage.describe().await.unwrap();
    let described = stage.methods().len();
    let call = stage.call();
    let key = lf_module::Key("1".into());
    let delete = Write::Delete { ty: "create_issue".into(), key: key.clone() };
    let listen =
        Listen { ty: "create_issue".into(), pins: record(&[]), every: std::time::Duration::from_secs(60), from: None };
    let refusals = [
        stage.connection.write(&delete, &call).await.unwrap_err(),
        stage.connection.get(&"create_issue".into(), &key, &call).await.unwrap_err(),
        stage.connection.find(&"create_issue".into(), &record(&[]), &call).await.unwrap_err(),
        stage.connection.listen(listen).unwrap_err(),
    ];
    for error in refusals {
        assert_eq!(error.kind, Kind::Limit, "{error}");
        assert!(error.message.contains("is a tool"), "{error}");
    }
    let create =
        Write::Create { ty: "create_issue".into(), origin: lf_module::call::Origin::Root, fields: record(&[]) };
    assert_eq!(stage.connection.repeat(&create), Repeat::Never);
    assert_eq!(stage.methods().len(), described);
}

#[tokio::test]
async fn x9_calls_in_a_row_do_not_wait_for_acknowledgements() {
    let stage = Stage::good(Offer::of(tools()));
    stage.describe().await.unwrap();
    let mut quickest = std::time::Duration::MAX;
    for _ in 0..20 {
        let started = std::time::Instant::now();
        stage.search().await.unwrap();
        quickest = quickest.min(started.elapsed());
    }
    // Each of them would wait 40 ms, on any machine, if head and body waited for each other's acknowledgement.
    assert!(quickest < std::time::Duration::from_millis(25), "{quickest:?}");
}
