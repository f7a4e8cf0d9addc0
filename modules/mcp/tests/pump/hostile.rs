//! What a server may send, and how much may be asked for: nothing of it ends the pump, or makes it lose what is in order.

use lf_harness::{Reply, Watched, watched::Habits};
use serde_json::json;

use super::stage::{A, B, Setting};

#[tokio::test]
async fn a42_nothing_on_the_stream_ends_the_pump() {
    for habits in [Habits::LEGACY, Habits::MODERN] {
        let stage = Setting::new(habits).one().listening().await;
        let updated = "\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\"";
        let pieces: [Vec<u8>; 16] = [
            b"data: {\n\n".to_vec(),
            b"data: \xff\xfe\x00\n\n".to_vec(),
            b"\x00\x01\x02\n\n".to_vec(),
            [b"data: ", "[".repeat(200_000).as_bytes(), b"\n\n"].concat(),
            format!("data: {{{updated}}}\n\n").into(),
            format!("data: {{{updated},\"params\":\"{A}\"}}\n\n").into(),
            format!("data: {{{updated},\"params\":{{\"uri\":17}}}}\n\n").into(),
            format!("data: {{{updated},\"params\":{{\"uri\":[\"{A}\"]}}}}\n\n").into(),
            b"data: [[],{},null,1,\"x\"]\n\n".to_vec(),
            b"data: {\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\n\n".to_vec(),
            b"data: {\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"ping\"}\n\n".to_vec(),
            b"data: {\"jsonrpc\":\"2.0\",\"id\":{\"a\":[1]},\"method\":\"ping\"}\n\n".to_vec(),
            b"data: {\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"error\":17}\n\n".to_vec(),
            b"id: \xff\xff\nretry: 99999999999999999999999999\nevent:\n\n".to_vec(),
            b"retry: -1\nid\ndata\n\n".to_vec(),
            b":".repeat(100_000),
        ];
        for piece in pieces {
            stage.watched.act(&lf_harness::Step::Send(piece));
            stage.pass(1).await;
        }
        stage.watched.say("\n\n");
        assert!(stage.results().is_empty(), "{:?}", stage.results());
        assert_eq!(stage.watched.push(A), 1, "{habits:?}: the stream is open: {:?}", stage.asides());
        stage.pass(1).await;
        assert_eq!(stage.results().len(), 1, "{habits:?}: {:?}", stage.asides());
    }
}

#[tokio::test]
async fn a_message_without_end_costs_its_stream_only() {
    for habits in [Habits::LEGACY, Habits::MODERN] {
        let stage = Setting::new(habits).one().listening().await;
        for _ in 0..33 {
            stage.watched.act(&lf_harness::Step::Send(vec![b'x'; 1 << 20]));
            stage.pass(1).await;
        }
        stage.pass(20).await;
        assert_eq!(stage.reasons(), ["dropped"], "{habits:?}");
        stage.watched.push(A);
        stage.pass(1).await;
        assert_eq!(stage.results().len(), 1, "{habits:?}");
    }
}

#[tokio::test]
async fn a35_a_read_of_any_size_or_kind_is_told_all_the_same() {
    let answers: [fn(&lf_harness::Received) -> Reply; 8] = [
        |_| Reply::raw_json("x".repeat(33 << 20)),
        |received| {
            let text = "x".repeat(15 << 20);
            let result = json!({"contents": [{"uri": A, "text": text}]});
            Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": result}))
        },
        |received| Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": {"contents": "no list"}})),
        |_| Reply::status(200).header("Content-Type", "text/html").body("<html>"),
        |_| Reply::status(500).header("Content-Type", "text/html").body("x".repeat(1 << 20)),
        |_| Reply::reset(),
        |_| Reply::events("data: [\n\n"),
        |_| Reply::status(200),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]);
        let stage = setting.with(|options| options.resync = false).listening().await;
        stage.watched.fault(move |received| (received.rpc() == "resources/read").then(|| answer(received)));
        stage.watched.push(A);
        stage.pass(35).await;
        let lines = stage.results();
        assert_eq!(lines.len(), 1, "{number}: {:?}", stage.asides());
        assert!(lines[0]["trigger"].is_null(), "{number}");
        let faults = stage.messages("filter_error");
        assert_eq!(faults.len(), 1, "{number}");
        assert!(faults[0].len() < 2000, "{number}: {} bytes", faults[0].len());
    }
}

#[tokio::test]
async fn a27_uris_of_any_writing_are_compared_and_told_as_they_are() {
    let uris = ["платa://доска/\u{1F600}", "a:b c\"\\\n\t\u{2028}", "e\u{301}:x", "é:x", "=?base64?eA==?=", " a:b "];
    for habits in [Habits::LEGACY, Habits::MODERN] {
        let mut setting = Setting::new(habits);
        setting.watched = Watched::new(habits, &uris);
        setting.server = setting.watched.serve(0, setting.clock.clone()).unwrap();
        setting.options.target = lf_mcp::pump::Target::new(&setting.server.url("/mcp")).unwrap();
        setting.options.uris = uris.iter().map(|uri| (*uri).into()).collect();
        let stage = setting.listening().await;
        assert_eq!(stage.count("subscribed"), uris.len(), "{:?}", stage.asides());
        for (number, uri) in uris.into_iter().enumerate() {
            stage.watched.change(uri, super::stage::board(&[("1", "user:1", "1")]));
            stage.pass(1).await;
            let lines = stage.results();
            assert_eq!(lines.len(), number + 1, "{habits:?}: {uri:?}");
            assert_eq!((&lines[number]["uri"], &lines[number]["trigger"]["id"]), (&json!(uri), &json!("1")));
        }
    }
}

#[tokio::test]
async fn a12_hundreds_of_resources_do_not_fall_upon_a_server_all_at_once() {
    let uris: Vec<_> = (0..500).map(|number| format!("board://{number}")).collect();
    let names: Vec<_> = uris.iter().map(String::as_str).collect();
    for habits in [Habits::LEGACY, Habits::MODERN] {
        let mut setting = Setting::new(habits);
        setting.watched = Watched::new(habits, &names);
        setting.server = setting.watched.serve(0, setting.clock.clone()).unwrap();
        setting.options.target = lf_mcp::pump::Target::new(&setting.server.url("/mcp")).unwrap();
        setting.options.uris = uris.iter().map(Into::into).collect();
        // A server that is slow to say what is there.
        setting.watched.fault(|received| (received.rpc() == "resources/read").then(Reply::silence));
        let stage = setting.start();
        while stage.count("subscribed") < uris.len() {
            stage.pass_millis(10).await;
        }
        stage.pass(5).await;
        let reads = stage.got("resources/read").len();
        assert!((1..=8).contains(&reads), "{habits:?}: {reads} at once");
        // What is pushed does not wait for that.
        stage.watched.heal();
        stage.watched.push(&uris[499]);
        stage.pass(1).await;
        assert_eq!(stage.results().len(), 1, "{habits:?}");
        // Each is looked at in the end, so that what changes in a gap is told.
        stage.pass(60).await;
        stage.watched.end_streams(&lf_harness::Step::Close);
        for uri in &uris[..100] {
            stage.watched.write(uri, "changed in the gap");
        }
        for _ in 0..4 {
            stage.pass(10).await;
        }
        assert_eq!(stage.results().len(), 101, "{habits:?}");
    }
}

#[tokio::test]
async fn a41_a_flood_of_requests_is_answered_within_bounds_and_updates_go_on() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.watched.fault(|received| (received.method == "POST" && received.rpc().is_empty()).then(Reply::silence));
    for id in 0..1000 {
        stage.watched.say(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n\n"));
    }
    stage.watched.push(B);
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 1);
    assert!(stage.got("POST").len() <= 16, "{}", stage.got("POST").len());
}
