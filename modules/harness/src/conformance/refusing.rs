//! A promise that is not made is refused, and a system that hangs costs no more than the deadline.

use std::time::Duration;

use lf_module::{Call, CallError, Description, Key, Listen, Read, Record, TypeShape, Write, call::Origin};
use smol_str::SmolStr;

use super::{Kind, Trial, readable, within};

/// The deadline given to a call on a hanging system, and what it may take on top.
const GIVEN: Duration = Duration::from_millis(300);
const GRACE: Duration = Duration::from_secs(5);

pub(super) async fn check(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape) {
    let (name, call) = (&shape.name, trial.call());
    let key = || kind.missing.clone().unwrap_or_else(|| Key("conformance".into()));
    let fields = kind.create.clone().unwrap_or_default();
    if !shape.readable {
        let read = Read { ty: name.clone(), origin: Origin::Root, pins: kind.pins.clone(), page: None };
        let answer = trial.connection.read(&read, &call).await;
        refused(trial, &format!("reading `{name}`"), answer.as_ref().err());
    }
    for (promised, what, write) in [
        (shape.writable, "creating", Write::Create { ty: name.clone(), origin: Origin::Root, fields: fields.clone() }),
        (shape.updatable, "updating", Write::Update { ty: name.clone(), key: key(), fields }),
        (shape.deletable, "deleting", Write::Delete { ty: name.clone(), key: key() }),
    ] {
        if !promised {
            let answer = trial.connection.write(&write, &call).await;
            refused(trial, &format!("{what} `{name}`"), answer.as_ref().err());
        }
    }
    if shape.listenable.is_none() {
        let every = Duration::from_secs(30);
        let listen = Listen { ty: name.clone(), pins: kind.pins.clone(), every, from: None };
        let answer = trial.connection.listen(listen);
        refused(trial, &format!("listening to `{name}`"), answer.as_ref().err());
    }
    if let Some(field) = shape
        .fields
        .iter()
        .find(|field| !shape.find_by.iter().any(|set| set.as_slice() == std::slice::from_ref(&field.name)))
    {
        let by = Record::from_iter([(field.name.clone(), "conformance".into())]);
        let answer = trial.connection.find(name, &by, &call).await;
        refused(trial, &format!("finding `{name}` by `{}`", field.name), answer.as_ref().err());
    }
    let unknown: SmolStr = "NoSuchType".into();
    let read = Read { ty: unknown, origin: Origin::Root, pins: Record::new(), page: None };
    let answer = trial.connection.read(&read, &call).await;
    refused(trial, "reading a type that is not there", answer.as_ref().err());
}

fn refused(trial: &mut Trial<'_>, what: &str, error: Option<&CallError>) {
    let kept = match error {
        None => Err("it was done".to_owned()),
        Some(error) if error.may_have_acted() => Err("nobody knows whether it was done".to_owned()),
        Some(_) => Ok(()),
    };
    trial.show(&error);
    trial.report.promise(format!("{what} is refused"), kept);
}

/// Every kind of call, on a system that never answers.
pub(super) async fn deadlines(trial: &mut Trial<'_>, description: &Description) {
    let Some(connect) = &trial.subject.hanging else {
        return trial.report.untried("deadlines", "no hanging system is given");
    };
    let connection = match connect(trial.world.ports()) {
        Ok(connection) => connection,
        Err(error) => return trial.report.promise("a connection is made", Err(error.message)),
    };
    let clock = trial.world.ports().clock;
    let call = || Call { deadline: clock.monotonic() + GIVEN, idempotency: None };
    if let Some(shape) = readable(description) {
        let kind = trial.subject.kinds.iter().find(|kind| kind.ty == shape.name);
        let pins = kind.map(|kind| kind.pins.clone()).unwrap_or_default();
        let read = Read { ty: shape.name.clone(), origin: Origin::Root, pins, page: None };
        let ended = within(GIVEN + GRACE, connection.read(&read, &call())).await;
        late(trial, "a read", ended.as_ref().map(|ended| ended.as_ref().err()), false);
    }
    let writes = trial.subject.kinds.iter().filter_map(|kind| {
        let fields = kind.create.clone()?;
        description.get(&kind.ty).filter(|shape| shape.writable)?;
        Some(Write::Create { ty: kind.ty.clone(), origin: Origin::Root, fields })
    });
    if let Some(write) = writes.into_iter().next() {
        let ended = within(GIVEN + GRACE, connection.write(&write, &call())).await;
        let unknown = trial.subject.writes_at_once;
        late(trial, "a write", ended.as_ref().map(|ended| ended.as_ref().err()), unknown);
    }
}

fn late(trial: &mut Trial<'_>, what: &str, ended: Option<Option<&CallError>>, unknown: bool) {
    let kept = match ended {
        None => Err("it outlasts its deadline".to_owned()),
        Some(None) => Err("it was answered by nobody".to_owned()),
        Some(Some(error)) if unknown && !error.may_have_acted() => Err("it says that nothing was done".to_owned()),
        Some(Some(_)) => Ok(()),
    };
    trial.show(&ended);
    trial.report.promise(format!("{what} on a hanging system ends by its deadline"), kept);
}
