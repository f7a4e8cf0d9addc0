//! Renewing a token: by one task of one process, whoever else waits for it.
//!
//! INVARIANT: whoever has the credential's lock looks at what is kept before anything is sent, and what was renewed is
//! kept before it is used. A refresh token may be good only once.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use lf_module::{CallError, Secret};
use url::Url;

use super::{
    Signer,
    grant::{Grant, union},
    net::Net,
    tokens::{self, NoToken},
};

/// How long one process may hold a credential's lock, and how long a renewal may take in it.
const LEASE: Duration = Duration::from_secs(30);
const RENEWAL: Duration = Duration::from_secs(20);
/// How often it is looked whether another process is done.
const LOOK: Duration = Duration::from_millis(100);

impl Signer {
    /// Remembers what the next sign-in has to ask for.
    pub(super) async fn want(&self, scopes: &[String], until: Duration) {
        let Ok(()) = self.lock(until, None).await.map(drop) else { return };
        let kept = async {
            let credential = self.keeper.current().await.ok()?;
            let mut grant = Grant::of(&credential)?;
            grant.wanted = union(&grant.wanted, scopes);
            self.keeper.replace(&grant.to_credential(&credential)).await.ok()
        };
        if kept.await != Some(true) {
            self.keeper.unlock().await;
        }
    }

    /// A token in the place of `old`, which is over: renewed by this process, or by another one meanwhile.
    ///
    /// It goes on to the end even if nobody waits for it any more: a refresh token may be good only once.
    pub(super) async fn renew(self: &Arc<Self>, old: &Secret, until: Duration) -> Result<Secret, CallError> {
        let (signer, old) = (self.clone(), old.clone());
        let renewing = tokio::spawn(async move { signer.renew_here(&old, until).await });
        match lf_transport::by(&*self.ports.clock, until, renewing).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(CallError::passing(format!("renewing the token of `{}` was broken off", self.name))),
            Err(_) => Err(CallError::passing(format!(
                "the token of `{}` was still being renewed when the time was over",
                self.name
            ))),
        }
    }

    async fn renew_here(&self, old: &Secret, until: Duration) -> Result<Secret, CallError> {
        let _turn = self.turn(until).await?;
        if let Some(known) = self.newer(self.known(), old) {
            return Ok(known.access.clone());
        }
        if let Some(grant) = self.lock(until, Some(old)).await? {
            return Ok(grant.access.clone());
        }
        let done = self.renew_locked(old).await;
        if !matches!(done, Ok((_, true))) {
            self.keeper.unlock().await;
        }
        done.map(|(token, _)| token)
    }

    /// The lock is held. Answers the token, and whether the lock was given back with it.
    async fn renew_locked(&self, old: &Secret) -> Result<(Secret, bool), CallError> {
        let clock = &*self.ports.clock;
        let Some(kept) = self.load().await? else {
            return Err(self.sign_in_again("it was never signed in", StatusCode::UNAUTHORIZED));
        };
        if self.newer(Some(kept.clone()), old).is_some() {
            return Ok((kept.access.clone(), false));
        }
        let Some(token) = &kept.refresh else {
            return Err(self.sign_in_again("its token is over and cannot be renewed", StatusCode::UNAUTHORIZED));
        };
        let until = clock.monotonic() + RENEWAL;
        let asking = self.with_present_app(&kept);
        let home = self.explicit() || Net::at_home(&self.server).await || same_host(&kept.token_url, &self.server);
        match tokens::refresh(&self.net, &asking, token, home, clock.now(), until).await {
            Ok(grant) => {
                let credential = self.keeper.current().await?;
                if self.keeper.replace(&grant.to_credential(&credential)).await? {
                    self.know(grant.clone());
                    tracing::debug!("{}: the token of `{}` was renewed", crate::NAME, self.name);
                    return Ok((grant.access, true));
                }
                // Somebody took the lock over, or a person signed in: what they kept counts.
                match self.newer(self.load().await?, old) {
                    Some(kept) => Ok((kept.access.clone(), true)),
                    None => Err(CallError::passing(format!("the token of `{}` was renewed by others", self.name))),
                }
            }
            // Whoever renewed it meanwhile has made this one useless; what they kept is not touched.
            Err(NoToken::InvalidGrant(why)) => match self.newer(self.load().await?, old) {
                Some(kept) => Ok((kept.access.clone(), false)),
                None => {
                    let why = format!("the authorization server does not renew its token ({why})");
                    Err(self.sign_in_again(&why, StatusCode::UNAUTHORIZED))
                }
            },
            Err(NoToken::Other(error)) => Err(error),
        }
    }

    /// The grant, asked for by the app as it is set up now: its secret may have been changed.
    fn with_present_app(&self, grant: &Grant) -> Grant {
        let mut grant = grant.clone();
        if self.app.client_id.as_ref() == Some(&grant.client.id) && self.app.client_secret.is_some() {
            grant.client.secret = self.app.client_secret.clone();
        }
        grant
    }

    /// Takes the credential's lock; or gives what another process kept meanwhile in the place of `old`.
    pub(super) async fn lock(&self, until: Duration, old: Option<&Secret>) -> Result<Option<Arc<Grant>>, CallError> {
        let clock = &*self.ports.clock;
        while !self.keeper.lock(LEASE).await? {
            if let Some(old) = old
                && let Some(kept) = self.newer(self.load().await?, old)
            {
                return Ok(Some(kept));
            }
            if clock.monotonic() + LOOK >= until {
                let message =
                    format!("the token of `{}` was still being renewed elsewhere when the time was over", self.name);
                return Err(CallError::passing(message));
            }
            clock.sleep(LOOK).await;
        }
        Ok(None)
    }

    /// The grant, if it is another one than that of the token `old`, and can be used.
    pub(super) fn newer(&self, grant: Option<Arc<Grant>>, old: &Secret) -> Option<Arc<Grant>> {
        grant.filter(|grant| grant.access != *old && grant.fresh(self.ports.clock.now()))
    }
}

fn same_host(url: &str, server: &Url) -> bool {
    url.parse::<Url>().is_ok_and(|url| url.host() == server.host())
}
