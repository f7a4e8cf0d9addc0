//! Where a listener goes and what it sends along: made from what a person wrote, before anything is sent.

use std::{fmt, sync::Arc};

use http::{HeaderName, HeaderValue};
use lf_module::{Credential, Ports, Secret};
use lf_transport::secret_header;
use url::Url;

use crate::{
    endpoint::{Endpoint, TAKEN},
    oauth::{App, Signer},
};

/// A server, and what goes with every request to it.
#[derive(Clone)]
pub struct Target {
    pub(super) url: Url,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The credential's name; empty without one.
    pub(super) credential: String,
    /// What signs in with tokens that are renewed.
    signer: Option<Arc<Signer>>,
}

impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Target").field("server", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Target {
    /// The server at `url`.
    ///
    /// # Errors
    /// It is no URL of a server, with the reason.
    pub fn new(url: &str) -> Result<Self, String> {
        let mut url: Url = url.parse().map_err(|_| "the MCP URL is no URL; it starts with https:// or http://")?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err("the MCP URL has to start with https:// or http://: a server is only reached over HTTP".into());
        }
        url.set_fragment(None);
        Ok(Self { url, headers: Vec::new(), credential: String::new(), signer: None })
    }

    /// Adds a header of every request. Where one is given more than once, all are sent.
    ///
    /// # Errors
    /// It cannot be sent, or the protocol uses it itself. No error repeats the value.
    pub fn header(&mut self, name: &str, value: &Secret) -> Result<(), String> {
        let wrong = |why: &str| format!("the header `{name}` {why}");
        let parsed =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| "a header's name cannot be sent".to_owned())?;
        if TAKEN.contains(&parsed.as_str()) {
            return Err(wrong("is one that the protocol uses itself"));
        }
        let value =
            secret_header(value.expose()).map_err(|_| wrong("holds characters that cannot stand in a header"))?;
        self.headers.push((parsed, value));
        Ok(())
    }

    /// Signs in with a credential, which has to be one of this server.
    ///
    /// # Errors
    /// It is of another server, or holds nothing to sign in with.
    pub fn sign(&mut self, credential: &Credential) -> Result<(), String> {
        let name = &credential.name;
        if credential.kind != "mcp_token" {
            return Err(format!(
                "the credential `{name}` is of the kind `{}`; this takes `mcp_token`",
                credential.kind
            ));
        }
        let endpoint = Endpoint::of_token(credential).map_err(|error| error.message)?;
        self.at_home(name, &endpoint.url)?;
        self.headers.extend(endpoint.headers);
        self.credential = name.to_string();
        Ok(())
    }

    /// Signs in with the tokens of an OAuth sign-in, which has to be one at this server. They are renewed together with
    /// all other processes of the project, through the keeper of `ports`.
    ///
    /// # Errors
    /// It is of another server, or cannot be renewed here.
    pub fn sign_in(&mut self, credential: &Credential, app: App, ports: &Ports) -> Result<(), String> {
        let options = lf_transport::Options::default();
        let signer = Signer::new(credential, app, &options, ports).map_err(|error| error.message)?;
        self.at_home(&credential.name, signer.server())?;
        self.credential = credential.name.to_string();
        self.signer = Some(signer);
        Ok(())
    }

    /// What signs in does not go to another server.
    fn at_home(&self, name: &str, url: &Url) -> Result<(), String> {
        if url.origin() == self.url.origin() {
            return Ok(());
        }
        let origin = url.origin().ascii_serialization();
        Err(format!("the credential `{name}` is for `{origin}`, and its token does not go elsewhere"))
    }

    /// The URL as it may be shown: without a user in it.
    pub(super) fn shown(&self) -> String {
        let mut url = self.url.clone();
        // A URL with a host takes both.
        let _done = url.set_username("").and_then(|()| url.set_password(None));
        url.to_string()
    }

    pub(super) fn endpoint(self) -> Endpoint {
        Endpoint {
            url: self.url,
            headers: self.headers,
            redirects: true,
            credential: self.credential.into(),
            signer: self.signer,
        }
    }

    pub(super) fn plain(&self) -> bool {
        self.url.scheme() == "http"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(kind: &str, url: &str) -> Credential {
        let field = |name: &str, value: &str| (name.into(), Secret::new(value));
        let fields = [field("url", url), field("token", "s3cret")].into_iter().collect();
        Credential { name: "board".into(), kind: kind.into(), fields }
    }

    #[test]
    fn a11_what_is_no_url_of_a_server_is_refused_at_once() {
        for bad in ["", "cnvs.app/mcp", "ftp://a/mcp", "--ignore", "file:///a", "stdio:x", "http://"] {
            assert!(Target::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a11_a_user_in_the_url_is_never_shown() {
        let target = Target::new("https://me:pw@example.com/mcp").unwrap();
        assert_eq!(target.shown(), "https://example.com/mcp");
        assert!(!format!("{target:?}").contains("pw"));
    }

    #[test]
    fn a61_a_header_that_the_protocol_uses_is_refused_and_no_error_repeats_a_value() {
        let mut target = Target::new("https://example.com/mcp").unwrap();
        let value = Secret::new("s3cret\n");
        for name in ["Accept", "mcp-session-id", "Last-Event-ID", "a b", "X-Key"] {
            let error = target.header(name, &value).unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
        target.header("X-Board-Key", &Secret::new("s3cret")).unwrap();
        assert!(target.headers[0].1.is_sensitive());
    }

    #[test]
    fn a62_a_credential_signs_in_at_its_own_server_only() {
        let mut target = Target::new("https://example.com/mcp").unwrap();
        target.sign(&credential("mcp_token", "https://example.com/other")).unwrap();
        assert_eq!(target.headers[0].1, "Bearer s3cret");
        let error = target.sign(&credential("mcp_token", "https://elsewhere.example/mcp")).unwrap_err();
        assert!(error.contains("https://elsewhere.example"), "{error}");
        let error = target.sign(&credential("mcp", "https://example.com/mcp")).unwrap_err();
        assert!(error.contains("`mcp_token`"), "{error}");
    }
}
