//! A scripted authorization server together with the MCP server that it protects: codes with PKCE, tokens that end,
//! refresh tokens that are good once, metadata in every place that a client has to look at, and what can be wrong with
//! each. It judges nothing: a test looks at what it received.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use lf_module::{CallError, Credential, Keeper, Kind, Person};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use url::{Url, form_urlencoded};

use crate::{
    mcp::Offer,
    server::{Received, Reply},
};

/// What the servers do; the default is right in all.
#[derive(Debug, Clone)]
pub struct Rules {
    /// `expires_in` of tokens, if it is said.
    pub life: Option<u64>,
    /// Every renewal gives a new refresh token; the old one is good no more.
    pub rotates: bool,
    /// Refresh tokens are given at all.
    pub refreshes: bool,
    /// What the challenge of a 401 says of the scope.
    pub scope: Option<String>,
    /// Without this scope a call of a tool is answered with 403 and `insufficient_scope`.
    pub needs: Option<String>,
    /// The challenge names the place of the metadata.
    pub names_metadata: bool,
    /// Where the protected-resource metadata is; nowhere if `None`.
    pub resource_at: Option<&'static str>,
    /// Where the authorization server's metadata is; nowhere if `None`.
    pub server_at: Option<&'static str>,
    /// The path of the issuer.
    pub issuer_path: &'static str,
    /// Members of the protected-resource metadata that take the place of the right ones.
    pub resource_says: Value,
    /// The same of the authorization server's.
    pub server_says: Value,
    /// What the callback says of `iss`: `true`, or another text, or nothing.
    pub iss: Option<String>,
    /// The callback gives another `state` back.
    pub forgets_state: bool,
    /// The app that is set up, with its secret; without one, whoever is registered may come.
    pub app: Option<(String, String)>,
    /// The token endpoint answers with this instead.
    pub token_answers: Option<Reply>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            life: Some(3600),
            rotates: true,
            refreshes: true,
            scope: None,
            needs: None,
            names_metadata: true,
            resource_at: Some("/.well-known/oauth-protected-resource/mcp"),
            server_at: Some("/.well-known/oauth-authorization-server"),
            issuer_path: "",
            resource_says: json!({}),
            server_says: json!({}),
            iss: Some("true".to_owned()),
            forgets_state: false,
            app: None,
            token_answers: None,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    number: u32,
    /// Code: what was asked for with it.
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// Token: its scope.
    access: BTreeMap<String, String>,
    refresh: BTreeMap<String, String>,
}

/// The two servers.
#[derive(Debug, Clone)]
pub struct Authorization {
    offer: Offer,
    rules: Arc<Mutex<Rules>>,
    state: Arc<Mutex<State>>,
}

impl Authorization {
    /// Servers that do as `rules` say.
    #[must_use]
    pub fn new(offer: Offer, rules: Rules) -> Self {
        Self { offer, rules: Arc::new(Mutex::new(rules)), state: Arc::default() }
    }

    /// Changes what they do from now on.
    pub fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.rules.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// No token that was given so far is taken any more; refresh tokens stay.
    pub fn end_tokens(&self) {
        self.state().access.clear();
    }

    /// No refresh token either.
    pub fn end_all(&self) {
        let mut state = self.state();
        state.access.clear();
        state.refresh.clear();
    }

    /// A token and a refresh token that are taken from now on, as if somebody had signed in.
    #[must_use]
    pub fn give(&self, scope: &str) -> (String, String) {
        let mut state = self.state();
        let tokens = (state.next("access"), state.next("refresh"));
        state.access.insert(tokens.0.clone(), scope.to_owned());
        state.refresh.insert(tokens.1.clone(), scope.to_owned());
        tokens
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to one request.
    #[must_use]
    pub fn reply(&self, received: &Received) -> Reply {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let base = format!("http://{}", received.header("host").unwrap_or_default());
        let path = received.path.split('?').next().unwrap_or_default();
        match path {
            "/mcp" => self.protected(received, &rules, &base),
            "/authorize" => self.authorize(received, &rules, &base),
            "/token" => self.token(received, &rules),
            "/register" => Self::register(received),
            path if Some(path) == rules.resource_at => Reply::json(&with(
                json!({
                    "resource": format!("{base}/mcp"),
                    "authorization_servers": [format!("{base}{}", rules.issuer_path)],
                }),
                &rules.resource_says,
                &base,
            )),
            path if Some(path) == rules.server_at => Reply::json(&with(
                json!({
                    "issuer": format!("{base}{}", rules.issuer_path),
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"),
                    "code_challenge_methods_supported": ["plain", "S256"],
                    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                    "authorization_response_iss_parameter_supported": true,
                }),
                &rules.server_says,
                &base,
            )),
            _ => Reply::status(404),
        }
    }

    fn protected(&self, received: &Received, rules: &Rules, base: &str) -> Reply {
        let token = received.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let scope = token.and_then(|token| self.state().access.get(token).cloned());
        let mut says = vec!["Basic realm=\"old, and gone\", Bearer realm=\"mcp\"".to_owned()];
        if rules.names_metadata
            && let Some(place) = rules.resource_at
        {
            says.push(format!("resource_metadata=\"{base}{place}\""));
        }
        let Some(scope) = scope else {
            if token.is_some() {
                says.push("error=\"invalid_token\"".to_owned());
            }
            if let Some(scope) = &rules.scope {
                says.push(format!("scope=\"{scope}\""));
            }
            return Reply::status(401).header("WWW-Authenticate", &says.join(", "));
        };
        match &rules.needs {
            Some(needs) if received.rpc() == "tools/call" && !scope.split(' ').any(|one| one == needs) => {
                says.push(format!("error=\"insufficient_scope\", scope=\"{needs}\""));
                Reply::status(403).header("WWW-Authenticate", &says.join(", "))
            }
            Some(_) | None => self.offer.reply(received),
        }
    }

    fn authorize(&self, received: &Received, rules: &Rules, base: &str) -> Reply {
        let asked = query(received);
        let Some(Ok(mut back)) = asked.get("redirect_uri").map(|back| back.parse::<Url>()) else {
            return Reply::status(400);
        };
        let code = {
            let mut state = self.state();
            let code = state.next("code");
            state.codes.insert(code.clone(), asked.clone());
            code
        };
        let given = asked.get("state").map(String::as_str).unwrap_or_default();
        back.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", if rules.forgets_state { "another" } else { given });
        match rules.iss.as_deref() {
            Some("true") => drop(back.query_pairs_mut().append_pair("iss", &format!("{base}{}", rules.issuer_path))),
            Some(other) => drop(back.query_pairs_mut().append_pair("iss", other)),
            None => {}
        }
        Reply::status(302).header("Location", back.as_str())
    }

    fn token(&self, received: &Received, rules: &Rules) -> Reply {
        if let Some(reply) = &rules.token_answers {
            return reply.clone();
        }
        let asked = form(&received.body);
        let of = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let no = |error: &str| Reply::json(&json!({"error": error})).with_status(400);
        if let Some((id, secret)) = &rules.app {
            let basic = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}")));
            let posted = of("client_id") == id && of("client_secret") == secret;
            if received.header("authorization") != Some(&basic) && !posted {
                return no("invalid_client").with_status(401);
            }
        }
        let mut state = self.state();
        let scope = match of("grant_type") {
            "authorization_code" => {
                let Some(code) = state.codes.remove(of("code")) else { return no("invalid_grant") };
                let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(of("code_verifier")));
                let same = |name: &str| code.get(name).map(String::as_str) == asked.get(name).map(String::as_str);
                if code.get("code_challenge") != Some(&proof) || !same("redirect_uri") || !same("resource") {
                    return no("invalid_grant");
                }
                code.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => {
                let token = of("refresh_token");
                let found = if rules.rotates { state.refresh.remove(token) } else { state.refresh.get(token).cloned() };
                let Some(scope) = found else { return no("invalid_grant") };
                scope
            }
            _ => return no("unsupported_grant_type"),
        };
        let access = state.next("access");
        state.access.insert(access.clone(), scope.clone());
        let mut given = json!({"access_token": access, "token_type": "Bearer"});
        if let Some(life) = rules.life {
            put(&mut given, "expires_in", json!(life));
        }
        if rules.refreshes && (rules.rotates || of("grant_type") == "authorization_code") {
            let refresh = state.next("refresh");
            state.refresh.insert(refresh.clone(), scope);
            put(&mut given, "refresh_token", json!(refresh));
        }
        Reply::json(&given)
    }

    fn register(received: &Received) -> Reply {
        let mut given = received.json();
        put(&mut given, "client_id", json!("registered-app"));
        Reply::json(&given).with_status(201)
    }
}

impl State {
    fn next(&mut self, what: &str) -> String {
        self.number += 1;
        format!("{what}-{:04}", self.number)
    }
}

/// `right` with the members of `wrong` in it; `{base}` in a text is the server's own address, `null` takes a member out.
fn with(mut right: Value, wrong: &Value, base: &str) -> Value {
    for (name, value) in wrong.as_object().into_iter().flatten() {
        if value.is_null() {
            drop(right.as_object_mut().map(|right| right.remove(name)));
            continue;
        }
        let text = value.to_string().replace("{base}", base);
        put(&mut right, name, serde_json::from_str(&text).unwrap_or_default());
    }
    right
}

fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

/// The query of a request.
#[must_use]
pub fn query(received: &Received) -> BTreeMap<String, String> {
    form(received.path.split_once('?').map_or("", |(_, query)| query).as_bytes())
}

/// A form.
#[must_use]
pub fn form(body: &[u8]) -> BTreeMap<String, String> {
    form_urlencoded::parse(body).into_owned().collect()
}

/// A person whose browser goes where it is sent and comes back at once.
#[derive(Debug, Default)]
pub struct Browser {
    visited: Mutex<Vec<String>>,
}

impl Browser {
    /// Where the person was sent, in order.
    #[must_use]
    pub fn visited(&self) -> Vec<String> {
        self.visited.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Person for Browser {
    async fn redirect(&self) -> Result<String, CallError> {
        Ok("http://127.0.0.1:9/callback".to_owned())
    }

    async fn visit(&self, address: &str, _deadline: Duration) -> Result<String, CallError> {
        self.visited.lock().unwrap_or_else(PoisonError::into_inner).push(address.to_owned());
        let lost = |why: String| CallError::new(Kind::Credential, format!("the browser did not come back: {why}"));
        follow(address).await.map_err(|why| lost(why.to_string()))?.ok_or_else(|| lost("it got no redirect".to_owned()))
    }
}

/// Where `address` redirects to, if it does. Plain HTTP on loopback.
///
/// # Errors
/// Nobody answers.
pub async fn follow(address: &str) -> std::io::Result<Option<String>> {
    let url: Url = address.parse().map_err(std::io::Error::other)?;
    let host = url.host_str().unwrap_or_default();
    let mut stream = TcpStream::connect((host, url.port_or_known_default().unwrap_or(80))).await?;
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", url.authority());
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    // The server keeps the connection for more.
    while !answer.windows(4).any(|window| window == b"\r\n\r\n") && stream.read_buf(&mut answer).await? > 0 {}
    let head = String::from_utf8_lossy(&answer).into_owned();
    let lines = head.split("\r\n").take_while(|line| !line.is_empty());
    let mut headers = lines.filter_map(|line| line.split_once(':'));
    let found = headers.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    Ok(found.map(|(_, value)| value.trim().to_owned()))
}

/// A credential as several processes share it, in memory.
#[derive(Debug)]
pub struct Shelf {
    credential: Mutex<Credential>,
    lock: Mutex<Option<usize>>,
    owners: Mutex<usize>,
}

impl Shelf {
    /// It holds `credential`.
    #[must_use]
    pub fn new(credential: Credential) -> Arc<Self> {
        Arc::new(Self { credential: Mutex::new(credential), lock: Mutex::default(), owners: Mutex::default() })
    }

    /// What it holds now.
    #[must_use]
    pub fn credential(&self) -> Credential {
        self.credential.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another one there, as a person does.
    pub fn put(&self, credential: Credential) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.credential.lock().unwrap_or_else(PoisonError::into_inner) = credential;
    }

    /// The way to it of one process.
    #[must_use]
    pub fn keeper(self: &Arc<Self>, person: Option<Arc<dyn Person>>) -> Arc<dyn Keeper> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        *owners += 1;
        Arc::new(Kept { shelf: self.clone(), owner: *owners, person })
    }
}

#[derive(Debug)]
struct Kept {
    shelf: Arc<Shelf>,
    owner: usize,
    person: Option<Arc<dyn Person>>,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Option<usize>> {
        self.shelf.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Keeper for Kept {
    async fn current(&self) -> Result<Credential, CallError> {
        Ok(self.shelf.credential())
    }

    async fn lock(&self, _length: Duration) -> Result<bool, CallError> {
        let mut lock = Kept::lock(self);
        let free = lock.is_none_or(|owner| owner == self.owner);
        if free {
            *lock = Some(self.owner);
        }
        Ok(free)
    }

    async fn unlock(&self) {
        let mut lock = Kept::lock(self);
        if *lock == Some(self.owner) {
            *lock = None;
        }
    }

    async fn replace(&self, credential: &Credential) -> Result<bool, CallError> {
        let mut lock = Kept::lock(self);
        if *lock != Some(self.owner) {
            return Ok(false);
        }
        *lock = None;
        *self.shelf.credential.lock().unwrap_or_else(PoisonError::into_inner) = credential.clone();
        Ok(true)
    }

    fn person(&self) -> Option<Arc<dyn Person>> {
        self.person.clone()
    }
}
