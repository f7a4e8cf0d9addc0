//! Two records that are linked are joined once, however often that is asked; taken apart they are not joined.

use lf_module::{Key, Read, Record, Tie, TypeShape, Write, call::Origin, schema::Edge};

use super::{Kind, Trial};

pub(super) async fn check(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape) {
    for edge in shape.edges.iter().filter(|edge| edge.linkable) {
        let what = format!("`{}` of a `{}`", edge.name, shape.name);
        match pair(trial, kind, shape, edge).await {
            Ok(Some((key, to))) => {
                let tie = Tie { ty: shape.name.clone(), key, edge: edge.name.clone(), to };
                let kept = both_ways(trial, edge, &tie).await;
                trial.report.promise(format!("{what} is linked and unlinked, and twice is once"), kept);
            }
            Ok(None) => trial.report.untried(format!("a link by {what}"), "there is no record to link"),
            Err(how) => trial.report.promise(format!("{what} can be read to be linked"), Err(how)),
        }
    }
}

/// The first record, and one that its edge does not lead to.
async fn pair(trial: &Trial<'_>, kind: &Kind, shape: &TypeShape, edge: &Edge) -> Result<Option<(Key, Key)>, String> {
    let first = Read { ty: shape.name.clone(), origin: Origin::Root, pins: kind.pins.clone(), page: None };
    let Some(key) = keys(trial, first).await?.into_iter().next() else { return Ok(None) };
    let there = keys(trial, along(shape, edge, &key)).await?;
    let all = Read { ty: edge.target.clone(), origin: Origin::Root, pins: Record::new(), page: None };
    let other = keys(trial, all).await?.into_iter().find(|other| !there.contains(other));
    Ok(other.map(|other| (key, other)))
}

async fn both_ways(trial: &mut Trial<'_>, edge: &Edge, tie: &Tie) -> Result<(), String> {
    let walk = Read {
        ty: edge.target.clone(),
        origin: Origin::Record { ty: tie.ty.clone(), key: tie.key.clone(), edge: tie.edge.clone() },
        pins: Record::new(),
        page: None,
    };
    let steps = [
        (Write::Link(tie.clone()), 1, "linked"),
        (Write::Link(tie.clone()), 1, "linked again"),
        (Write::Unlink(tie.clone()), 0, "unlinked"),
        (Write::Unlink(tie.clone()), 0, "unlinked again"),
    ];
    for (number, (write, wanted, done)) in steps.into_iter().enumerate() {
        let answer = trial.connection.write(&write, &trial.fresh_call(&format!("conformance-tie-{number}"))).await;
        trial.show(&answer);
        answer.map_err(|error| format!("{done}: {}", error.message))?;
        let found = keys(trial, walk.clone()).await?.into_iter().filter(|key| *key == tie.to).count();
        if found != wanted {
            return Err(format!("{done}, it is there {found} times"));
        }
    }
    Ok(())
}

fn along(shape: &TypeShape, edge: &Edge, key: &Key) -> Read {
    let origin = Origin::Record { ty: shape.name.clone(), key: key.clone(), edge: edge.name.clone() };
    Read { ty: edge.target.clone(), origin, pins: Record::new(), page: None }
}

/// The keys of the first pages, a thousand at most.
async fn keys(trial: &Trial<'_>, mut read: Read) -> Result<Vec<Key>, String> {
    let mut keys = Vec::new();
    while keys.len() < 1000 {
        let page = trial.connection.read(&read, &trial.call()).await.map_err(|error| error.message)?;
        keys.extend(page.records.into_iter().filter_map(|landed| landed.key));
        if page.next.is_none() {
            break;
        }
        read.page = page.next;
    }
    Ok(keys)
}
