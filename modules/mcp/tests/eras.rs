//! Which generation of the protocol a server speaks, and what that changes; judged by what the server received.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use lf_harness::{Received, Reply, Step, faults::Fault, mcp::Offer};
use lf_module::{Acted, CallError, Kind, Record, Value, call::Settings};
use serde_json::{Value as Json, json};

use crate::stage::{Stage, era, record, tools};

const DISCOVER: &str = "server/discover";
const META: &str = "/params/_meta/io.modelcontextprotocol~1";

fn error(received: &Received, status: u16, code: i64, data: &Json) -> Reply {
    let error = json!({"code": code, "message": "not like this", "data": data});
    let body = json!({"jsonrpc": "2.0", "id": received.rpc_id(), "error": error});
    Reply::status(status).header("Content-Type", "application/json").body(body.to_string())
}

fn answer(received: &Received, result: &Json) -> Reply {
    Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": result}))
}

#[tokio::test]
async fn a_server_without_sessions_gets_all_that_belongs_to_each_request() {
    let stage = Stage::good(Offer::modern(tools()));
    let page = stage.search().await.unwrap();
    assert_eq!(page.records[0].fields.get("count"), Some(&Value::Number(2_i64.into())));
    stage.create().await.unwrap();
    assert_eq!(stage.methods(), [DISCOVER, "tools/list", "tools/call", "tools/call"], "asked once, and remembered");
    let names = [None, None, Some("search_issues"), Some("create_issue")];
    for (request, name) in stage.server.as_ref().unwrap().received().iter().zip(names) {
        assert_eq!(request.method, "POST");
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(request.rpc().as_str()));
        assert_eq!(request.header("mcp-name"), name);
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
        let body = request.json();
        assert_eq!(body.pointer(&format!("{META}protocolVersion")), Some(&json!("2026-07-28")));
        assert_eq!(body.pointer(&format!("{META}clientCapabilities")), Some(&json!({})), "nothing is declared");
        assert_eq!(body.pointer(&format!("{META}clientInfo/name")), Some(&json!("listen-fire")));
    }
    let arguments = &stage.received("tools/call")[1].json()["params"]["arguments"];
    assert_eq!(*arguments, json!({"title": "Follow up", "team": "ENG"}));
    let facts = stage.describe().await.unwrap().facts;
    assert!(facts.contains(&("protocol".to_owned(), "2026-07-28".to_owned())), "{facts:?}");
    assert!(facts.contains(&("server".to_owned(), "scripted".to_owned())), "{facts:?}");
}

#[tokio::test]
async fn what_says_nothing_of_the_generation_is_asked_again_by_the_retry_table() {
    for fault in [Fault::Status(429), Fault::Status(503), Fault::AskedSeconds(503, 3), Fault::ResetBeforeHead] {
        let (offer, met) = (Offer::modern(tools()), AtomicUsize::new(0));
        let stage = Stage::new(move |it| match it.rpc().as_str() {
            DISCOVER if met.fetch_add(1, Ordering::SeqCst) == 0 => fault.reply(offer.body(it).as_bytes()),
            _ => offer.reply(it),
        });
        stage.search().await.unwrap();
        assert_eq!(stage.methods(), [DISCOVER, DISCOVER, "tools/list", "tools/call"], "{fault:?}");
        assert_eq!(stage.world.sleeps().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_revision_it_names_is_asked_once_more() {
    let (offer, met) = (Offer::modern(tools()), AtomicUsize::new(0));
    let stage = Stage::new(move |it| match met.fetch_add(1, Ordering::SeqCst) {
        0 => error(it, 400, -32022, &json!({"supported": ["2026-07-28"], "requested": "2026-07-28"})),
        _ => offer.reply(it),
    });
    stage.describe().await.unwrap();
    assert_eq!(stage.methods(), [DISCOVER, DISCOVER, "tools/list"]);
}

#[tokio::test]
async fn the_setting_saves_the_question_or_the_fallback() {
    let offer = Offer::of(tools());
    let stage = Stage::with(era("legacy"), move |it| offer.reply(it));
    stage.describe().await.unwrap();
    assert_eq!(stage.methods()[0], "initialize");

    let offer = Offer::of(tools());
    let stage = Stage::with(era("modern"), move |it| offer.reply(it));
    let error = stage.describe().await.unwrap_err();
    assert_eq!(error.kind, Kind::Limit);
    assert!(error.message.contains("does not speak revision 2026-07-28: leave out `era`"), "{error}");
    assert_eq!(stage.methods(), [DISCOVER]);

    let offer = Offer::modern(tools());
    let stage = Stage::with(era("legacy"), move |it| offer.reply(it));
    let error = stage.describe().await.unwrap_err();
    assert_eq!(error.kind, Kind::Limit);
    assert!(error.message.contains("leave out `era`"), "{error}");
    assert_eq!(stage.methods(), ["initialize"]);
}

#[tokio::test]
async fn a_server_that_changes_its_generation_is_asked_again() {
    // The server refuses the revision, so even a write may follow: it did nothing.
    let (modern, legacy, called) = (Offer::modern(tools()), Offer::of(tools()), AtomicUsize::new(0));
    let stage = Stage::new(move |it| {
        if it.rpc() == "tools/call" {
            called.fetch_add(1, Ordering::SeqCst);
        }
        match called.load(Ordering::SeqCst) {
            0 => modern.reply(it),
            1 if it.rpc() == "tools/call" => error(it, 400, -32022, &json!({"supported": ["2025-11-25"]})),
            _ => legacy.reply(it),
        }
    });
    stage.create().await.unwrap();
    let expected = [DISCOVER, "tools/list", "tools/call", DISCOVER, "initialize", "notifications/initialized"];
    assert_eq!(stage.methods()[..6], expected);
    assert_eq!(stage.received("tools/call").len(), 2);
    assert_eq!(stage.received("tools/call")[1].header("mcp-session-id"), Some("session-1"));

    // An answer as servers with sessions give it fails the call, and the next one asks again.
    let (modern, legacy, turned) = (Offer::modern(tools()), Offer::of(tools()), AtomicUsize::new(0));
    let stage = Stage::new(move |it| match turned.load(Ordering::SeqCst) {
        0 if it.rpc() == "tools/call" => {
            turned.store(1, Ordering::SeqCst);
            error(it, 400, -32000, &json!(null))
        }
        0 => modern.reply(it),
        _ => legacy.reply(it),
    });
    let error = stage.create().await.unwrap_err();
    assert_eq!((error.kind, error.acted), (Kind::Refused, Acted::No));
    stage.create().await.unwrap();
    assert_eq!(stage.received("initialize").len(), 1);
}

/// A server that asks back `rounds` times before it answers, with the same state each time.
fn asking(rounds: usize, asked: &Json) -> Stage {
    let (offer, met, asked) = (Offer::modern(tools()), AtomicUsize::new(0), asked.clone());
    Stage::new(move |it| match it.rpc().as_str() {
        "tools/call" if met.fetch_add(1, Ordering::SeqCst) < rounds => answer(it, &asked),
        _ => offer.reply(it),
    })
}

async fn both(stage: &Stage) -> [Result<(), CallError>; 2] {
    [stage.search().await.map(drop), stage.create().await.map(drop)]
}

#[tokio::test]
async fn a_server_that_asks_back_gets_its_state_to_the_byte() {
    let state = "{\"nonce\": \"a\u{e9}\u{1f600}\\\"\",  \"n\": 1.0}";
    let stage = asking(2, &json!({"resultType": "input_required", "requestState": state}));
    stage.create().await.unwrap();
    let calls = stage.received("tools/call");
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0].json()["params"].get("requestState"), None);
    for call in &calls[1..] {
        assert_eq!(call.json()["params"]["requestState"], json!(state));
        assert_eq!(call.json()["params"]["arguments"], calls[0].json()["params"]["arguments"]);
        assert_eq!(call.json()["params"].get("inputResponses"), None);
    }
    let ids: Vec<_> = calls.iter().map(|call| call.rpc_id().to_string()).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
    assert!(stage.world.sleeps().is_empty(), "this is no retry");
    stage.create().await.unwrap();
    assert_eq!(stage.received("tools/call")[3].json()["params"].get("requestState"), None, "it was that call's");
}

#[tokio::test]
async fn a_server_that_never_stops_asking_is_refused() {
    let stage = asking(usize::MAX, &json!({"resultType": "input_required", "requestState": "more"}));
    for done in both(&stage).await {
        let error = done.unwrap_err();
        assert_eq!((error.kind, error.acted), (Kind::Refused, Acted::No), "{error}");
        assert!(error.message.contains("11 times in a row"), "{error}");
    }
    assert_eq!(stage.received("tools/call").len(), 22);
}

#[tokio::test]
async fn what_the_server_asks_a_person_for_is_not_offered() {
    let asks = json!({"q": {"method": "elicitation/create", "params": {"message": "sure?"}}});
    let stage = asking(usize::MAX, &json!({"resultType": "input_required", "inputRequests": asks}));
    for done in both(&stage).await {
        let error = done.unwrap_err();
        assert_eq!(error.kind, Kind::Refused);
        assert!(error.message.contains("asks for `elicitation/create`, which is not offered"), "{error}");
    }
    assert_eq!(stage.received("tools/call").len(), 2);
}

#[tokio::test]
async fn a_result_of_a_type_that_nobody_asked_for_is_no_answer() {
    let stage = asking(usize::MAX, &json!({"resultType": "task", "taskId": "7"}));
    let [read, write] = both(&stage).await;
    assert_eq!((read.unwrap_err().acted, write.unwrap_err().acted), (Acted::No, Acted::Maybe));
}

#[tokio::test]
async fn a_stream_that_breaks_is_lost_even_if_it_gave_an_id() {
    let offer = Offer::modern(tools());
    let stage = Stage::new(move |it| match it.rpc().as_str() {
        "tools/call" => Reply::events("id: e7\nretry: 700\ndata:\n\n").then(Step::Close),
        _ => offer.reply(it),
    });
    let [read, write] = both(&stage).await;
    assert_eq!((read.unwrap_err().attempts, write.unwrap_err().acted), (4, Acted::Maybe));
    assert_eq!(stage.received("tools/call").len(), 5);
    assert!(stage.received("GET").is_empty());
}

#[tokio::test]
async fn what_a_server_without_sessions_asks_on_a_stream_is_not_answered() {
    let offer = Offer::modern(tools());
    let stage = Stage::new(move |it| match it.rpc().as_str() {
        "tools/call" => {
            let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
            Reply::events(format!("data: {ping}\n\ndata: {}\n\n", offer.body(it)))
        }
        _ => offer.reply(it),
    });
    stage.create().await.unwrap();
    assert_eq!(stage.methods(), [DISCOVER, "tools/list", "tools/call"]);
}

/// Two listings of one tool: `region` goes as the header `Mcp-Param-Region`, then as `Mcp-Param-Place`.
fn regions(number: usize) -> Json {
    let header = if number == 0 { "Region" } else { "Place" };
    json!([
        {
            "name": "move",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "region": {"type": "string", "x-mcp-header": header},
                    "count": {"type": ["integer", "null"], "x-mcp-header": "Count"},
                    "note": {"type": "string"},
                },
                "required": ["region"],
            },
        },
        {
            "name": "broken",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        },
        {"name": "plain", "inputSchema": {"type": "object"}},
    ])
}

fn moving() -> Record {
    record(&[("region", Value::text("Zürich")), ("note", Value::text("x"))])
}

#[tokio::test]
async fn arguments_that_a_tool_marks_go_as_headers_too() {
    let stage = Stage::good(Offer::modern(regions(0)));
    let description = stage.describe().await.unwrap();
    let names: Vec<_> = description.types.iter().map(|ty| ty.name.as_str()).collect();
    assert_eq!(names, ["move", "plain"], "one that breaks the rules is left out, and the others stay");
    assert!(description.warnings.iter().any(|it| it.contains("`broken`") && it.contains("x-mcp-header")));
    let fields: Vec<_> = moving().iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    stage.write("move", &fields).await.unwrap();
    let call = &stage.received("tools/call")[0];
    assert_eq!(call.header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
    assert_eq!(call.header("mcp-param-count"), None);
    assert!(call.headers.iter().filter(|(name, _)| name.starts_with("mcp-param-")).count() == 1);

    // In the older generation the mark means nothing.
    let stage = Stage::good(Offer::of(regions(0)));
    assert_eq!(stage.describe().await.unwrap().types.len(), 3);
    stage.write("move", &fields).await.unwrap();
    assert_eq!(stage.received("tools/call")[0].header("mcp-param-region"), None);
}

#[tokio::test]
async fn headers_that_do_not_suit_the_server_list_the_tools_once_more() {
    // From the second listing on the server wants the other header, and refuses calls without it.
    let listed = AtomicUsize::new(0);
    let stage = Stage::new(move |it| {
        let mut offer = Offer::modern(regions(0));
        if it.rpc() == "tools/list" {
            offer = Offer::modern(regions(listed.fetch_add(1, Ordering::SeqCst)));
        }
        if it.rpc() == "tools/call" && it.header("mcp-param-place").is_none() {
            return error(it, 400, -32020, &json!(null));
        }
        offer.reply(it)
    });
    stage.write("move", &[("region", Value::text("Basel"))]).await.unwrap();
    assert_eq!(stage.methods(), [DISCOVER, "tools/list", "tools/call", "tools/list", "tools/call"]);
    assert!(stage.world.sleeps().is_empty(), "this is no retry");

    let stage = Stage::new(|it| match it.rpc().as_str() {
        "tools/call" => error(it, 400, -32020, &json!(null)),
        _ => Offer::modern(regions(0)).reply(it),
    });
    let error = stage.write("move", &[("region", Value::text("Basel"))]).await.unwrap_err();
    assert_eq!((error.kind, error.acted, error.status), (Kind::Refused, Acted::No, Some(-32020)));
    assert_eq!(stage.received("tools/call").len(), 2, "once more, and no more");
}

/// A server whose list has two pages that promise to last so long.
fn lasting(first: Json, second: Json) -> Stage {
    let offer = Offer::modern(tools());
    Stage::new(move |it| {
        if it.rpc() != "tools/list" {
            return offer.reply(it);
        }
        let more = it.json()["params"]["cursor"].is_null();
        let mut page = json!({"tools": if more { tools() } else { json!([]) }, "resultType": "complete"});
        if more {
            page["nextCursor"] = json!("2");
        }
        page["ttlMs"] = if more { first.clone() } else { second.clone() };
        answer(it, &page)
    })
}

#[tokio::test]
async fn a_list_is_asked_for_again_when_its_shortest_promise_is_over() {
    let stage = lasting(json!(60_000), json!(5000));
    stage.describe().await.unwrap();
    stage.describe().await.unwrap();
    assert_eq!(stage.received("tools/list").len(), 2);
    stage.world.skip(Duration::from_secs(6));
    stage.describe().await.unwrap();
    assert_eq!(stage.received("tools/list").len(), 4);

    for (first, second) in [(json!(60_000), json!(null)), (json!(0), json!(60_000)), (json!("5"), json!(-1))] {
        let stage = lasting(first.clone(), second.clone());
        stage.describe().await.unwrap();
        stage.describe().await.unwrap();
        assert_eq!(stage.received("tools/list").len(), 4, "{first} {second}");
    }
}

#[tokio::test]
async fn a_list_that_the_server_says_has_changed_is_asked_for_before_the_next_call() {
    let told = AtomicUsize::new(0);
    let stage = Stage::with(Settings::new(), move |it| {
        let offer = Offer::of(tools());
        if it.rpc() == "tools/call" && told.fetch_add(1, Ordering::SeqCst) == 0 {
            let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            return Reply::events(format!("data: {changed}\n\ndata: {}\n\n", offer.body(it)));
        }
        offer.reply(it)
    });
    stage.search().await.unwrap();
    assert_eq!(stage.received("tools/list").len(), 1);
    stage.search().await.unwrap();
    stage.search().await.unwrap();
    assert_eq!(stage.received("tools/list").len(), 2);
}
