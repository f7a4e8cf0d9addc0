//! Credentials from the environment, and their faults.

use std::{collections::BTreeMap, sync::Arc};

use lf_module::{CredentialKind, Manifest, Secret, module::CredentialField};

use super::{Credentials, Given};
use crate::store::memory::MemoryStore;

fn field(name: &str, required: bool) -> CredentialField {
    CredentialField { name: name.into(), doc: format!("the {name}"), secret: name == "token", required }
}

fn kind(name: &str, fields: Vec<CredentialField>) -> CredentialKind {
    CredentialKind { name: name.into(), doc: String::new(), fields, refusal: None, signs_in: false }
}

fn manifest() -> Manifest {
    let token = kind("mcp_token", vec![field("url", true), field("token", true), field("header", false)]);
    let oauth = kind("mcp", vec![field("url", true)]);
    Manifest { name: "@lf/mcp".into(), credentials: vec![token, oauth], ..Manifest::default() }
}

fn with(json: &str) -> Credentials {
    let credentials = BTreeMap::from([("MY_LINEAR".to_owned(), Secret::new(json))]);
    Credentials::new(Given { credentials, ..Given::default() }, Arc::new(MemoryStore::default()), "nowhere".into())
}

fn facts(json: &str) -> String {
    match with(json).given_facts("my-linear", &manifest()) {
        Ok(Some(facts)) => format!("{} {}", facts.module, facts.kind),
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_kind_is_the_one_whose_fields_fit() {
    assert_eq!(facts(r#"{"url": "u", "token": "t"}"#), "@lf/mcp mcp_token");
    assert_eq!(facts(r#"{"url": "u"}"#), "@lf/mcp mcp");
    assert_eq!(facts(r##"{"module": "#crm", "kind": "key", "x": "y"}"##), "#crm key");
}

#[test]
fn what_does_not_fit_is_named_without_a_value() {
    let prefix = "`LISTEN_FIRE_CREDENTIAL_MY_LINEAR` ";
    for (json, expected) in [
        ("hunter2", "is not a JSON object"),
        (r#"{"url": 5}"#, "has a `url` that is not a text"),
        (r#"{"hunter": "2"}"#, "fits no kind of credential; say which with `kind`"),
        (
            r#"{"kind": "mcp_tokn", "url": "u"}"#,
            "names a kind: `@lf/mcp` has no credential kind `mcp_tokn`; did you mean `mcp_token`?",
        ),
        (r#"{"kind": "mcp_token", "url": "u"}"#, "lacks `token` (the token)"),
        (
            r#"{"kind": "mcp_token", "url": "u", "tokne": "hunter2"}"#,
            "has a field `tokne` that `mcp_token` does not have; did you mean `token`?",
        ),
    ] {
        assert_eq!(facts(json), format!("{prefix}{expected}"));
    }
}
