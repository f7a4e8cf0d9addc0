//! Writes: what is sent, how often, and what is known after a failure.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use lf_harness::{Received, Reply, Server, World, faults::Fault, server::unused_port};
use lf_module::{Acted, Call, Key, Kind, Record, Repeat, Tie, Value, Write, call::Origin};
use serde_json::json;

use crate::crm::{Crm, call, connect, scripted};

const ITEM: &str = r#"
[type.Item]
key = "id"
[type.Item.schema]
required = ["id", "Name"]
properties.id = { type = "integer", readOnly = true }
properties.Name = { type = "string" }
properties.note = { type = ["string", "null"] }
properties.tags = { type = "array", items = { type = "string" } }
properties.count = { type = "number" }
"#;

fn create(fields: &[(&str, Value)]) -> Write {
    Write::Create { ty: "Item".into(), origin: Origin::Root, fields: fields.iter().cloned().collect() }
}

fn update(fields: &[(&str, Value)]) -> Write {
    Write::Update { ty: "Item".into(), key: Key("7".into()), fields: fields.iter().cloned().collect() }
}

fn delete() -> Write {
    Write::Delete { ty: "Item".into(), key: Key("7".into()) }
}

#[tokio::test]
async fn a_create_sends_the_given_fields_and_reads_the_new_record() {
    let file = format!("{ITEM}[type.Item.create]\npath = \"/items\"\nrecord = \"/item\"\n");
    let (server, world, connection) =
        scripted(&file, |_| Reply::json(&json!({ "item": { "id": 7, "Name": "Umbra", "note": null, "other": 1 } })));
    let count = Value::Number("0.10".parse().unwrap());
    let write = create(&[("Name", "Umbra".into()), ("tags", Value::list(vec!["a".into()])), ("count", count)]);
    let written = connection.write(&write, &call(&world)).await.unwrap();
    assert_eq!((written.created, written.key), (true, Some(Key("7".into()))));
    assert_eq!(written.fields.get("Name"), Some(&"Umbra".into()));
    assert_eq!(written.warnings, Vec::<String>::new());
    let request = server.received().remove(0);
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(String::from_utf8(request.body).unwrap(), r#"{"Name":"Umbra","tags":["a"],"count":0.10}"#);
}

#[tokio::test]
async fn a_body_is_built_from_its_template() {
    let file = format!(
        "{ITEM}[type.Item.create]\npath = \"/items\"\nquery = {{ note = \"{{note}}\" }}\n\
         body = {{ kind = \"item\", version = 2, name = \"{{Name}}\", title = \"<{{Name}}> {{{{}}}}\", n = \"{{count}}\", note = \"{{note}}\", all = \"{{fields}}\", list = [\"{{tags}}\", \"{{note}}\"] }}\n"
    );
    let (server, world, connection) = scripted(&file, |_| Reply::status(201).header("Location", "/items/a%2Fb"));
    let write =
        create(&[("Name", "Um\"bra".into()), ("count", Value::from(5)), ("tags", Value::list(vec!["a".into()]))]);
    let written = connection.write(&write, &call(&world)).await.unwrap();
    assert_eq!(written.key, Some(Key("a/b".into())));
    let request = server.received().remove(0);
    assert_eq!(request.path, "/items");
    let expected = json!({
        "kind": "item", "version": 2, "name": "Um\"bra", "title": "<Um\"bra> {}", "n": 5,
        "all": { "Name": "Um\"bra", "count": 5, "tags": ["a"] }, "list": [["a"]],
    });
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_a_warning_since_the_write_has_happened() {
    let file = format!("{ITEM}[type.Item.create]\npath = \"/items\"\n");
    let table = [
        (
            r#"{"id":7,"Name":5}"#,
            Some("7"),
            "`POST /items`: `/Name` is not a `Item` as described: value is not of type \"string\"",
        ),
        (
            r#"{"Name":"x","id":"7"}"#,
            None,
            "`POST /items`: `/id` is not a `Item` as described: value is not of type \"integer\"",
        ),
        ("thanks", None, "`POST /items` answered with what is not JSON at byte 0: expected a value"),
        ("", None, "`POST /items`: the answer does not tell the new record's `id`"),
    ];
    for (answer, key, warning) in table {
        let (_server, world, connection) = scripted(&file, move |_| Reply::raw_json(answer));
        let written = connection.write(&create(&[("Name", "x".into())]), &call(&world)).await.unwrap();
        assert_eq!(written.key, key.map(|key| Key(key.into())));
        assert!(written.warnings.contains(&warning.to_owned()), "{:?}", written.warnings);
    }
}

#[tokio::test]
async fn a_patch_sends_the_changes_and_empties_with_null() {
    let file = format!("{ITEM}[type.Item.update]\npath = \"/items/{{key}}\"\n");
    let (server, world, connection) = scripted(&file, |_| Reply::status(204));
    let write = update(&[("Name", "New".into()), ("note", Value::Absent)]);
    assert_eq!(connection.repeat(&write), Repeat::Harmless);
    let written = connection.write(&write, &call(&world)).await.unwrap();
    assert_eq!((written.created, written.key), (false, Some(Key("7".into()))));
    let request = server.received().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("PATCH", "/items/7"));
    assert_eq!(request.json(), json!({ "Name": "New", "note": null }));
    for (field, value, message) in [
        ("Name", Value::Absent, "the field `Name` of `Item` cannot be emptied"),
        ("id", Value::from(1), "the field `id` of `Item` cannot be written"),
        ("nam", Value::from(1), "`Item` has no field `nam`"),
    ] {
        let error = connection.write(&update(&[(field, value)]), &call(&world)).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str(), error.field.as_deref()), (Kind::Limit, message, Some(field)));
    }
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_put_sends_the_whole_record_with_the_changes_in_it() {
    let file = format!(
        "{ITEM}[type.Item.get]\npath = \"/items/{{key}}\"\n[type.Item.update]\nmethod = \"PUT\"\npath = \"/items/{{key}}\"\n"
    );
    let (server, world, connection) = scripted(&file, |request| match request.method.as_str() {
        "GET" => Reply::json(&json!({ "id": 7, "Name": "Old", "tags": ["a"], "hidden": { "deep": 1 } })),
        _ => Reply::json(&request.json()),
    });
    connection.write(&update(&[("Name", "New".into())]), &call(&world)).await.unwrap();
    let put = server.received().remove(1);
    assert_eq!(put.method, "PUT");
    assert_eq!(put.json(), json!({ "Name": "New", "tags": ["a"], "hidden": { "deep": 1 } }));
}

#[tokio::test]
async fn deleting_what_is_gone_is_done() {
    for status in [200, 204, 404, 410] {
        let file = format!("{ITEM}[type.Item.delete]\npath = \"/items/{{key}}\"\n");
        let (server, world, connection) = scripted(&file, move |_| Reply::status(status));
        assert_eq!(connection.repeat(&delete()), Repeat::Harmless);
        let written = connection.write(&delete(), &call(&world)).await.unwrap();
        assert_eq!(written.key, Some(Key("7".into())));
        assert_eq!((server.received()[0].method.as_str(), server.received().len()), ("DELETE", 1));
    }
}

#[tokio::test]
async fn a_key_that_could_leave_its_place_is_not_sent() {
    let file = format!("{ITEM}[type.Item.delete]\npath = \"/items/{{key}}\"\n");
    let (server, world, connection) = scripted(&file, |_| Reply::status(204));
    for key in ["", ".", "..", "%2e%2e"] {
        let write = Write::Delete { ty: "Item".into(), key: Key(key.into()) };
        let answer = connection.write(&write, &call(&world)).await;
        if key == "%2e%2e" {
            answer.unwrap();
        } else {
            assert_eq!(answer.unwrap_err().kind, Kind::Limit);
        }
    }
    let paths: Vec<String> = server.received().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/items/%252e%252e"]);
}

/// How often a write arrives, how it ends, and whether its outcome is known.
async fn outcome(
    file: &str,
    write: &Write,
    fault: Fault,
    idempotency: Option<&str>,
) -> (usize, Result<(), (Kind, Acted)>) {
    let (server, world, connection) = scripted(file, move |request| {
        if request.number == 0 {
            fault.reply(br#"{"id":7,"Name":"x"}"#)
        } else {
            Reply::json(&json!({ "id": 7, "Name": "x" }))
        }
    });
    let call = Call { idempotency: idempotency.map(Into::into), ..call(&world) };
    let answer = connection.write(write, &call).await;
    let keys: Vec<_> =
        server.received().iter().map(|request| request.header("idempotency-key").map(str::to_owned)).collect();
    assert!(keys.iter().all(|key| key.as_deref() == idempotency.filter(|_| file.contains("idempotency"))), "{keys:?}");
    (server.received().len(), answer.map(drop).map_err(|error| (error.kind, error.acted)))
}

#[tokio::test]
async fn a_create_is_sent_again_only_if_nothing_can_have_been_done() {
    let file = format!("{ITEM}[type.Item.create]\npath = \"/items\"\n");
    let write = create(&[("Name", "x".into())]);
    let (known, unknown) = (Acted::No, Acted::Maybe);
    for (fault, expected) in [
        (Fault::Status(429), (2, Ok(()))),
        (Fault::AskedSeconds(429, 3), (2, Ok(()))),
        (Fault::AskedSeconds(503, 3), (2, Ok(()))),
        (Fault::AskedRubbish(503), (1, Err((Kind::Passing, unknown)))),
        (Fault::Status(500), (1, Err((Kind::Passing, unknown)))),
        (Fault::Status(502), (1, Err((Kind::Passing, unknown)))),
        (Fault::Status(503), (1, Err((Kind::Passing, unknown)))),
        (Fault::Status(501), (1, Err((Kind::Refused, known)))),
        (Fault::Status(422), (1, Err((Kind::Refused, known)))),
        (Fault::Status(401), (1, Err((Kind::Credential, known)))),
        (Fault::Status(403), (1, Err((Kind::Credential, known)))),
        (Fault::Status(303), (1, Err((Kind::Refused, unknown)))),
        (Fault::ResetBeforeHead, (1, Err((Kind::Passing, unknown)))),
        (Fault::ClosedBeforeHead, (1, Err((Kind::Passing, unknown)))),
        (Fault::ResetMidBody, (1, Err((Kind::Passing, unknown)))),
        (Fault::CutBody, (1, Err((Kind::Passing, unknown)))),
    ] {
        assert_eq!(outcome(&file, &write, fault, None).await, expected, "{fault:?}");
    }
}

#[tokio::test]
async fn with_an_idempotency_header_a_create_is_sent_again_under_the_same_key() {
    let file = format!("{ITEM}[type.Item.create]\npath = \"/items\"\nidempotency_header = \"Idempotency-Key\"\n");
    let write = create(&[("Name", "x".into())]);
    for fault in [Fault::Status(500), Fault::Status(503), Fault::ResetBeforeHead, Fault::CutBody] {
        assert_eq!(outcome(&file, &write, fault, Some("effect-1")).await, (2, Ok(())), "{fault:?}");
        let unkeyed = outcome(&file, &write, fault, None).await;
        assert_eq!(unkeyed, (1, Err((Kind::Passing, Acted::Maybe))), "without a key: {fault:?}");
    }
    let (_server, _world, connection) = scripted(&file, |_| Reply::status(500));
    assert_eq!(connection.repeat(&write), Repeat::ByKey);
}

#[tokio::test]
async fn a_create_waits_for_a_system_that_is_not_up_yet() {
    let file = format!("{}{ITEM}[type.Item.create]\npath = \"/items\"\n", crate::crm::HEAD);
    let world = World::new(0.5);
    let port = unused_port().unwrap();
    let connection = connect(&file, &format!("http://127.0.0.1:{port}"), world.ports()).unwrap();
    let up = Arc::new(Mutex::new(None));
    let (server, clock, runtime) = (up.clone(), world.clone(), tokio::runtime::Handle::current());
    world.during_sleeps(move |number| {
        if number == 2 {
            let _inside = runtime.enter();
            let answer = |_: &Received| Reply::json(&json!({ "id": 7, "Name": "x" }));
            *server.lock().unwrap() = Some(Server::on_port(port, clock.clone(), answer).unwrap());
        }
    });
    let written = connection.write(&create(&[("Name", "x".into())]), &call(&world)).await.unwrap();
    assert_eq!(written.key, Some(Key("7".into())));
    assert_eq!(up.lock().unwrap().as_ref().unwrap().received().len(), 1);
}

#[tokio::test]
async fn updates_and_deletes_are_sent_again() {
    let file =
        format!("{ITEM}[type.Item.update]\npath = \"/items/{{key}}\"\n[type.Item.delete]\npath = \"/items/{{key}}\"\n");
    for write in [update(&[("Name", "x".into())]), delete()] {
        for fault in [Fault::Status(500), Fault::Status(429), Fault::ResetBeforeHead, Fault::CutBody] {
            assert_eq!(outcome(&file, &write, fault, None).await, (2, Ok(())), "{fault:?}");
        }
        assert_eq!(outcome(&file, &write, Fault::Status(400), None).await, (1, Err((Kind::Refused, Acted::No))));
    }
}

#[tokio::test]
async fn a_write_that_keeps_failing_ends_after_four_attempts_and_says_so() {
    let file = format!("{ITEM}[type.Item.update]\npath = \"/items/{{key}}\"\n");
    let (server, world, connection) = scripted(&file, |_| Reply::status(500).body("out of order"));
    let error = connection.write(&update(&[("Name", "x".into())]), &call(&world)).await.unwrap_err();
    assert_eq!((server.received().len(), error.attempts, error.acted), (4, 4, Acted::Maybe));
    assert!(error.message.starts_with("`PATCH /items/7` answered 500: out of order; no attempt is left"), "{error}");
    assert_eq!(world.sleeps(), [250, 500, 1000].map(Duration::from_millis));
}

#[tokio::test]
async fn an_update_by_post_is_never_sent_again() {
    let file = format!("{ITEM}[type.Item.update]\nmethod = \"POST\"\npath = \"/items/{{key}}\"\n");
    let write = update(&[("Name", "x".into())]);
    assert_eq!(outcome(&file, &write, Fault::Status(500), None).await, (1, Err((Kind::Passing, Acted::Maybe))));
    let (_server, _world, connection) = scripted(&file, |_| Reply::status(500));
    assert_eq!(connection.repeat(&write), Repeat::Never);
}

#[tokio::test]
async fn what_is_not_declared_is_refused_and_nothing_is_sent() {
    let (server, world, connection) = scripted(ITEM, |_| Reply::status(200));
    for (write, message) in [
        (create(&[]), "`Item` cannot be created: the module declares no `create`"),
        (update(&[]), "`Item` cannot be updated: the module declares no `update`"),
        (delete(), "`Item` cannot be deleted: the module declares no `delete`"),
    ] {
        let error = connection.write(&write, &call(&world)).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str(), error.acted), (Kind::Limit, message, Acted::No));
    }
    let by = Record::from_iter([("Name", "x".into())]);
    assert_eq!(connection.find(&"Item".into(), &by, &call(&world)).await.unwrap_err().kind, Kind::Limit);
    assert_eq!(connection.get(&"Item".into(), &Key("1".into()), &call(&world)).await.unwrap_err().kind, Kind::Limit);
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_record_is_created_under_another_by_the_edges_own_request() {
    let crm = Crm::start(2, 1);
    let connection = crm.connect();
    let origin = Origin::Record { ty: "Company".into(), key: Key("2".into()), edge: "Members".into() };
    let fields = Record::from_iter([("email", "new@example.com".into())]);
    let write = Write::Create { ty: "Person".into(), origin, fields };
    assert_eq!(connection.repeat(&write), Repeat::Never);
    let written = connection.write(&write, &call(&crm.world)).await.unwrap();
    assert_eq!((written.created, written.key), (true, Some(Key("p/1".into()))));
    assert_eq!(crm.state().members.iter().cloned().collect::<Vec<_>>(), [(2, "p/1".to_owned())]);
    let origin = Origin::Record { ty: "Company".into(), key: Key("2".into()), edge: "People".into() };
    let write = Write::Create { ty: "Person".into(), origin, fields: Record::new() };
    let error = connection.write(&write, &call(&crm.world)).await.unwrap_err();
    assert_eq!(error.message, "`Person` cannot be created by `People`: the module declares no `create`");
}

#[tokio::test]
async fn a_link_by_post_is_looked_for_first_and_sent_once() {
    let crm = Crm::start(1, 2);
    let connection = crm.connect();
    let tie = || Tie { ty: "Company".into(), key: Key("1".into()), edge: "Watchers".into(), to: Key("p/1".into()) };
    for _ in 0..2 {
        connection.write(&Write::Link(tie()), &call(&crm.world)).await.unwrap();
    }
    assert_eq!(crm.state().watchers, [(1, "p/1".to_owned())]);
    for _ in 0..2 {
        connection.write(&Write::Unlink(tie()), &call(&crm.world)).await.unwrap();
    }
    assert_eq!(crm.state().watchers, []);
    let posts = crm.server.received().iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts, 2);
    let tie = Tie { edge: "People".into(), ..tie() };
    let error = connection.write(&Write::Link(tie), &call(&crm.world)).await.unwrap_err();
    assert_eq!(error.message, "`People` of `Company` cannot be linked: the module declares no `link`");
}
