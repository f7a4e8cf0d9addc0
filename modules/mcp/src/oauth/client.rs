//! Who asks at the authorization server: the app that a project set up, an app that has its metadata at its own
//! address, or one that is registered on the spot.

use std::time::Duration;

use lf_module::{CallError, Secret};
use serde_json::{Value, json};

use super::{
    App,
    discovery::Way,
    grant::{Client, Method},
    net::{Net, refused, said},
};

/// The app, in the order in which they are preferred.
pub(crate) async fn choose(
    net: &Net,
    app: &App,
    way: &Way,
    redirect: &str,
    until: Duration,
) -> Result<Client, CallError> {
    let own = app.client_id.as_ref().filter(|id| way.reads_clients || !is_document(id) || app.client_secret.is_some());
    if let Some(id) = own {
        let secret = app.client_secret.clone();
        let method = method(way, secret.is_some());
        return Ok(Client { id: id.clone(), secret, method });
    }
    if way.registration.is_some() {
        return register(net, way, redirect, until).await;
    }
    let help = "set one up there and name it: `listen-fire connect @lf/mcp --oauth-client-id ID`";
    Err(refused(format!("the authorization server registers no app by itself; {help}")))
}

/// Whether a client's id is the address of its metadata.
fn is_document(id: &str) -> bool {
    id.parse::<url::Url>().is_ok_and(|url| url.scheme() == "https" && url.path().len() > 1)
}

fn method(way: &Way, secret: bool) -> Method {
    let takes = |name: &str| way.methods.as_ref().is_none_or(|methods| methods.iter().any(|method| method == name));
    match secret {
        false => Method::Open,
        true if takes("client_secret_basic") => Method::Basic,
        true if takes("client_secret_post") => Method::Post,
        true => Method::Basic,
    }
}

async fn register(net: &Net, way: &Way, redirect: &str, until: Duration) -> Result<Client, CallError> {
    let Some(url) = &way.registration else { return Err(refused("no app can be registered".to_owned())) };
    let offered = way.methods.as_deref().unwrap_or_default();
    let wanted = ["none", "client_secret_basic", "client_secret_post"];
    let wanted = wanted.into_iter().find(|name| offered.iter().any(|method| method == name)).unwrap_or("none");
    let body = json!({
        "client_name": "listen-fire",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
    });
    let answer = net.post(url, &body, way.home, until).await?;
    let status = answer.status;
    if !status.is_success() {
        let said = said(&answer.body);
        return Err(refused(format!("no app could be registered: {} {said}", status.as_u16()).trim_end().to_owned()));
    }
    let registered: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |name: &str| registered.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(id) = text("client_id") else {
        return Err(refused("the authorization server registered an app and gave it no id".to_owned()));
    };
    let secret = text("client_secret").filter(|secret| !secret.is_empty()).map(Secret::new);
    let method = match (secret.is_some(), text("token_endpoint_auth_method").as_deref()) {
        (false, _) => Method::Open,
        (true, Some("client_secret_post")) => Method::Post,
        (true, Some("client_secret_basic")) => Method::Basic,
        // Some give a secret to an app that asked for none, and take it either way.
        (true, Some("none")) => Method::Open,
        (true, _) => method(way, true),
    };
    Ok(Client { id, secret: secret.filter(|_| method != Method::Open), method })
}
