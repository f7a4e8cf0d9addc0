//! What SQLite reports, as the store's errors: whether trying again may help, and what a person reads.

use crate::store::StoreError;

/// Why a whole transaction failed; every change in it is told the same.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The disk is full, busy or failing: nothing was written, trying again may help.
    Away(String),
    /// The file is damaged.
    Unusable(String),
    /// A statement was refused for what one change holds: the others are tried without it.
    Refused(String),
}

impl Failure {
    pub(super) fn error(&self) -> StoreError {
        match self {
            Self::Away(why) => StoreError::Away(why.clone()),
            Self::Unusable(why) => StoreError::Unusable(why.clone()),
            Self::Refused(why) => StoreError::State(why.clone()),
        }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        let Some(code) = code(&error) else {
            let gone =
                matches!(error, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed);
            return if gone || matches!(error, sqlx::Error::Io(_)) {
                Self::Away(format!("the store cannot be reached: {error}"))
            } else {
                Self::Refused(format!("the store refused this: {error}"))
            };
        };
        match code & 0xff {
            // FULL
            13 => Self::Away("the disk is full; nothing was written".to_owned()),
            // BUSY, LOCKED
            5 | 6 => Self::Away("another program holds the store".to_owned()),
            // PERM, NOMEM, READONLY, IOERR, CANTOPEN, PROTOCOL
            3 | 7 | 8 | 10 | 14 | 15 => Self::Away(format!("the store cannot be reached: {error}")),
            // CORRUPT, NOTADB
            11 | 26 => Self::Unusable(format!("the store is damaged: {error}")),
            _ => Self::Refused(format!("the store refused this: {error}")),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Away(why) => Self::Away(why),
            StoreError::Unusable(why) => Self::Unusable(why),
            StoreError::State(why) | StoreError::Missing(why) => Self::Refused(why),
            StoreError::Fenced | StoreError::Off => Self::Refused(error.to_string()),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Failure::from(error).error()
    }
}

/// SQLite's extended result code, where it is one.
fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}
