//! A movement that listens to a resource of a real server, in `listen-fire run`: the resource changes, the movement
//! fires, its write arrives.

use std::time::{Duration, Instant};

use listen_fire::demo::Systems;
use serde_json::json;

use super::{Peer, free_port, memory, peers};
use crate::{
    cli::place::{Place, until},
    listen::peers::{call, everything, session, write},
};

/// Nothing here takes so long.
const LONG: Duration = Duration::from_secs(60);

/// A project whose movement writes a company for each change of the resource.
fn place(systems: &Systems, peer: &Peer, settings: &str, uri: &str) -> Place {
    let mut place = Place::triage();
    place.write(
        "movements/triage.mvt",
        &format!(
            "crm = connect #acme_crm using acme\nboard = connect `@lf/mcp` using peer {settings}\n\n\
             function told(change: <board-[:resource]->>) {{\n  \
             write crm-[:Company]-> {{ Name: \"${{change.uri}} is ${{change.text}}\" }}\n}}\n\n\
             listen to board-[r:resource WHERE r.uri == \"{uri}\"]-> fire told\n"
        ),
    );
    place.set("LISTEN_FIRE_CREDENTIAL_ACME", json!({"url": systems.crm_url(), "client": "tests"}).to_string());
    let peer = json!({"module": "@lf/mcp", "kind": "mcp_token", "url": peer.url, "token": "t"});
    place.set("LISTEN_FIRE_CREDENTIAL_PEER", peer.to_string());
    place
}

fn names(systems: &Systems) -> Vec<String> {
    systems.crm.companies().into_iter().map(|company| company.name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_of_server_memory_fires_in_both_generations() {
    const GRAPH: &str = "memory://knowledge-graph";
    let Some(folder) = peers("listening::server_memory") else { return };
    for settings in [r#"{ era: "legacy" }"#, r#"{ era: "modern" }"#, ""] {
        let (systems, peer) = (Systems::start().await.unwrap(), memory(&folder));
        let place = place(&systems, &peer, settings, GRAPH);
        place.run(["check"]).code(0);
        let running = place.start(["run"]);
        // What is there when it begins to listen is no change; so it is changed until one is told.
        let start = Instant::now();
        for number in 0.. {
            write(&peer.url, &format!("{settings} before {number}")).await;
            let patience = Instant::now() + Duration::from_millis(500);
            while names(&systems).is_empty() && Instant::now() < patience {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if !names(&systems).is_empty() {
                break;
            }
            assert!(start.elapsed() < LONG, "{settings}: nothing was told: {}", running.aside());
        }
        let before = names(&systems).len();
        write(&peer.url, &format!("{settings} the last")).await;
        until("the change is written", || names(&systems).len() > before);
        let told = names(&systems).pop().unwrap();
        assert!(told.starts_with(GRAPH) && told.contains("the last"), "{told}");
        running.end("TERM").code(0);
        let runs = place.run(["--json", "runs", "list"]).code(0);
        assert!(runs.out.lines().all(|run| run.contains(r#""state":"done""#)), "{}", runs.out);
        assert_eq!(runs.out.lines().count(), names(&systems).len(), "one run and one write for each change");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_of_server_everything_fires_on_each_beat() {
    const TEXT: &str = "demo://resource/dynamic/text/1";
    let Some(folder) = peers("listening::server_everything") else { return };
    let systems = Systems::start().await.unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let peer = everything(&folder, log.path(), free_port());
    let place = place(&systems, &peer, "", TEXT);
    place.run(["check"]).code(0);
    let opened = || std::fs::read_to_string(log.path()).unwrap().matches("Session initialized with ID: ").count();
    let before = opened();
    let running = place.start(["run"]);
    // One session describes, the other listens; its pushes are switched on inside it.
    until("the session of the stream is open", || opened() == before + 2);
    call(&peer.url, &session(log.path()), "toggle-subscriber-updates").await;
    until("two beats are written", || names(&systems).len() >= 2);
    assert!(names(&systems).iter().all(|name| name.starts_with(TEXT)), "{:?}", names(&systems));
    running.end("TERM").code(0);
}
