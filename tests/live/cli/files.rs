//! A file of one system that a movement writes into another, by the executable: the bytes arrive as they are, and what
//! stands in the way is said.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use lf_harness::{Reply, Server, World};
use lf_module::file::to_base64;
use serde_json::{Value as Json, json};

use super::place::{Place, holds};

const ARCHIVE: &str = r#"
base_url = "BASE"
[type.Paper]
key = "id"
[type.Paper.schema]
required = ["id", "name", "scan"]
properties.id = { type = "integer", readOnly = true }
properties.name = { type = "string" }
properties.scan = { type = "string", contentEncoding = "base64", contentMediaType = "application/pdf" }
[type.Paper.list]
path = "/papers"
records = "/items"
[type.Paper.get]
path = "/papers/{key}"
[type.Paper.listen]
by = "list"
"#;

const VAULT: &str = r#"
base_url = "BASE"
[type.Document]
key = "id"
[type.Document.schema]
required = ["id", "name", "content"]
properties.id = { type = "integer", readOnly = true }
properties.name = { type = "string" }
properties.content = { type = "string", contentEncoding = "base64", writeOnly = true }
[type.Document.create]
path = "/documents"
"#;

const MOVEMENT: &str = "\
archive = connect #archive
vault = connect #vault

function keep(paper: <archive-[:Paper]->>) {
  write vault-[:Document]-> { name: \"${paper.name}, ${paper.scan.size} bytes\", content: paper.scan }
}

listen to archive-[:Paper]-> { start: \"all\" } fire keep
";

/// What the archive answers when it is asked for one paper; its list always has the paper with `BYTES`.
type Later = Arc<Mutex<Option<Json>>>;

const BYTES: &[u8] = b"\x00%PDF-1.7\n\xff\xfe secret of the scan\r\n";

fn paper(bytes: &[u8]) -> Json {
    json!({ "id": 7, "name": "Deed", "scan": to_base64(bytes) })
}

/// A project between an archive and a vault.
fn place(later: &Later, limits: &str) -> (Place, Server, Server) {
    let later = later.clone();
    let archive = Server::start(World::new(0.0), move |received| {
        if received.path == "/papers" {
            return Reply::json(&json!({ "items": [paper(BYTES)] }));
        }
        later.lock().unwrap().as_ref().map_or_else(|| Reply::status(404), Reply::json)
    });
    let vault = Server::start(World::new(0.0), |received| {
        Reply::json(&json!({ "id": 1, "name": received.json()["name"] })).with_status(201)
    });
    let (archive, vault) = (archive.unwrap(), vault.unwrap());
    let place = Place::bare(&format!("name = \"files\"\nedition = 1\n{limits}"));
    place.write("modules/archive.toml", &ARCHIVE.replace("BASE", archive.url("").trim_end_matches('/')));
    place.write("modules/vault.toml", &VAULT.replace("BASE", vault.url("").trim_end_matches('/')));
    place.write("movements/keep.mvt", MOVEMENT);
    (place, archive, vault)
}

fn written(vault: &Server) -> Vec<Json> {
    vault.received().iter().filter(|received| received.method == "POST").map(lf_harness::Received::json).collect()
}

/// Everything that the project keeps, but the text of its own files.
fn kept(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder.join(".listen-fire")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            all.extend(std::fs::read(path).unwrap());
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_one_system_arrives_in_another_byte_for_byte_and_is_not_kept() {
    let (place, _archive, vault) = place(&Arc::new(Mutex::new(Some(paper(BYTES)))), "");
    place.run(["check"]).code(0);
    place.run(["run", "--once"]).code(0).shows("done");
    let name = format!("Deed, {} bytes", BYTES.len());
    assert_eq!(written(&vault), [json!({ "name": name, "content": to_base64(BYTES) })]);
    place.run(["runs", "show", "1"]).code(0).shows("application/pdf");
    let kept = kept(place.path());
    assert!(!holds(&kept, "secret of the scan") && !holds(&kept, &to_base64(BYTES)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_gone_garbage_or_too_large_when_it_is_written_ends_the_run_at_its_line() {
    let garbage = json!({ "id": 7, "name": "Deed", "scan": "!! no base64 !!" });
    let larger = paper(&[7; 3000]);
    let small = "[limits]\nfile = \"1 KiB\"\n";
    for (later, limits, said) in [
        (None, "", "is no longer there"),
        (Some(garbage), "", "expected base64"),
        (Some(larger), small, "it has 3000 bytes by now, and 1024 are allowed"),
        (Some(paper(b"other")), "", "`archive` has 5 bytes; it had 33"),
    ] {
        let shown = format!("{later:?}");
        let (place, _archive, vault) = place(&Arc::new(Mutex::new(later)), limits);
        let ran = place.run(["run", "--once"]);
        assert!(ran.out.contains("movements/keep.mvt:5"), "{shown}: {}\n{}", ran.out, ran.err);
        assert_eq!(written(&vault).len(), 0, "{shown}");
        let list = place.run(["--json", "runs", "list"]).code(0);
        assert!(list.out.contains("\"state\":\"dead\""), "{shown}: {}", list.out);
        place.run(["runs", "show", "1"]).code(0).shows(said).shows("nothing was written");
    }
}
