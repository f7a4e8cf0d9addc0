//! The two requests that give tokens, and the address that a person is sent to. The only file that names the OAuth
//! library.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use lf_module::{CallError, Secret};
use lf_transport::{Request, Sends};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, HttpRequest,
    HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope,
    TokenResponse as _, TokenUrl, basic::BasicClient, basic::BasicTokenResponse,
};
use url::Url;

use super::{
    discovery::Way,
    grant::{Client, Grant, Method},
    net::{Net, refused},
};
use crate::text::{self, clean};

/// What was begun at an authorization server, and has to come back the same.
pub(crate) struct Begun {
    /// Where the person is sent.
    pub(crate) address: Url,
    state: String,
    verifier: PkceCodeVerifier,
    redirect: RedirectUrl,
}

/// What is asked for.
pub(crate) struct Wish<'a> {
    pub(crate) way: &'a Way,
    pub(crate) client: &'a Client,
    pub(crate) scopes: &'a [String],
    pub(crate) resource: Option<&'a str>,
}

/// Why no token came.
pub(crate) enum NoToken {
    /// The authorization server does not know the refresh token any more.
    InvalidGrant(String),
    Other(CallError),
}

impl From<CallError> for NoToken {
    fn from(error: CallError) -> Self {
        Self::Other(error)
    }
}

impl Begun {
    /// Makes the address that a person is sent to.
    pub(crate) fn new(wish: &Wish<'_>, redirect: &str) -> Result<Self, CallError> {
        let redirect = RedirectUrl::new(redirect.to_owned())
            .map_err(|_| refused("the address that a browser is sent back to is none".to_owned()))?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let asks = BasicClient::new(ClientId::new(wish.client.id.clone()))
            .set_auth_uri(AuthUrl::from_url(wish.way.authorize.clone()))
            .set_redirect_uri(redirect.clone());
        let mut asked = asks
            .authorize_url(CsrfToken::new_random)
            .add_scopes(wish.scopes.iter().cloned().map(Scope::new))
            .set_pkce_challenge(challenge);
        if let Some(resource) = wish.resource {
            asked = asked.add_extra_param("resource", resource);
        }
        let (address, state) = asked.url();
        Ok(Self { address, state: state.into_secret(), verifier, redirect })
    }

    /// The code of what came back, if it came from where it was asked for.
    pub(crate) fn code(&self, back: &str, way: &Way, trusted: Option<&str>) -> Result<Secret, CallError> {
        let url: Url = back.parse().map_err(|_| refused("what the browser came back with is no address".to_owned()))?;
        let of = |name: &str| url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned());
        if of("state").as_deref() != Some(&self.state) {
            return Err(refused(
                "what the browser came back with belongs to another sign-in (`state` differs)".to_owned(),
            ));
        }
        // Whoever else answered is not quoted.
        issued_by(of("iss").as_deref(), way, trusted)?;
        if let Some(error) = of("error") {
            let more = of("error_description").map(|more| format!(": {more}")).unwrap_or_default();
            let told = clean(&format!("{error}{more}"), text::MESSAGE);
            return Err(refused(format!("the authorization server said no: {told}")));
        }
        of("code").map(Secret::new).ok_or_else(|| refused("the browser came back without a code".to_owned()))
    }
}

/// Checks who an answer says that it is from, byte for byte.
fn issued_by(iss: Option<&str>, way: &Way, trusted: Option<&str>) -> Result<(), CallError> {
    let expected = trusted.or(way.issuer.as_deref());
    let wrong = match (iss, expected) {
        (None, _) if way.names_itself => "it does not say who it is from".to_owned(),
        (None, _) => return Ok(()),
        (Some(iss), Some(expected)) if iss == expected || way.issuer.as_deref() == Some(iss) => return Ok(()),
        // Its endpoints were written down by a person, and so was its origin.
        (Some(iss), None) if iss.parse::<Url>().is_ok_and(|url| url.origin() == way.authorize.origin()) => {
            return Ok(());
        }
        (Some(iss), _) => {
            let expected = expected.map_or_else(|| way.authorize.origin().ascii_serialization(), str::to_owned);
            format!("it is from `{}`, expected was `{expected}`", clean(iss, 200))
        }
    };
    Err(refused(format!("the answer of the authorization server is not used: {wrong}")))
}

/// Trades a code for tokens.
pub(crate) async fn exchange(
    net: &Net,
    wish: &Wish<'_>,
    begun: Begun,
    code: &Secret,
    now: Timestamp,
    until: Duration,
) -> Result<Grant, CallError> {
    let asks = client(wish.client, &wish.way.token);
    let mut request = asks
        .exchange_code(AuthorizationCode::new(code.expose().to_owned()))
        .set_redirect_uri(std::borrow::Cow::Owned(begun.redirect))
        .set_pkce_verifier(begun.verifier);
    if let Some(resource) = wish.resource {
        request = request.add_extra_param("resource", resource);
    }
    let given = request.request_async(&Out { net, home: wish.way.home, until }).await;
    let given = given.map_err(|error| match no_token(error) {
        NoToken::InvalidGrant(why) => refused(format!("the authorization server gave no token: {why}")),
        NoToken::Other(error) => error,
    })?;
    let fresh = Grant {
        access: Secret::new(""),
        refresh: None,
        since: now,
        expires: None,
        asked: wish.scopes.to_vec(),
        wanted: Vec::new(),
        issuer: wish.way.issuer.clone(),
        token_url: wish.way.token.to_string(),
        client: wish.client.clone(),
        resource: wish.resource.map(str::to_owned),
    };
    Ok(renewed(fresh, &given, now))
}

/// Renews a grant. The refresh token that comes back takes the place of the old one; where none comes, it stays.
pub(crate) async fn refresh(
    net: &Net,
    grant: &Grant,
    token: &Secret,
    home: bool,
    now: Timestamp,
    until: Duration,
) -> Result<Grant, NoToken> {
    let url: Url = super::places::endpoint(&grant.token_url, "the address that renews the token").map_err(refused)?;
    let asks = client(&grant.client, &url);
    let token = RefreshToken::new(token.expose().to_owned());
    let mut request = asks.exchange_refresh_token(&token);
    if let Some(resource) = &grant.resource {
        request = request.add_extra_param("resource", resource.clone());
    }
    let given = request.request_async(&Out { net, home, until }).await.map_err(no_token)?;
    Ok(renewed(grant.clone(), &given, now))
}

fn renewed(grant: Grant, given: &BasicTokenResponse, now: Timestamp) -> Grant {
    let refresh = given.refresh_token().map(|token| Secret::new(token.secret().clone()));
    Grant {
        access: Secret::new(given.access_token().secret().clone()),
        refresh: refresh.or(grant.refresh),
        since: now,
        expires: given.expires_in().and_then(|length| now.checked_add(length).ok()),
        ..grant
    }
}

type Asks = oauth2::basic::BasicClient<
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointSet,
>;

fn client(client: &Client, token: &Url) -> Asks {
    let mut asks = BasicClient::new(ClientId::new(client.id.clone()));
    asks = match client.method {
        Method::Basic => asks.set_auth_type(AuthType::BasicAuth),
        Method::Open | Method::Post => asks.set_auth_type(AuthType::RequestBody),
    };
    if let Some(secret) = &client.secret {
        asks = asks.set_client_secret(ClientSecret::new(secret.expose().to_owned()));
    }
    asks.set_token_uri(TokenUrl::from_url(token.clone()))
}

/// An error in the form that the library wants.
#[derive(Debug)]
struct Unsent(CallError);

impl fmt::Display for Unsent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl std::error::Error for Unsent {}

/// The way out, in the form that the library wants.
struct Out<'n> {
    net: &'n Net,
    home: bool,
    until: Duration,
}

impl<'c> AsyncHttpClient<'c> for Out<'_> {
    type Error = Unsent;
    type Future = BoxFuture<'c, Result<HttpResponse, Unsent>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(send(self.net, request, self.home, self.until))
    }
}

async fn send(net: &Net, request: HttpRequest, home: bool, until: Duration) -> Result<HttpResponse, Unsent> {
    let (head, body) = request.into_parts();
    let url = head.uri.to_string().parse().map_err(|_| Unsent(refused("the token's address is no URL".to_owned())))?;
    // Over a connection of its own: a code and a refresh token can be used only once.
    let body = Some(Bytes::from(body));
    let request = Request { method: head.method, url, headers: head.headers, body, sends: Sends::Write };
    let answer = net.send(request, home, until).await.map_err(Unsent)?;
    if answer.status.is_redirection() {
        let status = answer.status.as_u16();
        return Err(Unsent(refused(format!(
            "the token's address answered {status}; a redirect is not followed there"
        ))));
    }
    let mut response = HttpResponse::new(answer.body.to_vec());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

fn no_token(error: RequestTokenError<Unsent, oauth2::basic::BasicErrorResponse>) -> NoToken {
    use oauth2::basic::BasicErrorResponseType;
    let told = |why: &str| refused(format!("the authorization server gave no token: {}", clean(why, text::MESSAGE)));
    match error {
        RequestTokenError::Request(Unsent(error)) => NoToken::Other(error),
        RequestTokenError::ServerResponse(response) => {
            let more = response.error_description().map(|more| format!(": {more}")).unwrap_or_default();
            let why = format!("{}{more}", response.error().as_ref());
            if *response.error() == BasicErrorResponseType::InvalidGrant {
                return NoToken::InvalidGrant(clean(&why, text::MESSAGE));
            }
            NoToken::Other(told(&why))
        }
        // What stood in the answer may be a token: it is not repeated.
        RequestTokenError::Parse(why, _) => {
            NoToken::Other(told(&format!("its answer cannot be read (at `{}`)", why.path())))
        }
        RequestTokenError::Other(why) => NoToken::Other(told(&why)),
    }
}
