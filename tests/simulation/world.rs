//! The outside: two systems in memory with people in front of them. Everything that reaches them is written down.
//!
//! `crm` keeps companies, notes, pings and pongs; `tracker` opens issues and counts them. A request that arrived is
//! carried out even if the one who sent it died meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use lf_module::{
    Batch, Call, CallError, Clock, Connection, Description, Event, Field, FieldType, Key, Kind, Landed, Listen, Number,
    Page, Random as _, Read, Record, Repeat, Source, Tie, TypeShape, Value, Write, Written,
    call::Origin,
    json,
    schema::{Count, Edge, How, Listening, Pin},
};
use listen_fire::host::clock::Seeded;
use smol_str::SmolStr;

/// When every world begins.
pub(crate) fn dawn() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

/// What is about to go wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The system says no.
    Refuse,
    /// Certainly not done, for the moment.
    Away,
    /// Not done, but nobody knows.
    LoseRequest,
    /// Done, and the answer is lost.
    LoseAnswer,
}

/// How often things go wrong, in thousandths, and how long a call takes at most.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    pub(crate) refuse: u64,
    pub(crate) away: u64,
    pub(crate) lose_request: u64,
    pub(crate) lose_answer: u64,
    pub(crate) delay: Duration,
}

/// A change that a system carried out.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) write: Write,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seeded: Seeded,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tables: BTreeMap<(SmolStr, SmolStr), BTreeMap<Key, Record>>,
    ties: Vec<Tie>,
    last_key: u64,
    /// Requests that arrived and are not carried out yet.
    arrived: Vec<Arrived>,
    answers: BTreeMap<u64, Result<Written, CallError>>,
    last_request: u64,
    by_idempotency: BTreeMap<SmolStr, Written>,
    /// What a system that knows calls again once refused, it refuses under that key ever after.
    refused: BTreeSet<SmolStr>,
    done: Vec<Done>,
    trace: Vec<(Timestamp, String)>,
    polls: BTreeMap<SmolStr, Vec<Timestamp>>,
    weather: Weather,
    /// What happens to the next calls of a system, before the weather.
    next: BTreeMap<SmolStr, VecDeque<Fault>>,
    down: BTreeMap<SmolStr, bool>,
    locked: BTreeMap<SmolStr, bool>,
    silent: BTreeMap<SmolStr, bool>,
    /// Calls that came while the system was down.
    in_vain: usize,
    /// Calls under way now, and the most there ever were, without listings.
    busy: usize,
    busiest: usize,
}

#[derive(Debug)]
struct Arrived {
    at: Timestamp,
    request: u64,
    system: SmolStr,
    write: Write,
    idempotency: Option<SmolStr>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self { seeded: Seeded::new(seed), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line of the trace.
    pub(crate) fn note(&self, at: Timestamp, line: impl Into<String>) {
        self.state().trace.push((at, line.into()));
    }

    pub(crate) fn trace(&self) -> Vec<(Timestamp, String)> {
        self.state().trace.clone()
    }

    pub(crate) fn done(&self) -> Vec<Done> {
        self.state().done.clone()
    }

    pub(crate) fn polls(&self, ty: &str) -> Vec<Timestamp> {
        self.state().polls.get(ty).cloned().unwrap_or_default()
    }

    pub(crate) fn busiest(&self) -> usize {
        self.state().busiest
    }

    pub(crate) fn records(&self, system: &str, ty: &str) -> BTreeMap<Key, Record> {
        self.state().tables.get(&(system.into(), ty.into())).cloned().unwrap_or_default()
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        self.state().weather = weather;
    }

    pub(crate) fn next_fault(&self, system: &str, fault: Fault) {
        self.state().next.entry(system.into()).or_default().push_back(fault);
    }

    pub(crate) fn set_down(&self, system: &str, down: bool) {
        self.state().down.insert(system.into(), down);
    }

    pub(crate) fn in_vain(&self) -> usize {
        self.state().in_vain
    }

    pub(crate) fn set_locked(&self, system: &str, locked: bool) {
        self.state().locked.insert(system.into(), locked);
    }

    pub(crate) fn set_silent(&self, system: &str, silent: bool) {
        self.state().silent.insert(system.into(), silent);
    }

    /// A person creates a record.
    pub(crate) fn person_creates(&self, at: Timestamp, ty: &str, fields: &Record) -> Key {
        let mut state = self.state();
        let (key, _) = state.create("crm", ty, fields);
        state.trace.push((at, format!("person creates {ty} {key} {}", plain(fields))));
        key
    }

    /// A person changes a record; nothing happens to one that is gone.
    pub(crate) fn person_updates(&self, at: Timestamp, ty: &str, key: &Key, fields: &Record) {
        let mut state = self.state();
        let _updated = state.update("crm", ty, key, fields);
        state.trace.push((at, format!("person updates {ty} {key} {}", plain(fields))));
    }

    /// A person deletes a record.
    pub(crate) fn person_deletes(&self, at: Timestamp, ty: &str, key: &Key) {
        let mut state = self.state();
        state.table("crm", ty).remove(key);
        state.trace.push((at, format!("person deletes {ty} {key}")));
    }

    /// A way to one of its systems.
    pub(crate) fn connect(self: &Arc<Self>, module: &str, clock: Arc<dyn Clock>) -> Arc<dyn Connection> {
        Arc::new(System { name: module.trim_start_matches('#').into(), world: self.clone(), clock })
    }
}

impl State {
    fn table(&mut self, system: &str, ty: &str) -> &mut BTreeMap<Key, Record> {
        self.tables.entry((system.into(), ty.into())).or_default()
    }

    fn create(&mut self, system: &str, ty: &str, fields: &Record) -> (Key, Record) {
        self.last_key += 1;
        let number = self.last_key;
        let key = Key(number.to_string().into());
        let mut record = Record::new();
        if system == "tracker" {
            record.set("number", Value::Number(Number::from(i64::try_from(number).unwrap())));
            record.set("text", Value::text(format!("issue {number}")));
        } else {
            record.set("id", Value::text(key.0.clone()));
            record.set("Changes", Value::Number(Number::from(1_i64)));
        }
        for (name, value) in fields.iter() {
            record.set(name.clone(), value.clone());
        }
        self.table(system, ty).insert(key.clone(), record.clone());
        (key, record)
    }

    fn update(&mut self, system: &str, ty: &str, key: &Key, fields: &Record) -> Option<Record> {
        let record = self.table(system, ty).get_mut(key)?;
        for (name, value) in fields.iter() {
            record.set(name.clone(), value.clone());
        }
        // Maintained by the system: no write sets it, every write moves it.
        if let Some(Value::Number(changes)) = record.get("Changes").cloned() {
            let next = changes.to_string().parse::<i64>().unwrap() + 1;
            record.set("Changes", Value::Number(Number::from(next)));
        }
        Some(record.clone())
    }

    /// Carries out what arrived and is due.
    fn settle(&mut self, now: Timestamp) {
        let mut due: Vec<Arrived> = Vec::new();
        let mut later = Vec::new();
        for arrived in std::mem::take(&mut self.arrived) {
            if arrived.at <= now { due.push(arrived) } else { later.push(arrived) }
        }
        self.arrived = later;
        due.sort_by_key(|arrived| (arrived.at, arrived.request));
        for arrived in due {
            let answer = self.carry_out(&arrived);
            self.answers.insert(arrived.request, answer);
        }
    }

    fn carry_out(&mut self, arrived: &Arrived) -> Result<Written, CallError> {
        let Arrived { at, request: _, system, write, idempotency } = arrived;
        let honours = honours(write);
        if honours
            && let Some(key) = idempotency
            && let Some(known) = self.by_idempotency.get(key)
        {
            self.trace.push((*at, format!("{system}: the same {} again", write.ty())));
            return Ok(known.clone());
        }
        let (written, line) = match write {
            Write::Create { ty, origin, fields } => {
                let (key, record) = self.create(system, ty, fields);
                let mut under = String::new();
                if let Origin::Record { ty, key: from, edge } = origin {
                    let tie = Tie { ty: ty.clone(), key: from.clone(), edge: edge.clone(), to: key.clone() };
                    under = format!(" under {ty} {from} by {edge}");
                    self.ties.push(tie);
                }
                let line = format!("{system}: create {ty}{under} {} -> {key}", plain(fields));
                (Written { key: Some(key), created: true, fields: record, ..Written::default() }, line)
            }
            Write::Update { ty, key, fields } => {
                let Some(record) = self.update(system, ty, key, fields) else {
                    return Err(CallError::refused(format!("there is no {ty} {key}")));
                };
                let line = format!("{system}: update {ty} {key} {}", plain(fields));
                (Written { key: Some(key.clone()), fields: record, ..Written::default() }, line)
            }
            Write::Delete { ty, key } => {
                self.table(system, ty).remove(key);
                (Written { key: Some(key.clone()), ..Written::default() }, format!("{system}: delete {ty} {key}"))
            }
            Write::Link(tie) => {
                if !self.ties.contains(tie) {
                    self.ties.push(tie.clone());
                }
                (Written::default(), format!("{system}: link {} {} by {} to {}", tie.ty, tie.key, tie.edge, tie.to))
            }
            Write::Unlink(tie) => {
                self.ties.retain(|there| there != tie);
                (Written::default(), format!("{system}: unlink {} {} by {} from {}", tie.ty, tie.key, tie.edge, tie.to))
            }
        };
        self.trace.push((*at, line));
        self.done.push(Done { write: write.clone() });
        if honours && let Some(key) = idempotency {
            self.by_idempotency.insert(key.clone(), written.clone());
        }
        Ok(written)
    }
}

/// Whether it is known again by its idempotency key: notes are.
fn honours(write: &Write) -> bool {
    write.ty() == "Note"
}

/// What a system says that fails at one call.
fn broken() -> CallError {
    CallError { status: Some(500), ..CallError::passing("500: something broke") }
}

/// One system, as a module shows it.
#[derive(Debug)]
struct System {
    name: SmolStr,
    world: Arc<World>,
    clock: Arc<dyn Clock>,
}

/// Counts a call for as long as it is under way, however it ends.
struct Busy<'a>(&'a World);

impl<'a> Busy<'a> {
    fn new(world: &'a World) -> Self {
        let mut state = world.state();
        state.busy += 1;
        state.busiest = state.busiest.max(state.busy);
        Self(world)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state().busy -= 1;
    }
}

impl System {
    /// What this call meets, and how long it takes before and after the system acts.
    fn weather(&self) -> (Fault, Duration, Duration) {
        let mut state = self.world.state();
        let weather = state.weather;
        let queued = state.next.get_mut(&self.name).and_then(VecDeque::pop_front);
        drop(state);
        let unit = || self.world.seeded.unit();
        let (before, after) = (weather.delay.mul_f64(unit()), weather.delay.mul_f64(unit()));
        let fault = queued.unwrap_or_else(|| {
            let mut left = self.world.seeded.bits() % 1000;
            for (fault, chance) in [
                (Fault::Refuse, weather.refuse),
                (Fault::Away, weather.away),
                (Fault::LoseRequest, weather.lose_request),
                (Fault::LoseAnswer, weather.lose_answer),
            ] {
                if left < chance {
                    return fault;
                }
                left -= chance;
            }
            Fault::None
        });
        (fault, before, after)
    }

    /// Whether the system can be spoken to at all.
    fn gate(&self) -> Result<(), CallError> {
        let mut state = self.world.state();
        if state.down.get(&self.name).copied().unwrap_or_default() {
            state.in_vain += 1;
            return Err(CallError::passing(format!("`{}` refused the connection", self.name)));
        }
        if state.locked.get(&self.name).copied().unwrap_or_default() {
            return Err(CallError { status: Some(401), ..CallError::new(Kind::Credential, "401: who are you?") });
        }
        Ok(())
    }

    /// The way of a call that only asks.
    async fn ask<T>(&self, answer: impl FnOnce(&mut State) -> T) -> Result<T, CallError> {
        let _busy = Busy::new(&self.world);
        let (fault, before, after) = self.weather();
        self.clock.sleep(before).await;
        self.gate()?;
        match fault {
            Fault::None => {}
            Fault::Refuse => return Err(CallError::refused("400: not like that")),
            Fault::Away | Fault::LoseRequest | Fault::LoseAnswer => return Err(broken()),
        }
        let answer = {
            let mut state = self.world.state();
            state.settle(self.clock.now());
            answer(&mut state)
        };
        self.clock.sleep(after).await;
        Ok(answer)
    }

    fn records(state: &mut State, system: &str, ty: &str) -> Vec<Landed> {
        let rows = state.table(system, ty).iter();
        rows.map(|(key, fields)| Landed { key: Some(key.clone()), version: None, fields: fields.clone() }).collect()
    }
}

#[async_trait]
impl Connection for System {
    async fn describe(&self, _: &Call) -> Result<Description, CallError> {
        Ok(description(&format!("#{}", self.name)))
    }

    async fn raw(&self, _: &Call) -> Result<String, CallError> {
        Ok(self.name.to_string())
    }

    async fn read(&self, read: &Read, _: &Call) -> Result<Page, CallError> {
        let records = self
            .ask(|state| {
                if read.ty == "search" {
                    let query = read.pins.get("query").cloned().unwrap_or_default();
                    let wanted = query.as_text().unwrap_or_default().to_owned();
                    let issues = state.table("tracker", "issue").values();
                    let count = issues
                        .filter(|issue| {
                            issue.get("title").and_then(Value::as_text).is_some_and(|t| t.contains(&wanted))
                        })
                        .count();
                    let count = Value::Number(Number::from(i64::try_from(count).unwrap()));
                    let fields = Record::from_iter([("query", query), ("count", count)]);
                    return vec![Landed { key: None, version: None, fields }];
                }
                Self::records(state, &self.name, &read.ty)
            })
            .await?;
        Ok(Page { records, next: None })
    }

    async fn get(&self, ty: &SmolStr, key: &Key, _: &Call) -> Result<Option<Landed>, CallError> {
        let all = self.ask(|state| Self::records(state, &self.name, ty)).await?;
        Ok(all.into_iter().find(|landed| landed.key.as_ref() == Some(key)))
    }

    async fn find(&self, ty: &SmolStr, by: &Record, _: &Call) -> Result<Vec<Landed>, CallError> {
        let all = self.ask(|state| Self::records(state, &self.name, ty)).await?;
        let same = |landed: &Landed| by.iter().all(|(name, value)| landed.fields.get(name) == Some(value));
        Ok(all.into_iter().filter(same).collect())
    }

    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError> {
        let _busy = Busy::new(&self.world);
        let (fault, before, after) = self.weather();
        self.gate()?;
        let knows = if honours(write) { call.idempotency.clone() } else { None };
        let fault = {
            let mut state = self.world.state();
            state.settle(self.clock.now());
            match &knows {
                Some(key) if state.refused.contains(key) => Fault::Refuse,
                Some(key) if fault == Fault::Refuse && state.by_idempotency.contains_key(key) => Fault::None,
                Some(_) | None => fault,
            }
        };
        match fault {
            Fault::None | Fault::LoseAnswer => {}
            Fault::Refuse => {
                self.world.state().refused.extend(knows);
                return Err(CallError::refused("422: not like that"));
            }
            Fault::Away => return Err(broken()),
            Fault::LoseRequest => {
                self.clock.sleep(before).await;
                return Err(CallError::passing("the connection was reset").maybe_acted());
            }
        }
        let now = self.clock.now();
        let at = now.checked_add(before).unwrap();
        let request = {
            let mut state = self.world.state();
            state.last_request += 1;
            let arrived = Arrived {
                at,
                request: state.last_request,
                system: self.name.clone(),
                write: write.clone(),
                idempotency: call.idempotency.clone(),
            };
            state.arrived.push(arrived);
            state.last_request
        };
        self.clock.sleep(before + after).await;
        let mut state = self.world.state();
        state.settle(self.clock.now());
        if fault == Fault::LoseAnswer {
            return Err(CallError::passing("the connection was reset").maybe_acted());
        }
        state.answers.remove(&request).expect("what arrived is carried out")
    }

    fn repeat(&self, write: &Write) -> Repeat {
        match write {
            Write::Create { ty, .. } if ty == "Note" => Repeat::ByKey,
            Write::Create { .. } => Repeat::Never,
            Write::Update { .. } | Write::Delete { .. } | Write::Link(_) | Write::Unlink(_) => Repeat::Harmless,
        }
    }

    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
        let system = Self { name: self.name.clone(), world: self.world.clone(), clock: self.clock.clone() };
        Ok(Box::new(Looks { system, listen, first: true }))
    }
}

/// Looks at the whole table again and again.
#[derive(Debug)]
struct Looks {
    system: System,
    listen: Listen,
    first: bool,
}

#[async_trait]
impl Source for Looks {
    async fn next(&mut self) -> Result<Batch, CallError> {
        if !std::mem::take(&mut self.first) {
            self.system.clock.sleep(self.listen.every).await;
        }
        let now = self.system.clock.now();
        self.system.world.state().polls.entry(self.listen.ty.clone()).or_default().push(now);
        let silent = self.system.world.state().silent.get(&self.system.name).copied().unwrap_or_default();
        if silent {
            std::future::pending::<()>().await;
        }
        self.system.gate()?;
        let mut state = self.system.world.state();
        state.settle(now);
        let mut events: Vec<Event> =
            System::records(&mut state, &self.system.name, &self.listen.ty).into_iter().map(Event::Listed).collect();
        events.push(Event::ListingEnded { complete: true });
        Ok(Batch { events, cursor: None })
    }
}

/// What the world's systems say of themselves.
pub(crate) fn description(module: &str) -> Description {
    let types = match module {
        "#crm" => vec![
            TypeShape {
                edges: vec![Edge { creatable: true, linkable: true, ..Edge::to("Notes", "Note", Count::Many) }],
                ..kept("Company", &["Name", "Status"])
            },
            kept("Note", &["Topic", "Text"]),
            kept("Ping", &["Body"]),
            kept("Pong", &["Body"]),
        ],
        "#tracker" => vec![
            TypeShape {
                name: "issue".into(),
                fields: vec![
                    Field { required: true, ..written("title") },
                    Field::readable("number", FieldType::Number),
                    Field::readable("text", FieldType::Text),
                ],
                count: Count::One,
                writable: true,
                ..TypeShape::default()
            },
            TypeShape {
                name: "search".into(),
                fields: vec![Field::readable("query", FieldType::Text), Field::readable("count", FieldType::Number)],
                count: Count::One,
                pins: vec![Pin { field: "query".into(), required: true }],
                readable: true,
                ..TypeShape::default()
            },
        ],
        other => panic!("the world has no `{other}`"),
    };
    Description { types, ..Description::default() }
}

fn written(name: &str) -> Field {
    Field { writable: true, ..Field::readable(name, FieldType::Text) }
}

/// A type of records that are kept, the first of whose fields is its identity.
fn kept(name: &str, fields: &[&str]) -> TypeShape {
    let mut shape = TypeShape {
        name: name.into(),
        key: Some("id".into()),
        fields: vec![Field::readable("id", FieldType::Text), Field::readable("Changes", FieldType::Number)],
        readable: true,
        writable: true,
        updatable: true,
        deletable: true,
        listenable: Some(Listening { how: How::Poll, deletions: true, every: None, pins: Vec::new() }),
        find_by: vec![vec![fields[0].into()]],
        ..TypeShape::default()
    };
    for (index, field) in fields.iter().enumerate() {
        let required = index == 0;
        shape.fields.push(Field { required, optional: !required, clearable: !required, ..written(field) });
    }
    shape
}

pub(crate) fn plain(record: &Record) -> String {
    json::plain(&Value::record(record.clone()))
}
