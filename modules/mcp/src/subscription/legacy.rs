//! The generation with sessions: one session, its stream, which is reopened as long as the session lives,
//! and a subscription for each resource, made once the stream is open.

use std::{sync::Arc, time::Duration};

use smol_str::SmolStr;

use crate::{
    era,
    message::Incoming,
    subscription::{
        Course, Reason, Report, Subscription,
        backoff::Wait,
        link::{Inside, Link, Place, Trouble},
        live::{End, Takes},
        resource::Resources,
        verdict::Then,
    },
};

/// A stream on which nothing came for so long, not even a comment, is dead.
const IDLE: Duration = Duration::from_secs(60);
/// How often in a row the server may say that the stream is open already.
const BUSY: u32 = 5;
/// How many new sessions are tried before it is said that there is no stream.
const SESSIONS: u32 = 2;

impl Subscription {
    /// One session, to its end. How long to wait before the next.
    pub(super) async fn legacy(&self, course: &mut Course) -> Wait {
        let inside = match self.link.open().await {
            Ok(inside) => inside,
            Err(trouble) => {
                // A server that has changed its generation, or never had this one.
                let refused = matches!(trouble.status, Some(400 | 404..=428)) || trouble.code.is_some();
                if course.guessed || refused {
                    self.doubt(course);
                }
                return self.failed(&trouble);
            }
        };
        course.guessed = false;
        self.link.enter(Place::Legacy(inside.clone()));
        self.resources.only(None);
        self.resources.forget_ids();
        self.reports.say(Report::Connected);
        if !era::subscribes(inside.session.raw.field("capabilities")) {
            self.cannot_subscribe();
        }
        let wait = self.session(course, &inside).await;
        self.watching.send_replace(false);
        self.link.leave().await;
        wait
    }

    async fn session(&self, course: &mut Course, inside: &Arc<Inside>) -> Wait {
        let mut stream = Messages::new(&self.link, inside, &self.resources);
        let (mut subscribed, mut proved, mut opened, mut busy) = (false, false, false, 0);
        loop {
            stream.resumed = stream.last.is_some();
            let events = tokio::select! {
                biased;
                () = inside.lost.notified() => return self.lost(proved),
                events = self.link.stream(inside, stream.last.as_deref()) => events,
            };
            let events = match events {
                Ok(events) => events,
                Err(trouble) => {
                    busy = if trouble.then == Then::Busy { busy + 1 } else { 0 };
                    if trouble.then == Then::Lost || busy == BUSY {
                        return self.refused(course, &trouble, opened, proved);
                    }
                    self.watching.send_replace(false);
                    let wait = self.failed(&trouble);
                    self.wait(course, wait).await;
                    continue;
                }
            };
            self.reports.say(Report::Opened { reopened: opened });
            (busy, course.refused) = (0, 0);
            if subscribed {
                self.watching.send_replace(true);
                if !stream.resumed {
                    self.resources.look();
                }
            }
            opened = true;
            let side = Box::pin(async {
                if !subscribed {
                    if let Err(trouble) = self.subscribe(inside).await {
                        return if trouble.then == Then::Lost { End::Lost } else { End::Failed(trouble) };
                    }
                    subscribed = true;
                    self.watching.send_replace(true);
                    self.resources.look();
                }
                inside.lost.notified().await;
                End::Lost
            });
            let lived = self.live(course, events, IDLE, &mut stream, side).await;
            proved |= lived.good;
            self.reports.say(lived.report());
            match &lived.end {
                End::Lost => return self.lost(proved),
                End::Failed(trouble) => return self.failed(trouble),
                End::Ended | End::Dropped | End::Idle => self.wait(course, lived.wait()).await,
            }
        }
    }

    async fn subscribe(&self, inside: &Arc<Inside>) -> Result<(), Trouble> {
        for uri in self.resources.uris() {
            self.link.subscribe(inside, uri).await.map_err(|trouble| about(uri, &trouble))?;
            self.reports.say(Report::Subscribed(uri.clone()));
        }
        Ok(())
    }

    fn lost(&self, proved: bool) -> Wait {
        self.reports.say(Report::Error("the server does not know the session any more".to_owned()));
        // One that is lost as soon as it is made must not be made in a row.
        if proved { Wait::None } else { Wait::Failed(None) }
    }

    /// The stream is refused: the session is lost, or there is no stream at all.
    fn refused(&self, course: &mut Course, trouble: &Trouble, opened: bool, proved: bool) -> Wait {
        if opened {
            self.reports.say(Report::Error(trouble.message.clone()));
            return self.lost(proved);
        }
        course.refused += 1;
        if course.refused >= SESSIONS && trouble.status == Some(405) {
            self.reports.say(Report::Error(format!("no stream offered: {}", trouble.message)));
            self.doubt(course);
            return Wait::Cap;
        }
        self.failed(trouble)
    }
}

fn about(uri: &SmolStr, trouble: &Trouble) -> Trouble {
    Trouble { message: format!("`{uri}` cannot be subscribed to: {}", trouble.message), ..*trouble }
}

/// What is made of the messages on a session's stream.
struct Messages<'a> {
    link: &'a Arc<Link>,
    inside: &'a Arc<Inside>,
    resources: &'a Resources,
    /// The last event id.
    last: Option<String>,
    /// The stream was taken up where it broke, so it may bring what it brought before.
    resumed: bool,
}

impl<'a> Messages<'a> {
    fn new(link: &'a Arc<Link>, inside: &'a Arc<Inside>, resources: &'a Resources) -> Self {
        Self { link, inside, resources, last: None, resumed: false }
    }
}

impl Takes for Messages<'_> {
    fn id(&mut self, id: &str) -> bool {
        // An empty one resets it.
        self.last = Some(id.to_owned()).filter(|id| !id.is_empty());
        !id.is_empty() && !self.resources.note(id) && self.resumed
    }

    fn works(&self, message: &Incoming) -> bool {
        matches!(message, Incoming::Notification { .. } | Incoming::Request { .. })
    }

    fn message(&mut self, message: &Incoming, double: bool) -> Option<End> {
        match message {
            Incoming::Notification { method, params } if !double => self.resources.heard(method, params),
            // Were it none, but a server that counts anew, looking shows it.
            Incoming::Notification { method, params } => self.resources.heard_again(method, params),
            Incoming::Request { id, method, params: _ } if !double => self.link.reply(self.inside, id, method),
            // Answers to others come here only where a server replays too much.
            Incoming::Request { .. } | Incoming::Response { .. } | Incoming::Nonsense => {}
        }
        None
    }
}

impl Reason {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Dropped => "dropped",
            Self::Idle => "idle",
            Self::LostSession => "lost_session",
        }
    }
}
