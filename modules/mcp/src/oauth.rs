//! Signing in by OAuth: what goes with each request, and what is done when a server refuses it.
//!
//! [`Signer`] is the one thing the rest of the module sees. Below it: [`challenge`] (what a server says is missing),
//! [`places`] and [`discovery`] (where its authorization server is), [`client`] (who asks), [`tokens`] (the requests
//! that give tokens), [`grant`] (what is kept), [`renewal`] (how it is kept fresh), [`net`] (how far requests may reach). Nothing here opens a browser: a
//! person is asked through [`lf_module::Person`], and where there is none the error names the command.
//!
//! A token is renewed under two locks, one of this process and one of the credential in the store; whoever gets the
//! lock looks first at what is kept by then. What was renewed is kept before it is used.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use http::{HeaderMap, StatusCode};
use lf_module::{CallError, Credential, Keeper, Kind, Person, Ports, Secret, module::CredentialField};
use lf_transport::Options;
use tokio::sync::{Mutex, MutexGuard};
use url::Url;

mod challenge;
mod client;
mod discovery;
pub(crate) mod grant;
mod net;
mod places;
mod renewal;
mod tokens;

use self::{
    challenge::Challenge,
    discovery::{Sought, Way},
    grant::{Client, Grant, union},
    net::{Net, refused},
    tokens::{Begun, Wish},
};
use crate::endpoint;

/// The credential kind.
pub const KIND: &str = "mcp";
/// How often a person is asked in all by one connection: the first time, and two more for scopes.
const AUTHORIZATIONS: u32 = 3;
/// How often one request is sent again after a renewal that others made.
const RESENT: u32 = 3;

/// An OAuth app, as an install of the module has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct App {
    /// The endpoints that a person wrote down; they win over what is found.
    pub authorize_url: Option<String>,
    pub token_url: Option<String>,
    /// The app's id: also the https address of its metadata, where authorization servers read that.
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// What is asked for, separated by blanks.
    pub scope: Option<String>,
    /// Endpoints are found at the server.
    pub discover: bool,
}

/// Checks an endpoint that a person writes down.
///
/// # Errors
/// What is wrong with it.
pub fn check_endpoint(text: &str, what: &str) -> Result<(), String> {
    places::endpoint(text, what).map(drop)
}

/// The fields of an `mcp` credential that are asked for; the rest comes of signing in.
pub(crate) fn fields() -> Vec<CredentialField> {
    let field = |name: &str, doc: &str, required| CredentialField {
        name: name.into(),
        doc: doc.to_owned(),
        secret: false,
        required,
    };
    vec![
        field("url", "the server's URL, as its documentation gives it (often ending in /mcp)", true),
        field(
            "trusted_issuer",
            "the name of an authorization server that calls itself otherwise than asked for",
            false,
        ),
        field(
            "omit_resource",
            "`yes` for an authorization server that refuses to hear which server a token is for",
            false,
        ),
    ]
}

/// What goes with one request, and what was done for it so far.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) token: Option<Secret>,
    renewed: bool,
    resent: u32,
}

/// Signs requests to one server.
#[derive(Debug)]
pub(crate) struct Signer {
    name: String,
    server: Url,
    canonical: String,
    trusted: Option<String>,
    omit_resource: bool,
    app: App,
    ports: Ports,
    keeper: Arc<dyn Keeper>,
    net: Net,
    /// What is known of what is kept.
    known: RwLock<Option<Arc<Grant>>>,
    /// Held while a token is renewed or a person is asked.
    turn: Mutex<Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    authorizations: u32,
    /// Apps registered by this process, by issuer and the address a browser comes back to.
    registered: BTreeMap<(String, String), Client>,
}

impl Signer {
    pub(crate) fn new(
        credential: &Credential,
        app: App,
        options: &Options,
        ports: &Ports,
    ) -> Result<Arc<Self>, CallError> {
        let name = &credential.name;
        let wrong = |message: String| CallError::new(Kind::Limit, message);
        let field =
            |field: &str| credential.get(field).map(|secret| secret.expose().trim()).filter(|it| !it.is_empty());
        let written = field("url").ok_or_else(|| wrong(format!("the credential `{name}` has no `url`")))?;
        let server = endpoint::url(name, written)?;
        if !places::secure(&server) {
            return Err(wrong(format!(
                "the `url` of the credential `{name}` has to be https: only on this machine is http used for OAuth"
            )));
        }
        let omit_resource = match field("omit_resource") {
            None | Some("no" | "false") => false,
            Some("yes" | "true") => true,
            Some(_) => return Err(wrong(format!("`omit_resource` of the credential `{name}` is `yes` or `no`"))),
        };
        let Some(keeper) = ports.keeper.clone() else {
            return Err(wrong(format!("the credential `{name}` cannot be renewed here")));
        };
        Ok(Arc::new(Self {
            name: name.to_string(),
            canonical: places::canonical(written, &server),
            server,
            trusted: field("trusted_issuer").map(str::to_owned),
            omit_resource,
            app,
            ports: ports.clone(),
            keeper,
            net: Net::new(options, &ports.clock),
            known: RwLock::new(Grant::of(credential).map(Arc::new)),
            turn: Mutex::default(),
        }))
    }

    pub(crate) fn server(&self) -> &Url {
        &self.server
    }

    /// What must not be repeated if the server says it back.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let known = self.known();
        known.map(|grant| [Some(grant.access.clone()), grant.refresh.clone()]).into_iter().flatten().flatten().collect()
    }

    /// What goes with a request that is sent now.
    pub(crate) async fn pass(self: &Arc<Self>, until: Duration) -> Result<Pass, CallError> {
        let pass = |token| Pass { token, renewed: false, resent: 0 };
        let grant = match self.known() {
            Some(grant) => Some(grant),
            None => self.load().await?,
        };
        match grant {
            Some(grant) if grant.fresh(self.ports.clock.now()) => Ok(pass(Some(grant.access.clone()))),
            Some(grant) => Ok(Pass { renewed: true, ..pass(Some(self.renew(&grant.access, until).await?)) }),
            // A server is asked first what it wants; where its endpoints are written down, that is known.
            None if self.explicit() => Ok(pass(Some(self.first(until).await?))),
            None => Ok(pass(None)),
        }
    }

    /// Looks at an answer: whether the request is to be sent again, with what is now in `pass`.
    pub(crate) async fn refused(
        self: &Arc<Self>,
        status: StatusCode,
        headers: &HeaderMap,
        pass: &mut Pass,
        until: Duration,
    ) -> Result<bool, CallError> {
        let challenge = match status {
            StatusCode::UNAUTHORIZED => challenge::bearer(headers).unwrap_or_default(),
            // Without this word a 403 is final.
            StatusCode::FORBIDDEN => match challenge::bearer(headers) {
                Some(found) if found.error.as_deref() == Some("insufficient_scope") => found,
                Some(_) | None => return Ok(false),
            },
            _ => return Ok(false),
        };
        pass.resent += 1;
        if pass.resent > RESENT {
            return Err(self.sign_in_again(&refusal(status, &challenge), status));
        }
        let token = if status == StatusCode::FORBIDDEN {
            self.step_up(&challenge, until).await?
        } else {
            self.unauthorized(&challenge, pass, until).await?
        };
        pass.token = Some(token);
        Ok(true)
    }

    /// Asks a person, whatever is kept.
    pub(crate) async fn sign_in(self: &Arc<Self>, until: Duration) -> Result<(), CallError> {
        let mut turn = self.turn(until).await?;
        self.authorize(&mut turn, None, until).await.map(drop)
    }

    /// Whether somebody signed in already.
    pub(crate) fn signed_in(&self) -> bool {
        self.known().is_some()
    }

    /// Whether a person wrote the endpoints down.
    pub(crate) fn explicit(&self) -> bool {
        self.app.authorize_url.is_some() && self.app.token_url.is_some()
    }

    async fn first(self: &Arc<Self>, until: Duration) -> Result<Secret, CallError> {
        let mut turn = self.turn(until).await?;
        // Others may have asked while this one waited for its turn.
        match self.known() {
            Some(grant) => Ok(grant.access.clone()),
            None => self.authorize(&mut turn, None, until).await,
        }
    }

    /// The server wants a token, or does not take the one that was sent.
    async fn unauthorized(
        self: &Arc<Self>,
        challenge: &Challenge,
        pass: &mut Pass,
        until: Duration,
    ) -> Result<Secret, CallError> {
        let told = refusal(StatusCode::UNAUTHORIZED, challenge);
        let Some(sent) = &pass.token else {
            let mut turn = self.turn(until).await?;
            return match self.known() {
                Some(grant) => Ok(grant.access.clone()),
                None => self.authorize(&mut turn, Some(challenge), until).await,
            };
        };
        if let Some(known) = self.known().filter(|known| known.access != *sent) {
            return Ok(known.access.clone());
        }
        // A person, or another process, may have put a new one there.
        if let Some(kept) = self.newer(self.load().await?, sent) {
            return Ok(kept.access.clone());
        }
        let known = self.known();
        let over = known.as_ref().is_some_and(|known| {
            let past = known.expires.is_none_or(|at| at <= self.ports.clock.now());
            past || challenge.error.as_deref() == Some("invalid_token")
        });
        let renewable = known.is_some_and(|known| known.refresh.is_some());
        let why = if over && renewable && !pass.renewed {
            pass.renewed = true;
            match self.renew(sent, until).await {
                Ok(token) => return Ok(token),
                Err(error) if error.kind == Kind::Credential && self.keeper.person().is_some() => error,
                Err(error) => return Err(error),
            }
        } else {
            self.sign_in_again(&told, StatusCode::UNAUTHORIZED)
        };
        if self.keeper.person().is_none() {
            return Err(why);
        }
        let mut turn = self.turn(until).await?;
        self.authorize(&mut turn, Some(challenge), until).await
    }

    /// The server wants more than the token allows; renewing it would not widen it.
    async fn step_up(self: &Arc<Self>, challenge: &Challenge, until: Duration) -> Result<Secret, CallError> {
        let mut turn = self.turn(until).await?;
        if self.keeper.person().is_some() {
            return self.authorize(&mut turn, Some(challenge), until).await;
        }
        let scope = challenge.scope.join(" ");
        self.want(&challenge.scope, until).await;
        let more = if scope.is_empty() { String::new() } else { format!(" (`{scope}`)") };
        let message = format!(
            "`{}` needs authorization for more than it was given{more}: run `{}`",
            self.name,
            command(&self.name)
        );
        Err(CallError { status: Some(403), ..CallError::new(Kind::Credential, message) })
    }

    /// Asks a person at a browser, and keeps what comes of it.
    async fn authorize(
        &self,
        turn: &mut Turn,
        challenge: Option<&Challenge>,
        until: Duration,
    ) -> Result<Secret, CallError> {
        let Some(person) = self.keeper.person() else {
            return Err(self.sign_in_again("nobody signed in to it yet", StatusCode::UNAUTHORIZED));
        };
        if turn.authorizations >= AUTHORIZATIONS {
            let told = challenge.map(|challenge| format!(": {}", refusal(StatusCode::FORBIDDEN, challenge)));
            let told = told.unwrap_or_default();
            let message = format!("the server refuses `{}` after {AUTHORIZATIONS} authorizations{told}", self.name);
            return Err(refused(message));
        }
        turn.authorizations += 1;
        let before = self.load().await?;
        let way = self.way(challenge, until).await?;
        let redirect = person.redirect().await?;
        let client = self.client(turn, &way, &redirect, until).await?;
        let resource = if self.omit_resource { None } else { Some(way.resource.as_deref().unwrap_or(&self.canonical)) };
        let scopes = self.scopes(&way, challenge, before.as_deref());
        let wish = Wish { way: &way, client: &client, scopes: &scopes, resource };
        let grant = self.ask(person.as_ref(), &wish, &redirect, until).await?;
        self.lock(until, None).await?;
        let credential = match self.keeper.current().await {
            Ok(credential) => credential,
            Err(error) => {
                self.keeper.unlock().await;
                return Err(error);
            }
        };
        if !self.keeper.replace(&grant.to_credential(&credential)).await? {
            return Err(CallError::passing(format!("the credential `{}` was changed by others meanwhile", self.name)));
        }
        let token = grant.access.clone();
        self.know(grant);
        Ok(token)
    }

    async fn ask(
        &self,
        person: &dyn Person,
        wish: &Wish<'_>,
        redirect: &str,
        until: Duration,
    ) -> Result<Grant, CallError> {
        let begun = Begun::new(wish, redirect)?;
        let back = person.visit(begun.address.as_str(), until).await?;
        let code = begun.code(&back, wish.way, self.trusted.as_deref())?;
        tokens::exchange(&self.net, wish, begun, &code, self.ports.clock.now(), until).await
    }

    async fn way(&self, challenge: Option<&Challenge>, until: Duration) -> Result<Way, CallError> {
        if let (Some(authorize), Some(token)) = (&self.app.authorize_url, &self.app.token_url) {
            return Ok(Way {
                issuer: None,
                authorize: places::endpoint(authorize, "`authorize_url` of the app").map_err(refused)?,
                token: places::endpoint(token, "`token_url` of the app").map_err(refused)?,
                registration: None,
                names_itself: false,
                methods: None,
                // The id is the app's whatever it looks like.
                reads_clients: true,
                offline: false,
                resource: None,
                scopes: Vec::new(),
                home: true,
            });
        }
        let sought = Sought { server: &self.server, trusted: self.trusted.as_deref(), until };
        discovery::find(&self.net, sought, challenge).await
    }

    /// Apps are kept by who registered them: one authorization server's app is never shown to another.
    async fn client(&self, turn: &mut Turn, way: &Way, redirect: &str, until: Duration) -> Result<Client, CallError> {
        let key = (way.issuer.clone().unwrap_or_default(), redirect.to_owned());
        if let Some(client) = turn.registered.get(&key) {
            return Ok(client.clone());
        }
        let client = client::choose(&self.net, &self.app, way, redirect, until).await?;
        turn.registered.insert(key, client.clone());
        Ok(client)
    }

    /// What is asked for: what the server wants, with all that was asked for before where it wants more.
    fn scopes(&self, way: &Way, challenge: Option<&Challenge>, before: Option<&Grant>) -> Vec<String> {
        let of_app = || self.app.scope.iter().flat_map(|scope| scope.split_ascii_whitespace()).map(str::to_owned);
        let named = challenge.map(|challenge| challenge.scope.clone()).filter(|scope| !scope.is_empty());
        let mut scopes = match named {
            Some(named) => union(&of_app().collect::<Vec<_>>(), &named),
            None if self.app.scope.is_some() => of_app().collect(),
            None => way.scopes.clone(),
        };
        let stepping_up = challenge.is_some_and(|challenge| challenge.error.as_deref() == Some("insufficient_scope"));
        if let Some(before) = before {
            scopes = if stepping_up { union(&before.asked, &scopes) } else { scopes };
            scopes = union(&scopes, &before.wanted);
        }
        if way.offline && !scopes.is_empty() {
            scopes = union(&scopes, &["offline_access".to_owned()]);
        }
        scopes
    }

    async fn turn(&self, until: Duration) -> Result<MutexGuard<'_, Turn>, CallError> {
        lf_transport::by(&*self.ports.clock, until, self.turn.lock()).await.map_err(|_| {
            CallError::passing(format!("`{}` was still being signed in to when the time was over", self.name))
        })
    }

    fn known(&self) -> Option<Arc<Grant>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn know(&self, grant: Grant) -> Arc<Grant> {
        let grant = Arc::new(grant);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(grant.clone());
        grant
    }

    /// What is kept now.
    async fn load(&self) -> Result<Option<Arc<Grant>>, CallError> {
        let credential = self.keeper.current().await?;
        Ok(Grant::of(&credential).map(|grant| self.know(grant)))
    }

    fn sign_in_again(&self, why: &str, status: StatusCode) -> CallError {
        let message = format!("`{}` has to be signed in to: {}; run `{}`", self.name, why, command(&self.name));
        CallError { status: Some(i64::from(status.as_u16())), ..CallError::new(Kind::Credential, message) }
    }
}

/// The command that signs in.
fn command(name: &str) -> String {
    format!("listen-fire credential add --module {} {name} --credential {KIND}", crate::NAME)
}

/// What a refusal says of itself.
fn refusal(status: StatusCode, challenge: &Challenge) -> String {
    let said = [challenge.error.as_deref(), challenge.description.as_deref()];
    let said: Vec<&str> = said.into_iter().flatten().collect();
    let more =
        if said.is_empty() { String::new() } else { format!(" ({})", crate::text::clean(&said.join(": "), 200)) };
    format!("the server answered {}{more}", status.as_u16())
}
