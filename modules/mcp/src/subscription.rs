//! Listening to resources: a session that is kept, a stream that is reopened, subscriptions that are renewed,
//! and what was missed between, in both generations of the protocol.
//!
//! It reports what happens and hands over what it read; what is told to whom is the consumer's. From below:
//! [`backoff`] and [`verdict`] (the tables), [`link`] (one request), [`live`] (one stream), [`legacy`] and
//! [`modern`] (one generation each), [`resource`] (what is read for a push, and after a gap).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lf_module::{Clock, Value};
use smol_str::SmolStr;
use tokio::sync::{mpsc, watch};

use crate::{
    attempt::{Hears, Wire},
    era::{Era, Told},
    subscription::{
        backoff::{Backoff, Wait},
        link::{Link, Trouble},
        resource::Resources,
        verdict::Then,
    },
};

pub(crate) mod backoff;
mod legacy;
pub(crate) mod link;
mod live;
mod modern;
mod resource;
pub(crate) use resource::content;
pub(crate) mod seen;
pub(crate) mod verdict;

/// How often it is said that all is well.
const STILL: Duration = Duration::from_secs(120);

/// What a consumer sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Each resource is looked at first, and after every gap that cannot be replayed.
    pub(crate) looks: bool,
    /// The first look matters: one that fails is reported.
    pub(crate) first: bool,
    /// Updates of what lies below a resource count as its own.
    pub(crate) parts: bool,
    /// The generation, if it is not to be asked for.
    pub(crate) era: Option<Era>,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// A session is open.
    Connected,
    /// The stream is open.
    Opened { reopened: bool },
    /// Updates of this resource will come.
    Subscribed(SmolStr),
    /// The stream is closed. `held`: it was of use; another was only opened.
    Closed { reason: Reason, held: bool },
    /// All is well.
    Still,
    /// Something went wrong, and will be tried again.
    Error(String),
}

/// Why a stream was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Ended,
    Dropped,
    Idle,
    LostSession,
}

/// A resource was read.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) uri: SmolStr,
    pub(crate) why: Why,
    /// What it holds.
    pub(crate) contents: Result<Value, Trouble>,
}

/// Why a resource was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The server pushed so many updates of it; `gap`: and it may have changed in a gap before.
    Pushed { count: u64, gap: bool },
    /// To know what is there. It is no news.
    First,
    /// It changed in a gap.
    Gap,
    /// It did not.
    Same,
}

/// Where reports go. They are dropped where nobody takes them: news matter more.
#[derive(Debug, Clone)]
pub(crate) struct Reports(pub(crate) mpsc::Sender<Report>);

impl Reports {
    pub(crate) fn say(&self, report: Report) {
        if let Err(error) = self.0.try_send(report) {
            tracing::debug!("{}: a report is dropped: {error}", crate::NAME);
        }
    }
}

/// How the present course goes.
#[derive(Debug, Default)]
struct Course {
    backoff: Backoff,
    era: Option<Era>,
    /// The era was taken, but nothing proved it.
    guessed: bool,
    /// How many new sessions in a row were refused their stream.
    refused: u32,
    /// What the stream asked the next wait to be.
    retry: Option<Duration>,
}

/// A listener to resources of one server.
#[derive(Debug)]
pub(crate) struct Subscription {
    link: Arc<Link>,
    resources: Arc<Resources>,
    options: Options,
    reports: Reports,
    changes: mpsc::Sender<Seen>,
    /// The consumer waits for its own reader.
    blocked: Arc<AtomicBool>,
    /// The subscriptions stand.
    watching: watch::Sender<bool>,
}

impl Subscription {
    pub(crate) fn new(
        wire: Wire,
        uris: &[SmolStr],
        options: Options,
        reports: mpsc::Sender<Report>,
        changes: mpsc::Sender<Seen>,
        blocked: Arc<AtomicBool>,
        also: Option<Arc<dyn Hears>>,
    ) -> Self {
        let resources = Arc::new(Resources::new(uris, options, also));
        let wire = Wire { hears: Some(resources.clone()), ..wire };
        let (watching, _) = watch::channel(false);
        Self {
            link: Arc::new(Link::new(wire)),
            resources,
            options,
            reports: Reports(reports),
            changes,
            blocked,
            watching,
        }
    }

    /// What was there when `uri` was last looked at, by an earlier listener.
    pub(crate) fn known(&self, uri: &SmolStr, hash: u64) {
        self.resources.known(uri, hash);
    }

    /// All resources are looked at.
    pub(crate) fn look(&self) {
        self.resources.look();
    }

    /// Listens, for ever.
    pub(crate) async fn run(&self) {
        tokio::join!(
            self.course(),
            self.resources.follow(&self.link, &self.changes, &self.reports),
            still(self.link.clock(), self.watching.subscribe(), &self.reports),
        );
    }

    /// Says good-bye to the server. Nothing may be running any more.
    pub(crate) async fn leave(&self) {
        self.link.leave().await;
    }

    async fn course(&self) {
        let mut course = Course { era: self.options.era, ..Course::default() };
        loop {
            let wait = match self.era(&mut course).await {
                Ok(Era::Legacy) => self.legacy(&mut course).await,
                Ok(Era::Modern) => self.modern(&mut course).await,
                Err(trouble) => self.failed(&trouble),
            };
            self.wait(&mut course, wait).await;
        }
    }

    /// The server's generation: what was chosen or found before, or what it says now.
    async fn era(&self, course: &mut Course) -> Result<Era, Trouble> {
        if let Some(era) = course.era {
            return Ok(era);
        }
        let (told, trouble) = self.link.probe().await;
        let era = match told {
            Told::Modern { subscribe } => {
                if !subscribe {
                    self.cannot_subscribe();
                }
                Era::Modern
            }
            Told::Legacy | Told::Perhaps => Era::Legacy,
            Told::Nothing => return Err(trouble),
        };
        course.guessed = told == Told::Perhaps;
        course.era = Some(era);
        Ok(era)
    }

    /// What was found does not hold any more.
    fn doubt(&self, course: &mut Course) {
        course.era = self.options.era;
    }

    fn cannot_subscribe(&self) {
        let message = "the server does not say that resources can be subscribed to (`capabilities.resources.subscribe`); \
                       trying all the same";
        self.reports.say(Report::Error(message.to_owned()));
    }

    fn failed(&self, trouble: &Trouble) -> Wait {
        self.reports.say(Report::Error(trouble.message.clone()));
        match trouble.then {
            Then::Wait(wait) => wait,
            Then::Lost | Then::Busy => Wait::Failed(None),
        }
    }

    async fn wait(&self, course: &mut Course, wait: Wait) {
        let length = course.backoff.next(wait, course.retry.take(), self.link.unit());
        if !length.is_zero() {
            self.link.clock().sleep(length).await;
        }
    }

    fn blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }
}

/// Says so at intervals while the subscriptions stand.
async fn still(clock: &dyn Clock, mut watching: watch::Receiver<bool>, reports: &Reports) {
    while watching.wait_for(|watching| *watching).await.is_ok() {
        loop {
            tokio::select! {
                biased;
                _ = watching.wait_for(|watching| !*watching) => break,
                () = clock.sleep(STILL) => reports.say(Report::Still),
            }
        }
    }
}
