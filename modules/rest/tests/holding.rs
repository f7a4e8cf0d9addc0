//! Files: fields whose JSON is base64, read again by their record's key and written as base64.

use std::sync::{Arc, Mutex};

use lf_harness::Reply;
use lf_module::{File, Key, Kind, Value, Write, call::Origin, file::to_base64};
use serde_json::json;

use crate::crm::{call, scripted};

const PAPER: &str = r#"
[type.Paper]
key = "id"
[type.Paper.schema]
required = ["id", "scan"]
properties.id = { type = "integer", readOnly = true }
properties.scan = { type = "string", contentEncoding = "base64", contentMediaType = "application/pdf" }
properties.pages = { type = "array", items = { type = "string", contentEncoding = "base64" } }
[type.Paper.get]
path = "/papers/{key}"
[type.Paper.create]
path = "/papers"
"#;

fn files(fields: &lf_module::Record, name: &str) -> Vec<File> {
    fields.get(name).unwrap().files().into_iter().map(|file| file.as_ref().clone()).collect()
}

#[tokio::test]
async fn a_file_is_followed_by_its_records_key_as_it_is_then() {
    let scan = Arc::new(Mutex::new(json!(to_base64(b"\x00one"))));
    let held = scan.clone();
    let (_server, world, connection) = scripted(PAPER, move |_| {
        let scan = held.lock().unwrap().clone();
        if scan.is_null() {
            return Reply::status(404);
        }
        Reply::json(&json!({ "id": 7, "scan": scan, "pages": ["YQ==", "Yg"] }))
    });
    let landed = connection.get(&"Paper".into(), &Key("7".into()), &call(&world)).await.unwrap().unwrap();
    let file = files(&landed.fields, "scan").remove(0);
    assert_eq!((file.size, file.media_type.as_deref(), &file.bytes), (4, Some("application/pdf"), &None));
    let bytes = connection.bytes(&file, 4, &call(&world)).await.unwrap().unwrap();
    assert_eq!(bytes, b"\x00one");
    let second = files(&landed.fields, "pages").remove(1);
    assert_eq!(connection.bytes(&second, 9, &call(&world)).await.unwrap().unwrap(), b"b");
    // What is larger than allowed, what is no base64, what is gone.
    let limit = connection.bytes(&file, 3, &call(&world)).await.unwrap_err();
    assert_eq!(limit.kind, Kind::Limit);
    *scan.lock().unwrap() = json!("%%%");
    let garbage = connection.bytes(&file, 9, &call(&world)).await.unwrap_err();
    assert_eq!(garbage.kind, Kind::Drift);
    assert!(garbage.message.contains("`/scan` is not a `Paper` as described: expected base64"), "{garbage}");
    *scan.lock().unwrap() = serde_json::Value::Null;
    assert_eq!(connection.bytes(&file, 9, &call(&world)).await.unwrap(), None);
}

#[tokio::test]
async fn a_file_is_written_as_its_bytes_in_base64() {
    let (server, world, connection) = scripted(PAPER, |_| Reply::json(&json!({ "id": 8, "scan": "AG9uZQ==" })));
    let sent = File { bytes: Some(Arc::new(b"\x00one".to_vec())), ..File::seen("elsewhere", "x", b"\x00one") };
    let fields = [("scan", Value::file(sent.clone()))].into_iter().collect();
    let write = Write::Create { ty: "Paper".into(), origin: Origin::Root, fields };
    let written = connection.write(&write, &call(&world)).await.unwrap();
    assert_eq!(String::from_utf8(server.received().remove(0).body).unwrap(), r#"{"scan":"AG9uZQ=="}"#);
    assert!(files(&written.fields, "scan").remove(0).is_like(&sent), "it is there, by its own token");
}
