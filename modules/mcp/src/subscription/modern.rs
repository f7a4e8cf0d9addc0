//! The generation without sessions: one request that never ends, whose first message says what of it is
//! honoured, and which is made again when it breaks. Nothing is replayed, so everything is looked at then.

use std::{collections::BTreeSet, time::Duration};

use smol_str::SmolStr;
use tokio::sync::watch;

use crate::{
    message::{self, Incoming},
    subscription::{
        Course, Report, Reports, Subscription,
        backoff::Wait,
        link::{Place, Trouble},
        live::{End, Takes},
        resource::Resources,
    },
};

/// Comments that keep a stream alive are usual here, but no rule.
const IDLE: Duration = Duration::from_secs(120);
const ACKNOWLEDGEMENT: &str = "notifications/subscriptions/acknowledged";
/// How long the server may take to say what it honours.
const ACKNOWLEDGED: Duration = Duration::from_secs(30);

impl Subscription {
    /// Subscriptions, one after the other, until the server does not know them. How long to wait then.
    pub(super) async fn modern(&self, course: &mut Course) -> Wait {
        self.link.enter(Place::Modern);
        self.reports.say(Report::Connected);
        let quoted: Vec<_> = self.resources.uris().map(|uri| message::quoted(uri)).collect();
        let uris = format!("[{}]", quoted.join(","));
        let mut honoured = BTreeSet::new();
        let mut reopened = false;
        loop {
            let id = self.link.id();
            // Messages of the one before do not count any more.
            self.resources.only(Some(id));
            let events = match self.link.listen(id, &uris, self.resources.hears_lists()).await {
                Ok(events) => events,
                Err(trouble) => {
                    self.watching.send_replace(false);
                    let wait = self.failed(&trouble);
                    if unknown(&trouble) {
                        self.doubt(course);
                        return wait;
                    }
                    self.wait(course, wait).await;
                    continue;
                }
            };
            self.reports.say(Report::Opened { reopened });
            reopened = true;
            let (acknowledged, mut acknowledging) = watch::channel(false);
            let (reports, resources) = (&self.reports, &*self.resources);
            let mut messages = Messages { id, resources, reports, honoured: &mut honoured, acknowledged };
            let side = async {
                let clock = self.link.clock();
                let coming = acknowledging.wait_for(|acknowledged| *acknowledged);
                if super::link::within(clock, ACKNOWLEDGED, coming).await.is_none() {
                    let message = "`subscriptions/listen`: the server does not say what it honours";
                    return End::Failed(Trouble::new(message));
                }
                self.watching.send_replace(true);
                self.resources.look();
                std::future::pending().await
            };
            let lived = self.live(course, events, IDLE, &mut messages, side).await;
            self.reports.say(lived.report());
            let wait = match &lived.end {
                End::Failed(trouble) => {
                    self.watching.send_replace(false);
                    self.failed(trouble)
                }
                End::Ended | End::Dropped | End::Idle | End::Lost => lived.wait(),
            };
            self.wait(course, wait).await;
        }
    }
}

/// Whether the server is not what it was taken for.
fn unknown(trouble: &Trouble) -> bool {
    match trouble.code {
        Some(code) => matches!(code, -32601 | -32022 | -32000),
        None => matches!(trouble.status, Some(400 | 404 | 405 | 406)),
    }
}

/// What is made of the messages on a subscription's stream.
struct Messages<'a> {
    id: u64,
    resources: &'a Resources,
    reports: &'a Reports,
    /// The resources whose updates come, by the last word.
    honoured: &'a mut BTreeSet<SmolStr>,
    acknowledged: watch::Sender<bool>,
}

impl Takes for Messages<'_> {
    fn id(&mut self, _: &str) -> bool {
        false
    }

    fn works(&self, message: &Incoming) -> bool {
        let Incoming::Notification { method, params: _ } = message else { return false };
        method != ACKNOWLEDGEMENT && method != "notifications/cancelled"
    }

    fn message(&mut self, message: &Incoming, _: bool) -> Option<End> {
        match message {
            Incoming::Notification { method, params } => match method.as_str() {
                ACKNOWLEDGEMENT if self.resources.ours(params) => {
                    let granted = params.field("notifications").and_then(|all| all.field("resourceSubscriptions"));
                    return self.acknowledged(message::texts(granted));
                }
                "notifications/cancelled" => {
                    let of = params.field("requestId").map(lf_module::json::plain);
                    let ours = [self.id.to_string(), message::quoted(&self.id.to_string())];
                    return of.is_some_and(|of| ours.contains(&of)).then_some(End::Ended);
                }
                _ => self.resources.heard(method, params),
            },
            Incoming::Response { id: Some(id), outcome } if *id == self.id => {
                return Some(match outcome {
                    Ok(_) => End::Ended,
                    Err(error) => End::Failed(Trouble {
                        code: Some(error.code),
                        ..Trouble::new(format!("`subscriptions/listen`: the server refused it: {}", error.message))
                    }),
                });
            }
            // Servers of this generation ask nothing.
            Incoming::Response { .. } | Incoming::Request { .. } | Incoming::Nonsense => {}
        }
        None
    }
}

impl Messages<'_> {
    fn acknowledged(&mut self, granted: Vec<String>) -> Option<End> {
        let granted: BTreeSet<SmolStr> = granted.into_iter().map(SmolStr::from).collect();
        for uri in self.resources.uris() {
            match (granted.contains(uri), self.honoured.contains(uri)) {
                (true, false) => self.reports.say(Report::Subscribed(uri.clone())),
                (false, _) => {
                    let message = format!("`{uri}` cannot be subscribed to: the server does not honour it");
                    self.reports.say(Report::Error(message));
                }
                (true, true) => {}
            }
        }
        *self.honoured = self.resources.uris().filter(|uri| granted.contains(*uri)).cloned().collect();
        if self.honoured.is_empty() {
            return Some(End::Failed(Trouble::new("`subscriptions/listen`: the server honours nothing of it")));
        }
        self.acknowledged.send_replace(true);
        None
    }
}
