//! A declared system as a connection: each of the contract's calls to the declared requests.
//!
//! What is not declared is refused here by name and nothing is sent.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use lf_module::{
    Call, CallError, Connection, Cursor, Description, FieldType, Key, Kind, Landed, Listen, Number, Page, Read, Record,
    Repeat, Source, Value, Write, Written, call::Origin,
};
use smol_str::SmolStr;

use crate::{
    exchange::{Answer, Safety, send},
    model::{Create, Lands, List, One, Type, Walk},
    paging::{Listing, Place},
    pointer::Pointer,
    record::{glean, key_of, land},
    request::{Given, Outgoing, parameter},
    source::Polling,
    system::System,
};

/// A connection to a declared system.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) system: Arc<System>,
    /// The module's file.
    pub(crate) text: Arc<str>,
}

#[async_trait]
impl Connection for Rest {
    async fn describe(&self, _call: &Call) -> Result<Description, CallError> {
        let types = self.system.model.types.iter().map(|ty| ty.shape.clone()).collect();
        let facts = vec![
            ("protocol".to_owned(), "REST over HTTP".to_owned()),
            ("host".to_owned(), self.system.base.host_str().unwrap_or_default().to_owned()),
        ];
        Ok(Description { types, warnings: Vec::new(), facts })
    }

    /// The file is all that is said: the system is never asked what it is.
    async fn raw(&self, _call: &Call) -> Result<String, CallError> {
        Ok(self.text.to_string())
    }

    async fn read(&self, read: &Read, call: &Call) -> Result<Page, CallError> {
        let ty = self.system.ty(&read.ty)?;
        let place = Place::of(read.page.as_ref())?;
        match &read.origin {
            Origin::Root => {
                let list = ty.list.as_ref().ok_or_else(|| undeclared(ty, "listed", "list"))?;
                let given = Given { fields: Some(&read.pins), ..Given::default() };
                pinned(ty, &read.pins)?;
                self.page(ty, list, given, &place, call).await
            }
            Origin::Record { ty: from, key, edge } => {
                let from = self.system.ty(from)?;
                let walk = from.edges.iter().find(|walk| walk.name == *edge);
                let walk = walk.filter(|walk| walk.target == read.ty).ok_or_else(|| {
                    let why = format!("`{}` has no edge `{edge}` to `{}`", from.name, read.ty);
                    CallError::new(Kind::Drift, why)
                })?;
                self.walk(from, ty, walk, key, &place, call).await
            }
        }
    }

    async fn get(&self, ty: &SmolStr, key: &Key, call: &Call) -> Result<Option<Landed>, CallError> {
        let ty = self.system.ty(ty)?;
        if let Some(get) = &ty.get {
            let value = key_value(ty, key);
            return self.fetch(ty, get, &value, call.deadline).await.map(|got| got.map(|(landed, _)| landed));
        }
        // Without a request for one record, the list is looked through.
        let list = ty.list.as_ref().ok_or_else(|| undeclared(ty, "got one by one", "get"))?;
        if !ty.shape.pins.is_empty() {
            return Err(undeclared(ty, "got one by one", "get"));
        }
        let listing = Listing { ty, list, given: Given::default(), extra: &[] };
        let same = |landed: &Landed| landed.key.as_ref() == Some(key);
        Ok(self.scan(listing, call.deadline, same, true).await?.into_iter().next())
    }

    async fn find(&self, ty: &SmolStr, by: &Record, call: &Call) -> Result<Vec<Landed>, CallError> {
        let ty = self.system.ty(ty)?;
        if by.is_empty() || by.iter().any(|(_, value)| value.is_absent()) {
            return Ok(Vec::new());
        }
        let same = |landed: &Landed| by.iter().all(|(name, value)| landed.fields.get(name) == Some(value));
        if let (Some(get), Some(name), 1) = (&ty.get, &ty.key, by.len())
            && let Some(key) = by.get(name).and_then(key_of)
        {
            let found = self.fetch(ty, get, &key_value(ty, &key), call.deadline).await?;
            return Ok(found.map(|(landed, _)| landed).filter(same).into_iter().collect());
        }
        let set =
            ty.find_by.iter().find(|set| set.len() == by.len() && set.iter().all(|(name, _)| by.get(name).is_some()));
        let (Some(set), Some(list)) = (set, &ty.list) else {
            let names: Vec<String> = by.iter().map(|(name, _)| format!("`{name}`")).collect();
            let why = format!(
                "`{}` cannot be found by {}: the module declares no such `find_by`",
                ty.name,
                names.join(" and ")
            );
            return Err(CallError::new(Kind::Limit, why));
        };
        let mut extra = Vec::new();
        for (name, query) in set {
            let value = by.get(name).unwrap_or(&Value::Absent);
            extra.push((query.clone(), parameter(name, value)?));
        }
        let listing = Listing { ty, list, given: Given { fields: Some(by), ..Given::default() }, extra: &extra };
        self.scan(listing, call.deadline, same, false).await
    }

    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError> {
        let ty = self.system.ty(write.ty())?;
        match write {
            Write::Create { ty: _, fields } => self.create(ty, fields, call).await,
            Write::Update { ty: _, key, fields } => self.update(ty, key, fields, call).await,
            Write::Delete { ty: _, key } => self.delete(ty, key, call).await,
        }
    }

    fn repeat(&self, write: &Write) -> Repeat {
        let Some(ty) = self.system.model.get(write.ty()) else { return Repeat::Never };
        // A `POST` says nothing about what a second one does.
        let post = |request: &crate::model::Request| request.method == http::Method::POST;
        match write {
            Write::Create { .. } => ty.shape.create_repeat,
            Write::Update { .. } => match &ty.update {
                Some(update) if !post(&update.one.request) => Repeat::Harmless,
                Some(_) | None => Repeat::Never,
            },
            Write::Delete { .. } => match &ty.delete {
                Some(request) if !post(request) => Repeat::Harmless,
                Some(_) | None => Repeat::Never,
            },
        }
    }

    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
        Ok(Box::new(Polling::open(self.system.clone(), listen)?))
    }
}

impl Rest {
    async fn page(
        &self,
        ty: &Type,
        list: &List,
        given: Given<'_>,
        place: &Place,
        call: &Call,
    ) -> Result<Page, CallError> {
        let got = Listing { ty, list, given, extra: &[] }.page(&self.system, place, call.deadline).await?;
        let next = got.next.as_ref().map(Place::cursor).transpose()?;
        Ok(Page { records: got.records.into_iter().map(|(landed, _)| landed).collect(), next })
    }

    async fn walk(
        &self,
        from: &Type,
        target: &Type,
        walk: &Walk,
        key: &Key,
        place: &Place,
        call: &Call,
    ) -> Result<Page, CallError> {
        let key = key_value(from, key);
        match &walk.lands {
            Lands::OnMany(list) => {
                let given = Given { key: Some(&key), ..Given::default() };
                self.page(target, list, given, place, call).await
            }
            Lands::OnOne { one, optional } => {
                let found = self.fetch(target, one, &key, call.deadline).await?;
                if found.is_none() && !optional {
                    let why =
                        format!("the edge `{}` of `{}` lands on one record, but there is none", walk.name, from.name);
                    return Err(CallError::new(Kind::Drift, why));
                }
                Ok(Page { records: found.into_iter().map(|(landed, _)| landed).collect(), next: None::<Cursor> })
            }
        }
    }

    /// One record, and as it was in the answer. `None` if the system says that it is not there.
    async fn fetch(
        &self,
        ty: &Type,
        one: &One,
        key: &Value,
        deadline: Duration,
    ) -> Result<Option<(Landed, Value)>, CallError> {
        let given = Given { key: Some(key), ..Given::default() };
        let outgoing = Outgoing::build(&self.system, &one.request, given, &[])?;
        let answer = match send(&self.system, &outgoing, Safety::Read, deadline).await {
            Ok(answer) => answer.json(&outgoing.what)?,
            Err(error) if gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(record) = one.record.of(&answer).filter(|record| !record.is_absent()) else { return Ok(None) };
        let landed = land(ty, record, &one.record).map_err(|unfit| unfit.drift(&outgoing.what, ty))?;
        Ok(Some((landed, record.clone())))
    }

    /// The records of a listing that `same` accepts, one page at a time.
    async fn scan(
        &self,
        listing: Listing<'_>,
        deadline: Duration,
        same: impl Fn(&Landed) -> bool + Send,
        first_only: bool,
    ) -> Result<Vec<Landed>, CallError> {
        let mut found = BTreeMap::new();
        let mut place = Some(Place::default());
        while let Some(at) = place {
            let got = listing.page(&self.system, &at, deadline).await?;
            for landed in got.records.into_iter().map(|(landed, _)| landed).filter(&same) {
                // A record that moved between two pages is seen twice, and is one.
                found.insert((landed.key.clone(), if landed.key.is_some() { 0 } else { found.len() }), landed);
            }
            place = got.next.filter(|_| !first_only || found.is_empty());
        }
        Ok(found.into_values().collect())
    }

    async fn create(&self, ty: &Type, fields: &Record, call: &Call) -> Result<Written, CallError> {
        let Create { one, idempotency } = ty.create.as_ref().ok_or_else(|| undeclared(ty, "created", "create"))?;
        writable(ty, fields, false)?;
        let given = Given { fields: Some(fields), writes: true, ..Given::default() };
        let mut outgoing = Outgoing::build(&self.system, &one.request, given, &[])?;
        let mut safety = Safety::Once;
        if let (Some(header), Some(key)) = (idempotency, &call.idempotency) {
            let value = http::HeaderValue::from_str(key)
                .map_err(|_| CallError::new(Kind::Limit, "the idempotency key cannot stand in a header"))?;
            outgoing.headers.insert(header.clone(), value);
            safety = Safety::Repeatable;
        }
        let answer = send(&self.system, &outgoing, safety, call.deadline).await?;
        let location = location_key(&answer);
        let mut written = told(ty, one, &outgoing.what, answer);
        written.created = true;
        if let Some(name) = &ty.key {
            let from_fields = || fields.get(name).and_then(key_of);
            written.key = written.key.or_else(from_fields).or(location);
            if written.key.is_none() {
                let why = format!("{}: the answer does not tell the new record's `{name}`", outgoing.what);
                written.warnings.push(why);
            }
        }
        Ok(written)
    }

    async fn update(&self, ty: &Type, key: &Key, fields: &Record, call: &Call) -> Result<Written, CallError> {
        let update = ty.update.as_ref().ok_or_else(|| undeclared(ty, "updated", "update"))?;
        writable(ty, fields, true)?;
        let value = key_value(ty, key);
        let whole = match (&ty.get, update.whole) {
            (Some(get), true) => Some(self.whole(ty, get, &value, fields, call).await?),
            (Some(_) | None, _) => None,
        };
        let given = Given { key: Some(&value), fields: Some(whole.as_ref().unwrap_or(fields)), writes: true };
        let outgoing = Outgoing::build(&self.system, &update.one.request, given, &[])?;
        let write = Write::Update { ty: ty.name.clone(), key: key.clone(), fields: Record::new() };
        let answer = send(&self.system, &outgoing, self.safety(&write), call.deadline).await?;
        let mut written = told(ty, &update.one, &outgoing.what, answer);
        written.key = Some(key.clone());
        Ok(written)
    }

    /// The record as it is, with the changes in it and without what no write may set.
    async fn whole(
        &self,
        ty: &Type,
        get: &One,
        key: &Value,
        changes: &Record,
        call: &Call,
    ) -> Result<Record, CallError> {
        let found = self.fetch(ty, get, key, call.deadline).await?;
        let Some((_, Value::Record(record))) = found else {
            let error = CallError::refused(format!("there is no such `{}` to update", ty.name));
            return Err(CallError { status: Some(404), ..error });
        };
        let read_only = |name: &str| ty.schema.property(name).is_some_and(|property| property.read_only);
        let mut whole: Record = record
            .iter()
            .filter(|(name, _)| !read_only(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in changes.iter() {
            whole.set(name.clone(), value.clone());
        }
        Ok(whole)
    }

    async fn delete(&self, ty: &Type, key: &Key, call: &Call) -> Result<Written, CallError> {
        let request = ty.delete.as_ref().ok_or_else(|| undeclared(ty, "deleted", "delete"))?;
        let value = key_value(ty, key);
        let given = Given { key: Some(&value), ..Given::default() };
        let outgoing = Outgoing::build(&self.system, request, given, &[])?;
        let write = Write::Delete { ty: ty.name.clone(), key: key.clone() };
        match send(&self.system, &outgoing, self.safety(&write), call.deadline).await {
            Ok(_) => {}
            Err(error) if gone(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(Written { key: Some(key.clone()), ..Written::default() })
    }

    fn safety(&self, write: &Write) -> Safety {
        match self.repeat(write) {
            Repeat::Harmless => Safety::Repeatable,
            Repeat::ByKey | Repeat::Never => Safety::Once,
        }
    }
}

/// What the answer to a write tells. The write has happened, so nothing in it can be an error.
fn told(ty: &Type, one: &One, what: &str, answer: Answer) -> Written {
    let mut written = Written::default();
    let body = match answer.body {
        Ok(body) => body,
        Err(why) => {
            written.warnings.push(format!("{what} answered with {why}"));
            return written;
        }
    };
    if body.is_absent() {
        return written;
    }
    let Some(record) = one.record.of(&body).filter(|record| !record.is_absent()) else {
        written.warnings.push(format!("{what}: there is nothing at `{}` of the answer", one.record));
        return written;
    };
    let (fields, unfit) = glean(ty, record, &one.record);
    if let Some(unfit) = unfit {
        written.warnings.push(unfit.drift(what, ty).message);
    }
    written.key = ty.key.as_ref().and_then(|name| fields.get(name)).and_then(key_of);
    written.version =
        ty.version.as_ref().and_then(|at: &Pointer| crate::template::scalar(at.of(record)?)).map(Into::into);
    written.fields = fields;
    written
}

/// The last segment of `Location`, where a create answers no record.
fn location_key(answer: &Answer) -> Option<Key> {
    let location = answer.headers.get(http::header::LOCATION)?.to_str().ok()?;
    let path = location.split(['?', '#']).next()?.trim_end_matches('/');
    let last = path.rsplit('/').next().filter(|last| !last.is_empty())?;
    let decoded =
        url::form_urlencoded::parse(format!("k={}", last.replace('+', "%2B")).as_bytes()).next()?.1.into_owned();
    Some(Key(decoded.into()))
}

fn key_value(ty: &Type, key: &Key) -> Value {
    let property = ty.key.as_ref().and_then(|name| ty.schema.property(name));
    let number = property.filter(|property| property.ty == FieldType::Number).and_then(|_| Number::parse(&key.0));
    number.map_or_else(|| Value::Text(key.0.clone()), Value::Number)
}

fn gone(error: &CallError) -> bool {
    matches!(error.status, Some(404 | 410))
}

fn undeclared(ty: &Type, what: &str, request: &str) -> CallError {
    CallError::new(Kind::Limit, format!("`{}` cannot be {what}: the module declares no `{request}`", ty.name))
}

/// Every required pin is given.
pub(crate) fn pinned(ty: &Type, pins: &Record) -> Result<(), CallError> {
    for pin in ty.shape.pins.iter().filter(|pin| pin.required) {
        if pins.get(&pin.field).is_none_or(Value::is_absent) {
            let why = format!("a list of `{}` needs `{}`", ty.name, pin.field);
            return Err(CallError { field: Some(pin.field.to_string()), ..CallError::new(Kind::Limit, why) });
        }
    }
    Ok(())
}

/// Every field may be written, and emptied where it is.
fn writable(ty: &Type, fields: &Record, update: bool) -> Result<(), CallError> {
    for (name, value) in fields.iter() {
        let field = ty.shape.field(name);
        let why = match field {
            None => format!("`{}` has no field `{name}`", ty.name),
            Some(field) if !field.writable => format!("the field `{name}` of `{}` cannot be written", ty.name),
            Some(field) if value.is_absent() && !(update && field.clearable) => {
                format!("the field `{name}` of `{}` cannot be emptied", ty.name)
            }
            Some(_) => continue,
        };
        return Err(CallError { field: Some(name.to_string()), ..CallError::new(Kind::Limit, why) });
    }
    Ok(())
}
