//! What the page of `@lf/mcp` says of the commands, at a server that counts what it is asked.

use std::sync::atomic::{AtomicUsize, Ordering};

use lf_harness::{Received, Reply, Server, World, mcp::Offer};
use listen_fire::demo::Systems;
use serde_json::json;

use super::place::Place;

const SECOND: &str = "\
crm = connect #acme_crm using acme
tracker = connect `@lf/mcp` using linear

function note(company: <crm-[:Company]->>) {
  write tracker-[:create_issue]-> { title: company.Name, team: \"ENG\" }
}

listen as \"notes\" to crm-[:Company]-> fire note
";

pub(crate) fn offer() -> Offer {
    let text = || json!({"type": "string"});
    Offer::of(json!([
        {"name": "create_issue", "inputSchema":
            {"type": "object", "properties": {"title": text(), "team": text()}, "required": ["title", "team"]}},
        {"name": "search_issues", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"query": text()}, "required": ["query"]},
            "outputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}},
    ]))
}

/// The triage example from the first record on, with a scripted server as its tracker.
pub(crate) fn place(systems: &Systems, script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> (Place, Server) {
    let server = Server::start(World::new(0.0), script).unwrap();
    let mut place = Place::triage();
    place.change("movements/triage.mvt", "Company]-> fire", "Company]-> { start: \"all\" } fire");
    place.set("LISTEN_FIRE_CREDENTIAL_ACME", json!({"url": systems.crm_url(), "client": "tests"}).to_string());
    let tracker = json!({"module": "@lf/mcp", "kind": "mcp_token", "url": server.url("/mcp"), "token": "t"});
    place.set("LISTEN_FIRE_CREDENTIAL_LINEAR", tracker.to_string());
    (place, server)
}

fn count(server: &Server, method: &str) -> usize {
    server.received().iter().filter(|received| received.rpc() == method).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_describes_each_connection_once_and_only_those_that_are_imported() {
    let systems = Systems::start().await.unwrap();
    let (place, server) = place(&systems, |received| offer().reply(received));
    place.write("movements/second.mvt", SECOND);
    place.run(["check"]).code(0);
    assert_eq!(count(&server, "tools/list"), 1, "two files, one connection");
    place.write("movements/triage.mvt", "nothing = 1\n");
    place.write("movements/second.mvt", "nothing_else = 2\n");
    place.run(["check"]);
    assert_eq!(count(&server, "tools/list"), 1, "no file imports it");
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_inside_a_call_do_not_count_against_the_calls_of_a_run() {
    for (calls, said) in [(3, "done"), (2, "more than 2 calls")] {
        let systems = Systems::start().await.unwrap();
        let busy = AtomicUsize::new(0);
        let (place, server) = place(&systems, move |received| {
            let first = received.rpc() == "tools/call" && busy.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
            if first { Reply::status(429) } else { offer().reply(received) }
        });
        place.write("listen-fire.toml", &format!("{}\n[limits]\ncalls = {calls}\n", place.read("listen-fire.toml")));
        systems.crm.add("Acme");
        place.run(["run", "--once"]).shows(said);
        assert_eq!(count(&server, "tools/call"), 4, "each of two calls is sent twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_argument_is_named_where_it_was_given() {
    let systems = Systems::start().await.unwrap();
    let (place, server) = place(&systems, |received| {
        let mut offer = offer();
        offer.answer = json!({"isError": true, "content": [{"type": "text", "text": "'team': ENG is not a team"}]});
        offer.reply(received)
    });
    place.change(
        "movements/triage.mvt",
        "title: \"Follow up ${company.Name}\", team:",
        "title: \"Follow up\",\n    team:",
    );
    systems.crm.add("Acme");
    let ran = place.run(["run", "--once"]);
    let told = ran.out.lines().chain(ran.err.lines()).find(|line| line.contains("ENG is not a team"));
    assert!(told.is_some_and(|line| line.contains("'team'") && line.contains("movements/triage.mvt:6")), "{ran:?}");
    let list = place.run(["--json", "runs", "list", "--state", "dead"]).code(0);
    let run: serde_json::Value = serde_json::from_str(list.out.lines().next().unwrap()).unwrap();
    let shown = place.run(["runs", "show", &run["run"].to_string()]);
    let shown = shown.shows("movements/triage.mvt:6:5  team: \"ENG\"").shows("ENG is not a team");
    shown.shows("movements/triage.mvt:6:5: `team` of `write tracker-[:create_issue]->`: ");
    assert_eq!(count(&server, "tools/call"), 1, "what was refused is not sent again");
}
