//! Compares what happened with what a test expects, and says what was not expected. Lets nothing happen.

mod ties;

use lf_lang::{
    check::typed::{TestField, TestLineKind},
    diag::{Diagnostic, codes},
    plan::{ir::PlaceId, testing::Line},
    source::Span,
    types::TypeRef,
};
use lf_module::{FieldType, Key, Record, Value, Write, call::Tie};
use smol_str::{SmolStr, ToSmolStr as _};

use self::ties::Wanted;
use super::{
    Failure, Side, files,
    play::Play,
    show,
    world::{On, Sent},
};

/// A run that did not end well.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    message: String,
    place: Option<PlaceId>,
    /// The test expected it, or it was told of.
    told: bool,
}

impl Ended {
    pub(super) fn of(message: String, place: Option<PlaceId>) -> Self {
        Self { message, place, told: false }
    }
}

/// Judges one line that expects something.
pub(super) fn expected(play: &mut Play<'_>, line: &Line) {
    let Some(values) = play.values(line) else { return };
    match &line.kind {
        TestLineKind::Write { on, record } => write(play, line.span, on, record, &values),
        TestLineKind::Delete { on, key } => {
            let key = key.as_ref().and(values.first());
            delete(play, line.span, on, key);
        }
        TestLineKind::Tie { join, tie, to } => {
            let wanted = Wanted::of(play, *join, Some(tie), to.as_ref(), &values);
            ties::expected(play, line.span, &wanted);
        }
        TestLineKind::NoWrite { on } => {
            let on = on.as_ref().map(|on| play.on(on));
            nothing(play, line.span, |sent| on.as_ref().is_none_or(|on| *on == sent.on));
        }
        TestLineKind::NoDelete { on } => {
            let on = on.as_ref().map(|on| play.on(on));
            let deleted = |sent: &Sent| matches!(sent.write, Write::Delete { .. });
            nothing(play, line.span, |sent| deleted(sent) && on.as_ref().is_none_or(|on| *on == sent.on));
        }
        TestLineKind::NoTie { join, tie } => {
            let wanted = Wanted::of(play, *join, tie.as_ref(), None, &values);
            nothing(play, line.span, |sent| wanted.fits(sent));
        }
        TestLineKind::Fails => fails(play, line.span, values.first()),
        TestLineKind::Holds { compared } => holds(play, line.span, *compared, &values),
        TestLineKind::Given { .. } | TestLineKind::After(_) | TestLineKind::Answer { .. } => {}
    }
}

/// What no line expected, and what was never asked for.
pub(super) fn left(play: &mut Play<'_>) {
    unanswered(play);
    for index in 0..play.ended.len() {
        let Some(ended) = play.ended.get(index).filter(|ended| !ended.told).cloned() else { continue };
        let (name, at) = (play.stage.test.span, ended.place.and_then(|place| play.span_of(place)));
        let report =
            Diagnostic::error(codes::MOV_TEST_FAILED, at.unwrap_or(name), format!("the run failed: {}", ended.message));
        let report = if at.is_some() { report.also(name, "in this test") } else { report };
        let report = not_given(play, report, &ended.message);
        play.failures.push(Failure::of(report.help("where this is meant: `expect fails \"…\"`")));
    }
    let sent = play.world.state().sent.clone();
    for (index, sent) in sent.iter().enumerate() {
        if play.told.contains(&index) || sent.failed {
            continue;
        }
        let at = play.places.get(&sent.effect).copied().and_then(|place| play.span_of(place));
        let headline = format!("no line of {:?} expects this {}", play.stage.test.name, act(&sent.write));
        let report = Diagnostic::error(codes::MOV_TEST_FAILED, at.unwrap_or(play.stage.test.span), headline);
        let report = if at.is_some() { report.also(play.stage.test.span, "in this test") } else { report };
        let line = format!("expect {}", written(play, sent));
        let sides = fields_of(&sent.write).iter().map(|(name, value)| Side::unexpected(name, value)).collect();
        play.failures.push(Failure { report: report.help(format!("where it is meant: `{line}`")), sides });
    }
    let unused = play.world.state().answers.clone();
    for answer in unused {
        let Some(line) = play.stage.test.lines.get(answer.line) else { continue };
        let report = Diagnostic::error(codes::MOV_TEST_FAILED, line.span, "nothing asked for this answer")
            .help("leave it out, or fix its WHERE where it answers another question");
        play.failures.push(Failure::of(report));
    }
}

fn unanswered(play: &mut Play<'_>) {
    let unanswered = std::mem::take(&mut play.world.state().unanswered);
    for question in unanswered {
        let run = play.ended.iter_mut().find(|ended| ended.message.contains(&question.message));
        let place = run.and_then(|ended| {
            ended.told = true;
            ended.place
        });
        let name = play.stage.plan.connections.iter().find(|at| at.key.as_str() == question.connection);
        let name = name.map(|connection| connection.name.clone()).unwrap_or_default();
        let asked = format!("{name}{}", question.asked);
        let at = place.and_then(|place| play.span_of(place));
        let report = Diagnostic::error(
            codes::MOV_TEST_FAILED,
            at.unwrap_or(play.stage.test.span),
            "this read has no answer in the test",
        );
        let report = if at.is_some() {
            report.label("asked here").also(play.stage.test.span, "no `answer` is left for it")
        } else {
            report
        };
        play.failures.push(Failure::of(report.help(format!("write `answer {asked} {{ … }}`"))));
    }
}

/// A field that the test did not give reads as one that is not there.
fn not_given(play: &Play<'_>, report: Diagnostic, message: &str) -> Diagnostic {
    if !message.contains("described") {
        return report;
    }
    let unanswered = play.world.state().sent.iter().any(|sent| sent.unanswered && !sent.failed);
    let report = report.help("a record of a test has the fields that its `given` or `answer` names");
    if unanswered { report.help("a write without an `answer` gives back what was sent, and no more") } else { report }
}

fn write(play: &mut Play<'_>, at: Span, on: &TypeRef, fields: &[TestField], values: &[Value]) {
    let Some(wanted) = play.wanted(on, fields, values) else { return };
    let on = play.on(on);
    let sent = play.world.state().sent.clone();
    let open = |(index, sent): &(usize, &Sent)| {
        !play.told.contains(index) && sent.on == on && matches!(sent.write, Write::Create { .. } | Write::Update { .. })
    };
    let mut candidates: Vec<_> = sent.iter().enumerate().filter(open).collect();
    // One that was refused is the one that is meant only where no other is.
    candidates.sort_by_key(|(_, sent)| sent.failed);
    if let Some((index, _)) =
        candidates.iter().find(|(_, sent)| compare(&wanted, &sent.write).iter().all(|side| !side.differs))
    {
        play.told.insert(*index);
        return;
    }
    let nearest = candidates
        .iter()
        .min_by_key(|(_, sent)| compare(&wanted, &sent.write).iter().filter(|side| side.differs).count());
    let Some((index, sent)) = nearest else {
        let report = Diagnostic::error(codes::MOV_TEST_FAILED, at, "this was not written")
            .label(format!("expected, and no write of `{}` is left", on.1));
        let report = still_waiting(play, report);
        let sides = wanted.iter().map(|(name, value)| Side::missing(name, value)).collect();
        play.failures.push(Failure { report, sides });
        return;
    };
    let sides = compare(&wanted, &sent.write);
    let names: Vec<_> = sides.iter().filter(|side| side.differs).map(|side| format!("`{}`", side.what)).collect();
    let headline = format!("what was written differs in {}", names.join(", "));
    let report = Diagnostic::error(codes::MOV_TEST_FAILED, at, headline).label("expected");
    let place = play.places.get(&sent.effect).copied().and_then(|place| play.span_of(place));
    let report = match place {
        Some(place) => report.also(place, "written here"),
        None => report,
    };
    let index = *index;
    play.told.insert(index);
    play.failures.push(Failure { report, sides });
}

/// What did not happen may be what a run still waits for.
fn still_waiting(play: &Play<'_>, report: Diagnostic) -> Diagnostic {
    play.waiting.values().fold(report, |report, waits| report.help(format!("a run waits: {waits}")))
}

/// Field by field; what a new record was not given is absent.
fn compare(wanted: &Record, write: &Write) -> Vec<Side> {
    let is_new = matches!(write, Write::Create { .. });
    let sent = fields_of(write);
    let mut sides = Vec::new();
    for (name, value) in wanted.iter() {
        let actual = sent.get(name);
        let same = match actual {
            Some(actual) => files::meets(value, actual),
            None => is_new && value.is_absent(),
        };
        sides.push(Side {
            what: name.to_string(),
            expected: Some(show::value(value)),
            actual: actual.map(show::value),
            differs: !same,
        });
    }
    for (name, value) in sent.iter().filter(|(name, _)| wanted.get(name).is_none()) {
        sides.push(Side::unexpected(name, value));
    }
    sides
}

fn fields_of(write: &Write) -> Record {
    match write {
        Write::Create { ty: _, origin: _, fields } | Write::Update { ty: _, key: _, fields } => fields.clone(),
        Write::Delete { ty: _, key } => named([("key", key)]),
        Write::Link(tie) | Write::Unlink(tie) => named([("from", &tie.key), ("to", &tie.to)]),
    }
}

fn named<const N: usize>(keys: [(&'static str, &Key); N]) -> Record {
    keys.into_iter().map(|(name, key)| (SmolStr::new_static(name), Value::Text(key.0.clone()))).collect()
}

fn act(write: &Write) -> &'static str {
    match write {
        Write::Create { .. } => "write",
        Write::Update { .. } => "write to a record that is there",
        Write::Delete { .. } => "delete",
        Write::Link(_) => "link",
        Write::Unlink(_) => "unlink",
    }
}

/// As a line of a test would name it.
fn written(play: &Play<'_>, sent: &Sent) -> String {
    let (key, ty): &On = &sent.on;
    let name = play.stage.plan.connections.iter().find(|connection| connection.key.as_str() == key);
    let path = format!("{}-[:{ty}]->", name.map(|connection| connection.name.as_str()).unwrap_or_default());
    match &sent.write {
        Write::Create { ty: _, origin: _, fields } | Write::Update { ty: _, key: _, fields } => {
            format!("write {path} {}", show::value(&Value::record(fields.clone())))
        }
        Write::Delete { ty: _, key } => format!("delete {path}{}", named_by(play, &sent.on, key)),
        Write::Link(tie) => format!("link {}", tied(play, &sent.on, tie)),
        Write::Unlink(tie) => format!("unlink {}", tied(play, &sent.on, tie)),
    }
}

/// The braces behind a path that name a record.
fn named_by(play: &Play<'_>, on: &On, key: &Key) -> String {
    let field = play.described(on).and_then(|shape| shape.key.clone());
    field.map(|field| format!(" {{ {field}: {} }}", keyed(play, on, key))).unwrap_or_default()
}

fn keyed(play: &Play<'_>, on: &On, key: &Key) -> String {
    let shape = play.described(on);
    let field = shape.and_then(|shape| shape.field(shape.key.as_ref()?));
    match field.map(|field| &field.ty) {
        Some(FieldType::Number) => key.0.to_string(),
        Some(_) | None => show::value(&Value::Text(key.0.clone())),
    }
}

fn tied(play: &Play<'_>, on: &On, tie: &Tie) -> String {
    let (connection, ty) = on;
    let name = play.stage.plan.connections.iter().find(|at| at.key.as_str() == connection);
    let name = name.map(|connection| connection.name.as_str()).unwrap_or_default();
    let shape = play.described(on);
    let pin = shape.and_then(|shape| shape.key.as_ref()).map(|field| {
        let key = keyed(play, on, &tie.key);
        format!(" WHERE {field} == {key}")
    });
    let target = shape.and_then(|shape| shape.edge(&tie.edge)).map(|edge| (connection.clone(), edge.target.clone()));
    let to = target.map(|target| named_by(play, &target, &tie.to));
    let (pin, to) = (pin.unwrap_or_default(), to.unwrap_or_default());
    format!("{name}-[:{ty}{pin}]->-[:{}]->{to}", tie.edge)
}

fn key_of(value: &Value) -> Key {
    match value {
        Value::Number(number) => Key(number.to_smolstr()),
        Value::Text(_)
        | Value::Absent
        | Value::Bool(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::List(_)
        | Value::Record(_)
        | Value::Position(_)
        | Value::File(_) => Key(value.as_text().unwrap_or_default().into()),
    }
}

fn delete(play: &mut Play<'_>, at: Span, on: &TypeRef, key: Option<&Value>) {
    let on = play.on(on);
    let sent = play.world.state().sent.clone();
    let key = key.map(key_of);
    let mut others = Vec::new();
    for (index, sent) in sent.iter().enumerate() {
        let Write::Delete { ty: _, key: deleted } = &sent.write else { continue };
        if play.told.contains(&index) || sent.on != on {
            continue;
        }
        if key.as_ref().is_none_or(|key| key == deleted) {
            play.told.insert(index);
            return;
        }
        others.push((index, deleted.clone()));
    }
    let report = Diagnostic::error(codes::MOV_TEST_FAILED, at, "this was not deleted").label("expected");
    let report = still_waiting(play, report);
    let other = others.first().cloned();
    let side = Side {
        what: "key".to_owned(),
        expected: key.map(|key| key.0.to_string()),
        actual: other.as_ref().map(|(_, key)| key.0.to_string()),
        differs: true,
    };
    // One mistake, one report.
    play.told.extend(other.map(|(index, _)| index));
    play.failures.push(Failure { report, sides: vec![side] });
}

/// Nothing of this kind was sent that no line above expects.
fn nothing(play: &mut Play<'_>, at: Span, unwanted: impl Fn(&Sent) -> bool) {
    let sent = play.world.state().sent.clone();
    for (index, sent) in sent.iter().enumerate() {
        if play.told.contains(&index) || sent.failed || !unwanted(sent) {
            continue;
        }
        play.told.insert(index);
        let headline = format!("there was a {}", act(&sent.write));
        let report = Diagnostic::error(codes::MOV_TEST_FAILED, at, headline).label("expected none");
        let place = play.places.get(&sent.effect).copied().and_then(|place| play.span_of(place));
        let report = match place {
            Some(place) => report.also(place, "here"),
            None => report,
        };
        let sides = fields_of(&sent.write).iter().map(|(name, value)| Side::unexpected(name, value)).collect();
        play.failures.push(Failure { report: report.help(written(play, sent)), sides });
    }
}

fn fails(play: &mut Play<'_>, at: Span, words: Option<&Value>) {
    let words = words.and_then(Value::as_text).unwrap_or_default().to_owned();
    let open: Vec<_> = play.world.state().unanswered.iter().map(|question| question.message.clone()).collect();
    let mut other = None;
    for ended in play.ended.iter_mut().filter(|ended| !ended.told) {
        // What fails for want of an answer is a mistake of the test.
        if open.iter().any(|message| ended.message.contains(message)) {
            continue;
        }
        if ended.message.contains(&words) {
            ended.told = true;
            return;
        }
        other.get_or_insert(ended);
    }
    let actual = other.map(|ended| {
        ended.told = true;
        (ended.message.clone(), ended.place)
    });
    let headline = if actual.is_some() { "the run failed otherwise" } else { "no run failed" };
    let report = Diagnostic::error(codes::MOV_TEST_FAILED, at, headline).label("expected to fail");
    let place = actual.as_ref().and_then(|(_, place)| *place).and_then(|place| play.span_of(place));
    let report = match place {
        Some(place) => report.also(place, "failed here"),
        None => report,
    };
    let side = Side {
        what: "fails".to_owned(),
        expected: Some(format!("{words:?}")),
        actual: actual.map(|(message, _)| format!("{message:?}")),
        differs: true,
    };
    play.failures.push(Failure { report, sides: vec![side] });
}

fn holds(play: &mut Play<'_>, at: Span, compared: bool, values: &[Value]) {
    if matches!(values.last(), Some(Value::Bool(true))) {
        return;
    }
    let report = Diagnostic::error(codes::MOV_TEST_FAILED, at, "this does not hold").label("false");
    let sides = match values {
        [left, right, _] if compared => vec![Side {
            what: "sides".to_owned(),
            expected: Some(show::value(right)),
            actual: Some(show::value(left)),
            differs: true,
        }],
        _ => Vec::new(),
    };
    play.failures.push(Failure { report, sides });
}
