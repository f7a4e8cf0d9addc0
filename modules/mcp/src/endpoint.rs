//! Where a server is and how to sign in to it, made from a credential. Nothing here sends.

use std::{fmt, sync::Arc};

use http::{HeaderName, HeaderValue, header};
use lf_module::{CallError, Credential, Kind, module::CredentialField};
use lf_transport::secret_header;
use smol_str::SmolStr;
use url::{Host, Url};

use crate::{oauth::Signer, subscription::seen::hash};

/// Headers that mean something to the protocol, so a token cannot be put there.
pub(crate) const TAKEN: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// The length from which on a secret is looked for in what a server says.
const SECRET: usize = 4;

/// One server, with the headers that sign in.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    /// What goes with every request: how to sign in, and what a person added.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Redirects within the origin are followed.
    pub(crate) redirects: bool,
    /// The credential's name, for messages.
    pub(crate) credential: SmolStr,
    /// What signs in with tokens that are renewed.
    pub(crate) signer: Option<Arc<Signer>>,
}

impl fmt::Debug for Endpoint {
    /// Without path and query: some systems put a key there.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.url.authority();
        out.debug_struct("Endpoint")
            .field("server", &server)
            .field("credential", &self.credential)
            .finish_non_exhaustive()
    }
}

/// What an `mcp_token` credential holds.
pub(crate) fn token_fields() -> Vec<CredentialField> {
    let field = |name: &str, doc: &str, secret, required| CredentialField {
        name: name.into(),
        doc: doc.to_owned(),
        secret,
        required,
    };
    vec![
        field("url", "the server's URL, as its documentation gives it (often ending in /mcp)", false, true),
        field("token", "the token", true, true),
        field("header", "the header that takes the token as written; without it `Authorization: Bearer`", false, false),
    ]
}

impl Endpoint {
    pub(crate) fn of_token(credential: &Credential) -> Result<Self, CallError> {
        let name = &credential.name;
        let field =
            |field: &str| credential.get(field).map(|secret| secret.expose().trim()).filter(|it| !it.is_empty());
        let missing = |field: &str| wrong(format!("the credential `{name}` has no `{field}`"));
        let url = url(name, field("url").ok_or_else(|| missing("url"))?)?;
        let token = field("token").ok_or_else(|| missing("token"))?;
        let (header, text) = match field("header") {
            None => (header::AUTHORIZATION, format!("Bearer {token}")),
            Some(header) => (header_name(name, header)?, token.to_owned()),
        };
        let value = secret_header(&text).map_err(|_| {
            wrong(format!("the `token` of the credential `{name}` holds characters that cannot be sent"))
        })?;
        Ok(Self { url, headers: vec![(header, value)], redirects: false, credential: name.clone(), signer: None })
    }

    /// An endpoint that is signed in to with tokens.
    pub(crate) fn of_sign_in(credential: &Credential, signer: Arc<Signer>) -> Self {
        let url = signer.server().clone();
        Self { url, headers: Vec::new(), redirects: false, credential: credential.name.clone(), signer: Some(signer) }
    }

    /// What a server said, without the secret headers that some say back. A short one would blank out innocent text
    /// and is no secret worth the name.
    pub(crate) fn without_secrets(&self, text: String) -> String {
        let without = |text: String, secret: &str| {
            if secret.len() >= SECRET && text.contains(secret) { text.replace(secret, "…") } else { text }
        };
        let text = self.headers.iter().filter(|(_, value)| value.is_sensitive()).fold(text, |text, (_, value)| {
            let value = value.to_str().unwrap_or_default();
            without(text, value.strip_prefix("Bearer ").unwrap_or(value))
        });
        let tokens = self.signer.as_ref().map(|signer| signer.secrets()).unwrap_or_default();
        tokens.iter().fold(text, |text, token| without(text, token.expose()))
    }

    /// Under what the generation of this server is noted. Some systems put a key into the URL, so it is not in clear.
    pub(crate) fn note(&self) -> String {
        format!("era of {} {:016x}", self.url.authority(), hash(self.url.as_str().as_bytes()))
    }

    /// What a person should hear about where this goes.
    pub(crate) fn warning(&self) -> Option<String> {
        let near = match self.url.host() {
            Some(Host::Ipv4(four)) => four.is_loopback() || four.is_private(),
            Some(Host::Ipv6(six)) => six.is_loopback() || six.is_unique_local(),
            Some(Host::Domain(name)) => name == "localhost" || !name.contains('.'),
            None => false,
        };
        (self.url.scheme() == "http" && !near).then(|| {
            format!("the token of `{}` is sent to `{}` without encryption", self.credential, self.url.authority())
        })
    }
}

fn wrong(message: String) -> CallError {
    CallError::new(Kind::Limit, message)
}

pub(crate) fn url(credential: &str, text: &str) -> Result<Url, CallError> {
    let bad = |why: &str| wrong(format!("the `url` of the credential `{credential}` {why}"));
    let mut url: Url = text.parse().map_err(|_| bad("is not a URL; it starts with https:// or http://"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("has to start with https:// or http://: a server is only reached over HTTP"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("holds a user or a password; put the secret into `token`"));
    }
    url.set_fragment(None);
    Ok(url)
}

fn header_name(credential: &str, text: &str) -> Result<HeaderName, CallError> {
    let bad = |why: &str| wrong(format!("the `header` of the credential `{credential}` {why}"));
    let name = HeaderName::from_bytes(text.as_bytes()).map_err(|_| bad("is not the name of a header"))?;
    if TAKEN.contains(&name.as_str()) || name.as_str().starts_with("mcp-param-") {
        return Err(bad(&format!("cannot be `{name}`, which the protocol uses itself")));
    }
    Ok(name)
}
