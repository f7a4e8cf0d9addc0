//! A declared request and given values to what is sent.
//!
//! Secrets enter here and in [`crate::system`] alone, as headers that do not print or as a query parameter
//! that no message shows.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use lf_module::{CallError, Kind, Record, Value, json};
use url::Url;

use crate::{
    model::{Body, Request},
    system::{Signature, System},
    template::{Template, Unfilled, as_it_is, is_step, percent, scalar},
};

/// The values that templates place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    pub(crate) key: Option<&'a Value>,
    /// The record at the other end of an edge.
    pub(crate) to: Option<&'a Value>,
    pub(crate) fields: Option<&'a Record>,
    /// The fields are the body where none is declared.
    pub(crate) writes: bool,
}

/// A request, ready to be sent any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    /// `GET /companies`, for messages: without query and headers.
    pub(crate) what: String,
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl Outgoing {
    /// Builds the request with `extra` query parameters.
    pub(crate) fn build(
        system: &System,
        request: &Request,
        given: Given<'_>,
        extra: &[(String, String)],
    ) -> Result<Self, CallError> {
        let value = |name: &str| look_up(system, given, name);
        // An empty key would turn one record's path into that of all records.
        if let Some(name) =
            request.path.names().find(|name| value(name).and_then(scalar).is_some_and(|text| text.is_empty()))
        {
            return Err(unfilled(&Unfilled::Missing(name.to_owned()), "the path"));
        }
        let path = request.path.fill(&value, percent).map_err(|why| unfilled(&why, "the path"))?;
        if is_step(&path) {
            return Err(CallError::new(Kind::Limit, format!("`{path}` would leave the declared path")));
        }
        let mut url = system.base.clone();
        url.set_path(&format!("{}{path}", system.base.path().trim_end_matches('/')));
        let mut query = Vec::new();
        for (name, template) in &request.query {
            match template.fill(&value, as_it_is) {
                Ok(text) => query.push((name.as_str(), text)),
                Err(Unfilled::Missing(_)) => {}
                Err(why @ Unfilled::NotText(_)) => return Err(unfilled(&why, &format!("the parameter `{name}`"))),
            }
        }
        query.extend(extra.iter().map(|(name, text)| (name.as_str(), text.clone())));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let body = match (&request.body, given.fields) {
            (Some(body), _) => fill(body, &value, given)?,
            (None, Some(fields)) if given.writes => Some(Value::record(fields.clone())),
            (None, _) => None,
        };
        let mut outgoing = Self::to(system, &request.method, url)?;
        for (name, template) in &request.headers {
            outgoing.header(name.clone(), template, &value)?;
        }
        if let Some(body) = body {
            outgoing.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            outgoing.body = Some(Bytes::from(json::plain(&body)));
        }
        Ok(outgoing)
    }

    /// A signed request to `url` with the file's headers and nothing else.
    pub(crate) fn to(system: &System, method: &Method, mut url: Url) -> Result<Self, CallError> {
        let what = format!("`{method} {}`", url.path());
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        match &system.signature {
            Some(Signature::Header(name, value)) => {
                headers.insert(name.clone(), value.clone());
            }
            Some(Signature::Query(name, secret)) => {
                url.query_pairs_mut().append_pair(name, secret.expose());
            }
            None => {}
        }
        let mut outgoing = Self { what, method: method.clone(), url, headers, body: None };
        for (name, template) in &system.model.headers {
            outgoing.header(name.clone(), template, &|name| look_up(system, Given::default(), name))?;
        }
        Ok(outgoing)
    }

    fn header<'v>(
        &mut self,
        name: header::HeaderName,
        template: &Template,
        value: &dyn Fn(&str) -> Option<&'v Value>,
    ) -> Result<(), CallError> {
        let what = format!("the header `{name}`");
        let text = template.fill(value, as_it_is).map_err(|why| unfilled(&why, &what))?;
        let text = HeaderValue::from_str(&text)
            .map_err(|_| CallError::new(Kind::Limit, format!("{what} would hold what no header can")))?;
        self.headers.insert(name, text);
        Ok(())
    }
}

fn look_up<'v>(system: &'v System, given: Given<'v>, name: &str) -> Option<&'v Value> {
    if let Some(setting) = name.strip_prefix("setting.") {
        return system.settings.get(setting);
    }
    let key = match name {
        "key" => given.key,
        "to" => given.to,
        _ => None,
    };
    key.or_else(|| given.fields.and_then(|fields| fields.get(name)))
}

/// `None` where the one value that stands there is not given.
fn fill<'v>(
    body: &Body,
    value: &dyn Fn(&str) -> Option<&'v Value>,
    given: Given<'_>,
) -> Result<Option<Value>, CallError> {
    match body {
        Body::Fixed(fixed) => Ok(Some(fixed.clone())),
        Body::Text(template) => match template.only() {
            Some("fields") => Ok(given.fields.map(|fields| Value::record(fields.clone()))),
            Some(name) => Ok(value(name).cloned()),
            None => match template.fill(value, as_it_is) {
                Ok(text) => Ok(Some(Value::text(text))),
                Err(Unfilled::Missing(_)) => Ok(None),
                Err(why @ Unfilled::NotText(_)) => Err(unfilled(&why, "the body")),
            },
        },
        Body::List(items) => {
            let items = items.iter().filter_map(|item| fill(item, value, given).transpose());
            items.collect::<Result<Vec<_>, _>>().map(|items| Some(Value::list(items)))
        }
        Body::Record(fields) => {
            let mut record = Record::new();
            for (name, body) in fields {
                if let Some(value) = fill(body, value, given)? {
                    record.set(name.clone(), value);
                }
            }
            Ok(Some(Value::record(record)))
        }
    }
}

fn unfilled(why: &Unfilled, place: &str) -> CallError {
    let (name, what) = match why {
        Unfilled::Missing(name) => (name, "is not given"),
        Unfilled::NotText(name) => (name, "is neither text, number, boolean nor date"),
    };
    CallError {
        field: Some(name.clone()),
        ..CallError::new(Kind::Limit, format!("{place} needs `{name}`, which {what}"))
    }
}

/// A value as a query parameter takes it.
pub(crate) fn parameter(name: &str, value: &Value) -> Result<String, CallError> {
    scalar(value).ok_or_else(|| unfilled(&Unfilled::NotText(name.to_owned()), "a query parameter"))
}
