//! Finding the authorization server of an MCP server: its protected-resource metadata, then the metadata of the
//! authorization server that it names. Every step can refuse; nothing is guessed where a document says otherwise.

use std::time::Duration;

use lf_module::CallError;
use serde_json::Value;
use url::Url;

use super::{
    challenge::Challenge,
    net::{Net, refused},
    places,
};
use crate::text::clean;

/// How many authorization servers of one document are tried.
const SERVERS: usize = 5;

/// How to sign in: an authorization server, and what it wants to hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    /// Who it says it is; unknown where a person wrote its endpoints down.
    pub(crate) issuer: Option<String>,
    pub(crate) authorize: Url,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    /// It says that its answers name it.
    pub(crate) names_itself: bool,
    /// How clients show who they are, if it says so.
    pub(crate) methods: Option<Vec<String>>,
    /// It reads a client's metadata at the client's own address.
    pub(crate) reads_clients: bool,
    /// It gives tokens for when nobody is there.
    pub(crate) offline: bool,
    /// What the server's resource identifier is, as its document says it.
    pub(crate) resource: Option<String>,
    /// What the server's document says that it takes.
    pub(crate) scopes: Vec<String>,
    /// Its addresses may lead into a private network.
    pub(crate) home: bool,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sought<'a> {
    pub(crate) server: &'a Url,
    /// The issuer that is trusted although a document names another one.
    pub(crate) trusted: Option<&'a str>,
    pub(crate) until: Duration,
}

/// Finds the way from what the server said when it refused.
pub(crate) async fn find(net: &Net, sought: Sought<'_>, challenge: Option<&Challenge>) -> Result<Way, CallError> {
    let home = Net::at_home(sought.server).await;
    let Some(document) = resource_document(net, sought, challenge, home).await? else {
        return older(net, sought, home).await;
    };
    let resource = document.get("resource").and_then(Value::as_str).unwrap_or_default();
    let covered = resource.parse::<Url>().is_ok_and(|url| places::covers(&url, sought.server));
    if !covered {
        let resource = clean(resource, 200);
        return Err(refused(format!(
            "the server's metadata is for the resource `{resource}`, not for `{}`: a token for it would be for another server",
            shown(sought.server)
        )));
    }
    let issuers = texts(document.get("authorization_servers"));
    let mut last = None;
    for issuer in issuers.iter().take(SERVERS) {
        match of_issuer(net, sought, issuer, home).await {
            Ok(way) => {
                let scopes = texts(document.get("scopes_supported"));
                return Ok(Way { resource: Some(resource.to_owned()), scopes, ..way });
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| refused("the server's metadata names no authorization server".to_owned())))
}

/// The server's document, from the first place that has one.
async fn resource_document(
    net: &Net,
    sought: Sought<'_>,
    challenge: Option<&Challenge>,
    home: bool,
) -> Result<Option<Value>, CallError> {
    let mut places = Vec::new();
    if let Some(named) = challenge.and_then(|challenge| challenge.resource_metadata.as_deref()) {
        places.push(places::endpoint(named, "the address of the server's metadata").map_err(refused)?);
    }
    places.extend(places::of_resource(sought.server));
    for place in places {
        // The server itself may be anywhere; what it names elsewhere may not lead into the house.
        let home = home || place.host() == sought.server.host();
        if let Some(document) = net.document(&place, home, sought.until).await?
            && document.get("authorization_servers").is_some()
        {
            return Ok(Some(document));
        }
    }
    Ok(None)
}

/// The metadata of one issuer.
async fn of_issuer(net: &Net, sought: Sought<'_>, issuer: &str, home: bool) -> Result<Way, CallError> {
    let url = places::endpoint(issuer, "the authorization server").map_err(refused)?;
    let home = home || url.host() == sought.server.host();
    for place in places::of_issuer(&url) {
        if let Some(document) = net.document(&place, home, sought.until).await? {
            return read(&document, issuer, sought.trusted, home);
        }
    }
    Err(refused(format!("the authorization server `{}` has no metadata", clean(issuer, 200))))
}

fn read(document: &Value, issuer: &str, trusted: Option<&str>, home: bool) -> Result<Way, CallError> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let said = text("issuer").unwrap_or_default();
    if said != issuer && trusted != Some(said) {
        return Err(refused(format!(
            "the authorization server was asked for as `{}` and calls itself `{}`; `trusted_issuer` of the credential \
             allows that, if it is right",
            clean(issuer, 200),
            clean(said, 200)
        )));
    }
    if !texts(document.get("code_challenge_methods_supported")).iter().any(|method| method == "S256") {
        return Err(refused(format!("the authorization server `{}` does not take PKCE with S256", clean(said, 200))));
    }
    let url = |name: &str| {
        let text = text(name).ok_or_else(|| refused(format!("the authorization server's metadata has no `{name}`")))?;
        places::endpoint(text, &format!("`{name}` of the authorization server")).map_err(refused)
    };
    let flag = |name: &str| document.get(name).and_then(Value::as_bool).unwrap_or_default();
    Ok(Way {
        issuer: Some(said.to_owned()),
        authorize: url("authorization_endpoint")?,
        token: url("token_endpoint")?,
        registration: text("registration_endpoint").map(|_| url("registration_endpoint")).transpose()?,
        names_itself: flag("authorization_response_iss_parameter_supported"),
        methods: document.get("token_endpoint_auth_methods_supported").map(|list| texts(Some(list))),
        reads_clients: flag("client_id_metadata_document_supported"),
        offline: texts(document.get("scopes_supported")).iter().any(|scope| scope == "offline_access"),
        resource: None,
        scopes: Vec::new(),
        home,
    })
}

/// As in 2025-03-26, where the server is its own authorization server: metadata at its root, else three fixed paths.
async fn older(net: &Net, sought: Sought<'_>, home: bool) -> Result<Way, CallError> {
    let root = places::at(sought.server, "/");
    if !places::secure(&root) {
        return Err(refused(format!("`{}` is not reached over TLS, so nobody signs in there", shown(sought.server))));
    }
    let issuer = root.as_str().trim_end_matches('/');
    let place = places::at(&root, "/.well-known/oauth-authorization-server");
    if let Some(document) = net.document(&place, true, sought.until).await? {
        // Written with or without the slash, it is the same origin.
        let said = document.get("issuer").and_then(Value::as_str).unwrap_or_default();
        let issuer = if said == root.as_str() { said } else { issuer };
        return read(&document, issuer, sought.trusted, home);
    }
    Ok(Way {
        issuer: Some(issuer.to_owned()),
        authorize: places::at(&root, "/authorize"),
        token: places::at(&root, "/token"),
        registration: Some(places::at(&root, "/register")),
        names_itself: false,
        methods: None,
        reads_clients: false,
        offline: false,
        resource: None,
        scopes: Vec::new(),
        home: true,
    })
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let all = list.and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str).take(1000).map(str::to_owned).collect()
}

fn shown(server: &Url) -> String {
    format!("{}{}", server.origin().ascii_serialization(), server.path())
}
