//! Pages end, records are as described, absent means absent, and a find is exact.

use std::collections::BTreeSet;

use lf_module::{
    Description, Key, Landed, Read, Record, TypeShape,
    call::Origin,
    schema::{Count, Edge},
};

use super::{Kind, Trial, other, unfit};

/// More pages than any prepared system has.
const PAGES: usize = 10_000;

pub(super) async fn check(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape, description: &Description) {
    let name = &shape.name;
    if shape.readable {
        match all(trial, kind, shape).await {
            Ok(records) => {
                trial.report.promise(format!("a read of `{name}` ends and gives what is there"), Ok(()));
                if shape.key.is_some() {
                    exact(trial, shape, &records).await;
                    edges(trial, description, shape, &records).await;
                }
            }
            Err(how) => trial.report.promise(format!("a read of `{name}` ends and gives what is there"), Err(how)),
        }
    }
    match &kind.missing {
        Some(key) => {
            let got = trial.connection.get(name, key, &trial.call()).await;
            trial.show(&got);
            let kept = match got {
                Ok(None) => Ok(()),
                Ok(Some(_)) => Err("there is one".to_owned()),
                Err(error) => Err(error.message),
            };
            trial.report.promise(format!("a `{name}` that is not there is absent"), kept);
        }
        None => trial.report.untried(format!("an absent `{name}`"), "no missing key is given"),
    }
}

/// Reads all that the root gives.
async fn all(trial: &Trial<'_>, kind: &Kind, shape: &TypeShape) -> Result<Vec<Landed>, String> {
    let read = Read { ty: shape.name.clone(), origin: Origin::Root, pins: kind.pins.clone(), page: None };
    let records = pages(trial, read, shape).await?;
    match kind.records {
        Some(wanted) if wanted != records.len() => Err(format!("{} records, there are {wanted}", records.len())),
        Some(_) | None => Ok(records),
    }
}

/// Walks every edge from the first record.
async fn edges(trial: &mut Trial<'_>, description: &Description, shape: &TypeShape, records: &[Landed]) {
    let Some(key) = records.first().and_then(|landed| landed.key.clone()) else { return };
    for edge in &shape.edges {
        let kept = walk(trial, description, shape, edge, key.clone()).await;
        trial.report.promise(format!("`{}` of a `{}` lands on what it promises", edge.name, shape.name), kept);
    }
}

async fn walk(
    trial: &Trial<'_>,
    description: &Description,
    shape: &TypeShape,
    edge: &Edge,
    key: Key,
) -> Result<(), String> {
    let target = description.get(&edge.target).ok_or("its target is not described")?;
    let origin = Origin::Record { ty: shape.name.clone(), key, edge: edge.name.clone() };
    let read = Read { ty: target.name.clone(), origin, pins: Record::new(), page: None };
    let count = pages(trial, read, target).await?.len();
    match edge.count {
        Count::One if count != 1 => Err(format!("it landed on {count} records")),
        Count::Optional if count > 1 => Err(format!("it landed on {count} records")),
        Count::One | Count::Optional | Count::Many => Ok(()),
    }
}

/// Reads all pages; the first ones twice.
async fn pages(trial: &Trial<'_>, mut read: Read, shape: &TypeShape) -> Result<Vec<Landed>, String> {
    let mut records = Vec::new();
    for count in 0.. {
        let page = trial.connection.read(&read, &trial.call()).await.map_err(|error| error.message)?;
        if count < 3 {
            let again = trial.connection.read(&read, &trial.call()).await.map_err(|error| error.message)?;
            if again.records != page.records {
                return Err("a page asked for twice is two pages".to_owned());
            }
        }
        records.extend(page.records);
        if page.next.is_none() {
            break;
        }
        if page.next == read.page || count == PAGES {
            return Err("it has no last page".to_owned());
        }
        read.page = page.next;
    }
    for landed in &records {
        if let Some(how) = unfit(shape, landed) {
            return Err(how);
        }
    }
    let keys: BTreeSet<_> = records.iter().filter_map(|landed| landed.key.clone()).collect();
    if shape.key.is_some() && keys.len() != records.len() {
        return Err("a key stands twice".to_owned());
    }
    Ok(records)
}

async fn exact(trial: &mut Trial<'_>, shape: &TypeShape, records: &[Landed]) {
    let name = &shape.name;
    let Some(Landed { key: Some(key), version: _, fields }) = records.first() else {
        trial.report.untried(format!("get and find of `{name}`"), "there is no record");
        return;
    };
    let got = trial.connection.get(name, key, &trial.call()).await;
    let kept = match got {
        Ok(Some(landed)) if landed.key.as_ref() == Some(key) => unfit(shape, &landed).map_or(Ok(()), Err),
        Ok(Some(_)) => Err("another record came".to_owned()),
        Ok(None) => Err("it is listed, but not there".to_owned()),
        Err(error) => Err(error.message),
    };
    trial.report.promise(format!("a listed `{name}` can be got by its key"), kept);
    for set in &shape.find_by {
        let by: Record = set.iter().filter_map(|field| Some((field.clone(), fields.get(field)?.clone()))).collect();
        if by.len() != set.len() {
            trial.report.untried(format!("find `{name}` by {set:?}"), "the first record lacks one of them");
            continue;
        }
        let what = format!("`{name}` is found by {set:?}, exactly");
        let kept = found(trial, shape, records, &by).await;
        trial.report.promise(what, kept);
    }
}

async fn found(trial: &Trial<'_>, shape: &TypeShape, records: &[Landed], by: &Record) -> Result<(), String> {
    let same = |landed: &&Landed| by.iter().all(|(name, value)| landed.fields.get(name) == Some(value));
    let wanted: BTreeSet<_> = records.iter().filter(same).map(|landed| landed.key.clone()).collect();
    let found = trial.connection.find(&shape.name, by, &trial.call()).await.map_err(|error| error.message)?;
    let keys: BTreeSet<_> = found.iter().map(|landed| landed.key.clone()).collect();
    if keys != wanted || keys.len() != found.len() {
        return Err(format!("found were {} records, there are {}", found.len(), wanted.len()));
    }
    let changed = by.iter().find_map(|(name, value)| Some((name.clone(), other(value)?)));
    let Some((name, value)) = changed else { return Ok(()) };
    let mut none = by.clone();
    none.set(name, value);
    let found = trial.connection.find(&shape.name, &none, &trial.call()).await.map_err(|error| error.message)?;
    if found.is_empty() { Ok(()) } else { Err("something is found by a value that no record has".to_owned()) }
}
