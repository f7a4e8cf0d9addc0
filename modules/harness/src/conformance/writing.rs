//! What is written can be read; what is deleted is gone, and may be deleted again.

use lf_module::{Key, TypeShape, Write, call::Origin};

use super::{Kind, Trial, holds};

pub(super) async fn check(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape) {
    let name = &shape.name;
    let Some(fields) = kind.create.clone().filter(|_| shape.writable) else {
        if shape.writable {
            trial.report.untried(format!("a new `{name}`"), "no record to create is given");
        }
        return;
    };
    let create = Write::Create { ty: name.clone(), origin: Origin::Root, fields: fields.clone() };
    let written = trial.connection.write(&create, &trial.fresh_call("conformance-create")).await;
    trial.show(&written);
    let written = match written {
        Ok(written) => written,
        Err(error) => return trial.report.promise(format!("a `{name}` is created"), Err(error.message)),
    };
    let kept = match (written.created, &shape.key, &written.key) {
        (false, _, _) => Err("it is not said to be new".to_owned()),
        (true, Some(_), None) => Err("its key is not told".to_owned()),
        (true, _, _) => Ok(()),
    };
    trial.report.promise(format!("a `{name}` is created"), kept);
    let Some(key) = written.key else { return };
    let kept = match trial.connection.get(name, &key, &trial.call()).await {
        Ok(Some(landed)) => holds(&landed.fields, &fields),
        Ok(None) => Err("it is not there".to_owned()),
        Err(error) => Err(error.message),
    };
    trial.report.promise(format!("a created `{name}` holds what was written"), kept);
    update(trial, kind, shape, &key).await;
    delete(trial, shape, &key).await;
}

async fn update(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape, key: &Key) {
    let name = &shape.name;
    let Some(fields) = kind.update.clone().filter(|_| shape.updatable) else {
        if shape.updatable {
            trial.report.untried(format!("an update of `{name}`"), "no fields to update are given");
        }
        return;
    };
    let update = Write::Update { ty: name.clone(), key: key.clone(), fields: fields.clone() };
    let written = trial.connection.write(&update, &trial.fresh_call("conformance-update")).await;
    trial.show(&written);
    let kept = match written {
        Ok(written) if written.created => Err("an update is said to be new".to_owned()),
        Ok(_) => match trial.connection.get(name, key, &trial.call()).await {
            Ok(Some(landed)) => holds(&landed.fields, &fields),
            Ok(None) => Err("it is gone".to_owned()),
            Err(error) => Err(error.message),
        },
        Err(error) => Err(error.message),
    };
    trial.report.promise(format!("an updated `{name}` holds what was written"), kept);
}

async fn delete(trial: &mut Trial<'_>, shape: &TypeShape, key: &Key) {
    if !shape.deletable {
        return;
    }
    let name = &shape.name;
    let delete = Write::Delete { ty: name.clone(), key: key.clone() };
    let deleted = trial.connection.write(&delete, &trial.fresh_call("conformance-delete")).await;
    trial.show(&deleted);
    let kept = match deleted {
        Ok(_) => match trial.connection.get(name, key, &trial.call()).await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err("it is still there".to_owned()),
            Err(error) => Err(error.message),
        },
        Err(error) => Err(error.message),
    };
    trial.report.promise(format!("a deleted `{name}` is gone"), kept);
    let again = trial.connection.write(&delete, &trial.fresh_call("conformance-delete-again")).await;
    trial.show(&again);
    let kept = again.map(drop).map_err(|error| error.message);
    trial.report.promise(format!("deleting a `{name}` that is gone is no error"), kept);
}
