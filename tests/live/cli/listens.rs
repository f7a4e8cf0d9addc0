//! `listens list|disable|enable`: off means off now, also for a runner in another process, and nothing is lost.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use listen_fire::demo::Systems;
use serde_json::Value;

use super::{
    mcp,
    place::{Place, until},
};

fn listed(place: &Place) -> Value {
    place.run(["--json", "listens", "list"]).code(0).json()
}

/// Field case 9: switched off in one process, the runner in another stops at once; what it has begun goes on where it
/// was when the listen is switched on again, and what came meanwhile fires then.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn off_is_off_now_and_on_goes_on_where_it_was() {
    let systems = Systems::start().await.unwrap();
    let (asked, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (seen, held) = (asked.clone(), answers.clone());
    let (place, server) = mcp::place(&systems, move |received| {
        if received.json()["params"]["name"] == "create_issue" {
            seen.store(true, Ordering::SeqCst);
            // Answered while the listen is off.
            while !held.load(Ordering::SeqCst) {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        mcp::offer().reply(received)
    });
    place.change("movements/triage.mvt", "{ start: \"all\" }", "{ start: \"all\", concurrency: 1 }");
    place.change("movements/triage.mvt", "; ${issue.text}", "");
    systems.crm.add("First");
    systems.crm.add("Second");
    let running = place.start(["run"]);
    until("the first write is under way", || asked.load(Ordering::SeqCst));
    place.run(["listens", "disable", "triag"]).code(2).says("did you mean `triage`?");
    place.run(["listens", "disable", "triage"]).code(0).shows("is switched off; 2 changes wait until it is on again");
    place.run(["listens", "disable", "triage"]).code(0).shows("already");
    running.until_says("is switched off since");
    answers.store(true, Ordering::SeqCst);
    running.until_says("back in its place: its listen is switched off");

    // What was answered is kept; the second write of the run is not sent, the second run not begun, the third not seen.
    systems.crm.add("Third");
    let before = server.received().len();
    let stands = listed(&place);
    assert_eq!((&stands["on"], &stands["waiting"], &stands["running"]), (&false.into(), &2.into(), &0.into()));
    place.run(["runs", "list"]).code(0).shows("its listen is switched").says("listens enable");
    let record = "{\"id\": \"h1\", \"Name\": \"By hand\", \"revision\": 1}";
    place.run(["fire", "triage", "--record", record]).code(1).says("is switched off").says("listens enable");
    // A runner that is started meanwhile keeps to it.
    running.end("TERM").code(0);
    place.run(["run", "--once"]).code(3).says("is switched off").says("2 changes wait until it is switched on again");
    let sent = |server: &lf_harness::Server| {
        server.received()[before..].iter().filter(|received| received.rpc() == "tools/call").count()
    };
    assert_eq!((sent(&server), systems.crm.companies().len()), (0, 3), "nothing was sent while it was off");

    let running = place.start(["run"]);
    running.until_says("Ctrl-C stops");
    place.run(["listens", "enable", "triage"]).code(0).shows("is switched on; 2 changes wait for a runner");
    running.until_says("is switched on");
    until("all three went their whole way", || systems.crm.companies().len() == 6);
    until("all three are done", || listed(&place)["done"] == 3);
    running.end("TERM").code(0);
    let titles: Vec<String> = server
        .received()
        .iter()
        .filter(|received| received.json()["params"]["name"] == "create_issue")
        .map(|received| received.json()["params"]["arguments"]["title"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(titles, ["Follow up First", "Follow up Second", "Follow up Third"], "each once, in order");
    assert_eq!(listed(&place)["on"], true);
}

#[test]
fn a_listen_can_be_off_before_it_ever_ran() {
    let place = Place::example("triage");
    place.run(["listens", "list"]).code(0).shows("fire triage").shows("on");
    place.run(["listens", "disable", "triage"]).code(0).shows("is switched off");
    place.run(["listens", "list"]).code(0).shows("off since");
    place.run(["listens", "enable", "nobody"]).code(2).says("there is no listen `nobody`");
}

#[test]
fn a_listen_is_meant_by_the_function_that_it_fires() {
    let place = Place::example("triage");
    place.change("movements/triage.mvt", "listen to", "listen as \"new\" to");
    place.run(["listens", "disable", "triage"]).code(0).shows("`new` is switched off");
    place.run(["runs", "list", "--listen", "triage"]).code(0).says("no such run");
    let text = place.read("movements/triage.mvt");
    let again = "listen as \"again\" to crm-[:Company]-> { on: [\"updated\"] } fire triage\n";
    place.write("movements/triage.mvt", &format!("{text}{again}"));
    for command in [["listens", "enable", "triage"].as_slice(), &["runs", "list", "--listen", "triage"]] {
        place.run(command).code(2).says("`triage` is fired by `again` and `new`: say which");
    }
    place.run(["listens", "enable", "new"]).code(0);
}
