//! `check`, `describe` and the lock file.

use listen_fire::demo::{Systems, TOKEN};

use super::place::Place;

const TRIAGE: &str = "movements/triage.mvt";

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_project_checks_and_is_locked() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.run(["check"]).code(0).shows("MOV_LISTEN_CYCLE").says("no errors, no warnings in 1 file");
    let lock = place.read("listen-fire.lock");
    assert!(lock.contains("\"create_issue\"") && lock.contains("\"Company\""), "{lock}");
    assert!(!lock.contains(TOKEN));
    place.run(["check", "--locked"]).code(0);
    let ran = place.run(["check", "--json"]).code(0);
    assert_eq!(ran.json()["errors"], 0);
    assert_eq!(ran.json()["files"], 1);
    assert_eq!(place.read("listen-fire.lock"), lock, "nothing is new");

    drop(systems);
    place.run(["check", "--offline"]).code(0);
    place.run(["check"]).code(3).shows("MOV_CONNECTION_UNREACHABLE").shows("--offline");
    assert_eq!(place.read("listen-fire.lock"), lock, "a system that is away changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_fresh_clone_the_lock_is_enough() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.run(["check"]).code(0);
    std::fs::remove_dir_all(place.file(".listen-fire")).unwrap();
    place.run(["check", "--offline"]).code(0);
    assert!(!place.file(".listen-fire").exists(), "looking makes nothing");
    std::fs::remove_file(place.file("listen-fire.lock")).unwrap();
    place.run(["check", "--offline"]).code(1).shows("MOV_CREDENTIAL_UNKNOWN");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_ci_credentials_come_whole_from_the_environment() {
    let systems = Systems::start().await.unwrap();
    let mut place = Place::triage();
    place.set("LISTEN_FIRE_CREDENTIAL_ACME", format!("{{\"url\": \"{}\", \"client\": \"ci\"}}", systems.crm_url()));
    let linear = format!(
        "{{\"module\": \"@lf/mcp\", \"kind\": \"mcp_token\", \"url\": \"{}\", \"token\": \"{TOKEN}\"}}",
        systems.tracker_url()
    );
    place.set("LISTEN_FIRE_CREDENTIAL_LINEAR", linear);
    place.run(["check"]).code(0);
    place.run(["check", "--locked"]).code(0);
    let list = place.run(["credential", "list"]).code(0).shows("LISTEN_FIRE_CREDENTIAL_LINEAR");
    assert!(!list.out.contains(TOKEN));
    assert!(!place.file(".listen-fire").exists());
    place.set("LISTEN_FIRE_CREDENTIAL_LINEAR", "demo-token");
    let ran = place.run(["check"]).code(3).shows("is not a JSON object");
    assert!(!ran.out.contains(TOKEN));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_system_that_changed_fails_a_locked_check_and_shows_how() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.run(["check", "--locked"]).code(1).says("described for the first time");
    assert!(!place.file("listen-fire.lock").exists());
    place.run(["check"]).code(0);
    let lock = place.read("listen-fire.lock");
    place.change("modules/acme_crm.toml", "required = [\"id\", \"Name\"", "required = [\"id\"");
    place
        .run(["check", "--locked"])
        .code(1)
        .says("#acme_crm using acme is not as in `listen-fire.lock`")
        .says("`Company.Name`: ");
    assert_eq!(place.read("listen-fire.lock"), lock, "a locked check changes nothing");
    place.run(["check"]).says("`Company.Name`: ");
    assert_ne!(place.read("listen-fire.lock"), lock);
    place.write("listen-fire.lock", &lock.replace("Company", "Kompany"));
    place.run(["check", "--offline"]).code(4).says("does not match its hash");
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_reported_in_each_format() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.change(TRIAGE, "team: \"ENG\"", "team: \"ENGG\"");
    place.change(TRIAGE, "${company.Name}\"", "${company.name}\"");
    let human = place.run(["check"]).code(1);
    insta::assert_snapshot!("human", human.out);
    insta::assert_snapshot!("short", place.run(["check", "--format", "short"]).code(1).out);
    insta::assert_snapshot!("github", place.run(["check", "--format", "github"]).code(1).out);
    let json = place.run(["check", "--format", "json"]).code(1);
    assert_eq!(json.err, "");
    let json = json.json();
    assert_eq!(json["errors"], 2);
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&json["problems"]).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_choose_what_is_checked() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.write("movements/broken.mvt", "x = \n");
    place.write("target/ignored.mvt", "x = \n");
    place.write(".hidden/ignored.mvt", "x = \n");
    place.run(["check", TRIAGE]).code(0);
    place.run(["check"]).code(1).says("in 2 files");
    place.run(["check", "movements"]).code(1).says("in 2 files");
    place.run(["check", "nowhere.mvt"]).code(2).says("there is no file `nowhere.mvt`");
    place.run(["check", "/etc/hostname"]).code(2).says("lies outside the project");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_in_a_module_is_reported_once_in_its_file() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.change("modules/acme_crm.toml", "key = \"id\"", "kye = \"id\"");
    let ran = place.run(["check", "--format", "short"]).code(1).shows("modules/acme_crm.toml").shows("MOV_MODULE_FILE");
    assert!(!ran.out.contains("MOV_MODULE_UNKNOWN"), "{}", ran.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn warnings_fail_only_where_they_are_denied() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    place.change(TRIAGE, "  tracker-[r", "  unused = 1\n  tracker-[r");
    place.run(["check"]).code(0).shows("MOV_UNUSED").says("1 warning");
    place.run(["check", "--deny", "warnings"]).code(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_described_by_any_of_its_names() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    insta::assert_snapshot!("describe", place.run(["describe", "tracker"]).code(0).out);
    insta::assert_snapshot!("describe_type", place.run(["describe", "tracker", "create_issue"]).code(0).out);
    place.run(["describe", "acme"]).code(0).shows("Company");
    assert_eq!(place.run(["--json", "describe", "crm", "Company"]).code(0).json()["name"], "Company");
    place.run(["describe", "linear", "--raw"]).code(0).shows("inputSchema");
    place.run(["describe", "trackr"]).code(2).says("did you mean `tracker`?");
    place.run(["describe", "tracker", "create_isue"]).code(2).says("did you mean `create_issue`?");
    drop(systems);
    place.run(["describe", "tracker"]).code(3);
}
