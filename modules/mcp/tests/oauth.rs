//! Signing in by OAuth, judged by what the servers received.

use std::{sync::Arc, time::Duration};

use lf_harness::{
    Received, Reply, Server, World,
    authorization::{Authorization, Browser, Rules, Shelf, form, query},
    mcp::Offer,
};
use lf_mcp::{Mcp, oauth::App};
use lf_module::{
    Call, CallError, Clock as _, Connection, Credential, Kind, Module as _, Page, Person, Ports, Read, Secret, Target,
    Value, Write, Written,
    call::{Origin, Settings},
};
use serde_json::json;

use crate::stage::{record, tools};

/// A server behind an authorization server, and processes that share one credential for it.
struct House {
    world: Arc<World>,
    authorization: Authorization,
    server: Server,
    shelf: Arc<Shelf>,
    app: App,
    browser: Arc<Browser>,
}

struct Process {
    connection: Arc<dyn Connection>,
    world: Arc<World>,
}

fn discovering() -> App {
    App { discover: true, ..App::default() }
}

impl House {
    fn new(rules: Rules, app: impl FnOnce(&str) -> App) -> Self {
        Self::with(rules, app, &[])
    }

    fn with(rules: Rules, app: impl FnOnce(&str) -> App, fields: &[(&str, &str)]) -> Self {
        let world = World::in_real_time(0.0);
        let authorization = Authorization::new(Offer::of(tools()), rules);
        let answers = authorization.clone();
        let server = Server::start(world.clone(), move |received| answers.reply(received)).unwrap();
        let url = server.url("/mcp");
        let fields = fields.iter().copied().chain([("url", url.as_str())]);
        let credential = Credential {
            name: "linear".into(),
            kind: "mcp".into(),
            fields: fields.map(|(name, value)| (name.into(), Secret::new(value))).collect(),
        };
        let app = app(&server.url(""));
        Self { world, authorization, server, shelf: Shelf::new(credential), app, browser: Arc::default() }
    }

    /// Somebody is there to sign in.
    fn attended(&self) -> Process {
        self.process(Some(self.browser.clone()))
    }

    /// A process of its own, where nobody is.
    fn headless(&self) -> Process {
        self.process(None)
    }

    fn process(&self, person: Option<Arc<dyn Person>>) -> Process {
        let ports = Ports { keeper: Some(self.shelf.keeper(person)), ..self.world.ports() };
        let credential = Some(self.shelf.credential());
        let target = Target { id: "tracker".into(), settings: Settings::new(), credential, ports };
        let connection = Mcp::new(Some(self.app.clone())).connect(target).unwrap();
        Process { connection, world: self.world.clone() }
    }

    /// Signs in, and forgets what was received by then.
    async fn signed_in(&self) -> usize {
        let process = self.attended();
        process.sign_in().await.unwrap();
        self.server.received().len()
    }

    fn asked(&self, path: &str) -> Vec<Received> {
        let all = self.server.received();
        all.into_iter().filter(|one| one.path.split('?').next() == Some(path)).collect()
    }

    fn calls(&self) -> Vec<Received> {
        self.asked("/mcp").into_iter().filter(|one| one.rpc() == "tools/call").collect()
    }

    fn renewals(&self) -> Vec<Received> {
        let renews = |one: &Received| form(&one.body).get("grant_type").is_some_and(|kind| kind == "refresh_token");
        self.asked("/token").into_iter().filter(renews).collect()
    }

    fn kept(&self) -> serde_json::Value {
        let credential = self.shelf.credential();
        credential.get("grant").map(|grant| serde_json::from_str(grant.expose()).unwrap()).unwrap_or_default()
    }
}

impl Process {
    fn deadline(&self) -> Call {
        Call { deadline: self.world.monotonic() + Duration::from_secs(20), idempotency: None }
    }

    async fn sign_in(&self) -> Result<(), CallError> {
        self.connection.sign_in(&self.deadline()).await
    }

    async fn search(&self) -> Result<Page, CallError> {
        let pins = record(&[("query", Value::text("Acme"))]);
        let read = Read { ty: "search_issues".into(), origin: Origin::Root, pins, page: None };
        self.connection.read(&read, &self.deadline()).await
    }

    async fn create(&self) -> Result<Written, CallError> {
        let fields = record(&[("title", Value::text("Follow up")), ("team", Value::text("ENG"))]);
        self.connection
            .write(
                &Write::Create { ty: "create_issue".into(), origin: lf_module::call::Origin::Root, fields },
                &self.deadline(),
            )
            .await
    }
}

fn written(base: &str) -> App {
    App {
        authorize_url: Some(format!("{base}/authorize")),
        token_url: Some(format!("{base}/token")),
        client_id: Some("our app".to_owned()),
        client_secret: Some(Secret::new("h:u s&h")),
        scope: Some("read write".to_owned()),
        ..App::default()
    }
}

const SIGN_IN: &str = "`listen-fire credential add --module @lf/mcp linear --credential mcp`";

#[tokio::test]
async fn a_sign_in_at_endpoints_that_a_person_wrote_down_uses_pkce_and_nothing_is_looked_for() {
    let house = House::new(Rules { names_metadata: false, ..Rules::default() }, written);
    let process = house.attended();
    process.sign_in().await.unwrap();
    process.create().await.unwrap();
    let asked = query(&house.asked("/authorize")[0]);
    let resource = house.server.url("/mcp");
    let expected = [
        ("response_type", "code"),
        ("client_id", "our app"),
        ("redirect_uri", "http://127.0.0.1:9/callback"),
        ("scope", "read write"),
        ("code_challenge_method", "S256"),
        ("resource", &resource),
    ];
    for (name, value) in expected {
        assert_eq!(asked.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(asked["state"].len() >= 16 && asked["code_challenge"].len() == 43);
    let [token] = &house.asked("/token")[..] else { panic!("one token request") };
    let sent = form(&token.body);
    assert_eq!(sent["grant_type"], "authorization_code");
    assert_eq!(sent["redirect_uri"], "http://127.0.0.1:9/callback");
    assert_eq!(sent["resource"], resource);
    assert!(sent["code_verifier"].len() >= 43);
    // As the standard has it: both parts are encoded as a form before.
    assert_eq!(token.header("authorization"), Some("Basic b3VyK2FwcDpoJTNBdStzJTI2aA=="));
    let paths: Vec<_> =
        house.server.received().iter().map(|one| one.path.split('?').next().unwrap().to_owned()).collect();
    assert_eq!(paths[..2], ["/authorize", "/token"], "nothing is asked before, nothing is looked for");
    assert!(paths[2..].iter().all(|path| path == "/mcp"));
    for one in house.asked("/mcp") {
        assert_eq!(one.header("authorization"), Some("Bearer access-0002"), "on every request");
        assert!(!one.path.contains("access-"));
    }
}

#[tokio::test]
async fn the_page_of_an_authorization_server_is_found_wherever_it_may_lie() {
    let root = Some("/.well-known/oauth-protected-resource");
    let below = Some("/.well-known/oauth-protected-resource/mcp");
    let table = [
        (true, below, "", "/.well-known/oauth-authorization-server"),
        (false, below, "", "/.well-known/openid-configuration"),
        (false, root, "/tenant", "/.well-known/oauth-authorization-server/tenant"),
        (false, root, "/tenant", "/.well-known/openid-configuration/tenant"),
        (true, Some("/elsewhere"), "/tenant", "/tenant/.well-known/openid-configuration"),
        (false, None, "", "/.well-known/oauth-authorization-server"),
    ];
    for (names_metadata, resource_at, issuer_path, server_at) in table {
        let rules = Rules { names_metadata, resource_at, issuer_path, server_at: Some(server_at), ..Rules::default() };
        let house = House::new(rules, |_| discovering());
        let process = house.attended();
        process.sign_in().await.unwrap_or_else(|error| panic!("{server_at}: {error}"));
        process.search().await.unwrap();
        let registered = house.asked("/register")[0].json();
        assert_eq!(registered["application_type"], "native");
        assert_eq!(registered["redirect_uris"], json!(["http://127.0.0.1:9/callback"]));
        assert_eq!(registered["token_endpoint_auth_method"], "none");
        assert_eq!(query(&house.asked("/authorize")[0])["client_id"], "registered-app");
        assert_eq!(form(&house.asked("/token")[0].body)["client_id"], "registered-app");
    }
}

#[tokio::test]
async fn a_server_of_2025_03_26_is_its_own_authorization_server() {
    let rules = Rules { resource_at: None, server_at: None, iss: None, ..Rules::default() };
    let house = House::new(rules, |_| discovering());
    house.attended().sign_in().await.unwrap();
    assert_eq!(house.asked("/register").len(), 1);
    assert_eq!(house.asked("/token").len(), 1);
}

#[tokio::test]
async fn an_app_with_its_metadata_at_its_own_address_is_used_where_that_is_read() {
    let id = "https://app.example/listen-fire.json";
    let app = || App { client_id: Some(id.to_owned()), ..discovering() };
    let says = json!({"client_id_metadata_document_supported": true});
    let house = House::new(Rules { server_says: says, ..Rules::default() }, |_| app());
    house.attended().sign_in().await.unwrap();
    assert_eq!(query(&house.asked("/authorize")[0])["client_id"], id);
    assert_eq!(house.asked("/register").len(), 0);
    let house = House::new(Rules::default(), |_| app());
    house.attended().sign_in().await.unwrap();
    assert_eq!(house.asked("/register").len(), 1, "elsewhere one is registered");
}

#[tokio::test]
async fn scopes_are_those_that_the_server_names_else_those_of_its_metadata_else_none() {
    let says = json!({"scopes_supported": ["a", "b"]});
    let offline = json!({"scopes_supported": ["x", "offline_access"]});
    let table = [
        (Some("only this"), says.clone(), json!({}), Some("only this")),
        (None, says.clone(), json!({}), Some("a b")),
        (None, says, offline.clone(), Some("a b offline_access")),
        (None, json!({}), json!({}), None),
        (None, json!({}), offline, None),
    ];
    for (scope, resource_says, server_says, expected) in table {
        let rules = Rules { scope: scope.map(str::to_owned), resource_says, server_says, ..Rules::default() };
        let house = House::new(rules, |_| discovering());
        house.attended().sign_in().await.unwrap();
        assert_eq!(query(&house.asked("/authorize")[0]).get("scope").map(String::as_str), expected);
    }
}

#[tokio::test]
async fn whoever_is_not_whom_was_asked_gets_no_code_and_no_secret() {
    let rules = Rules::default;
    let server = |says| Rules { server_says: says, ..rules() };
    let resource = |says| Rules { resource_says: says, ..rules() };
    let table = [
        (Rules { forgets_state: true, ..rules() }, "`state` differs"),
        (Rules { iss: Some("https://evil.example".to_owned()), ..rules() }, "https://evil.example"),
        (Rules { iss: None, ..rules() }, "does not say who it is from"),
        (server(json!({"issuer": "https://evil.example"})), "`trusted_issuer`"),
        (server(json!({"issuer": "{base}/"})), "`trusted_issuer`"),
        (server(json!({"code_challenge_methods_supported": ["plain"]})), "PKCE with S256"),
        (server(json!({"code_challenge_methods_supported": null})), "PKCE with S256"),
        (server(json!({"token_endpoint": "http://as.example/token"})), "has to be https"),
        (server(json!({"authorization_endpoint": "ftp://as.example/a"})), "has to be https"),
        (server(json!({"token_endpoint": null})), "`token_endpoint`"),
        (server(json!({"registration_endpoint": null})), "`listen-fire connect @lf/mcp --oauth-client-id ID`"),
        (resource(json!({"resource": "https://other.example/mcp"})), "for another server"),
        (resource(json!({"resource": "{base}/mcp/deeper"})), "for another server"),
        (resource(json!({"resource": null})), "for another server"),
        (resource(json!({"authorization_servers": []})), "no authorization server"),
        (resource(json!({"authorization_servers": ["http://as.example"]})), "has to be https"),
        (resource(json!({"authorization_servers": ["https://169.254.169.254"]})), "not reached"),
    ];
    for (rules, expected) in table {
        let house = House::new(rules, |_| discovering());
        let error = house.attended().sign_in().await.unwrap_err();
        assert!(error.message.contains(expected), "{expected}: {}", error.message);
        assert_eq!(error.kind, Kind::Credential, "{}", error.message);
        assert_eq!(house.asked("/token").len(), 0, "{expected}");
        assert_eq!(house.kept(), serde_json::Value::Null);
    }
}

#[tokio::test]
async fn the_resource_is_sent_as_its_document_has_it() {
    let house =
        House::new(Rules { resource_says: json!({"resource": "{base}"}), ..Rules::default() }, |_| discovering());
    house.attended().sign_in().await.unwrap();
    let sent = query(&house.asked("/authorize")[0])["resource"].clone();
    assert_eq!(sent, house.server.url(""), "no slash is added");
}

#[tokio::test]
async fn field_case_25_many_calls_of_two_processes_renew_a_token_once() {
    let house = House::new(Rules::default(), |_| discovering());
    house.signed_in().await;
    house.authorization.end_tokens();
    let processes = [house.headless(), house.headless()];
    let calls = (0..20).map(|number| processes[number % 2].create());
    for done in futures::future::join_all(calls).await {
        done.unwrap();
    }
    assert_eq!(house.renewals().len(), 1);
    let taken = house.calls().into_iter().filter(|call| call.header("authorization") == Some("Bearer access-0004"));
    assert_eq!(taken.count(), 20, "every write was done once");
    assert_eq!(house.kept()["refresh"], "refresh-0005", "the new one is kept");
}

#[tokio::test]
async fn a_token_that_is_over_is_renewed_before_it_is_sent_and_kept_before_it_is_used() {
    let house = House::new(Rules { life: Some(60), ..Rules::default() }, |_| discovering());
    let before = house.signed_in().await;
    house.world.skip(Duration::from_secs(55));
    house.headless().search().await.unwrap();
    let paths: Vec<_> = house.server.received()[before..].iter().map(|one| one.path.clone()).collect();
    assert_eq!(paths[0], "/token", "the old one is not sent any more");
    assert!(paths[1..].iter().all(|path| path == "/mcp"));
    assert_eq!(house.kept()["access"], "access-0004");
}

#[tokio::test]
async fn an_old_refresh_token_stays_where_no_new_one_comes() {
    let house = House::new(Rules { rotates: false, ..Rules::default() }, |_| discovering());
    house.signed_in().await;
    for _ in 0..2 {
        house.authorization.end_tokens();
        house.headless().search().await.unwrap();
    }
    assert_eq!(house.renewals().len(), 2);
    assert_eq!(house.kept()["refresh"], "refresh-0003");
}

#[tokio::test]
async fn a_refusal_of_a_token_that_is_not_over_is_final() {
    // The server's challenge says nothing of the token being over, and its time is not.
    let rules = Rules { names_metadata: false, ..Rules::default() };
    let house = House::new(rules, |_| discovering());
    house.signed_in().await;
    let answers = house.authorization.clone();
    let deaf = Server::start(house.world.clone(), move |received| match received.path.as_str() {
        "/mcp" => Reply::status(401).header("WWW-Authenticate", "Bearer realm=\"mcp\""),
        _ => answers.reply(received),
    })
    .unwrap();
    let mut credential = house.shelf.credential();
    credential.fields.insert("url".into(), Secret::new(deaf.url("/mcp")));
    house.shelf.put(credential);
    let error = house.headless().create().await.unwrap_err();
    assert_eq!((error.kind, error.status), (Kind::Credential, Some(401)));
    assert!(error.message.contains(SIGN_IN), "{}", error.message);
    assert_eq!(deaf.received().len(), 1);
    assert_eq!(house.renewals().len(), 0);
}

#[tokio::test]
async fn a_token_that_is_renewed_and_still_refused_is_not_renewed_again() {
    let house = House::new(Rules::default(), |_| discovering());
    house.signed_in().await;
    let answers = house.authorization.clone();
    let deaf = Server::start(house.world.clone(), move |received| match received.path.as_str() {
        "/mcp" => Reply::status(401).header("WWW-Authenticate", "Bearer error=\"invalid_token\""),
        _ => answers.reply(received),
    })
    .unwrap();
    let mut credential = house.shelf.credential();
    credential.fields.insert("url".into(), Secret::new(deaf.url("/mcp")));
    house.shelf.put(credential);
    let error = house.headless().create().await.unwrap_err();
    assert_eq!(error.kind, Kind::Credential);
    assert_eq!(deaf.received().len(), 2, "one resend");
    assert_eq!(house.renewals().len(), 1);
}

#[tokio::test]
async fn a_refresh_token_that_is_good_no_more_is_said_with_the_command_and_nothing_is_wiped() {
    let house = House::new(Rules::default(), |_| discovering());
    house.signed_in().await;
    house.authorization.end_all();
    let kept = house.kept();
    let error = house.headless().create().await.unwrap_err();
    assert_eq!(error.kind, Kind::Credential);
    assert!(error.message.contains("invalid_grant") && error.message.contains(SIGN_IN), "{}", error.message);
    assert!(!error.may_have_acted());
    assert_eq!(house.kept(), kept);
    for secret in ["access-", "refresh-"] {
        assert!(!error.message.contains(secret), "{}", error.message);
    }
}

#[tokio::test]
async fn where_nobody_is_no_browser_is_opened_and_the_command_is_named() {
    for app in [discovering(), written("http://127.0.0.1:9")] {
        let house = House::new(Rules::default(), |_| app);
        let error = house.headless().search().await.unwrap_err();
        assert_eq!(error.kind, Kind::Credential);
        assert!(error.message.contains(SIGN_IN), "{}", error.message);
        assert!(house.asked("/authorize").is_empty() && house.browser.visited().is_empty());
    }
}

#[tokio::test]
async fn a_scope_that_is_missing_where_nobody_is_is_asked_for_at_the_next_sign_in() {
    let rules = Rules { scope: Some("read".to_owned()), needs: Some("write".to_owned()), ..Rules::default() };
    let house = House::new(rules, |_| discovering());
    house.signed_in().await;
    let error = house.headless().create().await.unwrap_err();
    assert_eq!((error.kind, error.status), (Kind::Credential, Some(403)));
    assert!(error.message.contains("`write`") && error.message.contains(SIGN_IN), "{}", error.message);
    assert_eq!(house.calls().len(), 1);
    assert_eq!(house.kept()["wanted"], json!(["write"]));
}

#[tokio::test]
async fn a_403_without_that_word_is_final() {
    let house = House::new(Rules::default(), |_| discovering());
    house.signed_in().await;
    let answers = house.authorization.clone();
    let stern = Server::start(house.world.clone(), move |received| match received.rpc().as_str() {
        "tools/call" => Reply::status(403).header("WWW-Authenticate", "Bearer scope=\"write\""),
        _ => answers.reply(received),
    })
    .unwrap();
    let mut credential = house.shelf.credential();
    credential.fields.insert("url".into(), Secret::new(stern.url("/mcp")));
    house.shelf.put(credential);
    let error = house.attended().create().await.unwrap_err();
    assert_eq!((error.kind, error.status), (Kind::Credential, Some(403)));
    assert_eq!(stern.received().iter().filter(|one| one.rpc() == "tools/call").count(), 1);
    assert_eq!(house.asked("/authorize").len(), 1);
}

#[tokio::test]
async fn secrets_stay_where_they_belong() {
    let house = House::new(Rules::default(), |_| discovering());
    house.signed_in().await;
    house.authorization.end_tokens();
    house.headless().search().await.unwrap();
    for one in house.server.received() {
        let bearer = one.header("authorization").is_some_and(|value| value.starts_with("Bearer"));
        assert!(!bearer || one.path == "/mcp", "{}", one.path);
        assert!(one.header("mcp-session-id").is_none() || one.path == "/mcp");
    }
}

#[tokio::test]
async fn a_redirect_of_the_token_endpoint_is_not_followed() {
    let house = House::new(Rules::default(), |_| discovering());
    house.signed_in().await;
    house.authorization.end_tokens();
    for status in [302, 307, 308] {
        let answer = Reply::status(status).header("Location", &house.server.url("/elsewhere"));
        house.authorization.change(|rules| rules.token_answers = Some(answer));
        let error = house.headless().search().await.unwrap_err();
        assert!(error.message.contains("not followed"), "{}", error.message);
    }
    assert_eq!(house.asked("/elsewhere").len(), 0);
}

#[tokio::test]
async fn a_token_endpoint_that_is_throttled_or_broken_is_waited_for() {
    let house = House::new(Rules::default(), |_| discovering());
    house.signed_in().await;
    house.authorization.end_tokens();
    let answer = Reply::status(429).header("Retry-After", "600");
    house.authorization.change(|rules| rules.token_answers = Some(answer));
    let error = house.headless().search().await.unwrap_err();
    assert_eq!((error.kind, error.retry_after), (Kind::Passing, Some(Duration::from_secs(600))));
    assert_eq!(house.renewals().len(), 1);
    house.authorization.change(|rules| rules.token_answers = Some(Reply::raw_json("x".repeat(2 << 20))));
    let error = house.headless().search().await.unwrap_err();
    assert!(error.message.contains("larger than"), "{}", error.message);
    house.authorization.change(|rules| rules.token_answers = Some(Reply::raw_json(r#"{"access_token":7}"#)));
    let error = house.headless().search().await.unwrap_err();
    assert!(error.message.contains("access_token"), "{}", error.message);
    house.authorization.change(|rules| rules.token_answers = None);
    house.headless().search().await.unwrap();
}

#[tokio::test]
async fn what_a_server_says_of_its_refusal_is_cleaned() {
    let rules = Rules {
        token_answers: Some(
            Reply::json(&json!({
                "error": "invalid_request", "error_description": "\u{1b}[31mred\u{7}"
            }))
            .with_status(400),
        ),
        ..Rules::default()
    };
    let house = House::new(rules, |_| discovering());
    let error = house.attended().sign_in().await.unwrap_err();
    assert!(
        error.message.contains("invalid_request") && !error.message.contains(char::is_control),
        "{:?}",
        error.message
    );
}

#[test]
fn without_an_app_an_oauth_credential_is_refused_with_the_command() {
    let module = Mcp::default();
    let kind = module.manifest().credentials.iter().find(|kind| kind.name == "mcp").unwrap();
    let refusal = kind.refusal.as_ref().unwrap();
    let command = "listen-fire connect @lf/mcp --oauth-authorize-url <…/authorize> --oauth-token-url <…/token>";
    assert!(refusal.contains(command), "{refusal}");
    assert!(Mcp::new(Some(discovering())).manifest().credentials.iter().all(|kind| kind.refusal.is_none()));
}
