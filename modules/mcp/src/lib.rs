//! `@lf/mcp`: any remote MCP server as a module.
//!
//! A connection carries only data, the server's URL and how to sign in. Servers are reached over
//! streamable HTTP, in both generations of the protocol: with sessions (2025-03-26 to 2025-11-25) and without
//! (2026-07-28); nothing that a connection says starts a process. What is not built is refused by name.
//!
//! From the wire up: [`attempt`] (one exchange as a plain value), [`sse`] and [`stream`], [`message`],
//! [`classify`] (the retry table), [`session`], [`client`] (a request with its retries), [`rounds`] and
//! [`param_headers`] (what the newer generation adds to it), [`schema`], [`tools`], [`template`] and [`resources`]
//! (what a movement sees), [`answer`], [`connection`]. Beside them, for listening: [`era`] (which generation of
//! the protocol a server speaks), [`subscription`] (a stream that is kept), and its two consumers, [`source`] and
//! [`pump`]. Under all of them, where a token signs in that is renewed: [`oauth`].
#![deny(clippy::disallowed_methods)]

mod answer;
mod attempt;
mod blame;
mod check;
mod classify;
mod client;
mod connection;
mod endpoint;
mod era;
mod files;
mod listed;
mod listing;
mod message;
pub mod oauth;
mod param_headers;
pub mod pump;
mod resources;
mod rounds;
mod schema;
mod session;
mod source;
mod sse;
mod stream;
mod subscription;
mod template;
mod text;
mod tools;

use std::{
    fmt,
    sync::{Arc, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use lf_module::{
    CallError, Connection, Credential, CredentialKind, FieldType, Kind, Manifest, Module, Target, Value,
    module::Setting,
};
use lf_transport::Options;
use smol_str::SmolStr;
use tokio::sync::Mutex;

use crate::{
    attempt::Wire,
    client::Client,
    connection::{Changes, Connected, Server},
    endpoint::Endpoint,
    era::Era,
    listed::Listed,
    oauth::grant::Grant,
    tools::Caution,
};

/// The module's name, as a movement and the log write it.
pub const NAME: &str = "@lf/mcp";

/// How long a server may be silent, where no `timeout` says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is said to an OAuth sign-in without an app.
const NO_APP: &str = "no OAuth app is set up for @lf/mcp in this project; set one up with \
                      `listen-fire connect @lf/mcp --oauth-authorize-url <…/authorize> --oauth-token-url <…/token>`";

/// Who answers what a server asks in the middle of a request: elicitation, sampling, roots. A movement answers
/// nothing, so none is there unless a program that uses this crate brings one.
pub trait Answers: Send + Sync + fmt::Debug {
    /// The capabilities that are declared for it, as the protocol writes them.
    fn capabilities(&self) -> Value;
    /// The result of a request of the server; `None` if it is not offered.
    fn answer(&self, method: &str, params: &Value) -> Option<Value>;
}

/// The module.
#[derive(Debug)]
pub struct Mcp {
    manifest: Manifest,
    app: Option<oauth::App>,
    answers: Option<Arc<dyn Answers>>,
}

impl Default for Mcp {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Mcp {
    /// The module, with the OAuth app of its install if one was set up.
    #[must_use]
    pub fn new(app: Option<oauth::App>) -> Self {
        let kind = |name: &str, doc: &str| CredentialKind {
            name: name.into(),
            doc: doc.to_owned(),
            fields: Vec::new(),
            refusal: None,
            signs_in: false,
        };
        let setting = |name: &str, ty, doc: &str| Setting { name: name.into(), ty, doc: doc.to_owned() };
        let token = CredentialKind {
            fields: endpoint::token_fields(),
            ..kind("mcp_token", "a server's URL and a token for it")
        };
        let oauth = CredentialKind {
            fields: oauth::fields(),
            refusal: app.is_none().then(|| NO_APP.to_owned()),
            signs_in: true,
            ..kind(oauth::KIND, "a server's URL and an OAuth sign-in")
        };
        let era = FieldType::Choice(["auto", "legacy", "modern"].map(SmolStr::new_static).to_vec());
        Self {
            app,
            answers: None,
            manifest: Manifest {
                name: NAME.into(),
                doc: "any remote MCP server; its tools are the types".to_owned(),
                credentials: vec![token, oauth],
                credential_optional: false,
                settings: vec![
                    setting("timeout", FieldType::Duration, "how long the server may be silent (60 s)"),
                    setting(
                        "era",
                        era,
                        "the generation of the protocol: with sessions or without (auto: it is asked for)",
                    ),
                    setting("distrust_hints", FieldType::Boolean, "every tool is taken to change things"),
                    setting(
                        "writes",
                        FieldType::List(Box::new(FieldType::Text)),
                        "tools taken to change things, whatever their server says",
                    ),
                    setting("strict_results", FieldType::Boolean, "answers' fields that may be missing are typed so"),
                    setting("allow_link_local", FieldType::Boolean, "link-local and metadata addresses may be reached"),
                ],
            },
        }
    }
}

impl Mcp {
    /// The same, with somebody who answers what servers ask.
    #[must_use]
    pub fn answered_by(self, answers: Arc<dyn Answers>) -> Self {
        Self { answers: Some(answers), ..self }
    }
}

impl Module for Mcp {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn about(&self, credential: &Credential, now: Timestamp) -> Vec<(String, String)> {
        Grant::of(credential).map(|grant| grant.about(now)).unwrap_or_default()
    }

    fn connect(&self, target: Target) -> Result<Arc<dyn Connection>, CallError> {
        let refuse = |message: String| CallError::new(Kind::Limit, message);
        let Some(credential) = &target.credential else {
            return Err(refuse(format!("a connection of `{NAME}` needs a credential: `connect {NAME} using NAME`")));
        };
        let flag = |name: &str| target.settings.get(name) == Some(&Value::Bool(true));
        let patience = match target.settings.get("timeout") {
            Some(Value::Duration(length)) => Duration::try_from(*length)
                .ok()
                .filter(|length| !length.is_zero())
                .ok_or_else(|| refuse("`timeout` has to be longer than nothing".to_owned()))?,
            Some(_) => return Err(refuse("`timeout` has to be a duration, like `30s`".to_owned())),
            None => PATIENCE,
        };
        let options = Options { link_local: flag("allow_link_local"), ..Options::default() };
        let strict = flag("strict_results");
        let name = &credential.name;
        let endpoint = match credential.kind.as_str() {
            "mcp_token" => Endpoint::of_token(credential)?,
            oauth::KIND => {
                let Some(app) = self.app.clone() else {
                    return Err(refuse(format!("the credential `{name}` is an OAuth sign-in, and {NO_APP}")));
                };
                Endpoint::of_sign_in(credential, oauth::Signer::new(credential, app, &options, &target.ports)?)
            }
            other => {
                return Err(refuse(format!(
                    "the credential `{name}` is of the kind `{other}`; {NAME} takes `mcp_token` and `mcp`"
                )));
            }
        };
        let http = lf_transport::Client::new(options, target.ports.clock.clone());
        let era = match target.settings.get("era").and_then(Value::as_text) {
            None | Some("auto") => None,
            Some("legacy") => Some(Era::Legacy),
            Some("modern") => Some(Era::Modern),
            Some(_) => return Err(refuse("`era` has to be `auto`, `legacy` or `modern`".to_owned())),
        };
        let tools = match target.settings.get("writes") {
            Some(Value::List(names)) => names.iter().filter_map(Value::as_text).map(SmolStr::from).collect(),
            Some(_) | None => Vec::new(),
        };
        let caution = Caution { all: flag("distrust_hints"), tools };
        let link_local = flag("allow_link_local");
        let (answers, changes) = (self.answers.clone(), Arc::new(Changes::default()));
        let wire = Wire { http, endpoint, ports: target.ports, patience, hears: Some(changes.clone()), answers };
        let client = Client::new(wire, era);
        Ok(Arc::new(Connected(Arc::new(Server {
            id: target.id,
            link_local,
            client,
            strict,
            caution,
            catalog: RwLock::new(None),
            first_listing: Mutex::new(()),
            listed: Listed::default(),
            changes,
        }))))
    }
}

/// What `fuzz/` gives any bytes to; nothing else may.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    use crate::{
        schema::{Warnings, properties},
        sse::Parser,
    };

    /// A stream of events in pieces of that many bytes: what was in it.
    #[must_use]
    pub fn event_stream(bytes: &[u8], piece: usize) -> String {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            match parser.feed(piece) {
                Ok(more) => events.extend(more),
                Err(large) => return format!("{large:?}"),
            }
        }
        events.extend(parser.finish());
        format!("{events:?}")
    }

    /// The schema of a tool, as a server sends it.
    pub fn tool_schema(text: &str) {
        let Ok(schema) = lf_module::json::read(text.as_bytes()) else { return };
        let mut said = Vec::new();
        let _properties = properties(&schema, "/inputSchema", &mut Warnings { tool: "t", said: &mut said });
    }
}
