//! Where a listing stands, and where its next page is.

use http::{HeaderMap, header};
use lf_module::{CallError, Cursor, Kind, Landed, Record, Value};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    exchange::{Safety, send},
    model::{List, Paging, Type},
    record::land,
    request::{Given, Outgoing},
    system::{Signature, System},
    template::scalar,
};

/// The longest cursor or link that is kept.
const LONGEST: usize = 32 << 10;

/// The next page of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// `None` is the first page.
    at: Option<Next>,
    /// Pages and records before it.
    pub(crate) pages: u64,
    records: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Next {
    Cursor(String),
    Number(u64),
    Link(String),
}

/// A page: the records, each also as it was in the answer, and the place of the next.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) records: Vec<(Landed, Value)>,
    pub(crate) next: Option<Place>,
}

/// What is listed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing<'a> {
    pub(crate) ty: &'a Type,
    pub(crate) list: &'a List,
    pub(crate) given: Given<'a>,
    pub(crate) extra: &'a [(String, String)],
}

impl Place {
    pub(crate) fn cursor(&self) -> Result<Cursor, CallError> {
        serde_json::to_string(self).map(Cursor).map_err(|_| CallError::new(Kind::Limit, "a page cannot be remembered"))
    }

    pub(crate) fn of(cursor: Option<&Cursor>) -> Result<Self, CallError> {
        let Some(Cursor(text)) = cursor else { return Ok(Self::default()) };
        serde_json::from_str(text)
            .map_err(|_| CallError::new(Kind::Limit, "the page's cursor is not one of this module"))
    }
}

impl Listing<'_> {
    /// The page at `place`.
    pub(crate) async fn page(
        &self,
        system: &System,
        place: &Place,
        deadline: std::time::Duration,
    ) -> Result<Got, CallError> {
        let limits = system.model.limits;
        if place.pages >= limits.pages {
            let why = format!(
                "the list of `{}` has more than {} pages, the limit of one listing",
                self.ty.name, limits.pages
            );
            return Err(CallError::new(Kind::Limit, why));
        }
        let outgoing = self.outgoing(system, place)?;
        let answer = send(system, &outgoing, Safety::Read, deadline).await?;
        let headers = answer.headers.clone();
        let body = answer.json(&outgoing.what)?;
        let at = &self.list.records;
        let Some(Value::List(items)) = at.of(&body) else {
            let at = if at.tokens().is_empty() { "the answer".to_owned() } else { format!("`{at}`") };
            let why = format!("{}: {at} is not a list of records", outgoing.what);
            return Err(CallError::new(Kind::Drift, why));
        };
        let seen = place.records.saturating_add(u64::try_from(items.len()).unwrap_or(u64::MAX));
        if seen > limits.records {
            let why = format!(
                "the list of `{}` has more than {} records, the limit of one listing",
                self.ty.name, limits.records
            );
            return Err(CallError::new(Kind::Limit, why));
        }
        let mut records = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let landed = land(&system.id, self.ty, item, &at.join(&index.to_string()));
            let landed = landed.map_err(|unfit| unfit.drift(&outgoing.what, self.ty))?;
            records.push((landed, item.clone()));
        }
        let next = self.next(system, &outgoing, place, &headers, &body, items.len())?;
        if next.is_some() && next == place.at {
            let why = format!("{}: the next page is the page itself", outgoing.what);
            return Err(CallError::new(Kind::Drift, why));
        }
        let next = next.map(|at| Place { at: Some(at), pages: place.pages + 1, records: seen });
        Ok(Got { records, next })
    }

    fn outgoing(&self, system: &System, place: &Place) -> Result<Outgoing, CallError> {
        let request = &self.list.request;
        if let (Paging::Link, Some(Next::Link(link))) = (&self.list.paging, &place.at) {
            let url = Url::parse(link).ok().filter(|url| url.origin() == system.base.origin());
            let url = url.ok_or_else(|| CallError::new(Kind::Drift, "the next page is at another host"))?;
            let mut outgoing = Outgoing::build(system, request, self.given, &[])?;
            outgoing.url = Outgoing::to(system, &request.method, url)?.url;
            return Ok(outgoing);
        }
        let mut extra = self.extra.to_vec();
        match (&self.list.paging, &place.at) {
            (Paging::Cursor { parameter, .. }, Some(Next::Cursor(cursor))) => {
                extra.push((parameter.clone(), cursor.clone()));
            }
            (Paging::Number { parameter, first, step: _, size, of }, at) => {
                let number = if let Some(Next::Number(number)) = at { *number } else { *first };
                extra.push((parameter.clone(), number.to_string()));
                if let (Some(size), Some(of)) = (size, of) {
                    extra.push((size.clone(), of.to_string()));
                }
            }
            (Paging::Cursor { .. } | Paging::Single | Paging::Link, _) => {}
        }
        Outgoing::build(system, request, self.given, &extra)
    }

    fn next(
        &self,
        system: &System,
        outgoing: &Outgoing,
        place: &Place,
        headers: &HeaderMap,
        body: &Value,
        count: usize,
    ) -> Result<Option<Next>, CallError> {
        let next = match &self.list.paging {
            Paging::Single => None,
            Paging::Cursor { parameter: _, next, more } => {
                let ended = more.as_ref().is_some_and(|more| matches!(more.of(body), Some(Value::Bool(false))));
                let cursor = next.of(body).and_then(scalar).filter(|cursor| !cursor.is_empty() && cursor != "false");
                cursor.filter(|_| !ended).map(Next::Cursor)
            }
            Paging::Number { parameter: _, first, step, size: _, of } => {
                let at = if let Some(Next::Number(number)) = place.at { number } else { *first };
                let short = of.is_some_and(|of| u64::try_from(count).unwrap_or(u64::MAX) < of);
                (count > 0 && !short).then(|| Next::Number(at.saturating_add(*step)))
            }
            Paging::Link => match next_link(headers) {
                None => None,
                Some(link) => {
                    let url = outgoing.url.join(&link).ok().filter(|url| url.origin() == system.base.origin());
                    let Some(url) = url else {
                        let why = format!("{}: the link to the next page leads to another host", outgoing.what);
                        return Err(CallError::new(Kind::Drift, why));
                    };
                    Some(Next::Link(without_signature(system, url).into()))
                }
            },
        };
        let length = match &next {
            Some(Next::Cursor(text) | Next::Link(text)) => text.len(),
            Some(Next::Number(_)) | None => 0,
        };
        if length > LONGEST {
            let why = format!("{}: the cursor of the next page is longer than {LONGEST} bytes", outgoing.what);
            return Err(CallError::new(Kind::Limit, why));
        }
        Ok(next)
    }
}

/// Systems repeat the whole query in their links; a secret in it must not be kept.
fn without_signature(system: &System, mut url: Url) -> Url {
    if let Some(Signature::Query(name, _)) = &system.signature {
        let rest: Vec<(String, String)> =
            url.query_pairs().into_owned().filter(|(parameter, _)| parameter != name).collect();
        url.set_query(None);
        if !rest.is_empty() {
            url.query_pairs_mut().extend_pairs(rest);
        }
    }
    url
}

/// A list is asked for only with every pin that it needs.
pub(crate) fn pinned(ty: &Type, pins: &Record) -> Result<(), CallError> {
    for pin in ty.shape.pins.iter().filter(|pin| pin.required) {
        if pins.get(&pin.field).is_none_or(Value::is_absent) {
            let why = format!("a list of `{}` needs `{}`", ty.name, pin.field);
            return Err(CallError { field: Some(pin.field.to_string()), ..CallError::new(Kind::Limit, why) });
        }
    }
    Ok(())
}

/// The target of `rel="next"` in the `Link` headers (RFC 8288).
fn next_link(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::LINK).iter().filter_map(|value| value.to_str().ok());
    for mut rest in values {
        while let Some((_, open)) = rest.split_once('<') {
            let Some((target, after)) = open.split_once('>') else { break };
            // Parameters end at the next link; a comma inside quotes would only cut this one short.
            let (parameters, following) = after.split_once(",").map_or((after, ""), |(one, _)| (one, after));
            let is_next = parameters.split(';').any(|parameter| {
                let Some((name, value)) = parameter.split_once('=') else { return false };
                let mut words = value.trim().trim_matches('"').split_ascii_whitespace();
                name.trim().eq_ignore_ascii_case("rel") && words.any(|word| word.eq_ignore_ascii_case("next"))
            });
            if is_next {
                return Some(target.to_owned());
            }
            rest = following;
        }
    }
    None
}
