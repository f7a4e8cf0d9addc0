//! Signing in by OAuth with the real executable, and what its processes share, judged by what the servers received.

use std::{thread, time::Duration};

use lf_harness::{
    Reply, Server, World,
    authorization::{Authorization, Rules, follow, form, query},
    mcp::Offer,
};
use listen_fire::demo::Systems;

use super::{
    mcp::offer,
    place::{Place, Ran, holds, until},
};

struct House {
    place: Place,
    server: Server,
    authorization: Authorization,
}

const ADD: [&str; 7] = ["credential", "add", "--module", "@lf/mcp", "linear", "--credential", "mcp"];
const SECRET: &str = "hush-hush";

impl House {
    fn new(rules: Rules) -> Self {
        Self::of(rules, offer())
    }

    fn of(rules: Rules, offer: Offer) -> Self {
        let authorization = Authorization::new(offer, rules);
        let answers = authorization.clone();
        let server = Server::start(World::new(0.0), move |received| answers.reply(received)).unwrap();
        Self { place: Place::bare("name = \"x\"\n"), server, authorization }
    }

    fn url(&self) -> String {
        format!("url={}", self.server.url("/mcp"))
    }

    /// Signs in: the address is printed, and a browser that follows it comes back.
    async fn sign_in(&self) -> Ran {
        let url = self.url();
        let command = self.place.start(ADD.into_iter().chain(["--no-browser", "--set", &url]));
        command.until_says("sign in at ");
        let said = command.aside();
        let address = said.split("sign in at ").nth(1).unwrap().lines().next().unwrap().to_owned();
        let back = follow(&address).await.unwrap().unwrap();
        assert!(back.starts_with("http://127.0.0.1:"), "{back}");
        // Whatever else knocks at the port changes nothing.
        assert_eq!(follow(&back.replace("/callback", "/else")).await.unwrap(), None);
        assert_eq!(follow(&back).await.unwrap(), None);
        command.done()
    }

    fn renewals(&self) -> usize {
        let renews = |body: &[u8]| form(body).get("grant_type").is_some_and(|kind| kind == "refresh_token");
        self.server.received().iter().filter(|one| one.path == "/token" && renews(&one.body)).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_is_sealed_and_works() {
    let rules = Rules { app: Some(("our-app".to_owned(), SECRET.to_owned())), ..Rules::default() };
    let mut house = House::new(rules);
    house.place.set("APP_SECRET", SECRET);
    let (authorize, token) = (house.server.url("/authorize"), house.server.url("/token"));
    let connect = ["connect", "@lf/mcp", "--oauth-authorize-url", &authorize, "--oauth-token-url", &token];
    let app =
        ["--oauth-client-id", "our-app", "--oauth-client-secret", "@env:APP_SECRET", "--oauth-scope", "read write"];
    house.place.run(connect.into_iter().chain(app)).code(0).shows("with an OAuth app").says("--credential mcp");
    let file = house.place.read("listen-fire.toml");
    assert!(file.contains("[oauth.\"@lf/mcp\"]") && file.contains("our-app") && !file.contains(SECRET), "{file}");

    let signed = house.sign_in().await.code(0).shows("added `linear` (mcp of `@lf/mcp`)");
    let asked = house.server.received().iter().find(|one| one.path.starts_with("/authorize")).map(query).unwrap();
    assert_eq!(asked["scope"], "read write");
    house.place.run(["credential", "test", "linear"]).code(0).shows("works: 2 types");
    let list = house.place.run(["credential", "list"]).code(0).shows("linear").shows("yes");
    let doctor = house.place.run(["doctor"]).code(0).shows("token: ").shows("token renews itself: yes");
    let kept = house.place.kept();
    for secret in [SECRET, "access-0", "refresh-0"] {
        assert!(!holds(&kept, secret), "{secret} is in the clear");
        for ran in [&signed, &list, &doctor] {
            assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "{ran:?}");
        }
    }
    house.place.run(["credential", "remove", "linear"]).code(0);
    house.place.run(["credential", "test", "linear"]).code(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_is_no_browser_is_opened() {
    let house = House::new(Rules::default());
    house.place.run(["connect", "@lf/mcp", "--oauth-discover"]).code(0);
    let url = house.url();
    house.place.run(ADD.into_iter().chain(["--set", &url])).code(2).says("needs a person").says("--no-browser");
    assert_eq!(house.server.received().len(), 0);
}

#[test]
fn without_an_app_a_sign_in_is_refused_with_the_command() {
    let place = Place::bare("name = \"x\"\n");
    place.run(["connect", "@lf/mcp", "--yes"]).code(0);
    let command = "`listen-fire connect @lf/mcp --oauth-authorize-url <…/authorize> --oauth-token-url <…/token>`";
    place.run(ADD).code(2).says(command);
}

#[test]
fn an_app_has_to_be_whole_and_changes_only_in_what_is_given() {
    let place = Place::bare("name = \"x\"\n");
    let connect = |more: &[&'static str]| place.run(["connect", "@lf/mcp"].into_iter().chain(more.iter().copied()));
    let (authorize, token) = ("https://as.example/authorize", "https://as.example/token");
    connect(&["--oauth-authorize-url", authorize]).code(2).says("`--oauth-token-url`");
    connect(&["--oauth-authorize-url", authorize, "--oauth-token-url", token]).code(2).says("`--oauth-client-id`");
    let plain = ["--oauth-authorize-url", "http://as.example/a", "--oauth-token-url", token, "--oauth-client-id", "a"];
    connect(&plain).code(2).says("has to be https");
    assert!(!place.read("listen-fire.toml").contains("oauth"), "nothing was half done");
    connect(&["--oauth-authorize-url", authorize, "--oauth-token-url", token, "--oauth-client-id", "a"]).code(0);
    let before = place.read("listen-fire.toml");
    connect(&["--oauth-scope", "read"]).code(0).shows("changed the OAuth app");
    assert_eq!(place.read("listen-fire.toml"), format!("{before}scope = \"read\"\n"));
    connect(&["--oauth-scope", "read"]).code(0).shows("installed already");
    place.change("listen-fire.toml", "token_url", "token_ulr");
    place.run(["doctor"]).code(4).says("`token_url`");
}

#[tokio::test(flavor = "multi_thread")]
async fn field_case_25_processes_of_one_project_renew_a_token_once() {
    let house = House::new(Rules::default());
    house.place.run(["connect", "@lf/mcp", "--oauth-discover"]).code(0);
    house.sign_in().await.code(0);
    house.authorization.end_tokens();
    let all: Vec<Ran> = thread::scope(|scope| {
        let tests: Vec<_> = (0..6).map(|_| scope.spawn(|| house.place.run(["credential", "test", "linear"]))).collect();
        tests.into_iter().map(|test| test.join().unwrap()).collect()
    });
    for ran in all {
        ran.code(0).shows("works");
    }
    assert_eq!(house.renewals(), 1);
    // A refresh token that is good no more says what to do, and is not wiped.
    house.authorization.end_all();
    house
        .place
        .run(["credential", "test", "linear"])
        .code(3)
        .says("listen-fire credential add --module @lf/mcp linear");
    house.place.run(["doctor"]).code(3).shows("it was refused when it was last tried").shows("mend: ");
    assert_eq!(house.renewals(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_one_429_no_process_asks_before_its_time() {
    const ALONE: Duration = Duration::from_secs(8);
    let systems = Systems::start().await.unwrap();
    let first = std::sync::atomic::AtomicBool::new(true);
    let (place, server) = super::mcp::place(&systems, move |received| {
        if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return Reply::status(429).header("Retry-After", &ALONE.as_secs().to_string());
        }
        offer().reply(received)
    });
    // A hold is shared through the store, which is made when something is first kept.
    let other = ["credential", "add", "--module", "@lf/mcp", "other", "--credential", "mcp_token", "--no-verify"];
    place.run(other.into_iter().chain(["--set", "url=http://127.0.0.1:9/mcp", "--set", "token=t"])).code(0);
    let one = place.start(["check"]);
    until("the server was asked", || !server.received().is_empty());
    until("the hold is known to others", || {
        place.run(["doctor", "--offline", "--json"]).out.contains("\"held_until\"")
    });
    let (other, doctor) = thread::scope(|scope| {
        let other = scope.spawn(|| place.run(["check"]));
        (other.join().unwrap(), place.run(["doctor"]))
    });
    other.code(0);
    doctor.code(0);
    one.done().code(0);
    let received = server.received();
    assert!(received.len() > 4, "both went on afterwards");
    for later in &received[1..] {
        assert!(later.at >= received[0].at + ALONE, "asked {:?} after", later.at - received[0].at);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_says_what_is_wrong_and_what_mends_it() {
    let systems = Systems::start().await.unwrap();
    let place = Place::connected(&systems);
    let well = place.run(["doctor"]).code(0).shows("protocol: ").shows("held: no").says("all is well");
    assert!(!well.out.contains("wrong"), "{}", well.out);
    for line in place.run(["doctor", "--json"]).code(0).out.lines() {
        let one: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(one["kind"].is_string() && one["wrong"].as_array().is_some_and(Vec::is_empty), "{one}");
    }
    drop(systems);
    place.run(["doctor"]).code(3).shows("wrong: ");
    place.write(".listen-fire/state.db", "this is no database, and long enough to be looked at as one …");
    place.run(["doctor"]).code(4).says("not a listen-fire store");
    place.write("listen-fire.toml", "name = 7\n");
    place.run(["doctor"]).code(4).says("`name`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_opens_what_the_old_one_sealed() {
    let systems = Systems::start().await.unwrap();
    let mut place = Place::connected(&systems);
    let old = place.read(".listen-fire/key");
    place.run(["credential", "rotate-key"]).code(0).shows("2 credentials are sealed under the new key");
    let new = place.read(".listen-fire/key");
    assert_ne!(old, new);
    assert!(!place.file(".listen-fire/key.next").exists());
    place.run(["credential", "test", "linear"]).code(0);
    // One that was interrupted: the new key lies there, nothing is sealed under it yet.
    place.write(".listen-fire/key.next", &old);
    std::fs::set_permissions(place.file(".listen-fire/key.next"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    place.run(["credential", "test", "linear"]).code(0);
    place.run(["credential", "rotate-key"]).code(0).shows("2 credentials");
    assert_eq!(place.read(".listen-fire/key"), old);
    place.run(["credential", "test", "linear"]).code(0);
    place.set("LISTEN_FIRE_KEY", old.trim());
    place.run(["credential", "rotate-key"]).code(2).says("LISTEN_FIRE_KEY_NEXT");
    place.set("LISTEN_FIRE_KEY_NEXT", new.trim());
    place.run(["credential", "rotate-key"]).code(0).says("now set `LISTEN_FIRE_KEY`");
    place.run(["credential", "test", "linear"]).code(0);
    place.set("LISTEN_FIRE_KEY", new.trim());
    place.run(["credential", "test", "linear"]).code(0);
}
