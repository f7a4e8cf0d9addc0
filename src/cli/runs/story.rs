//! The story of a run, laid out for a person: each line of the movement with what was done there.

use std::collections::BTreeMap;

use lf_lang::{
    plan::{Plan, PlanId, ir::PlaceId},
    run::{
        Entry, Request, Settlement,
        entry::{Intent, Sending},
        io::{Failure as RunFailure, Finish},
    },
};
use lf_module::{Record, Value, call::Origin, json as values};

use super::list::when;
use crate::{
    cli::{
        ledger,
        output::{Output, Style},
    },
    host::news::cut,
    store::Run,
};

/// How much of a value is shown.
pub(super) const SHOWN: usize = 2000;

/// Prints the story.
pub(super) fn tell(output: &Output, (plans, shown): (&BTreeMap<PlanId, Plan>, usize), run: &Run, entries: &[Entry]) {
    let mut story = Story { output, plans, shown, plan: None, place: None };
    story.head(run);
    for entry in entries {
        story.entry(entry);
    }
    story.end(run);
}

struct Story<'s> {
    output: &'s Output,
    plans: &'s BTreeMap<PlanId, Plan>,
    /// How much of a value is shown.
    shown: usize,
    /// The text that the run went by at this point.
    plan: Option<&'s Plan>,
    /// The line that was last shown.
    place: Option<PlaceId>,
}

impl Story<'_> {
    fn head(&self, run: &Run) {
        let state = ledger::state(run.state);
        self.output.parts(&[
            (Some(Style::Bold), &format!("#{}  ", run.id)),
            (ledger::style(run.state), state),
            (None, &format!("  {}", run.listen)),
        ]);
        let by = run.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        self.fact("record", &format!("{}, {} {}{by}", run.key, ledger::kind(run.kind), when(run.at)));
        self.fact("change", &self.record(&run.record));
        if let Some(before) = &run.before {
            self.fact("before", &self.record(before));
        }
        if let Some(cause) = run.cause {
            self.fact("cause", &format!("#{cause}, depth {}", run.depth));
        }
        self.fact("taken in", &when(run.taken_in));
        if run.attempts > 0 {
            self.fact("attempts", &run.attempts.to_string());
        }
        self.output.line("");
    }

    fn record(&self, record: &Record) -> String {
        cut(&values::plain(&Value::record(record.clone())), self.shown)
    }

    fn fact(&self, name: &str, value: &str) {
        self.output.parts(&[(Some(Style::Dim), &format!("  {name:<9}")), (None, value)]);
    }

    fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Started { plan, fired } => {
                (self.plan, self.place) = (self.plans.get(plan), None);
                self.step(None, "begins", &format!("the clock of the run is {}", fired.now));
            }
            Entry::Intent(intent) => self.intent(intent),
            Entry::Waiting(waiting) => {
                self.line(waiting.place);
                let until = format!("at most until {}", when(waiting.until));
                self.step(Some(&ledger::clock(waiting.at)), "waits", &until);
            }
            Entry::Settled { address: _, place, settlement, at } => {
                self.settled(*place, settlement, &ledger::clock(*at));
            }
            Entry::Decided { address: _, done, why, at } => {
                let what = if *done { "was done" } else { "was not done" };
                self.step(Some(&ledger::clock(*at)), what, why);
            }
            Entry::Attempt { number, why, at } => {
                self.place = None;
                self.step(Some(&ledger::clock(*at)), &format!("attempt {number} ended"), why);
            }
            Entry::Finished { finish, at } => {
                self.place = None;
                let at = ledger::clock(*at);
                match finish {
                    Finish::Done(value) if value.is_absent() => self.step(Some(&at), "done", ""),
                    Finish::Done(value) => self.step(Some(&at), "done", &cut(&values::plain(value), self.shown)),
                    Finish::Failed(RunFailure { kind: _, message, place }) => {
                        if let Some(place) = place {
                            self.line(*place);
                        }
                        self.step(Some(&at), "failed", message);
                    }
                }
            }
        }
    }

    fn intent(&mut self, intent: &Intent) {
        self.line(intent.place);
        let connection = self.plan.and_then(|plan| plan.connection(intent.connection));
        let connection = connection.map_or("", |connection| connection.name.as_str());
        let ty = match &intent.request {
            Request::Read { ty, origin: _, pins: _, by: _ } | Request::Delete { ty, key: _ } => ty,
            Request::Write(write) => &write.ty,
            Request::Link { tie, join: _ } => &tie.ty,
        };
        let sent = match &intent.sending {
            Sending::Create { origin: Origin::Root, fields, idempotency: _ } => {
                format!("create {}", self.record(fields))
            }
            Sending::Create { origin: Origin::Record { ty, key, edge }, fields, idempotency: _ } => {
                format!("create under {ty} {key} by {edge} {}", self.record(fields))
            }
            Sending::Update { key, fields, idempotency: _ } => format!("update {key} {}", self.record(fields)),
            Sending::Delete { key, idempotency: _ } => format!("delete {key}"),
            Sending::Link { tie, join, idempotency: _ } => {
                let verb = if *join { "link" } else { "unlink" };
                format!("{verb} {} by {} {}", tie.key, tie.edge, tie.to)
            }
        };
        self.step(Some(&ledger::clock(intent.at)), "sent", &format!("{connection} {ty}: {sent}"));
    }

    fn settled(&mut self, place: PlaceId, settlement: &Settlement, at: &str) {
        let blamed = if let Settlement::Refused(failure) = settlement { failure.place } else { None };
        self.line(blamed.unwrap_or(place));
        match settlement {
            Settlement::Records(records) => {
                let count =
                    if records.len() == 1 { "1 record".to_owned() } else { format!("{} records", records.len()) };
                self.step(Some(at), "read", &count);
                for record in records.iter().take(20) {
                    self.step(None, "", &cut(&values::plain(record), self.shown));
                }
                if records.len() > 20 {
                    self.step(None, "", &format!("… and {} more", records.len() - 20));
                }
            }
            Settlement::Written { handle: _, created: _, unchanged: true } => {
                self.step(Some(at), "unchanged", "nothing differed, nothing was sent");
            }
            Settlement::Written { handle, created, unchanged: false } => {
                let came = if *created { "came back, new" } else { "came back" };
                self.step(Some(at), came, &cut(&values::plain(handle), self.shown));
            }
            Settlement::Deleted => self.step(Some(at), "deleted", ""),
            Settlement::Linked => self.step(Some(at), "came back", ""),
            Settlement::Refused(failure) => self.step(Some(at), "refused", &failure.message),
            Settlement::Woken { value, at: _ } if value.is_absent() => {
                let first = |place: &lf_lang::plan::ir::Place| place.says.starts_with("await FIRST");
                let over = self.plan.and_then(|plan| plan.place(place)).is_some_and(first);
                self.step(Some(at), "waited", if over { "the time was over" } else { "" });
            }
            Settlement::Woken { value, at: _ } => {
                self.step(Some(at), "waited", &cut(&values::plain(value), self.shown));
            }
            Settlement::Declined { text, status } => {
                let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
                self.step(Some(at), "refused", &format!("{text}{status}; the text goes on"));
            }
        }
    }

    fn end(&self, run: &Run) {
        if let Some(reason) = &run.reason {
            self.output.line("");
            self.output.parts(&[(ledger::style(run.state), &format!("{}: {reason}", ledger::state(run.state)))]);
        }
        if let Some(at) = run.not_before {
            self.output.line(&format!("not before {}", when(at)));
        }
    }

    /// The movement's line, once for what happened there in a row.
    fn line(&mut self, place: PlaceId) {
        if self.place == Some(place) {
            return;
        }
        self.place = Some(place);
        if let Some(place) = self.plan.and_then(|plan| plan.place(place)) {
            let column = if place.field.is_empty() { String::new() } else { format!(":{}", place.column) };
            let at = format!("{}:{}{column}  ", place.file, place.line);
            self.output.parts(&[(Some(Style::Dim), &at), (Some(Style::Bold), &place.text)]);
        }
    }

    fn step(&self, at: Option<&str>, what: &str, text: &str) {
        let line = format!("  {:<8}  {what:<14}  {text}", at.unwrap_or_default());
        self.output.line(line.trim_end());
    }
}
