//! Credentials: every way in, no way out.

use std::os::unix::fs::PermissionsExt as _;

use listen_fire::demo::{Systems, TOKEN};

use super::place::{Place, Ran, holds};

const ADD: [&str; 6] = ["credential", "add", "--module", "@lf/mcp", "--credential", "mcp_token"];

fn add<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ADD.iter().copied().chain(more.iter().copied()).collect()
}

fn clean(ran: &Ran) {
    assert!(!ran.out.contains(TOKEN) && !ran.err.contains(TOKEN), "out: {}\nerr: {}", ran.out, ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_in_seals_and_no_way_shows() {
    let systems = Systems::start().await.unwrap();
    let mut place = Place::triage();
    let url = format!("url={}", systems.tracker_url());
    place.set("THE_TOKEN", TOKEN);
    place.write("token.txt", &format!("{TOKEN}\n"));
    let json = format!("{{\"url\": \"{}\", \"token\": \"{TOKEN}\"}}", systems.tracker_url());

    let mut said = Vec::new();
    said.push(place.run(add(&["one", "--set", &url, "--set", "token=@env:THE_TOKEN"])).code(0));
    said.push(place.run(add(&["two", "--set", &url, "--set", "token=@file:token.txt"])).code(0));
    said.push(place.run_with(add(&["three"]), &json).code(0));
    said.push(
        place
            .run(add(&["four", "--set", &url, "--set", &format!("token={TOKEN}")]))
            .code(0)
            .says("can be seen by others"),
    );
    for name in ["one", "two", "three", "four"] {
        said.push(place.run(["credential", "test", name]).code(0).shows("works"));
    }
    let list = place.run(["credential", "list"]).code(0).shows("three").shows("mcp_token").shows("yes");
    said.push(list);
    said.push(place.run(["--json", "credential", "list"]).code(0).shows("\"works\":true"));
    said.push(place.run(["credential", "remove", "four"]).code(0));
    said.iter().for_each(clean);
    assert!(!holds(&place.kept(), TOKEN), "the token is in the clear");
    let key = place.read(".listen-fire/key");
    assert!(said.iter().all(|ran| !ran.out.contains(key.trim()) && !ran.err.contains(key.trim())));

    let mode = |name: &str| std::fs::metadata(place.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(".listen-fire"), 0o700);
    assert_eq!(mode(".listen-fire/key"), 0o600);
    for entry in std::fs::read_dir(place.file(".listen-fire")).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o077;
        assert!(mode & 0o022 == 0, "{} can be written by others", path.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_work_is_not_stored() {
    let systems = Systems::start().await.unwrap();
    let place = Place::triage();
    let url = format!("url={}", systems.tracker_url());
    let refused = place.run(add(&["linear", "--set", &url, "--set", "token=wrong-token"])).code(3).says("refused");
    assert!(!refused.err.contains("wrong-token"));
    place.run(add(&["linear", "--set", "url=http://127.0.0.1:1/mcp", "--set", "token=x"])).code(3).says("--no-verify");
    assert!(!place.file(".listen-fire").exists());
    place.run(add(&["linear", "--no-verify", "--set", &url, "--set", "token=wrong-token"])).code(0);
    place.run(["credential", "list"]).code(0).shows("untried");
    place.run(["credential", "test", "linear"]).code(3).says("refused");
    place.run(["credential", "list"]).code(0).shows("no");
}

#[test]
fn a_question_is_never_asked_without_a_terminal() {
    let place = Place::triage();
    place.run(add(&["linear"])).code(2).shows_nothing().says("--set field=@env:NAME");
    place.run_with(add(&["linear"]), "{\"url\": \"http://127.0.0.1:1/\"}").code(2).says("lacks `token`");
}

#[test]
fn wrong_names_get_the_nearest() {
    let place = Place::triage();
    let url = "url=http://127.0.0.1:1/mcp";
    place.run(["credential", "add", "--module", "@lf/mpc", "linear"]).code(2).says("did you mean `@lf/mcp`?");
    place
        .run(["credential", "add", "--module", "@lf/mcp", "linear", "--credential", "mcp_tokn"])
        .code(2)
        .says("did you mean `mcp_token`?");
    place.run(add(&["linear", "--set", url, "--set", "tokne=x"])).code(2).says("did you mean `token`?");
    place.run(add(&["linear", "--no-verify", "--set", url, "--set", "token=x"])).code(0);
    place.run(["credential", "test", "linaer"]).code(2).says("did you mean `linear`?");
    place.run(["credential", "remove", "linaer"]).code(2).says("did you mean `linear`?");
    place
        .run([
            "credential",
            "add",
            "--module",
            "#acme_crm",
            "linear",
            "--no-verify",
            "--set",
            "url=u",
            "--set",
            "client=c",
        ])
        .code(1)
        .says("is a credential of `@lf/mcp` already");
}

#[test]
fn a_module_that_is_not_installed_is_named_with_its_command() {
    let place = Place::bare("name = \"x\"\n");
    place.run(add(&["linear", "--set", "url=u", "--set", "token=t"])).code(2).says("listen-fire connect @lf/mcp");
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let place = Place::triage();
    let more = ["linear", "--no-verify", "--set", "url=http://127.0.0.1:1/mcp", "--set", "token=x"];
    place.run(add(&more)).code(0);
    std::fs::set_permissions(place.file(".listen-fire/key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    place.run(["credential", "test", "linear"]).code(4).says("chmod 600");
}

#[test]
fn another_key_opens_nothing_and_says_so() {
    let mut place = Place::triage();
    let more = ["linear", "--no-verify", "--set", "url=http://127.0.0.1:1/mcp", "--set", "token=x"];
    place.run(add(&more)).code(0);
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    place.set("LISTEN_FIRE_KEY", key);
    let ran = place.run(["credential", "test", "linear"]).code(4).says("was sealed with key");
    assert!(!ran.err.contains(key));
}
