//! One case being played: its server, the connection to it, and the steps.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use lf_harness::{
    Fast, Received, Server, Step, Watched, World,
    authorization::{Authorization, Browser, Rules as Oauth, Shelf},
    mcp::Offer,
    watched::Habits,
};
use lf_mcp::{Mcp, oauth::App};
use lf_module::{
    Batch, Call, CallError, Clock, Connection, Credential, Description, FieldType, Kind, Listen, Module as _, Person,
    Ports, Read, Record, Secret, Target, Value, Write,
    call::{Origin, Settings},
    json as exact,
};
use serde_json::Value as Json;
use tokio::task::JoinHandle;

use super::{
    answers::{self, Rules},
    log, said,
};
use crate::stage::tools;

/// Time: skipped where only retries wait, moved by the case where a listener does.
#[derive(Clone)]
enum Time {
    Skipped(Arc<World>),
    Moved(Arc<Fast>),
}

/// What the server is.
#[derive(Clone)]
enum Serves {
    Tools(Offer),
    Resources(Watched),
    Protected(Authorization),
}

type Heard = Arc<Mutex<Vec<Result<Batch, CallError>>>>;

pub(crate) struct Player {
    time: Time,
    serves: Serves,
    rules: Arc<Rules>,
    server: Server,
    /// How long was waited before each request.
    waits: Arc<Mutex<Vec<Duration>>>,
    settings: Settings,
    shelf: Arc<Shelf>,
    app: Option<App>,
    connection: Arc<dyn Connection>,
    described: Option<Description>,
    listeners: Vec<(JoinHandle<()>, Heard)>,
    seen: usize,
}

impl Player {
    pub(crate) fn new(setup: &[(String, String)]) -> Self {
        let of = |key: &str| setup.iter().find(|(name, _)| name == key).map(|(_, value)| value.trim());
        let kind: Vec<&str> = of("server").unwrap_or("legacy").split_whitespace().collect();
        let has = |word: &str| kind.contains(&word);
        for (key, _) in setup {
            let known = ["server", "tools", "answers", "rules", "settings", "timeout", "app", "credential"];
            assert!(known.contains(&key.as_str()) || key.starts_with("answer "), "`{key}` sets nothing");
        }
        let mut offer = if has("modern") { Offer::modern(tools()) } else { Offer::of(tools()) };
        if let Some(tools) = of("tools") {
            offer.tools = answers::read(tools);
        }
        if let Some(answer) = of("answers") {
            offer.answer = answers::read(answer);
        }
        if has("sessionless") {
            offer.session = None;
        }
        if let Some(version) = kind.iter().find(|word| word.starts_with("20")) {
            offer.version = (*version).to_owned();
        }
        let serves = if has("watched") {
            let habits = if has("modern") { Habits::MODERN } else { Habits::LEGACY };
            let habits = Habits { replays: has("replays"), sessions: !has("sessionless"), ..habits };
            let habits = Habits { says_so: !has("silent"), ..habits };
            Serves::Resources(Watched::new(habits, &["board://a", "board://b"]))
        } else if has("oauth") {
            Serves::Protected(Authorization::new(offer, oauth(of("rules").unwrap_or("{}"))))
        } else {
            Serves::Tools(offer)
        };
        let time = match &serves {
            Serves::Tools(_) => Time::Skipped(World::new(0.9)),
            Serves::Protected(_) => Time::Skipped(World::in_real_time(0.0)),
            Serves::Resources(_) => Time::Moved(Fast::new(0.5)),
        };
        let rules = Arc::new(Rules::default());
        for (key, what) in setup {
            if let Some(key) = key.strip_prefix("answer ") {
                rules.last(key, what);
            }
        }
        let waits = Arc::default();
        let server = serve(&serves, &time, &rules, &waits);
        let mut settings = Settings::new();
        if let Some(text) = of("settings") {
            settings.extend(fields(text).0);
        }
        if let Some(millis) = of("timeout") {
            let length = jiff::SignedDuration::from_millis(millis.strip_suffix(" ms").unwrap().parse().unwrap());
            settings.insert("timeout".into(), Value::Duration(length));
        }
        let app = has("oauth").then(|| match of("app").unwrap_or("discover") {
            "discover" => App { discover: true, ..App::default() },
            "written" => App {
                authorize_url: Some(server.url("/authorize")),
                token_url: Some(server.url("/token")),
                client_id: Some("our app".to_owned()),
                ..App::default()
            },
            other => panic!("`{other}` is no app"),
        });
        let shelf = Shelf::new(credential(&server.url("/mcp"), app.is_some(), of("credential").unwrap_or("{}")));
        let connection = connect(&time, &settings, &shelf, app.as_ref(), None);
        Self {
            time,
            serves,
            rules,
            server,
            waits,
            settings,
            shelf,
            app,
            connection,
            described: None,
            listeners: Vec::new(),
            seen: 0,
        }
    }

    /// Does a step: what came of it, and what the server received meanwhile.
    pub(crate) async fn act(&mut self, step: &str) -> Vec<String> {
        let told = if let Time::Skipped(world) = &self.time { world.reports().len() } else { 0 };
        let mut lines = self.step(step).await;
        if let Time::Skipped(world) = &self.time {
            lines.extend(said::holds(world, told));
        }
        lines.extend(self.heard());
        let base = self.server.url("");
        let lines = lines.into_iter().map(|line| line.replace(&base, "BASE"));
        let mut lines: Vec<String> = lines.flat_map(|line| one_line(&line)).collect();
        let received = self.server.received();
        let waits = self.waits.lock().unwrap();
        let new = received[self.seen..].iter().map(|request| log::line(request, waits[request.number], &base));
        lines.extend(if step.starts_with("twenty") { log::counted(new) } else { new.collect() });
        self.seen = received.len();
        lines
    }

    async fn step(&mut self, step: &str) -> Vec<String> {
        let (word, rest) = step.split_once(char::is_whitespace).map_or((step, ""), |(word, rest)| (word, rest.trim()));
        match word {
            "describe" => {
                let described = self.connection.describe(&self.call()).await;
                self.described = described.as_ref().ok().cloned();
                said::result(described, |described| said::description(&described))
            }
            "read" => said::result(self.read(rest).await, |page| said::page(&page)),
            "write" => said::result(self.write(rest).await, |written| said::written(&written)),
            // The same call many times at once, from as many processes as are there.
            "twenty" => {
                let mut processes = vec![self.connection.clone()];
                if self.app.is_some() {
                    processes.push(self.process(None));
                }
                let (ty, given) = rest.split_once(' ').unwrap();
                let calls = (0..20).map(|number| {
                    let write = Write::Create { ty: ty.into(), origin: Origin::Root, fields: fields(given) };
                    let (connection, call) = (processes[number % processes.len()].clone(), self.call());
                    async move { connection.write(&write, &call).await }
                });
                let done = futures::future::join_all(calls).await;
                done.into_iter().filter_map(Result::err).flat_map(|failed| said::error(&failed)).collect()
            }
            "listen" => {
                let (ty, pins) = rest.split_once(' ').unwrap();
                let pins = fields(pins);
                let listen = Listen { ty: ty.into(), pins, every: Duration::from_secs(60), from: None };
                match self.connection.listen(listen) {
                    Ok(source) => {
                        self.listeners.push(follow(source));
                        self.pass(2.0).await;
                        Vec::new()
                    }
                    Err(failed) => said::error(&failed),
                }
            }
            "pass" => {
                let length = rest.strip_suffix(" s").unwrap().parse().unwrap();
                match &self.time {
                    Time::Skipped(world) => world.skip(Duration::from_secs_f64(length)),
                    Time::Moved(_) => self.pass(length).await,
                }
                Vec::new()
            }
            // A process that knows nothing of what was before.
            "start-anew" => {
                self.listeners.clear();
                self.connection = self.process(None);
                Vec::new()
            }
            "answer" => {
                let (key, what) = rest.split_once(": ").unwrap();
                self.rules.first(key, what);
                Vec::new()
            }
            "answer-right" => {
                self.rules.clear();
                Vec::new()
            }
            "sign-in" => {
                let process = self.process(Some(Arc::new(Browser::default())));
                let done = process.sign_in(&self.call()).await;
                if rest == "and-stay" {
                    self.connection = process;
                }
                said::result(done, |()| vec!["= signed in".to_owned()])
            }
            _ => self.at_the_server(word, rest).await,
        }
    }

    /// What the server does by itself.
    async fn at_the_server(&mut self, word: &str, rest: &str) -> Vec<String> {
        match (&self.serves, word) {
            (Serves::Resources(watched), "change") => {
                let (uri, text) = rest.split_once(' ').unwrap();
                watched.change(uri, text);
            }
            (Serves::Resources(watched), "change-silently") => {
                let (uri, text) = rest.split_once(' ').unwrap();
                watched.write(uri, text);
                return Vec::new();
            }
            (Serves::Resources(watched), "end-streams") => watched.end_streams(&Step::Close),
            (Serves::Resources(watched), "reset-streams") => watched.end_streams(&Step::Abort),
            (Serves::Resources(watched), "forget-sessions") => watched.forget(),
            (Serves::Resources(watched), "say") => watched.say(&serde_json::from_str::<String>(rest).unwrap()),
            (Serves::Resources(watched), "honour") => watched.honour(&rest.split_whitespace().collect::<Vec<_>>()),
            (Serves::Protected(authorization), "end-tokens") => authorization.end_tokens(),
            (Serves::Protected(authorization), "change-rules") => {
                let rules = oauth(rest);
                authorization.change(|old| *old = rules);
            }
            (Serves::Protected(authorization), "another-process-renews") => {
                authorization.end_all();
                let (access, refresh) = authorization.give("");
                let mut credential = self.shelf.credential();
                let mut grant: Json = serde_json::from_str(credential.get("grant").unwrap().expose()).unwrap();
                (grant["access"], grant["refresh"]) = (access.into(), refresh.into());
                credential.fields.insert("grant".into(), Secret::new(grant.to_string()));
                self.shelf.put(credential);
            }
            (Serves::Tools(_) | Serves::Resources(_) | Serves::Protected(_), _) => panic!("`{word}` is no step"),
        }
        if matches!(self.serves, Serves::Resources(_)) {
            self.pass(0.1).await;
        }
        Vec::new()
    }

    async fn read(&self, rest: &str) -> Result<lf_module::Page, CallError> {
        let (ty, given) = rest.split_once(char::is_whitespace).unwrap();
        let read = Read { ty: ty.into(), origin: Origin::Root, pins: self.typed(ty, &fields(given)), page: None };
        self.connection.read(&read, &self.call()).await
    }

    async fn write(&self, rest: &str) -> Result<lf_module::Written, CallError> {
        let (ty, given) = rest.split_once(char::is_whitespace).unwrap();
        let write = Write::Create { ty: ty.into(), origin: Origin::Root, fields: self.typed(ty, &fields(given)) };
        self.connection.write(&write, &self.call()).await
    }

    /// As a movement hands them over: a date is one, if the type was described so.
    fn typed(&self, ty: &str, given: &Record) -> Record {
        let shape = self.described.as_ref().and_then(|described| described.get(ty));
        let one = |(name, value): (&smol_str::SmolStr, &Value)| {
            let date = shape.and_then(|shape| shape.field(name)).is_some_and(|field| field.ty == FieldType::Date);
            let day = value.as_text().filter(|_| date).and_then(|text| text.parse().ok());
            (name.clone(), day.map_or_else(|| value.clone(), Value::Date))
        };
        given.iter().map(one).collect()
    }

    fn call(&self) -> Call {
        let now = match &self.time {
            Time::Skipped(world) => world.monotonic(),
            Time::Moved(fast) => fast.monotonic(),
        };
        Call { deadline: now + Duration::from_secs(300), idempotency: None }
    }

    fn process(&self, person: Option<Arc<dyn Person>>) -> Arc<dyn Connection> {
        connect(&self.time, &self.settings, &self.shelf, self.app.as_ref(), person)
    }

    async fn pass(&self, seconds: f64) {
        if let Time::Moved(fast) = &self.time {
            fast.pass(Duration::from_secs_f64(seconds)).await;
        }
    }

    fn heard(&self) -> Vec<String> {
        let all = self.listeners.iter().flat_map(|(_, heard)| std::mem::take(&mut *heard.lock().unwrap()));
        all.flat_map(|batch| said::result(batch, |batch| said::batch(&batch))).collect()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.listeners.iter().for_each(|(task, _)| task.abort());
    }
}

/// A text of several lines is one of a case, and what is too long to read is cut.
fn one_line(line: &str) -> Option<String> {
    let line = line.replace('\n', "\\n");
    Some(if line.chars().count() > 1000 { format!("{}…", line.chars().take(1000).collect::<String>()) } else { line })
}

fn fields(text: &str) -> Record {
    match exact::read(text.as_bytes()) {
        Ok(Value::Record(record)) => (*record).clone(),
        other => panic!("`{text}` is no record: {other:?}"),
    }
}

fn credential(url: &str, oauth: bool, more: &str) -> Credential {
    let more = answers::read(more);
    let mut all: Vec<(String, String)> = vec![("url".to_owned(), url.to_owned())];
    if !oauth {
        all.push(("token".to_owned(), "s3cret".to_owned()));
    }
    all.extend(
        more.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())),
    );
    Credential {
        name: "linear".into(),
        kind: if oauth { "mcp" } else { "mcp_token" }.into(),
        fields: all.into_iter().map(|(name, value)| (name.into(), Secret::new(value))).collect(),
    }
}

fn connect(
    time: &Time,
    settings: &Settings,
    shelf: &Arc<Shelf>,
    app: Option<&App>,
    person: Option<Arc<dyn Person>>,
) -> Arc<dyn Connection> {
    let ports = match time {
        Time::Skipped(world) => world.ports(),
        Time::Moved(fast) => fast.ports(),
    };
    let keeper = app.is_some().then(|| shelf.keeper(person));
    let ports = Ports { keeper, ..ports };
    let target =
        Target { id: "tracker".into(), settings: settings.clone(), credential: Some(shelf.credential()), ports };
    Mcp::new(app.cloned()).connect(target).unwrap()
}

fn serve(serves: &Serves, time: &Time, rules: &Arc<Rules>, waits: &Arc<Mutex<Vec<Duration>>>) -> Server {
    // What was waited by the time of a request, beside what it took.
    let waited = {
        let (time, last) = (time.clone(), Mutex::new(Duration::ZERO));
        let shared = matches!(serves, Serves::Protected(_));
        move |received: &Received| {
            let now = match &time {
                // Processes that wait for each other do so by chance.
                Time::Skipped(_) if shared => Duration::ZERO,
                Time::Skipped(world) => world.sleeps().iter().sum(),
                Time::Moved(_) => received.at,
            };
            now - std::mem::replace(&mut *last.lock().unwrap(), now)
        }
    };
    let (rules, waits, serves_too) = (rules.clone(), waits.clone(), serves.clone());
    let clock: Arc<dyn Clock> = match time {
        Time::Skipped(world) => world.clone(),
        Time::Moved(fast) => fast.clone(),
    };
    let script = move |received: &Received| {
        waits.lock().unwrap().push(waited(received));
        match &serves_too {
            Serves::Tools(offer) => {
                rules.reply(received, Some(&offer.body(received))).unwrap_or_else(|| offer.reply(received))
            }
            Serves::Protected(authorization) => {
                rules.reply(received, None).unwrap_or_else(|| authorization.reply(received))
            }
            Serves::Resources(watched) => rules.reply(received, None).unwrap_or_else(|| watched.answer(received)),
        }
    };
    Server::start(clock, script).unwrap()
}

fn follow(mut source: Box<dyn lf_module::Source>) -> (JoinHandle<()>, Heard) {
    let heard = Heard::default();
    let into = heard.clone();
    let task = tokio::spawn(async move {
        loop {
            let batch = source.next().await;
            // As the host does: what can never be is not asked for again.
            let over = batch.as_ref().is_err_and(|failed| failed.kind == Kind::Limit);
            into.lock().unwrap().push(batch);
            if over {
                break;
            }
        }
    });
    (task, heard)
}

/// The rules of an authorization server, as far as they differ from the right ones.
fn oauth(text: &str) -> Oauth {
    let given = answers::read(text);
    let mut rules = Oauth::default();
    let kept = |value: &Json| value.as_str().map(|text| -> &'static str { text.to_owned().leak() });
    let text = |value: &Json| value.as_str().map(str::to_owned);
    for (name, value) in given.as_object().unwrap() {
        match name.as_str() {
            "rotates" => rules.rotates = value.as_bool().unwrap(),
            "scope" => rules.scope = text(value),
            "needs" => rules.needs = text(value),
            "names_metadata" => rules.names_metadata = value.as_bool().unwrap(),
            "resource_at" => rules.resource_at = kept(value),
            "server_at" => rules.server_at = kept(value),
            "issuer_path" => rules.issuer_path = kept(value).unwrap(),
            "resource_says" => rules.resource_says = value.clone(),
            "server_says" => rules.server_says = value.clone(),
            "iss" => rules.iss = text(value),
            other => panic!("`{other}` is no rule"),
        }
    }
    rules
}
