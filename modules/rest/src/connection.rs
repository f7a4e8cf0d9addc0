//! A declared system as a connection: each of the contract's calls to the declared requests.
//!
//! What is not declared is refused here by name and nothing is sent.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use lf_module::{
    Call, CallError, Connection, Cursor, Description, FieldType, File, Key, Kind, Landed, Listen, Number, Page, Read,
    Record, Repeat, Source, Value, Write, Written, call::Origin,
};
use smol_str::SmolStr;

use crate::{
    exchange::{Safety, send},
    model::{Create, Lands, List, One, Type, Walk},
    paging::{Listing, Place, pinned},
    record::{key_of, land},
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
    /// All is in the file. Where it declares a `verify`, the system is asked whether it takes the credential.
    async fn describe(&self, call: &Call) -> Result<Description, CallError> {
        if let Some(verify) = &self.system.model.verify {
            let outgoing = Outgoing::build(&self.system, verify, Given::default(), &[])?;
            send(&self.system, &outgoing, Safety::Read, call.deadline).await?;
        }
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
                let (from, walk) = self.edge(from, edge)?;
                if walk.target != read.ty {
                    let why = format!("`{edge}` of `{}` leads to `{}`, not to `{}`", from.name, walk.target, read.ty);
                    return Err(CallError::new(Kind::Drift, why));
                }
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
        // Nothing and blank text identify no record.
        let blank = |value: &Value| value.is_absent() || value.as_text().is_some_and(|text| text.trim().is_empty());
        if by.is_empty() || by.iter().any(|(_, value)| blank(value)) {
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

    async fn bytes(&self, file: &File, most: usize, call: &Call) -> Result<Option<Vec<u8>>, CallError> {
        self.contents(file, most, call).await
    }

    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError> {
        let ty = self.system.ty(write.ty())?;
        match write {
            Write::Create { ty: _, origin, fields } => self.create(ty, origin, fields, call).await,
            Write::Update { ty: _, key, fields } => self.update(ty, key, fields, call).await,
            Write::Delete { ty: _, key } => self.delete(ty, key, call).await,
            Write::Link(tie) => self.tie(tie, true, call).await,
            Write::Unlink(tie) => self.tie(tie, false, call).await,
        }
    }

    fn repeat(&self, write: &Write) -> Repeat {
        let Some(ty) = self.system.model.get(write.ty()) else { return Repeat::Never };
        // A `POST` says nothing about what a second one does.
        let post = |request: &crate::model::Request| request.method == http::Method::POST;
        match write {
            Write::Create { ty: _, origin, fields: _ } => match self.creation(ty, origin) {
                Ok((Create { one: _, idempotency: Some(_) }, _)) => Repeat::ByKey,
                Ok((Create { one: _, idempotency: None }, _)) | Err(_) => Repeat::Never,
            },
            Write::Update { .. } => match &ty.update {
                Some(update) if !post(&update.one.request) => Repeat::Harmless,
                Some(_) | None => Repeat::Never,
            },
            Write::Delete { .. } => match &ty.delete {
                Some(request) if !post(request) => Repeat::Harmless,
                Some(_) | None => Repeat::Never,
            },
            // Two that are joined already are left alone.
            Write::Link(_) | Write::Unlink(_) => Repeat::Harmless,
        }
    }

    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
        Ok(Box::new(Polling::open(self.system.clone(), listen)?))
    }
}

impl Rest {
    /// A declared edge and the type that it starts at.
    pub(crate) fn edge(&self, from: &SmolStr, edge: &SmolStr) -> Result<(&Type, &Walk), CallError> {
        let from = self.system.ty(from)?;
        let walk = from.edges.iter().find(|walk| walk.name == *edge);
        let none = || CallError::new(Kind::Drift, format!("`{}` has no edge `{edge}`", from.name));
        Ok((from, walk.ok_or_else(none)?))
    }

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
    pub(crate) async fn fetch(
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
        let landed = land(&self.system.id, ty, record, &one.record).map_err(|unfit| unfit.drift(&outgoing.what, ty))?;
        Ok(Some((landed, record.clone())))
    }

    /// The records of a listing that `same` accepts, one page at a time.
    pub(crate) async fn scan(
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
}

pub(crate) fn key_value(ty: &Type, key: &Key) -> Value {
    let property = ty.key.as_ref().and_then(|name| ty.schema.property(name));
    let number = property.filter(|property| property.ty == FieldType::Number).and_then(|_| Number::parse(&key.0));
    number.map_or_else(|| Value::Text(key.0.clone()), Value::Number)
}

pub(crate) fn gone(error: &CallError) -> bool {
    matches!(error.status, Some(404 | 410))
}

pub(crate) fn undeclared(ty: &Type, what: &str, request: &str) -> CallError {
    CallError::new(Kind::Limit, format!("`{}` cannot be {what}: the module declares no `{request}`", ty.name))
}
