//! A new key: every sealed credential is opened with the old one and sealed under the new one.
//!
//! The new key lies beside the old one (`key.next`) until nothing is sealed under the old one any more; from the moment
//! it lies there everything is sealed under it, and what is sealed under either can be opened. So other processes go on
//! meanwhile, and a rotation that was interrupted is taken up again.

use std::time::Duration;

use lf_module::Clock;
use smol_str::SmolStr;

use super::{CredentialError, Credentials};
use crate::project::vault::Vault;

/// How long a credential's lock is taken for, and how often it is tried.
const LEASE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(60);
/// How often all are gone through: others may seal one under the old key just before they see the new one.
const ROUNDS: usize = 10;
const OWNER: &str = "rotate-key";

/// What a rotation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    pub sealed: usize,
    /// The new key's id.
    pub key: SmolStr,
    /// The key is the environment's: it has to be changed there.
    pub from_environment: bool,
}

impl Credentials {
    /// Seals every credential under a new key.
    ///
    /// # Errors
    /// A credential does not open, or one of the keys cannot be had. What was sealed anew by then stays so, and can be
    /// opened.
    pub async fn rotate(&self, clock: &dyn Clock) -> Result<Rotated, CredentialError> {
        let old = Vault::open_or_make(self.given.key.as_ref(), &self.key_file)?;
        let new = match (&self.given.key, &self.given.next_key) {
            (Some(_), None) => {
                let message = "the key comes from `LISTEN_FIRE_KEY`: give the new one in `LISTEN_FIRE_KEY_NEXT`";
                return Err(CredentialError::Given(message.to_owned()));
            }
            (Some(_), Some(next)) => Vault::open(Some(next), &self.key_file)?.unwrap_or_else(|| old.clone()),
            (None, _) => Vault::open_or_make(None, &self.next_file())?,
        };
        let mut sealed = 0;
        for _ in 0..ROUNDS {
            let all = self.store.all().await?;
            let left: Vec<_> = all.into_iter().filter(|one| one.key_id != *new.id()).map(|one| one.name).collect();
            if left.is_empty() {
                break;
            }
            for name in left {
                sealed += usize::from(self.seal_anew(&name, &old, &new, clock).await?);
            }
        }
        if self.given.key.is_none() {
            std::fs::rename(self.next_file(), &self.key_file).map_err(|why| Vault::not_put(&self.key_file, why))?;
        }
        Ok(Rotated { sealed, key: new.id().clone(), from_environment: self.given.key.is_some() })
    }

    /// One credential, which nobody may change meanwhile.
    async fn seal_anew(
        &self,
        name: &SmolStr,
        old: &Vault,
        new: &Vault,
        clock: &dyn Clock,
    ) -> Result<bool, CredentialError> {
        let end = clock.monotonic() + PATIENCE;
        loop {
            let now = clock.now();
            if self.store.lock(name, OWNER, now, now.checked_add(LEASE).unwrap_or(now)).await? {
                break;
            }
            if self.store.get(name).await?.is_none() {
                return Ok(false);
            }
            if clock.monotonic() >= end {
                return Err(CredentialError::Given(format!("`{name}` is being renewed by another process; try again")));
            }
            clock.sleep(LOOK).await;
        }
        let done = async {
            let Some(kept) = self.store.get(name).await?.filter(|kept| kept.key_id != *new.id()) else {
                return Ok(false);
            };
            let opened = old.unseal(&kept)?;
            Ok::<_, CredentialError>(self.store.reseal(&new.seal(&kept.module, &opened)?, OWNER).await?)
        };
        let done = done.await;
        if !matches!(done, Ok(true)) {
            self.store.unlock(name, OWNER).await?;
        }
        done
    }
}
