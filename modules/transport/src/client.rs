//! The two HTTP clients of a connection, made when first used.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use lf_module::Clock;
use reqwest::{ClientBuilder, redirect};

use crate::{
    exchange::Sends,
    failure::Failure,
    guard::{Reach, Resolver},
};

/// What a connection sets about its client.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long connecting may take.
    pub connect: Duration,
    /// Link-local and metadata addresses may be reached.
    pub link_local: bool,
    /// Private and loopback addresses are not reached either: for addresses that a system on the net named.
    pub public: bool,
    /// HTTP/1.1 only: a connection that died unseen takes one request with it, not every later one.
    pub http1: bool,
    /// No TLS is ever spoken, so the machine's certificate authorities are not read: they take longer and
    /// more memory than all the rest.
    pub plain: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), link_local: false, public: false, http1: false, plain: false }
    }
}

impl Options {
    pub(crate) fn reach(&self) -> Reach {
        Reach { link_local: self.link_local, public: self.public }
    }
}

/// One connection's client. It sends what it is given exactly once.
#[derive(Debug)]
pub struct Client {
    options: Options,
    clock: Arc<dyn Clock>,
    safe: OnceLock<reqwest::Client>,
    write: OnceLock<reqwest::Client>,
}

impl Client {
    /// A client. Nothing is opened or read yet.
    #[must_use]
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Self {
        Self { options, clock, safe: OnceLock::new(), write: OnceLock::new() }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn pick(&self, sends: Sends) -> Result<&reqwest::Client, Failure> {
        let slot = match sends {
            Sends::Safe => &self.safe,
            Sends::Write => &self.write,
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = build(&self.options, sends)?;
        Ok(slot.get_or_init(|| client))
    }
}

fn build(options: &Options, sends: Sends) -> Result<reqwest::Client, Failure> {
    // The second call in a process finds a provider installed, which is all that is wanted.
    let _already_there = rustls::crypto::ring::default_provider().install_default();
    if options.plain {
        let client = builder(options, sends).tls_certs_only([]).build();
        return client.map_err(|error| Failure::Unsendable(format!("no HTTP client can be made: {error}")));
    }
    builder(options, sends).build().or_else(|error| {
        // A slim container has no certificate authorities, and without any the client is refused.
        tracing::warn!("the system's certificate authorities cannot be used ({error}); using the built-in ones");
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS
            .iter()
            .filter_map(|root| reqwest::Certificate::from_der(root).ok());
        builder(options, sends)
            .tls_certs_only(roots)
            .build()
            .map_err(|error| Failure::Unsendable(format!("no HTTP client can be made: {error}")))
    })
}

fn builder(options: &Options, sends: Sends) -> ClientBuilder {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("listen-fire/", env!("CARGO_PKG_VERSION")))
        // A redirect could carry a secret to another origin, or a write to where it was not meant.
        .redirect(redirect::Policy::none())
        .referer(false)
        // Whatever is sent again is sent by the retry driver, and counted.
        .retry(reqwest::retry::never())
        .connect_timeout(options.connect)
        .dns_resolver(Resolver { reach: options.reach() });
    match sends {
        Sends::Safe if options.http1 => builder.http1_only(),
        Sends::Safe => builder,
        // A reused connection may be closed by the server at the very moment of sending; then nobody can
        // say whether the request arrived. A fresh one cannot.
        Sends::Write => builder.pool_max_idle_per_host(0).http1_only(),
    }
}
