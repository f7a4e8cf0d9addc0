//! `run`, `fire`, `runs`: a change goes all the way, and the ledger tells.

use listen_fire::{
    demo::Systems,
    store::{
        Facts as _,
        sqlite::{Durability, SqliteStore},
    },
};
use serde_json::Value;

use super::place::{Place, until};

/// A project whose listen begins with what is there, so that one look is enough.
fn from_the_start(systems: &Systems) -> Place {
    let place = Place::connected(systems);
    place.change(
        "movements/triage.mvt",
        "listen to crm-[:Company]-> fire",
        "listen to crm-[:Company]-> { start: \"all\", every: 1s } fire",
    );
    place
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_look_does_what_is_there_and_the_ledger_tells_it() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    systems.crm.add("Acme");
    let ran = place.run(["run", "--once"]).code(0).shows("create_issue").shows("done");
    assert!(ran.out.contains("movements/triage.mvt:5"), "{}", ran.out);
    assert_eq!(systems.tracker.issues().len(), 1);
    assert_eq!(systems.tracker.issues()[0].title, "Follow up Acme");
    assert_eq!(systems.crm.companies().len(), 2);

    let list = lines(&place.run(["--json", "runs", "list", "--state", "done"]).code(0).out);
    assert!(!list.is_empty());
    let id = list[0]["run"].to_string();
    place.run(["runs", "list"]).code(0).shows("RUN").shows("triage").shows("done");
    place
        .run(["runs", "show", &id])
        .code(0)
        .shows("Acme")
        .shows("movements/triage.mvt:5")
        .shows("create_issue")
        .shows("came back");
    let story = place.run(["--json", "runs", "show", &id]).code(0).json();
    assert_eq!(story["state"], "done");
    place.run(["runs", "list", "--listen", "triag"]).code(2).says("did you mean `triage`?");
    place.run(["runs", "show", "9999"]).code(1).says("there is no run #9999");
    place.run(["runs", "cancel", &id]).code(1);
    place.run(["runs", "settle", &id, "--done"]).code(1);
    place.run(["runs", "settle", &id]).code(2);
    place.run(["runs", "list", "--since", "yesterday"]).code(2).says("is no time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_ends_well_on_each_signal_and_is_alone() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    for (number, signal) in ["TERM", "INT"].into_iter().enumerate() {
        let running = place.start(["--json", "run"]);
        systems.crm.add(&format!("Company {number}"));
        until("an issue for it", || {
            systems.tracker.issues().iter().any(|issue| issue.title.ends_with(&number.to_string()))
        });
        place.run(["run"]).code(4).shows_nothing().says("run");
        let ran = running.end(signal).code(0).says("stopping");
        assert!(lines(&ran.out).iter().any(|line| line["event"] == "wrote"), "{}", ran.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_sends_and_keeps_nothing() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    systems.crm.add("Acme");
    place.run(["run", "--once", "--dry-run"]).code(0).shows("would write").shows("‹text›");
    assert_eq!((systems.tracker.issues().len(), systems.crm.companies().len()), (0, 1));
    place.run(["runs", "list"]).code(0).shows_nothing().says("no such run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_with_errors_does_not_run() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    systems.crm.add("Acme");
    place.change("movements/triage.mvt", "title:", "titel:");
    place.run(["run", "--once"]).code(1).shows_nothing().says("did you mean `title`?").says("nothing runs");
    place.run(["fire", "triage", "--record", "{}"]).code(1).shows_nothing();
    assert_eq!(systems.tracker.issues().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_fires_by_hand_on_the_path_of_a_real_change() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    let record = "{\"id\": \"h1\", \"Name\": \"By hand\", \"revision\": 1}";
    place.run(["fire", "triage", "--record", record]).code(0).shows("create_issue").shows("done");
    assert_eq!(systems.tracker.issues()[0].title, "Follow up By hand");
    place.write("company.json", record);
    place.run(["fire", "triage", "--record", "@company.json"]).code(0);
    assert_eq!(systems.tracker.issues().len(), 2);
    assert_eq!(lines(&place.run(["--json", "runs", "list"]).code(0).out)[0]["by"], "hand");
    place.run(["runs", "show", "1"]).code(0).shows(" by hand\n");

    place.run(["fire", "triag", "--record", record]).code(2).says("did you mean `triage`?");
    place.run(["fire", "triage", "--record", "[]"]).code(2).says("a JSON object");
    place.run(["fire", "triage", "--record", "{\"name\": \"x\"}"]).code(2).says("did you mean `Name`?");
    place.run(["fire", "triage", "--record", "{\"id\": \"h1\"}"]).code(2).says("lacks `Name`");
    let wrong = "{\"id\": \"h1\", \"Name\": 5, \"revision\": 1}";
    place.run(["fire", "triage", "--record", wrong]).code(2).says("`Name` is a text, found 5");
    assert_eq!(systems.tracker.issues().len(), 2);
}

/// The limit of one read says how many came: one where the system looks it up, all of them where it cannot.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_system_can_look_up_is_not_fetched_whole() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    let settings = place.read("listen-fire.toml");
    place.write("listen-fire.toml", &format!("{settings}\n[limits]\nrows = 1\n"));
    place.write(
        "movements/triage.mvt",
        "crm = connect #acme_crm using acme\n\
         function by_key(wanted: <{ id: text, Name: text }>) {\n  \
         crm-[c:Company WHERE c.Name == wanted.Name AND c.id == wanted.id]-> { write c { Name: \"found\" } }\n}\n\
         function by_name(wanted: <{ id: text, Name: text }>) {\n  \
         crm-[c:Company WHERE c.Name == wanted.Name]-> { write c { Name: \"found\" } }\n}\n\
         listen as \"one\" to crm-[:Company]-> fire by_key\n\
         listen as \"two\" to crm-[:Company]-> fire by_name\n",
    );
    let [first, second] = ["First", "Second"].map(|name| systems.crm.add(name).id.to_string());
    let wanted = |id: &str, name: &str| format!("{{\"id\": \"{id}\", \"Name\": \"{name}\", \"revision\": 1}}");
    place.run(["fire", "by_name", "--record", &wanted(&second, "Second")]).code(1).shows("more than 1 record");
    // Its name is another: what was looked up is tested again.
    place.run(["fire", "by_key", "--record", &wanted(&first, "Second")]).code(0);
    place.run(["fire", "by_key", "--record", &wanted("none", "Second")]).code(0);
    place.run(["fire", "by_key", "--record", &wanted("", "Second")]).code(1).shows("more than 1 record");
    place.run(["fire", "by_key", "--record", &wanted(&second, "Second")]).code(0);
    let names: Vec<String> = systems.crm.companies().into_iter().map(|company| company.name).collect();
    assert_eq!(names, ["First", "found"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_each_expression_came_to_is_shown_beneath_its_line() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    let long = "a long name ".repeat(40);
    let record = serde_json::json!({ "id": "h1", "Name": long, "revision": 1 }).to_string();
    place.run(["fire", "triage", "--record", &record]).code(0);
    let shown = place.run(["runs", "show", "1"]).code(0);
    let shown = shown.shows("values, line by line").shows("  company.Name  ").shows("\"Follow up ${company.Name}\"");
    shown.shows("a long …").says("`--full` shows long values whole");
    let whole = place.run(["runs", "show", "1", "--full"]).code(0).shows(&format!("\"Follow up {long}\""));
    assert!(!whole.err.contains("--full"), "{}", whole.err);
    let story = place.run(["--json", "runs", "show", "1"]).code(0).json();
    let values = story["values"].as_array().unwrap();
    let follow = values.iter().find(|value| value["expression"] == "\"Follow up ${company.Name}\"").unwrap();
    assert_eq!(follow["value"], format!("Follow up {long}"));
    assert_eq!(follow["line"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn fired_by_hand_beside_a_runner_it_is_the_runners_to_run() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    let running = place.start(["run"]);
    running.until_says("Ctrl-C stops");
    let record = "{\"id\": \"h1\", \"Name\": \"By hand\", \"revision\": 1}";
    place.run(["fire", "triage", "--record", record]).code(0).says("the runner of this project runs it");
    assert_eq!(systems.tracker.issues().len(), 1);
    place.change("movements/triage.mvt", "  issue = write", "  ERROR(\"not yet\")\n  issue = write");
    running.end("TERM").code(0);

    // A runner works with the text that it was started with.
    let running = place.start(["run"]);
    running.until_says("Ctrl-C stops");
    place.run(["fire", "triage", "--record", record]).code(1);
    place.change("movements/triage.mvt", "  ERROR(\"not yet\")\n", "");
    let dead = lines(&place.run(["--json", "runs", "list", "--state", "dead"]).code(0).out)[0]["run"].to_string();
    place.run(["runs", "retry", &dead, "--current"]).code(1).says("the files have another").says("start it again");
    running.end("TERM").code(0);
    let running = place.start(["run"]);
    running.until_says("Ctrl-C stops");
    place.run(["runs", "retry", &dead, "--current"]).code(0);
    until("it is done", || systems.tracker.issues().len() == 2);
    running.end("TERM").code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_real_change_would_not_fire_is_said_and_one_with_a_before_is_an_update() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.change(
        "movements/triage.mvt",
        "listen to crm-[:Company]-> fire",
        "listen to crm-[c:Company WHERE c.Name != \"Left out\"]-> { on: [\"updated\"] } fire",
    );
    let record = |name: &str| format!("{{\"id\": \"h1\", \"Name\": \"{name}\", \"revision\": 1}}");
    place.run(["fire", "triage", "--record", &record("New")]).code(0).says("what is created").says("--before");
    let update = |name: &str| place.run(["fire", "triage", "--record", &record(name), "--before", &record("Old")]);
    update("Left out").code(0).says("the WHERE of").says("leaves this record out");
    let quiet = update("Taken").code(0);
    assert!(!quiet.err.contains("all the same"), "{}", quiet.err);
    let run = lines(&place.run(["--json", "runs", "show", "3"]).code(0).out).remove(0);
    assert_eq!((&run["kind"], &run["before"]["Name"]), (&"updated".into(), &"Old".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_takes_nothing_out_of_the_lock_file() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    place.run(["check"]).code(0);
    let lock = place.read("listen-fire.lock");
    place.change("movements/triage.mvt", "using acme\n", "using acmee\n");
    place.run(["check"]).code(1);
    assert_eq!(place.read("listen-fire.lock"), lock);
    place.change("movements/triage.mvt", "using acmee\n", "using acme\n");
    place.run(["check", "--offline"]).code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_of_a_project_is_refused_by_name_and_all_else_shares_it() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.run(["doctor"]).code(0).shows("runner: none");
    let running = place.start(["run"]);
    running.until_says("Ctrl-C stops");
    place.run(["run"]).code(4).shows_nothing().says("another `listen-fire run` (process ").says("runs this project");
    place.run(["run", "--once"]).code(4).says("runs this project already");
    place.run(["check"]).code(0);
    place.run(["describe", "tracker"]).code(0);
    place.run(["credential", "test", "linear"]).code(0);
    place.run(["runs", "list"]).code(0);
    place.run(["doctor"]).code(0).shows("runner: process ");
    // What the runner described is known to all.
    let store = SqliteStore::open(&place.file(".listen-fire/state.db"), Durability::Full).await.unwrap();
    let found = lines(&place.run(["doctor", "--offline", "--json"]).code(0).out);
    let connections: Vec<_> = found.iter().filter(|one| one["kind"] == "connection").collect();
    assert_eq!(connections.len(), 2);
    for one in connections {
        let described = store.description(one["name"].as_str().unwrap()).await.unwrap();
        assert!(described.is_some_and(|(description, _)| !description.types.is_empty()), "{one}");
    }
    running.end("TERM").code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listen_that_vanished_stops_the_runner_until_a_person_decides() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    systems.crm.add("Acme");
    place.run(["run", "--once"]).code(0);
    place.change("movements/triage.mvt", "triage", "sort_out");
    let name = "crm-[:Company]-> fire triage";
    place.run(["run", "--once"]).code(1).says(name).says("run --drop");
    place.run(["run", "--once", "--drop", "crm-[:Company]-> fire triag"]).code(2).says("did you mean");
    place.run(["run", "--once", "--drop", name]).code(0);
    place.run(["run", "--once"]).code(0);
    // Several: all or none, in any order, and what is gone stays gone.
    place.change("movements/triage.mvt", "listen to", "listen as \"one\" to");
    place.run(["run", "--once", "--drop", "crm-[:Company]-> fire sort_out"]).code(0);
    place.change("movements/triage.mvt", "listen as \"one\" to", "listen as \"two\" to");
    place.run(["run", "--once", "--drop", "one", "--drop", "crm-[:Company]-> fire sort_out"]).code(0);
    place.change("movements/triage.mvt", "listen as \"two\" to", "listen as \"three\" to");
    let text = place.read("movements/triage.mvt");
    let second = text.lines().find(|line| line.starts_with("listen as")).unwrap().replace("three", "four");
    place.write("movements/triage.mvt", &format!("{text}{second}\n"));
    place.run(["run", "--once", "--drop", "two"]).code(0);
    place.change("movements/triage.mvt", "\"three\"", "\"five\"");
    place.change("movements/triage.mvt", "\"four\"", "\"six\"");
    place.run(["run", "--once", "--drop", "four"]).code(1).says("`three`").says("--drop 'four' --drop 'three'");
    place.run(["run", "--once", "--drop", "three"]).code(1).says("`four`");
    place.run(["run", "--once", "--drop", "three", "--drop", "four"]).code(0);
    place.run(["run", "--once", "--drop", "four", "--drop", "three"]).code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_system_that_is_away_does_not_stop_a_locked_project() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    place.run(["check"]).code(0);
    drop(systems);
    let running = place.start(["run"]);
    running.until_says("Ctrl-C stops");
    running.end("TERM").code(0).says("its description is old");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_run_is_shown_and_tried_again() {
    let systems = Systems::start().await.unwrap();
    let place = from_the_start(&systems);
    place.change("movements/triage.mvt", "  issue = write", "  ERROR(\"not yet\")\n  issue = write");
    systems.crm.add("Acme");
    place.run(["run", "--once"]).code(1).shows("dead");
    let dead = lines(&place.run(["--json", "runs", "list", "--state", "dead"]).code(0).out);
    let id = dead[0]["run"].to_string();
    place.run(["runs", "show", &id]).code(0).shows("not yet").shows("movements/triage.mvt:5");
    place.change("movements/triage.mvt", "  ERROR(\"not yet\")\n", "");
    place.run(["runs", "retry", &id, "--current"]).code(0).shows("ready");
    place.run(["run", "--once"]).code(0);
    assert_eq!(systems.tracker.issues().len(), 1);
}
