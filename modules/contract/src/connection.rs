//! A connection: one system, as a graph that can be described, read, written and listened to.

use std::fmt;

use async_trait::async_trait;
use smol_str::SmolStr;

use crate::{
    call::{Batch, Call, Key, Landed, Listen, Page, Read, Repeat, Write, Written},
    error::{CallError, Kind},
    file::File,
    schema::Description,
    value::Record,
};

/// One system. Every method ends by the call's deadline: with an answer or with an error.
#[async_trait]
pub trait Connection: Send + Sync + fmt::Debug {
    /// What the system is made of.
    ///
    /// # Errors
    /// Any [`CallError`]; a part that is not understood is a warning in the description, never an error.
    async fn describe(&self, call: &Call) -> Result<Description, CallError>;

    /// What the system said of itself, raw, for `describe --raw`.
    ///
    /// # Errors
    /// Any [`CallError`].
    async fn raw(&self, call: &Call) -> Result<String, CallError>;

    /// One page of a read. The host asks for the next with the cursor of the last.
    ///
    /// # Errors
    /// Any [`CallError`]; a read never acts.
    async fn read(&self, read: &Read, call: &Call) -> Result<Page, CallError>;

    /// One record by its key; `None` if it is not there.
    ///
    /// # Errors
    /// Any [`CallError`].
    async fn get(&self, ty: &SmolStr, key: &Key, call: &Call) -> Result<Option<Landed>, CallError>;

    /// Every record whose fields equal `by` exactly, for `unique by` and for a WHERE that fixes them.
    ///
    /// # Errors
    /// Any [`CallError`].
    async fn find(&self, ty: &SmolStr, by: &Record, call: &Call) -> Result<Vec<Landed>, CallError>;

    /// The bytes of a file that this connection gave, as they are now; `None` if it is gone. Asked only for files of
    /// types that hold some, directly before they are written somewhere; what is asked for again is a read.
    ///
    /// # Errors
    /// Any [`CallError`]; [`Kind::Limit`] for a file of more than `most` bytes, which is not read to its end.
    async fn bytes(&self, file: &File, most: usize, call: &Call) -> Result<Option<Vec<u8>>, CallError> {
        let _ = (most, call);
        Err(CallError::new(Kind::Limit, format!("{} is of a system that gives no files", file.called())))
    }

    /// Changes the system. A file among the fields comes with its bytes.
    ///
    /// # Errors
    /// Any [`CallError`]; [`CallError::may_have_acted`] says whether the outcome is known.
    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError>;

    /// Whether the write may be sent again after an unknown outcome.
    fn repeat(&self, write: &Write) -> Repeat;

    /// Signs a person in at a browser, for a credential whose kind [`crate::CredentialKind::signs_in`]; what comes of it
    /// is with the [`crate::Keeper`].
    ///
    /// # Errors
    /// Nobody is there, or the sign-in was refused. [`crate::Kind::Limit`] where nothing of the kind is built.
    async fn sign_in(&self, call: &Call) -> Result<(), CallError> {
        let _ = call;
        Err(CallError::new(Kind::Limit, "there is nothing to sign in to at a browser"))
    }

    /// Opens a source of changes. Sends nothing: the first [`Source::next`] does.
    ///
    /// # Errors
    /// [`crate::Kind::Limit`] if the type cannot be listened to.
    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError>;
}

/// A source of changes.
#[async_trait]
pub trait Source: Send + fmt::Debug {
    /// The next batch, waiting for one as long as it takes. The host calls it only when the batch before is
    /// stored, so a slow program slows the source down. Dropping the future loses nothing: a new
    /// source opened at the last stored cursor gives the same events again.
    ///
    /// # Errors
    /// Any [`CallError`]; the host waits and calls `next` again.
    async fn next(&mut self) -> Result<Batch, CallError>;
}
