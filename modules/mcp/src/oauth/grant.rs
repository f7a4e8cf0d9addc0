//! What a sign-in gave, as it is kept in the credential: tokens, and all that renewing them takes.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use lf_module::{Credential, Secret};
use serde_json::{Map, Value, json};

/// The credential's field that holds it.
pub(crate) const FIELD: &str = "grant";
/// A token is renewed this long before its end, or after nine tenths of a shorter life.
const EARLY: Duration = Duration::from_secs(10);

/// How a client shows at the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// It names itself and has no secret.
    Open,
    Basic,
    Post,
}

/// Who asks: the app at the authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) method: Method,
}

/// Tokens, and where they came from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// When it was given, and when it ends, if that was said.
    pub(crate) since: Timestamp,
    pub(crate) expires: Option<Timestamp>,
    /// What was asked for so far.
    pub(crate) asked: Vec<String>,
    /// What a server wanted beyond that when nobody was there to allow it.
    pub(crate) wanted: Vec<String>,
    /// Who gave it, if that is known.
    pub(crate) issuer: Option<String>,
    pub(crate) token_url: String,
    pub(crate) client: Client,
    /// What it is for, as it was said to the authorization server.
    pub(crate) resource: Option<String>,
}

impl fmt::Debug for Grant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Grant").field("issuer", &self.issuer).field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl Grant {
    /// Whether its token can still be used.
    pub(crate) fn fresh(&self, now: Timestamp) -> bool {
        let Some(expires) = self.expires else { return true };
        let life = Duration::try_from(expires.duration_since(self.since)).unwrap_or_default();
        now.checked_add(EARLY.min(life / 10)).is_ok_and(|soon| soon < expires)
    }

    /// The grant that a credential holds.
    pub(crate) fn of(credential: &Credential) -> Option<Self> {
        let kept: Value = serde_json::from_str(credential.get(FIELD)?.expose()).ok()?;
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let secret = |of: &Value, name: &str| text(of, name).map(Secret::new);
        let time = |name: &str| text(&kept, name).and_then(|text| text.parse().ok());
        let list = |name: &str| {
            let all = kept.get(name).and_then(Value::as_array);
            all.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let client = kept.get("client")?;
        Some(Self {
            access: secret(&kept, "access")?,
            refresh: secret(&kept, "refresh"),
            since: time("since")?,
            expires: time("expires"),
            asked: list("asked"),
            wanted: list("wanted"),
            issuer: text(&kept, "issuer"),
            token_url: text(&kept, "token_url")?,
            client: Client {
                id: text(client, "id")?,
                secret: secret(client, "secret"),
                method: match text(client, "method")?.as_str() {
                    "basic" => Method::Basic,
                    "post" => Method::Post,
                    _ => Method::Open,
                },
            },
            resource: text(&kept, "resource"),
        })
    }

    /// The credential with this grant in it.
    pub(crate) fn to_credential(&self, credential: &Credential) -> Credential {
        let mut kept = Map::new();
        let mut put = |name: &str, value: Option<Value>| drop(value.map(|value| kept.insert(name.to_owned(), value)));
        let method = match self.client.method {
            Method::Open => "open",
            Method::Basic => "basic",
            Method::Post => "post",
        };
        let secret = |secret: &Option<Secret>| secret.as_ref().map(|secret| json!(secret.expose()));
        put("access", Some(json!(self.access.expose())));
        put("refresh", secret(&self.refresh));
        put("since", Some(json!(self.since.to_string())));
        put("expires", self.expires.map(|at| json!(at.to_string())));
        put("asked", Some(json!(self.asked)));
        put("wanted", Some(json!(self.wanted)));
        put("issuer", self.issuer.as_ref().map(|issuer| json!(issuer)));
        put("token_url", Some(json!(self.token_url)));
        put("client", Some(json!({"id": self.client.id, "secret": secret(&self.client.secret), "method": method})));
        put("resource", self.resource.as_ref().map(|resource| json!(resource)));
        let mut credential = credential.clone();
        credential.fields.insert(FIELD.into(), Secret::new(Value::Object(kept).to_string()));
        credential
    }

    /// What can be said of it without showing it.
    pub(crate) fn about(&self, now: Timestamp) -> Vec<(String, String)> {
        let ago =
            |from: Timestamp, to: Timestamp| spoken(Duration::try_from(to.duration_since(from)).unwrap_or_default());
        let mut about = vec![("token".to_owned(), format!("{} old", ago(self.since, now)))];
        let ends = match self.expires {
            None => "not said".to_owned(),
            Some(at) if at > now => format!("in {}", ago(now, at)),
            Some(at) => format!("{} ago", ago(at, now)),
        };
        about.push(("token expires".to_owned(), ends));
        about.push(("token renews itself".to_owned(), if self.refresh.is_some() { "yes" } else { "no" }.to_owned()));
        about.extend(self.issuer.as_ref().map(|issuer| ("signed in at".to_owned(), issuer.clone())));
        if !self.wanted.is_empty() {
            about.push(("scope wanted".to_owned(), self.wanted.join(" ")));
        }
        about
    }
}

/// A length for people: `40 s`, `12 min`, `3 h`, `8 days`.
fn spoken(length: Duration) -> String {
    match length.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// `first`, and what of `second` is not in it.
pub(crate) fn union(first: &[String], second: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in first.iter().chain(second) {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(expires: Option<&str>) -> Grant {
        Grant {
            access: Secret::new("access-1"),
            refresh: Some(Secret::new("refresh-1")),
            since: "2026-01-01T00:00:00Z".parse().unwrap(),
            expires: expires.map(|text| text.parse().unwrap()),
            asked: vec!["read".to_owned()],
            wanted: vec!["write".to_owned()],
            issuer: Some("https://as".to_owned()),
            token_url: "https://as/token".to_owned(),
            client: Client { id: "app".to_owned(), secret: Some(Secret::new("hush")), method: Method::Basic },
            resource: Some("https://h/mcp".to_owned()),
        }
    }

    #[test]
    fn a_grant_comes_back_as_it_was_kept_and_does_not_print() {
        let credential = Credential { name: "x".into(), kind: "mcp".into(), fields: indexmap::IndexMap::new() };
        for grant in [grant(Some("2026-01-01T01:00:00Z")), Grant { refresh: None, issuer: None, ..grant(None) }] {
            let kept = grant.to_credential(&credential);
            assert_eq!(Grant::of(&kept), Some(grant.clone()));
            let shown = format!("{grant:?} {:?} {:?}", kept, grant.about(grant.since));
            for secret in ["access-1", "refresh-1", "hush"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
        assert_eq!(Grant::of(&credential), None);
    }

    #[test]
    fn a_token_is_renewed_shortly_before_its_end() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let hour = grant(Some("2026-01-01T01:00:00Z"));
        assert!(hour.fresh(at("2026-01-01T00:59:49Z")));
        assert!(!hour.fresh(at("2026-01-01T00:59:50Z")));
        let short = grant(Some("2026-01-01T00:00:10Z"));
        assert!(short.fresh(at("2026-01-01T00:00:08Z")));
        assert!(!short.fresh(at("2026-01-01T00:00:09Z")));
        assert!(grant(None).fresh(at("2036-01-01T00:00:00Z")));
    }

    #[test]
    fn scopes_are_joined_in_order() {
        let of = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(union(&of("a b"), &of("b c a")), of("a b c"));
    }
}
