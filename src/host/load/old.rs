//! A connection that could not be described when the program was loaded: its description is the lock file's, and is
//! taken anew before the first call. If the system turns out to be another than described, every call is drift; as long
//! as it does not say what it is, a call may pass later.

use std::sync::Arc;

use async_trait::async_trait;
use lf_module::{
    Batch, Call, CallError, Clock, Connection, Description, Key, Kind, Landed, Listen, Page, Read, Record, Repeat,
    Source, Write, Written,
};
use smol_str::SmolStr;
use tokio::sync::OnceCell;

use crate::{
    host::describe,
    project::lock::{Locked, differences},
};

/// The connection, and what it has to turn out to be.
#[derive(Debug, Clone)]
pub(super) struct Old {
    inner: Arc<dyn Connection>,
    expected: Arc<Locked>,
    clock: Arc<dyn Clock>,
    /// Set once the system was described; a failure to do so is tried again with the next call.
    met: Arc<OnceCell<Result<(), CallError>>>,
}

impl Old {
    pub(super) fn new(inner: Arc<dyn Connection>, expected: Locked, clock: Arc<dyn Clock>) -> Self {
        Self { inner, expected: Arc::new(expected), clock, met: Arc::default() }
    }

    async fn meet(&self) -> Result<(), CallError> {
        let met = self.met.get_or_try_init(|| async {
            let described = describe::one(self.clock.as_ref(), self.inner.as_ref()).await;
            let description = described.map_err(not_yet)?;
            let expected = self.expected.as_ref();
            let now = Locked::new(&expected.module, expected.using.as_deref(), expected.kind.as_deref(), &description);
            let differences = differences(expected, &now);
            Ok::<_, CallError>(if differences.is_empty() {
                Ok(())
            } else {
                let shown: Vec<_> = differences.iter().take(5).map(String::as_str).collect();
                let text = format!("the system is not as it was described: {}", shown.join("; "));
                Err(CallError::new(Kind::Drift, text))
            })
        });
        met.await?.clone()
    }
}

/// An answer that describes nothing says nothing about what the system is.
fn not_yet(error: CallError) -> CallError {
    match error.kind {
        Kind::Passing | Kind::Credential => error,
        Kind::Refused | Kind::Drift | Kind::Limit => {
            CallError { kind: Kind::Passing, message: format!("it cannot be described: {}", error.message), ..error }
        }
    }
}

#[async_trait]
impl Connection for Old {
    async fn describe(&self, call: &Call) -> Result<Description, CallError> {
        self.inner.describe(call).await
    }

    async fn raw(&self, call: &Call) -> Result<String, CallError> {
        self.inner.raw(call).await
    }

    async fn read(&self, read: &Read, call: &Call) -> Result<Page, CallError> {
        self.meet().await?;
        self.inner.read(read, call).await
    }

    async fn get(&self, ty: &SmolStr, key: &Key, call: &Call) -> Result<Option<Landed>, CallError> {
        self.meet().await?;
        self.inner.get(ty, key, call).await
    }

    async fn find(&self, ty: &SmolStr, by: &Record, call: &Call) -> Result<Vec<Landed>, CallError> {
        self.meet().await?;
        self.inner.find(ty, by, call).await
    }

    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError> {
        self.meet().await?;
        self.inner.write(write, call).await
    }

    fn repeat(&self, write: &Write) -> Repeat {
        self.inner.repeat(write)
    }

    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
        let inner = self.inner.listen(listen)?;
        Ok(Box::new(OldSource { old: self.clone(), inner }))
    }
}

#[derive(Debug)]
struct OldSource {
    old: Old,
    inner: Box<dyn Source>,
}

#[async_trait]
impl Source for OldSource {
    async fn next(&mut self) -> Result<Batch, CallError> {
        self.old.meet().await?;
        self.inner.next().await
    }
}
