//! A source goes on from any of its cursors, and a dropped `next` has lost nothing.

use std::{
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use lf_module::{Batch, Cursor, Event, Key, Listen, Source, TypeShape, Write, call::Origin};

use super::{Kind, Trial, unfit, within};

/// Longer than any answer of a prepared system takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// More batches than a baseline has.
const BATCHES: usize = 10_000;
/// How many waits of one `next` are tried as the place to drop it.
const WAITS: usize = 8;
/// More looks than a change needs to be seen.
const LOOKS: usize = 200;

/// A whole first listing: the keys of each batch, with the cursor after it.
type Baseline = Vec<(BTreeSet<Key>, Option<Cursor>)>;

pub(super) async fn check(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape) {
    if shape.listenable.is_none() {
        return;
    }
    let name = &shape.name;
    let (baseline, source) = match baseline(trial, kind, shape, None).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            trial.report.untried(format!("the first listing of `{name}`"), "the source pushes and lists nothing");
            return;
        }
        Err(how) => return trial.report.promise(format!("the first listing of `{name}` ends"), Err(how)),
    };
    trial.report.promise(format!("the first listing of `{name}` ends"), Ok(()));
    let whole: BTreeSet<Key> = baseline.iter().flat_map(|(keys, _)| keys.clone()).collect();
    if let Some(records) = kind.records {
        let kept = if whole.len() == records { Ok(()) } else { Err(format!("{} of {records} came", whole.len())) };
        trial.report.promise(format!("the first listing of `{name}` is complete"), kept);
    }
    let kept = resume(trial, kind, shape, &baseline, &whole).await;
    trial.report.promise(format!("a first listing of `{name}` goes on where it was"), kept);
    let kept = dropped(trial, kind, shape, &whole).await;
    trial.report.promise(format!("a dropped wait for `{name}` loses nothing"), kept);
    change(trial, kind, shape, source).await;
}

fn open(trial: &Trial<'_>, kind: &Kind, shape: &TypeShape, from: Option<Cursor>) -> Result<Box<dyn Source>, String> {
    let every = Duration::from_secs(30);
    let listen = Listen { ty: shape.name.clone(), pins: kind.pins.clone(), every, from };
    trial.connection.listen(listen).map_err(|error| error.message)
}

/// Listens up to the end of the first listing. `None` if nothing comes at all.
async fn baseline(
    trial: &Trial<'_>,
    kind: &Kind,
    shape: &TypeShape,
    from: Option<Cursor>,
) -> Result<Option<(Baseline, Box<dyn Source>)>, String> {
    let mut source = open(trial, kind, shape, from)?;
    let mut found = Vec::new();
    while found.len() < BATCHES {
        let Some(batch) = within(PATIENCE, source.next()).await else {
            return if found.is_empty() { Ok(None) } else { Err("it stops in the middle".to_owned()) };
        };
        let batch = batch.map_err(|error| error.message)?;
        let ended = ends(&batch);
        found.push((listed(shape, &batch)?, batch.cursor));
        if ended {
            return Ok(Some((found, source)));
        }
    }
    Err("it has no end".to_owned())
}

fn ends(batch: &Batch) -> bool {
    batch.events.iter().any(|event| matches!(event, Event::ListingEnded { .. }))
}

fn listed(shape: &TypeShape, batch: &Batch) -> Result<BTreeSet<Key>, String> {
    let mut keys = BTreeSet::new();
    if batch.cursor.as_ref().is_some_and(|cursor| cursor.0.len() > 64 << 10) {
        return Err("a cursor is larger than 64 KiB".to_owned());
    }
    for event in &batch.events {
        match event {
            Event::Listed(landed) => {
                if let Some(how) = unfit(shape, landed) {
                    return Err(how);
                }
                keys.extend(landed.key.clone());
            }
            Event::Changed(changed) => {
                keys.insert(changed.key.clone());
            }
            Event::ListingEnded { complete: _ } => {}
        }
    }
    Ok(keys)
}

/// From the cursor of the first, a middle and the last but one batch.
async fn resume(
    trial: &Trial<'_>,
    kind: &Kind,
    shape: &TypeShape,
    baseline_before: &Baseline,
    whole: &BTreeSet<Key>,
) -> Result<(), String> {
    let last = baseline_before.len().saturating_sub(1);
    let stops: BTreeSet<usize> =
        [0, last / 2, last.saturating_sub(1)].into_iter().filter(|stop| *stop < last).collect();
    for stop in stops {
        let before: BTreeSet<Key> = baseline_before.iter().take(stop + 1).flat_map(|(keys, _)| keys.clone()).collect();
        let Some((_, Some(cursor))) = baseline_before.get(stop) else { continue };
        let Some((rest, _)) = baseline(trial, kind, shape, Some(cursor.clone())).await? else {
            return Err(format!("nothing comes from the cursor of batch {}", stop + 1));
        };
        let after: BTreeSet<Key> = rest.iter().flat_map(|(keys, _)| keys.clone()).collect();
        if let Some(lost) = whole.iter().find(|key| !before.contains(*key) && !after.contains(*key)) {
            return Err(format!("`{lost}` is lost from the cursor of batch {}", stop + 1));
        }
        if let Some(invented) = after.iter().find(|key| !whole.contains(*key)) {
            return Err(format!("`{invented}` is invented from the cursor of batch {}", stop + 1));
        }
        if rest.len() > last - stop {
            return Err(format!("from the cursor of batch {} it starts again from nothing", stop + 1));
        }
    }
    Ok(())
}

/// Drops `next` where it waits the first time, the second time and so on, on one source. Counted in waits, not in time:
/// the same on a busy machine.
async fn dropped(trial: &Trial<'_>, kind: &Kind, shape: &TypeShape, whole: &BTreeSet<Key>) -> Result<(), String> {
    let mut source = open(trial, kind, shape, None)?;
    let mut found = BTreeSet::new();
    for waits in 0..BATCHES {
        let dropped = within(PATIENCE, up_to(waits % WAITS, source.next())).await.ok_or("it hangs")?;
        let batch = match dropped {
            Some(batch) => batch,
            // Every other one is let through, so that it gets on.
            None => within(PATIENCE, source.next()).await.ok_or("it hangs after a dropped wait")?,
        };
        let batch = batch.map_err(|error| error.message)?;
        found.extend(listed(shape, &batch)?);
        if ends(&batch) {
            let lost = whole.iter().find(|key| !found.contains(*key));
            return lost.map_or(Ok(()), |lost| Err(format!("`{lost}` is lost")));
        }
    }
    Err("it has no end".to_owned())
}

/// The future's answer, or `None` where it waits for the `waits + 1`st time: there it is dropped.
async fn up_to<F: Future>(waits: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = waits;
    poll_fn(move |context| match future.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// A record that is created while the source is open is seen, and seen by a source that is opened anew.
async fn change(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape, mut source: Box<dyn Source>) {
    let name = &shape.name;
    let Some(fields) = kind.create.clone().filter(|_| shape.writable) else {
        trial.report.untried(format!("a change of `{name}`"), "no record to create is given");
        return;
    };
    trial.show(&source);
    let create = Write::Create { ty: name.clone(), origin: Origin::Root, fields };
    let written = trial.connection.write(&create, &trial.fresh_call("conformance-listen")).await;
    let key = match written {
        Ok(written) => written.key,
        Err(error) => return trial.report.promise(format!("a `{name}` is created"), Err(error.message)),
    };
    let Some(key) = key else { return };
    let kept = seen(shape, &mut source, &key).await;
    trial.report.promise(format!("a new `{name}` is seen by who listens"), kept);
    if shape.deletable {
        let delete = Write::Delete { ty: name.clone(), key };
        let deleted = trial.connection.write(&delete, &trial.fresh_call("conformance-unlisten")).await;
        trial.show(&deleted);
    }
}

async fn seen(shape: &TypeShape, source: &mut Box<dyn Source>, key: &Key) -> Result<(), String> {
    for _ in 0..LOOKS {
        let batch = within(PATIENCE, source.next()).await.ok_or("nothing comes")?.map_err(|error| error.message)?;
        if listed(shape, &batch)?.contains(key) {
            return Ok(());
        }
    }
    Err("it never comes".to_owned())
}
