//! How an exchange fails, said so that a retry table can be looked up.
//!
//! "Never connected" is narrower than what HTTP libraries call a connect error: those also count a TLS
//! failure and a reset during the accept, after which a system behind a proxy may have been reached.

use std::{error::Error as StdError, fmt, io};

use lf_module::CallError;

use crate::guard::Blocked;

/// How one exchange failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No connection was ever made, because nobody is there. Nothing was sent.
    NeverConnected(Unreached, String),
    /// No connection came about for another reason. Nothing was sent.
    NotConnected(String),
    /// The TLS handshake failed. Nothing was sent.
    Tls(String),
    /// The address is one that is not reached. Nothing was sent.
    Blocked(String),
    /// The request cannot be put into HTTP. Nothing was sent.
    Unsendable(String),
    /// What the request is signed in with cannot be had. Nothing was sent.
    Unsigned(Box<CallError>),
    /// It took too long.
    Timeout(Phase),
    /// The connection broke after the request had begun.
    Lost(String),
    /// The answer is larger than this many bytes.
    TooLarge(usize),
}

/// Why nobody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreached {
    /// The port refused.
    Refused,
    /// The name was not found.
    NameNotFound,
}

/// The part of an exchange that took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Connecting. Nothing was sent.
    Connect,
    /// Waiting for the head of the answer.
    FirstByte,
    /// Waiting for more of the body.
    Gap,
    /// The whole.
    Whole,
}

impl Failure {
    /// Whether the other side could have the request: the question behind every repeated write.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::NeverConnected(..)
            | Self::NotConnected(_)
            | Self::Tls(_)
            | Self::Blocked(_)
            | Self::Unsendable(_)
            | Self::Unsigned(_)
            | Self::Timeout(Phase::Connect) => false,
            Self::Timeout(Phase::FirstByte | Phase::Gap | Phase::Whole) | Self::Lost(_) | Self::TooLarge(_) => true,
        }
    }

    pub(crate) fn of(error: &reqwest::Error) -> Self {
        classify(&Facts::of(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverConnected(Unreached::Refused, _) => out.write_str("the connection was refused"),
            Self::NeverConnected(Unreached::NameNotFound, why) => write!(out, "the host's name was not found ({why})"),
            Self::NotConnected(why) => write!(out, "no connection came about ({why})"),
            Self::Tls(why) => write!(out, "no secure connection came about ({why})"),
            Self::Blocked(why) | Self::Unsendable(why) => out.write_str(why),
            Self::Unsigned(error) => out.write_str(&error.message),
            Self::Timeout(Phase::Connect) => out.write_str("connecting took too long"),
            Self::Timeout(Phase::FirstByte) => out.write_str("no answer came in time"),
            Self::Timeout(Phase::Gap) => out.write_str("the answer stopped coming"),
            Self::Timeout(Phase::Whole) => out.write_str("the time for it was over"),
            Self::Lost(why) => write!(out, "the connection was lost ({why})"),
            Self::TooLarge(limit) => write!(out, "the answer is larger than {limit} bytes"),
        }
    }
}

/// What can be asked of the HTTP library's error, as data, so that the decision is a pure function.
#[derive(Debug, Clone, Default)]
struct Facts {
    blocked: Option<String>,
    builder: bool,
    connect: bool,
    dns: bool,
    timeout: bool,
    refused: bool,
    tls: bool,
    why: String,
}

impl Facts {
    fn of(error: &reqwest::Error) -> Self {
        let mut facts = Self {
            builder: error.is_builder(),
            connect: error.is_connect(),
            dns: error.is_dns(),
            timeout: error.is_timeout(),
            ..Self::default()
        };
        let mut next: Option<&(dyn StdError + 'static)> = error.source();
        while let Some(cause) = next {
            facts.why = cause.to_string();
            facts.tls |= cause.is::<rustls::Error>();
            if let Some(blocked) = cause.downcast_ref::<Blocked>() {
                facts.blocked = Some(blocked.to_string());
            }
            if let Some(broken) = cause.downcast_ref::<io::Error>() {
                facts.refused |= broken.kind() == io::ErrorKind::ConnectionRefused;
                facts.tls |= wraps_tls(broken);
            }
            next = cause.source();
        }
        facts
    }
}

/// An I/O error answers `source` with the source of what it wraps, and they come nested: look inside.
fn wraps_tls(error: &io::Error) -> bool {
    let mut next = Some(error);
    while let Some(inner) = next.and_then(io::Error::get_ref) {
        if inner.is::<rustls::Error>() {
            return true;
        }
        next = inner.downcast_ref::<io::Error>();
    }
    false
}

fn classify(facts: &Facts) -> Failure {
    let why = facts.why.clone();
    if let Some(blocked) = &facts.blocked {
        return Failure::Blocked(blocked.clone());
    }
    if facts.builder {
        return Failure::Unsendable(why);
    }
    if !facts.connect {
        return if facts.timeout { Failure::Timeout(Phase::FirstByte) } else { Failure::Lost(why) };
    }
    if facts.timeout {
        Failure::Timeout(Phase::Connect)
    } else if facts.dns {
        Failure::NeverConnected(Unreached::NameNotFound, why)
    } else if facts.refused {
        Failure::NeverConnected(Unreached::Refused, why)
    } else if facts.tls {
        Failure::Tls(why)
    } else {
        Failure::NotConnected(why)
    }
}

#[cfg(test)]
mod tests;
