//! How requests are signed, where they go, what a refusal says, and that no secret is shown.

use std::time::Duration;

use lf_harness::{Reply, Server, World, faults::Fault};
use lf_module::{Call, Connection, Credential, Key, Kind, Module as _, Secret, Target, Value, call::Settings};
use serde_json::json;

use crate::crm::{TOKEN, call, connect, module, read, scripted};

const ITEM: &str = r#"
[type.Item]
key = "id"
schema = { required = ["id"], properties = { id = { type = "integer" } } }
[type.Item.list]
path = "/items"
paging = { link = "next" }
[type.Item.get]
path = "/items/{key}"
"#;

#[tokio::test]
async fn a_request_is_signed_as_declared() {
    for (sign, header, value) in [
        ("{ bearer = \"{token}\" }", "authorization", "Bearer tok-3f9a61c2"),
        ("{ header = \"X-Api-Key\", value = \"key {token}\" }", "x-api-key", "key tok-3f9a61c2"),
        ("{ basic = [\"me\", \"{token}\"] }", "authorization", "Basic bWU6dG9rLTNmOWE2MWMy"),
    ] {
        let world = World::new(0.5);
        let server = Server::start(world.clone(), |_| Reply::json(&json!([]))).unwrap();
        let file = format!(
            "headers = {{ X-Client = \"listen-fire\" }}\n[credential.c]\nsign = {sign}\nfields.url = {{}}\nfields.token = {{}}\n{ITEM}"
        );
        let connection = connect(&file, &server.url("/api/"), world.ports()).unwrap();
        connection.read(&read("Item", None), &call(&world)).await.unwrap();
        let request = server.received().remove(0);
        assert_eq!(request.path, "/api/items");
        assert_eq!(request.header(header), Some(value));
        assert_eq!(request.header("x-client"), Some("listen-fire"));
        assert_eq!(request.header("accept"), Some("application/json"));
    }
}

#[tokio::test]
async fn a_secret_in_the_query_is_sent_and_never_kept_or_shown() {
    let world = World::new(0.5);
    let server = Server::start(world.clone(), |request| match request.number {
        0 => {
            let link = format!("<{}&page=2>; rel=next", request.path);
            Reply::json(&json!([])).header("Link", &link)
        }
        _ => Reply::status(400).body(format!("bad request: {}", request.path)),
    })
    .unwrap();
    let file = format!(
        "[credential.c]\nsign = {{ query = \"key\", value = \"{{token}}\" }}\nfields.url = {{}}\nfields.token = {{}}\n{ITEM}"
    );
    let connection = connect(&file, &server.url(""), world.ports()).unwrap();
    let page = connection.read(&read("Item", None), &call(&world)).await.unwrap();
    let cursor = page.next.unwrap();
    assert!(!cursor.0.contains(TOKEN), "{cursor:?}");
    let error = connection.read(&read("Item", Some(cursor)), &call(&world)).await.unwrap_err();
    assert_eq!(server.received()[1].path, format!("/items?page=2&key={TOKEN}"));
    assert_eq!(error.message, "`GET /items` answered 400: bad request: /items?page=2&key=…");
    assert!(!format!("{connection:?}").contains(TOKEN));
}

#[tokio::test]
async fn a_refused_credential_says_so_without_repeating_it() {
    for status in [401, 403] {
        let (server, world, connection) =
            scripted(ITEM, move |_| Reply::status(status).body(format!("no such token {TOKEN}")));
        let error = connection.read(&read("Item", None), &call(&world)).await.unwrap_err();
        assert_eq!((error.kind, error.status), (Kind::Credential, Some(status.into())));
        assert_eq!(
            error.message,
            format!("`GET /items` answered {status}, the system refused the credential: no such token …")
        );
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn a_declared_request_verifies_the_credential_and_nothing_else_is_sent_to_describe() {
    let (server, world, connection) = scripted(ITEM, |_| Reply::status(500));
    assert_eq!(connection.describe(&call(&world)).await.unwrap().types.len(), 1);
    assert!(server.received().is_empty());
    let world = World::new(0.5);
    let server =
        Server::start(world.clone(), |request| Reply::status(if request.number == 0 { 204 } else { 401 })).unwrap();
    let file = format!("verify = {{ path = \"/me\" }}\n{}{ITEM}", crate::crm::HEAD);
    let connection = connect(&file, &server.url("/api"), world.ports()).unwrap();
    assert_eq!(connection.describe(&call(&world)).await.unwrap().types.len(), 1);
    assert_eq!(connection.describe(&call(&world)).await.unwrap_err().kind, Kind::Credential);
    let request = server.received().remove(0);
    assert_eq!((request.path.as_str(), request.header("authorization").is_some()), ("/api/me", true));
}

#[tokio::test]
async fn a_refusal_says_what_the_system_said_and_names_its_field() {
    let file =
        format!("error = {{ message = \"/errors/0/detail\", field = \"/errors/0/at\" }}\n{}{ITEM}", crate::crm::HEAD);
    let world = World::new(0.5);
    let server = Server::start(world.clone(), |request| match request.number {
        0 => Reply::status(422).body(r#"{"errors":[{"detail":"must be\n  positive","at":"id"}]}"#),
        _ => Reply::status(400).body("x".repeat(100_000)),
    })
    .unwrap();
    let connection = connect(&file, &server.url(""), world.ports()).unwrap();
    let error = connection.read(&read("Item", None), &call(&world)).await.unwrap_err();
    assert_eq!(error.message, "`GET /items` answered 422: must be positive");
    assert_eq!((error.kind, error.field.as_deref()), (Kind::Refused, Some("id")));
    let error = connection.read(&read("Item", None), &call(&world)).await.unwrap_err();
    assert_eq!(error.message.chars().count(), "`GET /items` answered 400: ".len() + 301);
}

#[tokio::test]
async fn a_read_is_sent_again_when_it_may_pass() {
    for (fault, requests) in [
        (Fault::Status(429), 2),
        (Fault::AskedSeconds(503, 3), 2),
        (Fault::AskedDate(429, 7), 2),
        (Fault::Status(500), 2),
        (Fault::Status(503), 2),
        (Fault::ResetBeforeHead, 2),
        (Fault::ResetMidBody, 2),
        (Fault::CutBody, 2),
        (Fault::Status(501), 1),
        (Fault::Status(404), 1),
        (Fault::Status(302), 1),
        (Fault::AskedSeconds(429, 600), 1),
    ] {
        let (server, world, connection) =
            scripted(
                ITEM,
                move |request| if request.number == 0 { fault.reply(b"[{\"id\":1}]") } else { Reply::json(&json!([])) },
            );
        let answer = connection.read(&read("Item", None), &call(&world)).await;
        assert_eq!((server.received().len(), answer.is_ok()), (requests, requests == 2), "{fault:?}");
        if let Fault::AskedSeconds(503, seconds) | Fault::AskedDate(_, seconds) = fault {
            assert_eq!(world.sleeps(), [Duration::from_secs(seconds)]);
            assert_eq!(world.reports()[0].0, Duration::from_secs(seconds));
        }
        if let Err(error) = answer {
            assert!(!error.may_have_acted(), "a read never acts");
        }
    }
}

#[tokio::test]
async fn an_answer_that_trickles_ends_by_the_deadline() {
    let (_server, world, connection) = scripted(ITEM, |_| Fault::Trickle.reply(&[b' '; 4000]));
    let begun = world.ports().clock.monotonic();
    let call = Call { deadline: begun + Duration::from_millis(400), idempotency: None };
    let error = connection.read(&read("Item", None), &call).await.unwrap_err();
    assert_eq!(error.kind, Kind::Passing);
    assert!(world.ports().clock.monotonic() - begun < Duration::from_secs(3));
}

#[tokio::test]
async fn a_key_is_percent_encoded_and_what_is_not_there_is_absent() {
    let file = ITEM.replace("integer", "string");
    let (server, world, connection) = scripted(&file, |request| {
        if request.number == 0 { Reply::json(&json!({ "id": "a/b ?#%ü" })) } else { Reply::status(404) }
    });
    let get = async |key: &str| connection.get(&"Item".into(), &Key(key.into()), &call(&world)).await.unwrap();
    assert!(get("a/b ?#%ü").await.is_some());
    assert_eq!(server.received()[0].path, "/items/a%2Fb%20%3F%23%25%C3%BC");
    assert!(get("other").await.is_none());
}

#[tokio::test]
async fn the_place_comes_from_credential_setting_or_file() {
    let world = World::new(0.5);
    let server = Server::start(world.clone(), |_| Reply::json(&json!([]))).unwrap();
    let file =
        format!("base_url = \"{}/{{setting.area}}\"\nsetting.area = {{}}\nsetting.url = {{}}\n{ITEM}", server.url(""))
            .replace("path = \"/items\"", "path = \"/items\"\nquery = { area = \"{setting.area}\" }");
    let connect = |settings: Settings| {
        module(&file).connect(Target { id: "x".into(), settings, credential: None, ports: world.ports() })
    };
    let area = || Settings::from_iter([("area".into(), Value::text("eu"))]);
    connect(area()).unwrap().read(&read("Item", None), &call(&world)).await.unwrap();
    let mut with_url = area();
    with_url.insert("url".into(), Value::text(server.url("/other")));
    connect(with_url).unwrap().read(&read("Item", None), &call(&world)).await.unwrap();
    let paths: Vec<String> = server.received().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/eu/items?area=eu", "/other/items?area=eu"]);
    let error = connect(Settings::new()).unwrap_err();
    assert_eq!(error.message, "#crm: `base_url` needs a setting that is not given");
    for url in ["ftp://x", "nonsense", "http://user:pw@x/", "https://x/?q=1"] {
        let mut wrong = area();
        wrong.insert("url".into(), Value::text(url));
        let error = connect(wrong).unwrap_err();
        assert_eq!(error.kind, Kind::Limit);
        assert!(!error.message.contains("pw"), "{error}");
    }
}

#[tokio::test]
async fn a_credential_that_does_not_fit_makes_no_connection() {
    let world = World::new(0.5);
    let module = module(&format!("{}{ITEM}", crate::crm::HEAD));
    let connect = |credential: Option<Credential>| {
        module.connect(Target { id: "x".into(), settings: Settings::new(), credential, ports: world.ports() })
    };
    let credential = |kind: &str, fields: &[(&str, &str)]| Credential {
        name: "acme".into(),
        kind: kind.into(),
        fields: fields.iter().map(|(name, value)| ((*name).into(), Secret::new(*value))).collect(),
    };
    let error = |credential| connect(credential).map(|_| ()).unwrap_err().message;
    assert_eq!(error(None), "#crm needs a credential");
    assert_eq!(error(Some(credential("other", &[]))), "#crm has no credential of kind `other`");
    assert_eq!(error(Some(credential("token", &[("token", "x")]))), "the credential `acme` has no `url`");
    let newline = credential("token", &[("url", "http://x"), ("token", "a\nb")]);
    assert_eq!(
        error(Some(newline)),
        "the credential `acme`: the secret holds characters that cannot stand in a header"
    );
}

#[tokio::test]
async fn a_secret_is_not_shown_in_any_form_in_which_it_was_sent() {
    let world = World::new(0.5);
    let server = Server::start(world.clone(), |request| {
        let header = request.header("authorization").unwrap_or_default().to_owned();
        Reply::status(400).body(format!("{header} {} a%2Fb%3D%26+c a/b=& c", request.path))
    })
    .unwrap();
    for sign in ["{ basic = [\"me\", \"{token}\"] }", "{ query = \"key\", value = \"{token}\" }"] {
        let file =
            format!("base_url = \"{}\"\n[credential.c]\nsign = {sign}\nfields.token = {{}}\n{ITEM}", server.url(""));
        let credential = Credential {
            name: "acme".into(),
            kind: "c".into(),
            fields: [("token".into(), Secret::new("a/b=& c"))].into_iter().collect(),
        };
        let target =
            Target { id: "x".into(), settings: Settings::new(), credential: Some(credential), ports: world.ports() };
        let connection = module(&file).connect(target).unwrap();
        let error = connection.read(&read("Item", None), &call(&world)).await.unwrap_err();
        assert!(error.message.ends_with(" … …"), "{error}");
        assert!(!error.message.contains("bWU6"), "{error}");
    }
}

#[test]
fn a_connection_can_be_shared() {
    fn shared<T: Send + Sync + ?Sized>() {}
    shared::<dyn Connection>();
}
