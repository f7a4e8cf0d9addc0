//! Faults in front of a real server (`tests/peers/faults.py`), met by a movement in the real executable; what the
//! server wrote down is the judge.

use serde_json::Value as Json;

use super::{Project, free_port, peers, start};

const MOVEMENT: &str = r#"
crm = connect #acme_crm using acme
peer = connect `@lf/mcp` using peer { SETTINGS }

function note(company: <crm-[:Company]->>) {
  made = write peer-[:note]-> { text: company.Name }
  peer-[all:notes]-> {
    write company { Name: "${made.result}: ${all.text}" }
  }
}

listen to crm-[:Company]-> { start: "all" } fire note
"#;

struct Met {
    /// The company's name afterwards.
    name: String,
    /// The newest run, as a person reads it.
    story: String,
    /// How it is seen: types and fields.
    seen: (usize, usize),
    /// What the server was asked, in order.
    log: Vec<Json>,
}

impl Met {
    fn of(&self, key: &str, value: &str) -> Vec<&Json> {
        self.log.iter().filter(|line| line[key] == value).collect()
    }
}

/// Runs the movement once against a fault; nothing where there are no peers.
async fn meet(fault: &str, settings: &str) -> Option<Met> {
    let folder = peers(&format!("faults::{fault}"))?;
    let log = tempfile::NamedTempFile::new().unwrap();
    let port = free_port();
    let arguments = ["faults.py", &port.to_string(), log.path().to_str().unwrap()];
    let mut peer = start(&folder, "venv/bin/python", &arguments, port);
    peer.url = format!("http://127.0.0.1:{port}/{fault}");
    let project = Project::new(peer, &MOVEMENT.replace("{ SETTINGS }", settings)).await;
    let described: Json = serde_json::from_str(&project.succeeds(&["--json", "describe", "peer"]).await).unwrap();
    let types = described["types"].as_array().unwrap();
    project.succeeds(&["check"]).await;
    project.systems.crm.add("Juniper");
    project.command(&["run", "--once"]).await;
    let lines = std::fs::read_to_string(log.path()).unwrap();
    Some(Met {
        name: project.systems.crm.companies()[0].name.clone(),
        story: project.stories().await.remove(0),
        seen: (types.len(), types.iter().map(|ty| ty["fields"].as_array().unwrap().len()).sum()),
        log: lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fault_each_call_is_made_once_in_both_generations() {
    for (settings, version) in [("", "2026-07-28"), (r#"{ era: "legacy" }"#, "2025-11-25")] {
        let Some(met) = meet("plain", settings).await else { return };
        assert_eq!((met.name.as_str(), met.seen), ("1: Juniper", (3, 14)));
        assert_eq!((met.of("tool", "note").len(), met.of("tool", "notes").len()), (1, 1), "{:#?}", met.log);
        assert_eq!(met.of("tool", "note")[0]["version"], version);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_busy_is_asked_again_when_it_said_so_for_writes_too() {
    let Some(met) = meet("busy", "").await else { return };
    assert_eq!(met.name, "1: Juniper", "{}", met.story);
    for tool in ["note", "notes"] {
        let calls = met.of("tool", tool);
        let [first, second] = calls[..] else { panic!("{tool}: {calls:?}") };
        assert!(second["at"].as_f64().unwrap() - first["at"].as_f64().unwrap() >= 1.0, "{calls:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_a_gateway_refuses_waits_for_a_person() {
    let Some(met) = meet("down", "").await else { return };
    assert_eq!((met.name.as_str(), met.of("tool", "note").len()), ("Juniper", 1));
    assert!(met.story.contains("unsure") && met.story.contains("502"), "{}", met.story);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_is_cut_is_done_once_and_waits_for_a_person() {
    let Some(met) = meet("lost", "").await else { return };
    assert_eq!((met.name.as_str(), met.of("tool", "note").len()), ("Juniper", 1));
    assert!(met.story.contains("unsure") && met.story.contains("connection was lost"), "{}", met.story);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_meets_a_lost_session_opens_another_and_is_not_sent_again() {
    let Some(met) = meet("forgets", r#"{ era: "legacy" }"#).await else { return };
    assert_eq!((met.name.as_str(), met.of("tool", "note").len()), ("Juniper", 1));
    assert!(met.story.contains("unsure") && met.story.contains("a new session was opened"), "{}", met.story);
    let write = met.log.iter().position(|line| line["tool"] == "note").unwrap();
    assert!(met.log[write..].iter().any(|line| line["rpc"] == "initialize" && line["session"].is_null()));
}
