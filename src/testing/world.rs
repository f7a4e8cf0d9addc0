//! The systems of one test: they answer what the test says, remember what they were sent, and show their changes to
//! those who listen. No network, no credential; whatever the test does not say is refused by name.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use lf_lang::stated;
use lf_module::{
    Batch, Call, CallError, Connection, Description, Event, File, Key, Kind, Landed, Page, Read, Record, Repeat,
    Source, TypeShape, Value, Write, Written,
    call::{ChangeKind, Changed, Cursor, Listen, Origin},
};
use smol_str::{SmolStr, ToSmolStr as _, format_smolstr};

/// A type of a connection.
pub(super) type On = (SmolStr, SmolStr);

/// One `answer` of the test.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The line that gives it.
    pub(super) line: usize,
    pub(super) on: On,
    pub(super) from: Option<From>,
    pub(super) pins: Record,
    pub(super) reply: Reply,
}

/// The record that a read starts from.
#[derive(Debug, Clone)]
pub(super) struct From {
    pub(super) ty: SmolStr,
    pub(super) edge: SmolStr,
    pub(super) key: Option<Value>,
}

#[derive(Debug, Clone)]
pub(super) enum Reply {
    One(Record),
    Many(Vec<Record>),
    Fails(CallError),
}

/// A write that a system was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) on: On,
    pub(super) write: Write,
    /// The same for every attempt at it.
    pub(super) effect: SmolStr,
    /// It was refused, so that nothing came of it.
    pub(super) failed: bool,
    /// No `answer` was left for it.
    pub(super) unanswered: bool,
}

/// A read that no `answer` was left for.
#[derive(Debug, Clone)]
pub(super) struct Unanswered {
    /// As it would be written in the test, behind the connection's name.
    pub(super) asked: String,
    pub(super) connection: SmolStr,
    /// What the run failed with.
    pub(super) message: String,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) answers: Vec<Answer>,
    pub(super) sent: Vec<Sent>,
    pub(super) unanswered: Vec<Unanswered>,
    /// Every record that is known, by its type and key; and the key that was known last of each type.
    records: BTreeMap<(On, Key), Record>,
    last: BTreeMap<On, Key>,
    changes: BTreeMap<On, Vec<Changed>>,
    /// How many changes there were in all.
    changed: usize,
    made: u64,
}

impl State {
    /// A record as far as it is known.
    pub(super) fn record(&self, on: &On, key: &Key) -> Record {
        self.records.get(&(on.clone(), key.clone())).cloned().unwrap_or_default()
    }

    /// The record that was known last.
    pub(super) fn last(&self, on: &On) -> Option<Key> {
        self.last.get(on).cloned()
    }

    fn know(&mut self, on: &On, key: &Key, record: Record) {
        self.last.insert(on.clone(), key.clone());
        self.records.insert((on.clone(), key.clone()), record);
    }

    /// A key that no record has yet, in the record if its type keeps it in a field.
    pub(super) fn new_key(&mut self, shape: &TypeShape, record: &mut Record) -> Key {
        self.made += 1;
        let field = shape.key.as_ref().and_then(|key| shape.field(key));
        let number = field.is_some_and(|field| matches!(field.ty, lf_module::FieldType::Number));
        let key = if number { self.made.to_smolstr() } else { format_smolstr!("new-{}", self.made) };
        if let Some(field) = field.filter(|field| field.readable) {
            let value = match i64::try_from(self.made) {
                Ok(made) if number => Value::from(made),
                Ok(_) | Err(_) => Value::Text(key.clone()),
            };
            record.set(field.name.clone(), value);
        }
        Key(key)
    }

    /// Lets a change happen: whoever listens is shown it.
    pub(super) fn change(&mut self, on: &On, shape: &TypeShape, kind: ChangeKind, key: Key, record: Record) -> SmolStr {
        self.changed += 1;
        let delivery = format_smolstr!("change {}", self.changed);
        if kind == ChangeKind::Deleted {
            self.records.remove(&(on.clone(), key.clone()));
            self.last.retain(|_, last| *last != key);
        } else {
            self.know(on, &key, record.clone());
        }
        let shown = |name: &SmolStr| shape.field(name).is_none_or(|field| field.readable);
        let record = record.0.into_iter().filter(|(name, value)| shown(name) && !value.is_absent()).collect();
        let changed = Changed { delivery: delivery.clone(), key, kind, record, version: None, at: None, by: None };
        self.changes.entry(on.clone()).or_default().push(changed);
        delivery
    }

    /// How many changes there were of these types.
    pub(super) fn shown(&self, types: &std::collections::BTreeSet<On>) -> usize {
        types.iter().filter_map(|on| self.changes.get(on)).map(Vec::len).sum()
    }

    fn answer(&mut self, fits: impl Fn(&Answer) -> bool) -> Option<Reply> {
        let place = self.answers.iter().position(fits)?;
        Some(self.answers.remove(place).reply)
    }
}

/// The key that a record holds.
pub(super) fn key_of(shape: &TypeShape, record: &Record) -> Option<Key> {
    match record.get(shape.key.as_ref()?)? {
        Value::Text(text) => Some(Key(text.clone())),
        Value::Number(number) => Some(Key(number.to_smolstr())),
        Value::Absent
        | Value::Bool(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::Record(_)
        | Value::Position(_)
        | Value::File(_) => None,
    }
}

/// One record over another: what it does not name stays.
pub(super) fn over(mut base: Record, more: &Record) -> Record {
    for (name, value) in more.iter() {
        base.set(name.clone(), value.clone());
    }
    base
}

/// What all systems of a test share.
#[derive(Debug, Clone, Default)]
pub(super) struct World(Arc<Mutex<State>>);

impl World {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One system of a test.
pub(super) struct System {
    pub(super) world: World,
    pub(super) connection: SmolStr,
    pub(super) description: Arc<Description>,
}

impl fmt::Debug for System {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("System").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl System {
    fn on(&self, ty: &SmolStr) -> On {
        (self.connection.clone(), ty.clone())
    }

    fn shape(&self, ty: &str) -> Result<&TypeShape, CallError> {
        self.description.get(ty).ok_or_else(|| CallError::new(Kind::Drift, format!("there is no type `{ty}`")))
    }
}

#[async_trait]
impl Connection for System {
    async fn describe(&self, _call: &Call) -> Result<Description, CallError> {
        Ok(self.description.as_ref().clone())
    }

    async fn raw(&self, _call: &Call) -> Result<String, CallError> {
        Err(CallError::new(Kind::Limit, "a system of a test says nothing of itself"))
    }

    async fn read(&self, read: &Read, _call: &Call) -> Result<Page, CallError> {
        let (on, shape) = (self.on(&read.ty), self.shape(&read.ty)?);
        let mut state = self.world.state();
        let reply =
            state.answer(|answer| answer.on == on && starts(answer, &read.origin) && pinned(answer, &read.pins));
        let records = match reply {
            Some(Reply::One(record)) => vec![record],
            Some(Reply::Many(records)) => records,
            Some(Reply::Fails(error)) => return Err(error),
            None => {
                let asked = asked(read);
                let number = state.unanswered.len() + 1;
                let message = format!("question {number} has no answer in the test: `{asked}`");
                let connection = self.connection.clone();
                state.unanswered.push(Unanswered { asked, connection, message: message.clone() });
                return Err(CallError::refused(message));
            }
        };
        let landed = records.into_iter().map(|record| {
            // What it was asked with, it has.
            let mut fields: Record = read.pins.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            fields = over(fields, &record);
            let key = key_of(shape, &fields);
            let key = key.or_else(|| shape.key.as_ref().map(|_| state.new_key(shape, &mut fields)));
            if let Some(key) = &key {
                let known = over(state.record(&on, key), &fields);
                state.know(&on, key, known);
            }
            fields.0.retain(|_, value| !value.is_absent());
            Landed { key, version: None, fields }
        });
        Ok(Page { records: landed.collect(), next: None })
    }

    async fn get(&self, ty: &SmolStr, key: &Key, _call: &Call) -> Result<Option<Landed>, CallError> {
        let (on, state) = (self.on(ty), self.world.state());
        let found = state.records.get(&(on, key.clone())).cloned();
        Ok(found.map(|fields| Landed { key: Some(key.clone()), version: None, fields }))
    }

    async fn find(&self, ty: &SmolStr, by: &Record, _call: &Call) -> Result<Vec<Landed>, CallError> {
        let (on, state) = (self.on(ty), self.world.state());
        let equal = |record: &Record| by.iter().all(|(name, value)| record.get(name) == Some(value));
        let found = state.records.iter().filter(|((of, _), record)| *of == on && equal(record));
        let landed =
            found.map(|((_, key), fields)| Landed { key: Some(key.clone()), version: None, fields: fields.clone() });
        Ok(landed.collect())
    }

    async fn bytes(&self, file: &File, _most: usize, _call: &Call) -> Result<Option<Vec<u8>>, CallError> {
        Ok(stated::bytes(file))
    }

    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError> {
        let (on, shape) = (self.on(write.ty()), self.shape(write.ty())?);
        let under = match write {
            Write::Create { ty: _, origin, fields: _ } => origin,
            Write::Update { .. } | Write::Delete { .. } | Write::Link(_) | Write::Unlink(_) => &Origin::Root,
        };
        let mut state = self.world.state();
        let reply = state.answer(|answer| {
            let one = matches!(answer.reply, Reply::One(_) | Reply::Fails(_));
            answer.on == on && starts(answer, under) && answer.pins.is_empty() && one
        });
        let mut sent = Sent {
            on: on.clone(),
            write: write.clone(),
            effect: call.idempotency.clone().unwrap_or_default(),
            failed: false,
            unanswered: reply.is_none(),
        };
        let mut answer = match reply {
            Some(Reply::One(record)) => record,
            Some(Reply::Fails(error)) => {
                sent.failed = true;
                state.sent.push(sent);
                return Err(error);
            }
            Some(Reply::Many(_)) | None => Record::new(),
        };
        state.sent.push(sent);
        let (kind, key, record) = match write {
            Write::Create { ty: _, origin: _, fields } => {
                let key = key_of(shape, &answer).or_else(|| key_of(shape, fields));
                let key = key.or_else(|| shape.key.as_ref().map(|_| state.new_key(shape, &mut answer)));
                (ChangeKind::Created, key, over(fields.clone(), &answer))
            }
            Write::Update { ty: _, key, fields } => {
                let record = over(over(state.record(&on, key), fields), &answer);
                (ChangeKind::Updated, Some(key.clone()), record)
            }
            Write::Delete { ty: _, key } => (ChangeKind::Deleted, Some(key.clone()), state.record(&on, key)),
            // Both records stay as they are.
            Write::Link(_) | Write::Unlink(_) => (ChangeKind::Updated, None, Record::new()),
        };
        if let Some(key) = &key {
            state.change(&on, shape, kind, key.clone(), record);
        }
        answer.0.retain(|_, value| !value.is_absent());
        let created = kind == ChangeKind::Created;
        Ok(Written { key, created, version: None, fields: answer, warnings: Vec::new() })
    }

    fn repeat(&self, write: &Write) -> Repeat {
        match write {
            Write::Create { .. } => Repeat::ByKey,
            Write::Update { .. } | Write::Delete { .. } | Write::Link(_) | Write::Unlink(_) => Repeat::Harmless,
        }
    }

    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
        let on = self.on(&listen.ty);
        // Who begins to listen is shown what comes from now on.
        let now = || self.world.state().changes.get(&on).map_or(0, Vec::len);
        let at = listen.from.and_then(|cursor| cursor.0.parse().ok()).unwrap_or_else(now);
        Ok(Box::new(Changes { world: self.world.clone(), on, pins: listen.pins, at }))
    }
}

fn starts(answer: &Answer, origin: &Origin) -> bool {
    match (&answer.from, origin) {
        (None, Origin::Root) => true,
        (Some(from), Origin::Record { ty, key, edge }) => {
            let same = from.key.as_ref().is_none_or(|fixed| match fixed {
                Value::Text(text) => *text == key.0,
                Value::Number(number) => number.to_smolstr() == key.0,
                Value::Absent
                | Value::Bool(_)
                | Value::Date(_)
                | Value::DateTime(_)
                | Value::Duration(_)
                | Value::List(_)
                | Value::Record(_)
                | Value::Position(_)
                | Value::File(_) => false,
            });
            from.ty == *ty && from.edge == *edge && same
        }
        (None, Origin::Record { .. }) | (Some(_), Origin::Root) => false,
    }
}

fn pinned(answer: &Answer, pins: &Record) -> bool {
    answer.pins.iter().all(|(name, value)| pins.get(name) == Some(value))
}

/// A read as an `answer` would name it, behind the connection's name.
fn asked(read: &Read) -> String {
    let fixed = |fields: &mut dyn Iterator<Item = (&SmolStr, String)>| {
        let all: Vec<_> = fields.map(|(name, value)| format!("{name} == {value}")).collect();
        if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
    };
    let pins = fixed(&mut read.pins.iter().map(|(name, value)| (name, super::show::value(value))));
    match &read.origin {
        Origin::Root => format!("-[:{}{pins}]->", read.ty),
        Origin::Record { ty, key: _, edge } => format!("-[:{ty}]->-[:{edge}{pins}]->"),
    }
}

/// The changes of one type, as one listen is shown them.
#[derive(Debug)]
struct Changes {
    world: World,
    on: On,
    pins: Record,
    at: usize,
}

#[async_trait]
impl Source for Changes {
    async fn next(&mut self) -> Result<Batch, CallError> {
        let state = self.world.state();
        let all = state.changes.get(&self.on).map(Vec::as_slice).unwrap_or_default();
        let fits = |changed: &&Changed| {
            self.pins.iter().all(|(name, value)| changed.record.get(name).unwrap_or(&Value::Absent) == value)
        };
        let new = all.iter().skip(self.at).filter(fits).cloned().map(Event::Changed).collect();
        self.at = all.len();
        Ok(Batch { events: new, cursor: Some(Cursor(all.len().to_string())) })
    }
}
