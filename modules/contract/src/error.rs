//! How a call fails: one error that answers questions.
//!
//! Callers ask ([`CallError::may_have_acted`], [`CallError::retry_after`]); they never match on a
//! protocol's errors. The classification is made where the facts are, in the module.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What sort of failure this is; it decides what the host does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The system said no. Not tried again.
    Refused,
    /// It may pass: away, throttled, broken for the moment. Tried again later.
    Passing,
    /// The system refused the credential. The connection is held until it is mended.
    Credential,
    /// The system is not as it was described.
    Drift,
    /// A limit of ours was reached, or the request could not be made as asked. Not tried again.
    Limit,
}

/// Whether the system could already have done what a failed call asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acted {
    /// Certainly not: it never got the request, or said that it did not act.
    No,
    /// Perhaps: the answer was lost or says nothing about it.
    Maybe,
}

/// A failed call. `Display` is the whole story in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// What sort of failure.
    pub kind: Kind,
    /// Whether the system could have acted.
    pub acted: Acted,
    /// One sentence for the reader: what was asked, what came back. Never holds a secret.
    pub message: String,
    /// The HTTP status or the protocol's error code, if there was one.
    #[serde(default)]
    pub status: Option<i64>,
    /// The argument or field that the system complained about, if it named one.
    #[serde(default)]
    pub field: Option<String>,
    /// How long the system asked to be left alone.
    #[serde(default)]
    pub retry_after: Option<Duration>,
    /// How many requests were sent for this call.
    #[serde(default)]
    pub attempts: u32,
    /// How long was waited between them in all.
    #[serde(default)]
    pub waited: Duration,
}

impl CallError {
    /// A failure of `kind` that did nothing.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            acted: Acted::No,
            message: message.into(),
            status: None,
            field: None,
            retry_after: None,
            attempts: 0,
            waited: Duration::ZERO,
        }
    }

    /// The system said no.
    #[must_use]
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// It may pass.
    #[must_use]
    pub fn passing(message: impl Into<String>) -> Self {
        Self::new(Kind::Passing, message)
    }

    /// The same failure, after which the system may have acted.
    #[must_use]
    pub fn maybe_acted(mut self) -> Self {
        self.acted = Acted::Maybe;
        self
    }

    /// Whether the system could have done what was asked.
    #[must_use]
    pub fn may_have_acted(&self) -> bool {
        self.acted == Acted::Maybe
    }

    /// How long the system asked to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}
