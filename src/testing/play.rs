//! Plays one test: its lines in order, each change through the runner itself, on a store of its own.
//!
//! What is given, what passes and what is answered gathers until a line expects something; then it happens, in the
//! order of the lines. A round of the runner takes in what the systems show and ends when nothing is left to do now;
//! where a write showed again to a listen, or to a run that waits, another round follows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use lf_lang::{
    check::typed::{TestField, TestLineKind, TestReply},
    diag::{Diagnostic, codes},
    plan::{
        Plan, PlanId,
        ir::{FunctionIndex, PlaceId},
        testing::{Line, Test},
    },
    run::{self, Effect, Entry, Finish, Fired, Input, RunState},
    source::{SourceMap, Span},
    types::TypeRef,
};
use lf_module::{
    CallError, Clock as _, Connection, Cursor, Description, Key, Kind, Record, TypeShape, Value, call::ChangeKind,
};
use smol_str::SmolStr;

use super::{
    Failure, Outcome,
    clock::{Half, Standing},
    files,
    judge::{self, Ended},
    show,
    world::{Answer, From, On, Reply, System, World, key_of, over},
};
use crate::{
    host::{Holds, Host, Limits, News, Options, Parts},
    store::{
        Facts as _, Filter, Inbox as _, Ledger as _, Position, RunId, Seen, State, Store, TakeIn, memory::MemoryStore,
    },
};

/// How long runs may take to come to rest, by the test's own clock.
const MOST: Duration = Duration::from_hours(6);
/// How many rounds may follow one another: each is a change that a write caused, and depth ends those.
const ROUNDS: usize = 64;

/// What a test is played on.
pub(super) struct Stage<'a> {
    pub(super) test: &'a Test,
    /// With the listens that the test can fire.
    pub(super) plan: Arc<Plan>,
    pub(super) sources: &'a SourceMap,
    pub(super) descriptions: &'a BTreeMap<SmolStr, Arc<Description>>,
    pub(super) limits: &'a Limits,
    pub(super) coverage: bool,
}

pub(super) struct Play<'a> {
    pub(super) stage: Stage<'a>,
    clock: Arc<Standing>,
    store: Arc<MemoryStore>,
    pub(super) world: World,
    connections: BTreeMap<lf_lang::check::catalog::ConnectionKey, Arc<dyn Connection>>,
    /// The lines that happen when next something is expected.
    acts: Vec<usize>,
    /// Which of the writes sent were expected, or told of.
    pub(super) told: BTreeSet<usize>,
    /// What runs wait for.
    pub(super) waiting: BTreeMap<RunId, String>,
    /// Runs that did not end well.
    pub(super) ended: Vec<Ended>,
    met: BTreeSet<(RunId, State)>,
    /// Where in the text each write was sent.
    pub(super) places: BTreeMap<SmolStr, PlaceId>,
    pub(super) failures: Vec<Failure>,
    notes: Vec<Diagnostic>,
    covered: BTreeSet<PlaceId>,
}

/// Plays a test to its end.
pub(super) async fn play(stage: Stage<'_>, clock: Arc<Standing>) -> Outcome {
    let world = World::default();
    let mut connections: BTreeMap<_, Arc<dyn Connection>> = BTreeMap::new();
    for connection in &stage.plan.connections {
        let key = connection.key.as_str();
        let description = stage.descriptions.get(key).cloned().unwrap_or_default();
        let system = System { world: world.clone(), connection: key.into(), description };
        connections.insert(connection.key.clone(), Arc::new(system));
    }
    let mut play = Play {
        stage,
        clock,
        store: Arc::new(MemoryStore::default()),
        world,
        connections,
        acts: Vec::new(),
        told: BTreeSet::new(),
        waiting: BTreeMap::new(),
        ended: Vec::new(),
        met: BTreeSet::new(),
        places: BTreeMap::new(),
        failures: Vec::new(),
        notes: Vec::new(),
        covered: BTreeSet::new(),
    };
    if let Err(why) = play.lines().await {
        let report = Diagnostic::error(codes::MOV_TEST_FAILED, play.stage.test.span, why);
        play.failures.push(Failure::of(report));
    }
    Outcome { failures: play.failures, notes: play.notes, covered: play.covered }
}

impl Play<'_> {
    async fn lines(&mut self) -> Result<(), String> {
        self.begin().await?;
        let test = self.stage.test;
        for (index, line) in test.lines.iter().enumerate() {
            match &line.kind {
                TestLineKind::Given { .. } | TestLineKind::After(_) => self.acts.push(index),
                TestLineKind::Answer { .. } => self.answer(index, line),
                TestLineKind::Write { .. }
                | TestLineKind::Delete { .. }
                | TestLineKind::Tie { .. }
                | TestLineKind::NoWrite { .. }
                | TestLineKind::NoDelete { .. }
                | TestLineKind::NoTie { .. }
                | TestLineKind::Fails
                | TestLineKind::Holds { .. } => {
                    self.act().await?;
                    judge::expected(self, line);
                }
            }
        }
        self.act().await?;
        judge::left(self);
        if self.stage.coverage {
            let filter = Filter { oldest_first: true, ..Filter::default() };
            for run in self.store.list(&filter).await.map_err(|error| error.to_string())? {
                let shown = self.store.show(run.id).await.map_err(|error| error.to_string())?;
                self.covered.extend(shown.iter().flat_map(|(_, entries)| run::trace(&self.stage.plan, entries)));
            }
        }
        Ok(())
    }

    /// Every system is described, and whatever listens or is waited for stands at its beginning: what comes from now on
    /// is a change.
    async fn begin(&mut self) -> Result<(), String> {
        let now = self.clock.now();
        for (connection, description) in self.stage.descriptions {
            self.store.save_description(connection, description, now).await.map_err(|error| error.to_string())?;
        }
        for listen in self.stage.plan.listens.iter().chain(&self.stage.plan.watches) {
            let cursor = Some(Cursor("0".to_owned()));
            let position = Position { cursor, baseline_done: true, listing: false };
            let batch = TakeIn { position: Some(position), ..TakeIn::default() };
            self.store.take_in(&listen.name, batch, now).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Lets happen what has gathered.
    async fn act(&mut self) -> Result<(), String> {
        let test = self.stage.test;
        for index in std::mem::take(&mut self.acts) {
            let Some(line) = test.lines.get(index) else { continue };
            match &line.kind {
                TestLineKind::Given { kind, on, record, before } => {
                    self.give(line, *kind, on, (record, before.as_deref())).await?;
                }
                TestLineKind::After(length) => self.pass(Duration::try_from(*length).unwrap_or_default()).await?,
                TestLineKind::Answer { .. }
                | TestLineKind::Write { .. }
                | TestLineKind::Delete { .. }
                | TestLineKind::Tie { .. }
                | TestLineKind::NoWrite { .. }
                | TestLineKind::NoDelete { .. }
                | TestLineKind::NoTie { .. }
                | TestLineKind::Fails
                | TestLineKind::Holds { .. } => {}
            }
        }
        Ok(())
    }

    /// Time passes: whatever falls due on the way happens at its time.
    async fn pass(&mut self, length: Duration) -> Result<(), String> {
        let end = crate::host::clock::later(self.clock.now(), length);
        loop {
            let due = self.store_due().await?;
            let Some(due) = due.filter(|due| *due <= end) else { break };
            self.clock.pass(crate::host::clock::until(self.clock.now(), due));
            let before = self.clock.now();
            self.settle().await?;
            // What is due and does not go on is held by something else than time.
            if self.store_due().await?.is_some_and(|next| next <= before) {
                break;
            }
        }
        self.clock.pass(crate::host::clock::until(self.clock.now(), end));
        self.settle().await
    }

    async fn store_due(&self) -> Result<Option<jiff::Timestamp>, String> {
        use crate::store::Runs as _;
        self.store.next_due(self.clock.now()).await.map_err(|error| error.to_string())
    }

    async fn give(
        &mut self,
        line: &Line,
        kind: ChangeKind,
        on: &TypeRef,
        (record, before): (&[TestField], Option<&[TestField]>),
    ) -> Result<(), String> {
        let Some(mut values) = self.values(line).map(Vec::into_iter) else { return Ok(()) };
        let (name, shape) = (self.on(on), self.shape(on)?);
        let failed = self.failures.len();
        let given: Record = self.record(&name.0, &shape, record, &mut values);
        let stated: Record = self.record(&name.0, &shape, before.unwrap_or_default(), &mut values);
        if self.failures.len() > failed {
            return Ok(());
        }
        let change = {
            let mut state = self.world.state();
            let known = match kind {
                ChangeKind::Created => None,
                ChangeKind::Updated | ChangeKind::Deleted => state.last(&name),
            };
            let (mut given, stated) = (given, stated);
            let key = key_of(&shape, &given).or_else(|| key_of(&shape, &stated)).or(known);
            let key = key.unwrap_or_else(|| state.new_key(&shape, &mut given));
            let mut base = match kind {
                ChangeKind::Created => Record::new(),
                ChangeKind::Updated | ChangeKind::Deleted => over(state.record(&name, &key), &stated),
            };
            // Whatever changed, it was this record before.
            if let Some(field) = shape.key.as_ref().filter(|_| kind != ChangeKind::Created)
                && let Some(value) = given.get(field)
            {
                base.set(field.clone(), value.clone());
            }
            let record = over(base.clone(), &given);
            (key, base, record, before.is_some())
        };
        let (key, base, record, stated) = change;
        if stated || (kind == ChangeKind::Deleted && !base.is_empty()) {
            self.remember(on, &key, &base).await?;
        }
        let delivery = self.world.state().change(&name, &shape, kind, key, record);
        self.settle().await?;
        let runs = self.store.list(&Filter::default()).await.map_err(|error| error.to_string())?;
        let heard =
            self.stage.plan.listens.iter().any(|listen| listen.connection == on.connection && listen.ty == on.ty);
        let awaited =
            self.stage.plan.watches.iter().any(|watch| watch.connection == on.connection && watch.ty == on.ty);
        if heard && !awaited && !runs.iter().any(|run| run.delivery == delivery) {
            let note = Diagnostic::information(codes::MOV_TEST_FIRES_NOTHING, line.span, "this fires nothing")
                .help("each listen asks for something else: its WHERE, `on`, or `fields`");
            self.notes.push(note);
        }
        Ok(())
    }

    /// What a record was before, as each listen would have seen it.
    async fn remember(&self, on: &TypeRef, key: &Key, record: &Record) -> Result<(), String> {
        for listen in &self.stage.plan.listens {
            if listen.connection == on.connection && listen.ty == on.ty {
                let seen = Seen { key: key.clone(), version: "before".into(), record: record.clone() };
                let batch = TakeIn { seen: vec![seen], ..TakeIn::default() };
                let took = self.store.take_in(&listen.name, batch, self.clock.now()).await;
                took.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, index: usize, line: &Line) {
        let TestLineKind::Answer { on, from, pins, reply } = &line.kind else { return };
        let Some(mut values) = self.values(line).map(Vec::into_iter) else { return };
        let Ok(shape) = self.shape(on) else { return };
        let system = self.on(on).0;
        let from = from.as_ref().map(|from| From {
            ty: from.ty.clone(),
            edge: from.edge.clone(),
            key: from.key.as_ref().and_then(|_| values.next()),
        });
        let pins = pins.iter().map(|pin| (pin.name.clone(), values.next().unwrap_or_default())).collect();
        let reply = match reply {
            TestReply::One(fields) => Reply::One(self.record(&system, &shape, fields, &mut values)),
            TestReply::Many(records) => {
                let record = |fields: &Vec<_>| self.record(&system, &shape, fields, &mut values);
                Reply::Many(records.iter().map(record).collect())
            }
            TestReply::Fails => Reply::Fails(failing(&values.next().unwrap_or_default())),
        };
        let on = self.on(on);
        self.world.state().answers.push(Answer { line: index, on, from, pins, reply });
    }

    /// The fields of a record, which are there where its type says so.
    fn record(
        &mut self,
        system: &str,
        shape: &TypeShape,
        fields: &[TestField],
        values: &mut impl Iterator<Item = Value>,
    ) -> Record {
        let mut record = Record::new();
        for field in fields {
            let value = values.next().unwrap_or_default();
            let Some(value) = self.stated(system, shape, field, value) else { continue };
            let may = shape.field(&field.name).is_none_or(|described| described.optional || described.doubtful);
            if value.is_absent() && !may {
                let headline = format!("`{}` is absent here, and a `{}` always has it", field.name, shape.name);
                let report = Diagnostic::error(codes::MOV_TEST_FAILED, field.span, headline).label("absent");
                self.failures.push(Failure::of(report));
            }
            record.set(field.name.clone(), value);
        }
        record
    }

    /// The fields that a write is expected to have.
    pub(super) fn wanted(&mut self, on: &TypeRef, fields: &[TestField], values: &[Value]) -> Option<Record> {
        let (system, shape) = (self.on(on).0, self.shape(on).ok()?);
        let stated = |(field, value): (&TestField, &Value)| {
            Some((field.name.clone(), self.stated(&system, &shape, field, value.clone())?))
        };
        fields.iter().zip(values).map(stated).collect()
    }

    fn stated(&mut self, system: &str, shape: &TypeShape, field: &TestField, value: Value) -> Option<Value> {
        let stated = files::stated(system, shape.field(&field.name), value);
        if let Err(why) = &stated {
            let report = Diagnostic::error(codes::MOV_TEST_FAILED, field.span, why.clone());
            self.failures.push(Failure::of(report));
        }
        stated.ok()
    }

    /// What stands in a line, at this moment of the test.
    pub(super) fn values(&mut self, line: &Line) -> Option<Vec<Value>> {
        match self.compute(line.values) {
            Ok(values) => Some(values),
            Err(why) => {
                let headline = format!("what stands here cannot be computed: {why}");
                self.failures.push(Failure::of(Diagnostic::error(codes::MOV_TEST_FAILED, line.span, headline)));
                None
            }
        }
    }

    fn compute(&mut self, function: FunctionIndex) -> Result<Vec<Value>, String> {
        let mut state = RunState::watched();
        let fired = Fired { function, args: Vec::new(), now: self.clock.now() };
        let effects = run::step(&self.stage.plan, &mut state, Input::Fired(fired));
        self.covered.extend(state.visited());
        match effects.into_iter().next() {
            Some(Effect::Finish(Finish::Done(Value::List(values)))) => Ok(values.as_ref().clone()),
            Some(Effect::Finish(Finish::Failed(failure))) => Err(failure.message),
            Some(Effect::Finish(Finish::Done(_)) | Effect::Call { .. } | Effect::Await { .. }) | None => {
                Err("a line of a test only computes".to_owned())
            }
        }
    }

    pub(super) fn on(&self, on: &TypeRef) -> On {
        let key = self.stage.plan.connection(on.connection).map(|connection| connection.key.as_str().into());
        (key.unwrap_or_default(), on.ty.clone())
    }

    fn shape(&self, on: &TypeRef) -> Result<TypeShape, String> {
        let shape = self.described(&self.on(on)).cloned();
        shape.ok_or_else(|| format!("the type `{}` is not described", on.ty))
    }

    pub(super) fn described(&self, (connection, ty): &On) -> Option<&TypeShape> {
        self.stage.descriptions.get(connection)?.get(ty)
    }

    /// The runner takes in what the systems show, until nothing more comes of it.
    async fn settle(&mut self) -> Result<(), String> {
        for _ in 0..ROUNDS {
            let shown = self.shown();
            self.round().await?;
            if self.shown() == shown {
                return self.collect().await;
            }
        }
        Err(format!("what the writes cause does not come to rest within {ROUNDS} rounds"))
    }

    /// How many changes there were that a listen could see, or a run that waits.
    fn shown(&self) -> usize {
        let plan = &self.stage.plan;
        let heard = plan.listens.iter().chain(&plan.watches);
        let heard: BTreeSet<On> =
            heard.map(|listen| self.on(&TypeRef { connection: listen.connection, ty: listen.ty.clone() })).collect();
        self.world.state().shown(&heard)
    }

    async fn round(&mut self) -> Result<(), String> {
        let store: Arc<dyn Store> = self.store.clone();
        let parts = Parts {
            plan: self.stage.plan.clone(),
            plan_id: PlanId("a test".into()),
            store: store.clone(),
            connections: self.connections.clone(),
            reconnect: None,
            clock: self.clock.clone(),
            random: Arc::new(Half),
            holds: Holds::new(store, self.clock.clone()),
            limits: self.stage.limits.clone(),
            options: Options { once: true, look_up: false, ..Options::default() },
            news: News::new(),
        };
        let handle = Host::start(parts);
        let summary = tokio::select! {
            biased;
            summary = handle.wait() => summary,
            () = self.clock.sleep(MOST) => {
                handle.stop();
                handle.wait().await;
                return Err(format!("what is fired does not come to an end within {} hours", MOST.as_secs() / 3600));
            }
        };
        match summary.fatal {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Notes how runs ended, and where each write was sent.
    async fn collect(&mut self) -> Result<(), String> {
        let filter = Filter { oldest_first: true, ..Filter::default() };
        for run in self.store.list(&filter).await.map_err(|error| error.to_string())? {
            self.waiting.remove(&run.id);
            if run.state == State::Waiting {
                self.waiting.insert(run.id, run.reason.clone().unwrap_or_default());
            }
            if !self.met.insert((run.id, run.state)) {
                continue;
            }
            let shown = self.store.show(run.id).await.map_err(|error| error.to_string())?;
            let entries = shown.map(|(_, entries)| entries).unwrap_or_default();
            let mut last = None;
            for entry in &entries {
                if let Entry::Intent(intent) = entry {
                    self.places.insert(intent.sending.idempotency().clone(), intent.place);
                }
                if let Entry::Finished { finish: Finish::Failed(failure), at: _ } = entry {
                    last = Some(failure.clone());
                }
            }
            let why = || run.reason.clone().unwrap_or_default();
            let ended = match run.state {
                State::Dead => Some(match last {
                    Some(failure) => Ended::of(failure.message, failure.place),
                    None => Ended::of(why(), None),
                }),
                State::Unsure => Some(Ended::of(format!("it is not known whether it was done: {}", why()), None)),
                State::Held => Some(Ended::of(format!("held back: {}", why()), None)),
                State::Ready | State::Retry if run.reason.is_some() => Some(Ended::of(why(), None)),
                State::Ready
                | State::Running
                | State::Retry
                | State::Waiting
                | State::Done
                | State::Skipped
                | State::Cancelled => None,
            };
            self.ended.extend(ended);
        }
        Ok(())
    }

    /// A place of the plan as one of the text.
    pub(super) fn span_of(&self, place: PlaceId) -> Option<Span> {
        let place = self.stage.plan.place(place)?;
        let file = self.stage.sources.iter().find(|file| file.path == place.file)?;
        let mut start = 0;
        for _ in 1..place.line {
            start += file.text.get(start..)?.find('\n')? + 1;
        }
        let line = file.text.get(start..)?.lines().next()?;
        let before: usize = line.chars().take(place.column.saturating_sub(1) as usize).map(char::len_utf8).sum();
        let end = start + line.trim_end().len();
        let begin = (start + before).min(end);
        Some(Span::new(file.id, u32::try_from(begin).ok()?, u32::try_from(end).ok()?))
    }
}

/// What a system says that fails.
fn failing(with: &Value) -> CallError {
    let Value::Number(status) = with else {
        return CallError::refused(with.as_text().map_or_else(|| show::value(with), ToOwned::to_owned));
    };
    let code = status.as_i64().unwrap_or(500);
    let kind = match code {
        401 | 403 => Kind::Credential,
        408 | 425 | 429 | 500.. => Kind::Passing,
        _ => Kind::Refused,
    };
    let mut error = CallError::new(kind, format!("the system answered {code}"));
    error.status = Some(code);
    error.attempts = 1;
    error
}
