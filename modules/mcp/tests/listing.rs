//! `tools/list`: pages, cursors, and servers that get them wrong.

use lf_harness::{Received, Reply, mcp::Offer};
use lf_module::{Description, FieldType, Value};
use serde_json::{Value as Json, json};

use crate::stage::{Stage, tools};

/// A server whose pages are `page` of the cursor that came.
fn paged(page: impl Fn(Option<String>) -> Json + Send + Sync + 'static) -> Stage {
    let offer = Offer::of(tools());
    Stage::new(move |received: &Received| {
        if received.rpc() != "tools/list" {
            return offer.reply(received);
        }
        let cursor = received.json()["params"]["cursor"].as_str().map(str::to_owned);
        Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": page(cursor)}))
    })
}

fn tool(name: &str) -> Json {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn names(description: &Description) -> Vec<&str> {
    description.types.iter().map(|shape| shape.name.as_str()).collect()
}

#[tokio::test]
async fn six_hundred_tools_in_thirteen_pages() {
    let stage = paged(|cursor| {
        let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let tools: Vec<_> =
            (0..50).map(|at| page * 50 + at).filter(|at| *at < 621).map(|at| tool(&format!("t{at}"))).collect();
        if page == 12 { json!({"tools": tools}) } else { json!({"tools": tools, "nextCursor": (page + 1).to_string()}) }
    });
    assert_eq!(stage.describe().await.unwrap().types.len(), 621);
    assert_eq!(stage.received("tools/list").len(), 13);
}

#[tokio::test]
async fn a_cursor_that_comes_again_ends_the_list_with_a_warning() {
    let stage =
        paged(|cursor| json!({"tools": [tool(&format!("t-{}", cursor.unwrap_or_default()))], "nextCursor": "same"}));
    let description = stage.describe().await.unwrap();
    assert_eq!(names(&description), ["t-", "t-same"]);
    assert!(description.warnings[0].contains("not complete"), "{:?}", description.warnings);
}

#[tokio::test]
async fn pages_without_end_are_cut_off() {
    let stage = paged(|cursor| {
        let next: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap()) + 1;
        json!({"tools": [], "nextCursor": next.to_string()})
    });
    let description = stage.describe().await.unwrap();
    assert_eq!(stage.received("tools/list").len(), 1000);
    assert!(description.warnings[0].contains("1000 pages"), "{:?}", description.warnings);
}

#[tokio::test]
async fn a_bad_tool_costs_only_itself() {
    let stage = paged(|_| {
        json!({"tools": [
            tool("good"),
            {"name": "null_schema", "inputSchema": null},
            {"name": "no_schema"},
            {"name": "true_property", "inputSchema": {"type": "object", "properties": {"x": true}}},
            {"name": "true_output", "inputSchema": {"type": "object"}, "outputSchema": true},
            {"name": "odd_hint", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}},
            {"inputSchema": {}},
            "no tool at all",
            {"name": "bad`name", "inputSchema": {}},
            tool("good"),
            tool("also good"),
        ]})
    });
    let description = stage.describe().await.unwrap();
    assert_eq!(
        names(&description),
        ["good", "null_schema", "no_schema", "true_property", "true_output", "odd_hint", "also good"]
    );
    assert!(description.get("odd_hint").unwrap().writable, "only the literal `true` makes a tool readable");
    let warned = description.warnings.join("\n");
    for expected in ["`null_schema`, at `/inputSchema`", "`no_schema`", "without a name", "twice", "bad`name"] {
        assert!(warned.contains(expected), "{expected} in {warned}");
    }
}

#[tokio::test]
async fn a_server_without_tools_is_described_as_such() {
    let offer = Offer::of(tools());
    let stage = Stage::new(move |received| {
        if received.rpc() != "tools/list" {
            return offer.reply(received);
        }
        let error = json!({"code": -32601, "message": "Method not found"});
        Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "error": error}))
    });
    let description = stage.describe().await.unwrap();
    assert!(description.types.is_empty());
    assert_eq!(description.warnings, ["the server has no tools"]);
}

#[tokio::test]
async fn a_tool_that_runs_only_as_a_task_says_so() {
    let stage = paged(|_| {
        let execution = |support| json!({"taskSupport": support});
        json!({"tools": [
            {"name": "must", "inputSchema": {"type": "object"}, "execution": execution("required")},
            {"name": "may", "inputSchema": {"type": "object"}, "execution": execution("optional")},
        ]})
    });
    let description = stage.describe().await.unwrap();
    let must = description.get("must").unwrap();
    assert!(must.unusable.is_some() && !must.writable && !must.readable);
    assert!(description.get("may").unwrap().writable);
    let error = stage.write("must", &[]).await.unwrap_err();
    assert!(error.message.contains("task"), "{error}");
    assert!(stage.received("tools/call").is_empty());
}

#[tokio::test]
async fn strict_results_type_what_an_answer_may_lack() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object",
        "properties": {"sure": {"type": "string"}, "maybe": {"type": "string"}}, "required": ["sure"]}});
    for strict in [false, true] {
        let offer = Offer::of(json!([tool]));
        let settings = [("strict_results".into(), Value::Bool(strict))].into_iter().collect();
        let stage = Stage::with(settings, move |received| offer.reply(received));
        let description = stage.describe().await.unwrap();
        let field = |name: &str| description.types[0].field(name).unwrap();
        assert_eq!((field("sure").optional, field("sure").doubtful), (false, false));
        assert_eq!((field("maybe").optional, field("maybe").doubtful), (strict, !strict));
    }
}

#[tokio::test]
async fn raw_is_what_the_server_said() {
    let offer = Offer::of(tools());
    let stage = Stage::new(move |received| {
        if received.rpc() != "tools/list" {
            return offer.reply(received);
        }
        let tool = r#"{"name":"t","inputSchema":{"x-odd":12345678901234567890123}}"#;
        let id = received.rpc_id();
        Reply::raw_json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tool}]}}}}"#))
    });
    let raw = stage.connection.raw(&stage.call()).await.unwrap();
    assert!(raw.contains(r#""inputSchema":{"x-odd":12345678901234567890123}"#), "{raw}");
    assert!(raw.contains(r#""serverInfo""#), "{raw}");
}

#[tokio::test]
async fn words_of_a_server_cannot_move_the_cursor() {
    let stage =
        paged(|_| json!({"tools": [{"name": "t", "description": "nice\u{1b}[2J\ntool\u{202e}", "inputSchema": {}}]}));
    let description = stage.describe().await.unwrap();
    assert_eq!(description.types[0].doc.as_deref(), Some("nice [2J tool"));
}

#[tokio::test]
async fn hints_may_be_overridden_towards_caution_only() {
    let yes = || Value::Bool(true);
    let named = |name: &str| Value::list(vec![Value::text(name)]);
    // setting, whether the tool that claims to read only is read
    let table = [
        ("writes", named("search_issues"), false),
        ("writes", named("create_issue"), true),
        ("distrust_hints", yes(), false),
        ("distrust_hints", Value::Bool(false), true),
    ];
    for (setting, value, reads) in table {
        let offer = Offer::of(tools());
        let settings = [(setting.into(), value.clone())].into_iter().collect();
        let stage = Stage::with(settings, move |received| offer.reply(received));
        let described = stage.describe().await.unwrap();
        let search = described.get("search_issues").unwrap();
        assert_eq!((search.readable, search.writable), (reads, !reads), "{setting} {value:?}");
        let create = described.get("create_issue").unwrap();
        assert!(create.writable && !create.readable, "{setting} {value:?}");
    }
}

/// One of many tools, with a schema of the usual sorts of properties.
fn one_of_many(number: usize) -> Json {
    let about = format!("what it is for in tool {number}");
    json!({
        "name": format!("tool_{number}"),
        "description": format!("tool {number} of many"),
        "annotations": {"readOnlyHint": number.is_multiple_of(2)},
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "name": {"type": "string", "pattern": "^[a-z]+$", "description": about},
                "count": {"type": ["integer", "null"], "minimum": number},
                "level": {"enum": ["low", "high"]},
                "owner": {"$ref": "#/$defs/Person"},
            },
            "required": ["name"],
            "additionalProperties": false,
            "$defs": {"Person": {"type": "object", "properties": {"boss": {"$ref": "#/$defs/Person"}}}},
        },
        "outputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
    })
}

#[tokio::test]
async fn two_thousand_tools_are_described_and_each_is_checked_when_it_is_called() {
    let stage = paged(|cursor| {
        let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let tools: Vec<_> = (page * 500..(page + 1) * 500).map(one_of_many).collect();
        if page == 3 { json!({"tools": tools}) } else { json!({"tools": tools, "nextCursor": (page + 1).to_string()}) }
    });
    let described = stage.describe().await.unwrap();
    assert_eq!((described.types.len(), described.warnings.as_slice()), (2000, &[][..]));
    let shape = described.get("tool_1235").unwrap();
    assert_eq!(shape.doc.as_deref(), Some("tool 1235 of many"));
    assert!(shape.writable && !shape.readable);
    let fields: Vec<_> = shape.fields.iter().map(|field| (field.name.as_str(), &field.ty, field.required)).collect();
    let level = FieldType::Choice(vec!["low".into(), "high".into()]);
    let expected = [
        ("name", &FieldType::Text, true),
        ("count", &FieldType::Number, false),
        ("level", &level, false),
        ("owner", &FieldType::Json, false),
        ("text", &FieldType::Text, false),
        ("content", &FieldType::Json, false),
        ("structured", &FieldType::Json, false),
    ];
    assert_eq!(fields, expected);
    assert_eq!(shape.fields[0].doc.as_deref(), Some("what it is for in tool 1235"));

    let few = [("name", Value::text("acme")), ("count", Value::from(1234_i64))];
    let error = stage.write("tool_1235", &few).await.unwrap_err();
    assert_eq!(error.field.as_deref(), Some("count"), "{error}");
    assert_eq!(stage.received("tools/call").len(), 0, "what does not fit is not sent");
    stage.write("tool_1235", &[("name", Value::text("acme")), ("count", Value::from(1235_i64))]).await.unwrap();
    stage.read("tool_1234", &few).await.unwrap();
    assert_eq!(stage.received("tools/call").len(), 2);
}
