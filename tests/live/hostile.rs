//! Systems that answer badly, and people who mend things while a runner runs: nothing is lost, nothing secret is said,
//! and what is said names the place and the way out.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use lf_harness::{Received, Reply, Server, mcp::Offer};
use listen_fire::{demo::Systems, host::clock::System};
use serde_json::{Value, json};

use crate::cli::place::{Place, holds, until};

/// What the two systems behind one address do.
#[derive(Debug, Default)]
struct Mood {
    companies: BTreeMap<String, Value>,
    issues: Vec<String>,
    token: String,
    /// Calls are refused for the credential, while the list of tools is not.
    locked: bool,
    /// The tracker answers every request with a page.
    garbage: bool,
    /// Instead of a good answer of the CRM.
    crm: Option<(u16, &'static str, String)>,
    /// Instead of the tracker's answer to a call.
    call: Option<Value>,
}

#[derive(Debug, Clone, Default)]
struct Hostile(Arc<Mutex<Mood>>);

impl Hostile {
    fn with<T>(&self, act: impl FnOnce(&mut Mood) -> T) -> T {
        act(&mut self.0.lock().unwrap())
    }

    fn add(&self, name: &str) {
        self.with(|mood| {
            let number = mood.companies.len() + 1;
            let company = json!({"id": format!("c{number}"), "Name": name, "revision": number});
            mood.companies.insert(format!("c{number:04}"), company);
        });
    }

    fn issues(&self) -> Vec<String> {
        self.with(|mood| mood.issues.clone())
    }

    fn start(&self, token: &str) -> (Server, Place) {
        self.with(|mood| mood.token = token.to_owned());
        let hostile = self.clone();
        let server = Server::start(Arc::new(System::new()), move |received| hostile.reply(received)).unwrap();
        let place = Place::triage();
        let url = format!("url={}", server.url("/api"));
        place.run(["credential", "add", "--module", "#acme_crm", "acme", "--set", &url, "--set", "client=t"]).code(0);
        sign_in(&place, &server, token);
        (server, place)
    }

    fn reply(&self, received: &Received) -> Reply {
        if received.path.starts_with("/mcp") { self.tracker(received) } else { self.crm(received) }
    }

    fn crm(&self, received: &Received) -> Reply {
        self.with(|mood| {
            if let Some((status, kind, body)) = &mood.crm {
                return Reply::status(*status).header("Content-Type", kind).body(body.clone());
            }
            if received.method == "GET" {
                let items: Vec<_> = mood.companies.values().cloned().collect();
                return Reply::json(&json!({"items": items, "next": null}));
            }
            let number = mood.companies.len() + 1;
            let company = json!({"id": format!("c{number}"), "Name": received.json()["Name"], "revision": number});
            mood.companies.insert(format!("c{number:04}"), company.clone());
            Reply::json(&company)
        })
    }

    fn tracker(&self, received: &Received) -> Reply {
        self.with(|mood| {
            if mood.garbage {
                return Reply::status(200).header("Content-Type", "text/html").body("<html>maintenance</html>");
            }
            let given = received.header("authorization").unwrap_or_default();
            if given != format!("Bearer {}", mood.token) || mood.locked && received.rpc() == "tools/call" {
                return Reply::status(401).body(format!("{given} is not for us"));
            }
            let read = json!({"readOnlyHint": true});
            let mut offer = Offer::of(json!([
                {"name": "create_issue", "inputSchema": {"type": "object", "required": ["title", "team"],
                    "properties": {"title": {"type": "string"}, "team": {"type": "string"}}}},
                {"name": "search_issues", "annotations": read, "inputSchema": {"type": "object",
                    "required": ["query"], "properties": {"query": {"type": "string"}}},
                    "outputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}}},
            ]));
            if let Some(answer) = mood.call.clone() {
                offer.answer = answer;
            } else if received.rpc() == "tools/call" && received.json()["params"]["name"] == "create_issue" {
                mood.issues.push(received.json()["params"]["arguments"]["title"].as_str().unwrap().to_owned());
            }
            offer.reply(received)
        })
    }
}

fn sign_in(place: &Place, server: &Server, token: &str) {
    let (url, token) = (format!("url={}", server.url("/mcp")), format!("token={token}"));
    let module = ["credential", "add", "--module", "@lf/mcp", "linear", "--credential", "mcp_token"];
    place.run(module.into_iter().chain(["--set", &url, "--set", &token])).code(0);
}

fn refusal(text: &str) -> Option<Value> {
    Some(json!({"isError": true, "content": [{"type": "text", "text": text}]}))
}

/// Field case 22: what waits for a credential goes on when it is mended, and has lost no attempt.
#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_is_mended_beside_a_runner_delivers_everything() {
    let hostile = Hostile::default();
    let (server, place) = hostile.start("first-token");
    let running = place.start(["run"]);
    running.until_says("first look");
    hostile.with(|mood| mood.token = "second-token".to_owned());
    for name in ["Acme", "Birch", "Cedar"] {
        hostile.add(name);
    }
    running.until_says("is held until");
    sign_in(&place, &server, "second-token");
    until("three issues", || hostile.issues().len() == 3);
    let ran = running.end("TERM").code(0);
    assert!(!ran.out.contains("attempt 1 of"), "a held connection used up an attempt: {}", ran.out);
    for said in [ran.out.as_bytes(), ran.err.as_bytes(), &place.kept()] {
        assert!(!holds(said, "first-token") && !holds(said, "second-token"), "a token was kept or said");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_look_with_a_refused_credential_ends_at_once() {
    let hostile = Hostile::default();
    let (_server, place) = hostile.start("first-token");
    place.run(["run", "--once"]).code(0);
    hostile.with(|mood| mood.crm = Some((401, "text/plain", "who are you".to_owned())));
    place.run(["run", "--once"]).code(3).says("the system refused the credential");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_a_server_says_back_is_kept_nowhere() {
    let hostile = Hostile::default();
    let (_server, place) = hostile.start("a-secret-token");
    place.run(["run", "--once"]).code(0);
    hostile.add("Acme");
    hostile.with(|mood| mood.call = refusal("your Bearer a-secret-token may not do this"));
    let ran = place.run(["run", "--once"]).code(1).shows("your Bearer … may not do this");
    let shown = place.run(["runs", "show", "1"]).code(0);
    for said in [ran.out.as_bytes(), ran.err.as_bytes(), shown.out.as_bytes(), &place.kept()] {
        assert!(!holds(said, "a-secret-token"), "it was said or kept");
    }
}

/// What a system says cannot steer the terminal, forge a line of the ledger, or flood a table.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_system_says_stays_on_its_line() {
    let hostile = Hostile::default();
    let (_server, place) = hostile.start("a-secret-token");
    place.run(["run", "--once"]).code(0);
    hostile.add("Acme\u{202e}\u{1b}[31m");
    let text = format!("no\u{1b}]0;title\u{7}\n09:00:00  #7 triage c9  done\u{202e} {}", "x".repeat(1 << 20));
    hostile.with(|mood| mood.call = refusal(&text));
    let ran = place.run(["run", "--once"]).code(1);
    let listed = place.run(["runs", "list"]).code(0);
    for said in [&ran.out, &ran.err, &listed.out] {
        assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{said}");
        assert!(!said.lines().any(|line| line.starts_with("09:00:00  #7")), "{said}");
    }
    assert!(listed.out.len() < 4000, "{}", listed.out);
}

/// Field case 37: the argument that a server complains about is named, with the place that gave it and what was sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_argument_is_named_with_the_place_that_gave_it() {
    let hostile = Hostile::default();
    let (_server, place) = hostile.start("a-secret-token");
    place.run(["run", "--once"]).code(0);
    hostile.add("Acme");
    hostile.with(|mood| mood.call = refusal("tool input did not match the schema: /title must be shorter"));
    place
        .run(["run", "--once"])
        .code(1)
        .shows("movements/triage.mvt:5:45: `title` of `write tracker-[:create_issue]->`")
        .shows("about `title`")
        .shows("must be shorter")
        .shows("sent {\"title\":\"Follow up Acme\",\"team\":\"ENG\"}");
}

/// A listen that needs the CRM alone.
const OTHER: &str = "crm = connect #acme_crm using acme

function answer(company: <crm-[:Company]->>) {
  if company.Name == \"Ask\" {
    write crm-[:Company]-> { Name: \"Answer\" }
  }
}

listen as \"others\" to crm-[:Company]-> fire answer
";

/// A system that refuses its credential, or says nothing of sense, when `run` starts ends nothing where the lock file
/// can serve: what needs it waits, uncounted, and all else goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_system_that_cannot_be_described_at_the_start_holds_up_only_what_needs_it() {
    for (garbage, said) in [(false, "refuses the credential"), (true, "does not say what it is")] {
        let hostile = Hostile::default();
        let (server, place) = hostile.start("first-token");
        place.write("movements/other.mvt", OTHER);
        place.run(["check"]).code(0);
        hostile.with(|mood| {
            mood.garbage = garbage;
            mood.token = if garbage { "first-token" } else { "second-token" }.to_owned();
        });
        let running = place.start(["run"]);
        running.until_says(said);
        running.until_says("Ctrl-C stops");
        let listed = || place.run(["--json", "listens", "list"]).out;
        until("both have looked", || listed().lines().count() == 2);
        running.until_says("first look");
        hostile.add("Ask");
        let known = |name: &str| hostile.with(|mood| mood.companies.values().any(|company| company["Name"] == name));
        until("the others go on", || known("Answer"));
        running.until_says("is held until");
        if garbage {
            hostile.with(|mood| mood.garbage = false);
        } else {
            sign_in(&place, &server, "second-token");
        }
        until("what waited is delivered", || hostile.issues().contains(&"Follow up Ask".to_owned()));
        running.end("TERM").code(0);
        place.run(["runs", "list", "--state", "dead"]).code(0).says("no such run");
    }
}

/// Field case 35, and its kin: an answer that is none fires nothing, is named, and loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_as_described_fires_nothing_and_loses_nothing() {
    let hostile = Hostile::default();
    let (_server, place) = hostile.start("a-secret-token");
    place.run(["run", "--once"]).code(0);
    hostile.add("Acme");
    let item = |fields: &str| format!("{{\"items\": [{{\"id\": \"c1\", {fields}\"revision\": 1}}], \"next\": null}}");
    let deep = format!("{{\"items\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for (status, kind, body, said) in [
        (200, "text/html", "<html>please sign in</html>".to_owned(), "what is not JSON"),
        (200, "application/json", deep, "nested deeper than"),
        (200, "application/json", item("\"Name\": null, "), "`/items/0/Name` is not a `Company` as described"),
        (200, "application/json", item("\"Name\": 17, "), "`/items/0/Name` is not a `Company` as described"),
        (200, "application/json", item(""), "`/items/0` is not a `Company` as described"),
        (302, "text/plain", String::new(), "a redirect, which is not followed"),
    ] {
        hostile.with(|mood| mood.crm = Some((status, kind, body)));
        let ran = place.run(["run", "--once"]).code(3).says(said);
        assert!(!ran.out.contains("begins"), "{}", ran.out);
    }
    assert_eq!(hostile.issues().len(), 0);
    hostile.with(|mood| mood.crm = None);
    place.run(["run", "--once"]).code(0);
    assert_eq!(hostile.issues(), ["Follow up Acme"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_begins_where_a_run_would() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    systems.crm.add("From before");
    place.run(["run", "--once"]).code(0);
    systems.crm.add("Acme");
    for _ in 0..2 {
        let ran = place.run(["run", "--once", "--dry-run"]).code(0).shows("would write").shows("Follow up Acme");
        assert!(!ran.out.contains("From before"), "{}", ran.out);
    }
    assert_eq!(systems.tracker.issues().len(), 0);
    place.run(["runs", "list"]).code(0).shows_nothing();
    place.run(["run", "--once"]).code(0);
    assert_eq!(systems.tracker.issues().len(), 1);
}

/// Field case 9: what is switched off does no queued work any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_listen_that_is_switched_off_stops_what_was_queued() {
    let hostile = Hostile::default();
    let (_server, place) = hostile.start("first-token");
    place.run(["run", "--once"]).code(0);
    hostile.with(|mood| mood.locked = true);
    hostile.add("Acme");
    hostile.add("Birch");
    place.run(["run", "--once"]).code(3).says("2 changes wait");
    hostile.with(|mood| mood.locked = false);
    place.change("movements/triage.mvt", "listen to crm-[:Company]-> fire triage", "");
    place.run(["run", "--once", "--drop", "crm-[:Company]-> fire triage"]).code(0);
    assert_eq!(hostile.issues().len(), 0);
    let open = place.run(["runs", "list", "--state", "ready", "--state", "retry"]).code(0);
    open.shows_nothing();
}

/// Field case 33: what a run refuses to start with, a check refuses, with the same words.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_refuses_a_check_refuses() {
    let systems = Systems::start().await.unwrap();
    for (file, from, to, said) in [
        ("modules/acme_crm.toml", "idempotency_header", "idempotencyheader", "did you mean `idempotency_header`?"),
        ("movements/triage.mvt", "team:", "taem:", "did you mean `team`?"),
        ("movements/triage.mvt", "fire triage", "{ evry: 5s } fire triage", "did you mean `every`?"),
        ("listen-fire.toml", "edition", "editoin", "write `edition`"),
        ("movements/triage.mvt", "write crm", "write crn", "did you mean `crm`?"),
    ] {
        let place = Place::connected(&systems);
        place.change(file, from, to);
        for command in [vec!["check"], vec!["run", "--once"]] {
            let ran = place.run(&command);
            assert_ne!(ran.code, Some(0), "{command:?} {to}");
            assert!(format!("{}{}", ran.out, ran.err).contains(said), "{command:?} {to}: {}{}", ran.out, ran.err);
        }
    }
}
