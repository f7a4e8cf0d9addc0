//! Creates, updates, deletes and links. Once a write was answered well nothing in the answer can be an error: what does
//! not fit is a warning.

use lf_module::{
    Call, CallError, Connection as _, Key, Kind, Landed, Record, Repeat, Tie, Value, Write, Written, call::Origin,
};

use crate::{
    connection::{Rest, gone, key_value, undeclared},
    exchange::{Answer, Safety, send},
    files::sendable,
    model::{Create, Lands, One, Type, Walk},
    paging::Listing,
    pointer::Pointer,
    record::{glean, key_of},
    request::{Given, Outgoing},
    template::scalar,
};

impl Rest {
    /// The request that creates, and the key of the record under which it does.
    pub(crate) fn creation<'t>(
        &'t self,
        ty: &'t Type,
        origin: &Origin,
    ) -> Result<(&'t Create, Option<Value>), CallError> {
        match origin {
            Origin::Root => Ok((ty.create.as_ref().ok_or_else(|| undeclared(ty, "created", "create"))?, None)),
            Origin::Record { ty: from, key, edge } => {
                let (from, walk) = self.edge(from, edge)?;
                let create = walk.create.as_ref().filter(|_| walk.target == ty.name);
                let create = create.ok_or_else(|| undeclared(ty, &format!("created by `{edge}`"), "create"))?;
                Ok((create, Some(key_value(from, key))))
            }
        }
    }

    pub(crate) async fn create(
        &self,
        ty: &Type,
        origin: &Origin,
        fields: &Record,
        call: &Call,
    ) -> Result<Written, CallError> {
        let (Create { one, idempotency }, under) = self.creation(ty, origin)?;
        writable(ty, fields, false)?;
        let fields = &sendable(fields)?;
        let given = Given { key: under.as_ref(), fields: Some(fields), writes: true, ..Given::default() };
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
        let mut written = told(&self.system.id, ty, one, &outgoing.what, answer);
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

    pub(crate) async fn update(
        &self,
        ty: &Type,
        key: &Key,
        fields: &Record,
        call: &Call,
    ) -> Result<Written, CallError> {
        let update = ty.update.as_ref().ok_or_else(|| undeclared(ty, "updated", "update"))?;
        writable(ty, fields, true)?;
        let fields = &sendable(fields)?;
        let value = key_value(ty, key);
        let whole = match (&ty.get, update.whole) {
            (Some(get), true) => Some(self.whole(ty, get, &value, fields, call).await?),
            (Some(_) | None, _) => None,
        };
        let given = Given { key: Some(&value), fields: Some(whole.as_ref().unwrap_or(fields)), writes: true, to: None };
        let outgoing = Outgoing::build(&self.system, &update.one.request, given, &[])?;
        let write = Write::Update { ty: ty.name.clone(), key: key.clone(), fields: Record::new() };
        let answer = send(&self.system, &outgoing, self.safety(&write), call.deadline).await?;
        let mut written = told(&self.system.id, ty, &update.one, &outgoing.what, answer);
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

    pub(crate) async fn delete(&self, ty: &Type, key: &Key, call: &Call) -> Result<Written, CallError> {
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

    /// Joins two records, or takes them apart. A `POST` says nothing about what a second one does, so the edge is
    /// looked at first; two that stand as they should are left alone.
    pub(crate) async fn tie(&self, tie: &Tie, join: bool, call: &Call) -> Result<Written, CallError> {
        let (from, walk) = self.edge(&tie.ty, &tie.edge)?;
        let target = self.system.ty(&walk.target)?;
        let Some((link, unlink)) = &walk.link else {
            let why = format!("`{}` of `{}` cannot be linked: the module declares no `link`", walk.name, from.name);
            return Err(CallError::new(Kind::Limit, why));
        };
        let request = if join { link } else { unlink };
        let (key, to) = (key_value(from, &tie.key), key_value(target, &tie.to));
        if request.method == http::Method::POST && self.tied(target, walk, &key, &tie.to, call).await? == join {
            return Ok(Written::default());
        }
        let given = Given { key: Some(&key), to: Some(&to), ..Given::default() };
        let outgoing = Outgoing::build(&self.system, request, given, &[])?;
        let write = if join { Write::Link(tie.clone()) } else { Write::Unlink(tie.clone()) };
        let safety = if request.method == http::Method::POST { Safety::Once } else { self.safety(&write) };
        match send(&self.system, &outgoing, safety, call.deadline).await {
            Ok(_) => Ok(Written::default()),
            Err(error) if !join && gone(&error) => Ok(Written::default()),
            Err(error) => Err(error),
        }
    }

    /// Whether the edge leads from the one record to the other.
    async fn tied(&self, target: &Type, walk: &Walk, key: &Value, to: &Key, call: &Call) -> Result<bool, CallError> {
        let same = |landed: &Landed| landed.key.as_ref() == Some(to);
        match &walk.lands {
            Lands::OnMany(list) => {
                let given = Given { key: Some(key), ..Given::default() };
                let listing = Listing { ty: target, list, given, extra: &[] };
                Ok(!self.scan(listing, call.deadline, same, true).await?.is_empty())
            }
            Lands::OnOne { one, optional: _ } => {
                let found = self.fetch(target, one, key, call.deadline).await?;
                Ok(found.is_some_and(|(landed, _)| same(&landed)))
            }
        }
    }

    fn safety(&self, write: &Write) -> Safety {
        match self.repeat(write) {
            Repeat::Harmless => Safety::Repeatable,
            Repeat::ByKey | Repeat::Never => Safety::Once,
        }
    }
}

/// What the answer to a write tells. The write has happened, so nothing in it can be an error.
fn told(connection: &str, ty: &Type, one: &One, what: &str, answer: Answer) -> Written {
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
    let (fields, unfit) = glean(connection, ty, record, &one.record);
    if let Some(unfit) = unfit {
        written.warnings.push(unfit.drift(what, ty).message);
    }
    written.key = ty.key.as_ref().and_then(|name| fields.get(name)).and_then(key_of);
    written.version = ty.version.as_ref().and_then(|at: &Pointer| scalar(at.of(record)?)).map(Into::into);
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
