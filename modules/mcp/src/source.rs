//! A resource that is listened to from a movement: the subscription that the pump uses, as a source of changes.
//!
//! A push is a change. After a gap that cannot be replayed, a restart of listen-fire among them, the resource is
//! looked at, and is a change only if its content is another than the one of the stored position.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use async_trait::async_trait;
use lf_module::{
    Batch, Call, CallError, Cursor, Event, Key, Listen, Record, Source, Value,
    call::{ChangeKind, Changed},
    json,
};
use smol_str::SmolStr;
use tokio::sync::{mpsc, oneshot};

use crate::{
    attempt::{Hears, Wire},
    connection::{Server, unlistenable},
    resources::ResourceType,
    subscription::{Options, Report, Seen, Subscription, Why, content, link::FAR},
};

/// How many reports wait to be told. More are dropped: the next will say the same.
const REPORTS: usize = 64;

/// How long finding the resource may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The source.
#[derive(Debug)]
pub(crate) struct Resource {
    server: Arc<Server>,
    listen: Listen,
    place: Place,
    listening: Option<Listening>,
}

/// A position: what was last seen, and how many changes came before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    hash: Option<u64>,
    changes: u64,
}

#[derive(Debug)]
struct Listening {
    ty: ResourceType,
    uri: SmolStr,
    subscription: Arc<Subscription>,
    seen: mpsc::Receiver<Seen>,
    reports: mpsc::Receiver<Report>,
    /// Dropped, it ends the listening.
    _stop: oneshot::Sender<()>,
}

impl Place {
    pub(crate) fn read(cursor: &Cursor) -> Option<Self> {
        let read = json::read(cursor.0.as_bytes()).ok()?;
        let number = |name: &str| read.field(name).and_then(Value::as_text)?.parse().ok();
        Some(Self { hash: number("hash"), changes: number("changes")? })
    }

    fn cursor(self) -> Cursor {
        let text = |number: u64| Value::text(number.to_string());
        let mut fields = Record::from_iter([("changes", text(self.changes))]);
        if let Some(hash) = self.hash {
            fields.set("hash", text(hash));
        }
        Cursor(json::plain(&Value::record(fields)))
    }
}

impl Resource {
    /// Sends nothing yet.
    pub(crate) fn new(server: Arc<Server>, listen: Listen) -> Self {
        let place = listen.from.as_ref().and_then(Place::read).unwrap_or_default();
        Self { server, listen, place, listening: None }
    }

    async fn begin(&self) -> Result<Listening, CallError> {
        let Server { client, link_local, changes, .. } = &*self.server;
        let ports = &client.wire.ports;
        let call = Call { deadline: ports.clock.monotonic() + PATIENCE, idempotency: None };
        let catalog = Box::pin(self.server.catalog(&call)).await?;
        let ty = catalog.resources.get(&self.listen.ty).ok_or_else(|| unlistenable(&self.listen.ty))?.clone();
        let uri = ty.uri(&self.listen.pins)?;

        let (to_reports, reports) = mpsc::channel(REPORTS);
        // One at a time: what is pushed meanwhile is counted where it comes in.
        let (to_changes, seen) = mpsc::channel(1);
        let options = Options { looks: true, first: true, parts: false, era: client.era() };
        let transport =
            lf_transport::Options { http1: true, link_local: *link_local, ..lf_transport::Options::default() };
        let http = lf_transport::Client::new(transport, ports.clock.clone());
        let endpoint = client.wire.endpoint.clone();
        let wire = Wire { http, endpoint, ports: ports.clone(), patience: FAR, hears: None, answers: None };
        let waiting = Arc::new(AtomicBool::new(false));
        let also: Arc<dyn Hears> = changes.clone();
        let uris = std::slice::from_ref(&uri);
        let subscription =
            Arc::new(Subscription::new(wire, uris, options, to_reports, to_changes, waiting, Some(also)));
        if let Some(hash) = self.place.hash {
            subscription.known(&uri, hash);
        }
        let (stop, stopped) = oneshot::channel();
        let run = subscription.clone();
        drop(tokio::spawn(async move {
            tokio::select! {
                _ = stopped => {}
                () = run.run() => {}
            }
            run.leave().await;
        }));
        Ok(Listening { ty, uri, subscription, seen, reports, _stop: stop })
    }

    fn take(&mut self, seen: Seen) -> Result<Batch, CallError> {
        let Some(Listening { ty, uri, subscription, .. }) = &self.listening else { return Err(ended()) };
        let contents = match seen.contents {
            Ok(contents) => contents,
            Err(trouble) => {
                // What was pushed is not forgotten: a look will show it.
                subscription.look();
                let why = trouble.message;
                return Err(CallError::passing(format!("`{uri}` was updated and could not be read: {why}")));
            }
        };
        let hash = content(&contents);
        let landed = ty.record(&self.server.id, uri, &self.listen.pins, &contents, &self.server.listed.known(uri));
        let key = landed.key.clone().unwrap_or_else(|| Key(uri.clone()));
        self.place.hash = Some(hash);
        let events = match seen.why {
            Why::First => vec![Event::Listed(landed), Event::ListingEnded { complete: false }],
            Why::Same => vec![Event::ListingEnded { complete: false }],
            Why::Pushed { count: _, gap: _ } | Why::Gap => {
                self.place.changes += 1;
                vec![Event::Changed(Changed {
                    delivery: format!("{}-{hash}", self.place.changes).into(),
                    key,
                    kind: ChangeKind::Updated,
                    record: landed.fields,
                    version: None,
                    at: None,
                    by: None,
                })]
            }
        };
        Ok(Batch { events, cursor: Some(self.place.cursor()) })
    }
}

fn ended() -> CallError {
    CallError::passing("the listening has ended")
}

#[async_trait]
impl Source for Resource {
    async fn next(&mut self) -> Result<Batch, CallError> {
        loop {
            if self.listening.is_none() {
                self.listening = Some(self.begin().await?);
            }
            let Some(listening) = &mut self.listening else { return Err(ended()) };
            tokio::select! {
                biased;
                seen = listening.seen.recv() => {
                    return match seen {
                        Some(seen) => self.take(seen),
                        None => Err(ended()),
                    };
                }
                report = listening.reports.recv() => match report {
                    Some(Report::Error(message)) => return Err(CallError::passing(message)),
                    Some(report) => tracing::debug!("{}: `{}`: {report:?}", crate::NAME, listening.uri),
                    None => return Err(ended()),
                }
            }
        }
    }
}
