//! One connection's data: the model, where the system is, and how requests to it are signed.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue, header};
use lf_module::{CallError, Credential, Kind, Ports, Secret, Target, Value, call::Settings};
use lf_transport::{Client, Options, secret_header};
use smol_str::SmolStr;
use url::{Url, form_urlencoded::byte_serialize};

use crate::{
    model::{Model, Sign, Type},
    template::{Template, as_it_is, percent},
};

/// Everything that a request needs.
pub(crate) struct System {
    /// The connection's identity in the project.
    pub(crate) id: SmolStr,
    /// `#acme_crm`.
    pub(crate) module: SmolStr,
    pub(crate) model: Arc<Model>,
    pub(crate) base: Url,
    pub(crate) settings: Settings,
    pub(crate) signature: Option<Signature>,
    pub(crate) client: Client,
    pub(crate) ports: Ports,
    /// Texts that no message may hold.
    secrets: Vec<Secret>,
}

/// The signature of every request.
pub(crate) enum Signature {
    Header(HeaderName, HeaderValue),
    Query(String, Secret),
}

impl fmt::Debug for System {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("System").field("module", &self.module).finish_non_exhaustive()
    }
}

impl System {
    /// Puts the data together. Sends nothing.
    pub(crate) fn new(module: SmolStr, model: Arc<Model>, target: Target) -> Result<Self, CallError> {
        let Target { id, settings, credential, ports } = target;
        if credential.is_none() && !model.credentials.is_empty() && !model.credential_optional {
            return Err(limit(format!("{module} needs a credential")));
        }
        let signature = credential.as_ref().map(|credential| sign(&module, &model, credential)).transpose()?;
        let base = base(&module, &model, &settings, credential.as_ref())?;
        let secrets = credential.map(|credential| secrets(&model, &credential)).unwrap_or_default();
        let client = Client::new(Options::default(), ports.clock.clone());
        Ok(Self { id, module, model, base, settings, signature, client, ports, secrets })
    }

    pub(crate) fn ty(&self, name: &str) -> Result<&Type, CallError> {
        self.model.get(name).ok_or_else(|| CallError::new(Kind::Drift, format!("{} has no type `{name}`", self.module)))
    }

    /// `text` without any secret that a system may have sent back.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose(), "…"))
    }
}

fn limit(message: String) -> CallError {
    CallError::new(Kind::Limit, message)
}

fn base(module: &str, model: &Model, settings: &Settings, credential: Option<&Credential>) -> Result<Url, CallError> {
    let given = credential.and_then(|credential| credential.get("url")).map(|url| url.expose().to_owned());
    let setting = || settings.get("url").and_then(Value::as_text).map(str::to_owned);
    let declared = || {
        let template = model.base_url.as_ref()?;
        let value = |name: &str| name.strip_prefix("setting.").and_then(|name| settings.get(name));
        Some(
            template
                .fill(&value, as_it_is)
                .map_err(|_| limit(format!("{module}: `base_url` needs a setting that is not given"))),
        )
    };
    let text = match given.filter(|url| !url.is_empty()).or_else(setting) {
        Some(text) => text,
        None => {
            declared().ok_or_else(|| limit(format!("{module}: nothing says where the system is; give `url`")))??
        }
    };
    // The text may have come from a credential, so it is not shown.
    let url = Url::parse(text.trim()).map_err(|why| limit(format!("{module}: the `url` is none: {why}")))?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !matches!(url.scheme(), "http" | "https") || !plain {
        return Err(limit(format!(
            "{module}: the `url` starts with `https://` or `http://` and holds no password and no query"
        )));
    }
    Ok(url)
}

fn sign(module: &str, model: &Model, credential: &Credential) -> Result<Signature, CallError> {
    let signed = model.credentials.iter().find(|signed| signed.kind.name == credential.kind);
    let Some(signed) = signed else {
        return Err(limit(format!("{module} has no credential of kind `{}`", credential.kind)));
    };
    for field in signed.kind.fields.iter().filter(|field| field.required) {
        if credential.get(&field.name).is_none_or(|value| value.expose().is_empty()) {
            return Err(limit(format!("the credential `{}` has no `{}`", credential.name, field.name)));
        }
    }
    let fill = |template: &Template| fill(template, credential);
    let header = |name: HeaderName, text: String| {
        let value =
            secret_header(&text).map_err(|why| limit(format!("the credential `{}`: {why}", credential.name)))?;
        Ok(Signature::Header(name, value))
    };
    match &signed.sign {
        Sign::Bearer(token) => header(header::AUTHORIZATION, format!("Bearer {}", fill(token)?)),
        Sign::Header(name, value) => header(name.clone(), fill(value)?),
        Sign::Basic(user, password) => {
            let pair = format!("{}:{}", fill(user)?, fill(password)?);
            header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)))
        }
        Sign::Query(name, value) => Ok(Signature::Query(name.clone(), Secret::new(fill(value)?))),
    }
}

fn fill(template: &Template, credential: &Credential) -> Result<String, CallError> {
    let fields: Settings =
        credential.fields.iter().map(|(name, secret)| (name.clone(), Value::text(secret.expose()))).collect();
    template
        .fill(&|name| fields.get(name), as_it_is)
        .map_err(|_| limit(format!("the credential `{}` lacks a field that signs a request", credential.name)))
}

/// The secret fields, in each form in which a request holds them. Short ones would blank out innocent text and
/// are no secrets worth the name.
fn secrets(model: &Model, credential: &Credential) -> Vec<Secret> {
    let Some(signed) = model.credentials.iter().find(|signed| signed.kind.name == credential.kind) else {
        return Vec::new();
    };
    let secret = signed.kind.fields.iter().filter(|field| field.secret);
    let plain: Vec<&str> = secret.filter_map(|field| credential.get(&field.name)).map(Secret::expose).collect();
    let encoded = plain.iter().flat_map(|text| [percent(text), byte_serialize(text.as_bytes()).collect()]);
    let pair = match &signed.sign {
        Sign::Basic(user, password) => {
            let pair = fill(user, credential).and_then(|user| Ok(format!("{user}:{}", fill(password, credential)?)));
            pair.ok().map(|pair| STANDARD.encode(pair))
        }
        Sign::Bearer(_) | Sign::Header(..) | Sign::Query(..) => None,
    };
    let mut all: Vec<String> = plain.iter().map(|text| (*text).to_owned()).chain(encoded).chain(pair).collect();
    // A longer form first, or its rest would stay.
    all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    all.dedup();
    all.into_iter().filter(|text| text.len() >= 4).map(Secret::new).collect()
}
