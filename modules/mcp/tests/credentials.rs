//! Credentials and settings: what makes a connection, and what is refused before anything is sent.

use lf_harness::{Reply, Server, World, mcp::Offer};
use lf_module::{Kind, Value, call::Settings};
use serde_json::json;

use crate::stage::{Stage, connect, credential, tools};

fn refused(fields: &[(&str, &str)]) -> String {
    let error = connect(World::new(0.0).ports(), credential(fields), Settings::new()).unwrap_err();
    assert_eq!(error.kind, Kind::Limit);
    assert!(!error.message.contains("s3cret"), "{error}");
    error.message
}

#[tokio::test]
async fn a_token_goes_under_its_header_as_written() {
    let world = World::new(0.0);
    let offer = Offer::of(tools());
    let server = Server::start(world.clone(), move |received| offer.reply(received)).unwrap();
    let url = server.url("/mcp?workspace=7#top");
    let fields = [("url", url.as_str()), ("token", "s3cret"), ("header", "X-Api-Key")];
    let connection = connect(world.ports(), credential(&fields), Settings::new()).unwrap();
    let stage = Stage { world, server: Some(server), connection };
    stage.describe().await.unwrap();
    for request in stage.server.as_ref().unwrap().received() {
        assert_eq!(request.header("x-api-key"), Some("s3cret"));
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.path, "/mcp?workspace=7");
    }
}

#[tokio::test]
async fn a_refused_credential_is_named_and_its_secret_is_not() {
    for status in [401, 403] {
        let stage = Stage::new(move |_| Reply::status(status).body("who are you"));
        let error = stage.describe().await.unwrap_err();
        assert_eq!((error.kind, error.status), (Kind::Credential, Some(i64::from(status))));
        assert!(error.message.contains("credential `linear`") && error.message.contains("who are you"), "{error}");
        assert!(!error.message.contains("s3cret"));
        assert_eq!(stage.methods(), ["server/discover"]);
    }
}

#[tokio::test]
async fn a_secret_that_the_server_says_back_is_not_repeated() {
    let said = "your token Bearer s3cret is not for s3cret things";
    let refusal = json!({"isError": true, "content": [{"type": "text", "text": said}]});
    let mut offer = Offer::of(tools());
    offer.answer = refusal;
    let stage = Stage::good(offer);
    let error = stage.create().await.unwrap_err();
    assert!(error.message.contains("your token Bearer … is not for … things"), "{error}");

    for status in [400, 401, 500] {
        let stage = Stage::new(move |_| Reply::status(status).body(said));
        let error = stage.describe().await.unwrap_err();
        assert!(error.message.contains("your token") && !error.message.contains("s3cret"), "{status}: {error}");
    }
}

#[tokio::test]
async fn a_redirect_is_named_and_not_followed() {
    let stage = Stage::new(|_| Reply::status(308).header("Location", "https://example.com/mcp"));
    let error = stage.describe().await.unwrap_err();
    assert!(error.message.contains("redirects to https://example.com/mcp"), "{error}");
    assert_eq!(stage.methods().len(), 1);
}

#[test]
fn what_cannot_make_a_connection_is_refused() {
    let token = ("token", "s3cret");
    assert!(refused(&[token]).contains("no `url`"));
    assert!(refused(&[("url", "https://example.com/mcp")]).contains("no `token`"));
    assert!(refused(&[("url", "example.com/mcp"), token]).contains("not a URL"));
    assert!(refused(&[("url", "file:///bin/sh"), token]).contains("only reached over HTTP"));
    assert!(refused(&[("url", "https://me:pw@example.com/mcp"), token]).contains("put the secret into `token`"));
    let url = ("url", "https://example.com/mcp");
    assert!(refused(&[url, token, ("header", "a b")]).contains("not the name of a header"));
    assert!(refused(&[url, token, ("header", "Mcp-Session-Id")]).contains("protocol uses itself"));
    assert!(refused(&[url, ("token", "s3cret\nX-Evil: 1")]).contains("cannot be sent"));
}

#[test]
fn an_oauth_sign_in_without_an_app_is_refused_naming_the_command() {
    let mut sign_in = credential(&[("url", "https://example.com/mcp")]);
    sign_in.kind = "mcp".into();
    let error = connect(World::new(0.0).ports(), sign_in, Settings::new()).unwrap_err();
    assert!(error.message.contains("listen-fire connect @lf/mcp --oauth-authorize-url"), "{error}");
}

#[test]
fn a_timeout_has_to_be_one() {
    let world = World::new(0.0);
    let fields = [("url", "https://example.com/mcp"), ("token", "t")];
    let with = |value| connect(world.ports(), credential(&fields), [("timeout".into(), value)].into_iter().collect());
    assert!(with(Value::Duration(jiff::SignedDuration::from_secs(5))).is_ok());
    assert!(with(Value::Duration(jiff::SignedDuration::from_secs(-5))).is_err());
    assert!(with(Value::from(5)).is_err());
}

#[tokio::test]
async fn metadata_addresses_are_not_reached() {
    let world = World::new(0.0);
    let fields = [("url", "http://169.254.169.254/mcp"), ("token", "t")];
    let connection = connect(world.ports(), credential(&fields), Settings::new()).unwrap();
    let stage = Stage { world, server: None, connection };
    let error = stage.describe().await.unwrap_err();
    assert_eq!((error.kind, error.attempts), (Kind::Limit, 1), "{error}");
}
